"""`why`: what a call is made of, counted on backends whose making is known."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lenet_bench.errors import ResultError
from lenet_bench.measure import anatomy
from lenet_bench.measure.anatomy import NATIVE, dissect
from lenet_bench.questions.why import Anatomy, Call, read, why, write
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.terminal.why import calls as table
from lenet_bench.show.terminal.why import closely

IMAGES = [np.full((28, 28), n / 10, np.float32) for n in range(3)]
SECONDS = 0.02
WIDE = Screen(columns=200, colour=False)


def one(_: object) -> None:
    two()
    two()


def two() -> None:
    len(())


def spin(_: object) -> None:
    until = time.perf_counter() + 0.002
    while time.perf_counter() < until:
        pass


def nap(_: object) -> None:
    time.sleep(0.001)


def single(images: Any) -> None:
    if images.ndim == 3:
        raise ValueError("one image, please")


def taken_apart(infer: Any) -> dict[str, Any]:
    return dissect(infer, IMAGES, SECONDS)


def test_python_calls_are_counted_by_package() -> None:
    assert taken_apart(one)["python_calls"] == {"test_why": 3}


def test_calls_of_what_is_no_python_are_counted_apart() -> None:
    assert taken_apart(one)["builtin_calls"] == 2


def test_the_deepest_way_down_is_known() -> None:
    found = taken_apart(one)
    assert (found["depth"], found["tower"]) == (2, ["test_why"])


def test_native_code_makes_no_python_call() -> None:
    found = taken_apart(np.sum)
    assert taken_apart(np.copy)["tower"] == ["numpy"]
    assert taken_apart(memoryview)["python_calls"] == {}
    assert found["python_calls"]["numpy"] > 0


def test_time_in_native_code_alone_is_called_so() -> None:
    assert set(taken_apart(memoryview)["shares"]) == {NATIVE}


def test_a_call_that_waits_is_not_busy() -> None:
    assert taken_apart(nap)["busy"] < taken_apart(spin)["busy"]
    assert taken_apart(nap)["waits"] >= 1


def test_the_tree_says_who_calls_whom() -> None:
    def outer(image: object) -> None:
        spin(image)

    (top,) = taken_apart(outer)["tree"]
    assert top["call"].endswith("outer")
    assert top["calls"][0]["call"] == "test_why:spin"
    assert top["share"] >= top["calls"][0]["share"] > 0.5


def by_batch(monkeypatch: pytest.MonkeyPatch, us: Callable[[int], float]) -> dict[str, Any]:
    """What is known of calls that take so long with so many images, by a clock of their own."""
    now_ns = 0

    def infer(images: Any) -> None:
        nonlocal now_ns
        now_ns += round(1000 * us(len(images) if images.ndim == 3 else 1))

    clock = SimpleNamespace(perf_counter_ns=lambda: now_ns, perf_counter=lambda: now_ns / 1e9)
    monkeypatch.setattr(anatomy, "time", clock)
    return anatomy._by_batch(infer, IMAGES, seconds=2)


def test_a_call_is_one_more_image_and_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    found = by_batch(monkeypatch, lambda images: 1000 + 500 * images)
    assert found == {"image_us": 500, "fixed_us": 1000, "unknown": None}


def test_of_a_loop_over_the_images_the_rest_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    found = by_batch(monkeypatch, lambda images: 500 * images)
    assert (found["image_us"], found["fixed_us"]) == (500, None)
    assert "whole call" in found["unknown"]


def test_of_times_that_scatter_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine: some calls take a time slice longer, whatever is in them."""
    random = np.random.default_rng(3)
    found = by_batch(monkeypatch, lambda images: 20 * images + random.choice([0, 4000]))
    assert (found["image_us"], found["fixed_us"]) == (None, None)
    assert "vary" in found["unknown"]


