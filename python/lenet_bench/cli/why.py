"""`why`: what a call is made of."""

from typing import TYPE_CHECKING, Any

from .options import (
    Device,
    backends_argument,
    command,
    device_option,
    json_option,
    option,
    run_options,
    verbose_option,
)
from .output import run, say, say_json, screen

if TYPE_CHECKING:
    from ..results import Result

_FEW = 8  # backends whose parts are shown if none is named


@command("Take a call apart: where does the time go?")
@backends_argument
@option("--tree", "Show which Python functions take the time.")
@device_option
@run_options("why")
@json_option
@verbose_option
def why(
    backends: tuple[str, ...],
    tree: bool,
    device: Device,
    as_json: bool,
    verbose: bool,
    **chosen: Any,
) -> int:
    """Take one call of each BACKEND apart, or of every backend if none is named.

    Each is measured as by `compare`. Then smaller networks are timed: one that does nothing, some
    of trivial operations, and LeNet cut after each stage. Their times give the parts of the call;
    what the parts do not explain is shown, too.

    $ lenet-bench why onednn onnxruntime
    $ lenet-bench why keras keras:call tensorflow --tree
    $ lenet-bench why --device gpu cudnn torch
    $ lenet-bench why torch -o mine.jsonl          run it again to continue
    $ lenet-bench why --json torch | jq '.backends[] | {name, explained, parts}'

    Exit codes: 0; 1 if a backend failed or a named one does not run.
    """
    from ..measure.comparison import compare
    from ..measure.options import CompareOptions
    from ..questions.why import digest
    from ..registry import on_device
    from ..results import breakdowns, failures
    from ..show.why import calls, closely, parts

    backends = tuple(on_device(name, device) for name in backends)
    chosen |= {"device": device, "quiet": not verbose}
    options = CompareOptions(backends, apart=True, **chosen)

    def show(result: "Result") -> bool:
        found = breakdowns(result)
        if as_json:
            say_json(digest(found))
        else:
            say(calls(found, screen(), named=backends))
            in_detail = found if backends or len(found) <= _FEW else []
            for one in in_detail:
                if one.parts or tree:
                    say(parts(one, screen()))
                if tree:
                    say(closely(one, screen()))
        return not failures(found, backends)

    return run(compare, options, show, verbose=verbose)
