"""A model of PyTorch's: a module, or a program that torch.export or AOTInductor made (.pt2)."""

import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from ..errors import LenetBenchError, Unavailable, first_line
from ..models.reader import check_memory, spelled
from ..registry import Backend
from .by_example import ONE, ByExample, Taken, arrays, is_array
from .framework_model import Array, Inputs, Placing, as_list, in_float64, to_openvino

_COMPILED = "/data/aotinductor/"  # in the archive of an AOTInductor package
_PICKLED = ("/custom_obj", "/opaque_obj")  # in the archive of a program


@dataclass(frozen=True)
class TorchModel(ByExample):
    """A module on PyTorch's variants."""

    framework: ClassVar[str] = "PyTorch"
    modules: ClassVar[tuple[str, ...]] = ("torch",)
    read_by: ClassVar[tuple[str, ...]] = ("torch",)
    packages: ClassVar[tuple[str, ...]] = ("torch", "onnxscript", "litert-torch")
    formats: ClassVar[tuple[str, ...]] = (".xml", ".pte", ".onnx", ".tflite")

    kind: ClassVar[str] = "PyTorch module"
    format: ClassVar[str] = "torch model.py"

    def function(self, model: Any) -> Any:
        return model.forward

    def calls(self, row: Backend, variant: str) -> bool:
        return super().calls(row, variant) and variant != "pinned"  # its memory is LeNet's

    def about(self, model: Any) -> dict[str, Any]:
        parameters = [*model.parameters()]
        check_memory(sum(one.nbytes for one in parameters), 0)
        halves = any(one.is_floating_point() and one.itemsize == 2 for one in parameters)
        count = sum(one.numel() for one in parameters)
        return {"coarse": "float16" if halves else "", "parameters": count}

    def answer(self, model: Any, inputs: Inputs) -> Any:
        import torch

        with torch.inference_mode():
            return super().answer(model, _tensors(inputs))

    def exact(self, model: Any, inputs: Inputs, *, double: bool) -> list[Array]:
        if double:
            model, inputs = deepcopy(model).double(), in_float64(inputs)
        return [*map(_array, as_list(self.answer(model, inputs)))]

    def otherwise(self, model: Any) -> str | None:
        """Its fast path for attention answers with a constant where a mask leaves one out."""
        import torch

        attention = (torch.nn.MultiheadAttention, torch.nn.TransformerEncoderLayer)
        if not any(isinstance(one, attention) for one in getattr(model, "modules", list)()):
            return None
        torch.backends.mha.set_fastpath_enabled(False)
        return "without its fast path for attention"

    def convert(self, model: Any, inputs: Inputs, target: Path) -> None:
        import torch

        module = self._together(model, [*inputs])
        values = tuple(_tensors(inputs).values())
        if target.suffix == ".onnx":
            names = [*inputs]
            more = {"input_names": names, "external_data": False, "verbose": False}
            torch.onnx.export(module, (values,), str(target), dynamo=True, **more)
            return
        if target.suffix in (".xml", ".pte"):
            convert = _to_executorch if target.suffix == ".pte" else to_openvino
            convert(torch.export.export(module, (values,)), {}, target)
            return
        try:
            litert_torch = import_module("litert_torch")
        except ImportError as error:
            raise Unavailable(
                f"its conversion to TFLite needs litert-torch ({first_line(error)}); "
                "fix it with: pip install litert-torch"
            ) from None
        litert_torch.convert(module, (values,)).export(str(target))

    def in_place(self, placing: Placing) -> dict[str, Any]:
        import torch

        model, first = placing.load(), placing.first
        values = tuple(_tensors(first).values())
        by_place, _ = self.taken(model, [*first])(values)
        alone = len(by_place) == len(values) == 1 and self.outputs == ONE
        module = model if alone else self._together(model, [*first])

        def plain(_: Any, threads: int, device: str) -> Any:
            torch.set_num_threads(threads)
            return module.to(device)

        def example(device: str, _: int = 1) -> Any:
            tensors = tuple(value.to(device) for value in values)
            return tensors[0] if alone else tensors

        placed = {"plain": plain, "example": example}
        return placed if alone else {**placed, "on_arrays": on_arrays}

    def _together(self, model: Any, names: Sequence[str]) -> Any:
        """A module with one argument, all inputs, that answers with a tuple of its outputs."""
        import torch

        arguments = self.taken(model, names)

        class Together(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.module, self.training = model, False

            def forward(self, values: Any) -> Any:
                by_place, by_name = arguments(values)
                return tuple(as_list(self.module(*by_place, **by_name)))

        return Together()


@dataclass(frozen=True)
class ExportedProgram(TorchModel):
    """What torch.export.save wrote."""

    kind: ClassVar[str] = "exported program"
    format: ClassVar[str] = "torch program"

    def load(self) -> Any:
        module = _program(self.file).module()
        module.training = False  # it has no `eval`, and was exported as it is
        return module

    def examples(self, model: Any) -> Inputs:  # noqa: ARG002
        import torch

        program = _program(self.file)
        values = torch.utils._pytree.tree_leaves(program.example_inputs or ())
        if not values:
            forms = [node.meta["val"] for node in _inputs(program)]
            values = [torch.ones(_sides(form, 1), dtype=form.dtype) for form in forms]
        return arrays(dict(zip(program.graph_signature.user_inputs, values, strict=True)))

    def about(self, model: Any) -> dict[str, Any]:
        program = _program(self.file)
        forms = {node.name: _sides(node.meta["val"], 0) for node in _inputs(program)}
        opened = {name: spelled(sides) for name, sides in forms.items() if 0 in sides}
        return {**super().about(model), "open": {} if program.example_inputs else opened}

    def taken(self, model: Any, names: Sequence[str]) -> Taken:  # noqa: ARG002
        return _in_places_of(_program(self.file).call_spec.in_spec)


@dataclass(frozen=True)
class CompiledPackage(TorchModel):
    """An AOTInductor package: a library of machine code, which `torch:export` calls."""

    formats: ClassVar[tuple[str, ...]] = ()
    lacks: ClassVar[tuple[str, ...]] = ("why",)

    kind: ClassVar[str] = "AOTInductor package"
    format: ClassVar[str] = "torch package"

    def calls(self, row: Backend, variant: str) -> bool:  # noqa: ARG002
        return variant == "export"

    def load(self) -> Any:
        import torch

        try:
            return torch._inductor.aoti_load_package(self.file)
        except Exception as error:
            raise LenetBenchError(f"AOTInductor does not load it: {first_line(error)}") from None

    def about(self, model: Any) -> dict[str, Any]:  # noqa: ARG002
        return {}

    def taken(self, model: Any, names: Sequence[str]) -> Taken:  # noqa: ARG002
        import torch

        return _in_places_of(torch.utils._pytree.treespec_loads(model.loader.get_call_spec()[0]))

    def in_place(self, placing: Placing) -> dict[str, Any]:
        import torch

        called = self._together(placing.load(), [*placing.first])

        def export(threads: int, device: str) -> Any:
            torch.set_num_threads(threads)
            return on_arrays(called, device)

        return {"export": export}


def _to_executorch(program: Any, _: Inputs, target: Path) -> None:
    """What XNNPACK has is delegated to it, as in LeNet's program."""
    from ..backends.executorch import XnnpackPartitioner, to_edge_transform_and_lower

    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    target.write_bytes(lowered.to_executorch().buffer)


def on_arrays(model: Callable[[Any], Any], device: str) -> Callable[[Any], list[Array]]:
    """What takes a tuple of all inputs, from arrays to arrays."""
    import torch

    place = torch.device(device)

    def infer(images: Any) -> list[Array]:
        given = images[0]
        each = given.values() if isinstance(given, Mapping) else (given,)
        with torch.inference_mode():
            values = tuple(torch.from_numpy(array).to(place) for array in each)
            return [*map(_array, as_list(model(values)))]

    return infer


def _tensors(inputs: Inputs) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(array) for name, array in inputs.items()}


