"""The README's table "Which API when?": the best call for each need, from the measured results."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from lenet_bench.show.callers import callers as by_way
from lenet_bench.show.figures.records import Record, Run
from lenet_bench.show.figures.story import times_longer
from lenet_bench.units import count, ratio, time

BATCH = 512
RETIRED = ("caffe", "chainer", "mxnet", "theano")  # without a release for years


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
    Need(
        "a model file and Python", lambda row: row["family"] == "inference engines", "onnxruntime"
    ),
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
    "torch:pinned@gpu": "graph.replay()",
    "jax": "jax.jit(lambda x: lenet(parameters, x))(x)",
    "keras-jax:predict_on_batch": "model.predict_on_batch(x)",
    "mlx:compile": "mx.compile(model)(x)",
    "openvino:tensors": "request.infer()",
    "litert:int8": "interpreter.invoke()",
    "halide": "program(image, probabilities)",
    "numpy": "np.maximum(x @ weight + bias, 0)",
}


def answer(run: Run) -> Iterator[str]:
    """The fastest way of each layer, what Keras' guides show, and what its pages advise."""
    found = {row["name"]: row for row in run.rows}
    layers = {
        "our own C++": found["fused"],
        "C++ on oneDNN": found["onednn"],
        "TensorFlow from Python": min(filter(of("tensorflow"), run.rows), key=us),
        "Keras": min(filter(of("keras"), run.rows), key=us),
    }
    times = [f"{time(row['p50_us'])} in {label} (`{row['name']}`)" for label, row in layers.items()]

    def longer(slow: str, fast: str) -> str:
        return times_longer(run, found[slow], found[fast])

    yield (
        f"The same digit takes {', '.join(times[:-1])} and {times[-1]}, each called in its fastest "
        f"way. Keras' `predict`, which its guides show, takes {time(found['keras']['p50_us'])}: "
        f"{longer('keras', 'keras:predict_on_batch')} as long as `predict_on_batch`, which runs "
        f"the same graph, and {longer('keras', 'fused')} as long as our own C++. For a few images "
        "Keras' documentation advises `model(x)`, which takes "
        f"{longer('keras:call', 'keras:predict_on_batch')} as long as `predict_on_batch`."
    )


def when(
    run: Run, conditions: Mapping[str, Run], services: tuple[Run, Run], own: Run
) -> Iterator[str]:
    """A row for each need: the call, its time, and how many times the usual call takes."""
    found = {row["name"]: row for row in run.rows}
    rows = []
    for need in NEEDS:
        best = min(filter(need.among, run.rows), key=us)
        longer = ""
        if need.usual and need.usual != best["name"]:
            longer = f"{times_longer(run, found[need.usual], best)}: `{need.usual}`"
        rows.append(answered(run, need.need, best, time(best["p50_us"]), longer))
    others = [row for row in run.rows if row["family"] != "native code"]
    alive = [row for row in others if row["backend"] not in RETIRED]
    shortest = min(alive, key=lambda row: int(row["lines_of_code"]))
    smallest = min(others, key=disk)
    most = max((row for row in others if BATCH in row["rates"]), key=rate)
    least = next(row for row in run.reduced if row["precision"] == "int8")
    rows += [
        answered(run, "the fewest lines", shortest, f"{shortest['lines_of_code']} lines"),
        answered(run, "the least disk", smallest, f"{disk(smallest):.0f} MiB"),
        answered(run, f"{BATCH} images a call", most, f"{rate(most):,.0f} images/s"),
        answered(run, "int8", least, time(least["p50_us"])),
    ]
    for condition, other in conditions.items():
        best = next(row for row in other.rows if row["family"] != "native code")
        takes = time(best["p50_us"])
        if other.result.rules.interval_s and best["p99_us"]:
            takes += f"; 99 in 100 at most {time(best['p99_us'])}"
        rows.append(answered(other, condition, best, takes))
    rows += in_a_service(*services)
    page = "[the classroom's page](docs/classroom.html)"
    mine = {row["name"]: row for row in own.rows}
    slow, quick = mine["keras"], mine["keras:predict_on_batch"]
    engine = own.rows[0]
    rows += [
        ("a browser", "our kernels as WebAssembly", page, "each browser measures itself", "", ""),
        answered(
            own,
            "your own model in Keras, as MobileNetV2",
            quick,
            time(quick["p50_us"]),
            f"{times_longer(own, slow, quick)}: `keras`",
        ),
        answered(
            own,
            "the same, converted",
            engine,
            time(engine["p50_us"]),
            f"{times_longer(own, slow, engine)}: `keras`",
        ),
    ]
    titles = ("you want", "call", "the line", "a call takes", "the usual way takes", "from")
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def in_a_service(together: Run, limited: Run) -> Iterator[tuple[str, ...]]:
    """What makes the most calls of several callers, and what takes least on average of a quota."""
    ways = by_way(together.result)
    most = next(row for row in ways if row["family"] != "native code")
    takes = f"{count(most['calls_per_s'])} calls/s of {most['number']} callers"
    alone = f"{ratio(most['gain'])} times one caller's"
    yield answered(together, "a service with several callers", most, takes, alone)
    others = [row for row in limited.rows if row["family"] != "native code"]
    least = min(others, key=mean_us)
    takes = f"{time(mean_us(least))} on average, {time(least['p50_us'])} between stops"
    need = f"a container with a quota of {limited.result.rules.quota:g} cores"
    yield answered(limited, need, least, takes)


def answered(run: Run, need: str, best: Record, takes: str, longer: str = "") -> tuple[str, ...]:
    """With the line that one writes for that call, and a link to the result."""
    name, place = best["name"], f"[{PurePath(run.source).parent.name}]({run.source})"
    line = f"`{WRITTEN[name]}`" if name in WRITTEN else ""
    return need, f"`{name}`", line, takes, longer, place


def us(row: Record) -> float:
    return float(row["p50_us"])


def mean_us(row: Record) -> float:
    return float(row["mean_us"])


def disk(row: Record) -> float:
    return row["installed_mib"] or float("inf")


def rate(row: Record) -> float:
    return float(row["rates"][BATCH])
