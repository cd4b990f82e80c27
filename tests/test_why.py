"""`why`: what a call is made of, counted on rungs whose making is known."""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lenet_bench.errors import ResultError
from lenet_bench.measure import anatomy
from lenet_bench.measure.anatomy import NATIVE, dissect
from lenet_bench.report.why import closely, table
from lenet_bench.terminal import Screen
from lenet_bench.why import Anatomy, Call, read, why, write

IMAGES = [np.full((28, 28), n / 10, np.float32) for n in range(3)]
SECONDS = 0.02
WIDE = Screen(columns=200, colour=False, unicode=True)


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


def test_what_one_more_image_adds_holds_no_cost_of_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_ns = 0

    def by_the_image(images: Any) -> None:
        nonlocal now_ns
        now_ns += 1_000_000 + 500_000 * len(images)

    clock = SimpleNamespace(perf_counter_ns=lambda: now_ns, perf_counter=lambda: now_ns / 1e9)
    monkeypatch.setattr(anatomy, "time", clock)
    assert anatomy._one_more_image_us(by_the_image, IMAGES, SECONDS) == 500


def test_a_rung_that_takes_no_batch_has_no_slope() -> None:
    assert taken_apart(single)["image_us"] is None
    assert Anatomy("single", call_us=3.0).fixed_us is None


def test_a_rung_of_the_ladder_is_taken_apart_in_its_own_process() -> None:
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


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"rungs": [{}]}', '{"rungs": [{"name": 1}]}'])
def test_a_damaged_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "why.json").write_text(content)
    with pytest.raises(ResultError, match=r"why\.json"):
        read(tmp_path / "why.json")


def test_a_narrow_terminal_keeps_the_name_and_the_times() -> None:
    anatomy = Anatomy("keras:predict_on_batch", call_us=700.0, image_us=50.0, tower=("a",) * 20)
    lines = list(table([anatomy], Screen(columns=40, colour=False, unicode=False)))
    assert all(len(line) <= 40 for line in lines)
    assert "700.0" in lines[1]


def test_a_function_that_only_hands_on_is_passed_over() -> None:
    chain = Call("a.b:f", 0.9, (Call("a.c:g", 0.9, (Call("a.d:h", 0.9),)),))
    lines = list(closely(Anatomy("x", tree=(Call("a:main", 1.0, (chain,)),)), WIDE))
    assert [line.split()[-1] for line in lines[-2:]] == ["a:main", "a…d:h"]


def test_the_command_prints_the_table_and_the_tree() -> None:
    command = [sys.executable, "-m", "lenet_bench", "why", "numpy", "--tree"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Python calls" in done.stdout
    assert "lenet_bench…numpy:NumPy.infer" in done.stdout


def test_the_command_answers_in_json() -> None:
    command = [sys.executable, "-m", "lenet_bench", "why", "numpy", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (numpy,) = json.loads(done.stdout)
    assert numpy["fixed_us"] <= numpy["call_us"]


def test_the_command_refuses_what_is_no_rung() -> None:
    command = [sys.executable, "-m", "lenet_bench", "why", "kerass"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no rung is called 'kerass'; did you mean keras?" in done.stderr


def test_what_was_asked_for_and_cannot_run_is_told_with_its_reason() -> None:
    absent = [Anatomy(name, "unavailable", f"{name} needs a GPU") for name in ("cuda", "cupy")]
    lines = list(table(absent, WIDE, named=["cupy"]))
    assert "cupy: unavailable: cupy needs a GPU" in lines
    assert any(line.startswith("not at hand: cuda;") for line in lines)


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lenet_bench", "why", "numpy", "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "expected a file to write, found a directory" in done.stderr
