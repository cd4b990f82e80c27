"""Which API when: for each need the best call that was measured, and those as good as it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from pathlib import PurePath
from statistics import median
from typing import NamedTuple

from lenet_bench.registry import Backend, find
from lenet_bench.results import Block
from lenet_bench.results.statistics import FEWEST_STARTS, beside_us, paired_ratio, ratio_of
from lenet_bench.show.figures.records import Record, Run
from lenet_bench.show.figures.story import times_longer
from lenet_bench.texts import listed
from lenet_bench.units import count, counted, digits, ratio, time, times
from production import faster_way

BATCH = 512
LEFT_OUT = re.compile(".*:cpp|caffe|chainer|mxnet|theano")  # the last four have no new releases
PREDICT, ON_BATCH = "keras", "keras:predict_on_batch"
#: The line that one writes for each answer.
WRITTEN = {
    "fused": "net.infer(x)",
    "litert": "interpreter.invoke()",
    "litert:int8": "interpreter.invoke()",
    "onednn": "primitive.execute(stream, arguments)",
    "keras:function": "graph(x)",
    "keras-jax:jit": "program(x)",
    ON_BATCH: "model.predict_on_batch(x)",
    "keras-jax:predict_on_batch": "model.predict_on_batch(x)",
    "tensorflow:session": "session.run(answer, {image: x}, options=here)",
    "tensorflow:xla": "graph(x)",
    "torch:autotuned": "model(x)",
    "torch:pinned@gpu": "graph.replay()",
    "jax": "program(x)",
    "mlx:compile": "program(x)",
    "openvino": "request.infer(x)",
    "openvino:tensors": "request.infer()",
    "halide": "program(image, probabilities)",
    "numpy": "np.maximum(x @ weight + bias, 0)",
}
#: What such a line calls, made once: in the line it would be loaded or compiled at each call.
MADE = {
    "fused": 'net = lenet_bench.load("fused")',
    "keras:function": "graph = tf.function(model, jit_compile=True)",
    "keras-jax:jit": "program = jax.jit(lambda x: model.stateless_call(*weights, x)[0])",
    "tensorflow:xla": "graph = tf.function(lenet, jit_compile=True).get_concrete_function(spec)",
    "torch:autotuned": "model = torch._inductor.aoti_load_package(package)",
    "jax": "program = jax.jit(lambda x: lenet(parameters, x))",
    "mlx:compile": "program = mx.compile(model)",
}
#: What the README calls a call that is not the API's only one.
SPOKEN = {
    "fused": "our own C++",
    "onednn": "oneDNN",
    PREDICT: "predict",
    "keras:function": "tf.function with XLA",
    "tensorflow": "eager",
    "tensorflow:session": "session of TF 1",
    "torch": "eager",
    "torch:autotuned": "exported, autotuned",
    "torch:pinned@gpu": "PyTorch in a CUDA graph",
}
#: The results of other needs.
CONDITIONS = {
    "two threads": "conditions/two-threads",
    "a call every 20 ms": "conditions/idle",
    "the same, default threads, beside a busy program": "conditions/as-installed",
    "an NVIDIA H100": "gpu/h100-2026-11-27/frameworks",
}
#: The needs that the README has.
IN_BRIEF = (
    "LeNet only",
    "a model file, in Python",
    "a C++ program",
    "Keras on TensorFlow",
    "TensorFlow",
    "PyTorch",
    "two threads",
    "a call every 20 ms",
    "several callers",
    "an NVIDIA H100",
)


def takes(row: Record) -> str:
    return time(row["p50_us"])


class Choice(NamedTuple):
    """A need, and the calls among which the first is the answer."""

    need: str
    run: Run
    ways: list[Record]  # the best first
    usual: tuple[str, ...] = ()  # what we take for the most common calls
    figure: str = ""  # in place of the best one's time
    of_start: Callable[[Record, Block], float] | None = lambda _, block: block.median_us

    @property
    def takes(self) -> str:
        return self.figure or takes(self.ways[0])

    def calls(self, spell: Callable[[Record], str]) -> str:
        """The best call, and those that the run cannot tell from it.

        The interval of their ratio holds 1. Without a figure of each start all are equal.
        """
        of_start, result, alike = self.of_start, self.run.result, self.ways
        if of_start:
            starts = [result.backend(row["name"]).starts for row in alike]
            if len(starts[0]) < FEWEST_STARTS:
                return f"{spell(alike[0])}; too few starts to be sure"
            first, *others = (
                {block.round: of_start(row, block) for block in own}
                for row, own in zip(alike, starts, strict=True)
            )
            rounds = (beside_us(own, starts[0]) for own in starts[1:])
            found = (
                paired_ratio({number: one[number] for number in counting}, first).interval
                for one, counting in zip(others, rounds, strict=True)
            )
            pairs = zip(alike[1:], found, strict=True)
            alike = alike[:1] + [row for row, one in pairs if one and one.low <= 1 <= one.high]
        return " or ".join(map(spell, alike))

    def others(self) -> list[Record]:
        """The usual calls except the best, the slowest first."""
        rows = [row for row in self.run.rows if row["name"] in self.usual]
        return [row for row in reversed(rows) if row is not self.ways[0]]


def of_batch(_: Record, block: Block) -> float:
    return next(float(median(one.calls_ns)) for one in block.batches if one.size == BATCH)


def of_callers(row: Record, block: Block) -> float:
    own = (one for one in block.callers if (one.number, one.way) == (row["number"], row["way"]))
    return 1 / next(own).calls_per_s


def from_python(rows: Iterable[Record]) -> list[Record]:
    """Without C++, ours or a library's, and without APIs that had no release for years."""
    mine = (row for row in rows if row["family"] != "native code")
    return [row for row in mine if not LEFT_OUT.match(row["name"])]


