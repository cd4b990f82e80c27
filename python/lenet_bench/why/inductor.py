"""PyTorch's Inductor: below it is C++ for all of a network, called by Dynamo or by a loader.

Compiling a network takes many seconds. Inductor caches its code for `compile`; the packages of
`export` are cached here.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from ..backends import torch as file
from ..cache import made
from ..errors import Unsupported
from . import Case, Infer

torch._dynamo.config.recompile_limit = 64  # networks that Dynamo compiles of one function


def inferring(call: Callable[[], Any]) -> Infer:
    def infer(_: Any) -> Any:
        with torch.inference_mode():
            return call()

    return infer


def below_dynamo(model: Any, x: Any) -> Infer:
    """Inductor's code of a compiled module, on the arguments that Dynamo passes."""
    caught: list[tuple[Any, Any]] = []

    def compiler(graph: Any, examples: Any) -> Any:
        code = torch._inductor.compile(graph, examples)

        def call(*handed: Any) -> Any:
            caught.append((code, handed))
            return code(*handed)

        return call

    with torch.inference_mode():
        torch.compile(model._orig_mod, backend=compiler)(x)
    if len(caught) != 1:  # it breaks where Python has to go on
        raise Unsupported(f"Dynamo makes {len(caught)} graphs of it, and why takes one apart")
    ((code, handed),) = caught
    return inferring(lambda: code(*handed))


def below_package(model: Any, x: Any) -> Infer:
    run = model.loader.boxed_run  # it empties the list of arguments
    given = torch.utils._pytree.tree_leaves(x)
    return inferring(lambda: run([*given]))


def keeping(case: Case) -> Mapping[str, Any]:
    """Replaces the compilation of a package in the backend's file: it compiles a graph once."""
    on_arrays: Callable[..., Infer] = case.placed.get("on_arrays", file.on_arrays)

    def packaged(graph: Any, device: str) -> Infer:
        isa = torch._inductor.cpu_vec_isa.pick_vec_isa()
        made_of = [
            torch.__version__,
            str(torch.get_num_threads()),
            isa.build_arch_flags(),  # its repr has an address
            case.sha256,
            Path(str(file.__file__)).read_text(),
            graph.graph_module.code,
        ]

        def package(folder: Path) -> bytes:
            path = folder / "graph.pt2"
            torch._inductor.aoti_compile_and_package(graph, package_path=str(path))
            return path.read_bytes()

        with torch.inference_mode():
            path = made("torch-export", "graph", made_of, package, ".pt2")
            return on_arrays(torch._inductor.aoti_load_package(str(path)), device)

    return {"packaged": packaged}
