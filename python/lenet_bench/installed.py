"""How much of the disk pip's packages take, with all that they need; told by their own records."""

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution
from pathlib import Path

_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[([^\]]*)\])?")
_ASKS_FOR_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)")


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
