"""Any file of ours that holds results: a JSON object with a schema number, of a kind."""

import json
from pathlib import Path
from typing import Any

from ..atomic import check_writable, is_stream, write_atomically, writing
from ..errors import ResultError


def read_object(path: Path, kind: str, newest: int) -> dict[str, Any]:
    """The object, if it is of that kind and of a schema up to the newest."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):  # JSON's and UTF-8's errors, and brackets without end
        raise ResultError(f"{path}: not a result file: it is not JSON") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if type(schema) is not int:
        raise ResultError(f"{path}: not a result file: it has no schema number")
    found = content.get("kind", "comparison")  # the first kind, which does not say it
    if found != kind:
        raise ResultError(f"{path}: expected the result of a {kind}, found that of a {found}")
    if schema > newest:
        raise ResultError(
            f"{path}: written by a newer lenet-bench (schema {schema}, this one reads up to "
            f"{newest}); upgrade with: pip install --upgrade lenet-bench"
        )
    return dict(content)


def check_place(path: Path) -> None:
    """Raise ResultError where a file could not be written; leave what is there as it is."""
    with writing(path, ResultError):
        if is_stream(path):
            return
        if path.is_dir():
            raise ResultError(f"{path}: expected a file to write, found a directory")
        check_writable(path)


def write_object(path: Path, content: dict[str, Any], *, last: bool = True) -> None:
    """Put the object in the file's place; a stream, which keeps all, gets the `last` one only.

    Raises ResultError where it cannot be written.
    """
    if is_stream(path) and not last:
        return
    with writing(path, ResultError):
        write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())
