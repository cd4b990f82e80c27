"""`share`: prepare a result for a pull request, and check shared results."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import Misuse
from ..units import counted
from .options import FILE, command, option
from .output import INTERRUPTED, SUCCESS, WRONG, complain, note, say

if TYPE_CHECKING:
    from ..questions.share import Given

_FOLDER = Path("results/community")


@command("Prepare a result for others.")
@click.argument("results", metavar="RESULT...", nargs=-1, required=True, type=FILE)
@option("-o, --output DIR", f"Write the file here. [{_FOLDER}]", "folder")
@option("--yes", "Write without asking.")
@option("--print", "Only print every line of the file.", "whole")
@option("--keep", "Write FILE.jsonl.gz beside each FILE.jsonl, of any run.")
@option("--check", "Check shared files, or folders of them.")
def share(
    results: tuple[Path, ...],
    folder: Path | None,
    yes: bool,
    whole: bool,
    keep: bool,
    check: bool,
) -> int:
    """Preview a result, then write it for a pull request. Sends nothing.

    The file holds the machine, the versions, the settings and the times;
    no folder, no user, no host, and no output of any program. With --keep, results of any kind are
    written as small, for your own archive: unasked, unchecked, and with texts as they are.

    $ lenet-bench share mine.jsonl
    $ lenet-bench share mine.jsonl --print | less               every byte of it
    $ lenet-bench share --keep mine.jsonl why.jsonl             small, to keep
    $ lenet-bench share --check results/community               what CI does
    """
    forms = {"--check": check, "--keep": keep, "--print": whole, "-o": folder, "--yes": yes}
    chosen = [name for name, given in forms.items() if given]
    if len(chosen) > 1 and chosen[0] != "-o":
        raise click.UsageError(f"{chosen[0]} and {chosen[1]}: give one of them")
    if check:
        return _check(results)
    if keep:
        return _keep(results)
    if len(results) > 1:
        raise click.UsageError("share takes one result; only --keep and --check take several")
    from ..atomic import write_file
    from ..questions.share import given
    from ..results.log import as_lines

    found = given(results[0])
    if whole:
        say(as_lines(found.log).decode().splitlines())
        return SUCCESS
    say(_shown(found))
    file = (folder or _FOLDER) / found.name
    try:
        if not yes and not click.confirm(f"Write {file}?", err=True):
            note("nothing was written")
            return SUCCESS
    except (click.Abort, RuntimeError) as error:
        if not isinstance(error.__context__, KeyboardInterrupt):  # its end, or it is closed
            raise Misuse("nothing was written: standard input has no answer; give --yes") from None
        note("nothing was written")
        return INTERRUPTED
    write_file(file, found.content)
    say(_next(file))
    return SUCCESS


def _shown(found: "Given") -> Iterator[str]:
    """The header, and one block in place of all, which differ in numbers only."""
    from msgspec import to_builtins

    from ..questions.share import texts

    first, header = found.log.blocks[0], to_builtins(found.log.header)
    header |= {"backends": [one["name"] for one in header["backends"]], **header.pop("machine")}
    yield "The file says this about the machine, its software and the run:"
    yield from (f"  {name}: {json.dumps(value)}" for name, value in header.items())
    yield f"It has {counted(len(found.log.blocks), 'block')} of this form:"
    yield json.dumps(to_builtins(first))
    yield "The texts in these blocks, from the libraries and the program:"
    yield from (f"  {text}" for text in texts(found.log))
    yield f"The file is {found.name}, {len(found.content) / 1000:.0f} kB; --print prints all of it."


def _next(file: Path) -> Iterator[str]:
    yield f"wrote {file}. To share it, in a clone of lenet-bench's repository:"
    branch = file.name.removesuffix(".jsonl.gz")
    yield f"  git switch -c {branch}"
    yield f"  git add {file}"
    yield f"  git commit -m 'A result of {branch}'"
    yield f"and open a pull request with the text of: lenet-bench report --markdown {file}"


def _keep(paths: tuple[Path, ...]) -> int:
    from ..atomic import write_file
    from ..errors import ResultError
    from ..questions.share import packed, shared
    from ..results import read_log
    from ..results.log import as_lines

    for path in paths:
        file = path.with_suffix(".jsonl.gz")
        if path.suffix != ".jsonl":
            raise ResultError(f"{path}: --keep takes files that end in .jsonl, as runs write them")
        write_file(file, packed(as_lines(shared(read_log(path)))))
        note(f"{file}: {file.stat().st_size / 1000:.0f} kB of {path.stat().st_size / 1000:.0f} kB")
    return SUCCESS


def _check(paths: tuple[Path, ...]) -> int:
    from ..errors import ResultError
    from ..questions.share import check_file, shared_files

    refused = checked = 0
    for path in shared_files(paths):
        checked += 1
        try:
            check_file(path)
        except ResultError as error:
            refused += 1
            complain(str(error))
    note(f"{counted(checked, 'shared file')}, {refused} refused")
    return WRONG if refused else SUCCESS
