"""The network and its weights as the model files of other programs.

`lenet-bench export` is one call:

    export("onnx", read_weights(), Path("lenet.onnx"))
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from ..atomic import write_atomically, writing
from ..errors import LenetBenchError, Unavailable
from ..weights import Weights


@dataclass(frozen=True)
class Format:
    """A kind of model: what each of its files is made by, and which extra that needs."""

    files: Mapping[str, str]  # suffix -> "module:function" from Weights to bytes
    extra: str | None = None


FORMATS = {
    "onnx": Format({".onnx": "onnx:model"}, "onnx"),
    "tflite": Format({".tflite": "tflite:model"}, "litert"),
    "caffe": Format({".prototxt": "caffe:prototxt", ".caffemodel": "caffe:caffemodel"}),
}


def export(format: str, weights: Weights, output: Path) -> list[Path]:
    """Write the model: one file called `output`, or several with its name and their suffixes."""
    files = FORMATS[format].files
    if len(files) > 1 and output.suffix not in ("", *files):
        raise LenetBenchError(f"{output}: expected a name that ends in {' or '.join(files)}")
    paths = [output] if len(files) == 1 else [output.with_suffix(suffix) for suffix in files]
    contents = [_maker(format, maker)(weights) for maker in files.values()]
    for path, content in zip(paths, contents, strict=True):
        with writing(path):
            write_atomically(path, content)
    return paths


def _maker(format: str, maker: str) -> Callable[[Weights], bytes]:
    module, _, function = maker.partition(":")
    try:
        made: Callable[[Weights], bytes] = getattr(import_module(f"{__name__}.{module}"), function)
    except ImportError as error:
        mend = f"pip install 'lenet-bench[{FORMATS[format].extra}]'"
        raise Unavailable(f"{format} cannot be written ({error}); mend it with: {mend}") from error
    return made
