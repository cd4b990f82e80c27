"""Draw the tables of the README and of docs/ anew from the result files they name.

python bench/readme.py             write them
python bench/readme.py --check     fail where one is not what its file gives
python bench/readme.py --release   write the pictures and the pages too, of the classroom and of the
                                   README's result: large ones, committed for a release; or check
                                   these too

A block begins with `<!-- KIND drawn from FILE -->` and ends with `<!-- end -->`; the kinds stand in
tables.py.
"""

import argparse
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from lenet_bench.mnist import local_folder, read_mnist
from lenet_bench.questions.share import given
from lenet_bench.results import read_result
from lenet_bench.show.callers import callers
from lenet_bench.show.classroom import classroom_page, published
from lenet_bench.show.classroom.learnt import wrong_images
from lenet_bench.show.classroom.networks import networks
from lenet_bench.show.figures.callers import callers as callers_figure
from lenet_bench.show.figures.pictures import drawing, pictures, themed
from lenet_bench.show.figures.sizes import sizes as size_figures
from lenet_bench.show.page import page
from lenet_bench.texts import json_text
from models import picture
from opened import picture as opened
from steps import picture as releases
from tables import (
    DRAWN,
    PARTS,
    ROOT,
    in_order,
    limits_us,
    notatbest,
    of_sizes,
    readme_result,
    runs,
)

MARKDOWN = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
BLOCK = re.compile(
    r"(<!-- (?P<kind>\w+) drawn from (?P<file>\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL
)
PICTURES = ROOT / "docs/pictures"
SHIPPED = ROOT / "python/lenet_bench/show/classroom"
NETWORKS = ROOT / "results/networks"
MODELS = ROOT / "results/models"
CALLERS = ROOT / "results/production/callers.jsonl.gz"
RELEASES = ROOT / "results/releases"
CONTROL = "control"  # how runs of LeNet by hand and built begin: not a network more


def shipped() -> Iterator[tuple[Path, bytes]]:
    """What the classroom's page is made of where no result is given."""
    yield SHIPPED / "comparison.jsonl.gz", given(readme_result()).content
    yield SHIPPED / "why.jsonl.gz", PARTS.read_bytes()
    files = sorted(path for path in NETWORKS.glob("*.gz") if not path.name.startswith(CONTROL))
    measured = [read_result(path) for path in files]
    yield SHIPPED / "networks.json", f"{json_text(networks(measured), None)}\n".encode()
    if any(local_folder().glob("t10k-images*")):
        wrong = wrong_images(read_mnist("test", local_folder()))
        yield SHIPPED / "wrong.json", f"{json_text(wrong, None)}\n".encode()


def notes(result: Path) -> list[str]:
    """What the page says below its table: which backends are known to be faster than there."""
    return [f"Not at its best: {line.removeprefix('- ')}" for line in notatbest(result)]


def filled(block: re.Match[str]) -> str:
    """The block with what belongs into it."""
    found = DRAWN[block["kind"]](ROOT / block["file"])
    return block[1] + "".join(f"{line.rstrip()}\n" for line in found) + block[4]


def texts() -> Iterator[tuple[Path, bytes]]:
    """The Markdown, each with what it should hold."""
    for target in MARKDOWN:
        yield target, BLOCK.sub(filled, target.read_text()).encode()


def built() -> Iterator[tuple[Path, bytes]]:
    """Pictures and pages, which are large, and written for a release."""
    result = readme_result()
    by_size = size_figures(of_sizes(NETWORKS), limits_us(NETWORKS))
    figures = pictures(runs(result), by_size)
    figures["models"] = drawing(*picture(in_order(MODELS)))
    figures["releases"] = drawing(*releases(RELEASES))
    figures["opened"] = drawing(*opened())
    (together,) = callers_figure(callers(read_result(CALLERS)))
    figures["callers"] = drawing(together.spec, [])
    for key in ("hero", "sizes", "code", "models", "callers", "releases", "opened"):
        yield PICTURES / f"{key}.svg", themed(figures[key]).encode()
    of_readme = page(runs(result, PARTS), by_size, notes(result))
    yield result.with_suffix("").with_suffix(".html"), of_readme.encode()
    yield ROOT / "docs/classroom.html", classroom_page(published()).encode()


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--release", action="store_true")
    asked = parser.parse_args()
    release = " --release" if asked.release else ""
    for path, content in chain(shipped(), texts(), built() if release else ()):
        if not asked.check:
            path.write_bytes(content)
        elif not path.exists() or content != path.read_bytes():
            name = path.relative_to(ROOT)
            raise SystemExit(f"{name} is stale; fix it with: python bench/readme.py{release}")


if __name__ == "__main__":
    main()
