"""The classroom's page in a real browser: draw, watch, follow back, compare, race, guess."""

import re
from base64 import b64encode

import lenet_bench
import numpy as np
import pytest
from browsers import (
    CORNER,
    DESK,
    LATE_MS,
    PHONE,
    colours,
    draw_line,
    enlarge,
    in_each_browser,
    violations,
)
from classroom import FOLDER
from digits import saved
from lenet_bench import units
from lenet_bench.results import read_result
from lenet_bench.show.classroom import classroom_page
from lenet_bench.weights import default_path
from PIL import Image
from sample_results import blocks, result

NAMES = ("fused", "onednn", "tensorflow:xla", "keras:predict_on_batch", "keras")
TIMES_US = (20, 60, 180, 540, 12_600)
CARRIED = (FOLDER / "native.wasm", default_path())
SEVEN = [[(0.25, 0.2), (0.7, 0.2), (0.45, 0.8)]]
#: The image that the page makes of what is drawn, in a second copy of its own parts.
SEEN = """async ([byPen, native]) => {
    const { preparation } = await import("lenet/prepare.js");
    const bytes = Uint8Array.from(atob(native), (letter) => letter.charCodeAt(0));
    const { instance } = await WebAssembly.instantiate(bytes, {});
    instance.exports._initialize();
    const { drawn, explain } = preparation(instance.exports);
    const canvas = document.getElementById("draw");
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const { steps } = (byPen ? drawn : explain)(data, width, height);
    return [...steps.at(-1).picture.data];
}"""
NATIVE = b64encode((FOLDER / "native.wasm").read_bytes()).decode()


@pytest.fixture(scope="module")
def page(tmp_path_factory, pytestconfig):
    """Of the layers of 2018, some of them taken apart."""
    small = result(*map(blocks, NAMES, TIMES_US))
    apart = next((pytestconfig.rootpath / "results/why").glob("*.jsonl.gz"))
    path = tmp_path_factory.mktemp("classroom") / "classroom.html"
    results = [("small.jsonl", small), (apart.name, read_result(apart))]
    path.write_text(classroom_page(results), encoding="utf-8")
    return path


def draw(tab, lines):
    """The digit that is answered to these lines."""
    tab.locator("#clear").click()
    for line in lines:
        draw_line(tab, line)
    tab.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    return answered(tab)


def answered(tab):
    """The digit, once the page has looked."""
    tab.locator("#draw:not([data-waiting])").wait_for()
    return tab.locator("#answer").get_attribute("data-digit")


@in_each_browser
def test_a_digit_that_is_drawn_is_answered_and_cleared(tab):
    for small_or_thick in (
        [(0.7, 0.7), (0.9, 0.7), (0.8, 0.95)],
        [(0.02, 0.05), (0.95, 0.05), (0.3, 0.98)],
    ):
        assert draw(tab, [small_or_thick]) == "7"
    assert draw(tab, SEVEN) == "7"
    assert tab.locator("#answer").inner_text() == "7"
    assert tab.locator("#took").is_visible()
    tab.locator("#clear").click()
    assert tab.locator("#answer").get_attribute("data-digit") is None
    assert tab.locator("#took").is_hidden()
    assert tab.locator("#outputs button").first.is_disabled()


def test_what_is_drawn_becomes_almost_the_same_image_in_fewer_steps(tab):
    draw(tab, SEVEN)
    quick, full = (np.array(tab.evaluate(SEEN, [by_pen, NATIVE])) for by_pen in (True, False))
    assert np.abs(quick - full).mean() < 0.02


@in_each_browser
def test_the_page_gives_the_references_probabilities(tab):
    draw(tab, SEVEN)
    image = np.array(tab.evaluate(SEEN, [True, NATIVE]), np.float32).reshape(28, 28)
    shown = [float(text.rstrip(" %")) for text in tab.locator("#outputs span").all_inner_texts()]
    expected = lenet_bench.load("reference").infer(image)
    assert np.abs(np.array(shown) / 100 - expected).max() < 0.001


