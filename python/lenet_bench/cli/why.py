"""`why`: what a call is made of."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import (
    Device,
    backends_argument,
    command,
    device_option,
    json_option,
    model_options,
    network_option,
    option,
    run_options,
    subject_of,
    verbose_option,
)
from .output import answer, run, screen

if TYPE_CHECKING:
    from ..results import Result


@command("Take a call apart: where does the time go?")
@backends_argument
@option("--tree", "Show which Python functions take the time.")
@network_option
@model_options(
    "Take the calls of your own model apart: .keras, .h5, .pt2, a SavedModel, a model.py."
)
@device_option
@run_options("why")
@json_option
@verbose_option
def why(
    backends: tuple[str, ...],
    tree: bool,
    model: Path | None,
    device: Device,
    as_json: bool,
    verbose: bool,
    **chosen: Any,
) -> int:
    """Show which parts of a call take the time: Python, copies, each layer.

    Each BACKEND, or every one if none is named, is measured as by `compare`. Then pieces of the
    network are timed: one that does nothing, some of trivial layers, and the network cut after each
    layer; a --model is one block. Their times give the parts of the call; what the parts do not
    explain is shown, too.

    $ lenet-bench why onednn onnxruntime
    $ lenet-bench why keras keras:call tensorflow --tree
    $ lenet-bench why --network mlp torch keras
    $ lenet-bench why --model mine.keras keras keras:predict_on_batch
    $ lenet-bench why --device gpu cudnn torch
    $ lenet-bench why torch -o mine.jsonl          run it again to continue
    $ lenet-bench why --json torch | jq '.backends[] | {name, explained, parts}'

    Exit codes: 0 if all ran that can run it, 1 if none could, or if one failed, was not reached, or
    is named and not installed.
    """
    from ..measure.comparison import compare
    from ..measure.options import CompareOptions
    from ..questions.why import digest
    from ..registry import on_device
    from ..results import is_well
    from ..show.why import in_terminal

    backends = tuple(on_device(name, device) for name in backends)
    chosen |= {"device": device, "hide_output": not verbose}
    network = chosen.pop("network")
    subject = subject_of(network, model, chosen)
    options = CompareOptions(backends, breakdown=True, subject=subject, **chosen)

    def show(result: "Result") -> bool:
        answer(as_json, digest(result), in_terminal(result, screen(), backends, tree=tree))
        return is_well(result.backends, backends)

    return run(compare, options, show, network=network, verbose=verbose)
