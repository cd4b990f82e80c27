"""Backends by family, from our own C++ to Keras; long lists are grouped by family."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from .. import registry
from ..errors import LenetBenchError

_OTHERS = "others"
#: From C++ to Keras.
FAMILIES = (*registry.FAMILIES, _OTHERS)
SHORT_LIST = 15  # rows; a longer list is grouped by family

T = TypeVar("T")


def family(name: str) -> str:
    """The family of a backend or a variant: Keras of keras-jax:call."""
    try:
        return registry.find(name)[0].family
    except LenetBenchError:  # of another version, or of a test's own
        return _OTHERS


def by_family(
    found: Iterable[T], name_of: Callable[[T], str], longer_than: int = SHORT_LIST
) -> tuple[Sequence[T], dict[int, str]]:
    """A long list grouped by family, or a short one as it is; and headings by row number."""
    found = list(found)
    if len(found) <= longer_than:
        return found, {}
    found.sort(key=lambda one: FAMILIES.index(family(name_of(one))))
    families = [family(name_of(one)) for one in found]
    return found, {families.index(name): name for name in families}


def backend_of(name: str) -> str:
    """The backend without its variant, on its device: torch@gpu of torch:compile@gpu."""
    return re.sub(":[^@]*", "", name)


def missing(names: Iterable[str]) -> str | None:
    """A sentence that names the backends that do not run here, without their variants."""
    found = list(dict.fromkeys(map(backend_of, names)))
    if not found:
        return None
    return f"not available here: {', '.join(found)}; `lenet-bench doctor` says how to install them"