def test_the_steps_of_a_drawing_are_shown_and_none_looks_for_light_or_colours(tab):
    draw(tab, SEVEN)
    assert tab.locator("#steps li").count() == 0
    tab.locator("#steps summary").click()
    tab.locator("#steps li canvas").nth(3).wait_for()
    names = tab.locator("#steps li b").all_inner_texts()
    assert names == ["ink", "digit", "scale", "centre"]


def give(tab, way, content, name):
    """Drop a file on the page, or paste a picture."""
    tab.evaluate(
        """([way, bytes, name]) => {
            const files = new DataTransfer();
            const type = way === "paste" ? "image/jpeg" : "";
            files.items.add(new File([new Uint8Array(bytes)], name, { type }));
            const event = way === "drop"
                ? new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true })
                : new ClipboardEvent("paste", { clipboardData: files, bubbles: true });
            document.body.dispatchEvent(event);
        }""",
        [way, list(content), name],
    )


def test_pictures_are_opened_dropped_and_pasted(tab, pytestconfig):
    path = pytestconfig.rootpath / "images/desk-7.jpg"
    tab.locator("#picture").set_input_files(path)
    tab.wait_for_selector("#answer[data-digit='7']")
    for way in ("drop", "paste"):
        tab.locator("#clear").click()
        give(tab, way, path.read_bytes(), path.name)
        tab.wait_for_selector("#answer[data-digit='7']")


def test_a_picture_without_ink_takes_the_old_answer_away(tab):
    give(tab, "drop", saved(Image.new("L", (60, 60), 255)), "white.png")
    tab.locator("#hint", has_text="no pen strokes").wait_for()
    tab.wait_for_selector("#answer:not([data-digit])", state="attached")


OPEN_FOUR = [[(0.25, 0.2), (0.1, 0.55), (0.4, 0.55)], [(0.32, 0.4), (0.32, 0.8)]]
LINE_OF_TWO = [(0.57, 0.3), (0.7, 0.2), (0.8, 0.32), (0.58, 0.78), (0.85, 0.78)]


@pytest.mark.parametrize("apart", [0, 0.05, 0.1])
def test_two_digits_are_told_however_far_they_are_apart(tab, apart):
    draw(tab, [*OPEN_FOUR, [(x + apart, y) for x, y in LINE_OF_TWO]])
    assert "more than one digit" in tab.locator("#hint").inner_text()
    draw(tab, OPEN_FOUR)
    assert "more than one digit" not in tab.locator("#hint").inner_text()


def test_a_dot_is_no_digit(tab):
    assert draw(tab, [[(0.5, 0.5)]]) is None
    tab.locator("#hint", has_text="no pen strokes").wait_for()


def test_an_unreadable_file_takes_the_old_answer_away(tab):
    assert draw(tab, SEVEN) == "7"
    give(tab, "drop", b"not a picture", "notes.txt")
    tab.locator("#hint", has_text="not a picture").wait_for()
    assert tab.locator("#answer").get_attribute("data-digit") is None


@in_each_browser
def test_of_several_pictures_the_first_is_read_and_that_is_said(tab, pytestconfig):
    paths = sorted((pytestconfig.rootpath / "images").glob("*-?.jpg"))[:2]
    tab.locator("#picture").set_input_files(paths)
    tab.locator("#hint", has_text="Of 2 pictures this is the first").wait_for()
    tab.wait_for_selector(f"#answer[data-digit='{paths[0].stem[-1]}']")


TWO = [[(0.12, 0.25), (0.12, 0.75)], [(0.55, 0.2), (0.85, 0.2), (0.65, 0.8)]]


def test_two_digits_are_told_with_the_side_of_the_one_that_is_read(tab):
    assert draw(tab, TWO) == "7"
    assert "read the one on the right" in tab.locator("#hint").inner_text()