def of(run: Run, backend: str) -> list[Record]:
    """The ways to call one backend from Python."""
    return from_python(row for row in run.rows if row["backend"] == backend)


def of_many_images(rows: Iterable[Record]) -> list[Record]:
    """Those that take so many in one call, the fastest first; others have a loop of calls."""
    mine = (row for row in rows if BATCH in row["rates"])
    mine = (row for row in mine if not Backend.takes_one_image(*find(row["name"])))
    return sorted(mine, key=lambda row: -float(row["rates"][BATCH]))


def in_keras(run: Run) -> list[Record]:
    """The ways to call Keras, on whatever it runs."""
    return [row for row in run.rows if row["family"] == "Keras"]


def answer(runs: Sequence[Run]) -> Iterator[str]:
    """The fastest call of each layer; what Keras' guides show, in all runs, and on two cores.

    Keras is there on TensorFlow, and on what it is fastest on. The last run is one of `why`.
    """
    found = [{row["name"]: row for row in run.rows} for run in runs]
    library = (runs[0].result.backend("onednn").runs or {})["library"]
    layers = {
        "our own C++": found[0]["fused"],
        f"C++ on {library}": found[0]["onednn"],
        "TensorFlow": of(runs[0], "tensorflow")[0],
        "Keras on TensorFlow": of(runs[0], "keras")[0],
    }
    quickest = in_keras(runs[0])[0]
    layers[f"Keras on {find(quickest['name'])[0].calls}"] = quickest
    each = [f"{takes(row)} in {label} ({name_of(row)})" for label, row in layers.items()]
    slow = sorted(rows[PREDICT]["p50_us"] for rows in found)
    backends = [run.result.backend for run in runs]
    longer = sorted(ratio_of(one(PREDICT), one(ON_BATCH)).value for one in backends)
    two = {one.name: one.two_cores_us or inf for one in runs[-1].breakdowns}
    yield (
        f"One image, pinned to one core, takes {listed(each)}: each time the fastest of the calls "
        f"from Python that were measured. Keras' `predict`, which its guides show, takes "
        f"{times(slow[0], slow[-1])} in {len(runs)} runs: {digits(longer[0])} to "
        f"{digits(longer[-1])} times as long as `predict_on_batch`, which runs the same graph. On "
        f"two cores, in one run, it is {time(two[PREDICT])} and "
        f"{digits(two[PREDICT] / two[ON_BATCH])} times."
    )


