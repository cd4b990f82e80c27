"""The report's page and figures as files: what they hold, what they refuse, what they write."""

import re
from dataclasses import replace
from html import unescape
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from colours import contrast
from lenet_bench.cost import lines_of_code, sources
from lenet_bench.errors import ResultError, Unavailable
from lenet_bench.results.machine import Machine, Processor, Software
from lenet_bench.results.model import Other
from lenet_bench.show.figures import figures
from lenet_bench.show.figures.breakdown import axis, parts
from lenet_bench.show.figures.pictures import pictures, themed, write_figures
from lenet_bench.show.figures.story import conclusions, has_verdicts, story
from lenet_bench.show.figures.vega import COLOURS
from lenet_bench.show.page import gather, page
from lenet_bench.show.page.code import implementations, programs
from PIL import Image
from sample_results import (
    blocks,
    experiments,
    failed,
    result,
    sample_apart,
    sample_of_all,
    sample_result,
    timed_starts,
)

HOSTILE = "</title><script>alert('1')</script>\x00\ud800&"


def drawn(*results):
    return page(gather([(f"{n}.jsonl", one) for n, one in enumerate(results)]))


@pytest.fixture(scope="module")
def everything():
    return gather([("everything.jsonl", sample_of_all())])


@pytest.fixture(scope="module")
def whole_page(everything):
    return page(everything)


def test_a_page_of_all_backends_fits_in_a_mail(whole_page):
    assert len(whole_page.encode()) < 1_500_000


def test_a_page_loads_nothing_from_elsewhere(whole_page):
    written = re.sub("<script.*?</script>", "", whole_page, flags=re.DOTALL)
    ids = re.findall(r'\sid="(.*?)"', written)
    assert set(re.findall(r'\shref="(.*?)"', written)) <= {f"#{one}" for one in ids}
    assert len(set(ids)) == len(ids)
    policy = re.search('Content-Security-Policy" content="(.*?)"', unescape(whole_page))[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_text_from_a_result_is_never_markup():
    crashed = failed(HOSTILE, "crashed", HOSTILE, traceback=HOSTILE, output=HOSTILE)
    machine = Machine(Processor(model=HOSTILE), software=Software(packages={HOSTILE: HOSTILE}))
    rest = {"machine": machine, "variables": {HOSTILE: HOSTILE}}
    html = drawn(result(blocks(f"first{HOSTILE}", 20), blocks("second", 40), crashed, **rest))
    assert "<script>alert" not in html


@pytest.mark.parametrize(
    "other", [Other("policy.onnx 0123abcd", arbiter="ONNX's evaluator"), Other("resnet50")]
)
def test_the_page_of_another_network_shows_no_code_of_lenets(other):
    rows = blocks("onnxruntime", 20), blocks("mnn", 40)
    html = drawn(result(*rows, other=other))
    said = unescape(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL))
    for claim in ("The code of each backend", "API name", "onnxruntime.py", "Side by side"):
        assert claim not in said
    assert "How long does one input take?" in said
    assert "onnxruntime is the fastest: 20.0 µs an input." in said
    assert "image" not in said
    of_lenet = drawn(result(*rows))
    assert "The code of each backend" in of_lenet
    assert "How long does one image take?" in of_lenet


def test_a_machine_may_say_nothing_of_itself():
    assert "unknown processor" in drawn(result(blocks("first", 20), machine=Machine()))


def test_all_that_went_wrong_is_on_the_page():
    rows = (blocks("first", 20, batch_refusals={"64": "too large"}), blocks("second", 40))
    crashed = failed("third", "crashed", "killed by a signal", traceback="at line 7")
    absent = failed("fourth", "unavailable", "no such module")
    found = replace(result(*rows, crashed, absent), warnings=("It was loud",))
    text = unescape(re.sub("<[^>]+>", "", drawn(found)))
    reasons = ("too large", "killed by a signal", "at line 7", "no such module")
    for said in (*reasons, "It was loud"):
        assert said in text


def gathered(*rows, **rest):
    """A run of these, as it is drawn."""
    (run,) = gather([("r.jsonl", result(*rows, **rest))])
    return run


