"""The frameworks' backends: each that is here gives the reference's answers.

Each name runs in one process of its own, as it does when it is measured. What is not installed, or
in a version that it is not made for, is skipped and named; what else cannot run fails.
"""

import functools
import os
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import environment
from lenet_bench import load, read_weights
from lenet_bench.errors import LenetBenchError, Unavailable
from lenet_bench.mnist import find_mnist, read_mnist
from lenet_bench.registry import check_needs, find, names, tolerance
from lenet_bench.registry.building import check_modules
from lenet_bench.registry.environments import interpreter, variables
from lenet_bench.registry.own_process import InOwnProcess
from processes import python, ran

FRAMEWORKS = [name for name in names("cpu") if find(name)[0].framework]
#: For many seconds.
COMPILED = ("torch:compile", "torch:export", "torch:autotuned", "keras-torch:compile")

#: What is said where a framework, or the program that it calls, is absent or of another version.
NOT_HERE = r"No module named|is not on the PATH|needs \S+, but \S+ is installed"


@pytest.fixture(scope="module")
def weights():
    return read_weights()


@pytest.fixture(scope="module")
def images():
    """Noise, paper, ink and, where MNIST is, its first test images."""
    random = np.random.default_rng(5)
    plain = [np.zeros((1, 28, 28), np.float32), np.ones((1, 28, 28), np.float32)]
    made = np.concatenate([random.random((20, 28, 28), np.float32), *plain])
    folder = os.environ.get("LENET_BENCH_MNIST")
    if not folder:
        return made
    digits = read_mnist("test", find_mnist(Path(folder)))
    return np.concatenate([made, digits.ink(slice(0, 100))])


@pytest.fixture(scope="module")
def expected(weights, images):
    return load("reference", weights=weights).infer(images)


def opened(name, weights, threads=1):
    """The backend in a process of its own."""
    with needed(name):
        return InOwnProcess(name, weights, threads=threads, hide_output=True)


@contextmanager
def needed(name):
    """Skips where its framework, or one that fits, is not here."""
    try:
        check_needs(*find(name))
        check_modules(*find(name))
        yield
    except Unavailable as error:
        if re.search(NOT_HERE, str(error)):
            pytest.skip(str(error))
        raise


def _param(name):
    """Most of a start is the framework's import, and `CALLS` has every variant for one import."""
    row, variant = find(name)
    return pytest.param(name, marks=[] if variant == row.default else pytest.mark.slow)


@pytest.fixture(scope="module", params=map(_param, FRAMEWORKS))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def network(name, weights):
    backend = opened(name, weights)
    yield backend
    backend.close()


def test_images_have_the_reference_probabilities(name, network, images, expected):
    single, batch = np.array([network.infer(i) for i in images[:40]]), network.infer(images)
    assert np.abs(single - expected[:40]).max() <= tolerance(name)
    assert np.abs(batch - expected).max() <= tolerance(name)
    assert single.shape[1:] == (10,)
    assert single.dtype == np.float32
    assert batch.dtype == np.float32
    assert network.infer(images[:1]).shape == (1, 10)
    assert network.infer(images[:0]).shape == (0, 10)


def test_it_says_what_library_runs(network):
    assert network.describe()["library"]


def test_what_is_no_image_is_refused(network):
    with pytest.raises(ValueError, match="expected"):  # also from the other process
        network.infer(np.zeros((27, 28), np.float32))


def test_it_says_which_backends_show_layers(network, images):
    with pytest.raises(LenetBenchError, match=r"outputs of layers; .*reference"):
        network.layers(images[0])


#: With two threads: each image's answer, kept while others are asked for, and those of a batch.
CALLS = """
import sys, numpy, lenet_bench
folder, *names = sys.argv[1:]
images = numpy.load(f"{folder}/images.npy")
for name in names:
    try:
        net = lenet_bench.load(name, threads=2)
    except lenet_bench.Unavailable as error:
        with open(f"{folder}/{name}.txt", "w") as reason:
            reason.write(str(error))
        continue
    answers = [net.infer(image) for image in images]
    numpy.savez(f"{folder}/{name}.npz", one_by_one=answers, batch=net.infer(images))
    answers[0][:] = 0
"""


@pytest.fixture(scope="module")
def answered(images, tmp_path_factory):
    """The folder with what a framework's variants answered, all in one process."""

    @functools.cache
    def folder_of(framework):
        row = find(framework)[0]
        folder = tmp_path_factory.mktemp("answers")
        np.save(folder / "images.npy", images[:20])
        variants = [name for name in row.names() if name not in COMPILED]
        own = environment(**variables(row, threads=2))
        ran(interpreter(row), "-c", CALLS, folder, *variants, env=own)
        return folder

    return folder_of


@pytest.mark.parametrize("name", [name for name in FRAMEWORKS if name not in COMPILED])
def test_two_threads_answer_alike(name, expected, answered):
    """In the process of `CALLS`: `InOwnProcess` gives copies. An answer may be written to."""
    with needed(name):
        folder = answered(find(name)[0].name)
        if (reason := folder / f"{name}.txt").exists():
            raise Unavailable(reason.read_text())
    with np.load(folder / f"{name}.npz") as found:
        assert np.abs(found["one_by_one"] - expected[:20]).max() <= tolerance(name)
        assert np.abs(found["batch"] - expected[:20]).max() <= tolerance(name)


@pytest.mark.parametrize("name", sorted({find(name)[0].name for name in FRAMEWORKS}))
def test_nothing_but_the_answers_is_printed(run, name, picture):
    """Not when it is imported, nor when it first answers, nor when it is taken down."""
    variants = [variant for variant in find(name)[0].names() if variant not in COMPILED]
    chosen = [option for variant in variants for option in ("--backend", variant)]
    done = run("infer", picture, "--json", *chosen)
    if re.search(NOT_HERE, done.output + done.errors):
        pytest.skip(done.errors)
    assert [one["backend"] for one in done.answers] == variants
    assert done.errors == ""


def test_verbose_shows_what_a_framework_says(run, picture):
    """Not TensorFlow's: whether it says anything depends on the processor."""
    name = "litert:compiled"
    with needed(name):
        done = run("infer", picture, "--backend", name, "--verbose")
    assert "Creating LiteRT environment" in done.errors


def test_mnn_is_converted_in_a_folder_of_its_own(weights, tmp_path, monkeypatch):
    """Its converter keeps the weights there for a while, and would take those of another."""
    of_another = tmp_path / ".__convert_external_data.bin"
    of_another.write_text("weights")
    monkeypatch.chdir(tmp_path)
    opened("mnn", weights).close()
    assert of_another.read_text() == "weights"


@pytest.mark.parametrize("name", ["torch", "torch:torchscript", "torch:static_int8"])
def test_who_compiles_nothing_imports_no_compiler(name, weights):
    opened(name, weights).close()
    code = f"import lenet_bench, sys; lenet_bench.load({name!r}); print(*sys.modules)"
    assert "torch._inductor" not in python(code).stdout.split()


def test_a_backend_that_another_set_up_differently_gets_its_own_process(weights):
    """Keras holds one framework a process."""
    opened("keras-openvino", weights).close()
    opened("keras-jax", weights).close()
    both = "import sys, numpy, lenet_bench\nfor name in ('keras-openvino', 'keras-jax'):\n"
    both += "    print(lenet_bench.load(name).describe().get('process', 'here'))\n"
    done = python(both, code=None)
    assert done.stdout.split("\n")[:2] == ["here", "of its own"], done.stderr
