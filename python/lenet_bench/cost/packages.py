"""The packages of a backend's API, and their size on disk."""

import sys
from pathlib import Path

from ..installed import extra_requirements, installed_bytes
from ..registry import Backend, environments
from ..registry.backend import Native

_PACKAGE = Path(__file__).parent.parent


def requirements(row: Backend) -> list[str]:
    """As pip spells them, beyond the core's."""
    if row.environment:
        pins = environments.environments()[row.environment].pins.read_text()
        return [line for line in pins.splitlines() if line and not line.startswith("#")]
    return list(dict.fromkeys(extra_requirements(row.extra))) if row.extra else []


def mebibytes(row: Backend) -> float | None:
    """Its packages, what they need and, where it is native, its module."""
    modules = _modules(row.native) if row.native else []
    needed = requirements(row) or ([] if modules else ["numpy"])
    path = sys.path
    if row.environment:
        folder = environments.environments()[row.environment].folder
        path = list(map(str, folder.glob("lib/python*/site-packages")))
    packages = installed_bytes(needed, path)
    if packages is None:
        return None
    return (packages + sum(module.stat().st_size for module in modules)) / 2**20


def _modules(native: Native) -> list[Path]:
    """The compiled module of the backend, if it was built; the first of CUDA's two."""
    pattern = "_cuda*" if native.module == "cuda" else native.module
    return sorted(_PACKAGE.glob(f"{pattern}.*so"))[:1]
