"""The classroom's first screen, its 1,000 images and its lesson, in a real browser."""

import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from browsers import CORNER, DESK, LATE_MS, PHONE, draw_line, end_of, in_each_browser
from lenet_bench.results import Batch
from lenet_bench.show.classroom import classroom_page, classroom_site, published
from lenet_bench.weights import read_weights
from sample_results import blocks, result

NAMES = ("fused", "onednn", "tensorflow:session", "keras:predict_on_batch", "keras")
TIMES_US = (20, 60, 180, 540, 12_600)
SIZES = (1, 8, 64, 512)
IMAGE_US = 10  # in a batch, above the cost of its call


def measured(name, us):
    """A call that has a fixed cost and a cost for each image."""
    batches = tuple(
        Batch(size, (round(1000 * (us - IMAGE_US + size * IMAGE_US)),) * 9) for size in SIZES
    )
    return blocks(name, us, batches=batches)


def small():
    return result(*map(measured, NAMES, TIMES_US), batches=SIZES)


def written(folder, found, **rest):
    """The page of that result."""
    path = folder / "classroom.html"
    path.write_text(classroom_page([("small.jsonl", found)], **rest), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return written(tmp_path_factory.mktemp("classroom"), small())


@in_each_browser
def test_a_sample_is_answered_when_the_page_opens(tab):
    assert tab.locator("#answer").get_attribute("data-digit") == "3"
    assert "sample" in tab.locator("#hint").inner_text()


def draw_one(tab):
    """A digit that is answered."""
    draw_line(tab, [(0.5, 0.15), (0.5, 0.85)])
    tab.locator("#answer[data-digit='1']").wait_for()


def test_the_first_stroke_takes_the_sample_away(tab):
    draw_one(tab)
    tab.locator("#undo").click()
    tab.locator("#answer:not([data-digit])").wait_for(state="attached")


def test_the_first_screen_says_in_figures_what_it_is_about_and_names_it_after_the_guess(tab):
    said = tab.locator(".headline").inner_text()
    assert "one API takes 20.0 µs and another 12.6 ms: 630 times as long" in said
    assert "Keras" not in said
    tab.locator("#guess-time + .buttons button").first.click()
    assert "our own C++ kernels and Keras predict" in tab.locator(".headline").inner_text()


def test_the_warnings_of_a_result_are_told_beside_its_headline(visit, tmp_path):
    found = result(*(blocks(name, us, rounds=2) for name, us in zip(NAMES, TIMES_US, strict=True)))
    assert found.warnings
    tab = visit(written(tmp_path, found).as_uri(), viewport=DESK)
    tab.locator("#headline a").click()
    listed = tab.locator("#warnings + ul li").all_inner_texts()
    assert [one.casefold() for one in listed] == [f"{one}.".casefold() for one in found.warnings]
    assert tab.locator("#warnings").bounding_box()["y"] < DESK["height"]


def test_the_first_screen_has_all_from_the_drawing_to_the_lesson(tab):
    for part in ("#draw", "#legend", "#layers", "#outputs", "#answer", "#teach"):
        assert end_of(tab.locator(part)) <= DESK["height"], part


def times(tab):
    return dict(zip(NAMES, tab.locator("#by-images .time").all_inner_texts(), strict=True))


@in_each_browser
def test_many_images_cost_less_in_large_calls(tab):
    assert times(tab)["keras"].startswith("12.6 ms · 630")
    tab.locator("#by-images button", has_text="512").click()
    assert times(tab)["keras"].startswith("34.6 µs")  # 12,590 / 512 + 10
    told = tab.locator("#by-images .outcome").inner_text()
    assert "take 34.6 ms with Keras predict, and one at a time 12.6 s" in told


def test_between_measured_sizes_the_page_says_about(tab):
    tab.locator("#images").fill("111")  # of 300, on the way to 512: 10 images
    assert tab.locator("#by-images").get_attribute("data-images") == "10"
    assert times(tab)["keras"].startswith("1.27 ms")  # 12,590 / 10 + 10
    assert "about" in tab.locator("#by-images .outcome").inner_text()


def test_the_slider_ends_with_the_largest_call_that_was_measured(tab):
    tab.locator("#images").press("End")
    assert tab.locator("#by-images").get_attribute("data-images") == "512"


def test_each_line_of_the_chart_has_its_name(tab):
    said = tab.locator("#by-images .chart .label").all_text_contents()
    assert sorted(said) == sorted(tab.locator("#by-images th").all_inner_texts())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The published page."""
    path = tmp_path_factory.mktemp("published") / "classroom.html"
    path.write_text(classroom_page(published()), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1024, 768)])
def test_the_race_and_the_chart_of_the_lesson_are_seen_whole(visit, whole, width, height):
    tab = visit(whole.as_uri(), viewport={"width": width, "height": height})
    tab.wait_for_selector("html[data-ready]")
    for step in steps(tab):
        if step == "race":
            tab.locator("#finish").click()
            box = tab.locator("#racing .lanes li").last.bounding_box()
            assert box["y"] + box["height"] <= height
        if step == "many":
            chart = tab.locator("#by-images .chart").bounding_box()
            names = tab.locator("#by-images .chart .label").all()
            boxes = [name.bounding_box() for name in names]
            assert max(one["x"] + one["width"] for one in boxes) <= chart["x"] + chart["width"]
            assert min(one["height"] for one in boxes) > 12


def test_a_result_without_throughput_says_so(visit, tmp_path):
    found = result(*map(blocks, NAMES, TIMES_US))
    tab = visit(written(tmp_path, found).as_uri())
    tab.get_by_text("This result has no throughput").wait_for()


def test_with_a_larger_network_an_api_costs_less(tab):
    keras = tab.locator("#by-network li", has_text="Keras").locator(".time")
    first = keras.inner_text()
    tab.locator("#sizes").press("End")
    last = keras.inner_text()
    ratios = [float(text.split("·")[1].split()[0]) for text in (first, last)]
    assert ratios[0] > 1.5 * ratios[1]


def test_a_card_says_who_calls_whom(tab):
    card = tab.locator(".cards li", has_text="Keras predict (Python)")
    assert "calls TensorFlow, which calls TensorFlow's kernels" in card.inner_text()


SMALL = """() => [...document.querySelectorAll("body *")].filter(one => one.checkVisibility()
    && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    && parseFloat(getComputedStyle(one).fontSize) < 20).map(one => one.outerHTML.slice(0, 150))"""


def steps(tab, button="#teach"):
    """Each step of the lesson, once it is on the screen."""
    tab.locator(button).click()
    while True:
        yield tab.locator("html").get_attribute("data-step")
        if tab.locator("#forward").is_disabled():
            break
        tab.locator("#forward").click()


def test_no_type_of_the_lesson_is_below_20_pixels(tab):
    assert [(step, found) for step in steps(tab) if (found := tab.evaluate(SMALL))] == []


@pytest.mark.parametrize("traced", ["#outputs button >> nth=3", "#layer-pool1"])
def test_no_type_of_a_trace_in_the_lesson_is_below_20_pixels(tab, traced):
    tab.locator("#teach").click()
    tab.locator(traced).click(position=CORNER)
    assert tab.locator("#origin").is_visible()
    assert tab.evaluate(SMALL) == []


@in_each_browser
def test_a_step_shows_one_section_and_hides_its_answer(tab):
    seen = []
    for step in steps(tab):
        assert tab.locator("main > section:visible").count() == 1, step
        assert tab.locator("#found").is_hidden(), step
        tab.locator("#reveal").click()
        assert tab.locator("#found:focus").count(), step
        seen.append(tab.locator("#found").inner_text())
    assert len(set(seen)) == 9


TRACED_DESKS = [{"width": 1280, "height": 720}, PHONE]


@pytest.mark.parametrize("viewport", TRACED_DESKS)
def test_a_trace_in_the_lesson_is_on_the_screen_beside_the_maps(see, viewport):
    tab = see(viewport)
    tab.goto(tab.url + "#step=2")
    tab.reload()
    tab.locator("#outputs button").nth(3).click()
    for _ in range(3):  # from layer to layer back
        for part in ("#origin h3", "#origin .strongest li >> nth=0"):
            assert tab.locator(part).bounding_box()["y"] >= 0, part
            assert end_of(tab.locator(part)) <= viewport["height"], part
        if tab.locator("#map-pool1 .own").count():
            break
        tab.locator("#origin .strongest button").first.click()
    assert tab.locator("#map-pool1 .numbers").is_visible()
    tab.keyboard.press("Escape")
    assert tab.locator("#origin").is_hidden()


def test_a_clicker_goes_on_after_a_map_was_clicked(tab):
    tab.goto(tab.url + "#step=2")
    tab.reload()
    tab.locator("html[data-step=follow]").wait_for()
    for shut in ("#close", None):
        tab.locator("#layer-pool1").click(position=CORNER)
        if shut:
            tab.locator(shut).click()
        else:
            tab.keyboard.press("Escape")
    tab.keyboard.press("PageDown")
    assert tab.locator("html").get_attribute("data-step") == "learn"


def test_of_a_result_without_keras_nothing_is_said_of_its_calls(visit, tmp_path):
    found = result(*map(measured, ("fused", "openblas"), (20, 45)), batches=SIZES)
    tab = visit(written(tmp_path, found).as_uri(), viewport=DESK)
    tab.wait_for_selector("html[data-ready]")
    assert "fewer than three APIs" in tab.locator("#guessing").inner_text()
    *_, last = steps(tab)
    assert last == "exit"
    tab.locator("#reveal").click()
    assert "cannot keep up" not in tab.locator("#found").inner_text()
    assert "Guess first, then measure" in tab.locator("#found").inner_text()


def test_a_reload_stays_in_its_step_and_with_its_drawing(tab):
    draw_one(tab)
    tab.locator("#teach-short").click()
    for key in ("PageDown", "PageDown", "PageUp", "PageDown"):
        tab.keyboard.press(key)
    assert tab.locator("html").get_attribute("data-step") == "guess"  # the short lesson's third
    tab.reload()
    tab.locator("html[data-step=guess]").wait_for()
    tab.locator("#answer[data-digit='1']").wait_for(state="attached")


def test_an_anchor_and_a_link_to_a_step_keep_the_drawing(tab):
    draw_one(tab)
    tab.wait_for_url(re.compile("drawing="))
    tab.locator("nav a[href='#race']").first.click()
    tab.wait_for_url(re.compile("drawing="))
    tab.evaluate("location.hash = '#step=4'")
    tab.locator("html[data-step=guess]").wait_for()
    tab.wait_for_url(re.compile("drawing="))


def test_a_step_whose_time_is_up_can_still_be_paused(tab):
    tab.clock.install()
    tab.locator("#teach").click()
    place = tab.locator("#timer").bounding_box()
    tab.locator("#timer").click()
    tab.clock.run_for(301_000)
    assert tab.locator("#timer").inner_text().startswith("Pause")
    assert tab.locator("#timer").bounding_box()["y"] == place["y"]
    tab.locator("#timer").click()
    assert tab.locator("#timer").inner_text().startswith("Start")


def test_an_address_that_keeps_nonsense_opens_the_page(tab):
    tab.goto(tab.url + "#step=x&drawing=%00p&code=none&minutes=-1")
    tab.reload()
    tab.locator("#answer[data-digit='3']").wait_for()
    assert tab.locator("#headline").is_visible()


def test_the_code_that_is_compared_is_kept_in_the_address(tab):
    tab.locator(".panes select").first.select_option("onednn")
    tab.reload()
    tab.wait_for_selector("html[data-ready]")
    chosen = tab.locator(".panes select").evaluate_all("all => all.map(one => one.value)")
    assert chosen == ["onednn", "fused"]


@in_each_browser
def test_a_call_is_opened_after_a_guess_and_read_by_keys(tab):
    assert tab.locator(".timeline").is_hidden()
    tab.locator("#open-call").click()
    assert "You guessed 50 %" in tab.locator("#opened .outcome").inner_text()
    line = tab.locator(".timeline")
    line.focus()
    about = tab.locator("#opened .about")
    said = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter", "+", "ArrowUp", "Home"):
        line.press(key)
        said.append(about.inner_text())
    assert any("in Keras, " in one and "line " in one for one in said)
    assert len(set(said)) >= 3
    tab.locator("#open-kernels").click()
    assert about.inner_text().startswith("conv1: ")
    tab.locator("#open-fast").click()
    assert "100 % of the call" in about.inner_text()
    assert end_of(about) <= DESK["height"]


def test_a_span_of_ours_shows_its_line_of_code(tab):
    tab.locator("#open-call").click()
    line = tab.locator(".timeline")
    line.focus()
    for _ in range(4):
        if "predict.<locals>" not in tab.locator("#opened .about").inner_text():
            line.press("ArrowDown")
    assert "model.predict(" in tab.locator("#opened .about pre").inner_text()
    assert tab.locator("#coding .here").count() == 1


@pytest.fixture
def site(tmp_path):
    """The address of a site that a server of files gives, and its folder."""
    for name, content in classroom_site([("small.jsonl", small())]).items():
        (tmp_path / name).write_bytes(content)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", tmp_path
        server.shutdown()


@in_each_browser
def test_a_site_loads_its_data_from_its_server(visit, site):
    address, _ = site
    tab = visit(address)
    tab.locator("#answer[data-digit='3']").wait_for()


def test_a_site_whose_data_are_missing_says_which(browser, site):
    address, folder = site
    (folder / "weights.bin").unlink()
    tab = browser.new_page()
    try:
        tab.goto(address)
        tab.get_by_text("weights.bin could not be loaded").wait_for(timeout=LATE_MS)
    finally:
        tab.close()


def test_the_address_of_the_class_is_shown(visit, tmp_path):
    tab = visit(written(tmp_path, small(), address="https://school.example/x").as_uri())
    tab.locator("#teach").click()
    tab.locator("#share").click()
    assert tab.locator("#address img").is_visible()
    assert tab.get_by_role("dialog", name="QR code").count() == 1
    assert "https://school.example/x" in tab.locator("#address").inner_text()


def test_the_last_output_stays_on_the_screen_below_an_answer(tab):
    tab.locator("#teach").click()
    tab.locator("#forward").click()
    tab.locator("#reveal").click()
    assert end_of(tab.locator("#outputs button").last) <= DESK["height"]


@pytest.mark.parametrize(("button", "minutes"), [("#teach", 60), ("#teach-short", 45)])
def test_a_lesson_has_some_minutes_to_spare(tab, button, minutes):
    clocks = [tab.locator("#timer").inner_text().split()[-1] for _ in steps(tab, button)]
    assert 0.8 * minutes < sum(int(clock.split(":")[0]) for clock in clocks) < minutes


def test_the_clock_of_a_step_runs(tab):
    tab.locator("#teach").click()
    tab.locator("#timer").click()
    tab.locator("#timer", has_text="Pause 4:").wait_for()


def test_times_with_lines_are_hidden_until_they_are_guessed(tab):
    for step in steps(tab):
        if step == "guess":
            before = tab.locator(".cost").first.evaluate("one => getComputedStyle(one).visibility")
            for question in tab.locator(".question").all():
                question.get_by_text("Show the answer").click()
        if step == "code":
            break
    assert before == "hidden"
    assert tab.locator(".cost").first.is_visible()


def test_the_lesson_is_left_for_the_whole_page(tab):
    tab.locator("#teach").click()
    tab.locator("#leave").click()
    assert tab.locator("#headline").is_visible()
    assert tab.locator("main > section:visible").count() > 5


def test_a_worksheet_is_printed_alone(tab):
    tab.evaluate("() => { print = () => {}; }")
    tab.locator("#print").click()
    tab.emulate_media(media="print")
    assert tab.locator("main > section:visible").evaluate_all("all => all.map(one => one.id)") == [
        "worksheet"
    ]
    assert tab.locator("#worksheet table tbody tr").count() == len(NAMES)
    assert tab.locator("#print").is_hidden()
    paper = tab.pdf(format="A4")
    assert paper.count(b"/Type /Page\n") == 1


def test_the_images_that_the_network_reads_wrongly_are_counted_and_drawn_with_their_notice(tab):
    kept = read_weights().metadata
    wrong = int(kept["test_images"]) - int(kept["test_correct"])
    said = tab.locator("#learned").inner_text()
    assert f"Of 10,000 test images it reads {wrong} wrongly" in said
    assert tab.locator(".wrong li canvas").count() == wrong
    assert "CC BY-SA 3.0" in said
