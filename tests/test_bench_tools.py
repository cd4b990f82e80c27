"""Tools of bench/: other settings, other conditions, two backends, a GPU."""

import ast
import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import lenet_bench.backends
import pytest
from conftest import ROOT
from lenet_bench import CompareOptions, compare
from lenet_bench.cli.compare import compare as command
from lenet_bench.networks.graph import Draft
from lenet_bench.registry import FLOAT32, find, names, precision, tolerance
from lenet_bench.results import read_result
from lenet_bench.results.warnings import REMEDIES
from processes import alive, linux, python, ran, wait_for
from sample_results import blocks, failed, result, timed_starts

sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT))
import conditions
import gpu
import readme
from settings.__main__ import entry
from settings.idle import IDLE
from settings.tried import SETTINGS
from steps import found, seen_again
from tables import alternatives, compared, least_s, tried_beside


def test_a_setting_is_measured_beside_the_registrys_ways():
    pytest.importorskip("onnxruntime")
    tried = entry("onnxruntime", "no_arena")
    run = compare(CompareOptions(("onnxruntime", tried), rounds=1))
    assert [(row.name, row.status) for row in run.backends] == [
        ("onnxruntime", "ok"),
        ("onnxruntime/no_arena", "ok"),
    ]


@pytest.mark.parametrize("settings", [SETTINGS, IDLE], ids=["tried", "idle"])
def test_each_setting_calls_a_function_of_the_backends_file(settings):
    for backend, own in settings.items():
        calls_a_function(backend, own)


def calls_a_function(backend, own):
    folder = Path(lenet_bench.backends.__file__).parent  # type: ignore[attr-defined]
    defined = functions(folder / f"{find(backend)[0].module}.py")
    assert {setting.function for setting in own.values()} <= defined


def functions(path):
    """The functions of a file; read, since its API may live in another environment."""
    body = ast.parse(path.read_text()).body
    return {one.name for one in body if isinstance(one, ast.FunctionDef)}


BECAME_A_VARIANT = {"eager_contiguous"}


@pytest.mark.parametrize("path", sorted((ROOT / "results/settings").iterdir()), ids=str)
def test_each_measured_setting_has_its_sentence(path):
    backend = path.name.removesuffix(".jsonl.gz")
    result = read_result(path)
    measured = {row.name.partition("/")[2] for row in result.backends} - {""}
    assert measured - BECAME_A_VARIANT <= set(alternatives(backend))
    assert tried_beside(result)[2]


DISPATCHED = """
import jax
from bench.settings import jax__async_dispatch
from lenet_bench.weights import read_weights
jax__async_dispatch(read_weights(), threads=1)
product, large = jax.jit(lambda x: x @ x @ x), jax.numpy.ones((1500, 1500)).block_until_ready()
print(any(not product(large).is_ready() for _ in range(9)))
"""


def test_asynchronous_dispatch_returns_before_the_answer_is_ready():
    """JAX asks for it once, when it first computes."""
    pytest.importorskip("jax")
    assert python(DISPATCHED, cwd=ROOT).stdout == "True\n"


CONCRETE = """
import tensorflow as tf
from bench.settings import keras__function_concrete
from lenet_bench.weights import read_weights
program = keras__function_concrete(read_weights(), threads=1).inside()["program"]
print(isinstance(program, tf.types.experimental.ConcreteFunction))
"""


def test_a_concrete_function_is_what_is_called():
    pytest.importorskip("tensorflow")
    pytest.importorskip("keras")
    assert python(CONCRETE, cwd=ROOT).stdout == "True\n"


def test_only_what_computes_in_less_than_float32_may_differ_by_much():
    for name in names():
        assert precision(name) != "float32" or tolerance(name) <= 20 * FLOAT32


def test_of_two_backends_the_ratio_of_their_medians_is_given_with_its_interval():
    run = result(blocks("one", 90), blocks("other", 60))
    cells, verdict = compared(run.backend("one"), run.backend("other"), run)
    assert cells == ["90.0 µs", "60.0 µs", "0.67", "0.67"]
    assert verdict == "faster"


