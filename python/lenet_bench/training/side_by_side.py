"""The same recipe in several frameworks, one after another, each in a process of its own.

All begin with the same weights and learn from the same batches, so what differs is the framework:
its speed, its memory, and its rounding. The result file is replaced whole after each framework. A
framework that fails costs its own row.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from .. import __version__
from ..atomic import write_atomically, writing
from ..errors import LenetBenchError
from ..measure.environment import read_machine
from ..measure.interrupts import handling, polite_kills
from ..measure.pinning import thread_variables
from ..mnist import find_mnist, read_mnist
from ..process import Child, Died
from ..registry import environments, find
from ..results.portable import argument, portable
from ..results.versioned import check_place
from ..units import span
from .frameworks import TRAINERS, import_extras
from .recipe import Recipe, check_recipe
from .result import FrameworkRun, Status, TrainingResult, read_training, write_training
from .run import Say, TrainOptions, check_places, checksum, on_stderr


@dataclass(frozen=True)
class SideBySideOptions:
    """What to train in which frameworks, and into which files."""

    frameworks: tuple[str, ...]
    output: Path = Path("results/train.json")
    data: Path | None = None
    recipe: Recipe = field(default_factory=Recipe)
    threads: int = 1
    timeout_s: float = 600.0  # stop waiting for a framework that makes no step for so long

    @property
    def picture(self) -> Path:
        """The losses of all, beside the output."""
        return self.output.with_suffix(".png")

    def of(self, framework: str) -> TrainOptions:
        """One framework's run; its files are in a folder beside the output."""
        output = self.output.with_suffix("") / f"{framework}.safetensors"
        return TrainOptions(output, self.data, self.recipe, framework, self.threads, compared=True)


def train_side_by_side(options: SideBySideOptions, *, say: Say | None = None) -> TrainingResult:
    """Train in each framework; write the result and its picture.

    A result file of the same run is gone on with: the frameworks that ended well keep their rows.
    """
    _check(options)
    say = say or on_stderr()
    folder = find_mnist(options.data)
    options = replace(options, data=folder)
    result = _begin(options, checksum(read_mnist("train", folder)))
    write_training(options.output, result)
    for framework in options.frameworks:
        if result.run(framework):
            continue  # the file had it
        say(framework)
        run = _train_apart(options.of(framework), options.timeout_s)
        if run.reason:
            say(f"{framework}: {run.reason}")
        runs = sorted([*result.runs, run], key=lambda run: list(TRAINERS).index(run.framework))
        result = replace(result, runs=tuple(runs))
        write_training(options.output, result)
        if run.status == "interrupted":
            break
    if any(run.first_losses for run in result.runs):
        from .pictures import draw_losses

        with writing(options.picture):
            write_atomically(options.picture, draw_losses(result))
    return result


def _check(options: SideBySideOptions) -> None:
    """Raise LenetBenchError for whatever would end the run later."""
    if unknown := [name for name in options.frameworks if name not in TRAINERS]:
        raise LenetBenchError(f"{unknown[0]!r} is none of {', '.join(TRAINERS)}")
    check_recipe(options.recipe, epochs_from=0)
    if options.output.suffix != ".json":
        raise LenetBenchError(f"{options.output}: expected a name that ends in .json")
    check_place(options.output)
    check_place(options.picture)
    import_extras()
    for framework in options.frameworks:
        check_places(options.of(framework))


def _begin(options: SideBySideOptions, data_sha256: str) -> TrainingResult:
    """An empty result, or the one in the file without its failures."""
    new = TrainingResult(
        version=__version__,
        argv=tuple(map(argument, sys.argv[1:])),
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=read_machine(),
        threads=options.threads,
        recipe=options.recipe,
        data_sha256=data_sha256,
    )
    if not options.output.exists():
        return new
    earlier = read_training(options.output)
    names = ("recipe", "threads", "data_sha256")
    if changed := [name for name in names if getattr(earlier, name) != getattr(new, name)]:
        raise LenetBenchError(
            f"{options.output} holds a training with another {changed[0].replace('_sha256', '')};"
            " name another file with -o, or delete this one"
        )
    return replace(earlier, runs=tuple(run for run in earlier.runs if run.status == "ok"))


def _train_apart(options: TrainOptions, timeout_s: float) -> FrameworkRun:
    """The row of a run in a process of its own, however that process ends.

    A framework chooses threads and devices when it is imported, for the whole process.
    """
    threads = options.threads or 1
    variables = {
        **thread_variables(threads),
        **environments.variables(find(options.framework)[0], threads),
    }
    row, over = FrameworkRun(options.framework, "failed"), False
    interrupted = threading.Event()
    try:
        # Not pinned: it pins itself, since batches are made on other cores.
        child = Child(f"{__package__}.child:serve", variables=variables, printed="shown")
        with closing(child), _passing_on_interrupts(child, interrupted):
            child.tell(msgspec.to_builtins(options, enc_hook=str), timeout_s)
            while not over:
                message = child.hear(timeout_s)
                if "row" in message:
                    row = msgspec.convert(message["row"], FrameworkRun)
                over = "over" in message
    except Died as died:
        if interrupted.is_set():
            return replace(row, status="interrupted", reason="stopped at once")
        if died.how == "late":
            reason = f"made no step for {span(timeout_s)} and was stopped (--timeout)"
            return replace(row, reason=reason)
        status: Status = "unavailable" if died.how == "missing" else "failed"
        return replace(row, status=status, reason=portable(died.sentence))
    return row


@contextmanager
def _passing_on_interrupts(child: Child, interrupted: threading.Event) -> Iterator[None]:
    """Ctrl-C stops the run after its current batch; a second one ends it at once."""

    def pass_on(_signal: int, _frame: object) -> None:
        if interrupted.is_set():
            child.kill()
        else:
            child.interrupt()
        interrupted.set()

    with handling((signal.SIGINT, *polite_kills()), pass_on):
        yield
