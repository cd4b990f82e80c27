"""`env`: isolated environments for frameworks."""

import json
from collections.abc import Callable
from time import monotonic

import click

from ..errors import LenetBenchError
from .options import Command, json_option
from .output import SUCCESS, WRONG, complain, note, say


@click.group(
    short_help="Isolated environments for frameworks.",
    epilog="""\b
Examples:
  lenet-bench env list
  lenet-bench env create mxnet
  lenet-bench infer digit.png -b mxnet
""",
)
def env() -> None:
    """Isolated environments, for the frameworks that cannot live beside the rest."""


@env.command("list")
@json_option
def list_environments(as_json: bool) -> int:
    """Show each environment, its rungs and whether it was created."""
    from ..backends import held_by
    from ..environments import environments

    found = [
        {
            "name": environment.name,
            "summary": environment.summary,
            "rungs": held_by(environment.name),
            "created": environment.created,
            "gigabytes": environment.gigabytes,
            "folder": str(environment.folder),
        }
        for environment in environments().values()
    ]
    states = {True: "created", False: "absent"}
    if as_json:
        say([json.dumps(found, indent=2)])
    else:
        width = max(len(str(environment["name"])) for environment in found)
        say(
            f"{e['name']:<{width}}  {states[bool(e['created'])]:<7}  {e['gigabytes']} GB  "
            f"{e['summary']}"
            for e in found
        )
    return SUCCESS


def _complete_environment(_: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    from ..environments import environments

    return [name for name in environments() if name.startswith(begun)]


def _checked(
    _context: click.Context, _argument: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse what is no environment; each once."""
    from ..environments import environments

    for name in given:
        if name not in environments():
            known = ", ".join(environments())
            raise click.BadParameter(f"no environment is called {name!r}; there are {known}")
    return tuple(dict.fromkeys(given))


def _names(metavar: str, *, required: bool = False) -> Callable[[Command], Command]:
    return click.argument(
        "names",
        nargs=-1,
        required=required,
        metavar=metavar,
        callback=_checked,
        shell_complete=_complete_environment,
    )


@env.command("create")
@_names("[NAME...]")
@click.option("--all", "every", is_flag=True, help="Every environment that is of use here.")
def create_environments(names: tuple[str, ...], every: bool) -> int:
    """Make environments from their pinned versions; one that fails leaves the others."""
    from ..backends._gpu import why_none
    from ..environments import create, environments

    if every == bool(names):
        raise click.UsageError("name environments, or give --all")
    if every:
        known, none = environments(), why_none()
        names = tuple(name for name in known if not (known[name].gpu and none))
        for name in known.keys() - names:
            note(f"{name} is left out, since there is no NVIDIA GPU here")
        size = sum(known[name].gigabytes for name in names)
        note(f"{len(names)} environments take {size:.1f} GB")
    failed = False
    for name in names:
        began = monotonic()
        try:
            folder = create(name, note).folder
            note(f"{name}: in {folder} after {monotonic() - began:.0f} s")
        except LenetBenchError as error:
            failed = True
            complain(f"{name}: {error}")
    return WRONG if failed else SUCCESS


@env.command("remove")
@_names("NAME...", required=True)
def remove_environments(names: tuple[str, ...]) -> int:
    """Remove environments."""
    from ..environments import remove

    for name in names:
        note(f"{name}: removed" if remove(name) else f"{name}: was not there")
    return SUCCESS
