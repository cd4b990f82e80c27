"""Measure settings beside the registry's own ways: python -m bench.settings BACKEND..."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lenet_bench import CompareOptions, Entry, compare, render
from lenet_bench.registry import find, precision, tolerance
from lenet_bench.show.terminal.progress import progress

from .tried import SETTINGS


def main() -> None:
    """List the settings, or measure those of the backends that are named."""
    parser = argparse.ArgumentParser(prog="python -m bench.settings", description=__doc__)
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help=f"of {', '.join(SETTINGS)}")
    parser.add_argument("--names", action="store_true", help="print the backends and end")
    parser.add_argument("--budget", type=float, help="seconds in all")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("-o", "--output", type=Path, help="the result file")
    asked = parser.parse_args()
    if unknown := set(asked.backends) - set(SETTINGS):
        parser.error(f"{', '.join(unknown)}: there are no settings of it")
    if asked.names or not asked.backends:
        print("\n".join(SETTINGS if asked.names else listed()))
        return
    options = CompareOptions(
        tuple(one for backend in asked.backends for one in ways(backend)),
        budget_s=asked.budget,
        rounds=asked.rounds,
        output=asked.output,
        timeout_s=600,  # compilers that tune
    )
    with progress() as line:
        result = compare(options, line.of_a_run)
    print(render(result))


def listed() -> Iterator[str]:
    """Each setting and what it tries."""
    for backend, settings in SETTINGS.items():
        for name, setting in settings.items():
            yield f"{backend}/{name}: {setting.says}"


def ways(backend: str) -> list[str | Entry]:
    """The registry's variants of it, and its settings."""
    return [*find(backend)[0].names(), *(entry(backend, name) for name in SETTINGS[backend])]


def entry(backend: str, name: str) -> Entry:
    """What `compare` measures a setting as."""
    plain, variants = Entry.of_backend(backend, threads=1), find(backend)[0].names()
    return replace(
        plain,
        name=f"{backend}/{name}",
        factory=f"bench.settings:{backend.replace('-', '_')}__{name}",
        path=(str(Path(__file__).parents[2]),),
        tolerance=max(tolerance(one) for one in variants if precision(one) == "float32"),
        variables={**plain.variables, **SETTINGS[backend][name].variables},
    )


if __name__ == "__main__":
    main()
