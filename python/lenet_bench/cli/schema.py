"""`schema`: the form of a result file, for programs that read them."""

from .options import command
from .output import SUCCESS, say


@command("Print the JSON schema of result files.")
def schema() -> int:
    """Print the JSON schema (2020-12) of a line of the files that `compare` writes.

    $ lenet-bench schema > result.schema.json
    """
    from ..results.schema import make_schema

    say(make_schema().splitlines())
    return SUCCESS
