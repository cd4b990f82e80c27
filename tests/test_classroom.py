"""The classroom's page as a file: what it holds, what it says of a result, what it refuses."""

import json
import os
import re
import zlib
from base64 import b64decode
from itertools import combinations
from pathlib import Path

import pytest
from classroom import FOLDER
from colours import contrast
from lenet_bench.cost import lines_of_code
from lenet_bench.errors import ResultError
from lenet_bench.mnist import read_mnist
from lenet_bench.results import Other, read_result
from lenet_bench.results.breakdown import UNEXPLAINED, breakdowns, kind
from lenet_bench.show.classroom import classroom_page, classroom_site, published
from lenet_bench.show.classroom.learnt import learnt, wrong_images
from lenet_bench.show.classroom.lesson import lesson
from lenet_bench.show.classroom.opened import opened
from lenet_bench.weights import default_path
from sample_results import blocks, experiments, failed, result, sample_of_all

HOSTILE = "</script><script>window.hacked = 1</script>\x00&"
NAMES = ("fused", "onednn", "tensorflow:xla", "keras:predict_on_batch", "keras")


def small():
    return result(*(blocks(name, 20 * 4**n) for n, name in enumerate(NAMES)))


def unpacked(page, name):
    packed = re.search(f'id="{name}">(.*?)</script>', page)[1]
    return zlib.decompress(b64decode(packed))


@pytest.fixture(scope="module")
def page():
    return classroom_page([("all.jsonl", sample_of_all())])


def test_a_page_of_all_backends_is_at_most_3_mb_with_the_weights(page):
    assert len(page.encode()) < 3_000_000
    assert unpacked(page, "weights") == default_path().read_bytes()


def test_a_page_asks_nobody(page):
    written = re.sub(r"data:text/javascript;base64,[\w+/=]*", "", page).replace("&#39;", "'")
    assert "connect-src 'none'" in written
    assert re.findall(r'\b(?:src|href)="(?!#|data:,")', written) == []
    assert "://" not in written


def test_a_page_that_is_served_asks_its_server():
    served = classroom_page([("small.jsonl", small())], served=True).replace("&#39;", "'")
    assert "connect-src 'self'" in served
    assert json.loads(unpacked(served, "lesson"))["served"] is True


def test_every_sentence_is_in_the_one_file_that_others_translate(page):
    shown = re.search("<body>(.*)</body>", page, re.S)[1]
    shown = re.sub(r"<(script|noscript).*?</\1>", "", shown, flags=re.S)
    assert re.sub(r"<[^>]*>|\s", "", shown) == ""


def test_a_site_begins_with_less_than_300_kb_and_asks_its_server():
    site = classroom_site(published())
    first = (zlib.compress(site["index.html"]), site["lesson.bin"], site["kernels.bin"])
    assert sum(map(len, first)) < 300_000  # as a server sends it; the weights follow
    assert "connect-src &#39;self&#39;" in site["index.html"].decode()
    assert "&#39;self&#39; data:" not in site["index.html"].decode()
    assert zlib.decompress(site["weights.bin"]) == default_path().read_bytes()
    assert sum(map(len, site.values())) < 3_000_000


def test_the_address_of_a_class_is_a_picture_in_the_page():
    page = classroom_page([("small.jsonl", small())], address="https://school.example/lesson/")
    address = json.loads(unpacked(page, "lesson"))["address"]
    assert address["url"] == "https://school.example/lesson/"
    assert address["image"].startswith("data:image/svg+xml")


def test_the_wrong_images_are_those_that_the_weights_read_wrongly():
    folder = os.environ.get("LENET_BENCH_MNIST")
    if not folder:
        pytest.skip("LENET_BENCH_MNIST is not set")
    shown = learnt()
    assert wrong_images(read_mnist("test", Path(folder))) == {
        name: shown[name] for name in ("notice", "wrong")
    }


def test_the_page_has_every_wrong_image_and_its_notice():
    shown = learnt()
    assert len(shown["wrong"]) == shown["test_images"] - shown["test_correct"]
    assert "CC BY-SA 3.0" in shown["notice"]


