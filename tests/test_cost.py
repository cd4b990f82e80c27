"""What a variant costs: the counts, cross-checked by the programs made for counting."""

import sys

import pytest
from lenet_bench import read_result
from lenet_bench.cost import (
    Source,
    _disk_of,
    api_names,
    code_lines,
    costs,
    disk_mib,
    lines_of_code,
    sources,
)
from lenet_bench.cost.source import reached
from lenet_bench.installed import installed_bytes, package_name
from lenet_bench.questions.cost import STAGES, staged
from lenet_bench.registry import find, names
from lenet_bench.show.terminal.cost import costs as table
from lenet_bench.show.terminal.screen import Screen
from processes import python

STANDING = names()
FILES = {source.name: Source(source.path, source.name) for n in STANDING for source in sources(n)}


def written(folder, name, text):
    (folder / name).write_text(text)
    return Source(folder / name, name)


@pytest.mark.parametrize("name", FILES)
def test_pygount_counts_the_same_lines(name):
    pygount = pytest.importorskip("pygount", reason="pygount is not installed")
    counted = pygount.SourceAnalysis.from_file(str(FILES[name].path), "lenet-bench")
    assert len(code_lines(FILES[name])) == counted.source_count


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        (
            "a.py",
            '"""A docstring\n\nof three lines."""\n\n# a comment\nx = f(  # counts\n    1,\n)\n',
            {6, 7},
        ),
        (
            "a.cpp",
            '/* two\n lines */\nint f() { // counts\n\n  return g("// no comment");\n}\n});\n',
            {3, 5},
        ),
    ],
)
def test_what_is_no_code_does_not_count(tmp_path, name, text, lines):
    assert code_lines(written(tmp_path, name, text)) == lines


API_NAMES = {
    "a.py": (
        "import os\nimport keras\nfrom keras import layers as l\nfrom ..weights import Weights\n"
        "class A:\n    def own(self):\n        self.m = keras.Model(l.Dense(1))\n"
        "        os.getcwd(), self.own(), ''.join('a'), Weights.make()\n"
        "        return self.m.predict(1), self.m.predict(2)\n",
        ".predict keras.Model keras.layers.Dense",
    ),
    "by namespace and through aliases.cpp": (
        "using dnnl::memory;\nusing Tag = memory::format_tag;\nstd::vector<int> v;\n"
        "void f() { v.push_back(1); memory m(Tag::any); m.get_desc(); m.get_desc(); }\n",
        ".get_desc dnnl::memory dnnl::memory::format_tag dnnl::memory::format_tag::any",
    ),
    "a struct of functions.cpp": (
        "const OrtApi* ort = OrtGetApiBase()->GetApi(ORT_API_VERSION);\n"
        "void run(std::string s) { ort->CreateEnv(s.data()); run(s); }\n",
        ".CreateEnv .GetApi ORT_API_VERSION OrtApi OrtGetApiBase",
    ),
}


@pytest.mark.parametrize("name", API_NAMES)
def test_api_names_are_what_others_made(tmp_path, name):
    text, expected = API_NAMES[name]
    assert api_names([written(tmp_path, name, text)]) == expected.split()


def test_the_disk_holds_the_library_of_a_module():
    fused, openblas = (disk_mib(name)["installed_mib"] or 0 for name in ("fused", "openblas"))
    assert 0 < fused < openblas


def test_what_is_not_installed_has_no_size(tmp_path, monkeypatch):
    monkeypatch.setenv("LENET_BENCH_ENVIRONMENTS", str(tmp_path))
    assert installed_bytes(["no-such-package"], sys.path) is None
    assert disk_mib("theano")["installed_mib"] is None


def test_a_file_of_the_users_own_is_not_converted():
    assert disk_mib("litert", converts=False)["converter_mib"] is None


def test_what_converts_lenet_belongs_to_its_cost():
    (litert,) = costs(["litert:compiled"])
    assert {"ai-edge-litert", "keras"} <= {package_name(one) for one in litert.installs}


def test_packages_are_counted_with_what_they_need(tmp_path):
    package(tmp_path, "one", 1000, ["Two[more]", "three"])
    package(tmp_path, "two", 100, ["three>=3", "four; extra == 'more'", "five; extra == 'other'"])
    package(tmp_path, "three", 10, ["absent; sys_platform == 'nowhere'"])
    package(tmp_path, "four", 1, [])
    package(tmp_path, "five", 50_000, [])
    assert installed_bytes(["one"], [str(tmp_path)]) == 1111


