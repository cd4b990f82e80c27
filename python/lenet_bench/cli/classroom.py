"""`classroom`: a page on which students draw a digit, and a server of live backends."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ..atomic import write_atomically, write_file
from ..errors import ResultError
from .options import Whole, command, each_once, open_option, option, results_argument
from .output import SUCCESS, give_page, note, say

_PAGE = Path("classroom.html")
_SITE = Path("classroom")
_LEADING = b"""<!doctype html><meta charset="utf-8"><title>lesson</title>
<meta http-equiv="refresh" content="0; url=%s"><a href="%s">the lesson</a>
"""


@command("Write a page to draw digits on and to race the APIs.")
@results_argument
@option("-o, --output FILE", "Write the page here; it works offline. [classroom.html]")
@open_option
@option(
    "--site",
    "Write a folder for a web server in place of one file: a small page, and what it loads.",
)
@option(
    "--address URL", "Where a class will find the page, which then shows its QR code.", kind=str
)
@option("--serve", "Serve the page on this machine, with backends that answer live.", "served")
@option("--port N", "With --serve: listen on this port. [a free one]", kind=Whole(1, 65535))
@option(
    "-b, --backend BACKEND",
    "With --serve: let this backend answer. Repeatable. [every one that is installed]",
    "backends",
    multiple=True,
    callback=each_once,
)
@option(
    "--browser-engines",
    "With --serve: download onnxruntime-web and tfjs by npm, once; they run in the browser.",
)
def classroom(
    results: tuple[Path, ...],
    output: Path | None,
    show: bool,
    site: bool,
    address: str | None,
    served: bool,
    port: int | None,
    backends: tuple[str, ...],
    browser_engines: bool,
) -> int:
    """Write a page on which students draw a digit, watch every layer and race the APIs.

    The page computes in the browser, with our own kernels. The race shows the times of the
    first RESULT of LeNet, a file of `compare`; a second one, of `why`, shows the parts of
    each call. Without a RESULT the page shows the published results. With --serve every
    backend that is installed here answers each drawing, too, until Ctrl-C.

    $ lenet-bench classroom
    $ lenet-bench classroom mine.jsonl -o lesson.html --open
    $ lenet-bench classroom mine.jsonl why.jsonl
    $ lenet-bench classroom --site -o site --address https://example.org/lesson/
    $ lenet-bench classroom --serve --open
    $ lenet-bench classroom --serve -b fused -b numpy -b keras:predict_on_batch
    $ lenet-bench classroom --serve --browser-engines --port 8080
    """
    from ..results import read_result
    from ..show.classroom import classroom_page, classroom_site, published

    only_served = {"--port": port, "--backend": backends, "--browser-engines": browser_engines}
    if site and show:
        raise click.UsageError("--open shows a file, and --site is for a web server")
    if served and (site or address):
        raise click.UsageError("--site and --address write the page and --serve serves it")
    if address and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", address):
        raise click.UsageError(f"--address: expected https://..., got {address!r}")
    if served and output:
        raise click.UsageError("-o writes the page and --serve serves it: give one of them")
    unserved = next((name for name, given in only_served.items() if given), None)
    if unserved and not served:
        raise click.UsageError(f"{unserved} works only with --serve: give both")
    found = [(str(path), read_result(path)) for path in results] or published()
    if site:
        _write_site(output or _SITE, classroom_site(found, address=address))
        return SUCCESS
    page = classroom_page(found, served=served, address=address)
    if served:
        _serve(page, port, backends, browser_engines, show)
        return SUCCESS
    give_page(output or _PAGE, page, show=show)
    return SUCCESS


def _write_site(folder: Path, files: dict[str, bytes]) -> None:
    """Each file in place of an old one; the page last, which asks for the others."""
    for name, content in reversed(files.items()):
        write_file(folder / name, content, ResultError)
    note(f"wrote {folder}, for a web server: {len(files['index.html']) // 1000} kB come first")


def _serve(
    page: str, port: int | None, backends: tuple[str, ...], browser_engines: bool, show: bool
) -> None:
    import webbrowser

    from ..classroom import Live, engines, installed, serve

    if browser_engines:
        engines.install(note)

    live = Live(backends or installed())
    with TemporaryDirectory(prefix="lenet-bench-") as folder:  # only this user can read it

        def opened(address: str) -> None:
            say([address])
            note("open this address in a browser of this machine; Ctrl-C ends the lesson")
            if show:
                webbrowser.open(_leading_to(address, Path(folder)))

        serve(page, live, engines.installed(note), port=port or 0, opened=opened)


def _leading_to(address: str, folder: Path) -> str:
    """The address of a file that redirects there: all users see a browser's command line."""
    file = folder / "lesson.html"
    write_atomically(file, _LEADING % (address.encode(), address.encode()), mode=0o600)
    return file.as_uri()
