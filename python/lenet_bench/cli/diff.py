"""`diff`: what became slower between two saved results."""

import sys
from pathlib import Path

import click

from ..terminal import Screen
from .options import FILE, checked_rung, complete_rung, share
from .output import SUCCESS, WRONG, say


@click.command(
    short_help="Say what became slower between two results.",
    epilog="""\b
Examples:
  lenet-bench diff before.json after.json
  lenet-bench diff main.json branch.json --fail-over 5%   for CI
  lenet-bench diff laptop.json server.json --relative     two machines
  lenet-bench diff old.json new.json --markdown >> $GITHUB_STEP_SUMMARY
""",
)
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@click.option(
    "--fail-over",
    metavar="SHARE",
    callback=share,
    help="Fail where a rung is slower by more than this, with confidence, or broken: 5%.",
)
@click.option("--relative", is_flag=True, help="Compare ratios to the baseline: for two machines.")
@click.option(
    "--baseline",
    metavar="RUNG",
    callback=checked_rung,
    shell_complete=complete_rung,
    help="The baseline of those ratios (implies --relative). [NEW's]",
)
@click.option("--markdown", "form", flag_value="markdown", help="Print Markdown.")
@click.option("--json", "form", flag_value="json", help="Print JSON for programs.")
def diff(
    old: Path,
    new: Path,
    fail_over: float | None,
    relative: bool,
    baseline: str | None,
    form: str | None,
) -> int:
    """Compare two results that `compare` saved, rung by rung.

    Each ratio of NEW's median to OLD's has an interval, a bootstrap over the starts of both. A
    rung regresses where that interval lies wholly above what --fail-over allows, or where it was
    ok and is not any more; without --fail-over nothing fails.
    """
    from ..measure.difference import diff as compare
    from ..measure.summary import summarise
    from ..report.difference import difference
    from ..results import read_result

    found = compare(
        summarise(read_result(old)),
        summarise(read_result(new)),
        fail_over=fail_over,
        relative=relative,
        baseline=baseline,
    )
    say(difference(found, form, Screen.of(sys.stdout)))
    return WRONG if found.regressed else SUCCESS
