"""What an exhibit costs: the counts, cross-checked by the programs made for counting."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run
from lenet_bench.backends import LADDER, find, names
from lenet_bench.cost import (
    Source,
    api_names,
    code_lines,
    complexity,
    costs,
    installed_mib,
    lines_of_code,
    nesting,
    sources,
)
from lenet_bench.errors import LenetBenchError
from lenet_bench.installed import installed_bytes
from lenet_bench.report.cost import side_by_side, table
from lenet_bench.report.stages import STAGES, staged
from lenet_bench.results import RungResult
from lenet_bench.terminal import Screen

STANDING = [rung for rung in LADDER if not rung.gone]
FILES = {source.name: source for rung in STANDING for source in sources(rung)}
PLAIN = Screen(columns=100, colour=False, unicode=True)


def written(folder: Path, name: str, text: str) -> Source:
    (folder / name).write_text(text)
    return Source(folder / name, name)


@pytest.mark.parametrize("name", FILES)
def test_pygount_counts_the_same_lines(name: str) -> None:
    pygount = pytest.importorskip("pygount", reason="pygount is not installed")
    counted = pygount.SourceAnalysis.from_file(str(FILES[name].path), "lenet-bench")
    assert len(code_lines(FILES[name])) == counted.source_count


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".py")])
def test_lizard_counts_the_same_lines_of_python_once_brackets_count(name: str) -> None:
    lizard = pytest.importorskip("lizard", reason="lizard is not installed")
    found = lizard.analyze_file(str(FILES[name].path))
    assert len(code_lines(FILES[name], brackets=True)) == found.nloc


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(".py")])
def test_lizard_counts_about_the_same_lines_of_cpp_once_brackets_count(name: str) -> None:
    """It passes over what closes a namespace and some declarations."""
    lizard = pytest.importorskip("lizard", reason="lizard is not installed")
    ours = len(code_lines(FILES[name], brackets=True))
    assert 0.9 * ours - 1 <= lizard.analyze_file(str(FILES[name].path)).nloc <= ours


@pytest.mark.parametrize("rung", [r.name for r in STANDING])
def test_lizard_finds_about_as_many_decisions(rung: str) -> None:
    """It sees those in functions only, and counts an `else` of the preprocessor."""
    lizard = pytest.importorskip("lizard", reason="lizard is not installed")
    files = sources(find(rung)[0])
    found = [lizard.analyze_file(str(source.path)).function_list for source in files]
    theirs = sum(f.cyclomatic_complexity - 1 for functions in found for f in functions)
    assert sum(map(complexity, files)) == pytest.approx(theirs, rel=0.1, abs=3)


def test_what_is_no_code_does_not_count_in_python(tmp_path: Path) -> None:
    text = '"""A docstring\n\nof three lines."""\n\n# a comment\nx = f(  # counts\n    1,\n)\n'
    assert code_lines(written(tmp_path, "a.py", text)) == {6, 7}


def test_what_is_no_code_does_not_count_in_cpp(tmp_path: Path) -> None:
    text = '/* two\n lines */\nint f() { // counts\n\n  return g("// no comment");\n}\n});\n'
    assert code_lines(written(tmp_path, "a.cpp", text)) == {3, 5}


def test_a_raw_string_is_no_comment(tmp_path: Path) -> None:
    text = 'auto s = R"x(\n// code\n)x";\nint a;\n'
    assert code_lines(written(tmp_path, "a.cu", text)) == {1, 2, 3, 4}


def test_decisions_are_counted_alike_in_both_languages(tmp_path: Path) -> None:
    python = "for a in b:\n    if a and c:\n        d = 1 if a else 2\n"
    cpp = "for (auto a : b)\n  if (a && c)\n    d = a ? 1 : 2;\n"
    assert complexity(written(tmp_path, "a.py", python)) == 4
    assert complexity(written(tmp_path, "a.cpp", cpp)) == 4


def test_api_names_are_what_others_made(tmp_path: Path) -> None:
    text = (
        "import os\nimport keras\nfrom keras import layers as l\nfrom ..weights import Weights\n"
        "class A:\n    def own(self):\n        self.m = keras.Model(l.Dense(1))\n"
        "        os.getcwd(), self.own(), ''.join('a'), Weights.make()\n"
        "        return self.m.predict(1), self.m.predict(2)\n"
    )
    found = api_names([written(tmp_path, "a.py", text)])
    assert found == [".predict", "keras.Model", "keras.layers.Dense"]


def test_api_names_of_cpp_are_told_by_their_namespace_and_through_aliases(tmp_path: Path) -> None:
    text = (
        "using dnnl::memory;\nusing Tag = memory::format_tag;\nstd::vector<int> v;\n"
        "void f() { v.push_back(1); memory m(Tag::any); m.get_desc(); m.get_desc(); }\n"
    )
    found = api_names([written(tmp_path, "a.cpp", text)])
    assert found == [
        ".get_desc",
        "dnnl::memory",
        "dnnl::memory::format_tag",
        "dnnl::memory::format_tag::any",
    ]


@pytest.mark.parametrize(
    ("deepest", "text"),
    [
        (0, "x = [f(y) for y in z]\n"),
        (2, "for a in b:\n    if a:\n        pass\n"),
        (1, "if a:\n    pass\nelif b:\n    pass\nelse:\n    pass\n"),
        (2, "def f():\n    try:\n        while x:\n            pass\n    finally:\n        pass\n"),
    ],
)
def test_nesting_in_python(tmp_path: Path, deepest: int, text: str) -> None:
    assert nesting(written(tmp_path, "a.py", text)) == deepest


@pytest.mark.parametrize(
    ("deepest", "text"),
    [
        (0, "namespace a { struct B { int c() { return d({1, 2}); } }; }"),
        (2, "void f() { for (int i : x) if (i) g(); }"),
        (1, "void f() { if (a) b(); else if (c) { d(); } else e(); }"),
        (3, "void f() { while (a) { do { switch (b) { case 1: c(); } } while (d); } }"),
        (2, "void f() { if (a) run([&](int i) { if (i) g(); }); }"),
        (1, "F::F() : a{1}, b(2) { try { c(); } catch (const E &e) { d(); } }"),
        (1, "if constexpr (a) { b(); }"),
    ],
)
def test_nesting_in_cpp(tmp_path: Path, deepest: int, text: str) -> None:
    assert nesting(written(tmp_path, "a.cpp", text)) == deepest


def test_the_disk_holds_a_native_rungs_module_and_its_library() -> None:
    fused, openblas = installed_mib("fused"), installed_mib("openblas")
    assert fused is not None
    assert openblas is not None
    assert fused < 10 < openblas


def test_what_is_not_installed_takes_no_known_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENET_BENCH_ENVIRONMENTS", str(tmp_path))
    assert installed_bytes(["no-such-package"], sys.path) is None
    assert installed_mib("theano") is None


def test_packages_are_counted_with_what_they_need_and_once(tmp_path: Path) -> None:
    package(tmp_path, "one", 1000, ["Two[more]", "three"])
    package(tmp_path, "two", 100, ["three>=3", "four; extra == 'more'", "five; extra == 'other'"])
    package(tmp_path, "three", 10, ["absent; sys_platform == 'nowhere'"])
    package(tmp_path, "four", 1, [])
    package(tmp_path, "five", 50_000, [])
    assert installed_bytes(["one"], [str(tmp_path)]) == 1111


def package(folder: Path, name: str, size: int, needs: list[str]) -> None:
    """A package as pip leaves it, of one file."""
    (folder / f"{name}.py").write_text("#" * size)
    info = folder / f"{name}-3.0.dist-info"
    info.mkdir()
    lines = [f"Name: {name}", "Version: 3.0", *(f"Requires-Dist: {need}" for need in needs)]
    (info / "METADATA").write_text("\n".join(lines))
    (info / "RECORD").write_text(f"{name}.py,,\n")


def test_a_native_rung_is_its_cpp_and_its_python_face() -> None:
    found = {source.name for source in sources(find("openblas")[0])}
    assert found == {"backends/openblas.py", "cpu/openblas.cpp", "cpu/openblas.hpp"}


def test_a_rung_that_reads_a_model_file_pays_for_writing_it() -> None:
    found = {source.name for source in sources(find("onnxruntime")[0])}
    assert found == {"backends/onnxruntime.py", "export/onnx.py"}


def test_gpu_kernels_belong_to_their_rung() -> None:
    assert "cuda/fused.cu" in {source.name for source in sources(find("cuda")[0])}


def test_every_native_rung_has_its_sources() -> None:
    """Also in an installed wheel, where this runs."""
    for rung in ("fused", "onednn", "openblas", "cuda", "cudnn"):
        assert any(s.path.suffix == ".cpp" for s in sources(find(rung)[0])), rung


def test_keras_takes_fewer_lines_than_onednn() -> None:
    keras, onednn = lines_of_code("keras"), lines_of_code("onednn")
    assert keras is not None
    assert onednn is not None
    assert 3 * keras < onednn


def test_a_variant_costs_what_its_rung_does() -> None:
    assert lines_of_code("fused:int16") == lines_of_code("fused")


def test_what_is_not_on_the_ladder_has_no_lines() -> None:
    assert lines_of_code("empty") is None


def test_a_rung_that_is_gone_has_no_lines() -> None:
    assert lines_of_code("cntk") is None


def test_costs_are_in_the_ladders_order() -> None:
    assert [cost.name for cost in costs()] == [rung.name for rung in STANDING]
    assert [cost.name for cost in costs(["keras", "fused:int16"])] == ["fused", "keras"]


def test_a_rung_that_is_gone_is_refused_by_name() -> None:
    with pytest.raises(LenetBenchError, match="cntk has no exhibit"):
        costs(["cntk"])


def test_an_extra_is_told_as_what_pip_installs() -> None:
    """Through an extra that names another."""
    (keras,) = costs(["keras"])
    assert [what.partition(">")[0] for what in keras.installs] == ["keras", "tensorflow-cpu"]


def test_an_environment_is_told_as_its_pins() -> None:
    (mxnet,) = costs(["mxnet"])
    assert "mxnet==1.9.1" in mxnet.installs


def test_numpy_installs_nothing_more() -> None:
    assert costs(["numpy"])[0].installs == ()


def test_nothing_of_a_rung_is_imported() -> None:
    code = "import sys; from lenet_bench.cost import costs; costs(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {name.partition(".")[0] for name in done.stdout.split()}
    assert not modules & {"keras", "tensorflow", "torch", "jax", "onnx", "pygount", "lizard"}


def test_the_json_has_every_figure(run: Run) -> None:
    done = run("cost", "--json")
    found = json.loads(done.output)
    assert [one["name"] for one in found] == [rung.name for rung in STANDING]
    keys = {"name", "files", "lines_of_code", "api_names", "complexity", "nesting", "installs"}
    keys |= {"installed_mib"}
    assert all(set(one) == keys and one["lines_of_code"] > 10 for one in found)


def test_named_rungs_only_are_counted(run: Run) -> None:
    lines = run("cost", "keras", "onednn").output.splitlines()
    assert [line.split()[0] for line in lines] == ["rung", "onednn", "keras"]


def test_show_is_refused_beside_what_it_cannot_obey(run: Run) -> None:
    assert run("cost", "--show", "keras", "torch", "--json").code == 2
    assert run("cost", "--show", "keras", "kera").code == 2


def test_a_row_of_a_result_has_its_lines(run: Run, weights_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    arguments = ("numpy", "--rounds", "1", "--weights", weights_file, "-o", path, "--json")
    (row,) = json.loads(run("compare", *arguments).output)["rungs"]
    assert row["lines_of_code"] == lines_of_code("numpy")
    assert row["installed_mib"] == installed_mib("numpy")
    (kept,) = json.loads(path.read_text())["rungs"]
    assert kept["lines_of_code"] == row["lines_of_code"]


def test_a_result_of_before_has_no_lines() -> None:
    assert RungResult("numpy", "ok").lines_of_code is None


@pytest.mark.parametrize("columns", [40, 64, 100, 200])
def test_the_table_is_no_wider_than_the_terminal(columns: int) -> None:
    lines = list(table(costs(), Screen(columns, colour=False, unicode=True)))
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("columns", [40, 72, 100, 200])
def test_sources_side_by_side_are_no_wider_than_the_terminal(columns: int) -> None:
    lines = shown("keras", "onednn", Screen(columns, colour=False, unicode=True))
    assert max(map(len, lines)) <= columns


def shown(left: str, right: str, screen: Screen = PLAIN) -> list[str]:
    one, other = ((name, staged(sources(find(name)[0]))) for name in (left, right))
    return list(side_by_side(one, other, screen))


def test_matching_stages_stand_side_by_side() -> None:
    lines = shown("keras", "torch")
    below = lines[lines.index("── pool2") + 2]
    left, right = below.split(" │ ")
    assert "layers.MaxPooling2D(2)" in left
    assert "max_pool2d(self.conv2(x), 2)" in right


def test_stages_are_in_the_networks_order() -> None:
    titles = [line[3:] for line in shown("numpy", "onednn") if line.startswith("── ")]
    assert titles == list(STAGES)


def test_every_line_of_code_is_shown_once() -> None:
    for name in names(gone=False):
        files = sources(find(name)[0])
        lines = [(line.file, line.number) for line in staged(files)]
        assert len(lines) == len(set(lines))
        assert {(source.name, n) for source in files for n in code_lines(source)} <= set(lines)


@pytest.mark.parametrize("rung", [r.name for r in STANDING if r.name not in ("litert", "pytensor")])
def test_each_exhibit_shows_where_its_convolutions_are(rung: str) -> None:
    """The two left out write each layer once and call it twice from one line."""
    found = {line.stage for line in staged(sources(find(rung)[0]))}
    assert {"load", "conv1", "pool1", "conv2", "pool2", "fc1"} <= found


def test_colours_are_for_terminals() -> None:
    painted = "\n".join(shown("keras", "torch", Screen(100, colour=True, unicode=True)))
    assert "\x1b[36mConv2D\x1b[0m" in painted
    assert "\x1b" not in "\n".join(shown("keras", "torch"))


def test_without_unicode_all_is_ascii() -> None:
    ascii_only = Screen(100, colour=False, unicode=False)
    assert "\n".join([*shown("keras", "torch", ascii_only), *table(costs(), ascii_only)]).isascii()
