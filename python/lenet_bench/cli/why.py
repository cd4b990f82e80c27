"""`why`: what a rung's call is made of."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..numerals import counted
from ..terminal import Screen
from .options import (
    FILE,
    device_option,
    json_option,
    rungs_argument,
    threads_option,
    verbose_option,
    weights_option,
)
from .output import INTERRUPTED, SUCCESS, WRONG, interruptible, note, progress, say

if TYPE_CHECKING:
    from ..backends import Device


@click.command(
    short_help="Take a rung's call apart: where does the time go?",
    epilog="""\b
Examples:
  lenet-bench why
  lenet-bench why keras keras:call tensorflow --tree
  lenet-bench why --device gpu cudnn torch
  lenet-bench why --json torch | jq '.[] | {name, fixed_us, python_calls}'
""",
)
@rungs_argument
@click.option("--tree", is_flag=True, help="Show which Python functions take the time.")
@device_option
@threads_option
@weights_option
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Keep it all as JSON.")
@json_option
@verbose_option
def why(
    rungs: tuple[str, ...],
    tree: bool,
    device: "Device | None",
    threads: int,
    weights: Path | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Take one call of each RUNG (all without one) apart, to see why it takes what it takes.

    Shows what a call costs whatever is in it, what one more image adds, how many Python functions
    a call runs and through which packages it goes down, and how often it waits. `compare` says how
    long a rung takes, with intervals; this says what for.
    """
    from ..backends import on_device
    from ..measure.options import CompareOptions
    from ..report.why import closely, table
    from ..results import failures
    from ..results.versioned import check_place
    from ..why import why as take_apart
    from ..why import write

    if output:
        check_place(output)
    rungs = tuple(on_device(rung, device) for rung in rungs)
    names = [entry.name for entry in CompareOptions(rungs=rungs, device=device).entries()]
    found = []
    with progress(len(names)) as told, interruptible() as interrupted:
        for anatomy in take_apart(names, threads=threads, weights=weights, quiet=not verbose):
            found.append(anatomy)
            told(anatomy.name, 1)
    for anatomy in found if verbose else ():
        note(anatomy.output and f"{anatomy.name} printed:\n{anatomy.output}")
    if as_json:
        say([json.dumps([anatomy.to_json() for anatomy in found], indent=2)])
    else:
        screen = Screen.of(sys.stdout)
        say(table(found, screen, named=rungs))
        for anatomy in found if tree else ():
            if anatomy.status == "ok":
                say(closely(anatomy, screen))
    if output and found:
        write(output, found, threads)
        note(f"kept in {output}")
    if interrupted.is_set():
        note(f"interrupted after {len(found)} of {counted(len(names), 'rung')}")
        return INTERRUPTED
    return WRONG if failures(found, rungs) else SUCCESS
