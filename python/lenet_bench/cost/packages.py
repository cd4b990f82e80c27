"""What pip brings for a rung's API, and what that takes of the disk."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .. import environments
from ..backends import Rung
from ..installed import extra_requirements, installed_bytes
from .source import Source, sources

_PACKAGE = Path(__file__).parent.parent


def requirements(rung: Rung) -> list[str]:
    """As pip spells them, beyond the core's."""
    if rung.environment:
        pins = environments.environments()[rung.environment].pins.read_text()
        return [line for line in pins.splitlines() if line and not line.startswith("#")]
    return list(dict.fromkeys(extra_requirements(rung.extra))) if rung.extra else []


def mebibytes(rung: Rung) -> float | None:
    """Its packages, what they need and, where it is native, its module."""
    files = sources(rung)
    modules = list(_modules(rung, files[0])) if len(files) > 1 else []
    needed = requirements(rung) or ([] if modules else ["numpy"])
    path = sys.path
    if rung.environment:
        folder = environments.environments()[rung.environment].folder
        path = list(map(str, folder.glob("lib/python*/site-packages")))
    packages = installed_bytes(needed, path)
    if packages is None:
        return None
    return (packages + sum(module.stat().st_size for module in modules)) / 2**20


def _modules(rung: Rung, face: Source) -> Iterator[Path]:
    """The compiled modules that its Python face brings in."""
    names = re.findall(r"from \.\.(_\w+) import", face.text) or [f"_{rung.extra}"]
    for name in set(names):
        yield from (path for path in _PACKAGE.glob(f"{name}.*") if path.suffix in (".so", ".pyd"))
