"""`schema`: the form of a result file, for programs that read them."""

import click

from .output import SUCCESS, say


@click.command(
    short_help="Print the JSON schema of result files.",
    epilog="""\b
Examples:
  lenet-bench schema > result.schema.json
  check-jsonschema --schemafile result.schema.json results/*.json
""",
)
def schema() -> int:
    """Print the JSON schema (2020-12) of the files that `compare` writes."""
    from ..results.schema import shipped_schema

    say(shipped_schema().splitlines())
    return SUCCESS
