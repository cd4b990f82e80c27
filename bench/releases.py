"""Release by release: what each API takes on three networks, its releases in one comparison.

python bench/releases.py FOLDER [API...]    measure; after Ctrl-C the same command goes on
python bench/releases.py --list             which releases

The environments of an API are removed after its last network, so the disk holds one API's at a
time.
"""

import argparse
import subprocess
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

from free_threaded import wheels
from lenet_bench.questions.share import SUFFIX
from lenet_bench.registry import environments
from lenet_bench.registry.environments import of
from packaging.tags import sys_tags
from packaging.version import Version

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
NETWORKS = ("mlp", "lenet", "resnet50")
MOST, YEARS = 8, 3


def releases(api: str) -> list[str]:
    """Up to so many of the last years that install here: the last of a minor version each."""
    environment = of(f"{api}==0")
    assert environment is not None
    package = environment.pins.partition("==")[0]
    here, since = set(sys_tags()), (datetime.now() - timedelta(days=365 * YEARS)).isoformat()
    found = {
        version
        for version, tags, file in wheels(package)
        if file.get("upload-time", "") > since and tags & here
    }
    minors = [max(own) for _, own in groupby(sorted(found), key=lambda one: one.release[:2])]
    return [str(version) for version in evenly(minors if len(minors) > 1 else sorted(found))]


def evenly(versions: list[Version]) -> list[Version]:
    """At most so many, the oldest and the newest among them."""
    if len(versions) <= MOST:
        return versions
    step = (len(versions) - 1) / (MOST - 1)
    return [versions[round(number * step)] for number in range(MOST)]


def measure(api: str, folder: Path, rounds: int) -> None:
    """A file for each network; what stands there already is left."""
    due = [one for one in NETWORKS if not (folder / f"{api}-{one}{SUFFIX}").exists()]
    versions = releases(api) if due else []
    names = [f"{backend}=={version}" for version in versions for backend in APIS[api]]
    for network in due:
        raw = str(folder / f"{api}-{network}.jsonl")
        command = ["lenet-bench", "compare", *names, "--network", network, "-o", raw]
        done = subprocess.run([*command, "--rounds", str(rounds)])
        if done.returncode not in (0, 1):  # 1: a release does not run, which its row says
            raise SystemExit(done.returncode)
        subprocess.run(["lenet-bench", "share", "--keep", raw], check=True)
    for version in versions:
        environments.remove(f"{api}=={version}")


def main() -> None:
    """List the releases, or measure them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("apis", nargs="*", metavar="API", help=f"of {', '.join(APIS)}")
    parser.add_argument("--list", action="store_true", help="print the releases and end")
    parser.add_argument("--rounds", type=int, default=12)
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(f"{api}: {', '.join(releases(api))}" for api in APIS))
        return
    if asked.folder is None or set(asked.apis) - APIS.keys():
        parser.error(f"expected a folder, and APIs of {', '.join(APIS)}")
    asked.folder.mkdir(parents=True, exist_ok=True)
    for api in asked.apis or APIS:
        measure(api, asked.folder, asked.rounds)


if __name__ == "__main__":
    main()
