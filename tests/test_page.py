"""The report's page and figures as files: what they hold, whom they ask, what they refuse."""

import re
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lenet_bench import summarise
from lenet_bench.backends import LADDER
from lenet_bench.cost import api_names, lines_of_code, sources
from lenet_bench.errors import ResultError, Unavailable
from lenet_bench.report import units
from lenet_bench.report.figures import figures
from lenet_bench.report.figures.figure import NARROW, WIDE
from lenet_bench.report.figures.files import standalone, write_figures
from lenet_bench.report.figures.palette import COLOURS
from lenet_bench.report.figures.throughput import apart
from lenet_bench.report.highlight import listing
from lenet_bench.report.markup import element
from lenet_bench.report.measured import gather
from lenet_bench.report.page import page
from lenet_bench.results import ResultFile, RungResult, read_result
from PIL import Image
from sample_results import rung, sample_ladder, sample_result

HOSTILE = "</title><script>alert('1')</script>\x00\ud800&"
SVG = "{http://www.w3.org/2000/svg}"


def measured(*results):
    """The results as they are drawn together."""
    return gather([(f"{n}.json", summarise(result)) for n, result in enumerate(results)])


def drawn(*results):
    """The page of these results."""
    found = measured(*results)
    return page(found, figures(found))


@pytest.fixture(scope="module")
def ladder():
    """All rungs, some on two devices."""
    return measured(sample_ladder())


@pytest.fixture(scope="module")
def ladder_page(ladder):
    """Their page."""
    return page(ladder, figures(ladder))


class Outline(HTMLParser):
    """What a page is made of."""

    def __init__(self, html):
        super().__init__()
        self.ids, self.links, self.levels, self.scripts, self.within = [], [], [], 0, []
        self.loaded, self.policy = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        """Note it."""
        told = dict(attributes)
        self.ids += [told["id"]] if "id" in told else []
        self.links += [told["href"]] if "href" in told else []
        self.levels += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self.scripts += tag == "script"
        if told.get("http-equiv") == "Content-Security-Policy":
            self.policy = told["content"]
        self.loaded += [told["src"]] if "src" in told else []


def test_a_page_of_the_whole_ladder_fits_in_a_mail(ladder_page):
    assert len(ladder_page.encode()) < 1_500_000


def test_a_page_asks_for_nothing_outside_itself(ladder_page):
    outline = Outline(ladder_page)
    assert outline.loaded == []
    assert all(link.startswith("#") for link in outline.links)
    assert outline.policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "@import" not in ladder_page
    assert "url(" not in ladder_page


def test_every_link_of_the_contents_leads_somewhere_and_no_name_is_given_twice(ladder_page):
    outline = Outline(ladder_page)
    assert {link[1:] for link in outline.links} <= set(outline.ids)
    assert len(set(outline.ids)) == len(outline.ids)


def test_headings_leave_no_level_out(ladder_page):
    levels = Outline(ladder_page).levels
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_a_figures_words_begin_with_its_title_once(ladder):
    for figure in figures(ladder):
        assert not figure.says.startswith(figure.title), figure.says


def test_what_unfolds_has_a_name_that_nothing_else_has(ladder_page):
    names = re.findall(r"<summary>(.*?)</summary>", ladder_page)
    assert len(set(names)) == len(names) > 40


def test_no_two_regions_have_one_name_however_many_results_there_are():
    absent = RungResult("mxnet", "unavailable", reason="no module")
    crashed = [RungResult(name, "crashed", traceback="at") for name in ("third", "fourth")]
    result = replace(sample_result(), rungs=(*sample_result().rungs[:2], *crashed, absent))
    names = re.findall(r'role="region" aria-label="(.*?)"', drawn(result, result))
    assert "Traceback of third in 0" in names
    assert len(set(names)) == len(names) > 10


def test_each_figure_in_the_title_of_the_table_is_explained_where_it_is_pointed_at(ladder_page):
    head = re.search(r'id="rungs">.*?</thead>', ladder_page, re.DOTALL)[0]
    titles = re.findall(r'<th scope="col"( title="[^"]+")?>', head)
    assert titles[:2] == ["", ""]  # rung and where
    assert all(titles[2:])