def test_calls_that_are_interrupted_now_and_then_do_not_hide_the_slope(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(3)
    late = [4000] + [0] * 9
    found = by_batch(monkeypatch, lambda images: 100 + 20 * images + random.choice(late))
    assert (found["image_us"], found["fixed_us"]) == (pytest.approx(20), pytest.approx(100))


def test_what_takes_no_batch_says_so() -> None:
    found = taken_apart(single)
    assert (found["image_us"], found["fixed_us"]) == (None, None)
    assert "no batch" in found["unknown"]


def test_what_is_not_known_and_what_disturbed_the_calls_are_said_below_the_table() -> None:
    found = [
        Anatomy("numpy", call_us=100.0, image_us=60.0, fixed_us=40.0),
        Anatomy("fused", call_us=20.0, unknown="it loops", interrupted_per_s=150.0),
    ]
    text = " ".join(" ".join(table(found, WIDE)).split())
    assert "fused: it loops" in text
    assert "numpy: " not in text
    assert "150 times a second" in text
    assert "times a second" not in " ".join(table(found[:1], WIDE))


def test_a_backend_of_all_backends_is_taken_apart_in_its_own_process() -> None:
    (numpy,) = why(["numpy"], seconds=SECONDS)
    assert numpy.status == "ok"
    assert numpy.python_calls["lenet_bench"] > 3
    assert numpy.tower[:2] == ("lenet_bench", "numpy")
    assert numpy.call_us > 0


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    found = [
        Anatomy(
            "numpy", call_us=100.0, image_us=60.0, tree=(Call("a:f", 1.0, (Call("b:g", 0.5),)),)
        )
    ]
    write(tmp_path / "new" / "why.json", found, threads=1)
    assert read(tmp_path / "new" / "why.json") == found
    assert json.loads((tmp_path / "new" / "why.json").read_text())["machine"]["processor"]


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"backends": [{}]}', '{"backends": [{"name": 1}]}']
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "why.json").write_text(content)
    with pytest.raises(ResultError, match=r"why\.json"):
        read(tmp_path / "why.json")


def test_a_narrow_terminal_keeps_the_name_and_the_times() -> None:
    anatomy = Anatomy("keras:predict_on_batch", call_us=700.0, image_us=50.0, tower=("a",) * 20)
    lines = list(table([anatomy], Screen(columns=40, colour=False)))
    assert all(len(line) <= 40 for line in lines)
    assert "700 µs" in lines[1]


def test_a_function_that_only_hands_on_is_missing() -> None:
    chain = Call("a.b:f", 0.9, (Call("a.c:g", 0.9, (Call("a.d:h", 0.9),)),))
    lines = list(closely(Anatomy("x", tree=(Call("a:main", 1.0, (chain,)),)), WIDE))
    assert [line.split()[-1] for line in lines[-2:]] == ["a:main", "a…d:h"]


def test_the_command_prints_the_table_and_the_tree() -> None:
    command = [sys.executable, "-m", "lenet_bench", "why", "numpy", "--tree"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Python calls" in done.stdout
    assert "lenet_bench…numpy:" in done.stdout


def test_the_command_answers_in_json() -> None:
    command = [sys.executable, "-m", "lenet_bench", "why", "numpy", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (numpy,) = json.loads(done.stdout)
    assert numpy["fixed_us"] or numpy["unknown"]


def test_the_command_refuses_what_is_no_backend() -> None:
    command = [sys.executable, "-m", "lenet_bench", "why", "kerass"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "did you mean keras?" in done.stderr


def test_what_was_asked_for_and_cannot_run_is_told_with_its_reason() -> None:
    absent = [Anatomy(name, "unavailable", f"{name} needs a GPU") for name in ("cuda", "cupy")]
    lines = list(table(absent, WIDE, named=["cupy"]))
    assert "cupy: unavailable: cupy needs a GPU" in lines
    assert "cuda;" in lines[-1]


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lenet_bench", "why", "numpy", "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert str(tmp_path) in done.stderr
