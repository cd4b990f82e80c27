"""Which subject a model file is, by its content."""

import zipfile
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from math import inf
from os import SEEK_CUR, SEEK_END
from pathlib import Path
from typing import IO, Any

from ..errors import LenetBenchError
from ..models.callers import GIVEN
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
_TFLITE = b"TFL3"
#: The fields of ONNX's ModelProto that a protocol buffer writes as a number, and with a length.
_IR_VERSION, _GRAPH, _NUMBER, _LENGTH = 1, 7, 0, 2
_ONNX = {
    **dict.fromkeys((_IR_VERSION, 5), _NUMBER),
    **dict.fromkeys((2, 3, 4, 6, _GRAPH, 8, 14, 20, 25, 26), _LENGTH),
}
_MOST_FIELDS = 1 << 16


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
    if file.is_dir():
        return SavedModel if (file / "saved_model.pb").is_file() else None
    if not file.is_file():
        reason = "not a plain file" if file.exists() else "no such file"
        raise LenetBenchError(f"{file} cannot be read: {reason}")
    suffix, first, inside, is_onnx = file.suffix.lower(), b"", list[str](), False
    with suppress(OSError), file.open("rb") as stream:
        first = stream.read(8)
        is_onnx = _is_onnx(stream)
    with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(file) as archive:
        inside = archive.namelist()
    if first == _HDF5 or {"config.json", "model.weights.h5"} <= {*inside}:
        return KerasFile
    if torchs := pt2_kind(inside):
        return torchs
    if is_onnx or first[4:] == _TFLITE:
        return partial(ModelFile, suffix=".onnx" if is_onnx else ".tflite")
    pickled = first.startswith(_PICKLE) or any(name.endswith("data.pkl") for name in inside)
    if pickled or suffix in (".pt", ".pth"):
        raise LenetBenchError(
            f"{file} is a pickle, which runs code of its own and does not say what it computes; "
            "give a model.py whose get_model() returns the model: --model model.py"
        )
    if suffix in GIVEN:
        return partial(ModelFile, suffix=suffix)
    return KerasFile if suffix in (".keras", ".h5") else None


def _is_onnx(stream: IO[bytes]) -> bool:
    """Whether the fields to the file's end are a ModelProto's, which has no magic number."""
    size, found = stream.seek(0, SEEK_END), list[int]()
    stream.seek(0)
    while stream.tell() < size and len(found) < _MOST_FIELDS:
        field, kind = divmod(_number(stream), 8)
        if _ONNX.get(field) != kind:
            return False
        value = _number(stream)
        if kind == _LENGTH:
            stream.seek(min(value, size), SEEK_CUR)
        found.append(field)
    whole = stream.tell() == size
    return whole and found.count(_IR_VERSION) == found.count(_GRAPH) == 1


def _number(stream: IO[bytes]) -> int:
    """The next one, seven bits a byte."""
    value = 0
    for shift in range(0, 70, 7):
        (byte,) = stream.read(1) or b"\0"
        value |= (byte & 127) << shift
        if byte < 128:
            break
    return value