def choices(run: Run, read: Callable[[str], Run]) -> Iterator[Choice]:
    """Every need, in the table's order: of a run, and of others that are read."""
    python, tensorflow = from_python(run.rows), of(run, "tensorflow")
    engines = [row for row in python if row["family"] == "inference engines"]
    in_cpp = [row for row in run.rows if row["name"].endswith(("onednn", "openblas", ":cpp"))]
    newer = [row for row in tensorflow if row["variant"] != "session"]
    yield Choice("LeNet only", run, [row for row in run.rows if row["name"] == "fused"])
    yield Choice("a model file, in Python", run, engines, ("onnxruntime",))
    yield Choice("a C++ program", run, in_cpp)
    yield Choice("Keras", run, in_keras(run), (PREDICT,))
    yield Choice("Keras on TensorFlow", run, of(run, "keras"), (PREDICT, "keras:call", ON_BATCH))
    yield Choice("TensorFlow", run, tensorflow, ("tensorflow",))
    yield Choice("TensorFlow, without TF 1", run, newer, ("tensorflow",))
    yield Choice("PyTorch", run, of(run, "torch"), ("torch",))
    yield Choice("JAX", run, of(run, "jax"), ("jax:arguments",))
    yield Choice("NumPy", run, of(run, "numpy"))
    least = min(row["lines_of_code"] for row in python if row["lines_of_code"])
    shortest = [row for row in python if row["lines_of_code"] == least]
    yield Choice("the fewest lines", run, shortest, (), f"{least} lines", None)
    batched = of_many_images(python)
    images = f"{count(batched[0]['rates'][BATCH])} images/s"
    yield Choice(f"{BATCH} images a call", run, batched, (), images, of_batch)
    yield Choice("int8", run, [row for row in run.reduced if row["precision"] == "int8"])
    for need, name in CONDITIONS.items():
        other = read(name)
        ways = from_python(other.rows)
        is_paced = other.result.rules.interval_s and ways[0]["p99_us"]
        tail = f"; 99 in 100 at most {time(ways[0]['p99_us'])}"
        yield Choice(need, other, ways, (), takes(ways[0]) + tail if is_paced else "")
    together = read("production/callers")
    ways = from_python(faster_way(together.result).values())
    most = ways[0]
    cores = counted(len(together.result.rules.worker_cores), "core")
    rate = f"{count(most['calls_per_s'])} calls/s of {most['number']} callers on {cores}"
    gain = f"{rate}, {ratio(most['gain'])} times one caller's"
    yield Choice("several callers", together, ways, (), gain, of_callers)
    limited = read("production/quota-0.5")
    ways = sorted(from_python(limited.rows), key=lambda row: float(row["mean_us"]))
    mean = f"{time(ways[0]['mean_us'])} on average, {takes(ways[0])} between stops"
    half = "a quota of half a core"
    yield Choice(half, limited, ways, (), mean, lambda _, block: float(block.calls_ns.mean()))
    own = read("models/mobilenetv2")
    yield Choice("your own Keras model", own, of(own, "keras"), (PREDICT,))
    yield Choice("the same, converted", own, from_python(own.rows), (PREDICT,))


def table(run: Run, read: Callable[[str], Run]) -> Iterator[str]:
    """A row for each need, with the line, the usual calls and where it was measured.

    Below it is what the lines call.
    """
    titles = ("you want", "call", "the line", "a call takes", "the usual way")
    yield f"| {' | '.join((*titles, 'from'))} |"
    yield f"|{'---|' * (len(titles) + 1)}"
    made = {}
    for one in choices(run, read):
        best = one.ways[0]
        if best["name"] in MADE:
            made[best["name"]] = f"{MADE[best['name']]}  # {best['name']}"
        line = f"`{WRITTEN[best['name']]}`" if best["name"] in WRITTEN else ""
        usual = (f"{name_of(row)}: {times_longer(one.run, row, best)}" for row in one.others())
        place = f"[{PurePath(one.run.source).parent.name}](../{one.run.source})"
        cells = one.need, one.calls(name_of), line, one.takes
        yield f"| {' | '.join((*cells, '; '.join(usual), place))} |"
    yield from ("", "What the lines call is made once:", "", "```python", *made.values(), "```")


def brief(run: Run, read: Callable[[str], Run]) -> Iterator[str]:
    """The README's needs in three short columns."""
    yield "| you want | call | a call takes |"
    yield "|---|---|---|"
    for one in choices(run, read):
        if one.need in IN_BRIEF:
            usual = [f" ({called(row)}: {takes(row)})" for row in one.others()[:1]]
            yield f"| {one.need} | {one.calls(called)} | {''.join((one.takes, *usual))} |"


def own(run: Run) -> Iterator[str]:
    """A Keras model by two of its calls, and converted."""
    found = {row["name"]: row for row in run.rows}
    engine = Choice("converted", run, from_python(run.rows))
    yield (
        f"On {run.result.rules.network.partition('.')[0]} Keras' `predict` takes "
        f"{takes(found[PREDICT])} and `predict_on_batch` {takes(found[ON_BATCH])}. Converted, the "
        f"model takes {takes(engine.ways[0])} in {engine.calls(called)}."
    )


def called(row: Record) -> str:
    """A call in words."""
    name = row["name"]
    is_only = row["family"] in ("inference engines", "compilers")
    return SPOKEN.get(name) or (find(name)[0].library if is_only else name_of(row))


def name_of(row: Record) -> str:
    return f"`{row['name']}`"
