"""`env`: isolated environments for frameworks."""

from pathlib import Path
from time import monotonic
from typing import Any

import click

from ..errors import LenetBenchError
from .options import json_option, option
from .output import SUCCESS, WRONG, answer, complain, note

#: Each is a file of that folder, imported by the command that needs it.
_PINS = Path(__file__).parents[1] / "registry/environments"
_NAMES = sorted(path.stem for path in _PINS.glob("*.txt"))


class _Environment(click.Choice[str]):
    """One of the files, or a version of an API."""

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """Refuse a name that is neither."""
        from ..registry import find

        if "==" not in value:
            chosen: str = super().convert(value, param, ctx)
            return chosen
        try:
            return find(value)[0].environment or ""
        except LenetBenchError as error:
            self.fail(str(error), param, ctx)


_ENVIRONMENT = _Environment(_NAMES)


@click.group(
    short_help="Create environments for frameworks that need their own.",
    epilog="""\b
Examples:
  lenet-bench env list
  lenet-bench env create mxnet
  lenet-bench env create onnxruntime==1.26.0
  lenet-bench infer digit.png -b mxnet
""",
)
def env() -> None:
    """Create environments for frameworks that cannot be installed beside the others."""


@env.command("list")
@json_option
def list_environments(as_json: bool) -> int:
    """List the environments, and whether each was created."""
    from ..registry import held_by
    from ..registry.environments import environments, of, of_versions

    known = [*environments().values(), *filter(None, map(of, of_versions()))]
    value = [
        {
            "name": one.name,
            "summary": one.summary,
            "backends": held_by(one.name) or [one.name],
            "created": one.created,
            "gigabytes": one.size_gb,
            "folder": str(one.folder),
        }
        for one in known
    ]
    width, states = max(len(one.name) for one in known), {True: "created", False: "absent "}
    lines = (
        f"{one.name:<{width}}  {states[one.created]}  {one.size_gb} GB  {one.summary}"
        for one in known
    )
    answer(as_json, value, lines)
    return SUCCESS


@env.command("create")
@click.argument("names", metavar="[NAME | NAME==VERSION]...", nargs=-1, type=_ENVIRONMENT)
@option("--all", "Create every environment that this machine can use.", "every")
def create_environments(names: tuple[str, ...], every: bool) -> int:
    """Create environments from pinned versions; if one fails, the others are still created."""
    from ..registry.environments import create, environments
    from ..registry.gpu import why_none

    if every == bool(names):
        raise click.UsageError("expected the names of environments, or --all")
    if every:
        known, none = environments(), why_none()
        names = tuple(name for name in known if not (known[name].gpu and none))
        for name in known.keys() - names:
            note(f"{name} is left out: this machine has no NVIDIA GPU")
        size = sum(known[name].gigabytes for name in names)
        note(f"{len(names)} environments take {size:.1f} GB")
    code = SUCCESS
    for name in dict.fromkeys(names):
        began = monotonic()
        try:
            folder = create(name, note).folder
            note(f"{name}: in {folder} after {monotonic() - began:.0f} s")
        except LenetBenchError as error:
            complain(f"{name}: {error}")
            code = WRONG
    return code


@env.command("remove")
@click.argument("names", metavar="[NAME | NAME==VERSION]...", nargs=-1, type=_ENVIRONMENT)
@option("--converted", "Remove what models of your own were converted to.")
def remove_environments(names: tuple[str, ...], converted: bool) -> int:
    """Remove environments, or conversions of models."""
    from ..cache import cache_folder, prune
    from ..registry.environments import remove

    if converted == bool(names):
        raise click.UsageError("expected the names of environments, or --converted")
    if converted:
        prune("converted", 0)
        note(f"converted: nothing is left in {cache_folder('converted')}")
    for name in dict.fromkeys(names):
        note(f"{name}: removed" if remove(name) else f"{name}: was not created")
    return SUCCESS
