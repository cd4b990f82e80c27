"""How a command is declared: its examples, its arguments, its options and their values."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from inspect import cleandoc
from math import inf, isfinite
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ..errors import LenetBenchError
from ..network import LENET

if TYPE_CHECKING:
    from ..subjects.subject import Subject


class _Name(click.Path):
    """A file or a folder, which is not opened here."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Refuse no name, and the sign for a standard stream, which would be a file's name."""
        if value in ("", "-"):
            instead = "; give /dev/stdin" if isinstance(param, click.Argument) else ""
            self.fail(f"{value!r} is no name{instead}", param, ctx)
        return super().convert(value, param, ctx)


#: Not checked by click: if one image cannot be read, the others are still answered.
FILE = _Name(path_type=Path, readable=False)
FOLDER = _Name(path_type=Path, readable=False, file_okay=False)

_LONGEST_S = 500 * 3600  # the system waits for less than 2^31 ms

_WITH_VERSIONS = ("compare", "why")  # the commands that take NAME==VERSION

Command = TypeVar("Command", bound=Callable[..., Any])
Device = Literal["cpu", "gpu"] | None  # the registry is imported by the command that needs it


class BackendName(click.ParamType[str]):
    """A backend or variant, by the name under which it is listed: keras for keras:predict."""

    name = "backend"

    def __init__(self, *others: str) -> None:
        self.others = others  # other valid words: auto, all

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """Refuse an unknown name, and suggest the one that was probably meant."""
        from ..registry import canonical_name, without_threads

        if value in self.others:
            return value
        if (name := without_threads(value)) != value:
            self.fail(f"name {name}, and give the number of its threads with --threads", param, ctx)
        if "==" in value and type(self) is BackendName and ctx.info_name not in _WITH_VERSIONS:
            known = " and ".join(_WITH_VERSIONS)
            self.fail(f"{value}: a version of an API is for {known}", param, ctx)
        try:
            return canonical_name(value)
        except LenetBenchError as error:
            self.fail(_as_model(value) or str(error), param, ctx)

    def shell_complete(self, _: Any, __: Any, incomplete: str) -> list[CompletionItem]:
        """Complete a name; names on a GPU only after a first letter: they double the list."""
        from ..registry import every_name

        names = [name for name in (*self.others, *every_name()) if name.startswith(incomplete)]
        return [CompletionItem(name) for name in names if incomplete or "@" not in name]


class RowName(BackendName):
    """The name of a row of a result: a backend, which a number of threads may follow."""

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """Refuse an unknown backend."""
        from ..registry import without_threads

        name = without_threads(value)
        return super().convert(name, param, ctx) + value.removeprefix(name)


def _as_model(value: str) -> str | None:
    """What to type where a file stands in a backend's place."""
    if value.lower().endswith((".onnx", ".tflite", ".keras", ".h5", ".pt2", ".py")):
        return f"{value} is a model file; to measure it: lenet-bench compare --model {quote(value)}"
    if Path(value).is_file():
        return f"{value} is a file and no backend; `compare --model` takes a model's file"
    return None


class Whole(click.IntRange):
    """A whole number within limits, which click would call an integer range."""

    name = "whole number"


class Real(click.FloatRange):
    """A finite number within limits; click's lets NaN through, which no limit is above."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Refuse what is not finite."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"expected a finite number, got {value!r}", param, ctx)
        return number


BACKEND = BackendName()


class NetworkName(click.ParamType[str]):
    """A network that can take LeNet's place, or all of them."""

    name = "network"

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """Refuse an unknown name."""
        from ..networks import NETWORKS

        if value not in (*NETWORKS, ALL_NETWORKS):
            known = ", ".join(NETWORKS)
            self.fail(f"expected {known} or {ALL_NETWORKS}, got {value!r}", param, ctx)
        return value

    def shell_complete(self, _: Any, __: Any, incomplete: str) -> list[CompletionItem]:
        from ..networks import NETWORKS

        names = (*NETWORKS, ALL_NETWORKS)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


ALL_NETWORKS = "all"


def subject_of(network: str, file: Path | None, chosen: dict[str, Any]) -> "Subject":
    """The model, or LeNet; `run` puts another network in its place. It takes what is chosen of it.

    That are the values of `model_options` and the weights. The budget begins with the model.
    """
    from ..subjects.formats import own_model
    from ..subjects.lenet import LeNet

    shapes, ranges, data, weights = map(chosen.pop, ("shapes", "ranges", "data", "weights"))
    if file and is_given("network"):
        raise click.UsageError("a run has one network: give --network or --model")
    if not file and (shapes or ranges or data):
        raise click.UsageError("--shape, --range and --input are for the inputs of a --model")
    model = None
    if file:
        began_s = chosen["began_s"] = monotonic()
        until_s = began_s + (chosen["budget_s"] or inf)
        model = own_model(file, dict(shapes), dict(ranges), str(data or ""), until_s=until_s)
    other = model.label if model else network
    if weights and other != LENET:
        raise click.UsageError(f"--weights is for LeNet only, not for {other}")
    return model or LeNet(str(weights or ""))


