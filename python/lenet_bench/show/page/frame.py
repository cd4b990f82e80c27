"""Common to all pages: templates, style, scripts, and a policy that allows no others."""

import base64
import hashlib
import zlib
from pathlib import Path
from typing import Any

from ..figures.pictures import library
from ..figures.vega import FONT, themes


def environment() -> Any:
    """Jinja's environment for the templates in this folder."""
    jinja2 = library("jinja2")
    return jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def stylesheet(rest: str | None = None) -> str:
    """The style of all pages, with the figures' colours; or another style with these colours."""
    light, dark = themes()
    return (
        f":root{{color-scheme:light;{light}--font:{FONT}}}"
        f'@media(prefers-color-scheme:dark){{:root:not([data-theme="light"])'
        f"{{color-scheme:dark;{dark}}}}}"
        f':root[data-theme="dark"]{{color-scheme:dark;{dark}}}'
        f"@media print{{:root:root:root{{color-scheme:light;{light}}}}}"
        f"{_asset('page.css') if rest is None else rest}"
    )


def policy(style: str, *scripts: str) -> str:
    """A content policy: no external resources, only these scripts."""
    allowed = " ".join(map(fingerprint, scripts))
    return f"default-src 'none'; style-src {fingerprint(style)}; script-src {allowed}"


def script(*names: str) -> str:
    """The script of a page, after the common one."""
    return "".join(map(_asset, ("common.js", *names)))


def fingerprint(text: str) -> str:
    """The hash of a style or a script for the policy."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def packed(content: bytes) -> str:
    """The content compressed, as text that a page holds."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def _asset(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
