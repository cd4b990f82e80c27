"""The classroom page: draw a digit, watch every layer, and race the APIs.

It contains the weights, the kernels as WebAssembly, the code of the backends and their times, and
works offline: one file, or a site of a small first file and the data that it loads. Its scripts are
modules, each a file here; the page contains them as data URLs.
"""

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...registry import every_name
from ...results import Result, read_result
from ...texts import all_printable, printable
from ...weights import default_path
from ..figures.pictures import library
from ..page.frame import fingerprint, packed, script, stylesheet
from .lesson import lesson
from .names import called
from .opened import opened

_HERE = Path(__file__).parent
#: Besides what the script loads: everything is in the page. Where it is served, it asks its server.
_POLICY = "default-src 'none'; img-src data: blob:; style-src {style}; connect-src {connect}; "
_POLICY += "script-src {scripts} data: 'wasm-unsafe-eval'"


def classroom_page(
    results: Sequence[tuple[str, Result]], *, served: bool = False, address: str | None = None
) -> str:
    """The page of a comparison and of runs of `why` that explain it, in one file.

    `address` is where a class will find it, which it then shows as a QR code.
    """
    data = {name: packed(content) for name, content in _data(results, served, address).items()}
    return _page(data, asks=served, engines=served)


def classroom_site(
    results: Sequence[tuple[str, Result]], *, address: str | None = None
) -> dict[str, bytes]:
    """The same page for a web server: each file by its name; the data load after the first."""
    data = {
        f"{name}.bin": zlib.compress(content, 9)
        for name, content in _data(results, False, address).items()
    }
    page = _page(dict.fromkeys((name.removesuffix(".bin") for name in data), ""), asks=True)
    return {"index.html": page.encode(), **data}


def _data(
    results: Sequence[tuple[str, Result]], served: bool, address: str | None
) -> dict[str, bytes]:
    """What the script computes with and shows."""
    told = all_printable(lesson(results)) | {
        "served": served,
        "called": {name: called(name)["human"] for name in every_name()} if served else {},
        "address": _shared(address) if address else None,
        "opened": opened(),
    }
    return {
        "lesson": json.dumps(told).encode(),
        "weights": default_path().read_bytes(),
        "kernels": (_HERE / "native.wasm").read_bytes(),
    }


def _shared(address: str) -> dict[str, str]:
    """The address and its QR code."""
    code = library("segno").make(address, micro=False)
    return {"url": address, "image": code.svg_data_uri(scale=8, border=4, light="white")}


def _page(data: Mapping[str, str], *, asks: bool, engines: bool = False) -> str:
    """With what the script needs, or without what it asks its server for, as for engines."""
    modules = {path.name: _module(path.name) for path in sorted(_HERE.glob("*.js"))}
    modules["common.js"] = script() + "export { switchThemes };"
    imports = json.dumps({"imports": {f"lenet/{n}": _as_data(text) for n, text in modules.items()}})
    start = 'import "lenet/main.js";'
    style = stylesheet("".join(_text(path.name) for path in sorted(_HERE.glob("*.css"))))
    scripts = " ".join(map(fingerprint, (imports, start)))
    template = library("jinja2").Template(_text("page.html"), autoescape=True)
    page: str = template.render(
        style=style,
        imports=imports,
        start=start,
        title=_sentence("title"),
        noscript=_sentence("noscript"),
        data=data,
        policy=_POLICY.format(
            style=fingerprint(style),
            scripts=scripts + (" 'self'" if engines else ""),
            connect="'self'" if asks else "'none'",
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