@in_each_browser
def test_ctrl_z_takes_a_stroke_back(tab):
    draw(tab, TWO)
    tab.keyboard.press("Control+z")
    assert answered(tab) == "1"
    tab.keyboard.press("Control+z")
    assert answered(tab) is None


def test_what_was_cleared_can_be_had_back(tab):
    draw(tab, SEVEN)
    tab.locator("#clear").click()
    tab.locator("#undo").click()
    assert answered(tab) == "7"


def test_the_right_button_does_not_draw(tab):
    tab.locator("#draw").click(button="right")
    assert tab.locator("#undo").is_disabled()


def test_a_second_finger_does_not_draw(tab):
    tab.locator("#draw").dispatch_event(
        "pointerdown", {"button": 0, "isPrimary": False, "pointerId": 7, "pointerType": "touch"}
    )
    assert tab.locator("#undo").is_disabled()


def test_every_target_is_large_enough_for_a_finger(see):
    tab = see(PHONE, has_touch=True)
    targets = tab.locator("button, select, nav a, summary, .button").locator("visible=true")
    small = """all => all.filter(one => one.offsetWidth < 44 || one.offsetHeight < 44)
        .map(one => one.outerHTML)"""
    assert targets.evaluate_all(small) == []


@pytest.fixture
def lacking(browser, page):
    """`lacking("WebAssembly")` opens the page in a browser that has none."""
    tab = browser.new_page()
    tab.set_default_timeout(LATE_MS)

    def open_page(name):
        tab.add_init_script(f"delete globalThis.{name}")
        tab.goto(page.as_uri())
        return tab

    yield open_page
    tab.close()


def test_a_browser_without_idle_callbacks_measures_too(lacking):
    tab = lacking("requestIdleCallback")
    tab.locator("#here", has_text=re.compile(r"\d (µs|ms)")).wait_for()


def test_a_browser_without_decompression_streams_unpacks_by_itself(lacking):
    tab = lacking("DecompressionStream")
    tab.wait_for_selector("html[data-ready]")
    assert draw(tab, SEVEN) == "7"


def test_a_browser_that_cannot_run_the_page_says_so(lacking):
    lacking("WebAssembly").get_by_role("alert").wait_for()


def test_every_number_is_the_sum_that_the_page_says(tab):
    """The way back computes each value anew; it must be the one that the kernels gave."""
    image = tab.evaluate(SEEN, [False, NATIVE])
    worst = tab.evaluate(
        """async ([image, kernels, weights]) => {
        const [{ terms }, { engine }] = await Promise.all(
            ["lenet/origin.js", "lenet/engine.js"].map((name) => import(name)));
        const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
        const net = await engine(bytes(kernels), bytes(weights));
        const seen = { image, ...net.layers(Float32Array.from(image)) };
        let worst = 0;
        for (const [layer, count] of [["pool1", 2880], ["pool2", 800], ["fc1", 500], ["fc2", 10]]) {
            for (let index = 0; index < count; index += 7) {
                const sum = terms(layer, index, seen, net.weights).sum;
                const value = layer === "fc1" ? Math.max(0, sum) : sum;
                worst = Math.max(worst, Math.abs(value - seen[layer][index]));
            }
        }
        return worst;
    }""",
        [image, *(b64encode(path.read_bytes()).decode() for path in CARRIED)],
    )
    assert 0 < worst < 1e-4


@in_each_browser
def test_an_output_is_followed_back_to_the_image_by_keyboard(tab):
    tab.locator("#outputs button").nth(7).focus()
    tab.keyboard.press("Enter")
    said = [tab.locator("#origin h3").inner_text()]
    for _ in range(3):
        tab.locator("#origin .strongest button").first.focus()
        tab.keyboard.press("Enter")
        said.append(tab.locator("#origin h3").inner_text())
    for text, layer in zip(said, ("Output 7", "fc1", "pool2", "pool1"), strict=True):
        assert layer in text
    assert tab.locator("#origin .windows canvas").count() == 3


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 720}, PHONE])
def test_the_trace_opens_where_it_is_seen(see, viewport):
    tab = see(viewport)
    draw(tab, SEVEN)
    tab.locator("#layer-pool1").click(position=CORNER)
    box = tab.locator("#origin").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + min(box["height"], 200) <= viewport["height"]


