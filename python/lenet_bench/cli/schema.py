"""`schema`: the form of a result file, for programs that read them."""

import click

from .output import SUCCESS, say


@click.command(
    short_help="Print the JSON schema of result files.",
    epilog="""\b
Examples:
  lenet-bench schema > result.schema.json
""",
)
def schema() -> int:
    """Print the JSON schema (2020-12) of a line of the files that `compare` writes."""
    from ..results.schema import make_schema

    say(make_schema().splitlines())
    return SUCCESS
