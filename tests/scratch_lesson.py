"""A lesson with a page of the test's own: `python scratch_lesson.py PAGE BACKEND...`."""

import sys
from pathlib import Path

from lenet_bench.classroom import Live, engines, serve

if __name__ == "__main__":
    page, *backends = sys.argv[1:]
    serve(
        Path(page).read_text(encoding="utf-8"),
        Live(backends),
        engines.installed(print),
        opened=lambda address: print(address, flush=True),
    )
