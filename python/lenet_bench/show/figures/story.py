"""A result in short: a few backends from the fastest to the slowest, and a few sentences."""

from collections.abc import Iterator, Sequence

from ... import units
from ...network import LENET
from ...registry import IN_CPP
from ...results import Result
from ...results.statistics import FEWEST_STARTS
from ...results.warnings import needed_s
from .rows import Record, Run

#: From C++ up: a backend, its variant (None: the fastest, except its API in C++), and its label.
_SHOWN = (
    ("cuda", None, "our own CUDA kernels"),
    ("fused", "", "our own C++"),
    ("cudnn", None, "C++ on cuDNN"),
    ("onednn", "", "C++ on oneDNN"),
    ("tensorflow", None, "TensorFlow from Python"),
    ("keras", "predict_on_batch", "Keras predict_on_batch"),
    ("keras", "", "Keras predict"),
)


def story(run: Run) -> list[Record]:
    """Rows with a label and a text each; without those backends, the fastest of each family."""
    rows, long_enough = run.rows, not too_short(run)
    picked = max((_of_device(rows, device) for device in ("CPU", "GPU")), key=len)
    if len(picked) < 3:
        fastest = {row["family"]: row for row in reversed(rows)}.values()
        picked = {row["name"]: row for row in (*fastest, rows[-1])}
    ranked = sorted(((row, label) for label, row in picked.items()), key=lambda one: one[0]["us"])
    first = ranked[0][0]
    times = [row["us"] / first["us"] if long_enough else 1 for row, _ in ranked]
    return [_labelled(row, label, n) for (row, label), n in zip(ranked, times, strict=True)]


def _of_device(rows: Sequence[Record], device: str) -> dict[str, Record]:
    picked: dict[str, Record] = {}
    for row in rows:
        for backend, variant, label in _SHOWN:
            same = row["device"] == device and row["backend"].partition("@")[0] == backend
            if same and row["variant"] != IN_CPP and variant in (None, row["variant"]):
                picked.setdefault(label, row)
    return picked


def _labelled(row: Record, label: str, times: float) -> Record:
    time = units.time(row["us"])
    text = time if times == 1 else f"{time}, {units.ratio(times)} times"
    keep = {key: row[key] for key in ("name", "family", "us", "where", "lines")}
    return keep | {"label": label, "time": time, "text": text, "about": f"{row['name']}: {text}"}


def title(run: Run, *, named: bool) -> str:
    """The main sentence: the fastest and the slowest of the story, and of which result."""
    shown = story(run)
    first, last = shown[0], shown[-1]
    network = run.result.rules.network
    what = "the same digit" if network == LENET else f"the network {network}"
    where = f"On {run.label}, {what}" if named else f"T{what[1:]}"
    sentence = f"{where} takes {first['time']} in {first['label']}"
    if first is not last:
        sentence += f" and {last['time']} in {last['label']}"
        if not too_short(run):
            sentence += f": {units.ratio(last['us'] / first['us'])} times as long"
    return f"{sentence}."


def too_short(run: Run) -> str | None:
    """Why a short run has no ranking, and what to do."""
    starts = max(row["starts"] for row in run.rows)
    if starts >= FEWEST_STARTS:
        return None
    most = "once" if starts == 1 else f"at most {starts} times"
    longer = f", with --budget {needed}s" if (needed := needed_s(run.result)) else ""
    return (
        f"Too few starts for a verdict: each backend started {most}, and an interval needs "
        f"{FEWEST_STARTS} starts. Measure longer{longer}."
    )


def sentences(run: Run) -> Iterator[str]:
    """Sentences on times, code and starts, and on their certainty."""
    rows, result = run.rows, run.result
    yield from _paid_for_the_call(rows[-1])
    if len(known := [row for row in rows if row["lines"]]) > 1:
        least, most = (pick(known, key=lambda row: row["lines"]) for pick in (min, max))
        yield (
            f"The network takes {units.counted(least['lines'], 'line')} of code with "
            f"{least['name']} and {most['lines']} with {most['name']}."
        )
    if len(known := [row for row in rows if row["cold"]]) > 1:
        first, last = (pick(known, key=lambda row: row["cold"]) for pick in (min, max))
        yield (
            f"A new process has its first answer after {units.seconds(first['cold'])} with "
            f"{first['name']} and after {units.seconds(last['cold'])} with {last['name']}."
        )
    yield from _harness(result)
    if too_short(run):
        return
    if unsure := sum(row["verdict"] == "ambiguous" and bool(row["ratio_low"]) for row in rows):
        yield f"{unsure} of {len(rows)} verdicts are ambiguous: the interval is too wide."
    if few := sum(row["starts"] < FEWEST_STARTS for row in rows):
        yield (
            f"{few} of {len(rows)} backends and variants started fewer than {FEWEST_STARTS} "
            "times, so they have no interval."
        )


def _harness(result: Result) -> Iterator[str]:
    floor = result.floor
    if floor and floor.summary and floor.summary.p50_us is not None:
        memory = floor.resources and floor.resources.peak_rss_mib
        held = f", and {units.mebibytes(memory)} of each process's memory" if memory else ""
        yield f"The harness itself takes {units.time(floor.summary.p50_us)} of each time{held}."


def _paid_for_the_call(slowest: Record) -> Iterator[str]:
    """The share of a call that a batch saves; no sentence if it is less than half."""
    size, rate = max(slowest["rates"].items(), key=lambda one: one[1], default=(1, 1.0))
    alone, together = slowest["us"], 1e6 / rate
    if size > 1 and (saved := 1 - together / alone) >= 0.5:
        gpu = " --device gpu" if slowest["device"] == "GPU" else ""
        yield (
            f"With {size} images in a call {slowest['name']} takes {units.time(together)} an "
            f"image. {units.percent(saved)} of its single call of {units.time(alone)} is overhead "
            f"of the call: `lenet-bench why {slowest['name'].partition('@')[0]}{gpu}` takes it "
            "apart."
        )
