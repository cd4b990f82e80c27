"""PyTorch's Inductor: it compiles all of a network to C++, so an operation is code and no call.

What is not an answer is not computed, so a cut network answers with all of what its last stage
gives. Above the code lies Dynamo (`compile`), which looks whether the module is as it was when it
was compiled, or a loader and its Python (`export`).

A network takes a compiler many seconds. Inductor keeps what it made of one for `compile`; the
packages of `export` are kept here.
"""

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from ..atomic import write_atomically
from ..cache import cache_folder
from ..registry.adapter import Adapter
from ..weights import Weights
from . import CUTS, ENTERING, IMAGES, SOFTMAX, Infer, Probe, called, networks, way

Forward = Callable[[Any, Any], Any]  # of the module and its images

_COUNT = dict.fromkeys((*CUTS, SOFTMAX), 1)
_NETWORKS = 64  # that Dynamo may compile of one function

_ARRAYS = "inference mode, array to tensor and back, less the model on a tensor"
_PYTHON = {
    "compile": "the compiled module, less what Inductor made of it: Dynamo's guards",
    "export": "the package's call, less its loader in C++",
}
_ENTERING = {
    "compile": "what Inductor made of a module that gives ten pixels",
    "export": "a package that gives ten pixels, by its loader",
}


def called_below(
    variant: str,
    build: Callable[[Forward], Adapter],
    nothing: Forward,
    trivial: Callable[[int], Forward],
    cut: Callable[[str], Forward],
) -> Sequence[Probe]:
    """The probes of that variant, whose backend `build` gives with another module in it."""
    whole = build(nothing)
    whole.infer(IMAGES[0])  # compiled before what is not to be found in its place
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
    """What Inductor makes of a compiled module, on what Dynamo hands it."""
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
    run = model.loader.boxed_run  # which empties its list
    return _inferring(lambda: run([x]))


def keeping(file: ModuleType, weights: Weights) -> Callable[[Any, str], Infer]:
    """In place of what compiles a package in the backend's file: it compiles one graph once."""

    def packaged(graph: Any, device: str) -> Infer:
        isa = torch._inductor.cpu_vec_isa.pick_vec_isa()
        made_of = [
            *(torch.__version__, str(torch.get_num_threads())),
            *(isa.build_arch_flags(), weights.sha256),  # repr has an address in it
            *(Path(str(file.__file__)).read_text(), graph.graph_module.code),
        ]
        digest = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]
        path = cache_folder("torch-export") / f"{digest}.pt2"
        with torch.inference_mode():
            if not path.exists():
                with tempfile.TemporaryDirectory() as folder:
                    made = str(Path(folder) / path.name)
                    torch._inductor.aoti_compile_and_package(graph, package_path=made)
                    write_atomically(path, Path(made).read_bytes())
            return file.on_arrays(torch._inductor.aoti_load_package(str(path)), device)

    return packaged