def test_of_a_backend_without_times_there_is_no_ratio():
    run = result(blocks("one", 90), failed("other", "crashed", "it fell"))
    cells, verdict = compared(run.backend("one"), run.backend("other"), run)
    assert cells == ["90.0 µs", "-", "-", "-"]
    assert verdict != "faster"


def test_the_limit_of_a_network_is_a_sum_over_its_layers():
    draft = Draft((1, 10, 10))
    draft.add("conv", out=5, side=2)
    draft.add("fc", out=3)
    network = draft.done("limited", "a layer that multiplies, and one that reads")
    layers = {layer.kind: layer for layer in network.computed}
    conv, fc = layers["conv"].multiply_adds, layers["fc"].multiply_adds
    by_reading = 4 * (fc + 3) / 100  # a weight is used once, and it has three biases
    assert least_s(network, multiplied=50, read=100) == conv / 50 + by_reading


def test_the_run_on_a_gpu_times_each_backend_once():
    timed = [name for those in gpu.groups().values() for name in those]
    assert sorted(timed) == sorted(names(device="gpu"))


def test_the_run_on_a_gpu_names_backends_that_exist():
    chosen = {*gpu.FIRST, *gpu.APART, *gpu.BESIDE, *gpu.ON_NETWORKS, *gpu.ON_BATCHES, *gpu.PACED}
    assert chosen | {gpu.AS_INSTALLED, *gpu.WITH_BARRIERS} <= {*names(device="gpu")}


@linux
def test_the_wheels_that_are_carried_are_installed_where_they_are_others(tmp_path):
    """Also those of one commit, which a tree may have changed. This Python has no pip."""
    python = tmp_path / "image/bin/python"
    ran(sys.executable, "-m", "venv", "--without-pip", tmp_path / "image")
    kit, site = tmp_path / "kit", tmp_path / "lenet-bench/gpu-site"
    kit.mkdir()
    (kit / "commit").write_text("0123456-dirty")
    about = {
        "carried-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n",
        "carried-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: carried\nVersion: 1\n",
        "carried-1.dist-info/RECORD": "",
    }

    def installed(text):
        """Whether bench/gpu.sh installs a wheel with that text."""
        with ZipFile(kit / "carried-1-py3-none-any.whl", "w") as wheel:
            for name, said in {"carried.py": text, **about}.items():
                wheel.writestr(ZipInfo(name), said)  # of one date
        words = ("--wheels", kit, "--python", python, "--output", tmp_path, "--steps", "infer")
        variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        done = ran(ROOT / "bench/gpu.sh", *words, code=1, env=variables)  # it has no NumPy
        assert (site / "carried.py").read_text() == text, done.stdout
        return "== install" in done.stdout

    assert [installed(text) for text in ("one", "one", "other")] == [True, False, True]


def test_the_sanitizer_is_left_out_without_a_compiler(monkeypatch, tmp_path, capsys):
    (tmp_path / "compute-sanitizer").touch(mode=0o755)
    monkeypatch.setattr("cuda_setting.built_major", lambda: 13)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert gpu.sanitize(tmp_path, ["cuda"]) == 0
    assert "no C++ compiler" in capsys.readouterr().out


@pytest.mark.parametrize("tool", ["free_threaded", "limit", "readme"])
def test_a_tool_does_nothing_where_it_is_asked_wrongly(tool):
    done = ran(sys.executable, ROOT / f"bench/{tool}.py", "--chek", code=2)
    assert done.stdout == ""
    assert "--chek" in done.stderr


def test_a_stale_picture_is_seen_where_a_release_is_checked(monkeypatch):
    for name in ("shipped", "texts"):
        monkeypatch.setattr(readme, name, list)
    monkeypatch.setattr(readme, "built", lambda: [(ROOT / "docs/pictures/none.svg", b"drawn")])
    monkeypatch.setattr(sys, "argv", ["readme.py", "--check"])
    readme.main()
    sys.argv.append("--release")
    with pytest.raises(SystemExit, match=r"none.svg is stale; .* bench/readme.py --release"):
        readme.main()


#: The steps that time, and what they may.
TIMED = ("ours", "frameworks", "rest", *gpu.NETWORKS, "batches", "paced")


