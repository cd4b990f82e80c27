"""Measure settings beside the registry's own ways, or builders beside the code by hand."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lenet_bench import CompareOptions, Entry, compare, render
from lenet_bench.registry import find, precision, tolerance
from lenet_bench.show.terminal.progress import progress

from . import built
from .changes import Setting
from .idle import IDLE
from .tried import SETTINGS


def main() -> None:
    """List the settings, or measure those of the backends that are named."""
    parser = argparse.ArgumentParser(prog="python -m bench.settings", description=__doc__)
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help=f"of {', '.join(SETTINGS)}")
    parser.add_argument("--built", action="store_true", help="LeNet by builders, of any backends")
    parser.add_argument("--names", action="store_true", help="print the backends and end")
    parser.add_argument(
        "--every", type=float, metavar="MS", help="what helps idle threads: default ones, paced"
    )
    parser.add_argument(
        "--processes", type=int, nargs="+", default=[], help="so many call at once, too"
    )
    parser.add_argument("--rounds", type=int)
    parser.add_argument("-o", "--output", type=Path, help="the result file")
    asked = parser.parse_args()
    known = IDLE if asked.every else SETTINGS
    if (unknown := set(asked.backends) - set(known)) and not asked.built:
        parser.error(f"{', '.join(unknown)}: there are no settings of it")
    if asked.names or not asked.backends:
        said = [f"{backend}/{n}: {s.says}" for backend in known for n, s in known[backend].items()]
        print("\n".join(known if asked.names else said))
        return
    measured = built.both if asked.built else beside if asked.every else ways
    options = CompareOptions(
        tuple(one for backend in asked.backends for one in measured(backend)),
        rounds=asked.rounds,
        threads=0 if asked.every else 1,
        interval_s=asked.every and asked.every / 1000,
        callers=tuple(asked.processes),
        callers_in="processes",
        output=asked.output,
        timeout_s=600,  # compilers that tune
    )
    with progress() as line:
        result = compare(options, line.of_a_run)
    print(render(result))


def ways(backend: str) -> Sequence[str | Entry]:
    """The registry's variants of it, and its settings."""
    return [*find(backend)[0].names(), *(entry(backend, name) for name in SETTINGS[backend])]


def beside(backend: str) -> Sequence[str | Entry]:
    """The ways that its settings change, and these."""
    row, settings = find(backend)[0], IDLE[backend]
    functions = dict.fromkeys(one.function for one in settings.values())
    plain = [row.spell(row.default if one == "build" else one) for one in functions]
    return [*plain, *(entry(backend, name, IDLE, threads=0) for name in settings)]


def entry(
    backend: str,
    name: str,
    known: Mapping[str, Mapping[str, Setting]] = SETTINGS,
    threads: int = 1,
) -> Entry:
    """What `compare` measures a setting as."""
    plain, variants = Entry.of_backend(backend, threads), find(backend)[0].names()
    return replace(
        plain,
        name=f"{backend}/{name}",
        factory=f"bench.settings:{backend.replace('-', '_')}__{name}",
        path=(str(Path(__file__).parents[2]),),
        tolerance=max(tolerance(one) for one in variants if precision(one) == "float32"),
        variables={**plain.variables, **known[backend][name].variables},
    )


if __name__ == "__main__":
    main()