def is_given(name: str | None) -> bool:
    """Whether the user typed a value of this parameter."""
    context = click.get_current_context()
    return context.get_parameter_source(name or "") is ParameterSource.COMMANDLINE


def share_of(text: str) -> float:
    """A share of a whole, spelled 2% or 0.02."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    share = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < share < 1:
        raise click.BadParameter(f"expected a share such as 2% or 0.02, got {text!r}")
    return share


def _input_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """The shape of a model's input, spelled image=1x3x320x320."""
    match = re.fullmatch(r"(.+)=([1-9]\d{0,8}(?:x[1-9]\d{0,8})*)", text)
    if match is None:
        raise click.BadParameter(f"expected a shape such as image=1x3x320x320, got {text!r}")
    return match[1], tuple(map(int, match[2].split("x")))


def _input_range(text: str) -> tuple[str, tuple[float, float]]:
    """The least and the greatest value of a model's input, spelled ids=0:30000, or rate=16000."""
    match = re.fullmatch(r"(.+)=(-?[\d.]+(?:e-?\d+)?)(?::(-?[\d.]+(?:e-?\d+)?))?", text)
    try:
        name, low, high = match.groups() if match else ("", "", "")
        limits = float(low), float(high or low)
    except ValueError:
        limits = 1.0, 0.0
    if not limits[0] <= limits[1] <= 2**53:
        raise click.BadParameter(f"expected values such as ids=0:30000 or rate=16000, got {text!r}")
    return name, limits


def seconds(text: str) -> float:
    """A time spelled 60s, 500ms, 5m or 1h; a bare number is seconds."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)", text.strip())
    if match is None or not float(match[1]):
        raise click.BadParameter(f"expected a time such as 60s, 500ms or 5m, got {text!r}")
    time = float(match[1]) * units[match[2]]
    if time > _LONGEST_S:
        raise click.BadParameter(f"expected at most {_LONGEST_S // 3600}h, got {text!r}")
    return time


def numbers_of_threads(text: str | int) -> int | tuple[int, ...]:
    """A number of threads, or several spelled 1,2,default; 0 for the word `default`."""
    words = [word.strip() for word in str(text).split(",")]
    for word in words:
        if not re.fullmatch(r"[1-9]\d{0,4}|default", word):
            raise click.BadParameter(f"expected a number above 0 or `default`, got {word!r}")
    numbers = tuple(0 if word == "default" else int(word) for word in each_once(None, None, words))
    return numbers if len(numbers) > 1 else numbers[0]


#: What an option takes: its name in the help, and its type.
_VALUES: dict[str, Any] = {
    "BACKEND": BACKEND,
    "NAME": BACKEND,
    "FILE": FILE,
    "DIR": FOLDER,
    "N": Whole(min=1),
    "NETWORK": NetworkName(),
    "TIME": seconds,
}


def command(short: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function; `short` describes it in the list of commands.

    Its help is the function's docstring. Lines that begin with $ are examples; they and what
    follows are printed after the options.
    """

    def made(function: Callable[..., Any]) -> click.Command:
        text, _, examples = cleandoc(function.__doc__ or "").partition("\n\n$ ")
        shown = examples.replace("\n$ ", "\n  ")
        epilog = f"\b\nExamples:\n  {shown}\n"
        return click.command(short_help=short, help=text, epilog=epilog)(function)

    return made


