"""PyTorch's Inductor: it compiles the whole network to C++, so an operation is code and no call.

Inductor leaves out what is not part of the answer, so a cut network returns all of its last stage.
The compiled code is called by Dynamo (`compile`), which checks that the module has not changed, or
by a loader and its Python (`export`).

Compiling a network takes many seconds. Inductor caches its code for `compile`; the packages of
`export` are cached here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from ..cache import made
from ..registry.adapter import Adapter
from ..weights import Weights
from . import CUTS, ENTERING, IMAGES, SOFTMAX, Infer, Probe, called, networks, way

Forward = Callable[[Any, Any], Any]  # of the module and its images

_COUNT = dict.fromkeys((*CUTS, SOFTMAX), 1)
_NETWORKS = 64  # most networks that Dynamo compiles of one function

_ARRAYS = "inference mode, array to tensor and back: the call less the model on a tensor"
_PYTHON = {
    "compile": "the compiled module less Inductor's code in it: Dynamo's guards",
    "export": "the package's call less its loader in C++",
}
_ENTERING = {
    "compile": "Inductor's code of a module that returns ten pixels",
    "export": "a package that returns ten pixels, called by its loader",
}


def called_below(
    variant: str,
    build: Callable[[Forward], Adapter],
    nothing: Forward,
    trivial: Callable[[int], Forward],
    cut: Callable[[str], Forward],
) -> Sequence[Probe]:
    """The experiments of that variant; `build` makes the backend with another module."""
    whole = build(nothing)
    whole.infer(IMAGES[0])  # compiled first, so that Dynamo does not reuse another network's code
    with torch.inference_mode():
        x = torch.from_numpy(IMAGES[:, None])
    below = {"compile": _below_dynamo, "export": _below_package}[variant]

    def last(forward: Forward) -> Infer:
        return below(build(forward).inside()["model"], x)

    model = whole.inside()["model"]
    return [
        *called(whole, "arrays", _ARRAYS),
        way("Python", _inferring(lambda: model(x)), _PYTHON[variant]),
        way(ENTERING, below(model, x), _ENTERING[variant]),
        *networks(last, trivial, cut, _COUNT),
    ]


def _inferring(call: Callable[[], Any]) -> Infer:
    def infer(_: Any) -> Any:
        with torch.inference_mode():
            return call()

    return infer


def _below_dynamo(model: Any, x: Any) -> Infer:
    """Inductor's code of a compiled module, on the arguments that Dynamo passes."""
    caught: list[tuple[Any, Any]] = []

    def compiler(graph: Any, examples: Any) -> Any:
        made = torch._inductor.compile(graph, examples)

        def call(*handed: Any) -> Any:
            caught.append((made, handed))
            return made(*handed)

        return call

    limit = torch._dynamo.config.patch(recompile_limit=_NETWORKS)
    with torch.inference_mode(), limit:
        torch.compile(model._orig_mod, backend=compiler)(x)
    ((made, handed),) = caught  # one graph, without a break
    return _inferring(lambda: made(*handed))


def _below_package(model: Any, x: Any) -> Infer:
    run = model.loader.boxed_run  # it empties the list of arguments
    return _inferring(lambda: run([x]))


def keeping(file: ModuleType, weights: Weights) -> Callable[[Any, str], Infer]:
    """Replaces the compilation of a package in the backend's file: it compiles a graph once."""

    def packaged(graph: Any, device: str) -> Infer:
        isa = torch._inductor.cpu_vec_isa.pick_vec_isa()
        made_of = [
            *(torch.__version__, str(torch.get_num_threads())),
            *(isa.build_arch_flags(), weights.sha256),  # repr has an address in it
            *(Path(str(file.__file__)).read_text(), graph.graph_module.code),
        ]

        def package(folder: Path) -> bytes:
            path = folder / "graph.pt2"
            torch._inductor.aoti_compile_and_package(graph, package_path=str(path))
            return path.read_bytes()

        with torch.inference_mode():
            path = made("torch-export", "graph", made_of, package, ".pt2")
            return file.on_arrays(torch._inductor.aoti_load_package(str(path)), device)

    return packaged
