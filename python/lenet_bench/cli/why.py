"""`why`: what a call is made of."""

from pathlib import Path
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
from .output import SUCCESS, WRONG, answer, complain, note, run, say, say_json, screen

if TYPE_CHECKING:
    from ..measure.options import CompareOptions
    from ..results import Result

_FEW = 8  # without a BACKEND, the parts of so many are shown


@command("Take a call apart: where does the time go?")
@backends_argument
@option("--tree", "Show which Python functions take the time.")
@device_option
@run_options("why")
@option(
    "--trace FILE", "Only write a trace of one call of each, function by function, for Perfetto."
)
@json_option
@verbose_option
def why(
    backends: tuple[str, ...],
    tree: bool,
    device: Device,
    trace: Path | None,
    as_json: bool,
    verbose: bool,
    **chosen: Any,
) -> int:
    """Take one call of each BACKEND apart, or of every backend if none is named.

    Each is measured as by `compare`. Then smaller networks are timed: one that does nothing, some
    of trivial operations, and LeNet cut after each stage. Their times give the parts of the call;
    what the parts do not explain is shown, too. Where the engine has a profiler, its own time for
    each stage stands beside them.

    $ lenet-bench why onednn onnxruntime
    $ lenet-bench why keras keras:call tensorflow --tree
    $ lenet-bench why --device gpu cudnn torch
    $ lenet-bench why torch -o mine.jsonl          run it again to continue
    $ lenet-bench why keras torch --trace calls.json
    $ lenet-bench why --json torch | jq '.backends[] | {name, explained, parts}'

    Exit codes: 0; 1 if a backend failed or a named one does not run.
    """
    from ..measure.comparison import compare
    from ..measure.options import CompareOptions
    from ..questions.why import digest
    from ..registry import on_device
    from ..results import failures, taken_apart
    from ..show.why import calls, closely, parts

    backends = tuple(on_device(name, device) for name in backends)
    chosen |= {"device": device, "quiet": not verbose}
    options = CompareOptions(backends, apart=True, **chosen)
    if trace:
        return _traced(options, trace, as_json=as_json)

    def show(result: "Result") -> bool:
        found = taken_apart(result)
        if as_json:
            say_json(digest(found))
        else:
            say(calls(found, screen(), named=backends))
            for one in found if backends or len(found) <= _FEW else ():
                say(parts(one, screen()) if one.parts or tree else ())
                say(closely(one, screen()) if tree else ())
        return not failures(found, backends)

    return run(compare, options, show, verbose=verbose)


def _traced(options: "CompareOptions", path: Path, *, as_json: bool) -> int:
    from ..measure.interrupts import interrupts
    from ..questions.trace import trace
    from ..show.terminal.progress import progress
    from ..units import counted, time

    with interrupts(), progress(len(options.entries())) as step:
        found, failures = trace(options, path, step)
    for failure in failures:
        complain(failure)
    lines = (
        f"{one.name}: {counted(len(one.spans) - 1, 'function')} in a call of "
        f"{time(one.median_us)}, {time(one.traced_us)} with tracing"
        for one in found
    )
    answer(as_json, {"file": str(path), "calls": [one.to_json() for one in found]}, lines)
    if found:
        note(f"{path}: open it in https://ui.perfetto.dev or speedscope.app")
    return WRONG if failures or not found else SUCCESS
