"""The classroom's first screen, its 1,000 images and its lesson, in a real browser."""

import json

import numpy as np
import pytest
from browsers import DESK, draw_line, in_each_browser
from lenet_bench.mnist import Digits
from lenet_bench.results import Batch
from lenet_bench.show.classroom import classroom_page
from lenet_bench.show.classroom.learnt import wrong_images
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
def test_a_sample_is_answered_when_the_page_opens(see):
    tab = see()
    assert tab.locator("#answer").get_attribute("data-digit") == "3"
    assert "sample" in tab.locator("#hint").inner_text()


def test_the_first_stroke_takes_the_sample_away(see):
    tab = see()
    draw_line(tab, [(0.5, 0.15), (0.5, 0.85)])
    tab.locator("#answer[data-digit='1']").wait_for()
    tab.locator("#undo").click()
    tab.locator("#answer:not([data-digit])").wait_for(state="attached")


def test_the_first_screen_says_in_figures_what_it_is_about(see):
    said = see().locator(".headline").inner_text()
    assert "20 µs with our own C++ kernels" in said
    assert "12.6 ms with Keras predict: 630 times as long" in said


def test_the_first_screen_has_all_from_the_drawing_to_the_lesson(see):
    tab = see()
    for part in ("#draw", "#legend", "#layers", "#outputs", "#answer", "#teach"):
        box = tab.locator(part).bounding_box()
        assert box["y"] + box["height"] <= DESK["height"], part


def times(tab):
    return dict(zip(NAMES, tab.locator("#by-images .time").all_inner_texts(), strict=True))


@in_each_browser
def test_a_thousand_images_cost_less_in_large_calls(see):
    tab = see()
    assert times(tab)["keras"].startswith("12.6 ms · 630")
    tab.locator("#by-images button", has_text="512").click()
    assert times(tab)["keras"].startswith("34.6 µs")  # 12,590 / 512 + 10
    told = tab.locator("#by-images .outcome").inner_text()
    assert "take 34.6 ms with Keras predict, and one at a time 12.6 s" in told


def test_between_measured_sizes_the_page_says_about(see):
    tab = see()
    tab.locator("#images").fill("100")  # a third of the way: 10 images
    assert tab.locator("#by-images").get_attribute("data-images") == "10"
    assert times(tab)["keras"].startswith("1.27 ms")  # 12,590 / 10 + 10
    assert "about" in tab.locator("#by-images .outcome").inner_text()


def test_nothing_is_said_of_more_images_than_were_measured(see):
    tab = see()
    tab.locator("#images").fill("300")
    assert set(times(tab).values()) == {"not measured"}
    assert "more than 512" in tab.locator("#by-images .outcome").inner_text()


def test_a_result_without_throughput_says_so(visit, tmp_path):
    found = result(*map(blocks, NAMES, TIMES_US))
    tab = visit(written(tmp_path, found).as_uri())
    tab.get_by_text("This result has no throughput").wait_for()


def test_with_a_larger_network_an_api_costs_less(see):
    tab = see()
    keras = tab.locator("#by-network li", has_text="Keras").locator(".time")
    first = keras.inner_text()
    tab.locator("#sizes").press("End")
    last = keras.inner_text()
    ratios = [float(text.split("·")[1].split()[0]) for text in (first, last)]
    assert ratios[0] > 1.5 * ratios[1]


def test_a_card_says_who_calls_whom(see):
    card = see().locator(".cards li", has_text="Keras predict (Python)")
    assert "calls TensorFlow, which calls TensorFlow's kernels" in card.inner_text()


SMALL = """() => [...document.querySelectorAll("body *")].filter(one => one.checkVisibility()
    && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    && parseFloat(getComputedStyle(one).fontSize) < 20).map(one => one.outerHTML.slice(0, 150))"""


def steps(tab):
    """Each step of the lesson, once it is on the screen."""
    tab.locator("#teach").click()
    while True:
        yield tab.locator("html").get_attribute("data-step")
        if tab.locator("#forward").is_disabled():
            break
        tab.locator("#forward").click()


