"""A result in short: its backends from the fastest to the slowest, and a few sentences."""

from collections.abc import Iterator, Sequence

from ... import units
from ...models.programs import call_of
from ...network import LENET
from ...registry import IN_CPP
from ...results.statistics import FEWEST_STARTS, Ratio, ratio_of
from ...texts import listed
from .records import Record, Run, named

_MOST = 8  # rows that are all shown
#: Of a longer list, from C++ up: a backend, its variant (None: the fastest, except its API in C++),
#: and its label.
_LAYERS = (
    ("cuda", None, "our own CUDA kernels"),
    ("fused", "", "our own C++"),
    ("cudnn", None, "C++ on cuDNN"),
    ("onednn", "", "C++ on oneDNN"),
    ("tensorflow", None, "TensorFlow from Python"),
    ("keras", "predict_on_batch", "Keras predict_on_batch"),
    ("keras", "", "Keras predict"),
)
_AVOIDABLE = 1.1  # times as long as another variant
_SAME = 1e-3  # from the right answers, of what gives the same ones
_UNSURE = " Too few starts to be sure."
#: What is known to go wrong with a variant.
_TRAPS = {
    "predict_on_batch": (
        "predict_on_batch fails where steps_per_execution is above 1 (keras#19996); on a GPU it "
        "may use XLA, whose answers may be 1e-2 off (keras#22512)."
    )
}


def story(run: Run) -> list[Record]:
    """Rows with a label and a text each: all of a short run, of a longer one a row a layer."""
    picked = {row["name"]: row for row in run.rows}
    if len(picked) > _MOST:
        picked = max((_layers(run.rows, device) for device in ("CPU", "GPU")), key=len)
    if len(picked) < 3:
        fastest = {row["family"]: row for row in reversed(run.rows)}.values()
        picked = {row["name"]: row for row in (*fastest, run.rows[-1])}
    ranked = sorted(picked.items(), key=lambda one: float(one[1]["p50_us"]))
    first = ranked[0][1] if has_verdicts(run) else None
    return [_labelled(run, row, label, first) for label, row in ranked]


def _layers(rows: Sequence[Record], device: str) -> dict[str, Record]:
    picked: dict[str, Record] = {}
    for row in rows:
        for backend, variant, label in _LAYERS:
            same = row["device"] == device and row["backend"].partition("@")[0] == backend
            if same and row["variant"] != IN_CPP and variant in (None, row["variant"]):
                picked.setdefault(label, row)
    return picked


def _labelled(run: Run, row: Record, label: str, first: Record | None) -> Record:
    text = time = units.time(row["p50_us"])
    if first and row is not first:
        text += f", {units.about(_ratio(run, row, first).value)} times"
    keep = {key: row[key] for key in ("name", "family", "p50_us", "lines_of_code")}
    return keep | {"label": label, "time": time, "text": text, "about": f"{row['name']}: {text}"}


def title(run: Run) -> str:
    """The main sentence: the fastest and the slowest of the story."""
    shown = story(run)
    first, last = shown[0], shown[-1]
    network, kind = run.result.rules.network, run.result.rules.placed.format
    what = f"the {'model' if kind else 'network'} {network}"
    what = "the same digit" if network == LENET else what
    sentence = f"T{what[1:]} takes {first['time']} in {first['label']}"
    if first is not last:
        sentence += f" and {last['time']} in {last['label']}"
        if has_verdicts(run):
            sentence += f": {times_longer(run, last, first)} as long"
    return f"{sentence}."


def times_longer(run: Run, slow: Record, fast: Record) -> str:
    """How many times as long one call takes as another, in short, with its interval."""
    found = _ratio(run, slow, fast)
    times = f"{units.about(found.value)} times"
    if found.interval is None:
        return times
    return f"{times} ({units.about(found.interval.low)} to {units.about(found.interval.high)})"


def _ratio(run: Run, slow: Record, fast: Record) -> Ratio:
    found = {named(one): one for one in run.result.backends}
    return ratio_of(found[slow["name"]], found[fast["name"]], run.result.rules.confidence)


def _avoidable(run: Run, slow: Record, fast: Record) -> str | None:
    """What to add to an advice to avoid the slow call; None where the other is no faster."""
    found = _ratio(run, slow, fast)
    if found.value <= _AVOIDABLE or (found.interval and found.interval.low <= 1):
        return None
    return "" if found.interval else _UNSURE


def has_verdicts(run: Run) -> bool:
    """Whether any backend started often enough for an interval."""
    return any(row["starts"] >= FEWEST_STARTS for row in run.rows)


