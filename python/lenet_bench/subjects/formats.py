"""Which subject a model file is, by its content."""

import zipfile
from collections.abc import Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from ..errors import LenetBenchError
from .keras_file import KerasFile
from .model import ModelFile, OwnModel
from .python_model import python_model, split
from .saved_model import SavedModel
from .torch_model import pt2_kind

TAKEN = (
    ".onnx, .tflite, .keras, .h5, .pt2, the folder of a SavedModel, or a model.py with get_model()"
)
_HDF5 = b"\x89HDF\r\n\x1a\n"
_PICKLE = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def own_model(file: Path, *inputs: Mapping[str, Any] | str, until_s: float = inf) -> OwnModel:
    """The subject of this file; raise LenetBenchError where it is none that can be measured.

    The code of a model.py ends at `until_s`, by time.monotonic.
    """
    if split(str(file))[0].suffix == ".py":
        return python_model(str(file), *inputs, until_s=until_s)
    kind = _kind_of(file)
    if kind is None:
        raise LenetBenchError(f"{file} is no model that can be measured: expected {TAKEN}")
    made: OwnModel = kind(str(file), *inputs)
    return made


def _kind_of(file: Path) -> Any:
    if (file / "saved_model.pb").is_file():
        return SavedModel
    suffix, first, inside = file.suffix.lower(), b"", list[str]()
    with suppress(OSError), file.open("rb") as stream:
        first = stream.read(8)
    with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(file) as archive:
        inside = archive.namelist()
    if first == _HDF5 or {"config.json", "model.weights.h5"} <= {*inside}:
        return KerasFile
    if torchs := pt2_kind(inside):
        return torchs
    pickled = first.startswith(_PICKLE) or any(name.endswith("data.pkl") for name in inside)
    if pickled or suffix in (".pt", ".pth"):
        raise LenetBenchError(
            f"{file} is a pickle, which runs code of its own and does not say what it computes; "
            "give a model.py whose get_model() returns the model: --model model.py"
        )
    if suffix in (".onnx", ".tflite"):
        return ModelFile
    return KerasFile if suffix in (".keras", ".h5") else None
