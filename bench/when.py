"""The README's table "Which API when?": the best call for each need, from the measured results."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import wrap

from lenet_bench.results import Result, read_result, start_medians_us
from lenet_bench.results.statistics import ratio_interval
from lenet_bench.show.figures.rows import Record
from lenet_bench.show.markdown import table
from lenet_bench.show.page import gather
from lenet_bench.units import time

BATCH = 512


@dataclass(frozen=True)
class Need:
    """Who asks, and among which backends the fastest is the answer."""

    need: str
    among: Callable[[Record], bool]
    usual: str | None = None  # what it is compared with: what most people write


def of(backend: str) -> Callable[[Record], bool]:
    """The ways to call one backend from Python."""
    return lambda row: row["backend"] == backend and row["variant"] != "cpp"


NEEDS = (
    Need("the shortest time, for this network only", lambda row: row["backend"] == "fused"),
    Need("a model file and Python", lambda row: row["family"] == "inference engines", "onnxruntime"),
    Need("a C++ program", lambda row: row["name"] == "onednn" or row["variant"] == "cpp"),
    Need("staying in Keras", of("keras"), "keras"),
    Need("staying in TensorFlow", of("tensorflow"), "tensorflow"),
    Need("staying in PyTorch", of("torch"), "torch"),
    Need("staying in JAX", of("jax"), "jax:arguments"),
    Need("staying in NumPy", of("numpy"), "reference"),
)
#: The line that one writes for each answer.
WRITTEN = {
    "fused": 'lenet_bench.load("fused").infer(x)',
    "litert": "interpreter.invoke()",
    "onednn": "primitive.execute(stream, arguments)",
    "keras:function": "tf.function(model, jit_compile=True)(x)",
    "keras:predict_on_batch": "model.predict_on_batch(x)",
    "tensorflow:session": "session.run(answer, {image: x}, options=here)",
    "torch:autotuned": "aoti_load_package(package)(x)",
    "jax": "jax.jit(lambda x: lenet(parameters, x))(x)",
    "numpy": "np.maximum(x @ weight + bias, 0)",
    "fused:int16": 'lenet_bench.load("fused:int16").infer(x)',
}


def answer(path: Path) -> Iterator[str]:
    """Three sentences: the fastest of each layer, what Keras' guides show, what its pages advise."""
    (run,) = gather([(path.name, read_result(path))])
    found = {row["name"]: row for row in run.rows}
    layers = {
        "our own C++": found["fused"],
        "C++ on oneDNN": found["onednn"],
        "TensorFlow from Python": min(filter(of("tensorflow"), run.rows), key=us),
        "Keras": min(filter(of("keras"), run.rows), key=us),
    }
    times = [f"{time(row['us'])} in {label} (`{row['name']}`)" for label, row in layers.items()]
    longer = partial(times_longer, run.result)
    yield from wrap(
        f"The same digit takes {', '.join(times[:-1])} and {times[-1]}, each called in its fastest "
        f"way. Keras' `predict`, which its guides show, takes {time(found['keras']['us'])}: "
        f"{longer('keras', 'keras:predict_on_batch')} as long as `predict_on_batch`, which runs "
        f"the same graph, and {longer('keras', 'fused')} as long as our own C++. For a few images "
        "Keras' documentation advises `model(x)`, which takes "
        f"{longer('keras:call', 'keras:predict_on_batch')} as long as `predict_on_batch`.",
        100,
        break_on_hyphens=False,
    )


def when(path: Path) -> Iterator[str]:
    """A row for each need: the call, its time, and how many times the usual call takes."""
    (run,) = gather([(path.name, read_result(path))])
    where = f"[{path.stem.partition('.')[0]}]({path.relative_to(Path.cwd()).as_posix()})"
    rows = []
    for need in NEEDS:
        best = min((row for row in run.rows if need.among(row)), key=us)
        longer = ""
        if need.usual and need.usual != best["name"]:
            longer = f"{times_longer(run.result, need.usual, best['name'])}: `{need.usual}`"
        rows.append((need.need, *call(best["name"]), time(best["us"]), longer, where))
    shortest = min(run.rows, key=lambda row: row["lines"])
    smallest = min((row for row in run.rows if row["family"] != "native code"), key=disk)
    most = max((row for row in run.rows if BATCH in row["rates"]), key=rate)
    least = run.reduced[0]
    rows += [
        ("the fewest lines", *call(shortest["name"]), f"{shortest['lines']} lines", "", where),
        ("the least disk", *call(smallest["name"]), f"{disk(smallest):.0f} MiB", "", where),
        (f"{BATCH} images a call", *call(most["name"]), f"{rate(most):,.0f} images/s", "", where),
        (f"less than float32 ({least['precision']})", *call(least["name"]), time(least["us"]), "", where),
    ]
    for name, need in (("two-threads", "two threads"), ("idle", "one call every 20 ms")):
        file = path.parents[1] / f"conditions/{name}.jsonl.gz"
        (other,) = gather([(file.name, read_result(file))])
        best = other.rows[0]
        link = f"[{name}]({file.relative_to(Path.cwd()).as_posix()})"
        rows.append((need, *call(best["name"]), time(best["us"]), "", link))
    rows += [
        ("a browser", "our kernels as WebAssembly", "[the classroom's page](docs/classroom.html)", "your browser measures itself", "", ""),
        ("a GPU", "cuDNN, CUDA, ...", "[docs/gpu.md](docs/gpu.md)", "not measured yet", "", ""),
        ("my own model", "every engine that reads it", "`lenet-bench compare --model my.onnx`", "", "", ""),
    ]
    titles = ("you want", "call", "the line", "a call takes", "the usual way takes", "from")
    yield from table(titles, rows, titles[:3])


def call(name: str) -> tuple[str, str]:
    """The backend, and the line that one writes, where it is one."""
    written = WRITTEN.get(name)
    return f"`{name}`", f"`{written}`" if written else ""


def times_longer(result: Result, slow: str, fast: str) -> str:
    """How many times as long one backend's call takes as another's, in two digits: 110 (100-120)."""
    rows = [result.row(name) for name in (slow, fast)]
    found = ratio_interval(*(start_medians_us(row.blocks) for row in rows), result.rules.seed)
    times = [row.summary.p50_us for row in rows if row.summary and row.summary.p50_us]
    assert found is not None
    about, low, high = (f"{float(f'{x:.2g}'):,g}" for x in (times[0] / times[1], *found))
    return f"{about} times ({low} to {high})"


def us(row: Record) -> float:
    return float(row["us"])


def disk(row: Record) -> float:
    return row["disk"] or float("inf")


def rate(row: Record) -> float:
    return float(row["rates"][BATCH])
