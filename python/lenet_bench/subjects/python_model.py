"""A model that a Python file makes: model.py, or model.py:NAME.

`get_model()` or NAME() returns it, and `get_args()` example inputs. The file's code runs in each
process that needs the model, with the same seeds.
"""

import hashlib
import random
import re
import sys
import tempfile
import traceback
from collections.abc import Container, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from ..errors import LenetBenchError, first_line
from ..models.reader import Read, Sizes
from ..networks.memory import limit_memory
from ..process import Child, Parent, same_modules
from ..registry import Backend, why_absent
from ..units import counted
from .by_example import ONE, ByExample, arrays
from .framework_model import Array, FrameworkModel, Inputs, Placing, in_float64
from .keras_file import KerasFile, inputs_of, names_of
from .model import READ_S, OwnModel
from .torch_model import TorchModel


@dataclass(frozen=True)
class PythonModel(FrameworkModel):
    """Of any framework; `file` may have :NAME at its end."""

    code: str = ""  # the checksum of the files that make it, and of its weights
    weights_file: str = ""  # where another framework below would make other weights

    def checksum(self) -> str:
        return self.code

    def load(self) -> Any:
        model = _made(self.file)
        if self.weights_file:
            with np.load(self.weights_file) as kept:
                model.set_weights([*kept.values()])
        return model

    def read(self, model: Any, shapes: Sizes) -> Read:
        with _told(self.file):  # it may call the model
            return super().read(model, shapes)

    def exact(self, model: Any, inputs: Inputs, *, double: bool) -> list[Array]:
        with _told(self.file):
            return super().exact(model, inputs, double=double)

    def examples(self, model: Any) -> Inputs:
        get_args = getattr(_module(self.file), "get_args", None)
        if get_args is None:
            return {}
        with _told(self.file):
            values = get_args()
        if hasattr(values, "shape"):
            values = (values,)
        if isinstance(values, (tuple, list)):
            names = self.names(model, len(values))
            if len(names) < len(values):
                taken = f"{counted(len(names), 'input')}, and get_args() returns {len(values)}"
                raise LenetBenchError(f"it takes {taken}")
            values = dict(zip(names, values, strict=True))
        if not isinstance(values, Mapping):
            kind = type(values).__name__
            raise LenetBenchError(f"its get_args() returns {kind}, not a tuple of arrays")
        return arrays(values)


@dataclass(frozen=True)
class PythonTorch(PythonModel, TorchModel):
    """A torch.nn.Module."""

    def load(self) -> Any:
        return super().load().eval()


@dataclass(frozen=True)
class PythonKeras(PythonModel, KerasFile):
    """A Keras model."""

    kind: ClassVar[str] = "Keras model"
    format: ClassVar[str] = "keras model.py"

    def names(self, model: Any, count: int) -> list[str]:
        return names_of(inputs_of(model)[:count])


@dataclass(frozen=True)
class PythonJax(PythonModel, ByExample):
    """A function for JAX."""

    framework: ClassVar[str] = "JAX"
    modules: ClassVar[tuple[str, ...]] = ("jax",)
    read_by: ClassVar[tuple[str, ...]] = ("jax",)
    packages: ClassVar[tuple[str, ...]] = ()
    formats: ClassVar[tuple[str, ...]] = ()

    kind: ClassVar[str] = "function for JAX"
    format: ClassVar[str] = "jax model.py"

    def calls(self, row: Backend, variant: str) -> bool:
        return super().calls(row, variant) and variant != "arguments"  # it has none beside inputs

    def exact(self, model: Any, inputs: Inputs, *, double: bool) -> list[Array]:
        import jax

        jax.config.update("jax_enable_x64", double)
        with _told(self.file):
            answer = self.answer(model, in_float64(inputs) if double else inputs)
        return [*map(np.asarray, jax.tree.leaves(answer))]

    def in_place(self, placing: Placing) -> dict[str, Any]:
        import jax

        # As the backend has it; JAX asks for it when it first computes, which loading may do.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        model, first = placing.load(), placing.first
        alone = len(first) == 1

        def lenet(_: Any, given: Any) -> Any:
            return self.answer(model, {name: given if alone else given[name] for name in first})

        def example() -> Any:
            return next(iter(first.values())) if alone else dict(first)

        def on_arrays(program: Any) -> Any:
            return lambda given: [*map(np.array, jax.tree.leaves(program(given)))]

        placed = {"load": lambda _: None, "lenet": lenet, "example": example}
        return placed if self.outputs == ONE else {**placed, "on_arrays": on_arrays}


