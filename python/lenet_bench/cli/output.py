"""Output and exit codes of commands: answers to stdout, all else to stderr."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

from ..atomic import write_file
from ..errors import LenetBenchError, ResultError
from ..network import LENET
from ..show.terminal.screen import Screen, encodable
from ..texts import PROGRAM, json_text, printable
from .options import ALL_NETWORKS

if TYPE_CHECKING:
    from ..measure.options import CompareOptions
    from ..results import Result

SUCCESS, WRONG, MISUSED, INTERRUPTED = 0, 1, 2, 130  # click has the same for misuse
_PAGE = b"<!doctype html"  # how each of ours begins


def screen() -> Screen:
    return Screen.of(sys.stdout)


def say(lines: Iterable[str]) -> None:
    """Print each line at once, so that it is shown even if a later one takes long or fails.

    A reader that leaves, as `head` does, changes nothing: the command goes on to its exit code.
    """
    try:
        for line in lines:
            sys.stdout.write(f"{encodable(line, sys.stdout.encoding)}\n")
            sys.stdout.flush()
    except BrokenPipeError:
        abandon_output()


def answer(as_json: bool, value: Any, lines: Iterable[str]) -> None:
    """Print the value, plain data or dataclasses, as JSON for programs; or the lines for people."""
    say([json_text(value)] if as_json else lines)


def give_page(path: Path, html: str, *, show: bool) -> None:
    """Write a page, also over an older one, and open it where that is asked for."""
    import webbrowser

    from ..results.files import check_place

    check_place(path, _PAGE)
    write_file(path, html.encode(), ResultError)
    note(f"wrote {path}")
    if show and not webbrowser.open(path.resolve().as_uri()):
        note("no browser was found; open the page yourself")


def run(
    measure: "Callable[[CompareOptions, Callable[[Any], None]], Result]",
    options: "CompareOptions",
    show: "Callable[[Result], bool]",
    *,
    network: str = LENET,
    verbose: bool = False,
) -> int:
    """Measure the subject of the options, or this network; show the result; the exit code.

    With `all`, each network has a file of its own. `show` returns whether all is well.
    """
    from ..registry.environments import prepare
    from ..show.terminal.progress import progress
    from ..subjects.network import OtherNetwork

    options.check()
    began = monotonic()
    named = (one for one in (*options.backends, options.baseline) if isinstance(one, str))
    prepare(named, note, complain)
    if options.began_s is not None:  # the budget is for measuring
        options = replace(options, began_s=options.began_s + monotonic() - began)
    output = Path(options.output or "")

    def measured(name: str) -> int:
        file = output if name == network else output.with_stem(f"{output.stem}-{name}")
        subject = options.subject if name == LENET else OtherNetwork(name)
        with progress() as step:
            result = measure(replace(options, subject=subject, output=file), step.of_a_run)
        if verbose:
            note_printed({row.name: row.output for row in result.backends})
        well = show(result)
        note(f"the run is saved in {file}")
        if result.ended == "interrupted":
            return INTERRUPTED
        return SUCCESS if well else WRONG

    return each_network(network, measured)


def each_network(name: str, run: Callable[[str], int]) -> int:
    """Run it for the network of that name, or for every one; the highest exit code.

    One of several that cannot be measured, as for its size, does not end the others. An interrupt
    does, also one between two runs, and the caller shows what was measured.
    """
    if name != ALL_NETWORKS:
        return run(name)
    from ..measure.interrupts import interrupts
    from ..networks import NETWORKS

    codes = [0]
    with interrupts():
        for one in NETWORKS:
            try:
                codes.append(run(one))
            except LenetBenchError as error:
                complain(str(error))
                codes.append(WRONG)
            except KeyboardInterrupt:
                codes.append(INTERRUPTED)
            if codes[-1] == INTERRUPTED:
                break
    return max(codes)


def note(text: str | None) -> None:
    """Print a note to stderr."""
    if text:
        to_stderr(f"{PROGRAM}: {printable(text)}")


def note_printed(outputs: Mapping[str, str]) -> None:
    """Print what backends printed, to stderr."""
    for name, output in outputs.items():
        if output:
            note(f"{name} printed:\n{output}")


def complain(sentence: str) -> None:
    """Print an error to stderr."""
    if sys.stderr:
        to_stderr(f"{PROGRAM}: " + Screen.of(sys.stderr).paint(printable(sentence, keep=""), "red"))


def open_closed_streams() -> None:
    """Where the process was started with closed streams, keep files from taking their places.

    What is said to a closed standard output is an error then, as on a full disk.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)
    if sys.stdout is None:
        nowhere = os.open(os.devnull, os.O_RDONLY)
        sys.stdout = os.fdopen(nowhere, "w")


def abandon_output(stream: TextIO | None = None) -> None:
    """Point stdout at /dev/null, so that the interpreter's last flush cannot fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def to_stderr(text: str) -> None:
    """Print it where it can be: a full disk there, or a reader that leaves, ends no command."""
    if sys.stderr:
        try:
            print(text, file=sys.stderr, flush=True)
        except OSError:
            abandon_output(sys.stderr)
