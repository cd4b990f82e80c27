"""The figures of several networks: what each API takes of the fastest one's time."""

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from ...results import Result
from ...results.sizes import by_api, sized
from ..figures.records import brief, rounded
from ..sentences import processor
from .names import called

_SHIPPED = Path(__file__).parent / "networks.json"
#: What people have heard of, beside the page's own network; strings.js says what each is.
_TAUGHT = ("lenet", "alexnet", "googlenet", "resnet50", "vgg16")


def networks(results: Sequence[Result]) -> dict[str, Any] | None:
    """Of these results, where they are of several networks; else the published figures."""
    found = [one for one in by_api(sized(results)) if one[1].network in _TAUGHT]
    if not found:
        return json.loads(_SHIPPED.read_text("utf-8")) if _SHIPPED.exists() else None
    return {
        "machine": brief(processor(results[0].machine)),
        "sizes": [
            {
                "network": name,
                "multiply_adds": adds,
                "rows": [
                    rounded(
                        {
                            "api": api,
                            "call": called(one.name)["human"],
                            "us": one.us,
                            "ratio": one.ratio,
                            "low": one.low,
                            "high": one.high,
                        }
                    )
                    for api, one in rows
                ],
            }
            for (adds, name), rows in groupby(
                found, key=lambda row: (row[1].multiply_adds, row[1].network)
            )
        ],
    }
