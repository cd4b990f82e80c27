"""The report's page and figures as files: what they hold, what they refuse, what they write."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from lenet_bench.cost import lines_of_code, sources
from lenet_bench.errors import ResultError, Unavailable
from lenet_bench.results.machine import Machine, Processor, Software
from lenet_bench.show.figures import figures
from lenet_bench.show.figures.breakdown import axes, first, parts
from lenet_bench.show.figures.pictures import pictures, themed, write_figures
from lenet_bench.show.figures.story import sentences, story, too_short
from lenet_bench.show.figures.vega import COLOURS
from lenet_bench.show.page import gather, page
from lenet_bench.show.page.code import implementations
from PIL import Image
from sample_results import (
    blocks,
    experiments,
    failed,
    log,
    result,
    sample_apart,
    sample_log,
    sample_of_all,
    sample_result,
    write_log,
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


class Outline(HTMLParser):
    """What a page is made of."""

    def __init__(self, html):
        super().__init__()
        self.ids, self.links, self.levels, self.scripts = [], [], [], 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.levels += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self.scripts += tag == "script"


def test_a_page_of_all_backends_fits_in_a_mail_and_loads_nothing_from_elsewhere(whole_page):
    assert len(whole_page.encode()) < 1_500_000
    outline = Outline(whole_page)
    assert all(link.startswith("#") for link in outline.links)
    assert {link[1:] for link in outline.links} <= set(outline.ids)
    assert len(set(outline.ids)) == len(outline.ids)
    assert "default-src 'none'" in unescape(whole_page)
    assert "unsafe" not in re.search('Content-Security-Policy" content="(.*?)"', whole_page)[1]
    assert outline.levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(outline.levels))


def test_text_from_a_result_is_never_markup_and_a_machine_may_say_nothing_of_itself():
    rows = (blocks(f"first{HOSTILE}", 20), blocks("second", 40))
    crashed = failed(HOSTILE, "crashed", HOSTILE, traceback=HOSTILE, output=HOSTILE)
    machine = Machine(Processor(model=HOSTILE), software=Software(packages={HOSTILE: HOSTILE}))
    plain = drawn(result(*rows, failed("third", "crashed", "killed"), machine=Machine()))
    html = drawn(result(*rows, crashed, machine=machine, variables={HOSTILE: HOSTILE}))
    assert Outline(html).scripts == Outline(plain).scripts
    assert "<script>alert" not in html
    assert "unknown processor" in plain


def test_every_warning_reason_traceback_and_refusal_is_on_the_page():
    rows = (blocks("first", 20, batch_refusals={"64": "too large"}), blocks("second", 40))
    crashed = failed("third", "crashed", "killed by a signal", traceback="at line 7")
    absent = failed("fourth", "unavailable", "no such module")
    rest = {"warnings": ("it was loud",), "notes": ("a line was cut off",)}
    text = unescape(re.sub("<[^>]+>", "", drawn(replace(result(*rows, crashed, absent), **rest))))
    for said in ("t was loud", "line was cut off", "killed by a signal", "at line 7"):
        assert said in text
    assert "no such module" in text
    assert "too large" in text


def test_a_run_of_too_few_starts_is_drawn_and_not_ranked():
    short = gather([("s.jsonl", result(*(blocks(name, us, 2) for name, us in STORY.items())))])
    assert too_short(short[0])
    assert too_short(short[0]) in unescape(re.sub("</?code>", "", page(short)).replace("\xa0", " "))
    assert "times" not in re.search("<h1>(.*?)</h1>", page(short))[1]
    assert [round(row["p50_us"]) for row in short[0].rows] == sorted(STORY.values())
    assert not any(row["ratio_low"] for row in short[0].rows)


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
    (run,) = gather([("r.jsonl", result(*(blocks(name, STORY.get(name, 90)) for name in names)))])
    return run


def test_all_backends_of_a_short_run_are_in_its_main_figure():
    run = measured("onnxruntime", "litert", "keras")
    assert [row["name"] for row in story(run)] == ["onnxruntime", "litert", "keras"]
    assert "444 times" in re.search("<h1>(.*?)</h1>", page([run]))[1]


def test_a_long_run_has_a_backend_of_each_layer_in_its_main_figure():
    run = measured(*STORY, "numpy", "torch", "jax", "fused:int16")
    printed = [row["name"] for row in story(run)]
    assert printed == ["fused", "onednn", "tensorflow:xla", "keras:predict_on_batch", "keras"]
    assert "2,000 times" in re.search("<h1>(.*?)</h1>", page([run]))[1]


def test_the_fastest_is_named_with_what_cannot_be_told_apart_from_it():
    fastest, *_ = sentences(measured("onnxruntime", "litert", "keras"))
    assert (
        fastest
        == "onnxruntime is the fastest: 90.0 µs an image; litert cannot be told apart from it."
    )
    fastest, *_ = sentences(measured("fused", "onednn"))
    assert fastest == "fused is the fastest: 20.0 µs an image."


def test_the_largest_avoidable_cost_is_named_with_what_to_call_instead():
    names = ("onednn", "tensorflow", "tensorflow:xla", "keras", "keras:predict_on_batch")
    _, avoidable, *_ = sentences(measured(*names))
    assert avoidable.startswith("The largest avoidable cost: keras takes 40.0 ms. ")
    assert "keras:predict_on_batch gives the same answer in 400 µs, 100 times faster" in avoidable
    assert not any("avoidable" in said for said in sentences(measured("onednn", "keras")))


def test_a_result_has_the_figures_that_it_has_numbers_for(everything):
    rows, shown = everything[0].rows, story(everything[0])
    assert {one.key for one in figures(rows, shown)} == {
        "hero",
        "layers",
        "code",
        "takes",
        "batches",
    }
    bare = gather([("bare.jsonl", sample_result())])[0]
    assert {one.key for one in figures(bare.rows, story(bare))} == {"hero", "takes"}


def test_every_figure_asks_a_question(everything):
    assert all(
        one.question.endswith("?") for one in figures(everything[0].rows, story(everything[0]))
    )


def test_the_code_of_each_backend_is_its_source_with_its_lines_counted(everything):
    shown = {name: one for one in implementations(everything[0]) for name in one.names}
    measured = {row["name"] for row in everything[0].rows}
    assert measured <= set(shown)
    for name, one in shown.items():
        counted = sum(
            max(map(int, re.findall(r"\d+", file.gutter)), default=0) for file in one.files
        )
        assert counted == lines_of_code(name)
        written = {line for source in sources(name) for line in source.text.splitlines()}
        for file in one.files:
            text = unescape(re.sub("</?[biqu]>", "", str(file.code)))
            assert set(text.splitlines()) <= written | {""}
            assert file.gutter.count("\n") + 1 == len(text.splitlines())
    assert "<b>Conv2d</b>" in "".join(str(file.code) for file in shown["torch"].files)


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ([result(failed("only", "wrong", "no"))], "no backend was timed"),
        ([sample_result(), sample_result()], "one comparison and one run of `why`"),
        ([sample_apart(), sample_apart()], "one comparison and one run of `why`"),
    ],
    ids=["nothing timed", "two comparisons", "two runs of why"],
)
def test_what_a_page_cannot_show_is_refused(results, reason):
    with pytest.raises(ResultError, match=reason):
        drawn(*results)


def test_a_run_of_why_adds_a_figure_and_none_of_its_times_to_a_comparison():
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


def test_the_page_says_how_far_a_run_of_why_is_from_its_times():
    beside = drawn(result(blocks("keras", 30_000), blocks("onednn", 100)), sample_apart())
    said = beside.replace("\xa0", " ")
    assert (
        "This is another run than the rest of the page: keras takes 40.0 ms in it and 30.0 ms"
        in said
    )


def test_the_headline_names_its_machine_where_the_parts_are_of_another():
    assert "<h1>On µ-processor, the same digit" in drawn(sample_result(), sample_apart())
    assert "<h1>The same digit" in drawn(sample_result(), sample_apart("µ-processor"))


def test_every_part_is_drawn_from_where_those_before_it_end_and_sums_up_to_the_call():
    (run,) = gather([("why.jsonl", sample_apart())])
    for one in run.breakdowns:
        rows = [row for row in parts(run) if row["name"] == one.name]
        lengths = [row["ends"] - row["begins"] for row in rows]
        us = [part.us for part in one.parts]
        assert lengths == pytest.approx(us, abs=1e-3 * max(map(abs, us)))
        assert rows[0]["begins"] == 0
        right = [row for row in rows if row["ends"] > 0]
        assert all(row["ends"] == later["begins"] for row, later in pairwise(right))
        assert all(row["ends"] <= row["begins"] <= 0 for row in rows if row not in right)


def test_one_bar_of_each_family_is_shown_on_an_axis_that_ends_with_the_longest():
    named = ("onednn", "torch", "tensorflow:concrete", "keras:predict_on_batch", "keras")
    quicker = ("openblas", "mnn", "onnxruntime", "torch:export", "keras-jax:predict_on_batch")
    rows = [
        blocks(name, us, experiments=experiments())
        for us, name in enumerate((*quicker, *named), 100)
    ]
    (run,) = gather([("why.jsonl", result(*rows))])
    shown = {row["name"] for row in parts(run) if row["shown"]}
    assert shown == {"mnn", *named}

    (run,) = gather([("why.jsonl", sample_apart())])
    rows = parts(run)
    ends = axes(rows)
    texts = [end["text"].partition(",")[0] for end in ends]
    assert texts == ["keras", "keras:predict_on_batch"]
    assert first(ends) == 1
    assert ends[0]["low"] == min(row["ends"] for row in rows) < -900


def contrast(one, other):

    def luminance(colour):
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_and_marks_be_seen_in_both_themes(dark):
    colours = {name: pair[dark] for name, pair in COLOURS.items()}
    marks = [name for name in colours if name.startswith(("family", "part"))]
    for names, ground, least in (
        (("ink", "soft", "accent", "alarm"), "paper", 4.5),
        (("soft", "family-0", "family-2", "family-5"), "raised", 4.5),  # text in code
        (marks, "paper", 3),
    ):
        for name in names:
            assert contrast(colours[name], colours[ground]) >= least, name


def test_figures_are_written_as_svg_and_png_that_follow_the_theme_and_show_something(tmp_path):
    drawn = pictures(gather([("r.jsonl", sample_result())]))["hero"]
    picture = ElementTree.fromstring(themed(drawn))
    style = picture.findtext("{http://www.w3.org/2000/svg}style", "")
    assert set(re.findall(r"var\((--[\w-]+)\)", drawn)) <= set(re.findall(r"(--[\w-]+):", style))
    assert "prefers-color-scheme:dark" in style
    assert not re.search("white|#fff", drawn)

    runs = gather([("r.jsonl", sample_result()), ("why.jsonl", sample_apart())])
    written = write_figures(tmp_path / "slides", runs)
    names = {f"{key}.{ending}" for key in ("hero", "why", "takes") for ending in ("svg", "png")}
    assert {path.name for path in written} >= names
    assert "var(" not in (tmp_path / "slides/takes.svg").read_text()
    shown = Image.open(BytesIO((tmp_path / "slides/takes.png").read_bytes()))
    assert shown.width > 1800
    assert len(shown.convert("RGB").getcolors(1 << 20) or ()) > 10


@pytest.mark.parametrize("library", ["jinja2", "vl_convert"])
def test_without_a_library_the_page_says_what_brings_it(library, monkeypatch):
    modules = __import__("sys").modules
    for name in [name for name in modules if name.startswith("lenet_bench.show.page")]:
        monkeypatch.delitem(modules, name)
    monkeypatch.setitem(modules, library, None)
    with pytest.raises(Unavailable, match=r"lenet-bench\[report\]"):
        drawn(sample_result())


@pytest.fixture
def saved(tmp_path):
    write_log(tmp_path / "run.jsonl", sample_log())
    return tmp_path / "run.jsonl"


def test_report_writes_the_page_and_the_figures(run, saved):
    target, folder = saved.with_name("report.html"), saved.with_name("slides")
    done = run("report", saved, "-o", target, "--figures", folder)
    assert (done.code, done.output) == (0, "")
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert {path.suffix for path in folder.iterdir()} == {".svg", ".png"}

    apart = saved.with_name("why.jsonl")
    write_log(apart, log(blocks("onednn", 100, experiments=experiments())))
    done = run("report", saved, apart, "-o", target)
    assert done.code == 0
    assert 'data-figure="why"' in target.read_text(encoding="utf-8")


def test_report_answers_what_cannot_be_read_or_written_in_one_sentence(run, saved):
    target, other = saved.with_name("report.html"), saved.with_name("other.jsonl")
    other.write_bytes(b"{}")
    for path in (other, saved.with_name("absent.jsonl")):
        done = run("report", path, "-o", target)
        assert (done.code, done.errors.count("\n")) == (1, 1)
        assert "Traceback" not in done.errors
        assert not target.exists()
    for options in (("-o", saved.parent), ("--figures", saved)):
        done = run("report", saved, *options)
        assert done.code in (1, 2)
        assert "Traceback" not in done.errors
        assert done.errors.strip()
    for contradiction in (("--open",), ("-o", "x.html", "--csv")):
        assert run("report", saved, *contradiction).code == 2