def test_the_spans_of_an_opened_call_lie_in_it_and_its_kernels_are_the_layers():
    for call in opened()["calls"]:
        assert len(call["spans"]) <= 1000
        ends = [one["at"] + one["us"] for one in call["spans"]]
        assert max(ends) == pytest.approx(call["us"], abs=1)
        below = max(one["us"] for one in call["spans"] if one["depth"] == 1 and not one["track"])
        assert below > 0.95 * call["us"]  # what was recorded is the whole call
        stages = [one["stage"] for one in call["spans"] if "stage" in one]
        assert stages == ["conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "softmax"]


def test_the_lesson_has_every_timed_backend_in_order():
    counted = blocks("fused", 20, lines_of_code=77)
    rows = (blocks("keras", 80), counted, failed("torch", "crashed", "killed"))
    fused, keras = lesson([("small.jsonl", result(*rows))])["backends"]
    assert (fused["name"], fused["lines"]) == ("fused", 77)
    assert (keras["name"], keras["lines"]) == ("keras", lines_of_code("keras"))
    assert fused["us"] == pytest.approx(20, abs=0.1)


def test_a_run_of_why_says_what_the_calls_time_goes_to(pytestconfig):
    apart = next((pytestconfig.rootpath / "results/why").glob("*.jsonl.gz"))
    found = lesson([("small.jsonl", small()), (apart.name, read_result(apart))])
    keras = next(one for one in found["backends"] if one["name"] == "keras")
    shares = {part["kind"]: part["share"] for part in keras["parts"]}
    assert shares["preparing"] > 0.8 > 0.01 > shares["mathematics"]
    assert sum(shares.values()) == pytest.approx(1, abs=0.01)
    assert keras["apart_on"]


def test_every_call_that_races_on_the_published_page_is_taken_apart():
    found = lesson(published())
    apart = {one["name"] for one in found["backends"] if "parts" in one}
    assert [name for name in found["racing"] if name not in apart] == []


def test_our_own_kernels_are_apart_by_an_empty_call():
    (fused,) = (
        one for one in lesson([("small.jsonl", small())])["backends"] if one["name"] == "fused"
    )
    shares = {part["kind"]: part["share"] for part in fused["parts"]}
    assert shares["mathematics"] > 0.9 > 0.1 > shares["handing over"] > 0


def test_every_part_that_was_published_is_of_a_kind(pytestconfig):
    paths = [*(pytestconfig.rootpath / "results/why").rglob("*.jsonl.gz")]
    apart = [one for path in paths for one in breakdowns(read_result(path))]
    parts = {part.name for one in apart for part in one.parts}
    assert [name for name in parts - {UNEXPLAINED} if kind(name) == UNEXPLAINED] == []


def test_the_colours_of_the_race_differ_to_those_who_see_no_hue():
    style = (FOLDER / "classroom.css").read_text()
    names = ("mathematics", "handing-over", "preparing")
    found = [re.search(rf"\.{name} {{ background: (#\w+)", style)[1] for name in names]
    assert all(contrast(one, other) > 1.5 for one, other in combinations(found, 2))


def test_no_file_is_named_on_the_page():
    page = classroom_page([("of-my-school.jsonl.gz", small())])
    assert "of-my-school" not in unpacked(page, "lesson").decode()


def test_what_a_result_says_is_data():
    page = classroom_page([("hostile.jsonl", result(blocks(HOSTILE, 20), blocks("fused", 40)))])
    assert "hacked" not in page
    assert "hacked" in unpacked(page, "lesson").decode()


def test_a_result_with_nothing_timed_is_refused():
    with pytest.raises(ResultError, match="was timed"):
        classroom_page([("nothing.jsonl", result(failed("torch", "crashed", "killed")))])


def test_the_race_and_its_parts_are_lenets_alone():
    apart = blocks("keras", 40_000, experiments=experiments(python=30_000))
    alexnet = result(apart, blocks("fused", 7_000), other=Other("alexnet"))
    found = lesson([("net-alexnet.jsonl", alexnet), ("net-lenet.jsonl", small())])
    (keras,) = (one for one in found["backends"] if one["name"] == "keras")
    assert keras["us"] == pytest.approx(20 * 4**4, rel=0.01)
    assert "parts" not in keras
    assert [one["network"] for one in found["networks"]["sizes"]] == ["lenet", "alexnet"]
    with pytest.raises(ResultError, match=r"net-alexnet\.jsonl: .* alexnet, not of LeNet"):
        lesson([("net-alexnet.jsonl", alexnet)])


def test_the_lesson_plan_asks_what_the_page_asks(pytestconfig):
    plan = (pytestconfig.rootpath / "docs/classroom.md").read_text()
    after = (FOLDER / "strings.js").read_text().partition("    steps: {\n")[2]
    asked = re.findall(r'question: "(.*)"', after.partition("\n  },")[0])
    assert len(asked) == 10
    assert [question for question in asked if question not in " ".join(plan.split())] == []


def test_the_lesson_plan_has_the_minutes_of_the_page(pytestconfig):
    plan = (pytestconfig.rootpath / "docs/classroom.md").read_text()
    told = re.findall(r"^## \d+\. .* \((\d) minutes(, long)?\)$", plan, re.MULTILINE)
    script = (FOLDER / "teach.js").read_text()
    assert told == re.findall(r"minutes: (\d)(, long)?(?![^}]*served)", script)


def test_the_lesson_plan_names_what_the_page_has(pytestconfig):
    """Each sentence in bold type is one that the page shows."""
    folder = pytestconfig.rootpath
    sentences = (folder / "python/lenet_bench/show/classroom/strings.js").read_text()
    named = re.findall(r"\*\*(.+?)\*\*", (folder / "docs/classroom.md").read_text())
    assert len(named) >= 5
    assert [name for name in named if f'"{name}"' not in sentences] == []
