"""Models made by a framework's converter, each once, and kept in the user's cache.

The converter runs in a process of its own, so that a process that only runs the model does not
load it.
"""

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..atomic import write_atomically, writing
from ..cache import cache_folder
from ..installed import installed_version
from ..process import Child, Died, Parent
from ..weights import Weights

_SECONDS = 300
_VARIABLES = {
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
}


def converted(name: str, weights: Weights, source: Path, packages: Sequence[str]) -> bytes:
    """The model; it is made anew if its maker's file or these packages' versions change."""
    versions = [f"{package} {installed_version(package)}" for package in packages]
    key = hashlib.sha256("\n".join([source.read_text(), weights.sha256, *versions]).encode())
    path = cache_folder("models") / f"{name}-{key.hexdigest()[:16]}"
    if not path.exists():
        content = _convert(name, weights)
        with writing(path):
            write_atomically(path, content)
        return content
    return path.read_bytes()


def _convert(name: str, weights: Weights) -> bytes:
    path = os.pathsep.join(filter(None, sys.path))
    child = Child(f"{__name__}:serve", variables={**_VARIABLES, "PYTHONPATH": path})
    try:
        content: bytes = child.ask((name, dict(weights.parameters)), _SECONDS)
    except Died as death:
        raise ImportError(death.sentence) from None
    finally:
        child.close()
    return content


def serve(parent: Parent) -> None:
    """In the child: make the file of that name from those parameters."""
    from . import maker

    name, parameters = parent.hear()
    parent.say(maker(name)(Weights(parameters)))
