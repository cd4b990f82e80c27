"""Continue the run saved in a file, if it is the same run on the same machine."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import ResultError
from ..results import SHARED, Header
from ..results.circumstances import different, hardware, settings
from .options import CompareOptions, name_of


def as_before(options: CompareOptions, earlier: Header) -> CompareOptions:
    """These options with the backends, the baseline and the seed of the file's run.

    Raises ResultError where they ask for another comparison.
    """
    if earlier.kind == SHARED:
        raise ResultError(
            f"{options.output} is a shared result without all calls, so it cannot be continued: "
            "give another --output"
        )
    compared = tuple(listed.name for listed in earlier.backends)
    named = {*map(name_of, options.backends), *([options.baseline] if options.baseline else [])}
    if options.backends and named != set(compared):
        raise ResultError(
            f"{options.output} is a comparison of {', '.join(compared)}: to continue it, name the "
            "same backends or none; or give another --output"
        )
    entries = {name_of(one): one for one in options.backends}
    rules = earlier.rules
    return replace(
        options,
        backends=tuple(entries.get(name, name) for name in compared),
        baseline=rules.baseline if options.baseline is None else options.baseline,
        seed=rules.seed if options.seed is None else options.seed,
    )


def check_same(earlier: Header, now: Header, path: str | os.PathLike[str] | None) -> None:
    """Raise ResultError where the settings, the machine, the version or the weights differ."""
    pairs = [
        (_settings(earlier), _settings(now)),
        (hardware(earlier.machine), hardware(now.machine)),
    ]
    for one in (one for pair in pairs for one in different(*pair)):
        raise ResultError(
            f"{path} was measured with other settings ({one.what}: {one.old}, now {one.new}): "
            "give another --output"
        )


def _settings(header: Header) -> Mapping[str, Any]:
    rules = header.rules
    return {
        "version of lenet-bench": header.version,
        "baseline": rules.baseline,
        "seed": rules.seed,
        "margin": rules.margin,
        "batches": rules.batches,
        "calls taken apart": rules.apart,
        "other networks": rules.prices,
        **settings(rules),
    }
