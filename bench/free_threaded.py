"""Which APIs have wheels for free-threaded Python, by the package index today.

python bench/free_threaded.py > results/production/free-threaded.json
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import date
from itertools import islice
from typing import Any
from urllib.request import Request, urlopen

from lenet_bench.installed import extra_requirements, package_name
from lenet_bench.registry.rows import BACKENDS
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

INDEX = "https://pypi.org/simple"
ABI = "cp314t"


def files(package: str) -> list[dict[str, Any]]:
    asked = Request(
        f"{INDEX}/{package}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urlopen(asked, timeout=60) as answer:
        found: list[dict[str, Any]] = json.load(answer)["files"]
    return found


def wheels(package: str) -> Iterator[tuple[Version, frozenset[Tag], dict[str, Any]]]:
    """The version and the tags of each wheel of a release, and what the index says of it."""
    for file in files(package):
        try:
            _, version, _, tags = parse_wheel_filename(file["filename"])
        except InvalidWheelFilename:
            continue
        if not (version.is_prerelease or file.get("yanked")):
            yield version, tags, file


def newest(package: str) -> tuple[str, str]:
    """The newest release with wheels, and what they say of free-threaded Python."""
    by_version: dict[Version, set[str]] = {}
    for version, tags, _ in wheels(package):
        by_version.setdefault(version, set()).update(tag.abi for tag in tags)
    if not by_version:
        return "", "no wheels at all"
    version = max(by_version)
    abis = by_version[version]
    if ABI in abis:
        return str(version), f"a wheel for {ABI}"
    if abis == {"none"}:
        return str(version), "wheels for every ABI of Python"
    return str(version), f"no wheel for {ABI}"


def main() -> None:
    ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    packages = {"numpy": "NumPy", "jaxlib": "JAX's compiled part"} | {
        name: row.library
        for row in BACKENDS
        if row.extra and not row.environment and row.device == "cpu" and row.library
        for name in map(package_name, islice(extra_requirements(row.extra), 1))
    }
    found = {}
    for package, library in packages.items():
        print(library, file=sys.stderr)
        version, wheels = newest(package)
        found[library] = {"package": package, "version": version, "wheels": wheels}
    today = date.today().isoformat()
    print(json.dumps({"date": today, "index": INDEX, "apis": found}, indent=1))


if __name__ == "__main__":
    main()
