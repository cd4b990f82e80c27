"""What to train, from what, into which files; and whether those files will find their place."""

from dataclasses import dataclass
from pathlib import Path

from ..atomic import write_atomically, writing
from ..errors import LenetBenchError
from .recipe import Recipe

_ROOM = 8 << 20  # bytes: a checkpoint has 5.2 MB, the weights 1.7 MB


@dataclass(frozen=True)
class TrainOptions:
    """One run of one framework."""

    output: Path = Path("lenet.safetensors")
    data: Path | None = None  # MNIST's folder; None: LENET_BENCH_MNIST, or downloaded
    checkpoints: Path | None = None  # a folder; None: "checkpoints" beside the output
    resume: bool = False  # go on with the run that the checkpoint holds
    recipe: Recipe | None = None  # None: the default one, or the checkpoint's
    framework: str = "keras"
    threads: int | None = None  # of the framework; None: as many as it likes
    compared: bool = False  # make the first steps once more, to compare them with other frameworks'

    @property
    def checkpoint(self) -> Path:
        """The file that a run resumes from."""
        folder = self.checkpoints or self.output.parent / "checkpoints"
        return folder / f"{self.output.stem}.checkpoint.safetensors"

    @property
    def history(self) -> Path:
        """The epochs as JSON, beside the checkpoint."""
        return self.checkpoint.with_name(f"{self.output.stem}.history.json")

    @property
    def curve(self) -> Path:
        """The learning curve, beside the output."""
        return self.output.with_name(f"{self.output.stem}-learning-curve.png")


def check_places(options: TrainOptions) -> None:
    """Raise LenetBenchError unless all results will find their place."""
    check_files(options.output, options.checkpoint, options.history, options.curve)
    if options.output.suffix != ".safetensors":
        raise LenetBenchError(f"{options.output}: expected a name that ends in .safetensors")
    for path in (options.output, options.checkpoint):
        _check_room(path, _ROOM)


def check_files(*paths: Path) -> None:
    """Raise LenetBenchError where a file is to be written and a directory stands."""
    for path in paths:
        if path.is_dir():
            raise LenetBenchError(f"{path}: expected a file to write, found a directory")
        _check_room(path, 0)


def _check_room(path: Path, size: int) -> None:
    # Not the file itself: a good one from an earlier run must survive this.
    trial = path.with_name(f".{path.name}.room")
    with writing(path):
        write_atomically(trial, bytes(size), durable=False)
        trial.unlink()