def title(run):
    return re.search("<h1>(.*?)</h1>", page([run]))[1]


def test_a_run_of_too_few_starts_is_not_ranked():
    short = gathered(*(blocks(name, us, 2) for name, us in STORY.items()))
    assert not has_verdicts(short)
    assert '<p class="alarm">Too few starts for a verdict' in page([short])
    assert "times" not in title(short)
    assert not any(row["ratio_low"] for row in short.rows)


STORY = {
    "fused": 20,
    "onednn": 40,
    "tensorflow:xla": 150,
    "tensorflow": 300,
    "keras:predict_on_batch": 400,
    "keras": 40_000,
}


def measured(*names):
    """A run of these backends, with the times of STORY."""
    return gathered(*(blocks(name, STORY.get(name, 90)) for name in names))


def test_all_backends_of_a_short_run_are_in_its_main_figure():
    run = measured("onnxruntime", "litert", "keras")
    assert [row["name"] for row in story(run)] == ["onnxruntime", "litert", "keras"]
    assert "440 times (440 to 440) as long" in title(run)


def test_the_main_figure_and_the_sentence_above_it_say_the_same_ratio():
    """It is of starts in pairs, not of medians, and has two decimals where it is near 1."""
    in_pairs = [(20, 20.8)] * 5 + [(30, 31.2)] * 4 + [(20, 31.2), (30, 20.8), (20, 20.8)]
    fast, slow = zip(*in_pairs, strict=True)
    run = gathered(timed_starts("fused", *fast), timed_starts("numpy", *slow))
    assert story(run)[-1]["text"].endswith(", 1.04 times")
    assert " 1.04 times (" in title(run)


def test_a_long_run_has_a_backend_of_each_layer_in_its_main_figure():
    run = measured(*STORY, "numpy", "torch", "jax", "fused:int16")
    printed = [row["name"] for row in story(run)]
    assert printed == ["fused", "onednn", "tensorflow:xla", "keras:predict_on_batch", "keras"]
    assert "2,000 times (2,000 to 2,000)" in title(run)


def test_the_fastest_is_named_with_what_cannot_be_told_apart_from_it():
    fastest, *_ = conclusions(measured("onnxruntime", "litert", "keras"))
    assert fastest == "onnxruntime has the lowest median, 90.0 µs an image; litert may be as fast."
    fastest, *_ = conclusions(measured("fused", "onednn"))
    assert fastest == "fused is the fastest: 20.0 µs an image."


def test_nobody_is_the_fastest_of_those_that_started_too_rarely():
    assert not list(conclusions(gathered(blocks("fused", 20, 2), blocks("onednn", 40))))
    (told,) = conclusions(gathered(blocks("fused", 20), blocks("onednn", 21, 2)))
    assert told.endswith("; onednn may be as fast.")


def test_the_largest_avoidable_cost_is_named_with_what_to_call_instead():
    names = ("onednn", "tensorflow", "tensorflow:xla", "keras", "keras:predict_on_batch")
    _, avoidable, *_ = conclusions(measured(*names))
    assert re.search("keras takes 40.0 ms.*keras:predict_on_batch .*400 µs", avoidable)
    assert avoidable.endswith(" instead.")
    assert not any("avoidable" in said for said in conclusions(measured("onednn", "keras")))


@pytest.mark.parametrize("format", ["keras", ".onnx"])
def test_the_same_answers_are_said_only_of_calls_that_give_them(format):
    def said(off):
        rows = [
            blocks(name, STORY[name], difference=off)
            for name in ("keras", "keras:predict_on_batch")
        ]
        return " ".join(conclusions(gathered(*rows, other=Other("own", format=format))))

    assert "the same answer" in said(1e-7)
    assert "the same answer" not in said(0.02)
    assert "answers off by 2e-02" in said(0.02)


def test_an_avoidable_cost_is_told_from_the_first_start_on_without_a_verdict():
    rows = [blocks(name, STORY[name], 1) for name in ("keras", "keras:predict_on_batch")]
    (avoidable,) = conclusions(gathered(*rows))
    assert "so keras takes 100 times as long; call" in avoidable
    assert avoidable.endswith(" instead. Too few starts to be sure.")


