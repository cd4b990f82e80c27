"""What the pages tell a reader to type exists and runs, and the package is as its plan says."""

import ast
import json
import re
import shlex
import sys
from graphlib import TopologicalSorter

import click
import lenet_bench
import pytest
from conftest import ROOT, draw_seven, environment
from lenet_bench.cli import cli
from processes import ran

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *ROOT.glob("*/README.md")]
REFERENCE = (ROOT / "docs/cli.md").read_text()
PACKAGE = ROOT / "python/lenet_bench"


def commands():
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", one) for inner, one in command.commands.items())


def printed():
    """Each line that begins with `lenet-bench` in a page's blocks of code or in a help text."""
    blocks = [
        b for page in PAGES for b in re.findall(r"^```.*?^```", page.read_text(), re.M | re.S)
    ]
    blocks += [command.epilog or "" for command in (cli, *dict(commands()).values())]
    for line in "\n".join(blocks).splitlines():
        if line.strip().removeprefix("$ ").startswith("lenet-bench "):
            yield line.strip().removeprefix("$ ")


@pytest.mark.parametrize("line", sorted(set(printed())))
def test_an_example_is_understood(line):
    command: click.Command = cli
    words = shlex.split(re.split(r"\s{2,}|\s[|>#]", line)[0])[1:]
    context = click.Context(cli)
    while isinstance(command, click.Group):
        name = words.pop(0)
        inner = command.get_command(context, name)
        assert inner
        command = inner
        context = click.Context(command, parent=context, info_name=name)
    command.make_context(command.name, words, parent=context)


@pytest.mark.parametrize("name", dict(commands()))
def test_a_command_is_in_the_reference(name):
    assert f"lenet-bench {name}" in REFERENCE or f"`{name} NAME...`" in REFERENCE


