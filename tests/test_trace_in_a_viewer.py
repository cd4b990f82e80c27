"""`why --trace`: a real viewer, speedscope from npm, opens the file and shows what is in it."""

import json
import shutil
import subprocess
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from lenet_bench.cache import cache_folder

VERSION = "1.25.0"
NAMES = ("numpy", "fused")


class Files(SimpleHTTPRequestHandler):
    """The files of a folder, without a word on the terminal."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def viewer(tmp_path_factory):
    """A folder with speedscope's page; npm brings it once, and the user's cache keeps it."""
    kept = cache_folder("tests") / f"speedscope-{VERSION}.tgz"
    if not kept.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no viewer: npm is missing; on Debian: apt install npm")
        brought = tmp_path_factory.mktemp("npm")
        command = [npm, "pack", "--silent", "--ignore-scripts", f"speedscope@{VERSION}"]
        done = subprocess.run(command, cwd=brought, capture_output=True, text=True, timeout=120)
        if done.returncode:
            pytest.skip(f"no viewer: npm brought no speedscope: {done.stderr[-200:]}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(brought / kept.name, kept)
    folder = tmp_path_factory.mktemp("viewer")
    with tarfile.open(kept) as content:
        content.extractall(folder, filter="data")
    return folder / "package/dist/release"


@pytest.fixture(scope="module")
def served(run, weights_file, viewer):
    """The address of speedscope with the trace of two backends, and the trace."""
    path = viewer / "calls.json"
    done = run("why", *NAMES, "--trace", path, "--weights", weights_file)
    assert done.code == 0, done.errors
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=viewer))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_address[1]}"
    yield f"{home}/index.html#profileURL={home}/{path.name}", json.loads(path.read_text())
    server.shutdown()
    server.server_close()


@pytest.fixture
def tab(chromium, served):
    """Speedscope with the trace open, as a table of functions; an error in it is a failure."""
    errors = []
    opened = chromium.new_page()
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(served[0])
    opened.get_by_text(f"{NAMES[0]} (pid 1").first.wait_for(timeout=120_000)
    opened.keyboard.press("3")  # "sandwich": the other two draw names on a canvas
    yield opened
    opened.close()
    assert errors == []


def test_both_backends_are_processes_with_their_functions_and_times_as_in_the_file(tab, served):
    whole = next(e for e in served[1]["traceEvents"] if e["pid"] == 1 and e["ph"] == "X")
    took = f"{whole['dur']:.2f}µs" if whole["dur"] < 1000 else f"{whole['dur'] / 1000:.2f}ms"
    row = tab.locator("tr", has_text=whole["name"])
    row.wait_for()
    assert f"{took} (100%)" in row.inner_text()
    tab.get_by_text(f"{NAMES[0]} (pid 1, tid 1) (1/2)").wait_for()
    tab.get_by_text("lenet_bench.backends.numpy:convolve", exact=True).wait_for()
    tab.keyboard.press("n")  # the next process
    tab.get_by_text(f"{NAMES[1]} (pid 2, tid 1) (2/2)").wait_for()
    tab.get_by_text("lenet_bench._fused:infer", exact=True).wait_for()
