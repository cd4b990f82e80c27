"""One recorded call of Keras and one of oneDNN as spans in time, which bench/opened.py wrote."""

import json
from pathlib import Path
from typing import Any

#: Where the recording lies; bench/opened.py says what is in it.
RECORDED = Path(__file__).parent / "opened.json"


def opened() -> dict[str, Any]:
    """The recording."""
    found: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
    return found
