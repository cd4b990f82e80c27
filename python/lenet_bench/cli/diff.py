"""`diff`: what became slower between two saved results."""

from pathlib import Path
from typing import Any

import click

from .options import FILE, command, form_option, option
from .output import SUCCESS, WRONG, say, screen


@command("Find what became slower between two results.")
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@option(
    "--fail-over SHARE",
    "Fail if a backend is broken, or slower by more than this with 95 % confidence: 5%.",
)
@option("--relative", "Compare ratios to the baseline: for two machines.")
@option("--baseline BACKEND", "The baseline of those ratios (implies --relative). [NEW's]")
@form_option("markdown", "json")
def diff(old: Path, new: Path, form: str | None, **chosen: Any) -> int:
    """Compare two results that `compare` saved, backend by backend.

    Each ratio of NEW's median to OLD's has an interval over the starts of both. With --fail-over,
    the command fails if the whole interval of a backend is above that share, or if it ran in OLD
    and fails in NEW. Without --fail-over it does not fail.

    $ lenet-bench diff before.jsonl after.jsonl
    $ lenet-bench diff main.jsonl branch.jsonl --fail-over 5%   for CI
    $ lenet-bench diff laptop.jsonl server.jsonl --relative     two machines
    $ lenet-bench diff old.jsonl new.jsonl --markdown >> $GITHUB_STEP_SUMMARY
    """
    from ..questions.diff import diff as compare
    from ..results import read_result
    from ..show.terminal.difference import difference

    found = compare(read_result(old), read_result(new), **chosen)
    say(difference(found, form, screen()))
    return WRONG if found.regressed else SUCCESS