def _array(output: Any) -> Array:
    if not hasattr(output, "cpu"):
        raise LenetBenchError(f"it answers with {type(output).__name__}, and not with tensors")
    array: Array = (output if is_array(output) else output.float()).cpu().numpy()
    return array


@cache
def _program(file: str) -> Any:
    """What torch.export.save wrote, without what PyTorch would unpickle."""
    import torch

    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    with zipfile.ZipFile(file) as archive:
        if any(one in name for name in archive.namelist() for one in _PICKLED):
            raise LenetBenchError("it holds pickled objects, which run code of their own")
    try:
        return torch.export.load(file)
    except Exception as error:
        raise LenetBenchError(f"torch.export does not load it: {first_line(error)}") from None


def _inputs(program: Any) -> list[Any]:
    """The nodes of its graph that are inputs."""
    names = program.graph_signature.user_inputs
    return [node for node in program.graph.nodes if node.op == "placeholder" and node.name in names]


def _sides(form: Any, otherwise: int) -> list[int]:
    """A shape, with this number where a side has any size."""
    return [side if isinstance(side, int) else otherwise for side in form.shape]


def _in_places_of(tree: Any) -> Taken:
    """In the places that a program has for them."""
    import torch

    return lambda values: torch.utils._pytree.tree_unflatten([*values], tree)


def pt2_kind(names: Sequence[str]) -> type[TorchModel] | None:
    """What an archive with these files is, if it is PyTorch's."""
    if not any(name.endswith("/archive_format") for name in names):
        return None
    return CompiledPackage if any(_COMPILED in name for name in names) else ExportedProgram