@pytest.mark.parametrize("step", TIMED)
def test_one_slow_answer_leaves_a_step_on_a_gpu_most_of_its_time(step):
    options = gpu.comparison(step, list, gpu.groups(), 60.0)
    assert options
    assert options.timeout_s <= 20


@pytest.mark.parametrize(("asked", "is_named"), [([], False), (["tensorflow@gpu"], True)])
def test_on_a_gpu_a_framework_that_is_absent_is_verified_where_it_is_asked_for(
    asked, is_named, monkeypatch, tmp_path
):
    said = []
    monkeypatch.setattr(gpu, "why_absent", lambda _: "it is not installed")
    monkeypatch.setattr(gpu, "lenet_bench", lambda *words: said.extend(words))
    monkeypatch.setattr(sys, "argv", ["gpu.py", "verify", str(tmp_path), "60", *asked])
    gpu.main()
    assert ("tensorflow@gpu" in said) == is_named
    assert ("cudnn" in said) != is_named  # of a system's toolkit, which is no package


#: gpu.py with a program in compute-sanitizer's place.
LOOK = """
import asyncio, sys
from pathlib import Path
import gpu
file = Path(sys.argv[2])
print(asyncio.run(gpu.look(sys.argv[1], Path("driver"), sys.argv[3:], file, {"FILE": str(file)})))
"""


@pytest.fixture
def look(tmp_path):
    """Start it on these backends, with what the program does; what it writes is beside it."""
    started = []

    def start(does, *backends):
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\ncd {tmp_path}\n{does}\n")
        program.chmod(0o755)
        command = (sys.executable, "-c", LOOK, program, tmp_path / "said", *backends)
        started.append(subprocess.Popen(list(map(str, command)), cwd=ROOT / "bench"))
        return started[0]

    yield start
    started[0].kill()
    started[0].wait()


def looks(folder):
    return [line.split()[1:] for line in (folder / "said").read_text().splitlines()]


def test_the_tools_that_have_not_looked_yet_go_first(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "AT_ONCE", 1)
    said = tmp_path / "said"
    backends = ("cuda", "cudnn")
    assert asyncio.run(gpu.look("true", Path("driver"), backends, said, {})) == 0
    *rest, first, last = looks(tmp_path)
    assert [tool for tool, _ in rest] == ["racecheck", "synccheck", "initcheck"]
    assert [first, last] == [["memcheck", "cuda"], ["memcheck", "cudnn"]]


@linux
def test_what_a_tool_found_is_written_when_it_ends(look, tmp_path):
    waits = 'case "$2" in racecheck) until grep -q memcheck "$FILE"; do sleep 0.01; done ;; esac'
    look(waits, "cuda").wait()
    assert looks(tmp_path)[-1] == ["racecheck", "cuda"]


@linux
def test_tools_end_with_the_step(look, tmp_path):
    process = look("sleep 600 & echo $$ $! >> ids; wait", "cuda", "cuda:mapped", "cuda:persistent")
    ids = tmp_path / "ids"
    wait_for(lambda: ids.exists() and len(ids.read_text().splitlines()) == gpu.AT_ONCE)
    process.terminate()
    process.wait(30)
    wait_for(lambda: not any(map(alive, map(int, ids.read_text().split()))))


def calls_in(name):
    return re.findall(r"--steps ([\w,+]+)", (ROOT / name).read_text())


@pytest.fixture
def bounds():
    """The seconds of each step of gpu.sh."""
    found = re.findall(r"\[(\w+)\]=(\d+)", (ROOT / "bench/gpu.sh").read_text())
    return {step: int(seconds) for step, seconds in found}


def test_a_call_of_gpu_sh_that_is_named_has_time_for_its_steps(bounds):
    calls = calls_in("docs/gpu.md")
    assert calls == calls_in("Makefile")
    for call in calls:
        longest = [max(bounds[one] for one in step.split("+")) for step in call.split(",")]
        assert sum(longest) <= 540 - 10 - 30  # to save what is measured, and to start


