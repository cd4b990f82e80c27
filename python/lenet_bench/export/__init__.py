"""The network and its weights as the model files of other programs.

`lenet-bench export` is one call:

    export("onnx", read_weights(), Path("lenet.onnx"))
"""

from importlib import import_module
from pathlib import Path

from ..atomic import write_atomically, writing
from ..errors import LenetBenchError, Unavailable
from ..weights import Weights

#: The files that can be made, by the argument's name in a backend's function.
MAKERS = {
    "onnx_model": "onnx:model",
    "int8_onnx_model": "onnx_int8:model",
    "tflite_model": "tflite:model",
    "int8_tflite_model": "tflite:int8",
    "float16_tflite_model": "tflite:float16",
    "prototxt": "caffe:prototxt",
    "caffemodel": "caffe:caffemodel",
}

#: Packages whose converter makes the file: it runs in a process of its own, and once.
CONVERTERS = {
    "int8_onnx_model": ("onnxruntime", "onnx"),
    "tflite_model": ("tensorflow", "tensorflow-cpu", "keras"),
    "int8_tflite_model": ("tensorflow", "tensorflow-cpu", "keras"),
    "float16_tflite_model": ("tensorflow", "tensorflow-cpu", "keras"),
}

#: The files of each kind of model: suffix -> a name of MAKERS.
FORMATS = {
    "onnx": {".onnx": "onnx_model"},
    "tflite": {".tflite": "tflite_model"},
    "caffe": {".prototxt": "prototxt", ".caffemodel": "caffemodel"},
}
_EXTRAS = {"onnx": "onnx", "tflite": "litert"}  # that make them


def export(format: str, weights: Weights, output: Path) -> list[Path]:
    """Write the model: one file called `output`, or several with its name and their suffixes."""
    files = FORMATS[format]
    if len(files) > 1 and output.suffix not in ("", *files):
        raise LenetBenchError(f"{output}: expected a name that ends in {' or '.join(files)}")
    paths = [output] if len(files) == 1 else [output.with_suffix(suffix) for suffix in files]
    try:
        contents = [model(name, weights) for name in files.values()]
    except ImportError as error:
        command = f"pip install 'lenet-bench[{_EXTRAS[format]}]'"
        raise Unavailable(
            f"{format} cannot be written ({error}); fix it with: {command}"
        ) from error
    for path, content in zip(paths, contents, strict=True):
        with writing(path):
            write_atomically(path, content)
    return paths


def model(name: str, weights: Weights) -> bytes:
    """The content of a file of MAKERS; ImportError where its maker needs a missing package."""
    if packages := CONVERTERS.get(name):
        from .converted import converted

        return converted(name, MAKERS[name], weights, packages)
    module, _, function = MAKERS[name].partition(":")
    content: bytes = getattr(import_module(f"{__name__}.{module}"), function)(weights)
    return content
