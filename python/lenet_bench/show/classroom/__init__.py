"""The classroom page: draw a digit, watch every layer, and race the APIs.

It contains the weights, the kernels as WebAssembly, the code of the backends and their times, and
works offline. Its scripts are modules, each a file here; the page contains them as data URLs.
"""

import base64
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...results import Result, read_result
from ...texts import all_printable, printable
from ...weights import default_path
from ..figures.pictures import library
from ..page.frame import fingerprint, packed, stylesheet
from .lesson import lesson

_HERE = Path(__file__).parent
#: Besides what the script loads: everything is in the page. Where it is served, it asks its server.
_POLICY = "default-src 'none'; img-src data: blob:; style-src {style}; connect-src {connect}; "
_POLICY += "script-src {scripts} data: 'wasm-unsafe-eval'"


def classroom_page(
    results: Sequence[tuple[str, Result]],
    *,
    served: bool = False,
    wrong: Sequence[dict[str, Any]] = (),
) -> str:
    """The page of a comparison, of runs of `why` that explain it, and of wrong test images."""
    modules = {path.name: _module(path.name) for path in sorted(_HERE.glob("*.js"))}
    imports = json.dumps({"imports": {f"lenet/{n}": _as_data(text) for n, text in modules.items()}})
    start = 'import "lenet/main.js";'
    style = stylesheet("".join(_text(path.name) for path in sorted(_HERE.glob("*.css"))))
    scripts = " ".join(map(fingerprint, (imports, start)))
    told = all_printable(lesson(results, wrong)) | {"served": served}
    template = library("jinja2").Template(_text("page.html"), autoescape=True)
    page: str = template.render(
        style=style,
        imports=imports,
        start=start,
        title=_sentence("title"),
        noscript=_sentence("noscript"),
        lesson=packed(json.dumps(told).encode()),
        weights=packed(default_path().read_bytes()),
        kernels=packed((_HERE / "native.wasm").read_bytes()),
        policy=_POLICY.format(
            style=fingerprint(style),
            scripts=scripts + (" 'self'" if served else ""),
            connect="'self'" if served else "'none'",
        ),
    )
    return printable(page)


def published() -> list[tuple[str, Result]]:
    """The published results in the package: the README's comparison and a run of `why`."""
    return [(path.name, read_result(path)) for path in sorted(_HERE.glob("*.jsonl.gz"))]


def _module(name: str) -> str:
    """A module that finds the others by name: data URLs have no folder."""
    return re.sub(r'((?:from|import)\s*\(?\s*)"\./', r'\1"lenet/', _text(name))


def _as_data(script: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(script.encode()).decode()}"


def _sentence(name: str) -> str:
    """One that the page shows without its script."""
    found = re.search(rf'^  {name}: "(.*)",$', _text("strings.js"), re.MULTILINE)
    assert found is not None, name
    return found[1]


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
