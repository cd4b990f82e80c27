"""The rungs that were not asked for and do not run here, in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def not_at_hand(names: Collection[str]) -> str | None:
    """Their names, a rung's for its variants' too; None where there are none."""
    if not names:
        return None
    usual = {name: re.sub(":[^@]*", "", name) for name in names}
    rungs = [name for name in names if usual[name] not in names or usual[name] == name]
    return f"not at hand: {', '.join(rungs)}; `lenet-bench doctor` says what brings them"
