"""The command line: a file for each command: arguments in, one call, output.

A command's file is imported when the command runs, and a heavy module by the command that needs it,
so that `infer` starts quickly.
"""

import errno
import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import click

from ..errors import TEMPORARY, LenetBenchError, Misuse, incomplete
from ..texts import printable
from .output import (
    INTERRUPTED,
    MISUSED,
    PROGRAM,
    SUCCESS,
    WRONG,
    abandon_output,
    complain,
    open_closed_streams,
)

DEBUG_VARIABLE = "LENET_BENCH_DEBUG"
_FILES = {  # command -> its file, in the order of the help
    "infer": "infer",
    "verify": "verify",
    "compare": "compare",
    "networks": "networks",
    "report": "report",
    "diff": "report",
    "share": "share",
    "machines": "machines",
    "why": "why",
    "cost": "cost",
    "classroom": "classroom",
    "doctor": "doctor",
    "backends": "doctor",
    "train": "train",
    "export": "export",
    "env": "env",
    "schema": "export",
    "completion": "export",
}
_CANNOT_WRITE = (errno.EBADF, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_CANNOT_REACH = (errno.EACCES, errno.ENAMETOOLONG)  # Path.is_file raises these before Python 3.14


class _Commands(click.Group):
    """The commands of _FILES."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(_FILES)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        if name not in _FILES:
            return None
        module = import_module(f".{_FILES[name]}", __name__)
        command: click.Command = getattr(module, name)
        return command


@click.group(
    cls=_Commands,
    commands=dict.fromkeys(_FILES, click.Command(None)),  # their names, to suggest one
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  lenet-bench infer digit.png              classify a picture
  lenet-bench infer digit.png -b all       classify it on every API
  lenet-bench compare --quick              measure what each API costs
  lenet-bench report RESULT -o page.html   draw the result as a page
  lenet-bench diff OLD NEW --fail-over 5%  find what became slower
  lenet-bench share RESULT                 prepare a result for sharing
  lenet-bench machines                     show the results of many machines
  lenet-bench why keras                    find where a call's time goes
  lenet-bench networks                     list larger and smaller networks
  lenet-bench classroom --serve --open     draw digits, and let every API answer
  lenet-bench cost                         count the code that each API takes
  lenet-bench backends                     list the APIs, from C++ to Keras
  lenet-bench doctor                       check what runs here

\b
Exit codes: 0 success, 1 a wrong or failed result, 2 misuse, 130 interrupted.
""",
)
@click.version_option(package_name="lenet-bench", prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help=f"Show the traceback of a failure (${DEBUG_VARIABLE}).")
def cli(debug: bool) -> None:
    """Measure what an API layer costs: one network, one image, every API from C++ to Keras."""
    if debug:
        os.environ[DEBUG_VARIABLE] = "1"


def main() -> None:
    """Run the command line and leave with its exit code; Ctrl-C changes nothing from its end on."""
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # another one, while the first was heard
        code = INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # or the interpreter collects garbage at its exit: 20 ms of `infer`
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command; a failure is one sentence on stderr."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = cli.main(list(arguments), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else SUCCESS
    except click.ClickException as error:
        object.__setattr__(error, "message", printable(error.message))
        if sys.stderr:
            error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc()
        complain(_sentence(error))
        abandon_output()
        return MISUSED if isinstance(error, Misuse) else WRONG


def _sentence(error: Exception) -> str:
    """The message of this error for the user."""
    if isinstance(error, LenetBenchError):
        return str(error)
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
        return f"the output cannot be written: {error.strerror}"
    if isinstance(error, OSError) and error.errno in _CANNOT_REACH and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return "too many files are open; to raise the limit: ulimit -n 1024"
    if isinstance(error, FileNotFoundError) and not error.filename:
        return f"no temporary file can be made; {TEMPORARY}"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return (
            "no thread can be started: a limit of processes is reached (ulimit -u, a container's)"
        )
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, ImportError):  # another's was answered where it was imported
        return incomplete(error)
    return (
        f"{type(error).__name__}: {error}: this is a bug; please report it with what"
        f" `{PROGRAM} --debug ...` prints"
    )
