"""The Python face: `import lenet_bench` and what it promises."""

import os
import re
import sys
from io import StringIO

import lenet_bench
import numpy as np
import pytest
from conftest import ROOT, environment
from lenet_bench import LenetBenchError
from PIL import Image
from processes import python, ran

FACE = """
import numpy as np
import numpy.typing as npt
import lenet_bench

net: lenet_bench.Network = lenet_bench.load("fused", threads=1)
image: npt.NDArray[np.float32] = lenet_bench.read_image("digit.png")
probabilities: npt.NDArray[np.float32] = net.infer(image)
asked: list[lenet_bench.Availability] = lenet_bench.backends()
name: str = asked[0].name
weights: lenet_bench.Weights = lenet_bench.read_weights()
version: str = lenet_bench.__version__
result: lenet_bench.Result = lenet_bench.compare(lenet_bench.CompareOptions(backends=("fused",)))
summary: lenet_bench.Summary | None = result.backend("fused").summary
found: lenet_bench.Difference = lenet_bench.diff(result, result, fail_over=0.05)
text: str = lenet_bench.render(result, form="markdown")
costs: list[lenet_bench.Cost] = lenet_bench.costs(["fused"])
"""


def test_importing_it_imports_nothing_else():
    program = "import sys, lenet_bench; print(*sys.modules)"
    imported = set(python(program).stdout.split())
    assert not {"numpy", "PIL", "click", "safetensors"} & imported


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="'infer'"):
        _ = lenet_bench.infer  # type: ignore[attr-defined]
    with pytest.raises(lenet_bench.LenetBenchError, match="abacus"):
        lenet_bench.load("abacus")
    with pytest.raises(lenet_bench.LenetBenchError, match="1 to 1024 threads"):
        lenet_bench.load("fused", threads=-1)
    with pytest.raises(lenet_bench.LenetBenchError, match="1 to 1024 threads"):
        lenet_bench.load("fused", threads=10**9)


MISTAKEN = [
    ("read_image", [None], {}, TypeError, "got NoneType"),
    ("read_image", [np.zeros((28, 28), np.uint8)], {}, TypeError, "got ndarray"),
    ("read_image", [Image.new("L", (28, 28))], {}, TypeError, "got Image"),
    ("read_image", [StringIO("7")], {}, TypeError, "got StringIO"),
    ("read_mnist", ["foo", "mnist"], {}, LenetBenchError, "expected train or test, got 'foo'"),
    ("write_report", [{}, "r.html"], {}, LenetBenchError, "no result to draw"),
    ("write_report", ["r.jsonl", "r.html"], {}, TypeError, "{name: result, ...}"),
    ("write_report", [{"mine": "r.jsonl"}, "r.html"], {}, TypeError, "{name: result, ...}"),
    ("render", [[]], {}, TypeError, "got list"),
    ("rows", ["r.jsonl"], {}, TypeError, "got str"),
    ("diff", [None, None], {}, TypeError, "got NoneType"),
    ("render", [], {"form": "xml"}, LenetBenchError, "json, csv or markdown, got 'xml'"),
]


@pytest.mark.parametrize(("name", "given", "more", "error", "said"), MISTAKEN)
def test_a_wrong_argument_is_said(name, given, more, error, said):
    with pytest.raises(error, match=re.escape(said)):
        getattr(lenet_bench, name)(*given, **more)


def test_backends_loads_none_into_this_process():
    """The question and the sub-package share their name."""
    program = (
        "import sys, lenet_bench.backends\n"
        "from lenet_bench.registry import names\n"
        "found = lenet_bench.backends()\n"
        "assert [one.name for one in found][: len(names())] == names()\n"
        "assert all(one.available == (one.reason is None) for one in found)\n"
        "loaded = [name for name in sys.modules if name.startswith('lenet_bench._')]\n"
        "assert not loaded, loaded\n"
    )
    python(program)


def test_the_face_is_typed(tmp_path):
    """As a user's mypy sees the installed package and the page's examples."""
    pytest.importorskip("mypy")
    page = (ROOT / "docs/python.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    own = [one for one in examples if "pytest" not in one]  # such tests need no types
    (tmp_path / "face.py").write_text(FACE)
    (tmp_path / "examples.py").write_text("\n".join(own))
    mypy = ("mypy", "--strict", "--cache-dir", os.devnull, "face.py", "examples.py")
    ran(sys.executable, "-m", *mypy, cwd=tmp_path, env=environment())