def test_a_traced_value_is_outlined_with_the_windows_that_it_saw(tab):
    tab.locator("#layer-pool2").click(position=CORNER)
    assert tab.locator("#map-pool2 .over .own").count() == 1
    assert tab.locator("#map-pool1 .over .window").count() == 20
    tab.locator("#close").click()
    assert tab.locator(".over i").count() == 0


@in_each_browser
def test_a_value_is_told_under_the_pointer(tab):
    tab.locator("#layer-pool2").hover(position=CORNER)
    assert "map 0, row 1" in tab.locator("#map-pool2 .value").inner_text()


def test_arrows_and_page_keys_walk_over_the_maps(tab):
    tab.locator("#layer-pool2").focus()
    for key in ("PageDown", "ArrowDown", "ArrowRight"):
        tab.keyboard.press(key)
    assert "map 1, row 1, column 1" in tab.locator("#map-pool2 .value").inner_text()
    tab.keyboard.press("Enter")
    assert "column 1 of map 1 of pool2" in tab.locator("#origin h3").inner_text()


def test_products_are_those_of_the_digits_that_are_shown(tab):
    tab.locator("#outputs button").nth(7).click()
    for text in tab.locator("#origin .strongest button").all_inner_texts():
        left, right, product = re.findall(r"[+-]?\d+\.\d+", text.replace("\N{MINUS SIGN}", "-"))
        assert float(product) == pytest.approx(float(left) * float(right), abs=0.00501)


def test_the_softmax_gives_the_probabilities(tab):
    tab.locator("#outputs button").nth(7).click()
    shares = tab.locator("#origin .softmax td:last-child").all_inner_texts()
    assert shares == tab.locator("#outputs span").all_inner_texts()


def test_the_window_slides_a_place_a_click_where_motion_is_unwanted(see):
    tab = see(reduced_motion="reduce")
    tab.locator("#layer-pool2").click(position={"x": 3, "y": 3})
    for place in ("column 1", "column 2"):
        tab.locator("#slide").click()
        assert f"{place} of map 0" in tab.locator("#origin h3").inner_text()


@in_each_browser
def test_a_map_that_is_switched_off_is_zero_until_it_is_put_back(tab):
    before = tab.locator("#outputs span").all_inner_texts()
    tab.locator("#layer-pool1").click(position=CORNER)
    tab.locator("#origin .switch").click()
    assert "is 0.00" in tab.locator("#origin h3").inner_text()
    assert "map 0 of conv1 is off" in tab.locator("#changes").inner_text()
    tab.locator("#mend").click()
    assert tab.locator("#changes").is_hidden()
    assert tab.locator("#outputs span").all_inner_texts() == before


def test_as_the_lesson_says_the_sample_changes_after_seven_maps_that_are_chosen_well(tab):
    for number, chosen in enumerate((3, 18, 12, 15, 8, 5, 6)):
        assert tab.locator("#answer").get_attribute("data-digit") == "3", number
        box = tab.locator("#map-pool1 .numbers span").nth(chosen)
        place = box.bounding_box()
        tab.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        assert f"map {chosen} of pool1" in tab.locator("#origin h3").inner_text()
        tab.locator("#switch").click()
    assert tab.locator("#answer").get_attribute("data-digit") == "8"