def test_a_result_has_the_figures_that_it_has_numbers_for(everything):
    def keys(run):
        return {one.key for one in figures(run.rows, story(run))}

    assert keys(everything[0]) == {"hero", "code"}
    assert keys(gather([("bare.jsonl", sample_result())])[0]) == {"hero"}


def test_the_throughput_by_batch_is_a_table_where_it_was_measured(whole_page):
    assert '<table id="batches"' in whole_page
    assert '<table id="batches"' not in drawn(sample_result())


def test_the_code_of_each_backend_is_its_source_with_its_lines_counted(everything):
    shown = {name: one for one in implementations(everything[0]) for name in one.names}
    measured = {row["name"] for row in everything[0].rows}
    assert measured <= set(shown)
    for name, one in shown.items():
        assert sum(len(file.gutter.split()) for file in one.files) == lines_of_code(name)
        written = {line for source in sources(name) for line in source.text.splitlines()}
        for file in one.files:
            text = unescape(re.sub("</?[biqu]>", "", str(file.code)))
            assert set(text.splitlines()) <= written | {""}
            assert file.gutter.count("\n") + 1 == len(text.splitlines())


def test_the_lines_of_a_model_have_what_its_result_says_of_it():
    inputs = {"x": "float32 1x4"}
    saved = Other("own", format="tensorflow", inputs=inputs, signature="mine")
    lines = str(programs(gathered(blocks("tensorflow:function", 20), other=saved))[0].files[0].code)
    assert "mine" in lines
    assert "serving_default" not in lines
    keras = Other("own.keras", format="keras", inputs=inputs, below="jax")
    rows = blocks("onnxruntime", 20, conversion_s=1.0)
    lines = str(programs(gathered(rows, other=keras))[0].files[0].code)
    assert re.search("KERAS_BACKEND.*jax", lines)


def test_a_result_with_nothing_timed_makes_no_page():
    with pytest.raises(ResultError, match="no backend was timed"):
        drawn(result(failed("only", "wrong", "no")))


def test_two_comparisons_make_no_page():
    with pytest.raises(ResultError, match="one comparison and one run of `why`"):
        drawn(sample_result(), sample_result())


def test_a_run_of_why_adds_none_of_its_times_to_a_comparison():
    for results in ([sample_result(), sample_apart()], [sample_apart(), sample_result()]):
        beside = drawn(*results)
        assert re.findall('data-figure="(.*?)"', beside)[:2] == ["hero", "why"]
        numbers = re.search('<table id="numbers".*?</table>', beside, re.DOTALL)[0]
        assert re.findall('data-name="(.*?)"', numbers) == ["first", "second"]


def test_a_run_of_why_alone_is_a_page_with_its_times():
    alone = drawn(sample_apart())
    assert 'data-figure="why"' in alone
    assert 'data-name="tensorflow"' in alone
    assert "This is another run" not in alone
    assert "Everything was measured" in alone


def test_what_failed_in_a_run_of_why_beside_a_comparison_is_said():
    taken = result(blocks("onednn", 40, experiments=experiments()), failed("keras", "crashed", "x"))
    html = drawn(sample_result(), taken)
    assert "<strong>keras</strong> in 1.jsonl crashed: x" in html
    assert "<strong>third</strong> crashed: " in html


def test_what_was_not_taken_apart_is_said_with_its_reason():
    untaken = blocks("numpy", 50, no_experiments_reason="the budget ended")
    html = drawn(result(blocks("keras", 400, experiments=experiments()), untaken))
    assert "<strong>numpy</strong> is not taken apart: the budget ended" in html
    assert "Everything was measured" not in html


@pytest.fixture(scope="module")
def apart():
    (run,) = gather([("why.jsonl", sample_apart())])
    return run


def test_every_part_is_drawn_from_where_those_before_it_end(apart):
    for one in apart.breakdowns:
        rows = [row for row in parts(apart) if row["name"] == one.name]
        lengths = [row["ends"] - row["begins"] for row in rows]
        us = [part.us for part in one.parts]
        assert lengths == pytest.approx(us, abs=1e-3 * max(map(abs, us)))
        assert rows[0]["begins"] == 0
        right = [row for row in rows if row["ends"] > 0]
        assert all(row["ends"] == later["begins"] for row, later in pairwise(right))
        assert all(row["ends"] <= row["begins"] <= 0 for row in rows if row not in right)


