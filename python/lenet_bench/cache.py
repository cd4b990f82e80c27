"""The place of this user's caches."""

import os
from pathlib import Path


def cache_folder(kind: str) -> Path:
    """The cache folder of that kind; it may not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "lenet-bench", kind)