def test_the_keyboard_stays_where_it_was_when_the_panel_is_drawn_anew(tab):
    tab.locator("#layer-pool1").focus()
    tab.keyboard.press("Enter")
    tab.locator("#weight-12").focus()
    tab.keyboard.press("ArrowUp")
    tab.locator("#changes", has_text="changed: 1").wait_for()
    assert tab.evaluate("document.activeElement.id") == "weight-12"
    tab.keyboard.type("5")
    tab.keyboard.press("Tab")
    tab.wait_for_function("document.activeElement.id === 'weight-13'")
    tab.locator("#switch").focus()
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "switch"


def test_undo_in_a_field_keeps_the_drawing(tab):
    draw(tab, SEVEN)
    digit = tab.locator("#answer").get_attribute("data-digit")
    tab.locator("#layer-pool1").click(position=CORNER)
    tab.locator("#weight-0").select_text()
    tab.keyboard.type("1")
    tab.keyboard.press("Control+z")
    assert tab.locator("#answer").get_attribute("data-digit") == digit
    tab.locator("#width").focus()  # which undoes nothing itself
    tab.keyboard.press("Control+z")
    tab.locator(f"#answer:not([data-digit='{digit}'])").wait_for(state="attached")


@in_each_browser
def test_a_weight_of_a_kernel_can_be_changed(tab):
    tab.locator("#layer-pool1").click(position=CORNER)
    before = tab.locator("#outputs span").all_inner_texts()
    for field in range(5):
        tab.locator("#origin .kernel input").nth(12 + field).select_text()
        tab.keyboard.type("-99")
        tab.keyboard.press("Tab")
        tab.locator("#changes", has_text=f"changed: {field + 1}").wait_for()
    assert tab.locator("#outputs span").all_inner_texts() != before


def test_the_eraser_takes_ink_away(tab):
    draw(tab, [[(0.4, 0.5), (0.6, 0.5)]])
    tab.locator("#erase").click()
    tab.locator("#width").fill("36")
    draw_line(tab, [(0.3, 0.5), (0.7, 0.5)])
    tab.locator("#answer:not([data-digit])").wait_for(state="attached")


def test_a_digit_is_drawn_by_keyboard(tab):
    tab.locator("#clear").focus()
    tab.keyboard.press("Shift+Tab")
    assert tab.evaluate("document.activeElement.id") == "draw"
    for key in ["ArrowUp"] * 8 + [" "] + ["ArrowDown"] * 16:
        tab.keyboard.press(key)
    assert answered(tab) == "1"


def test_a_stroke_that_is_cleared_under_the_pen_has_ended(tab):
    tab.locator("#draw").focus()
    for key in (" ", "Delete", "ArrowDown", " ", "Control+z", "ArrowDown"):
        tab.keyboard.press(key)
    assert answered(tab) is None
    assert draw(tab, SEVEN) == "7"


def test_a_stage_is_lit_everywhere(tab):
    tab.locator(".strip [data-stage=conv2]").click()
    lit = tab.locator(".lit").evaluate_all("all => all.map(one => one.dataset.stage)")
    assert "conv2,pool2" in lit  # the maps that both make
    assert all("conv2" in stages.split(",") for stages in lit)
    assert tab.locator(".listing .lit").count() >= 2
    tab.locator(".listing [data-stage=fc1]").first.hover()
    lit = tab.locator(".lit").evaluate_all("all => all.map(one => one.tagName)")
    assert {"FIGURE", "BUTTON", "DIV"} <= set(lit)


def test_a_third_api_stands_there_with_its_lines_and_its_time(tab):
    tab.locator("#more").click()
    assert tab.locator("#more").is_disabled()
    tab.locator(".panes select").nth(2).select_option("fused")
    assert "brackets only) · 20.0 µs" in tab.locator(".panes .cost").nth(2).inner_text()


def test_times_and_counts_are_spelled_as_the_program_spells_them(see):
    tab = see()
    values = [10**n * digits for n in range(-2, 8) for digits in (1, 1.223, 8.4, 9.996)]
    spelt = "async (all) => all.map((await import('lenet/dom.js')).spelt)"
    assert tab.evaluate(spelt, values) == [units.time(us) for us in values]
    filled = "async (count) => (await import('lenet/strings.js')).filled('{count}', { count })"
    assert [tab.evaluate(filled, one) for one in (1129, 0.5, "1129")] == ["1,129", "0.5", "1129"]