def conclusions(run: Run) -> Iterator[str]:
    """The fastest, what ties with it, and the largest cost that another call avoids.

    Of calls at an interval, who keeps to the deadline, in place of the fastest.
    """
    if (within_s := run.result.rules.paced_within_s) and run.rows:
        yield _deadline(run.rows, within_s)
    if len(run.rows) < 2:
        return
    first = run.rows[0]
    if first["starts"] >= FEWEST_STARTS and not within_s:
        takes = f"{units.time(first['p50_us'])} an {run.taken}"
        if ties := ", ".join(_ties(run)):
            yield f"{first['name']} has the lowest median, {takes}; {ties} may be as fast."
        else:
            yield f"{first['name']} is the fastest: {takes}."
    if not (run.result.rules.placed.format or ".").startswith("."):  # it is a framework's model
        yield from _replaced(run)
        return
    backends: dict[str, list[Record]] = {}
    for row in run.rows:
        backends.setdefault(row["backend"], []).append(row)
    quick, slow = max(
        ((variants[0], variants[-1]) for variants in backends.values()),
        key=lambda pair: float(pair[1]["p50_us"] - pair[0]["p50_us"]),
    )
    doubt = _avoidable(run, slow, quick)
    if doubt is not None:
        yield (
            f"The largest avoidable cost: {slow['name']} takes {units.time(slow['p50_us'])}. "
            f"{quick['name']} gives {_answers(slow, quick, 'the same answer')} in "
            f"{units.time(quick['p50_us'])}, so {slow['name']} takes "
            f"{times_longer(run, slow, quick)} as long; call "
            f"{quick['name']} instead.{doubt}"
        )


def _replaced(run: Run) -> Iterator[str]:
    """Of a framework's model: which call to write in place of its plain one, and what more is won.

    Where no plain call was measured, in place of the slowest.
    """
    own = [row for row in run.rows if row["conversion_s"] is None and call_of(row["name"])]
    quickest: dict[str, Record] = {}
    for row in own:
        quickest.setdefault(row["backend"], row)
    if not own:
        return
    plain = [row for row in own if row["name"] == row["backend"]] or own
    quick, slow = max(
        ((quickest[row["backend"]], row) for row in plain),
        key=lambda pair: float(pair[1]["p50_us"] - pair[0]["p50_us"]),
    )
    fastest = run.rows[0]
    doubt = _avoidable(run, slow, quick)
    if doubt is not None:
        yield (
            f"Replace `{call_of(slow['name'])}` by `{call_of(quick['name'])}` ({slow['name']} by "
            f"{quick['name']}): {times_longer(run, slow, quick)} as fast, "
            f"{_answers(slow, quick, 'the same answers')}.{doubt}"
        )
        if trap := _TRAPS.get(quick["variant"]):
            yield trap
    if fastest is not quick:
        made = fastest["conversion_s"]
        converting = f"; converting took {units.seconds(made)}" if made is not None else ""
        yield (
            f"The fastest of all: {fastest['name']}, {times_longer(run, slow, fastest)} as fast as "
            f"{slow['name']}; off by {fastest['difference']:.0e}{converting}."
        )


def _answers(slow: Record, quick: Record, same: str) -> str:
    """What the second call answers, by how far both are from the right answers."""
    offs = [row["difference"] or 0.0 for row in (slow, quick)]
    if max(offs) <= _SAME:
        return same
    old, new = (f"{off:.0e}" for off in offs)
    return f"answers off by {new}" + ("" if new == old else f" in place of {old}")


def _deadline(rows: Sequence[Record], within_s: float) -> str:
    """Who was never over it, and how often the others were, by the tail."""
    ranked = sorted(rows, key=lambda row: (row["over_deadline"], row["p99_us"] or row["p50_us"]))
    p99 = {row["name"]: f" (p99 {units.time(row['p99_us'])})" for row in rows if row["p99_us"]}
    kept: list[str] = []
    missed: list[str] = []
    for row in ranked:
        name, tail = row["name"], p99.get(row["name"], "")
        if share := row["over_deadline"]:
            calls = "" if missed else " of its calls"
            missed.append(f"{name} in {units.percent(share)}{calls}{tail}")
        else:
            kept.append(f"{name}{tail}")
    said = [f"kept by every call that counts of {listed(kept, _MOST)}"] if kept else []
    said += [f"missed by {listed(missed, _MOST)}"] if missed else []
    return f"Deadline of {units.span(within_s)}: {'; '.join(said)}."


def _ties(run: Run) -> Iterator[str]:
    """Whose ratio to the fastest has no interval, or one that reaches the margin around 1."""
    for row in run.rows[1:]:
        found = _ratio(run, row, run.rows[0]).interval
        if found is None or found.low <= 1 + run.result.rules.margin:
            yield row["name"]
