"""Options and arguments that several commands share, and what they accept."""

import re
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import LenetBenchError

#: Whether it can be read is not click's to judge: one bad image leaves the others their answer.
FILE = click.Path(path_type=Path, readable=False)
FOLDER = click.Path(path_type=Path, readable=False, file_okay=False)

_LONGEST_S = 500 * 3600  # what the system can wait for at once, in milliseconds in 32 bits

Command = TypeVar("Command", bound=Callable[..., Any])


def _known_names() -> list[str]:
    from ..backends import every_name

    return ["auto", "all", *every_name()]


def on_ladder(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse a name that is not on the ladder."""
    named = tuple(map(_as_listed, given))
    for name in named:
        if name not in _known_names():
            raise _unknown(name, "auto", "all")
    return named


def _unknown(name: str, *others: str) -> click.BadParameter:
    """What was probably meant, or what is there; of a known rung only its devices and variants."""
    from ..backends import LADDER, every_name, find, names, nearest

    if re.split("[:@]", name)[0] in [rung.name for rung in LADDER]:
        try:
            find(name)
        except LenetBenchError as error:
            return click.BadParameter(str(error))
    if meant := nearest(name, [*others, *every_name()]):
        return click.BadParameter(f"no rung is called {name!r}; {meant}")
    return click.BadParameter(f"{name!r} is none of {', '.join([*others, *names()])}")


def _as_listed(name: str) -> str:
    """`keras` for `keras:predict`: a rung's usual variant is listed under the bare name."""
    from ..backends import usual_name

    try:
        return usual_name(name)
    except LenetBenchError:
        return name


def complete_name(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Rungs, `auto` and `all` that begin so."""
    return _beginning(begun, _known_names())


def _beginning(begun: str, names: list[str]) -> list[str]:
    """Names on a GPU double the list, so they wait for the first letter."""
    return [name for name in names if name.startswith(begun) and (begun or "@" not in name)]


def checked_rungs(
    context: click.Context, option: click.Parameter, given: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Refuse what is not a rung, and a rung that is named twice."""
    named = tuple(map(_as_listed, given or ()))
    for name in named:
        checked_rung(context, option, name)
        if named.count(name) > 1:
            raise click.BadParameter(f"{name} is named twice")
    return named


def checked_rung(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """Refuse what is not a rung."""
    from ..backends import every_name

    name = _as_listed(name) if name is not None else None
    if name is not None and name not in every_name():
        raise _unknown(name)
    return name


def complete_rung(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Rungs that begin so."""
    from ..backends import every_name

    return _beginning(begun, every_name())


def seconds(_context: click.Context, _option: click.Parameter, text: str | None) -> float | None:
    """A time spelled 60s, 500ms, 5m or 1h; a bare number is seconds."""
    if text is None:
        return None
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)", text.strip())
    if found is None or not float(found[1]):
        raise click.BadParameter(f"expected a time such as 60s, 500ms or 5m, got {text!r}")
    time = float(found[1]) * units[found[2]]
    if time > _LONGEST_S:
        raise click.BadParameter(f"expected at most {_LONGEST_S // 3600}h, got {text!r}")
    return time


def milliseconds(context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """A time in seconds, spelled as for `seconds`; but a bare number is milliseconds."""
    bare = text is not None and text.strip()[-1:].isdigit()
    return seconds(context, option, f"{text}ms" if bare else text)


def memory_size(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    """Bytes, spelled 2G or 500M."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)\s*([MG])(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None or not float(found[1]):
        raise click.BadParameter(f"expected a size such as 2G or 500M, got {text!r}")
    return int(float(found[1]) * {"M": 1 << 20, "G": 1 << 30}[found[2].upper()])


def batch_sizes(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, ...]:
    """Sizes spelled 1,8,64,512."""
    sizes = [part.strip() for part in text.split(",")] if text is not None else []
    if not all(re.fullmatch(r"[1-9]\d{0,4}", size) for size in sizes):
        raise click.BadParameter(f"expected sizes from 1 to 99999 such as 1,8,64,512, got {text!r}")
    return tuple(sorted(set(map(int, sizes))))


def share(_context: click.Context, _option: click.Parameter, text: str | None) -> float | None:
    """A share of a whole, spelled 2% or 0.02."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share < 1:
        raise click.BadParameter(f"expected a share such as 2% or 0.02, got {text!r}")
    return share


rungs_argument = click.argument(
    "rungs", metavar="[RUNG]...", nargs=-1, callback=checked_rungs, shell_complete=complete_rung
)


def backend_option(default: str) -> Callable[[Command], Command]:
    """--backend, with what it means where it is not given."""
    return click.option(
        "-b",
        "--backend",
        "backends",
        metavar="NAME",
        multiple=True,
        default=(default,),
        show_default=True,
        callback=on_ladder,
        shell_complete=complete_name,
        help="A rung of the ladder, `auto` for the first that runs here, or `all`. Repeatable.",
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def form_options(command: Callable[..., int]) -> Callable[..., int]:
    """--json, --csv and --markdown as one `form`; None is the terminal's."""

    @wraps(command)
    def choose(*, as_csv: bool, as_markdown: bool, as_json: bool, **rest: Any) -> int:
        forms = {"json": as_json, "csv": as_csv, "markdown": as_markdown}
        chosen = [form for form, wanted in forms.items() if wanted]
        if len(chosen) > 1:
            raise click.UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other")
        return command(form=chosen[0] if chosen else None, **rest)

    markdown = click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
    csv = click.option("--csv", "as_csv", is_flag=True, help="Print CSV for spreadsheets.")
    return json_option(csv(markdown(choose)))


def usable(_context: click.Context, _option: click.Parameter, threads: int | None) -> int | None:
    """Refuse more threads than cores: they would wait for each other, and be timed doing so."""
    from ..measure.pinning import usable_cores

    most = usable_cores()
    if threads is not None and threads > most:
        raise click.BadParameter(f"expected at most {most}, the cores at hand, got {threads}")
    return threads


def _tell_libraries(context: click.Context, option: click.Parameter, threads: int) -> int:
    from ..measure.pinning import tell_threads

    usable(context, option, threads)
    tell_threads(threads)
    return threads


_threads_option = partial(
    click.option,
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Threads of a rung.",
)
threads_option = _threads_option("--threads", callback=usable)
#: Where rungs run in this process: eager, since NumPy's BLAS is told before it is imported.
threads_here_option = _threads_option("--threads", callback=_tell_libraries, is_eager=True)
timeout_option = click.option(
    "--timeout",
    callback=seconds,
    metavar="TIME",
    default="120s",
    show_default=True,
    help="Give a rung up that does not answer for so long.",
)
device_option = click.option(
    "--device",
    type=click.Choice(["cpu", "gpu"]),
    help="Run rungs there: torch is torch@gpu then. [each rung's own]",
)
verbose_option = click.option(
    "-v", "--verbose", is_flag=True, help="Show what frameworks print and log."
)
weights_option = click.option(
    "--weights",
    type=FILE,
    metavar="FILE",
    help="Other weights than the canonical ones (safetensors).",
)
data_option = click.option(
    "--data",
    type=FOLDER,
    metavar="DIR",
    help="Folder with MNIST's IDX files. Else $LENET_BENCH_MNIST, else downloaded once.",
)