def test_a_compiler_of_a_package_of_its_own_only_writes(tmp_path, monkeypatch):
    """Also a file of the user's own, which it compiles."""
    for name, mib in {"iree_base_compiler": 4, "onnx": 2, "iree_base_runtime": 1}.items():
        package(tmp_path, name, mib << 20, [])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("lenet_bench.cost._disk_of", _disk_of.__wrapped__)
    assert disk_mib("iree", converts=False)["converter_mib"] == 6


def package(folder, name, size, needs):
    (folder / f"{name}.py").write_text("#" * size)
    info = folder / f"{name}-3.0.dist-info"
    info.mkdir()
    lines = [f"Name: {name}", "Version: 3.0", *(f"Requires-Dist: {need}" for need in needs)]
    (info / "METADATA").write_text("\n".join(lines))
    (info / "RECORD").write_text(f"{name}.py,,\n")


def test_what_writes_a_model_counts_with_the_backend():
    """Also in an installed wheel, where this runs."""
    files = {name: {source.name for source in sources(name)} for name in STANDING}
    assert files["openblas"] == {"cpu/openblas.cpp", "cpu/openblas.hpp"}
    assert files["onnxruntime"] == {"backends/onnxruntime.py", "export/onnx.py"}
    assert "cuda/fused.cu" in files["cuda"]
    for name in ("fused", "onednn", "openblas", "cuda", "cudnn"):
        assert any(file.endswith(".cpp") for file in files[name]), name


def test_a_bare_name_is_all_its_variants():
    named = {cost.name for cost in costs(["mnn:direct", "fused:int16", "jax"])}
    assert named == {"fused:int16", "mnn:direct", *find("jax")[0].names()}


def test_no_api_is_imported_to_count():
    code = "import sys; from lenet_bench.cost import costs; costs(); print(*sys.modules)"
    modules = {name.partition(".")[0] for name in python(code).stdout.split()}
    assert not modules & {"keras", "tensorflow", "torch", "jax", "onnx", "pygount"}


def test_the_json_has_every_figure(run):
    found = run("cost", "--json").answer
    assert [one["name"] for one in found] == STANDING
    keys = {
        "name",
        "files",
        "lines_of_code",
        "api_names",
        "installs",
        "installed_mib",
        "converter_mib",
    }
    assert all(set(one) == keys and one["lines_of_code"] > 10 for one in found)


def test_a_result_has_its_lines(run, tmp_path):
    path = tmp_path / "result.jsonl"
    arguments = ("numpy", "--rounds", "1", "-o", path, "--json")
    (row,) = run("compare", *arguments).answer["backends"]
    assert row["lines_of_code"] == lines_of_code("numpy")
    assert row["installed_mib"] == disk_mib("numpy")["installed_mib"]
    assert read_result(path).backend("numpy").lines_of_code == row["lines_of_code"]


@pytest.mark.parametrize("columns", [40, 100])
def test_the_table_is_no_wider_than_the_terminal(columns):
    assert max(map(len, table(costs(), Screen(columns, colour=False)))) <= columns


@pytest.mark.parametrize("name", STANDING)
def test_the_code_has_lines_of_every_stage(name):
    """A convolution and its pool may share a line."""
    found = {stage for line in staged(sources(name)) for stage in line.stages}
    assert found >= {*STAGES} - {"the rest"}


@pytest.mark.parametrize("name", STANDING)
def test_every_line_of_code_is_shown_once_in_its_stage(name):
    """A convolution and its pool may share a line."""
    files = sources(name)
    found = list(staged(files))
    lines = [(line.file, line.number) for line in found]
    assert len(lines) == len(set(lines))
    assert {(source.name, n) for source in files for n in code_lines(source)} <= set(lines)


def test_a_variant_is_counted_from_its_function():
    """That, and what it reaches: no other variant, and no imports of ours."""
    text = (
        "import one\n"
        "import two\n"
        "from . import Infer\n"
        "SIZE = 5\n"
        "class Net:\n"
        "    size = SIZE\n"
        "def plain() -> Infer:\n"
        "    return one.run(Net())\n"
        "def other() -> Infer:\n"
        "    return two.run(plain())\n"
    )
    assert reached(text, ["plain"]) == {1, 4, 5, 6, 7, 8}
    assert reached(text, ["other"]) == {1, 2, 4, 5, 6, 7, 8, 9, 10}


def test_a_name_that_is_set_with_others_has_its_line():
    text = "A, (B, *C) = 1, (2, 3)\nD = 4\ndef build():\n    return B\n"
    assert reached(text, ["build"]) == {1, 3, 4}


def test_a_local_name_is_not_the_variant_of_that_name():
    text = "def session():\n    pass\ndef build():\n    session = 1\n    return session\n"
    assert reached(text, ["build"]) == {3, 4, 5}
