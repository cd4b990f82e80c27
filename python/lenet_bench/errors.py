"""Errors that the user can fix, each with a message of one sentence.

The CLI prints the sentence and exits; any other exception is a bug and keeps its traceback.
"""

import re
from textwrap import shorten

_PLACE = re.compile(r"ERROR: \[[^\]\s]+:\d+\]\s*(└ )?")
_LONGEST = 200  # characters of a framework's own message; some fill a page


class LenetBenchError(Exception):
    """A failure that one sentence explains."""


class Misuse(LenetBenchError):
    """What nobody can ask for: options that contradict each other, or a value out of range."""


class ImageError(LenetBenchError):
    """A picture that cannot be read, or that shows no digit."""


class WeightsError(LenetBenchError):
    """A weights file that is absent, damaged or of another network."""


class DataError(LenetBenchError):
    """A data set that is absent, damaged or not MNIST."""


class ResultError(LenetBenchError):
    """A result file that cannot be read or written."""


class Unavailable(LenetBenchError):
    """A backend that cannot run here; the sentence ends with the command that fixes it."""


class Unsupported(LenetBenchError):
    """A network, or a layer of it, that an API does not have: a result, and no failure."""


#: What to do where the folder for temporary files cannot be used.
TEMPORARY = "to name another folder for them: export TMPDIR=DIR"


def incomplete(why: object) -> str:
    """The sentence where a part of lenet-bench itself, or a package that it needs, is absent."""
    said = next(reversed(str(why).strip().splitlines()), "")  # NumPy says a page
    if "failed to map segment" in said:
        return "out of memory"
    return f"the installation is not complete ({said}); install lenet-bench again"


def first_line(error: BaseException) -> str:
    """The message of another library's error, shortened for use in a sentence."""
    line = next(iter(without_places(str(error)).splitlines()), "") or type(error).__name__
    return shorten(line, _LONGEST, placeholder=" ...")


def without_places(said: str) -> str:
    """LiteRT's message in one line, without the places in its sources."""
    parts = (part.strip() for part in _PLACE.sub("", said).split("└"))
    return ": ".join(filter(None, parts)).removesuffix(", message=")


def without_middle(text: str, most: int) -> str:
    """The text, cut to about `most` characters in its middle."""
    left_out = len(text) - most
    if left_out <= 0:
        return text
    return f"{text[: most // 2]} [{left_out} characters left out] {text[-(most // 2) :]}"
