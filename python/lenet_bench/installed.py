"""What pip's own records say: which versions are here, and how much of the disk they take."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, requires
from pathlib import Path

_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[([^\]]*)\])?")
_ASKS_FOR_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)")
_BOUND = re.compile(r"(>=|<=|==|!=|<|>)\s*(\d+(?:\.\d+)*)")

Release = tuple[int, ...]

_HOLDS: dict[str, Callable[[Release, Release], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


def extra_requirements(extra: str) -> Iterator[str]:
    """What pip adds for lenet-bench[extra], as the installed package says it."""
    for requirement in _required():
        what, _, condition = requirement.partition(";")
        if extra in _ASKS_FOR_EXTRA.findall(condition):
            if nested := re.fullmatch(r"lenet[-_]bench\[(.*)\]", what.strip()):
                for other in nested[1].split(","):
                    yield from extra_requirements(other.strip())
            else:
                yield what.strip()


def _required() -> Sequence[str]:
    try:
        return requires("lenet-bench") or []
    except PackageNotFoundError:
        return []


def core_requirements() -> Iterator[str]:
    """What pip brings with lenet-bench itself."""
    return (one.strip() for one in _required() if ";" not in one)


def package_name(requirement: str) -> str:
    """`opencv` of `opencv>=4,<5`."""
    return _parsed(requirement)[0]


def installed_version(requirement: str) -> str | None:
    """The version of this package that is here; None where there is none, or none that says it."""
    distribution = next(iter(Distribution.discover(name=package_name(requirement))), None)
    try:
        return distribution.version if distribution else None
    except Exception:  # its records are damaged, which each Python tells in its own way
        return None


def fits(version: str, requirement: str) -> bool:
    """Whether `4.14.0` will do for `opencv>=4,<5`; of `4.14.0rc1` only the numbers are compared."""
    release = _release(version)
    return all(
        _HOLDS[sign](release, _release(bound)) for sign, bound in _BOUND.findall(requirement)
    )


def _release(version: str) -> Release:
    """4.10.0 as (4, 10): zeros at the end tell no two releases apart."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    release = [int(number) for number in numbers[0].split(".")] if numbers else []
    while release and release[-1] == 0:
        release.pop()
    return tuple(release)


def installed_bytes(requirements: Sequence[str], path: Sequence[str]) -> int | None:
    """Of these packages and what they need, each counted once; None where one is not installed.

    `path` is where an interpreter looks for packages, as its sys.path.
    """
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = list(map(_parsed, requirements))
    asked = {name for name, _ in waiting}
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        distribution = next(iter(Distribution.discover(name=name, path=list(path))), None)
        if distribution is not None:
            found[name] = distribution
            waiting += _needs(distribution, extras)
    if not asked <= set(found):
        return None
    return sum(_size(distribution) for distribution in found.values())


def _parsed(requirement: str) -> tuple[str, frozenset[str]]:
    """`jax[cuda]>=0.5` as the name, in its normal spelling, and the extras."""
    parts = _REQUIREMENT.match(requirement)
    assert parts is not None
    extras = re.split(r"\s*,\s*", (parts[2] or "").strip())
    return re.sub(r"[-_.]+", "-", parts[1]).lower(), frozenset(filter(None, extras))


def _needs(
    distribution: Distribution, extras: Iterable[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    """What it requires. A condition on the platform or on Python held if the package is there."""
    for requirement in distribution.requires or ():
        what, _, condition = requirement.partition(";")
        asked = _ASKS_FOR_EXTRA.findall(condition)
        if not asked or set(asked) & set(extras):
            yield _parsed(what)


def _size(distribution: Distribution) -> int:
    files = (Path(str(file.locate())) for file in distribution.files or ())
    return sum(file.stat().st_size for file in files if file.is_file())