def option_group(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one decorator, listed in this order."""

    def add(command: Command) -> Command:
        for one in reversed(options):
            command = one(command)
        return command

    return add


def option(
    spelled: str, help: str, name: str = "", *, kind: Any = None, **more: Any
) -> Callable[[Command], Command]:
    """Declare an option as its help spells it: `-o, --output FILE`, or `--quick` without a value.

    The value's name decides its type, unless there is a `kind`; [cpu|gpu] is a choice. `name` is
    the parameter's, where it is not the option's.
    """
    words = spelled.replace(", -", " -").split()
    names = [word for word in words if word.startswith("-")]
    if takes := " ".join(words[len(names) :]):
        choice = click.Choice(takes[1:-1].split("|")) if takes.startswith("[") else None
        value = {"metavar": takes, "type": kind or choice or _VALUES[takes]}
        more = {"show_default": "default" in more, **value, **more}
    else:
        more["is_flag"] = True
    return click.option(*names, *filter(None, [name]), help=help, **more)


def each_once(_context: Any, _argument: Any, names: Sequence[str]) -> Sequence[str]:
    """Refuse a name that is given twice."""
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is named twice")
    return names


backends_argument = click.argument(
    "backends", metavar="[BACKEND]...", nargs=-1, type=BACKEND, callback=each_once
)
results_argument = click.argument("results", metavar="[RESULT]...", nargs=-1, type=FILE)


def backend_option(default: str) -> Callable[[Command], Command]:
    """The option --backend; its help says what happens without it."""
    text = "A backend, `auto` for the first that runs here, or `all`. Repeatable."
    kind, spelled = BackendName("auto", "all"), "-b, --backend NAME"
    return option(spelled, text, "backends", kind=kind, multiple=True, default=(default,))


_FORMS = {
    "json": "Print JSON for programs.",
    "csv": "Print CSV for spreadsheets.",
    "markdown": "Print Markdown.",
}


def form_option(*forms: str) -> Callable[[Command], Command]:
    """--json, --csv, --markdown as one `form`, at most one of them; None is the terminal's."""

    def choose(context: click.Context, option: click.Parameter, given: bool) -> None:
        earlier = context.params.setdefault("form", None)
        if given and earlier:
            raise click.UsageError(f"--{earlier} and --{option.name}: give one of them")
        if given:
            context.params["form"] = option.name

    flag = partial(click.option, is_flag=True, expose_value=False, callback=choose)
    return option_group(*(flag(f"--{form}", help=_FORMS[form]) for form in forms))


Numbers = int | tuple[int, ...] | None


def usable(_context: Any, _option: Any, threads: Numbers) -> Numbers:
    """Refuse more threads than cores: they would wait for each other while timed."""
    from ..registry import usable_cores

    cores = usable_cores()
    most = max(threads) if isinstance(threads, tuple) else threads
    if most is not None and most > cores:
        raise click.BadParameter(
            f"expected at most {cores} (the cores of this machine), got {most}"
        )
    return threads


def _set_threads(context: Any, option: Any, threads: int) -> int:
    from ..measure.pinning import tell_threads

    tell_threads(threads)  # before NumPy is imported
    usable(context, option, threads)
    return threads


_threads_option = partial(
    click.option,
    type=Whole(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Threads that each backend may use.",
)
threads_option = _threads_option("--threads", callback=usable)
several_threads_option = _threads_option(
    "--threads",
    type=numbers_of_threads,
    metavar="N,...",
    callback=usable,
    help="Threads that each backend may use; `default`: as many as its API takes by itself. "
    "1,2,default: a row for each.",
)
#: For backends in this process: eager, since NumPy's BLAS reads it when it is imported.
threads_here_option = _threads_option("--threads", callback=_set_threads, is_eager=True)
timeout_option = option(
    "--timeout TIME", "Stop waiting for a backend after this time.", default="120s"
)
device_option = option(
    "--device [cpu|gpu]", "Run on this device; torch then means torch@gpu. [where it usually runs]"
)
network_option = option(
    "--network NETWORK",
    "The network, or `all`: `lenet-bench networks` lists them.",
    default=LENET,
)


def model_options(help: str) -> Callable[[Command], Command]:
    """--model, of which the command says what it does, and how the model's inputs are made."""
    return option_group(
        option("--model FILE", help),
        option(
            "--shape NAME=SIZES",
            "An input's shape: image=1x3x320x320. Repeatable. "
            "[the model's; 1 where it has no size]",
            "shapes",
            kind=_input_shape,
            multiple=True,
        ),
        option(
            "--range NAME=A:B",
            "An input's least and greatest value: ids=0:30000, rate=16000. Repeatable.",
            "ranges",
            kind=_input_range,
            multiple=True,
        ),
        option(
            "--input FILE",
            "Real inputs of the model: an .npz file with an array for each, by its name.",
            "data",
        ),
    )


json_option = option("--json", _FORMS["json"], "as_json")
verbose_option = option("-v, --verbose", "Show what frameworks print.")
open_option = option("--open", "Open the page in the browser.", "show")
weights_option = option("--weights FILE", "Use these weights (safetensors). [those of the package]")
data_option = option(
    "--data DIR", "Folder with MNIST's IDX files. [$LENET_BENCH_MNIST, or downloaded once]"
)
#: The options of a command that runs backends in this process.
asking_options = option_group(
    json_option, device_option, threads_here_option, weights_option, verbose_option
)


def run_options(
    name: str, *, otherwise: str = "", threads: Callable[[Any], Any] = threads_option
) -> Callable[[Command], Command]:
    """The options of a run of the command of that name, as CompareOptions calls them.

    `otherwise` is what ends a run without --budget. Without --output, the run is saved in a file
    named after the command and the time.
    """
    stop = f"Stop after this time: 60s, 5m. {otherwise}".strip()
    save = f"Save the run to FILE, or continue the run saved there. [results/{name}-DATE.jsonl]"

    def default_path(_context: Any, _option: Any, file: Path | None) -> Path:
        return file or Path(f"results/{name}-{datetime.now():%Y%m%d-%H%M%S}.jsonl")

    return option_group(
        option("--budget TIME", stop, "budget_s"),
        option("--rounds N", "Stop after N rounds."),
        option("--timeout TIME", "Wait so long for an answer.", "timeout_s", default="120s"),
        threads,
        weights_option,
        option("-o, --output FILE", save, callback=default_path),
    )
