"""The report's page in a real Chromium: on a desk, a phone, in the dark, on paper, by keyboard."""

import pytest
from browsers import DESK, PHONE, colours, end_of, enlarge, violations
from lenet_bench.registry import precision
from lenet_bench.results.model import Callers, Other
from lenet_bench.show.page import gather, page
from lenet_bench.show.why import consists_of, difference
from sample_results import blocks, failed, result, sample_apart, sample_of_all

HOSTILE = "<img src=x onerror='window.hacked = 1'><script>window.hacked = 1</script>"
TIMES = {
    "fused": 20,
    "fused:int16": 13,
    "onednn": 47,
    "numpy": 94,
    "jax": 120,
    "torch": 210,
    "tensorflow": 345,
    "tensorflow:xla": 146,
    "keras:predict_on_batch": 314,
    "keras:int8": 280,
    "keras": 39_600,
}
#: What the marks of each figure say, by figure.
MARKS = """() => Object.fromEntries([...document.querySelectorAll('#main [data-figure]')].map(box =>
[box.dataset.figure, box.hidden ? [] : [...box.querySelectorAll("path[role='graphics-symbol']")]
.map(mark => mark.getAttribute('aria-label')).filter(text => text)]))"""


def small():
    """A result of each layer of 2018, with lines of code, batches and a hostile failure."""
    facts = {"peak_rss_mib": 40.0, "installed_mib": 10.0, "runs": {"library": HOSTILE}}
    rows = [blocks(name, us, lines_of_code=40 + us % 90, **facts) for name, us in TIMES.items()]
    return result(*rows, failed(HOSTILE, "crashed", HOSTILE, traceback=HOSTILE))