SHARES = """all => all.map(bar => [...bar.children].map(part => part.className))"""


@in_each_browser
def test_the_first_heat_is_of_the_calls_of_one_scale(tab):
    tab.locator("#start").click()
    tab.locator("#racing[data-state=between]").wait_for()
    for name, time in (("fused", "20.0 µs"), ("keras", "2nd heat")):
        assert tab.locator(f"#racing .lanes li[data-name={name}] .time").inner_text() == time


def test_bars_on_the_fixed_axis_are_as_long_as_their_calls(tab):
    lanes = tab.locator("#racing .lanes li[data-name]")
    lengths = """all => Object.fromEntries(all.map(lane =>
        [lane.dataset.name, parseFloat(lane.querySelector(".bar").style.inlineSize)]))"""
    before = lanes.evaluate_all(lengths)
    tab.locator("#start").click()
    tab.locator("#racing:not([data-state=ready])").wait_for()
    during = lanes.evaluate_all(lengths)
    for name in NAMES:
        assert before[name] == pytest.approx(during[name], rel=0.05), name
    assert before["onednn"] == pytest.approx(3 * before["fused"], rel=0.05)


@in_each_browser
def test_a_call_that_leaves_the_axis_says_how_many_times_longer_it_takes(tab):
    tab.locator("#finish").click()
    tab.locator("#racing[data-state=over]").wait_for()
    times = int(tab.locator(".factor").inner_text().split()[0].replace(",", ""))
    assert times >= 600  # as long as fused takes, or this browser where that is faster
    (parts,) = tab.locator("#racing > div .bar").evaluate_all(SHARES)
    assert parts[:3] == ["preparing", "handing-over", "mathematics"]


def test_a_lane_without_parts_says_so(tab):
    tab.locator("#racing .lanes li[data-name='this browser']").wait_for(state="attached")
    tab.locator("#finish").click()
    lane = tab.locator("#racing .lanes li[data-name='this browser']")
    assert "not taken apart" in lane.inner_text()
    assert lane.locator(".bar").evaluate_all(SHARES) == [["unknown"]]


def test_each_part_of_a_call_says_its_share_and_none_rounds_to_nothing_or_all(visit, tmp_path):
    path = tmp_path / "page.html"
    small = result(blocks("fused", 200), blocks("numpy", 900))
    path.write_text(classroom_page([("small.jsonl", small)]), encoding="utf-8")
    tab = visit(path.as_uri(), viewport=DESK)
    lane = tab.locator("#racing li[data-name=fused] .lane")
    parts = ["handing over", "under 1 %", "mathematics", "over 99 %"]
    assert lane.locator(".bar span").all_text_contents() == parts
    assert lane.locator(".most").text_content() == "over 99 % mathematics"


@in_each_browser
def test_the_students_own_browser_is_a_lane(tab):
    tab.locator("#racing .lanes li[data-name='this browser'] .bar").wait_for(state="attached")


def test_a_race_of_nobody_shows_nothing(tab):
    tab.locator("#racing .lanes li[data-name='this browser']").wait_for(state="attached")
    tab.locator("#racing details summary").click()
    for box in tab.locator("#racing .picker input").all():
        box.uncheck()
    tab.locator("#start").click()
    assert tab.locator("#racing .lanes li[data-name]").count() == 0


def guessed(tab):
    """The names of the first list, from its top."""
    rows = tab.locator("#guess-time li")
    return rows.evaluate_all("all => all.map(one => one.dataset.name)")


