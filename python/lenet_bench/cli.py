"""The command line: arguments in, one call, output. Answers go to stdout, all else to stderr.

Heavy modules are imported by the command that needs them: `infer` must start in no time.
"""

import errno
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import get_completion_class

from .errors import LenetBenchError
from .terminal import Screen, printable

if TYPE_CHECKING:
    from .training import Recipe
    from .verify import Verification

PROGRAM = "lenet-bench"
SUCCESS, WRONG, MISUSE, INTERRUPTED = 0, 1, 2, 130

#: Whether it can be read is not click's to judge: one bad image leaves the others their answer.
FILE = click.Path(path_type=Path, readable=False)
FOLDER = click.Path(path_type=Path, readable=False, file_okay=False)

Command = TypeVar("Command", bound=Callable[..., Any])

_DEBUG_VARIABLE = "LENET_BENCH_DEBUG"
_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _known_names() -> list[str]:
    from .backends import names

    return ["auto", "all", *names()]


def _on_ladder(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse a name that is not on the ladder."""
    known = _known_names()
    named = tuple(map(_as_listed, given))
    for name in named:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}")
    return named


def _as_listed(name: str) -> str:
    """`keras` for `keras:predict`: a rung's usual variant is listed under the bare name."""
    from .backends import usual_name

    try:
        return usual_name(name)
    except LenetBenchError:
        return name


def _complete_name(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    return [name for name in _known_names() if name.startswith(begun)]


def _rungs(
    context: click.Context, option: click.Parameter, given: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Refuse what is not a rung, and a rung that is named twice."""
    named = tuple(map(_as_listed, given or ()))
    for name in named:
        _rung(context, option, name)
        if named.count(name) > 1:
            raise click.BadParameter(f"{name} is named twice")
    return named


def _rung(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    from .backends import names

    name = _as_listed(name) if name is not None else None
    if name is not None and name not in names():
        raise click.BadParameter(f"{name!r} is none of {', '.join(names())}")
    return name


def _complete_rung(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    from .backends import names

    return [name for name in names() if name.startswith(begun)]


def _seconds(_context: click.Context, _option: click.Parameter, text: str | None) -> float | None:
    """A time spelled 60s, 500ms, 5m or 1h; a bare number is seconds."""
    if text is None:
        return None
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)", text.strip())
    if found is None or not float(found[1]):
        raise click.BadParameter(f"expected a time such as 60s, 500ms or 5m, got {text!r}")
    return float(found[1]) * units[found[2]]


def _share(_context: click.Context, _option: click.Parameter, text: str | None) -> float | None:
    """A share of a whole, spelled 2% or 0.02."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share < 1:
        raise click.BadParameter(f"expected a share such as 2% or 0.02, got {text!r}")
    return share


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
        callback=_on_ladder,
        shell_complete=_complete_name,
        help="A rung of the ladder, `auto` for the first that runs here, or `all`. Repeatable.",
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of a rung."
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


class RecipeOption(click.Option):
    """A choice of the training recipe, whose default is read only when help shows it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its meaning, with the recipe's default."""
        from .training import Recipe

        recipe = Recipe().to_json()
        default = {**recipe, **recipe["augmentation"]}[str(self.name)]
        names, meaning = super().get_help_record(ctx) or ("", "")
        return names, f"{meaning}  [default: {'all' if default is None else default}]"


#: A training recipe's choices as options: the type and the meaning.
RECIPE_OPTIONS: dict[str, tuple[type, str]] = {
    "epochs": (int, "How often each image is learnt from."),
    "batch": (int, "Images a step."),
    "rate": (float, "Learning rate at the top of its cycle."),
    "momentum": (float, "Nesterov momentum."),
    "weight_decay": (float, "L2 penalty on the weights."),
    "seed": (int, "The same seed gives the same weights."),
    "validation": (int, "Training images held out to choose the epoch."),
    "images": (int, "Use only so many training images."),
    "rotation": (float, "Turn images by up to so many degrees."),
    "scale": (float, "Grow or shrink them by up to this part."),
    "shear": (float, "Slant them by up to this."),
    "shift": (float, "Move them by up to so many pixels."),
    "thicker": (float, "Thicken strokes by up to so many pixels."),
    "thinner": (float, "Thin strokes by up to so many pixels."),
    "blur": (float, "Blur by up to this part of a 3x3 blur."),
    "contrast": (float, "Fade ink by up to this part."),
}


def recipe_options(command: Command) -> Command:
    """An option for each choice of a training recipe."""
    for name, (kind, meaning) in reversed(RECIPE_OPTIONS.items()):
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, cls=RecipeOption, type=kind, help=meaning)(command)
    return command


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  lenet-bench infer digit.png              which digit is it?
  lenet-bench infer digit.png -b all       and what does every API say?
  lenet-bench compare --quick              and what does each cost?
  lenet-bench cost                         and how much code does each take?
  lenet-bench backends                     the ladder, silicon to Keras
  lenet-bench doctor                       what runs here, and what mends the rest

Exit codes: 0 success, 1 a wrong or failed result, 2 misuse, 130 interrupted.
""",
)
@click.version_option(package_name="lenet-bench", prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.option(
    "--debug", is_flag=True, help=f"Show the traceback of a failure (${_DEBUG_VARIABLE})."
)
def cli(debug: bool) -> None:
    """What does an API layer cost? One network, one image, every rung of the ladder."""
    if debug:
        os.environ[_DEBUG_VARIABLE] = "1"


@cli.command(
    epilog="""\b
Examples:
  lenet-bench infer digit.png
  lenet-bench infer images/*.png --backend fused
  lenet-bench infer photo.jpg --show --steps steps/
  lenet-bench infer digit.png --backend all
  lenet-bench infer --json images/*.png | jq .digit
  curl -s https://example.org/7.png | lenet-bench infer -
"""
)
@click.argument(
    "images", metavar="IMAGE...", nargs=-1, required=True, type=click.Path(readable=False)
)
@backend_option("auto")
@json_option
@click.option("--show", is_flag=True, help="Draw what the network saw.")
@click.option(
    "--steps",
    type=FOLDER,
    metavar="DIR",
    help="Write each step of reading an image to DIR as PNG.",
)
@threads_option
@weights_option
def infer(
    images: tuple[str, ...],
    backends: tuple[str, ...],
    as_json: bool,
    show: bool,
    steps: Path | None,
    threads: int,
    weights: Path | None,
) -> int:
    """Classify pictures of digits, and time the call.

    IMAGE is a PNG, JPEG, GIF, BMP, TIFF, WebP, PGM or PBM file, a pattern, or - for standard
    input. Each gets the digit and the ten probabilities; the times are those of one call, NumPy
    array in and out: the first one, and the median once warm.
    """
    from .inference import Failure, all_agree, expand, open_rungs, to_json
    from .inference import infer as answers_of
    from .printout import AnswerPrinter, passed_over
    from .weights import read_weights

    opened = open_rungs(backends, read_weights(weights), threads)
    _note(passed_over(opened))
    paths, outcomes = expand(images), []
    printer = AnswerPrinter(Screen.of(sys.stdout), paths, show)
    for outcome in answers_of(paths, opened.rungs, steps):
        outcomes.append(outcome)
        if as_json:
            _say(json.dumps(entry) for entry in to_json(outcome))
        elif isinstance(outcome, Failure):
            _complain(outcome.error)
        else:
            _say(printer.answer(outcome))
    if not as_json:
        _say(printer.times(opened.rungs, outcomes))
    return SUCCESS if all_agree(outcomes) else WRONG


@cli.command(
    epilog="""\b
Examples:
  lenet-bench verify
  lenet-bench verify --data ~/mnist --backend fused --backend fused:int16
  lenet-bench verify --json | jq 'select(.passed | not)'
"""
)
@data_option
@backend_option("all")
@json_option
@threads_option
@weights_option
def verify(
    data: Path | None,
    backends: tuple[str, ...],
    as_json: bool,
    threads: int,
    weights: Path | None,
) -> int:
    """Check every rung on MNIST's 10,000 test images.

    Each rung's probabilities are compared with the float64 reference's, and its digits with the
    labels. Fails where a rung is further from the reference than its tolerance. An image on which
    a rung and the reference say different digits is listed with its margin: by how much the
    reference prefers its own digit.
    """
    from .inference import open_rungs
    from .mnist import find_mnist, read_mnist
    from .printout import passed_over, verification
    from .verify import reference_probabilities
    from .verify import verify as verify_rung
    from .weights import read_weights

    read, digits = read_weights(weights), read_mnist("test", find_mnist(data))
    opened = open_rungs(backends, read, threads)
    _note(passed_over(opened))
    results: list[Verification] = []
    with _progress(len(digits) * (1 + len(opened.rungs))) as told:
        truth = reference_probabilities(digits, read, told)
        for rung in opened.rungs:
            results.append(verify_rung(rung.name, rung.backend, digits, truth, told))
            if as_json:
                _say([json.dumps(results[-1].to_json())])
    if not as_json:
        _say(verification(Screen.of(sys.stdout), results))
    return SUCCESS if all(result.passed for result in results) else WRONG


@cli.command(
    epilog="""\b
Examples:
  lenet-bench compare --quick
  lenet-bench compare fused openblas --budget 60s
  lenet-bench compare --precision 1% --baseline onednn -o mine.json
  lenet-bench compare --json | jq '.rungs[] | {name, p50_us, verdict}'
"""
)
@click.argument(
    "rungs", metavar="[RUNG]...", nargs=-1, callback=_rungs, shell_complete=_complete_rung
)
@click.option("--quick", is_flag=True, help="A rough answer within about 6 seconds.")
@click.option(
    "--budget", callback=_seconds, metavar="TIME", help="Time rungs for so long: 60s, 5m. [20s]"
)
@click.option(
    "--precision",
    callback=_share,
    metavar="SHARE",
    help="Stop once each median is known so well: 2%.",
)
@click.option("--rounds", type=click.IntRange(min=1), metavar="N", help="Stop after N rounds.")
@click.option(
    "--baseline",
    metavar="RUNG",
    callback=_rung,
    shell_complete=_complete_rung,
    help="What ratios are taken to. [the first rung that runs]",
)
@threads_option
@weights_option
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Repeat a run's order.")
@click.option(
    "--timeout",
    callback=_seconds,
    metavar="TIME",
    default="120s",
    show_default=True,
    help="Give a rung up that does not answer for so long.",
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Where every sample goes. [results/compare-DATE.json]",
)
@json_option
def compare(
    rungs: tuple[str, ...],
    quick: bool,
    budget: float | None,
    precision: float | None,
    rounds: int | None,
    baseline: str | None,
    threads: int,
    weights: Path | None,
    seed: int | None,
    timeout: float,
    output: Path | None,
    as_json: bool,
) -> int:
    """Measure rungs side by side: latency, ratio, and whether the difference is real.

    Each RUNG (all without one) runs in a process of its own on the same pinned core, one at a
    time, in shuffled rounds; none is timed before it gives the reference's answers. The first of
    --budget, --precision and --rounds that is reached ends the run; Ctrl-C does too, and shows
    what was measured. Fails where a rung fails.
    """
    from datetime import datetime

    from .measure import CompareOptions, NotSavedError
    from .measure import compare as measure
    from .measure.options import QUICK_BUDGET_S
    from .report.terminal import ProgressLine, table
    from .results import digest, failures

    output = output or Path(f"results/compare-{datetime.now():%Y%m%d-%H%M%S}.json")
    options = CompareOptions(
        rungs=rungs,
        baseline=baseline,
        threads=threads,
        budget_s=QUICK_BUDGET_S if quick and budget is None else budget,
        precision=precision,
        rounds=rounds,
        seed=seed,
        timeout_s=timeout,
        weights=weights,
        output=output,
    )
    named = (*rungs, *([baseline] if baseline else []))
    line = ProgressLine(sys.stderr)
    unsaved = None
    try:
        result = measure(options, line)
    except NotSavedError as error:
        result, unsaved = error.result, str(error)
    finally:
        line.clear()
    if as_json:
        _say([json.dumps(digest(result), indent=2)])
    else:
        _say(table(result, Screen.of(sys.stdout), named))
    if unsaved:
        _complain(unsaved)
        return WRONG
    _note(f"every sample is in {output}")
    if result.ended == "interrupted":
        return INTERRUPTED
    return WRONG if failures(result, named) else SUCCESS


@cli.command(
    epilog="""\b
Examples:
  lenet-bench cost
  lenet-bench cost keras torch onednn
  lenet-bench cost --show keras onednn | less
  lenet-bench cost --json | jq '.[] | {name, lines_of_code}'
"""
)
@click.argument(
    "rungs", metavar="[RUNG]...", nargs=-1, callback=_rungs, shell_complete=_complete_rung
)
@click.option(
    "--show",
    nargs=2,
    metavar="A B",
    callback=_rungs,
    shell_complete=_complete_rung,
    help="Print the sources of two rungs side by side, stage by stage.",
)
@json_option
def cost(rungs: tuple[str, ...], show: tuple[str, ...], as_json: bool) -> int:
    """Count what each rung makes you write: lines of code, API names, decisions.

    A line counts that holds code: not a blank one, a comment, a docstring, nor one of brackets
    only. Nothing is imported or run, so rungs count whether they run here or not.
    """
    from .backends import find
    from .cost import costs, sources
    from .report.cost import side_by_side, table
    from .report.stages import staged

    if show:
        if rungs or as_json:
            raise click.UsageError("--show takes two rungs, and neither others nor --json")
        left, right = ((name, staged(sources(find(name)[0]))) for name in show)
        _say(side_by_side(left, right, Screen.of(sys.stdout)))
        return SUCCESS
    found = costs(rungs)
    if as_json:
        _say([json.dumps([asdict(one) for one in found], indent=2)])
    else:
        _say(table(found, Screen.of(sys.stdout)))
    return SUCCESS


@cli.command(
    short_help="Say what runs here, and what mends the rest.",
    epilog="""\b
Examples:
  lenet-bench doctor
  lenet-bench doctor --json | jq '.[] | select(.available | not) | .reason'
""",
)
@json_option
def doctor(as_json: bool) -> int:
    """Say what runs here and what does not, why, and the command that mends it.

    Loads each rung in a process of its own and compares an answer with the reference's. Also
    looks at the machine, the software, the weights and MNIST. Fails only where nothing works.
    """
    from .doctor import examine
    from .printout import examination

    found = examine()
    if as_json:
        _say([json.dumps([asdict(finding) for finding in found.findings()], indent=2)])
    else:
        _say(examination(Screen.of(sys.stdout), found))
    return SUCCESS if found.works else WRONG


@cli.command(
    short_help="Show the ladder, from silicon to Keras.",
    epilog="""\b
Examples:
  lenet-bench backends
  lenet-bench backends --json | jq -r '.[] | select(.available) | .name'
""",
)
@json_option
def backends(as_json: bool) -> int:
    """Show the ladder: every way to run the network, from silicon to Keras."""
    from .backends.availability import backends as ask
    from .printout import ladder

    found = ask()
    if as_json:
        _say([json.dumps([asdict(rung) for rung in found], indent=2)])
    else:
        _say(ladder(Screen.of(sys.stdout), found))
    return SUCCESS


@cli.command(
    short_help="Train the network in Keras on MNIST.",
    epilog="""\b
Examples:
  lenet-bench train
  lenet-bench train --data ~/mnist --seed 7 --output seven.safetensors
  lenet-bench train --resume                    go on after a Ctrl-C
  lenet-bench train --images 6000 --epochs 2    a quick try
""",
)
@click.option(
    "--output",
    type=FILE,
    metavar="FILE",
    default=Path("lenet.safetensors"),
    show_default=True,
    help="The weights file to write.",
)
@data_option
@click.option(
    "--checkpoints",
    type=FOLDER,
    metavar="DIR",
    help="Where the run is kept while it lasts. [default: checkpoints beside the output]",
)
@click.option("--resume", is_flag=True, help="Go on with the run that the checkpoint holds.")
@recipe_options
def train(
    output: Path,
    data: Path | None,
    checkpoints: Path | None,
    resume: bool,
    **recipe: Any,
) -> int:
    """Train the network in Keras on MNIST, and write its weights.

    Shows its progress on stderr, and draws a learning curve beside the output. Ctrl-C leaves a
    checkpoint behind; the same command with --resume goes on from it.
    """
    from .printout import training
    from .training import Interrupted, TrainOptions
    from .training import train as train_network

    options = TrainOptions(output, data, checkpoints, resume, _recipe(recipe))
    try:
        result = train_network(options)
    except Interrupted as error:
        _complain(str(error))
        return INTERRUPTED
    _say(training(Screen.of(sys.stdout), result))
    return SUCCESS


def _recipe(given: dict[str, Any]) -> "Recipe | None":
    """The recipe that the options name; None where they name nothing."""
    from .training.recipe import Augmentation, Recipe, check_recipe

    named = {name: value for name, value in given.items() if value is not None}
    if not named:
        return None
    changes = {name: named.pop(name) for name in asdict(Augmentation()) if name in named}
    recipe = Recipe(**named, augmentation=Augmentation(**changes))
    try:
        check_recipe(recipe)
    except LenetBenchError as error:
        raise click.UsageError(str(error)) from None
    return recipe


@cli.command(
    epilog="""\b
Examples:
  lenet-bench export onnx -o lenet.onnx
  lenet-bench export caffe -o lenet.caffemodel     and lenet.prototxt beside it
"""
)
@click.argument("kind", metavar="FORMAT", type=click.Choice(["onnx", "tflite", "caffe"]))
@click.option("-o", "--output", type=FILE, metavar="FILE", required=True, help="Where to.")
@weights_option
def export(kind: str, output: Path, weights: Path | None) -> int:
    """Write the network with its weights as another program's model.

    FORMAT is onnx, tflite or caffe.
    """
    from .export import export as write
    from .weights import read_weights

    for path in write(kind, read_weights(weights), output):
        _note(f"wrote {path}")
    return SUCCESS


@cli.group(
    epilog="""\b
Examples:
  lenet-bench env list
  lenet-bench env create mxnet
  lenet-bench infer digit.png -b mxnet
"""
)
def env() -> None:
    """Isolated environments, for the frameworks that cannot live beside the rest."""


@env.command("list")
@json_option
def list_environments(as_json: bool) -> int:
    """Show each environment, its rungs and whether it was created."""
    from .backends import LADDER
    from .environments import environments

    found = [
        {
            "name": environment.name,
            "summary": environment.summary,
            "rungs": [rung.name for rung in LADDER if rung.environment == environment.name],
            "created": environment.created,
            "folder": str(environment.folder),
        }
        for environment in environments().values()
    ]
    states = {True: "created", False: "absent"}
    if as_json:
        _say([json.dumps(found, indent=2)])
    else:
        _say(f"{e['name']:<12} {states[bool(e['created'])]:<8} {e['summary']}" for e in found)
    return SUCCESS


def _complete_environment(_: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    from .environments import environments

    return [name for name in environments() if name.startswith(begun)]


@env.command("create")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=_complete_environment)
@click.option("--all", "every", is_flag=True, help="Every environment.")
def create_environments(names: tuple[str, ...], every: bool) -> int:
    """Make environments from their pinned versions; one that fails leaves the others."""
    from .environments import create, environments

    if every == bool(names):
        raise click.UsageError("name environments, or give --all")
    failed = False
    for name in environments() if every else names:
        try:
            _note(f"{name} is in {create(name, _note).folder}")
        except LenetBenchError as error:
            failed = True
            _complain(f"{name}: {error}")
    return WRONG if failed else SUCCESS


@env.command("remove")
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME...", shell_complete=_complete_environment
)
def remove_environments(names: tuple[str, ...]) -> int:
    """Remove environments."""
    from .environments import remove

    for name in names:
        _note(f"{name}: removed" if remove(name) else f"{name}: was not there")
    return SUCCESS


@cli.command(
    short_help="Print a shell's completion script.",
    epilog="""\b
Examples:
  lenet-bench completion bash >> ~/.bashrc
  lenet-bench completion zsh >> ~/.zshrc
  lenet-bench completion fish > ~/.config/fish/completions/lenet-bench.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that makes a shell complete commands, options and rungs."""
    complete = get_completion_class(shell)
    assert complete is not None
    _say([complete(cli, {}, PROGRAM, "_LENET_BENCH_COMPLETE").source()])
    return SUCCESS


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; whatever goes wrong is told on stderr in one sentence."""
    if sys.stdout is None:
        return WRONG  # started with its output closed: there is nobody to answer
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = cli.main(list(arguments), prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else SUCCESS
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:
        if os.environ.get(_DEBUG_VARIABLE):
            traceback.print_exc()
        _complain(_sentence(error))
        _abandon_output()
        return WRONG


def _sentence(error: Exception) -> str:
    """What to tell the user of this error."""
    if isinstance(error, LenetBenchError):
        return str(error)
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
        return f"the output cannot be written: {error.strerror}"
    return (
        f"{type(error).__name__}: {error}: this is a bug; please report it with what the same"
        f" command prints after `{PROGRAM} --debug`"
    )


def _say(lines: Iterable[str]) -> None:
    """Print answers, at once: what has been answered stays so if the next one fails."""
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _note(text: str | None) -> None:
    """Tell something beside the answers."""
    if text and sys.stderr:
        print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)


def _complain(sentence: str) -> None:
    screen = Screen.of(sys.stderr)
    _note(screen.paint(printable(sentence), "red"))


def _abandon_output() -> None:
    """Point stdout at nothing, so that the interpreter's last flush cannot fail once more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _progress(length: int) -> Iterator[Callable[[str, int], None]]:
    """A bar on stderr, where that is a terminal."""
    screen = Screen.of(sys.stderr)
    with click.progressbar(
        length=length,
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
        item_show_func=lambda name: name,
        bar_template="  %(bar)s  %(info)s",
        fill_char=screen.paint(screen.choose("━", "#"), "green"),
        empty_char=screen.paint(screen.choose("━", "-"), "dim"),
    ) as bar:
        yield lambda name, images: bar.update(images, name)
