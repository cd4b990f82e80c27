"""The live table in a real Chromium: backends of this machine and engines of the browser."""

import base64
import json
import re
from pathlib import Path

import lenet_bench
import pytest
from browsers import CORNER, LATE_MS, draw_line
from classroom import FOLDER
from lenet_bench.classroom import engines
from lenet_bench.network import PARAMETERS
from lenet_bench.weights import read_weights
from lessons import served, stroke
from sample_results import blocks, log, write_log

HERE = Path(__file__).parent
BACKENDS = ("fused", "numpy", "openblas")
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>live</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; connect-src 'self';
script-src 'self' 'unsafe-inline' data: 'wasm-unsafe-eval'">
<script type="importmap">{imports}</script><main id="living"></main>
<script type="module">
import {{ live }} from "lenet/live.js";
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const weights = {weights};
for (const name in weights) weights[name] = new Float32Array(bytes(weights[name]).buffer);
globalThis.answers = [];
const token = new URLSearchParams(location.search).get("token");
const onAnswer = (answer) => answers.push(answer);
globalThis.lesson = live(document.getElementById("living"), {{ token, weights, onAnswer }});
</script>"""


def in_base64(content):
    return base64.b64encode(content).decode()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Nothing but the live table, its modules as the classroom's page has them: data."""
    modules = {
        f"lenet/{path.name}": "data:text/javascript;base64,"
        + in_base64(re.sub(r'(from\s*)"\./', r'\1"lenet/', path.read_text()).encode())
        for path in FOLDER.glob("*.js")
    }
    found = read_weights()
    weights = {name.replace(".", "_"): in_base64(found[name].tobytes()) for name in PARAMETERS}
    path = tmp_path_factory.mktemp("page") / "live.html"
    imports = json.dumps({"imports": modules})
    path.write_text(PAGE.format(imports=imports, weights=json.dumps(weights)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def lesson(page, tmp_path_factory):
    """Three backends, and no engine for the browser."""
    nowhere = str(tmp_path_factory.mktemp("cache"))
    with served(HERE / "scratch_lesson.py", page, *BACKENDS, XDG_CACHE_HOME=nowhere) as lesson:
        lesson.wait_until_ready()
        yield lesson


def ask(tab):
    pixels = stroke().ravel().tolist()
    tab.evaluate("pixels => lesson.ask(Float32Array.from(pixels))", pixels)


def rows(tab, state="answered"):
    return tab.locator(f"tr[data-state={state}]")


@pytest.fixture
def tab(visit, lesson):
    tab = visit(lesson.address)
    rows(tab, "ready").nth(len(BACKENDS) - 1).wait_for()
    return tab


def test_every_backend_has_a_row_with_its_digit_its_time_and_a_bar_as_long(tab):
    assert tab.evaluate("crossOriginIsolated")  # which brings the finer clock
    ask(tab)
    assert rows(tab).locator("th").all_inner_texts() == list(BACKENDS)
    assert rows(tab).locator(".live-digit").all_inner_texts() == ["1"] * len(BACKENDS)
    for time in rows(tab).locator(".time").all_inner_texts():
        assert re.fullmatch(r"[\d.,]+ (µs|ms|s)", time)
    times = {one["name"]: one["us"] for one in tab.evaluate("answers")}
    percents = "all => all.map(bar => parseFloat(bar.style.inlineSize))"
    bars = tab.eval_on_selector_all("tr[data-state=answered] .live-bar", percents)
    slowest = max(times.values())
    assert bars == pytest.approx([100 * times[name] / slowest for name in BACKENDS], rel=1e-3)
    assert rows(tab).locator(".live-times", has_text=re.compile("^1 \u00d7$")).count() >= 1


def test_the_table_can_be_heard(tab):
    ask(tab)
    assert tab.locator("[aria-live=polite]").inner_text().startswith("3 of 3 say 1.")
    assert tab.get_by_role("table").count() == 1
    heads = ("Backend", "Digit", "Time", "To the fastest")
    for role, names in (("columnheader", heads), ("rowheader", BACKENDS)):
        assert all(tab.get_by_role(role, name=name, exact=True).count() == 1 for name in names)


def test_the_newest_drawing_wins(tab):
    older, newer = stroke(), stroke().T.copy()
    tab.evaluate(
        """([older, newer]) => Promise.all([older, newer].map((pixels, n) => new Promise((done) =>
        setTimeout(() => lesson.ask(Float32Array.from(pixels)).then(done), 130 * n))))""",
        [older.ravel().tolist(), newer.ravel().tolist()],
    )
    expected = str(lenet_bench.load("reference").infer(newer).argmax())
    assert rows(tab).locator(".live-digit").all_inner_texts() == [expected] * len(BACKENDS)


def test_one_that_dies_is_told_and_answers_once_it_is_started_again(browser, page, tmp_path):
    tab = browser.new_page()  # which may complain
    tab.set_default_timeout(LATE_MS)
    nowhere = {"XDG_CACHE_HOME": str(tmp_path)}
    with served(HERE / "scratch_lesson.py", page, *BACKENDS, **nowhere) as lesson:
        tab.goto(lesson.address)
        tab.wait_for_function("globalThis.lesson")
        ask(tab)
        rows(tab).nth(len(BACKENDS) - 1).wait_for()
        lesson.workers()[1].kill()
        ask(tab)
        tab.wait_for_function("answers.some((one) => one.error?.includes('SIGKILL'))")
        rows(tab).nth(len(BACKENDS) - 1).wait_for()
        told = tab.locator("[aria-live=polite]")
        tab.route("**/infer?*", lambda route: route.fulfill(status=403))  # as one started anew
        ask(tab)
        assert "does not answer" in told.inner_text()
        tab.unroute("**/infer?*")
        ask(tab)
        assert "does not answer" not in told.inner_text()
    ask(tab)
    assert "does not answer" in told.inner_text()
    assert rows(tab, "asked").count() == 0
    tab.close()


def test_what_is_drawn_on_the_whole_page_is_answered_by_every_backend(visit, tmp_path):
    path = tmp_path / "mine.jsonl"
    write_log(path, log(blocks("fused", 20), blocks("numpy", 90), blocks("keras", 40_000)))
    named = [word for name in BACKENDS for word in ("-b", name)]
    command = ["-m", "lenet_bench", "classroom", path, "--serve", *named]
    with served(*command, XDG_CACHE_HOME=str(tmp_path)) as lesson:
        tab = visit(lesson.address)
        tab.wait_for_selector("html[data-ready]")
        for digit in ("3", "1"):  # the sample, and what is drawn over it
            if digit == "1":
                draw_line(tab, [(0.5, 0.2), (0.5, 0.8)])
            says = tab.locator(".live-digit", has_text=digit)
            rows(tab).filter(has=says).nth(len(BACKENDS) - 1).wait_for()
        assert rows(tab).locator(".live-digit").all_inner_texts() == ["1"] * len(BACKENDS)
        assert tab.locator("#answer").inner_text() == "1"
        shown = rows(tab).locator("th").all_inner_texts()
        assert shown == ["our own C++ kernels", "NumPy", "OpenBLAS"], "as in the race"
        tab.locator("#racing select").select_option("here")
        lanes = tab.locator("#racing .lanes li[data-name]")
        names = lanes.evaluate_all("all => all.map(one => one.dataset.name)")
        assert sorted(names) == sorted([*BACKENDS, "this browser"])
        assert tab.locator(".unchanged").is_hidden()
        tab.locator("#layer-pool1").click(position=CORNER)
        tab.locator("#origin .switch").click()
        assert tab.locator(".unchanged").is_visible()
        tab.close()


@pytest.mark.slow
def test_engines_in_the_browser_answer_as_the_reference_does(visit, page):
    pytest.importorskip("onnx", reason="onnxruntime-web needs its model")
    try:
        engines.install(print)
    except lenet_bench.LenetBenchError as error:
        pytest.skip(f"the engines for the browser cannot be had: {error}")
    with served(HERE / "scratch_lesson.py", page, "fused") as lesson:
        lesson.wait_until_ready()
        tab = visit(lesson.address)
        rows(tab, "ready").nth(2).wait_for()
        ask(tab)
        answers = {one["name"]: one for one in tab.evaluate("answers")}
    assert list(answers) == ["onnxruntime-web", "tfjs", "fused"]
    expected = lenet_bench.load("reference").infer(stroke())
    for one in answers.values():
        assert one["probabilities"] == pytest.approx(expected.tolist(), abs=1e-5)
        assert one["calls"] >= 3
        assert one["us"] > 0
