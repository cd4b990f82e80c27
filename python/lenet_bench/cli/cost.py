"""`cost`: what each backend costs in code."""

from .options import backends_argument, command, json_option
from .output import SUCCESS, answer, screen


@command("Count the code that each backend takes.")
@backends_argument
@json_option
def cost(backends: tuple[str, ...], as_json: bool) -> int:
    """Count the code that each BACKEND takes, or every backend if none is named.

    Lines with code count; blank lines, comments, docstrings and lone brackets do not. Nothing is
    imported or run, so a backend need not run here. The pages of `report` and `classroom` show the
    code of two APIs side by side.

    $ lenet-bench cost
    $ lenet-bench cost keras torch onednn
    $ lenet-bench cost --json | jq '.[] | {name, lines_of_code}'
    """
    from ..cost import costs
    from ..show.terminal.cost import costs as in_a_table

    found = costs(backends)
    answer(as_json, found, in_a_table(found, screen()))
    return SUCCESS