def test_docs_say_the_bounds_of_gpu_sh(bounds):
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", (ROOT / "docs/gpu.md").read_text(), re.M)
    assert {step: int(seconds) for step, seconds in rows} == bounds


@linux
def test_a_step_of_gpu_sh_has_more_where_there_is_time(tmp_path):
    def at_most(*steps):
        call = ("--python", "/bin/true", "--output", tmp_path, "--steps", ",".join(steps))
        said = ran(ROOT / "bench/gpu.sh", *call, code=None).stdout
        found = dict(re.findall(r"== (\w+): at \d+ s, for (\d+) s", said))
        return [int(found[step]) for step in steps]

    assert at_most("infer", "ours", "frameworks", "why", "rest")[:2] == [60, 110]
    ours, rest = at_most("ours", "rest")
    assert ours > 150
    assert rest > 250


def test_wheels_to_carry_to_a_gpu_are_the_versions_that_are_tested():
    carried = {
        line for line in (ROOT / "bench/gpu-wheels.txt").read_text().splitlines() if line[0] != "#"
    }
    of_cuda = {line for line in carried if line.startswith("nvidia-")}  # of the image's CUDA
    assert carried - of_cuda <= {*(ROOT / "constraints.txt").read_text().splitlines()}


@pytest.mark.parametrize("name", conditions.CONDITIONS)
def test_a_condition_is_one_that_compare_knows(name, monkeypatch):
    monkeypatch.setattr("lenet_bench.registry.usable_cores", lambda: 8)
    _, options, backends = conditions.CONDITIONS[name]
    asked = command.make_context("compare", [*backends, *options]).params
    assert find(asked["backends"][0])[0] if backends else not asked["backends"]
    given = ("threads", "cores", "interval_s", "keep_warm_s", "beside", "cold")
    CompareOptions(**{one: asked[one] for one in given}).check()


def test_of_each_backend_the_fastest_variant_in_float32_is_measured(monkeypatch):
    monkeypatch.setattr(conditions, "STARTS_WITHIN_S", 8)
    kept = ROOT / "results/cpu/epyc-2026-11-24.jsonl.gz"
    names = conditions.fastest(kept)
    assert "fused" in names
    assert {precision(name) for name in names} == {"float32"}
    assert [name for name in names if name.startswith("keras:")] == ["keras:function"]
    slow = {row.name for row in read_result(kept).backends if (row.cold_start_s or 0) > 8}
    assert slow
    assert not slow & set(names)


@pytest.mark.parametrize(
    ("plain", "remedy"),
    [
        ("numpy", "numpy/timeout"),
        ("onnxruntime", "onnxruntime/no_spinning"),
        ("torch", "torch/passive"),
    ],
)
@pytest.mark.parametrize("ms", [5, 10, 20, 50])
def test_what_a_warning_advises_ended_the_spinning(plain, remedy, ms):
    backend, _, setting = remedy.partition("/")
    assert IDLE[backend][setting].says.partition("=")[0] in REMEDIES[plain]
    result = read_result(ROOT / f"results/production/every-{ms}.jsonl.gz")
    assert (result.backend(remedy).idle_share or 0.0) < 0.05
    (warned,) = [said for said in result.warnings if REMEDIES[plain] in said]
    assert f"{plain} (" in warned


@pytest.mark.parametrize(
    ("us", "by", "again", "found_steps", "seen"),
    [
        (22, 0.005, 22, 1, 1),
        (22, 0.005, 20, 1, 0),
        (22, 0.005, 18, 1, 0),
        (20.4, 0.005, 20.4, 0, 0),
        (22, 0.1, 22, 0, 0),
    ],
    ids=["twice", "once", "the other way", "too small", "too scattered"],
)
def test_a_step_of_a_release_is_real_where_it_is_seen_twice(us, by, again, found_steps, seen):
    def run(new_us):
        """Each start of the new one off by as much, one up and one down."""
        new = timed_starts("onnxruntime==1.26.0", *[new_us * (1 + by), new_us * (1 - by)] * 6)
        return [result(blocks("onnxruntime==1.20.1", 20), new)]

    first = found(run(us))
    assert len(first) == found_steps
    assert len(list(seen_again(first, run(again)))) == seen
