"""The network and its weights as the model files of other programs.

`lenet-bench export` is one call:

    export("onnx", read_weights(), Path("lenet.onnx"))
"""

import os
import sys
from collections.abc import Iterable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..atomic import check_writable, is_stream, write_file, writing
from ..errors import LenetBenchError, Unavailable
from ..installed import CONVERTER, installed_version
from ..weights import Weights

if TYPE_CHECKING:
    from ..process import Parent

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


class Converter(NamedTuple):
    """A framework's converter, which makes a file."""

    by: str
    extra: str  # which brings it
    packages: tuple[str, ...]


#: By the module of the maker that calls it.
_CONVERTERS = {
    "onnx_int8": Converter("ONNX Runtime", "onnxruntime", ("onnxruntime", "onnx")),
    "tflite": Converter("Keras and TensorFlow", "keras", ("tensorflow", "tensorflow-cpu", "keras")),
}
_CONVERTERS_SECONDS = 300
_CONVERTERS_VARIABLES = {
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
}

#: The files of each kind of model: suffix -> a name of MAKERS.
FORMATS = {
    "onnx": {".onnx": "onnx_model"},
    "tflite": {".tflite": "tflite_model"},
    "caffe": {".prototxt": "prototxt", ".caffemodel": "caffemodel"},
}
#: Where in its content each kind of file tells itself apart from others: of TFLite the offset of
#: its root comes first, of ONNX its version.
_KIND = {"onnx": 1, "tflite": 8, "caffe": 8}
_EXTRAS = {"onnx": "onnx", "tflite": "keras"}  # the extra that makes each format


class NotConverted(ImportError):
    """A framework's converter is absent, or fails."""

    def __init__(self, converter: Converter, why: str) -> None:
        why = why.rpartition("ModuleNotFoundError: ")[2]
        super().__init__(f"its model file is made by {converter.by}: {why}")
        self.extra = converter.extra


def export(format: str, weights: Weights, output: Path) -> list[Path]:
    """Write the model: one file called `output`, or several with its name and their suffixes."""
    files = FORMATS[format]
    if output.suffix not in ("", *files):
        raise LenetBenchError(f"{output}: expected a name that ends in {' or '.join(files)}")
    if len(files) > 1 and is_stream(output):
        raise LenetBenchError(f"{output}: is no file, and {format} needs {len(files)} files")
    paths = [output] if len(files) == 1 else [output.with_suffix(suffix) for suffix in files]
    try:
        contents = [model(name, weights) for name in files.values()]
    except ImportError as error:
        command = f"pip install 'lenet-bench[{_EXTRAS[format]}]'"
        raise Unavailable(
            f"{format} cannot be written ({error}); fix it with: {command}"
        ) from error
    made = dict(zip(paths, contents, strict=True))
    for path, content in made.items():
        with writing(path, LenetBenchError):
            check_writable(path, content[: _KIND[format]])
    for path, content in made.items():
        write_file(path, content)
    return paths


def model(name: str, weights: Weights) -> bytes:
    """The content of a file of MAKERS; ImportError where its maker needs a missing package.

    That of a framework's converter depends on the file of its maker.
    """
    module = MAKERS[name].partition(":")[0]
    if module not in _CONVERTERS:
        return _made(name, weights)
    made_of = [Path(__file__).with_name(f"{module}.py").read_text(), weights.sha256]
    return converted(module, name, made_of, f"{__name__}:serve", (name, dict(weights.parameters)))


def _made(name: str, weights: Weights) -> bytes:
    module, _, function = MAKERS[name].partition(":")
    content: bytes = getattr(import_module(f"{__name__}.{module}"), function)(weights)
    return content


def converted(module: str, name: str, made_of: Iterable[str], serve: str, question: Any) -> bytes:
    """The file that `serve` makes with the converter of that module, kept in the user's cache.

    The converter runs in a process of its own, so that a process that only runs the model does not
    load it. It hears where to write and the question; a file may be too large for a message.
    """
    from ..cache import made
    from ..process import Child, Died, same_modules

    converter = _CONVERTERS[module]
    elsewhere = os.environ.get(CONVERTER)
    here = (f"{package} {installed_version(package)}" for package in converter.packages)
    versions = [elsewhere] if elsewhere else here
    variables = {**_CONVERTERS_VARIABLES, **({} if elsewhere else same_modules())}

    def convert(folder: Path) -> bytes:
        file = folder / "model"
        python = elsewhere or sys.executable
        with closing(Child(serve, python=python, variables=variables)) as child:
            child.ask((str(file), question), _CONVERTERS_SECONDS)
        return file.read_bytes()

    try:
        return made("models", name, [*made_of, *versions], convert).read_bytes()
    except Died as death:
        raise NotConverted(converter, death.sentence) from None


def serve(parent: "Parent") -> None:
    """In the child: make the file of that name from those parameters."""
    file, (name, parameters) = parent.hear()
    parent.say(Path(file).write_bytes(_made(name, Weights(parameters))))