def test_hostile_text_stays_text_everywhere():
    name = f"first{HOSTILE}"
    crashed = RungResult(HOSTILE, "crashed", reason=HOSTILE, traceback=HOSTILE, output=HOSTILE)
    plain = sample_result()
    result = replace(
        plain,
        argv=("x", HOSTILE),
        machine={"processor": {"model": HOSTILE}, "software": {"packages": {HOSTILE: HOSTILE}}},
        rules=replace(plain.rules, variables={HOSTILE: HOSTILE}),
        rungs=(rung(name, 20), rung("second", 40), crashed),
    )
    html = drawn(result)
    html.encode()
    assert Outline(html).scripts == 1
    assert "<script>alert" not in html


def test_a_machine_that_tells_nonsense_of_itself_costs_no_more_than_its_facts():
    for machine in ({}, {"processor": 3, "software": "x"}, {"processor": {"isa": 1, "caches": 2}}):
        assert "unknown processor" in drawn(replace(sample_result(), machine=machine))


def test_text_that_is_no_markup_is_escaped_in_content_and_in_attributes():
    assert element("a", "<b>&", title='"<') == '<a title="&quot;&lt;">&lt;b&gt;&amp;</a>'


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_each_figure_is_sound_xml_within_its_width(ladder, width):
    for figure in figures(ladder):
        root = ElementTree.fromstring(figure.draw(width))
        assert root.tag == f"{SVG}svg"
        assert root.get("viewBox").split()[2] == f"{width:.0f}"


def test_each_figure_says_in_words_and_in_a_table_what_it_shows(ladder):
    for figure in figures(ladder):
        assert figure.says.endswith(".")
        assert figure.rows
        assert {len(row) for row in figure.rows} == {len(figure.columns)}


def test_a_full_result_has_every_figure_and_a_bare_one_those_it_has_figures_for(ladder):
    everything = [figure.key for figure in figures(ladder)]
    assert everything == [
        *("of-2018", "lines-of-code", "processing-time", "tradeoff", "ratio", "distribution"),
        *("gpu-call", "cold-start", "throughput", "memory", "device-memory", "disk"),
    ]
    bare = [figure.key for figure in figures(measured(sample_result()))]
    assert bare == ["processing-time", "ratio", "distribution", "cold-start"]


def without_gpu(result):
    """The same, as a machine without a GPU measures it."""
    return replace(result, rungs=tuple(rung for rung in result.rungs if rung.device == "cpu"))


def test_the_figures_of_2018_come_first_and_say_where_no_gpu_was_measured(ladder):
    here = measured(without_gpu(sample_ladder()))
    html = page(here, figures(here))
    assert html.index('id="of-2018"') < html.index('id="lines-of-code"')
    figure = figures(here)[0]
    told = {(row[0], row[1]): row[4] for row in figure.rows}
    assert told["cudnn", "GPU"] == told["keras", "GPU"] == "not measured"
    assert "not measured" not in (told["onednn", "CPU"], told["keras", "CPU"])
    assert "Nothing was measured on a GPU here." in figure.caption
    assert "Nothing was measured" not in figures(ladder)[0].caption


def test_a_bar_of_2018_is_the_fastest_way_to_call_a_layer(ladder):
    rows = {(row[0], row[1]): row for row in figures(ladder)[0].rows}
    ways = [e for e in ladder.entries if e.exhibit == "keras" and e.series.device == "cpu"]
    fastest = min(ways, key=lambda entry: entry.summary.p50_us)
    assert rows["keras", "CPU"][4] == units.time(fastest.summary.p50_us)


def test_of_many_curves_each_has_a_row_and_of_few_each_is_a_curve(ladder):
    def drawn_of(found):
        return next(f for f in figures(found) if f.key == "throughput").draw(WIDE)

    few = replace(sample_ladder(), rungs=sample_ladder().rungs[:3])
    assert 'class="line series-0"' in drawn_of(measured(few))
    assert 'class="line series-0"' not in drawn_of(ladder)


def test_outliers_do_not_squash_the_axis_of_the_distributions():
    def place_of_the_median(slowest_us):
        first = rung("first", 20)
        turn = replace(first.turns[0], samples_ns=(*first.turns[0].samples_ns[:-1], slowest_us))
        turns = (turn, *(replace(turn, samples_ns=turn.samples_ns[:-1] * 3) for _ in range(11)))
        slow = replace(first, turns=tuple(replace(t, round=n) for n, t in enumerate(turns)))
        found = measured(replace(sample_result(), rungs=(slow, rung("second", 40))))
        figure = next(f for f in figures(found) if f.key == "distribution")
        strokes = re.findall(r'<line x1="([\d.]+)"[^>]*class="line series-0"', figure.draw(WIDE))
        return [float(x) for x in strokes]

    assert place_of_the_median(20_000_000_000) == place_of_the_median(20_000)


