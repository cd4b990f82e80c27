"""Read, check and write the weights: one safetensors file in Caffe's layout.

A file carries the SHA-256 of its parameters in its metadata, so that a flipped bit is an error
and not a slightly worse network.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from .arrays import Floats
from .atomic import write_file
from .errors import WeightsError, first_line, incomplete, without_middle
from .network import PARAMETERS

_LARGEST_FILE = 64 << 20  # ours has 1.7 MB
_LARGEST_VALUE = 1e30  # in any layer: float32 ends at 3e38, and some algorithms need a part of it


@dataclass(frozen=True)
class Weights:
    """The eight parameters by name: `weights["conv1.weight"]`, float32 in Caffe's layout.

    Those of another network have its names; all are in their network's order.
    """

    parameters: Mapping[str, Floats]
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Floats:
        return self.parameters[name]

    @property
    def sha256(self) -> str:
        """The checksum of the parameters' bytes, in the network's order."""
        digest = hashlib.sha256()
        for array in self.parameters.values():
            digest.update(np.asarray(array, "<f4").tobytes())
        return digest.hexdigest()


def default_path() -> Path:
    """The canonical weights: beside the installed package, or in the source tree."""
    package = Path(__file__).resolve().parent
    installed = package / "weights" / "lenet.safetensors"
    return installed if installed.exists() else package.parents[1] / "weights" / "lenet.safetensors"


def read_weights(path: str | os.PathLike[str] | None = None) -> Weights:
    """Read and check a weights file; without a path, the canonical one."""
    path = default_path() if path is None else Path(path)
    _check_file(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = dict(file.metadata() or {})
            found = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            _check_names_and_shapes(path, {n: tuple(s.get_shape()) for n, s in found.items()})
            for name, values in found.items():  # not all have a type in NumPy
                if values.get_dtype() != "F32":
                    raise WeightsError(
                        f"{path}: {name}: expected float32 (F32), found {values.get_dtype()}"
                    )
            parameters = {name: file.get_tensor(name) for name in PARAMETERS}
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise WeightsError(f"{path}: cannot be read as safetensors: {first_line(error)}") from None
    weights = Weights(parameters, metadata)
    _check_values(path, weights)
    return weights


def write_weights(
    path: str | os.PathLike[str],
    parameters: Mapping[str, Floats],
    metadata: Mapping[str, str],
) -> None:
    """Check and write a weights file with its checksum; the file appears whole or not at all."""
    path = Path(path)
    _check_names_and_shapes(path, {name: a.shape for name, a in parameters.items()})
    weights = Weights({name: np.ascontiguousarray(parameters[name]) for name in PARAMETERS})
    _check_values(path, weights)
    content = save(dict(weights.parameters), metadata={**metadata, "sha256": weights.sha256})
    write_file(path, content, WeightsError)


def _check_values(path: Path, weights: Weights) -> None:
    """Raise WeightsError unless dtype and checksum are right and every answer is finite."""
    for name, array in weights.parameters.items():
        if array.dtype != np.float32:
            raise WeightsError(f"{path}: {name}: expected float32, found {array.dtype}")
        if not np.isfinite(array).all():
            raise WeightsError(f"{path}: {name}: holds a value that is not finite")
    if _largest_value(weights) > _LARGEST_VALUE:
        raise WeightsError(f"{path}: the values are so large that the network's outputs overflow")
    expected = weights.metadata.get("sha256")
    if expected is not None and expected != weights.sha256:
        raise WeightsError(f"{path}: the parameters do not match their checksum: it is damaged")


def _largest_value(weights: Weights) -> float:
    """An upper bound of every layer's output for any image, from sums of absolute weights."""
    largest = 1.0  # the largest pixel
    for layer in ("conv1", "conv2", "fc1", "fc2"):
        kernels = np.abs(weights[f"{layer}.weight"]).reshape(len(weights[f"{layer}.bias"]), -1)
        sums = kernels.sum(axis=1, dtype=np.float64) * largest
        largest = float((sums + np.abs(weights[f"{layer}.bias"])).max())
    return largest


def _check_file(path: Path) -> None:
    """Raise WeightsError unless this is a file that may be read, and of a size to be ours."""
    try:
        if path.is_dir():
            raise WeightsError(f"{path}: expected a safetensors file, found a directory")
        if path.exists() and not path.is_file():  # a pipe would block
            raise WeightsError(f"{path}: expected a safetensors file, found a device or a pipe")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        if path == default_path():
            raise WeightsError(incomplete(f"no {path}")) from None
        raise WeightsError(f"{path}: no such weights file; `lenet-bench train` makes one") from None
    except OSError as error:
        raise WeightsError(f"{path}: cannot be read: {error.strerror}") from None
    if size > _LARGEST_FILE:
        raise WeightsError(f"{path}: too large to be LeNet's weights (over 64 MiB)")


def _check_names_and_shapes(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
    missing = [name for name in PARAMETERS if name not in shapes]
    unknown = [name for name in shapes if name not in PARAMETERS]
    if missing:
        raise WeightsError(f"{path}: not LeNet's weights: {', '.join(missing)} missing")
    if unknown:
        raise WeightsError(f"{path}: not LeNet's weights: {_short(unknown[:3])} unknown")
    for name, shape in PARAMETERS.items():
        if (found := shapes[name]) != shape:
            raise WeightsError(f"{path}: {name}: expected shape {shape}, found {_short(found)}")


def _short(value: object) -> str:
    """As in Python, on one line; a file may hold anything."""
    return without_middle(repr(value), 200)
