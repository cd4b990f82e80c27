"""`why`: what a backend's call is made of."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..show.terminal.screen import Screen
from ..units import counted
from .options import (
    FILE,
    backends_argument,
    device_option,
    json_option,
    threads_option,
    verbose_option,
    weights_option,
)
from .output import INTERRUPTED, SUCCESS, WRONG, interruptible, note, say

if TYPE_CHECKING:
    from ..registry import Device


@click.command(
    short_help="Take a call apart: where does the time go?",
    epilog="""\b
Examples:
  lenet-bench why
  lenet-bench why keras keras:call tensorflow --tree
  lenet-bench why --device gpu cudnn torch
  lenet-bench why --json torch | jq '.[] | {name, fixed_us, python_calls}'

Exit codes: 0, or 1 where a backend failed or a named one does not run.
""",
)
@backends_argument
@click.option("--tree", is_flag=True, help="Show which Python functions take the time.")
@device_option
@threads_option
@weights_option
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the result as JSON.")
@json_option
@verbose_option
def why(
    backends: tuple[str, ...],
    tree: bool,
    device: "Device | None",
    threads: int,
    weights: Path | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Take one call of each BACKEND (all without one) apart.

    Shows what one more image adds and what a call costs beside its image, where that can be known;
    how many Python functions a call runs, through which packages, and how often it waits.
    `compare` measures how long a backend takes, with intervals.
    """
    from ..measure.options import CompareOptions
    from ..questions.why import why as take_apart
    from ..questions.why import write
    from ..registry import on_device
    from ..results import failures
    from ..results.versioned import check_place
    from ..show.terminal.progress import progress
    from ..show.terminal.why import calls, closely

    if output:
        check_place(output)
    backends = tuple(on_device(name, device) for name in backends)
    names = [entry.name for entry in CompareOptions(backends=backends, device=device).entries()]
    found = []
    with progress(len(names)) as step, interruptible() as interrupted:
        for anatomy in take_apart(names, threads=threads, weights=weights, quiet=not verbose):
            found.append(anatomy)
            step(anatomy.name)
    for anatomy in found if verbose else ():
        note(anatomy.output and f"{anatomy.name} printed:\n{anatomy.output}")
    if as_json:
        say([json.dumps([asdict(anatomy) for anatomy in found], indent=2)])
    else:
        screen = Screen.of(sys.stdout)
        say(calls(found, screen, named=backends))
        for anatomy in found if tree else ():
            if anatomy.status == "ok":
                say(closely(anatomy, screen))
    if output and found:
        write(output, found, threads)
        note(f"the result is in {output}")
    if interrupted.is_set():
        note(f"interrupted after {len(found)} of {counted(len(names), 'backend')}")
        return INTERRUPTED
    return WRONG if failures(found, backends) else SUCCESS
