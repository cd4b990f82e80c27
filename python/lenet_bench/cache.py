"""Where this user's caches lie."""

import os
from pathlib import Path


def cache_folder(kind: str) -> Path:
    """Lenet-bench's cache of that kind; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "lenet-bench", kind)