def together():
    """Two backends that were called by several at once."""
    rows = [
        blocks(name, us, callers=tuple(Callers(n, "each", n * 1e6 / us, 40.0) for n in (1, 2)))
        for name, us in (("fused", 20), ("keras", 400))
    ]
    return result(*rows, callers=(1, 2))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A small result, all backends, a hostile name among the timed ones, and a run of `why`."""
    folder = tmp_path_factory.mktemp("pages")
    drawn = {
        "small": [small()],
        "all": [sample_of_all()],
        "hostile": [result(blocks(HOSTILE, 20), blocks("second", 40))],
        "apart": [small(), sample_apart()],
        "together": [together()],
        "model": [result(blocks("mnn", 20), blocks("openvino", 40), other=Other("policy.onnx"))],
    }
    for name, results in drawn.items():
        runs = gather([(f"{number}.jsonl", one) for number, one in enumerate(results)])
        (folder / f"{name}.html").write_text(page(runs), encoding="utf-8")
    return folder


@pytest.fixture
def see(visit, pages):
    """`see("small")` opens that page, drawn."""

    def open_page(name, *, viewport=DESK, drawn=True, **options):
        tab = visit((pages / f"{name}.html").as_uri(), viewport=viewport, **options)
        if drawn:
            tab.wait_for_selector("html[data-drawn]")
        return tab

    return open_page


def test_the_filter_moves_the_figure_of_several_callers_too(see):
    tab = see("together")
    assert len(tab.evaluate(MARKS)["callers"]) == 4
    tab.locator("#filter").fill("keras")
    settled(tab)
    said = tab.evaluate(MARKS)["callers"]
    assert [text.split(",")[0] for text in said] == ["keras", "keras"]
    assert tab.locator("#shown").inner_text() == "1 of 2"
    tab.locator("#filter").fill("nobody")
    settled(tab)
    assert tab.evaluate(MARKS)["callers"] == []


def test_the_page_of_another_network_is_drawn_without_code(see):
    assert see("model").locator("#source, #panes").count() == 0


def settled(tab):
    tab.evaluate("() => waiting")


BARS = ".taken path[role='graphics-symbol']"
(APART,) = gather([("why.jsonl", sample_apart())])
CALLS = {one.name: one for one in APART.breakdowns}
SHOWN = ["onednn", "torch", "keras:predict_on_batch", "keras"]

#: The texts of figures that leave them.
CUT = """() => [...document.querySelectorAll('.figure svg')].flatMap(svg => {
    const room = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter(text => text.textContent.trim() &&
        getComputedStyle(text).opacity !== '0').filter(text => {
        const box = text.getBoundingClientRect();
        return box.left < room.left - 2 || box.right > room.right + 2;
    }).map(text => text.textContent) })"""


#: The pairs of an axis' labels that lie on each other.
ON_ANOTHER = """() => [...document.querySelectorAll('.figure .role-axis-label')].flatMap(axis => {
    const labels = [...axis.querySelectorAll('text')].filter(text => text.textContent.trim() &&
        getComputedStyle(text).opacity !== '0');
    const boxes = labels.map(text => text.getBoundingClientRect());
    return labels.slice(1).map((text, n) => [labels[n].textContent, text.textContent]).filter(
        (_, n) => boxes[n].right > boxes[n + 1].left && boxes[n].bottom > boxes[n + 1].top &&
            boxes[n].left < boxes[n + 1].right && boxes[n].top < boxes[n + 1].bottom) })"""


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_times_on_a_short_axis_do_not_lie_on_each_other(see, viewport):
    assert see("model", viewport=viewport).evaluate(ON_ANOTHER) == []


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("name", ["all", "apart"])
def test_every_figure_is_drawn_in_its_room(see, name, viewport):
    tab = see(name, viewport=viewport)
    marks = tab.evaluate(MARKS)
    assert marks
    assert all(marks.values())
    assert tab.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert tab.evaluate(CUT) == []


def test_the_message_is_above_the_fold(see):
    tab = see("small")
    for part in ("h1", "#hero svg"):
        assert end_of(tab.locator(part)) <= DESK["height"], part


def test_what_a_result_says_never_runs(see):
    for name, place in (("hostile", "#main"), ("small", "#failures")):
        tab = see(name)
        assert HOSTILE in tab.locator(place).inner_text()
        assert tab.evaluate("window.hacked") is None


def test_the_fastest_comes_first(see):
    marks = see("small").locator("#hero path[role='graphics-symbol']")
    places = marks.evaluate_all("marks => marks.map(mark => mark.getBoundingClientRect().x)")
    assert len(places) == 5
    assert places == sorted(places)


def test_a_mark_says_its_numbers(see):
    tab = see("small")
    tab.locator("#code path[role='graphics-symbol']").first.hover()
    assert "lines" in tab.locator("#tip").inner_text()


def test_the_filter_moves_every_figure_with_the_table(see):
    tab = see("small")
    before = tab.evaluate(MARKS)
    tab.get_by_label("Keras", exact=True).uncheck()
    settled(tab)
    after = tab.evaluate(MARKS)
    for key, said in before.items():
        assert any(text.startswith("keras") for text in said), key
        assert after[key], key
        assert not any(text.startswith("keras") for text in after[key]), key
    for table in ("numbers", "reduced"):
        rows = tab.locator(f"#{table} tbody tr:visible")
        assert rows.count()
        assert not any(name.startswith("keras") for name in rows.locator("th").all_inner_texts())


def test_variants_are_folded_until_a_box_asks_for_them(see):
    tab = see("small")
    backends = {name.partition(":")[0] for name in TIMES}
    assert len(tab.evaluate(MARKS)["code"]) == len(backends)
    tab.get_by_label("every variant in the figures").check()
    settled(tab)
    full = [name for name in TIMES if precision(name) == "float32"]
    assert len(backends) < len(full) < len(TIMES)
    assert len(tab.evaluate(MARKS)["code"]) == len(full)


def test_words_find_a_variant(see):
    tab = see("small")
    tab.locator("#filter").fill("keras BATCH")
    settled(tab)
    assert {text.split(": ")[0] for said in tab.evaluate(MARKS).values() for text in said} == {
        "keras:predict_on_batch"
    }
    assert tab.locator("#numbers tbody tr:visible").count() == 1


def test_a_click_on_a_title_sorts_the_table(see):
    tab = see("all")
    titles = tab.locator("#numbers thead th").all_inner_texts()
    column = next(n for n, title in enumerate(titles) if title == "GPU memory")
    for direction in (1, -1):
        tab.locator("#numbers thead button").nth(column).click()
        cells = f"#numbers tbody td:nth-child({column + 1})"
        values = tab.locator(cells).evaluate_all("cells => cells.map(c => c.dataset.value)")
        known = [float(value) for value in values if value]
        assert known == sorted(known, reverse=direction < 0)
        assert values.index("") == len(known)


def test_the_keyboard_reaches_content_marks_table(see):
    tab = see("small")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.locator("#code .figure").focus()
    said = set()
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
        said.add(tab.locator("#tip").inner_text())
    assert len(said) == 3
    tab.keyboard.press("Escape")
    assert not tab.locator("#tip").is_visible()
    tab.locator("#numbers thead button").nth(1).focus()
    tab.keyboard.press("Enter")
    assert tab.locator("#numbers thead th").nth(1).get_attribute("aria-sort") == "ascending"


def test_the_keyboard_chooses_two_bars(see):
    tab = see("apart")
    tab.locator(".taken .figure").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter", "ArrowDown", "ArrowRight", "Enter"):
        tab.keyboard.press(key)
        settled(tab)
    assert explained(tab) == difference(CALLS["torch"], CALLS["keras:predict_on_batch"])


def test_two_implementations_stand_side_by_side(see):
    tab = see("small")
    tab.locator("#left").select_option("numpy")
    tab.locator("#right").select_option("keras")
    left, right = (tab.locator(".pane").nth(n) for n in (0, 1))
    assert "import numpy" in left.locator("pre").nth(1).inner_text()
    assert "39.6 ms" in right.locator(".numbers").inner_text()
    one, other = (pane.bounding_box() for pane in (left, right))
    assert one["y"] == other["y"]
    assert one["x"] + one["width"] <= other["x"]


def test_the_theme_follows_the_system_until_somebody_chooses(see):
    background = "getComputedStyle(document.body).backgroundColor"
    colour = "getComputedStyle(document.querySelector('#hero text')).fill"
    tab = see("small", color_scheme="dark")
    dark = tab.evaluate(background), tab.evaluate(colour)
    tab.locator("#theme").click()
    light = tab.evaluate(background), tab.evaluate(colour)
    assert light[0] == "rgb(255, 255, 255)"
    assert all(one != other for one, other in zip(dark, light, strict=True))
    tab.reload()
    tab.wait_for_selector("html[data-drawn]")
    assert tab.evaluate(background) == light[0]


def test_families_keep_their_colours_where_the_readers_replace_others(see):
    own, forced = (
        colours(see("small", forced_colors=forced), ".dot") for forced in ("none", "active")
    )
    assert own == forced
    assert len(set(own)) >= 4


def test_the_page_fits_a_phone_in_type_of_the_readers_own_size(see):
    tab = see("apart", viewport=PHONE)
    enlarge(tab)
    assert tab.evaluate("getComputedStyle(document.documentElement).fontSize") == "32px"
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_paper_is_white_without_controls(see):
    tab = see("small", color_scheme="dark")
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for control in ("nav", "#theme", "#controls"):
        assert not tab.locator(control).is_visible()
    assert tab.locator("#hero svg").is_visible()


def test_without_scripts_the_numbers_are_there(see):
    tab = see("small", drawn=False, java_script_enabled=False)
    for part in ("h1", "#numbers tbody tr", "noscript"):
        assert tab.locator(part).first.is_visible()
    assert not tab.locator("#controls").is_visible()


def explained(tab):
    settled(tab)
    return tab.locator(".difference").inner_text()


def bars(tab):
    """By backend, in order, where its bar begins and where it ends."""
    drawn = tab.locator(BARS).evaluate_all("""marks => marks.map(mark => {
        const {x, width} = mark.getBoundingClientRect();
        return [mark.getAttribute('aria-label').split(': ')[0], x, x + width] })""")
    found: dict[str, list[float]] = {}
    for name, *ends in drawn:
        found.setdefault(name, []).extend(ends)
    return {name: (min(ends), max(ends)) for name, ends in found.items()}


def test_a_bar_that_is_cut_says_so_at_the_end_of_the_axis(see):
    tab = see("apart")
    found = bars(tab)
    assert list(found) == SHOWN
    assert found["keras"][1] == pytest.approx(found["keras:predict_on_batch"][1], abs=1)
    cut = tab.locator(".taken svg text", has_text="times this axis")
    assert cut.count() == 1


def test_two_bars_that_are_clicked_are_explained_as_in_the_terminal(see):
    tab = see("apart")
    assert explained(tab) == difference(CALLS["onednn"], CALLS["keras"])
    for name in ("torch", "keras:predict_on_batch"):
        tab.locator(f"{BARS}[aria-label^='{name}: ']").nth(2).click()
    assert explained(tab) == difference(CALLS["torch"], CALLS["keras:predict_on_batch"])


def test_a_call_that_is_chosen_is_explained(see):
    tab = see("apart")
    tab.get_by_label("First call").select_option("tensorflow")
    assert explained(tab) == difference(CALLS["tensorflow"], CALLS["keras"])
    assert "tensorflow" in bars(tab)
    tab.get_by_label("Second call").select_option("tensorflow")
    assert explained(tab) == consists_of(CALLS["tensorflow"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(see, scheme):
    tab = see("apart", viewport=PHONE, color_scheme=scheme)
    tab.locator(".taken details").click()
    assert violations(tab) == []
