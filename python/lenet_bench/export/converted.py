"""Models made by a framework's converter, each once, and kept in the user's cache.

The converter runs in a process of its own, so that a process that only runs the model does not
load it.
"""

import hashlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
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


def converted(name: str, maker: str, weights: Weights, packages: Sequence[str]) -> bytes:
    """The model; it depends on the file of its maker and on these packages' versions."""
    source = Path(__file__).with_name(maker.partition(":")[0] + ".py")
    versions = [f"{package} {installed_version(package)}" for package in packages]
    key = hashlib.sha256("\n".join([source.read_text(), weights.sha256, *versions]).encode())
    path = cache_folder("models") / f"{name}-{key.hexdigest()[:16]}"
    if not path.exists():
        content = _convert(maker, weights)
        with writing(path):
            write_atomically(path, content)
        return content
    return path.read_bytes()


def _convert(maker: str, weights: Weights) -> bytes:
    path = os.pathsep.join(filter(None, sys.path))
    child = Child(f"{__name__}:serve", variables={**_VARIABLES, "PYTHONPATH": path})
    try:
        content: bytes = child.ask((maker, dict(weights.parameters)), _SECONDS)
    except Died as death:
        raise ImportError(death.sentence) from None
    finally:
        child.close()
    return content


def serve(parent: Parent) -> None:
    """In the child: let that maker make its file from those parameters."""
    maker, parameters = parent.hear()
    module, _, function = maker.partition(":")
    make = getattr(import_module(f"{__package__}.{module}"), function)
    parent.say(make(Weights(parameters)))
