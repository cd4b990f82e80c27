"""Release by release: what each API takes on three networks, its releases in one comparison.

python bench/releases.py FOLDER [API...]         measure; after Ctrl-C the same command goes on
python bench/releases.py FOLDER --again [API...] the steps that this found, in a second run
python bench/releases.py --list                  which releases

The environments of an API are removed after its last network, so the disk holds one API's at a
time.
"""

import argparse
import json
import subprocess
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from platform import python_version

from free_threaded import wheels
from lenet_bench.registry import environments
from lenet_bench.registry.environments import of
from packaging.specifiers import SpecifierSet
from packaging.tags import sys_tags
from packaging.version import Version
from steps import AGAIN, DATES, NETWORKS, found, read

#: Each API's backends, which share environments.
APIS = {
    "onnxruntime": ("onnxruntime",),
    "openvino": ("openvino",),
    "torch": ("torch", "torch:compile"),
    "tensorflow": ("tensorflow:function",),
    "keras": ("keras:predict_on_batch",),
    "jax": ("jax",),
    "litert": ("litert",),
    "numpy": ("numpy",),
    "mnn": ("mnn",),
    "ncnn": ("ncnn",),
}
MOST, YEARS = 8, 3
#: PyTorch's wheels of the package index bring CUDA, gigabytes a release; lenet-bench is for 2.6 on.
FEWER, FIRST = {"torch": 4}, {"torch": Version("2.6")}


def releases(api: str) -> dict[str, str]:
    """Up to so many of the last years that install here, with their days.

    Of each minor version it is the last, if there are several minor versions.
    """
    environment = of(f"{api}==0")
    assert environment is not None
    package = environment.pins.partition("==")[0]
    here, since = set(sys_tags()), (datetime.now() - timedelta(days=365 * YEARS)).isoformat()
    days = {
        version: file["upload-time"][:10]
        for version, tags, file in wheels(package)
        if file.get("upload-time", "") > since and tags & here and runs_here(file)
    }
    days = {version: day for version, day in days.items() if version >= FIRST.get(api, version)}
    minors = [max(own) for _, own in groupby(sorted(days), key=lambda one: one.release[:2])]
    chosen = evenly(minors if len(minors) > 1 else sorted(days), FEWER.get(api, MOST))
    return {str(version): days[version] for version in chosen}


def runs_here(file: Mapping[str, str]) -> bool:
    return SpecifierSet(file.get("requires-python") or "").contains(python_version())


def evenly(versions: list[Version], most: int) -> list[Version]:
    """At most so many, the oldest and the newest among them."""
    if len(versions) <= most:
        return versions
    step = (len(versions) - 1) / (most - 1)
    return [versions[round(number * step)] for number in range(most)]


def measure(api: str, folder: Path, rounds: int) -> None:
    """All releases on each network, and their days."""
    days = json.loads((folder / DATES).read_text()) if (folder / DATES).exists() else {}
    if api not in days:
        days[api] = releases(api)
    (folder / DATES).write_text(f"{json.dumps(days, indent=1)}\n")
    names = [f"{backend}=={version}" for version in days[api] for backend in APIS[api]]
    compare(api, folder, dict.fromkeys(NETWORKS, names), rounds)


def again(api: str, folder: Path, rounds: int) -> None:
    """The releases on both sides of each step."""
    names: dict[str, list[str]] = {}
    for step in found(read(folder)):
        if step.api in APIS[api]:
            both = (f"{step.api}=={version}" for version in (step.old, step.new))
            names[step.network] = list(dict.fromkeys([*names.get(step.network, ()), *both]))
    (folder / AGAIN).mkdir(exist_ok=True)
    compare(api, folder / AGAIN, names, rounds)


def compare(api: str, folder: Path, names: Mapping[str, list[str]], rounds: int) -> None:
    """These backends of each network, a file each; what stands there already is left."""
    for network, own in names.items():
        raw = folder / f"{api}-{network}.jsonl"
        if raw.with_name(f"{raw.name}.gz").exists():
            continue
        command = ["lenet-bench", "compare", *own, "--network", network, "-o", str(raw)]
        done = subprocess.run([*command, "--rounds", str(rounds)])
        if done.returncode not in (0, 1):  # 1: a release does not run, which its row says
            raise SystemExit(done.returncode)
        subprocess.run(["lenet-bench", "share", "--keep", str(raw)], check=True)
    for version in {name.partition("==")[2] for own in names.values() for name in own}:
        environments.remove(f"{api}=={version}")


def main() -> None:
    """List the releases, or measure them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("apis", nargs="*", metavar="API", help=f"of {', '.join(APIS)}")
    parser.add_argument("--list", action="store_true", help="print the releases and end")
    parser.add_argument("--again", action="store_true", help="the steps, in a second run")
    parser.add_argument("--rounds", type=int, default=10)
    asked = parser.parse_intermixed_args()
    if asked.list:
        for api in APIS:
            print(f"{api}: {', '.join(releases(api))}")
        return
    if asked.folder is None or set(asked.apis) - APIS.keys():
        parser.error(f"expected a folder, and APIs of {', '.join(APIS)}")
    asked.folder.mkdir(parents=True, exist_ok=True)
    for api in asked.apis or APIS:
        (again if asked.again else measure)(api, asked.folder, asked.rounds)


if __name__ == "__main__":
    main()
