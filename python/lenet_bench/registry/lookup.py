"""Find a backend by its name, and names by properties."""

from collections.abc import Iterator, Sequence

from ..errors import LenetBenchError
from .backend import ON_GPU, Backend, Device
from .rows import BACKENDS, FLOAT32


def names(*, gone: bool = True, device: Device | None = None) -> list[str]:
    """Every backend and variant, in the registry's order; with or without those that are gone.

    With a device, those that run there: on the GPU also torch@gpu, which `names()` leaves out.
    """
    rows = [row if device is None else row.on(device) for row in BACKENDS if gone or not row.gone]
    return [name for row in rows if row for name in row.names()]


def every_name() -> list[str]:
    """All names that `find` accepts: names(), and after each backend its names on a GPU."""
    return [name for row in _rows() for name in row.names()]


def held_by(environment: str) -> list[str]:
    """The backends that this isolated environment is for."""
    return [row.spell(row.default) for row in _rows() if row.environment == environment]


def _rows() -> Iterator[Backend]:
    """Each row and, where it has one, its form on a GPU."""
    for row in BACKENDS:
        yield row
        if row.gpu and (moved := row.on("gpu")):
            yield moved


def find(name: str) -> tuple[Backend, str]:
    """The row and the variant ("" for the plain one) that `name` spells.

    The row of torch:compile@gpu is that of torch as it is on a GPU.
    """
    spelt = name.removesuffix(ON_GPU)
    base, _, variant = spelt.partition(":")
    rows = {row.name: row for row in BACKENDS}
    if row := rows.get(spelt):  # a variant with a file of its own has a row
        variant = row.default
    elif row := rows.get(base):
        if variant not in row.variants:
            known = ", ".join(n for n in names() if n.partition(":")[0] == base)
            raise LenetBenchError(f"{base} has no variant {variant!r}; it has {known}")
    else:
        meant = nearest(name, every_name()) or "`lenet-bench backends` lists them"
        raise LenetBenchError(f"no backend is called {name!r}; {meant}")
    return row if spelt == name else _on_gpu(row, name), variant


def nearest(name: str, known: Sequence[str]) -> str | None:
    """A question that suggests the probably intended name."""
    from difflib import get_close_matches

    return next((f"did you mean {one}?" for one in get_close_matches(name, known, n=1)), None)


def _on_gpu(row: Backend, name: str) -> Backend:
    """The row that a name ending in @gpu is of."""
    if row.device == "gpu":
        raise LenetBenchError(f"{row.name} always runs on the GPU; leave out {ON_GPU} in {name!r}")
    moved = row.on("gpu")
    if moved is None:
        able = ", ".join(other.name for other in BACKENDS if other.gpu)
        raise LenetBenchError(f"{row.name} runs on the CPU only; {able} run on a GPU too")
    return moved


def usual_name(name: str) -> str:
    """The name as it is listed: `keras` of `keras:predict`, which is what `keras` is."""
    row, variant = find(name)
    return row.spell(variant)


def on_device(name: str, device: Device | None) -> str:
    """The name of the same on that device: torch@gpu of torch; None leaves it as it is.

    Raises LenetBenchError where it cannot run there.
    """
    row, variant = find(name)
    if device == "cpu" and row.device == "gpu":
        raise LenetBenchError(f"{name} runs on the GPU, and the CPU was asked for")
    if device == "gpu" and row.device == "cpu":
        row = _on_gpu(row, name)
    return row.spell(variant)


def on_cpu(name: str) -> str | None:
    """Its counterpart on the CPU: onednn for cudnn, torch for torch@gpu; None for others."""
    row = find(name)[0]
    return name.removesuffix(ON_GPU) if row.moved else row.counterpart


def with_counterpart(name: str, reason: str) -> str:
    """Why it cannot run here, and what runs on the CPU instead; a command stays last."""
    if not (other := on_cpu(name)):
        return reason
    sentence, *command = reason.rsplit("; ", 1)
    instead = f"{sentence}. The same network runs on the CPU with the backend {other}"
    return "; ".join([instead, *command])


def precision(name: str) -> str:
    """What it computes in, as its row says; float32 where nobody knows it here."""
    try:
        row, variant = find(name)
    except LenetBenchError:
        return "float32"
    return row.reduced.get(variant, "float32")


def tolerance(name: str) -> float:
    """The largest allowed difference of its probabilities from the reference's."""
    row, variant = find(name)
    return row.tolerances.get(variant, FLOAT32)
