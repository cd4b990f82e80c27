"""Installed versions and sizes, from pip's records.

`packaging` is imported at its first use, since it is slow to import.
"""

from __future__ import annotations  # importlib.metadata takes a tenth of `infer` to import

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution

    from packaging.requirements import Requirement

CONVERTER = "LENET_BENCH_CONVERTER"  # names the Python with converters, if it is not this one
_OURS = "lenet-bench"
_EXTRA = re.compile(r"""extra == ["']([\w.-]+)""")


def extra_requirements(extra: str) -> Iterator[str]:
    """The requirements of lenet-bench[extra] on this platform, from the installed package."""
    for requirement in _required():
        if requirement.marker is None or not _asked_by(requirement, {extra}):
            continue
        if _name(requirement) == _OURS:
            for other in sorted(requirement.extras):
                yield from extra_requirements(other)
        elif requirement.marker.evaluate({"extra": extra}):
            yield _without_condition(requirement)


def core_requirements() -> Iterator[str]:
    """The requirements of lenet-bench itself."""
    return (_without_condition(one) for one in _required() if one.marker is None)


def package_name(requirement: str) -> str:
    """`opencv` of `opencv>=4,<5`, in its normal spelling."""
    return _name(_parsed(requirement))


def installed_version(requirement: str, path: Sequence[str] | None = None) -> str | None:
    """The installed version of this package; None where it is absent or unknown.

    `path` is another interpreter's.
    """
    from importlib.metadata import Distribution

    name, path = package_name(requirement), sys.path if path is None else path
    distribution = next(iter(Distribution.discover(name=name, path=list(path))), None)
    try:
        return distribution.version if distribution else None
    except Exception:  # damaged records: each Python raises another type
        return None


def fits(version: str, requirement: str) -> bool:
    """Whether `4.14.0` satisfies `opencv>=4,<5`; pre-releases are allowed."""
    return _parsed(requirement).specifier.contains(version, prereleases=True)


def installed_bytes(requirements: Sequence[str], path: Sequence[str]) -> int | None:
    """The size of these packages and their dependencies; None where one is not installed.

    `path` is where an interpreter looks for packages, as its sys.path.
    """
    from importlib.metadata import Distribution

    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = list(map(_parsed, requirements))
    asked = set(map(_name, waiting))
    while waiting:
        requirement = waiting.pop()
        name, extras = _name(requirement), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        distribution = next(iter(Distribution.discover(name=name, path=list(path))), None)
        if distribution is not None:
            found[name] = distribution
            needed = map(_parsed, distribution.requires or ())
            waiting += (one for one in needed if _asked_by(one, extras))
    if not asked <= set(found):
        return None
    return sum(_size(distribution) for distribution in found.values())


@cache
def _required() -> Sequence[Requirement]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        return [_parsed(requirement) for requirement in requires(_OURS) or []]
    except PackageNotFoundError:
        return []


def _parsed(requirement: str) -> Requirement:
    from packaging.requirements import Requirement

    return Requirement(requirement)


def _name(requirement: Requirement) -> str:
    from packaging.utils import canonicalize_name

    return canonicalize_name(requirement.name)


def _without_condition(requirement: Requirement) -> str:
    return str(requirement).partition(";")[0].strip()


def _asked_by(requirement: Requirement, extras: Iterable[str]) -> bool:
    """Whether it belongs to one of these extras or to no extra. Conditions on the platform or on
    Python are ignored: the interpreter may be another one, and an installed package met them.
    """
    asked = _EXTRA.findall(str(requirement.marker or ""))
    return not asked or bool(set(asked) & set(extras))


def _size(distribution: Distribution) -> int:
    files = (Path(str(file.locate())) for file in distribution.files or ())
    return sum(file.stat().st_size for file in files if file.is_file())
