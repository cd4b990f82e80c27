"""Measure alternatives beside the registry's own ways: python -m bench.settings BACKEND..."""

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from lenet_bench import CompareOptions, Entry, Progress, compare, render
from lenet_bench.registry import find, precision, tolerance
from lenet_bench.registry.environments import interpreter, variables

_HERE = Path(__file__).parent
_FILES = {path.stem.replace("_", "-"): path for path in sorted(_HERE.glob("[a-z]*.py"))}


def main() -> None:
    """List the alternatives, or measure those of the backends that are named."""
    parser = argparse.ArgumentParser(prog="python -m bench.settings", description=__doc__)
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help=f"of {', '.join(_FILES)}")
    parser.add_argument("--names", action="store_true", help="print the backends and end")
    parser.add_argument("--budget", type=float, help="seconds in all")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("-o", "--output", type=Path, help="the result file")
    asked = parser.parse_args()
    if unknown := set(asked.backends) - set(_FILES):
        parser.error(f"{', '.join(unknown)}: there is no such file in {_HERE}")
    if asked.names or not asked.backends:
        print("\n".join(_FILES if asked.names else listed()))
        return
    options = CompareOptions(
        tuple(one for backend in asked.backends for one in ways(backend)),
        budget_s=asked.budget,
        rounds=asked.rounds,
        output=asked.output,
        timeout_s=600,  # compilers that tune
    )
    print(render(compare(options, progress)))


def listed() -> Iterator[str]:
    """Each alternative and what it tries."""
    for backend in _FILES:
        for name, tries in alternatives(backend).items():
            yield f"{backend}/{name}: {tries}"


def ways(backend: str) -> list[str | Entry]:
    """The registry's variants of it, and its alternatives."""
    return [*find(backend)[0].names(), *(entry(backend, name) for name in alternatives(backend))]


def entry(backend: str, function: str) -> Entry:
    """What `compare` measures an alternative as."""
    row, _ = find(backend)
    return Entry(
        f"{backend}/{function}",
        factory=f"bench.settings:{_FILES[backend].stem}__{function}",
        path=(str(_HERE.parent.parent),),
        tolerance=max(tolerance(name) for name in row.names() if precision(name) == "float32"),
        python=interpreter(row),
        variables={**variables(row, threads=1), **own_variables(backend).get(function, {})},
    )


def alternatives(backend: str) -> dict[str, str]:
    """Each function and what it tries; read, since its API may live in another environment."""
    functions = [one for one in _body(backend) if isinstance(one, ast.FunctionDef)]
    return {
        one.name: ast.get_docstring(one) or ""
        for one in functions
        if not one.name.startswith("_") and one.returns and ast.unparse(one.returns) == "Infer"
    }


def own_variables(backend: str) -> dict[str, dict[str, str]]:
    """The file's VARIABLES, by function."""
    for one in _body(backend):
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "VARIABLES":
            found: dict[str, dict[str, str]] = ast.literal_eval(one.value)
            return found
    return {}


def _body(backend: str) -> list[ast.stmt]:
    return ast.parse(_FILES[backend].read_text()).body


def progress(now: Progress) -> None:
    """Where it stands, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r{now.elapsed_s:.0f} s: {now.doing:<60}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
