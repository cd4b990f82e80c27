"""An exhibit's source in HTML: what belongs to its API is told from the language around it.

The language's words, strings and comments have their colours as in any editor; beyond that, the
names of the API are marked, and lines are numbered as they count for the lines of code.
"""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence

from ..cost import Source, code_lines
from .markup import Markup, element, escape, join

_CPP = re.compile(
    r"""(?P<c>//[^\n]*|/\*.*?\*/)
      | (?P<s>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'
             |(?<=include\ )<[^>\n]+>)
      | (?P<k>^[ ]*\#[ ]*\w+) | (?P<w>[A-Za-z_]\w*)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CPP_WORDS = re.compile(
    r"alignas|auto|bool|break|case|catch|char|class|const(expr)?|continue|default|delete|do|double"
    r"|else|enum|explicit|extern|false|final|float|for|friend|if|inline|int|long|mutable|namespace"
    r"|new|noexcept|nullptr|operator|override|private|protected|public|return|short|(un)?signed"
    r"|sizeof|static(_assert)?|struct|switch|template|this|throw|true|try|typedef|typename|union"
    r"|using|virtual|void|volatile|while|__(global|device|shared|restrict|launch_bounds)__"
)
_PYTHON_KINDS = {tokenize.COMMENT: "c", tokenize.STRING: "s"}
_FSTRING = tuple(  # from Python 3.12 an f-string is several tokens
    getattr(tokenize, name)
    for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
    if hasattr(tokenize, name)
)

#: A letter each, for comments, strings, the language's words and the API's names: seven thousand
#: of them with a class would be a fifteenth of the page.
_ELEMENTS = {"c": "i", "s": "q", "k": "u", "a": "b"}

_Span = tuple[int, int, str]  # from, to, kind


def listing(
    files: Sequence[Source], api: Sequence[str], shown: Mapping[Source, Markup] | None = None
) -> Markup:
    """Each file with its name, its lines numbered through where they count.

    Of a file that was shown before there is the number of its lines and the way to it.
    """
    words = {word for name in api for word in re.split(r"\W+", name) if word}
    counted, parts = 0, []
    for source in files:
        before = counted
        numbers, counted = _numbers(source, counted)
        parts.append(element("h3", source.name, class_="file"))
        if shown and source in shown:
            parts.append(element("p", f"{counted - before} lines, shown with ", shown[source]))
            continue
        code = element("code", _painted(source, words))
        # HTML takes the first line's end for none of the text.
        gutter = element("pre", f"\n{numbers}", class_="gutter", aria_hidden="true")
        scrolled = element(
            "pre", code, tabindex="0", role="region", aria_label=f"Source of {source.name}"
        )
        parts.append(element("div", gutter, scrolled, class_="listing"))
    return join(parts)


def _numbers(source: Source, counted: int) -> tuple[str, int]:
    """A line of the gutter for each of the source: its number where it counts, else nothing."""
    counting, numbers = code_lines(source), []
    for number in range(1, len(source.text.splitlines()) + 1):
        counted += number in counting
        numbers.append(str(counted) if number in counting else "")
    return "\n".join(numbers), counted


def _painted(source: Source, api: set[str]) -> Markup:
    text = source.text
    spans = _python(text, api) if source.python else _cpp(text, api)
    parts, end = [], 0
    for begin, stop, kind in spans:
        parts += [escape(text[end:begin]), element(_ELEMENTS[kind], text[begin:stop])]
        end = stop
    return join([*parts, escape(text[end:])])


def _python(text: str, api: set[str]) -> Iterator[_Span]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = _PYTHON_KINDS.get(token.type) or ("s" if token.type in _FSTRING else "")
        if token.type == tokenize.NAME:
            kind = "k" if keyword.iskeyword(token.string) else "a" if token.string in api else ""
        if kind:
            begin, stop = (starts[row - 1] + column for row, column in (token.start, token.end))
            yield begin, stop, kind


def _cpp(text: str, api: set[str]) -> Iterator[_Span]:
    for found in _CPP.finditer(text):
        kind = found.lastgroup or ""
        if kind == "w":
            kind = "k" if _CPP_WORDS.fullmatch(found[0]) else "a" if found[0] in api else ""
        if kind:
            yield found.start(), found.end(), kind