def test_no_type_of_the_lesson_is_below_20_pixels(see):
    tab = see()
    assert [(step, found) for step in steps(tab) if (found := tab.evaluate(SMALL))] == []


@pytest.mark.parametrize("traced", ["#outputs button >> nth=3", "#layer-pool1"])
def test_no_type_of_a_trace_in_the_lesson_is_below_20_pixels(see, traced):
    tab = see()
    tab.locator("#teach").click()
    tab.locator(traced).click(position={"x": 10, "y": 10})
    assert tab.locator("#origin").is_visible()
    assert tab.evaluate(SMALL) == []


@in_each_browser
def test_a_step_shows_one_section_and_hides_its_answer(see):
    tab = see()
    seen = []
    for step in steps(tab):
        assert tab.locator("main > section:visible").count() == 1, step
        assert tab.locator("#found").is_hidden(), step
        tab.locator("#reveal").click()
        seen.append(tab.locator("#found").inner_text())
    assert len(set(seen)) == 8


def test_the_last_output_stays_on_the_screen_below_an_answer(see):
    tab = see()
    tab.locator("#teach").click()
    tab.locator("#forward").click()
    tab.locator("#reveal").click()
    box = tab.locator("#outputs button").last.bounding_box()
    assert box["y"] + box["height"] <= DESK["height"]


def test_the_lesson_lasts_60_minutes(see):
    tab = see()
    clocks = [tab.locator("#timer").inner_text().split()[-1] for _ in steps(tab)]
    assert sum(int(clock.split(":")[0]) for clock in clocks) == 60


def test_the_clock_of_a_step_runs(see):
    tab = see()
    tab.locator("#teach").click()
    tab.locator("#timer").click()
    tab.locator("#timer", has_text="Pause 7:").wait_for()


def test_times_with_lines_are_hidden_until_they_are_guessed(see):
    tab = see()
    for step in steps(tab):
        if step == "guess":
            before = tab.locator(".cost").first.evaluate("one => getComputedStyle(one).visibility")
            for question in tab.locator(".question").all():
                question.get_by_text("Show the answer").click()
        if step == "code":
            break
    assert before == "hidden"
    assert tab.locator(".cost").first.is_visible()


def test_the_lesson_is_left_for_the_whole_page(see):
    tab = see()
    tab.locator("#teach").click()
    tab.locator("#leave").click()
    assert tab.locator("#headline").is_visible()
    assert tab.locator("main > section:visible").count() > 5


def test_a_worksheet_is_printed_alone(see):
    tab = see()
    tab.evaluate("() => { print = () => {}; }")
    tab.locator("#print").click()
    tab.emulate_media(media="print")
    assert tab.locator("main > section:visible").evaluate_all("all => all.map(one => one.id)") == [
        "worksheet"
    ]
    assert tab.locator("#worksheet table tbody tr").count() == len(NAMES)
    assert tab.locator("#print").is_hidden()


def test_the_page_says_how_often_the_network_is_wrong(see):
    kept = read_weights().metadata
    wrong = int(kept["test_images"]) - int(kept["test_correct"])
    said = see().locator("#learned").inner_text()
    assert f"Of 10,000 test images it reads {wrong} wrongly" in said


def test_the_page_counts_which_digits_are_read_as_which(see):
    tab = see()
    for label, answer, count in json.loads(read_weights().metadata["test_wrong"]):
        row = tab.locator(".confusions tbody tr").nth(label)
        assert row.locator("td").nth(answer).inner_text() == str(count)


def test_wrong_images_are_drawn_where_the_page_has_them(visit, tmp_path):
    digits = Digits(np.zeros((3, 28, 28), np.uint8), np.full(3, 9, np.uint8))
    wrong = wrong_images(digits)  # blank paper is no nine
    tab = visit(written(tmp_path, small(), wrong=wrong).as_uri())
    tab.locator(".wrong li", has_text="is 9, says").nth(2).wait_for()
