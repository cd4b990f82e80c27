"""The report's page as a browser shows it: on a desk, on a phone, on paper."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, find_browser
from lenet_bench import summarise
from lenet_bench.report.figures import figures
from lenet_bench.report.measured import gather
from lenet_bench.report.page import page
from sample_results import sample_ladder, sample_result

HOSTILE = "<script>window.hacked = true</script>"

#: Where each text of each drawing is, in the drawing's own units.
TEXTS = """[...document.querySelectorAll('figure svg')].filter(s => s.getClientRects().length)
.map(svg => ({
  name: svg.getAttribute('aria-label'), view: svg.viewBox.baseVal.width,
  tall: svg.viewBox.baseVal.height,
  texts: [...svg.querySelectorAll('text')].map(t => {
    const b = t.getBBox(); return [t.textContent, b.x, b.y, b.width, b.height]}),
  marks: svg.querySelectorAll('.mark').length,
  drawn: [...svg.querySelectorAll('.mark')].every(
    m => m.getBBox().width > 0 || m.getBBox().height > 0)
}))"""

ROWS = "[...document.querySelectorAll('#rungs tbody tr')]"
COLUMN = "[...document.querySelectorAll('#rungs thead th')].findIndex(t => t.textContent == '{}')"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The one that is installed."""
    executable = find_browser()
    if executable is None:
        pytest.skip("no browser: the page was not looked at; on Debian: apt install chromium")
    found = Browser(executable, tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of one small result, of a whole ladder on CPU and GPU, and of both."""
    folder = tmp_path_factory.mktemp("pages")
    small, ladder = summarise(sample_result(hostile=HOSTILE)), summarise(sample_ladder())
    drawn = {
        "small": [("small.json", small)],
        "ladder": [("ladder.json", ladder)],
        "both": [("small.json", small), ("ladder.json", ladder)],
    }
    for name, results in drawn.items():
        measured = gather(results)
        (folder / name).with_suffix(".html").write_text(
            page(measured, figures(measured)), encoding="utf-8"
        )
    return {name: (folder / name).with_suffix(".html") for name in drawn}


@dataclass(frozen=True)
class Seen:
    """What a page looks like."""

    wide: int  # of the screen
    scrolled: int  # how wide the page would like to be
    figures: int
    drawings: list[dict[str, Any]]


@pytest.fixture(scope="module", params=["small", "ladder", "both"])
def any_page(request: pytest.FixtureRequest, pages: dict[str, Path]) -> Path:
    """Each of them."""
    return pages[request.param]


@pytest.fixture(scope="module", params=[1280, 360])
def seen(request: pytest.FixtureRequest, browser: Browser, any_page: Path) -> Seen:
    """Each of them on a desk and on a phone."""
    browser.open(any_page, width=request.param)
    return Seen(
        request.param,
        browser.ask("document.documentElement.scrollWidth"),
        browser.ask("document.querySelectorAll('figure').length"),
        browser.ask(TEXTS),
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_complains_of_nothing_and_fetches_nothing(browser, any_page, scheme):
    browser.open(any_page, scheme=scheme)
    assert browser.ask("document.readyState") == "complete"
    assert browser.complaints == []
    assert browser.requests == [any_page.resolve().as_uri()]


def test_nothing_is_wider_than_the_screen(seen):
    assert seen.scrolled <= seen.wide


def test_every_figure_is_drawn_once_and_shows_its_marks(seen):
    assert len(seen.drawings) == seen.figures >= 4
    assert all(drawing["marks"] and drawing["drawn"] for drawing in seen.drawings)


def test_no_text_of_a_figure_leaves_it(seen):
    for drawing in seen.drawings:
        for text, x, y, wide, tall in drawing["texts"]:
            beyond = (-x, -y, x + wide - drawing["view"], y + tall - drawing["tall"])
            assert max(beyond) <= 1, (drawing["name"], text)


def test_no_text_of_a_figure_hides_another(seen):
    for drawing in seen.drawings:
        boxes = drawing["texts"]
        for n, (text, x, y, wide, tall) in enumerate(boxes):
            for other, left, top, breadth, height in boxes[n + 1 :]:
                beside = x + wide <= left + 1 or left + breadth <= x + 1
                apart = y + tall <= top + 3 or top + height <= y + 3
                assert beside or apart, (drawing["name"], text, other)


def test_each_line_of_a_listing_has_its_own_in_the_gutter(browser, pages):
    browser.open(pages["ladder"])
    lines = browser.ask(
        "[...document.querySelectorAll('.listing')].map(listing => ["
        "listing.querySelector('.gutter').textContent.split('\\n').length,"
        "listing.querySelector('code').textContent.replace(/\\n$/, '').split('\\n').length])"
    )
    assert len(lines) > 20
    assert all(gutter == code for gutter, code in lines)


def test_what_a_result_says_is_text_and_never_runs(browser, pages):
    browser.open(pages["small"])
    assert browser.ask("window.hacked") is None
    assert HOSTILE in browser.ask("document.querySelector('#failures').textContent")


def test_a_click_on_a_title_sorts_the_table_and_another_turns_it(browser, pages):
    browser.open(pages["ladder"])
    column = browser.ask(COLUMN.format("memory"))
    order = f"{ROWS}.map(row => Number(row.cells[{column}].dataset.value))"
    click = f"document.querySelectorAll('#rungs thead button')[{column}].click()"
    browser.ask(click)
    rising = browser.ask(order)
    browser.ask(click)
    assert rising == sorted(rising) != sorted(rising, reverse=True)
    assert browser.ask(order) == sorted(rising, reverse=True)
    arrow = "getComputedStyle(document.querySelector('#rungs thead button'), '::after').content"
    assert browser.ask(arrow) == '"\u2195" / ""'  # seen, and not read out
    state = f"document.querySelectorAll('#rungs thead th')[{column}].getAttribute('aria-sort')"
    assert browser.ask(state) == "descending"


def test_unknown_figures_come_last_however_the_table_is_sorted(browser, pages):
    browser.open(pages["both"])
    column = browser.ask(COLUMN.format("disk"))
    for _ in range(2):
        browser.ask(f"document.querySelectorAll('#rungs thead button')[{column}].click()")
        assert browser.ask(f"{ROWS}.at(-1).cells[{column}].textContent") == "-"


def test_the_filter_leaves_the_rungs_that_it_names(browser, pages):
    browser.open(pages["ladder"])
    browser.ask(
        "{const f = document.querySelector('#filter'); f.value = 'keras predict';"
        " f.dispatchEvent(new Event('input'))}"
    )
    left = browser.ask(f"{ROWS}.filter(row => !row.hidden).map(row => row.cells[0].textContent)")
    assert left
    assert all("keras" in name and "predict" in name for name in left)
    assert browser.ask("document.querySelector('#shown').textContent").startswith(f"{len(left)} of")


def test_the_theme_follows_the_system_until_somebody_chooses(browser, pages):
    background = "getComputedStyle(document.body).backgroundColor"
    browser.open(pages["small"], scheme="dark")
    dark = browser.ask(background)
    browser.ask("document.querySelector('#theme').click()")
    light = browser.ask(background)
    assert browser.ask("document.querySelector('#theme').textContent") == "Theme: light"
    assert dark != light == "rgb(255, 255, 255)"
    browser.open(pages["small"], scheme="dark")
    assert browser.ask(background) == light
    browser.ask("localStorage.clear()")


def test_the_keyboard_reaches_the_content_the_theme_and_the_titles_in_this_order(browser, pages):
    browser.open(pages["small"])
    seen = []
    for _ in range(60):
        browser.press("Tab")
        seen.append(
            browser.ask(
                "document.activeElement.id || document.activeElement.className"
                " || document.activeElement.textContent.trim()"
            )
        )
    assert seen[:2] == ["skip", "theme"]
    assert seen.index("theme") < seen.index("In short") < seen.index("filter") < seen.index("p50")


def test_a_title_is_pressed_with_the_keyboard(browser, pages):
    browser.open(pages["small"])
    browser.ask("document.querySelector('#rungs thead button').focus()")
    browser.press("Enter")
    assert (
        browser.ask("document.querySelector('#rungs th').getAttribute('aria-sort')") == "ascending"
    )


def test_pointing_at_a_mark_tells_its_figures(browser, pages):
    browser.open(pages["small"])
    browser.ask(
        "document.querySelector('#processing-time .wide .mark circle')"
        ".dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    assert browser.ask("document.querySelector('#tip').textContent").startswith("first: median 20")


def test_the_arrows_tell_every_mark_of_a_figure(browser, pages):
    browser.open(pages["ladder"])
    browser.ask("document.querySelector('#tradeoff .wide svg').focus()")
    marks = browser.ask("document.querySelectorAll('#tradeoff .wide .mark').length")
    told = set()
    for _ in range(marks):
        browser.press("ArrowRight")
        told.add(browser.ask("document.querySelector('#tip').textContent.split(':')[0]"))
    names = "[...document.querySelectorAll('#tradeoff tbody th')].map(t => t.textContent)"
    assert {name.partition(":")[0] for name in browser.ask(names)} <= {
        one.partition(" ")[0] for one in told
    }
    assert browser.ask("document.querySelector('.mark.here') !== null")
    browser.press("Escape")
    assert browser.ask("document.querySelector('#tip').hidden")


def test_a_finger_near_a_mark_of_the_phones_drawing_is_told_of_it(browser, pages):
    browser.open(pages["ladder"], width=360)
    told = browser.ask(
        "(() => { const svg = document.querySelector('#tradeoff .narrow svg');"
        "svg.scrollIntoView(); const box = svg.querySelector('.mark').getBoundingClientRect();"
        "svg.dispatchEvent(new MouseEvent('click', {bubbles: true,"
        " clientX: box.x - 3, clientY: box.y - 3}));"
        "return document.querySelector('#tip').textContent })()"
    )
    assert " lines, " in told


def test_a_finger_in_a_crowd_is_told_of_each_mark_that_it_may_mean(browser, pages):
    browser.open(pages["ladder"], width=360)
    told = browser.ask(
        "(() => { const crowd = document.querySelector('#tradeoff .narrow svg');"
        "crowd.querySelectorAll('.mark circle').forEach((dot, n) => {"
        " dot.setAttribute('cx', n < 3 ? 200 + 4 * n : 0); dot.setAttribute('cy', 200) });"
        "crowd.scrollIntoView();"
        "const box = crowd.querySelector('.mark').getBoundingClientRect();"
        "crowd.dispatchEvent(new MouseEvent('click', {clientX: box.x + 5, clientY: box.y + 5}));"
        "return document.querySelector('#tip').textContent.split('\\n') })()"
    )
    assert len(told) == len(set(told)) == 3


def test_the_arrows_tell_of_a_mark_to_which_the_page_must_scroll(browser, pages):
    browser.open(pages["ladder"])
    browser.ask("document.querySelector('#tradeoff .wide svg').focus({preventScroll: true})")
    browser.press("ArrowRight")
    scrolled = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    browser.ask(scrolled)
    assert browser.ask("scrollY") > 0
    assert not browser.ask("document.querySelector('#tip').hidden")


def test_a_pointer_under_which_the_page_moves_takes_no_tip_from_the_arrows(browser, pages):
    def point(kind, y):
        at = f"bubbles: true, clientX: 5, clientY: {y}"
        browser.ask(f"document.body.dispatchEvent(new PointerEvent('{kind}', {{{at}}}))")

    browser.open(pages["small"])
    point("pointermove", 5)
    browser.ask("document.querySelector('#processing-time .wide svg').focus()")
    browser.press("ArrowRight")
    point("pointerover", 5)
    assert not browser.ask("document.querySelector('#tip').hidden")
    point("pointerover", 9)
    assert browser.ask("document.querySelector('#tip').hidden")


def test_a_figure_that_the_tab_key_reaches_says_what_to_press(browser, pages):
    browser.open(pages["small"])
    browser.ask("document.querySelector('#processing-time summary').focus()")
    browser.press("Tab")  # to the next figure
    assert browser.ask("document.activeElement.tagName") == "svg"
    assert browser.ask("document.querySelector('#tip').textContent") == "Arrow keys tell each mark"


def test_a_phones_first_screen_has_the_answer_and_its_table_the_ratio(browser, pages):
    browser.open(pages["ladder"], width=360)
    answer = "document.querySelector('#findings li').getBoundingClientRect()"
    assert browser.ask(f"{answer}.bottom") < 800
    browser.open(pages["small"], width=360)
    ratio = "[...document.querySelectorAll('#rungs th')].find(t => t.textContent == 'ratio')"
    assert browser.ask(f"{ratio}.getBoundingClientRect().right") < 360


def test_the_links_of_the_contents_are_large_enough_to_hit(browser, any_page):
    for width in (1280, 360):
        browser.open(any_page, width=width)
        heights = browser.ask(
            "[...document.querySelectorAll('nav a')].map(a => a.getBoundingClientRect().height)"
        )
        assert min(height for height in heights if height) >= 24  # WCAG's least


def test_a_line_does_not_run_through_the_text_of_a_figure(browser, pages):
    browser.open(pages["ladder"], width=360)
    order = "[...document.querySelectorAll('figure text')].map(t => getComputedStyle(t).paintOrder)"
    assert set(browser.ask(order)) == {"stroke"}


def test_paper_has_the_code_that_was_unfolded(browser, pages):
    browser.open(pages["ladder"], medium="print", width=720)
    printed = (
        "[...document.querySelectorAll('.exhibit {}')].filter(e => e.checkVisibility()).length"
    )
    exhibits = browser.ask("document.querySelectorAll('.exhibit').length")
    assert browser.ask(printed.format("summary")) == exhibits
    assert browser.ask(printed.format(".listing")) == 0
    browser.ask("document.querySelector('#unfold').click()")
    assert browser.ask(printed.format(".listing")) >= exhibits


def test_without_scripts_all_is_there_but_the_controls(browser, pages):
    browser.open(pages["small"], scripts=False)
    visible = "document.querySelector('{}').getClientRects().length"
    assert browser.ask(visible.format("#rungs tbody tr"))
    assert browser.ask(visible.format("figure .wide svg"))
    assert not browser.ask(visible.format("#theme"))
    assert not browser.ask(visible.format("#filter"))


def test_paper_is_white_and_has_no_controls(browser, pages):
    browser.open(pages["ladder"], scheme="dark", medium="print", width=720)
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for control in ("nav", "#theme", "#filter"):
        assert not browser.ask(f"document.querySelector('{control}').getClientRects().length")
    assert browser.ask("document.querySelector('figure .wide svg').getClientRects().length")


def test_nothing_is_wider_than_paper_which_is_turned_for_the_large_table(browser, any_page):
    upright, turned = 688, 1017  # A4 within its margins
    browser.open(any_page, medium="print", width=upright)
    assert browser.ask("getComputedStyle(document.querySelector('#table')).page") == "across"
    assert browser.ask("document.querySelector('#rungs').getBoundingClientRect().width") <= turned
    head = "document.querySelector('#rungs th')"
    assert browser.ask(f"getComputedStyle({head}, '::before').content") == '"rung"'
    assert not browser.ask(f"{head}.firstChild.getClientRects().length")  # printed only once
    assert not browser.ask(
        "[...document.querySelectorAll('main > :not(#table) *')]"
        f".filter(e => e.getBoundingClientRect().right > {upright + 1}).map(e => e.outerHTML)"
    )