def test_guesses_are_counted_and_then_answered(tab):
    order = tab.locator("#guess-time li")
    for _ in range(len(NAMES)):  # by buttons, as a keyboard does it: the slowest to the top
        for n in range(len(NAMES) - 1):
            names = guessed(tab)
            if NAMES.index(names[n]) < NAMES.index(names[n + 1]):
                order.nth(n).get_by_label("down").click()
    tab.locator(".question").first.get_by_text("Show the answer").click()
    assert "0 of 10 pairs" in tab.locator(".question").first.inner_text()
    assert guessed(tab) == list(NAMES)
    assert "20.0 µs" in order.first.inner_text()


def way_to_the_top(tab):
    """From the grip of the first list's last row to its first row."""
    rows = tab.locator("#guess-time li")
    tab.locator("#guess-time").evaluate("list => list.scrollIntoView({ block: 'center' })")
    first, grip = rows.first.bounding_box(), rows.last.locator(".grip").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    return (x, y), (x, (y + first["y"]) / 2), (x, first["y"] + 1)


@in_each_browser
def test_a_guess_is_dragged_with_the_mouse(tab):
    before = guessed(tab)
    grip, half, top = way_to_the_top(tab)
    tab.mouse.move(*grip)
    tab.mouse.down()
    tab.mouse.move(*half)
    tab.mouse.move(*top)
    tab.mouse.up()
    assert guessed(tab) == [before[-1], *before[:-1]]


def test_a_guess_is_dragged_with_a_finger(see):
    tab = see(PHONE, has_touch=True)
    before = guessed(tab)
    session = tab.context.new_cdp_session(tab)
    grip, half, top = ({"x": x, "y": y} for x, y in way_to_the_top(tab))

    def touch(kind, *points):
        said = {"type": f"touch{kind}", "touchPoints": points}
        session.send("Input.dispatchTouchEvent", said)

    touch("Start", grip)
    touch("Move", half)
    touch("Move", top)
    touch("End")
    assert guessed(tab) == [before[-1], *before[:-1]]


def test_a_theme_that_was_chosen_stays(see):
    tab = see(color_scheme="dark")
    tab.locator("#theme").click()
    tab.reload()
    tab.wait_for_selector("html[data-theme=light][data-ready]")
    assert tab.locator("#theme").inner_text() == "Theme: light"


def test_parts_and_their_key_keep_their_colours_where_the_readers_replace_others(see):
    own, forced = (
        colours(see(forced_colors=forced), ".mathematics, .handing-over, .preparing, .share")
        for forced in ("none", "active")
    )
    assert own == forced
    assert len(set(own)) >= 4


ON_TOP = """one => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return one.contains(document.elementFromPoint(x + Math.min(width, 20) / 2, y + height / 2));
}"""


@pytest.mark.parametrize("width", [700, 1024, 1280])
def test_nothing_lies_over_a_heading_or_a_choice_that_is_gone_to(see, width):
    tab = see({"width": width, "height": 800})
    for link in tab.locator("nav a[href='#race'], nav a[href='#code']").all():
        link.click()
        heading = tab.locator(link.get_attribute("href")).locator("h2")
        assert heading.evaluate(ON_TOP), heading
    tab.locator("#code").evaluate("one => one.scrollIntoView({ block: 'end' })")
    tab.locator(".panes select").nth(1).focus()
    assert tab.locator(".panes select").nth(1).evaluate(ON_TOP)


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_the_page_fits_the_screen_in_type_of_the_readers_own_size(see, viewport):
    tab = see(viewport)
    enlarge(tab)
    size = "getComputedStyle(document.documentElement).fontSize"
    assert tab.evaluate(size) == "32px"
    assert tab.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    tab.locator("#teach").click()
    assert tab.evaluate(size) == "40px"
    assert tab.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


@pytest.mark.parametrize(("viewport", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_the_page_fits_the_screen_and_axe_finds_nothing(see, viewport, scheme):
    tab = see(viewport, color_scheme=scheme)
    draw(tab, SEVEN)
    tab.locator("#outputs button").nth(7).click()
    tab.locator("#finish").click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert violations(tab) == []
