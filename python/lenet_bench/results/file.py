"""The result file: one JSON object with a `schema` number, its samples at the end.

It is replaced whole after each round, so at any moment it is a complete file that holds every
sample of the rounds that are over. Older schemas stay readable.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..atomic import is_stream, write_atomically, writing
from ..errors import ResultError
from .model import SCHEMA, Result, RungResult
from .typed_json import decode
from .versioned import check_place, read_object

_NUMBERS = re.compile(r"\[\n[\d,\s]+\]")  # each a line; no JSON string has a new one


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read and check a result file; ResultError says what is wrong with it."""
    path = Path(path)
    content = read_object(path, "comparison", SCHEMA)
    try:
        return _from_json(content)
    except ValueError as error:
        raise ResultError(f"{path}: damaged result file: {error}") from None


def write_result(path: str | os.PathLike[str], result: Result) -> None:
    """Write a result file, whole or not at all; ResultError says why it cannot be written."""
    file = ResultFile(path)
    file.check()
    file.write(result)


class ResultFile:
    """A result's file while it grows: checked first, then replaced whole as often as one likes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._turns: dict[tuple[str, int], str] = {}  # those already turned into text

    def check(self) -> None:
        """Raise ResultError where it could not be written; leave what is there as it is."""
        check_place(self.path)

    def write(self, result: Result, *, last: bool = True) -> None:
        """Replace the file. A stream (/dev/stdout) cannot be, so it gets the `last` one only."""
        if is_stream(self.path) and not last:
            return
        content = self._content(result, for_readers=last).encode()
        with writing(self.path, ResultError):
            # In between, waiting for the disk would disturb the turns and guard only power cuts.
            write_atomically(self.path, content, durable=last)

    def _content(self, result: Result, *, for_readers: bool) -> str:
        """One turn a line at the end of the file, each turned into text only once.

        What comes before them has a line a field only at the end: after 500 starts that takes
        three times as long as all else here, and between rounds it is time that nothing is timed.
        """
        everyone = (*result.rungs, *((result.floor,) if result.floor else ()))
        turns = ",\n".join(f"  {json.dumps(rung.name)}: {self._lines(rung)}" for rung in everyone)
        head = _in_lines(result) if for_readers else json.dumps(result, **_FORM)
        return f'{head[:-1].rstrip()},\n "turns": {{\n{turns}\n }}\n}}\n'

    def _lines(self, rung: RungResult) -> str:
        lines = []
        for turn in rung.turns:
            key = (rung.name, turn.round)
            if key not in self._turns:
                self._turns[key] = json.dumps(asdict(turn), allow_nan=False, separators=(",", ":"))
            lines.append("\n   " + self._turns[key])
        return f"[{','.join(lines)}]"


def _in_lines(result: Result) -> str:
    head = json.dumps(result, indent=1, **_FORM)
    return _NUMBERS.sub(lambda found: "".join(found[0].split()), head)


def _without_turns(part: Any) -> dict[str, Any]:
    """A dataclass's fields; those that are dataclasses in turn are asked for by the encoder."""
    return {name: value for name, value in vars(part).items() if name != "turns"}


_FORM: dict[str, Any] = {"default": _without_turns, "allow_nan": False}


def _from_json(content: dict[str, Any]) -> Result:
    turns = content.pop("turns", {})
    if not isinstance(turns, dict):
        raise ValueError("turns: expected an object")
    if not isinstance(content.get("rungs"), list):
        raise ValueError("rungs: expected a list")
    for rung in (*content["rungs"], content.get("floor")):
        if isinstance(rung, dict):
            rung["turns"] = turns.get(str(rung.get("name")), [])
    result: Result = decode(Result, content)
    if damage := next(_impossible(result), None):
        raise ValueError(damage)
    return result


def _impossible(result: Result) -> Iterator[str]:
    """What no run writes, and no figure can be drawn from."""
    rules = result.rules
    if rules.baseline not in (None, *(rung.name for rung in result.rungs)):
        yield f"rules.baseline: {rules.baseline!r} is none of the rungs"
    if rules.rounds_a_start < 1:
        yield f"rules.rounds_a_start: expected 1 or more, found {rules.rounds_a_start}"
    if not 0 < rules.margin < 1:
        yield f"rules.margin: expected a share, found {rules.margin:g}"
    for rung in (*result.rungs, *([result.floor] if result.floor else [])):
        least = 0 if rung is result.floor else 1  # a coarse clock may see no time in an empty call
        for turn in rung.turns:
            if not turn.samples_ns:
                yield f"turns.{rung.name}: a turn without a timed call"
            elif min(turn.wall_ns, min(turn.samples_ns)) < least:
                yield f"turns.{rung.name}: a call that took no time"