def test_labels_that_would_collide_are_moved_apart_within_the_ends():
    assert apart([10, 11, 12], 5, 0, 100) == [10, 15, 20]
    assert apart([96, 97, 98], 5, 0, 100) == [90, 95, 100]


def test_a_rung_on_two_devices_is_one_row_of_two_entries(ladder):
    rows = {row[0].name: row for row in ladder.rows()}
    assert [entry.series.device for entry in rows["keras"]] == ["cpu", "gpu"]
    assert not any("@" in name for name in rows)


def test_two_results_of_one_machine_are_told_apart_by_their_files():
    assert [run.label for run in measured(sample_result(), sample_result()).runs] == ["0", "1"]


def test_a_result_in_which_nothing_was_timed_is_refused():
    nothing = replace(sample_result(), rungs=(RungResult("only", "wrong", reason="no"),))
    with pytest.raises(ResultError, match=r"no rung was timed.*lenet-bench report 0\.json"):
        measured(nothing)


def test_a_result_given_twice_is_refused():
    with pytest.raises(ResultError, match="given twice"):
        gather([("a.json", summarise(sample_result()))] * 2)


def test_more_machines_than_colours_are_refused():
    with pytest.raises(ResultError, match=r"at most 8 .* got 9"):
        measured(*[sample_result()] * 9)


@pytest.mark.parametrize("name", [rung.name for rung in LADDER if not rung.gone])
def test_a_listing_is_the_source_and_counts_its_lines(name):
    files = sources(next(rung for rung in LADDER if rung.name == name))
    html = listing(files, api_names(files))
    codes = re.findall(r"<code>(.*?)</code>", html, re.DOTALL)
    texts = [ElementTree.fromstring(f"<code>{code}</code>") for code in codes]
    assert ["".join(text.itertext()) for text in texts] == [source.text for source in files]
    assert int(re.findall(r"(\d+)\s*</pre>", html)[-1]) == lines_of_code(name)


def test_a_file_that_two_exhibits_share_is_shown_once(ladder_page):
    assert ladder_page.count('aria-label="Source of export/onnx.py"') == 1
    assert ladder_page.count(">export/onnx.py</h3>") > 2


def test_names_of_the_api_are_marked_in_a_listing():
    files = sources(next(rung for rung in LADDER if rung.name == "torch"))
    assert "<b>Conv2d</b>" in listing(files, api_names(files))


def test_an_option_in_a_warning_and_a_time_and_its_unit_are_not_torn_apart():
    warned = replace(
        summarise(sample_result()), warnings=("it took 9.0 s: a longer --budget, or --restarts 5",)
    )
    found = gather([("one.json", warned)])
    html = page(found, figures(found))
    assert (
        "<li>It took 9.0\u00a0s: a longer <code>--budget</code>, or <code>--restarts 5</code>.</li>"
        in html
    )


def test_what_of_the_slowest_call_a_batch_saves_is_said_where_it_is_most_of_it(ladder_page):
    assert "paid for the call" not in drawn(sample_result())
    told = re.search(r"With 512 images in a call (.*?)</li>", ladder_page)[1]
    assert "takes 10.6 ms an image: 79.9 % of its 52.6 ms is paid for the call" in told
    assert "<code>lenet-bench why keras:call</code>" in told


LADDERS = sorted((Path(__file__).parents[1] / "results/cpu").glob("*.json"))


@pytest.mark.parametrize("path", LADDERS, ids=[path.stem for path in LADDERS])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nine_of_ten_rungs_have_a_name_among_the_points_of_the_measured_ladder(width, path):
    found = gather([("run.json", summarise(read_result(path)))])
    html = next(f for f in figures(found) if f.key == "tradeoff").draw(width)
    names = {re.split(r":| \+", text)[0] for text in re.findall(r">([^<>]+)</text>", html)}
    exhibits = {entry.exhibit for entry in found.entries}
    assert len(exhibits & names) >= 0.9 * len(exhibits) > 20