def test_each_option_that_the_reference_names_exists():
    params = [one for command in (cli, *dict(commands()).values()) for one in command.params]
    known = {name for one in params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", REFERENCE.replace("pip install", "")))
    assert named - known == set()


def leads_somewhere(page, link):
    file, _, anchor = link.partition("#")
    target = page.parent / file if file else page
    text = target.read_text() if anchor else ""
    headings = re.findall(r"^#+ (.+)", text, re.M)
    slugs = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    return target.exists() and (not anchor or anchor in (*slugs, *re.findall(r' id="(.+?)"', text)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_points_to_is_there(page):
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert [link for link in links if not leads_somewhere(page, link)] == []
    targets = re.findall(r"^([a-z0-9-]+(?: [a-z0-9-]+)*):", (ROOT / "Makefile").read_text(), re.M)
    named = re.findall(r"(?:`|^    |^)make ([a-z0-9-]+)", text, re.M)
    assert set(named) <= {target for line in targets for target in line.split()}


def rooms():
    """Modules and folders of the package, with their line in the table of docs/architecture.md."""
    table = (ROOT / "docs/architecture.md").read_text().partition("`python/lenet_bench/`")[2]
    rows = re.findall(r"^\| (`.*?) \|", table, re.M)
    return {room: n for n, row in enumerate(rows) for room in re.findall(r"`(\w+)(?:/|\.py)`", row)}


def imported(file):
    """The rooms that it imports from, now or later; not those whose types it names only."""
    tree = ast.parse(file.read_text())
    level = len(file.relative_to(PACKAGE).parts)
    for_types = [n for n in tree.body if isinstance(n, ast.If) and "TYPE_CH" in ast.dump(n.test)]
    missing = {inner for node in for_types for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == level and node not in missing:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (name.partition(".")[0] for name in names)


def test_the_plan_has_every_room():
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert {name for name in there if not name.startswith("_")} == set(rooms())


@pytest.mark.parametrize("room", rooms())
def test_a_room_imports_from_those_above_it_only(room):
    above = {other for other, line in rooms().items() if line < rooms()[room]}
    files = [PACKAGE / f"{room}.py", *(PACKAGE / room).rglob("*.py")]
    found = {name for file in files if file.exists() for name in imported(file)}
    assert found & set(rooms()) <= above


def files_imported(file):
    """The files of the package that it imports from, now or later; packages by what is in them."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            inside = [folder / f"{alias.name}.py" for alias in node.names]
            yield from (one for one in (folder.with_suffix(".py"), *inside) if one.is_file())


def test_no_file_imports_itself_through_others():
    every = [file for file in PACKAGE.rglob("*.py") if file.name != "__init__.py"]
    TopologicalSorter({file: {*files_imported(file)} for file in every}).prepare()


def test_the_readme_shows_what_its_result_file_gives():
    """Nobody edits a figure by hand, and a new result redraws it."""
    ran(sys.executable, ROOT / "bench/readme.py", "--check")


DRAWN = """
import readme
for path, text in readme.built():
    assert path.is_file(), path
    print(path.name, len(text))
"""


@pytest.mark.slow
def test_the_pictures_and_pages_of_a_release_are_drawn():
    done = ran(sys.executable, "-c", DRAWN, cwd=ROOT / "bench")
    sizes = dict(line.split() for line in done.stdout.splitlines())
    assert {"hero.svg", "sizes.svg", "code.svg", "classroom.html"} < sizes.keys()
    assert all(int(size) > 10_000 for size in sizes.values())


def test_tables_of_the_self_test_fit_a_narrow_screen():
    page = (ROOT / "docs/self-test.md").read_text()
    columns = {line.count("|") - 1 for line in page.splitlines() if line.startswith("|")}
    assert max(columns) <= 6


def test_the_picture_of_releases_says_what_its_height_is():
    assert "ratio to the newest" in (ROOT / "docs/pictures/releases.svg").read_text()


def test_the_page_of_python_names_every_function():
    page = (ROOT / "docs/python.md").read_text()
    classes = {n for n in lenet_bench.__all__ if n[0].isupper()} | {"__version__", "read_image"}
    assert [name for name in lenet_bench.__all__ if name not in classes and name not in page] == []


@pytest.mark.slow
def test_the_examples_in_python_run(tmp_path, small_mnist):
    page = (ROOT / "docs/python.md").read_text()
    draw_seven(tmp_path / "digit.png")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "program.py").write_text("\n".join(examples))
    own = environment(LENET_BENCH_MNIST=str(small_mnist))
    done = ran(sys.executable, "-W", "error", "program.py", cwd=tmp_path, env=own)
    assert done.stderr == ""
    assert done.stdout.startswith("7 ")
    assert "baseline" not in done.stdout.splitlines()  # but a verdict of `mine`


NOTEBOOK = json.loads((ROOT / "docs/classroom.ipynb").read_text())


def cells(kind):
    """The notebook's cells of that kind."""
    return ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == kind]


def filled_in():
    """Its program, each blank replaced by the answer that is folded away below it."""
    program = "\n".join(cells("code"))
    answers = re.findall(r"<details>.*?```python\n(.*?)\n```", "\n".join(cells("markdown")), re.S)
    for answer in answers:
        blank = re.sub(r"(= |return ).*", r"\1...", answer)
        assert program.count(f"\n{blank}\n") == 1, blank
        program = program.replace(f"\n{blank}\n", f"\n{answer}\n")
    assert len(answers) == 4
    return program


@pytest.mark.slow
@pytest.mark.parametrize("filled", [False, True])
def test_the_notebook_runs_alone_in_a_folder(tmp_path, filled):
    program = filled_in() if filled else "\n".join(cells("code"))
    (tmp_path / "notebook.py").write_text(f"{program}\nprint(len(plt.get_fignums()), 'pictures')")
    done = ran(sys.executable, "notebook.py", cwd=tmp_path, env=environment(MPLBACKEND="agg"))
    assert "the digit is 7" in done.stdout
    assert re.search(r"fused +[0-9.]+ us", done.stdout)
    assert done.stdout.count(": right\n") == (4 if filled else 0)
    assert "look again" not in done.stdout
    assert done.stdout.endswith("3 pictures\n")