def test_one_bar_of_each_family_is_shown():
    named = ("onednn", "torch", "tensorflow:concrete", "keras:predict_on_batch", "keras")
    quicker = ("openblas", "mnn", "onnxruntime", "torch:export", "keras-jax:predict_on_batch")
    rows = [
        blocks(name, us, experiments=experiments())
        for us, name in enumerate((*quicker, *named), 100)
    ]
    shown = {row["name"] for row in parts(gathered(*rows)) if row["shown"]}
    assert shown == {"mnn", *named}


def test_a_bar_that_is_far_longer_than_all_others_is_cut(apart):
    rows = parts(apart)
    longest = {row["name"]: row["right"] for row in rows if row["last"]}
    assert axis(rows)["high"] == longest["keras:predict_on_batch"]


def test_an_axis_holds_what_is_below_zero(apart):
    alone = [row for row in parts(apart) if row["name"] == "keras"]
    assert axis(alone)["low"] == min(row["ends"] for row in alone) < -900


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_in_both_themes(dark):
    colours = {name: pair[dark] for name, pair in COLOURS.items()}
    marks = [name for name in colours if name.startswith(("family", "part"))]
    for names, ground, least in (
        (("ink", "soft", "accent", "alarm"), "paper", 4.5),
        (("soft", "family-0", "family-2", "family-5"), "raised", 4.5),  # text in code
        (marks, "paper", 3),
    ):
        for name in names:
            assert contrast(colours[name], colours[ground]) >= least, name


def test_a_figure_follows_the_theme():
    drawn = pictures(gather([("r.jsonl", sample_result())]))["hero"]
    style = ElementTree.fromstring(themed(drawn)).findtext("{http://www.w3.org/2000/svg}style", "")
    assert set(re.findall(r"var\((--[\w-]+)\)", drawn)) <= set(re.findall(r"(--[\w-]+):", style))
    assert "prefers-color-scheme:dark" in style
    assert not re.search("white|#fff", drawn)


def test_figures_are_written_as_svg_and_png(tmp_path):
    runs = gather([("r.jsonl", sample_result()), ("why.jsonl", sample_apart())])
    written = write_figures(tmp_path / "slides", runs)
    names = {f"{key}.{ending}" for key in ("hero", "why") for ending in ("svg", "png")}
    assert {path.name for path in written} >= names
    assert "var(" not in (tmp_path / "slides/hero.svg").read_text()
    shown = Image.open(tmp_path / "slides/hero.png")
    assert len(shown.convert("RGB").getcolors(1 << 20) or ()) > 10


@pytest.mark.parametrize("library", ["jinja2", "markupsafe", "pygments.lexers", "vl_convert"])
def test_without_a_library_the_page_says_what_brings_it(library, monkeypatch):
    modules = __import__("sys").modules
    for name in [name for name in modules if name.startswith("lenet_bench.show.page")]:
        monkeypatch.delitem(modules, name)
    monkeypatch.setitem(modules, library, None)
    with pytest.raises(Unavailable, match=r"lenet-bench\[report\]"):
        drawn(sample_result())


def test_report_writes_the_page_beside_the_figures(run, saved):
    target, folder = saved.with_name("report.html"), saved.with_name("slides")
    done = run("report", saved, "-o", target, "--figures", folder)
    assert (done.code, done.output) == (0, "")
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert {path.suffix for path in folder.iterdir()} == {".svg", ".png"}


def test_what_cannot_be_read_becomes_no_page(refused, saved):
    refused("report", saved.with_name("absent.jsonl"), "-o", saved.with_name("report.html"))
    assert list(saved.parent.iterdir()) == [saved]


def test_a_page_that_cannot_be_written_is_a_sentence(run, saved):
    for options in (("-o", saved.parent), ("--figures", saved)):
        done = run("report", saved, *options)
        assert done.code in (1, 2)
        assert done.errors.strip()
        assert "Traceback" not in done.errors