def test_notes_of_the_figures_of_2018_stand_beside_their_axis_on_a_phone_too():
    ways = (rung("onednn", 20), rung("keras", 37_500), rung("keras:predict_on_batch", 627))
    figure = figures(measured(replace(sample_result(), rungs=ways)))[0]
    html = figure.draw(NARROW)
    axis = float(re.findall(r'<line x1="([\d.]+)"[^>]*class="zero"', html)[-1])
    notes = re.findall(r'<text x="([\d.]+)"[^>]*class="soft small">([^<]+)<', html)
    assert [text for _, text in notes] == ["predict_on_batch", "plain keras 37.5 ms"]
    assert all(float(x) > axis for x, _ in notes)


def contrast(one, other):
    """As WCAG defines it."""

    def luminance(colour):
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_and_marks_be_seen_in_both_themes(dark):
    colours = {name: pair[dark] for name, pair in COLOURS.items()}
    for name in ("ink", "soft", "accent", "alarm"):
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    for name in ("soft", "series-1", "series-2", "series-5"):  # text in listings
        assert contrast(colours[name], colours["raised"]) >= 4.5, name
    for name in COLOURS:
        if name.startswith(("series", "faster", "slower", "same")):
            assert contrast(colours[name], colours["paper"]) >= 3, name


def test_figures_are_written_as_svg_and_as_png_that_show_something(tmp_path):
    figure = next(f for f in figures(measured(sample_result())) if f.key == "ratio")
    written = write_figures(tmp_path / "slides", [figure])
    assert [path.name for path in written] == ["ratio.svg", "ratio.png"]
    root = ElementTree.parse(written[0]).getroot()
    assert root.find(f"{SVG}title").text == figure.title
    picture = Image.open(BytesIO(written[1].read_bytes()))
    assert picture.width > 3 * WIDE
    assert len(picture.convert("RGB").getcolors(1 << 20)) > 10


def test_a_figures_file_needs_no_style_from_elsewhere():
    figure = figures(measured(sample_result()))[0]
    assert "var(--" not in standalone(figure)


def test_without_resvg_there_are_svgs_and_a_word_on_what_brings_the_pngs(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "resvg_py", None)
    with pytest.raises(Unavailable, match=r"SVG only.*pip install 'lenet-bench\[report\]'"):
        write_figures(tmp_path, figures(measured(sample_result())))
    assert len(list(tmp_path.glob("*.svg"))) == 4


def test_where_there_is_no_font_there_are_no_pngs_without_words(tmp_path, monkeypatch):
    import resvg_py

    bare = partial(resvg_py.svg_to_bytes, skip_system_fonts=True)
    monkeypatch.setattr(resvg_py, "svg_to_bytes", bare)
    with pytest.raises(Unavailable, match=r"no font was found.*apt install"):
        write_figures(tmp_path, figures(measured(sample_result())))


@pytest.fixture
def saved(tmp_path) -> Path:
    """A result file."""
    path = tmp_path / "run.json"
    ResultFile(path).write(sample_result())
    return path


def test_report_writes_the_page_and_the_figures(run, saved):
    target, folder = saved.with_name("report.html"), saved.with_name("slides")
    done = run("report", saved, "-o", target, "--figures", folder)
    assert (done.code, done.output) == (0, "")
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert len(list(folder.iterdir())) == 8


def test_report_answers_a_page_that_cannot_be_written_in_one_sentence(run, saved):
    done = run("report", saved, "-o", saved.parent)
    assert done.code == 1
    assert done.errors.count("\n") == 1
    assert "expected a file to write, found a directory" in done.errors
    done = run("report", saved, "--figures", saved / "slides")
    assert done.code == 1
    assert done.errors.count("\n") == 1


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\x89PNG", b'{"schema": 1}'])
def test_report_answers_a_file_that_is_no_result_in_one_sentence(run, tmp_path, content):
    path = tmp_path / "other.json"
    if content is not None:
        path.write_bytes(content)
    done = run("report", path, "-o", tmp_path / "report.html")
    assert done.code == 1
    assert done.errors.count("\n") == 1
    assert "Traceback" not in done.errors
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("arguments", [("--open",), ("-o", "x.html", "--csv")])
def test_report_refuses_options_that_contradict_each_other(run, saved, arguments):
    assert run("report", saved, *arguments).code == 2
