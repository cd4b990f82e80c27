"""Where this user's caches lie."""

import os
import sys
from pathlib import Path


def cache_folder(kind: str) -> Path:
    """Lenet-bench's cache of that kind, in the platform's folder; it need not exist."""
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        cache = Path(xdg)
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = Path.home() / ".cache"
    return cache / "lenet-bench" / kind