_KINDS: dict[str, Any] = {
    "keras": PythonKeras,
    "torch": PythonTorch,
    "jax": PythonJax,
}


def split(file: str) -> tuple[Path, str]:
    """The file, and the function in it that makes the model."""
    named = re.fullmatch(r"(.+\.py):(\w+)", file)
    return (Path(named[1]), named[2]) if named else (Path(file), "get_model")


def python_model(file: str, *inputs: Any, until_s: float = inf) -> OwnModel:
    """The subject that this file makes, which a process of its own runs to know its framework."""
    path, _ = split(file)
    if not path.is_file():
        raise LenetBenchError(f"{path} cannot be read: no such file")
    serving = f"{__name__}:serve_kind"
    with closing(Child(serving, printed="dropped", variables=same_modules())) as child:
        kind, *known = PythonModel(file).ask(child, READ_S, file, until_s)
    made: OwnModel = _KINDS[kind](file, *inputs, code=known[0], weights_file=known[1])
    return made


def serve_kind(parent: Parent) -> None:
    """Run the file that the parent names; say whose model it makes, and its checksum."""
    limit_memory()
    file = parent.hear()
    parent.answer(lambda: _known(file, _made(file)))


def _known(file: str, model: Any) -> tuple[str, str, str]:
    """Its framework, its checksum, and a file of its weights where that is needed."""
    kind, weights, weights_file = _kind(file, model), list[Any](), ""
    if kind == "torch":
        import torch

        tensors = (one for one in model.state_dict().values() if isinstance(one, torch.Tensor))
        weights = [one.detach().cpu().flatten().view(torch.uint8).numpy() for one in tensors]
    elif kind == "keras":
        weights, weights_file = model.get_weights(), f"{tempfile.mkdtemp()}/weights.npz"
        np.savez(weights_file, *weights)
    path, name = split(file)
    digest = hashlib.sha256(name.encode())
    contents: list[Any] = [*_code_beside(path.resolve()), *map(np.ascontiguousarray, weights)]
    for content in contents:
        digest.update(content)
    return kind, digest.hexdigest(), weights_file


def _kind(file: str, model: Any) -> str:
    if "keras" in sys.modules and isinstance(model, sys.modules["keras"].Model):
        return "keras"  # on PyTorch it is a module, too
    if "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        return "torch"
    if callable(model) and "jax" in sys.modules:
        return "jax"
    raise LenetBenchError(
        f"its {split(file)[1]}() returns {type(model).__name__}, and no PyTorch module, Keras "
        "model or function for JAX"
    )


def _code_beside(path: Path) -> list[bytes]:
    """Of all modules here that came from the file's folder."""
    files = {Path(getattr(one, "__file__", None) or "/") for one in [*sys.modules.values()]}
    own = [one for one in files if path.parent in one.parents and "site-packages" not in one.parts]
    return [one.read_bytes() for one in sorted(own)]


@cache
def _made(file: str) -> Any:
    """The model."""
    name = split(file)[1]
    function = getattr(_module(file), name, None)
    if function is None:
        raise LenetBenchError(f"it has no {name}(), which has to return the model")
    with _told(file):
        _seed(sys.modules)
        return function()


@cache
def _module(file: str) -> ModuleType:
    """The file, as a program imports it that lies beside it."""
    path = split(file)[0].resolve()
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    with _told(file):
        _seed(re.findall(r"(?:import|from) (\w+)", path.read_text()))
        spec.loader.exec_module(module)
    return module


def _seed(imported: Container[str]) -> None:
    """For random weights that are the same in each process."""
    random.seed(0)
    np.random.seed(0)
    with suppress(ImportError):
        if "torch" in imported:
            import torch

            torch.manual_seed(0)
        if "keras" in imported:
            import keras

            keras.utils.set_random_seed(0)


@contextmanager
def _told(file: str) -> Iterator[None]:
    """What the user's code raises, in one sentence with the line."""
    path = split(file)[0].resolve()
    try:
        yield
    except LenetBenchError:
        raise
    except BaseException as error:
        kind, said = type(error).__name__, first_line(error)
        if isinstance(error, ModuleNotFoundError) and error.name in _KINDS:
            raise LenetBenchError(f"it needs {error.name}, but {why_absent(error.name)}") from None
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        if isinstance(error, SyntaxError) and error.filename == str(path):
            lines.append(error.lineno)
        where = f"line {lines[-1]}" if lines else "it"
        what = kind if said == kind else f"{kind}: {said}"
        raise LenetBenchError(f"{where} raises {what}") from None
