"""MNIST's files: read from a folder, refused when damaged, fetched from mirrors on 127.0.0.1."""

import gzip
import hashlib
import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urljoin

import numpy as np
import pytest
from lenet_bench import mnist
from lenet_bench.errors import DataError
from lenet_bench.mnist import fetch, find_mnist, read_mnist
from patterns import idx, write_part

FULL = os.environ.get("LENET_BENCH_MNIST", "")
needs_mnist = pytest.mark.skipif(not FULL, reason="set LENET_BENCH_MNIST to MNIST's folder")

IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
DRAWN = np.random.default_rng(1).integers(0, 256, (7, 28, 28), np.uint8)
DIGITS = np.array([3, 1, 4, 1, 5, 9, 2], np.uint8)


@pytest.fixture
def folder(tmp_path):
    """A folder with the two files of a test part of seven images."""
    return write_part(tmp_path, "t10k", DRAWN, DIGITS)


def test_images_are_read_with_their_labels(folder):
    digits = read_mnist("test", folder)
    assert np.array_equal(digits.images, DRAWN)
    assert np.array_equal(digits.labels, DIGITS)
    assert digits.ink().dtype == np.float32
    assert np.allclose(digits.ink() * 255, DRAWN)
    assert np.array_equal(digits.ink(np.array([5, 2])), digits.ink()[[5, 2]])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (f"{IMAGES}.gz", gzip.compress(idx(DRAWN))),
        (IMAGES, gzip.compress(idx(DRAWN))),
        ("t10k-images.idx3-ubyte", idx(DRAWN)),
    ],
)
def test_files_are_read_compressed_or_not_under_each_spelling(folder, name, content):
    (folder / IMAGES).unlink()
    (folder / name).write_bytes(content)
    assert np.array_equal(read_mnist("test", folder).images, DRAWN)


ZIPPED = gzip.compress(idx(DRAWN))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (LABELS, None, "absent"),
        (IMAGES, idx(DIGITS) + bytes(100), "images (magic 2051), found labels"),
        (IMAGES, idx(DRAWN)[:-100], "5488 bytes, 5388"),
        (IMAGES, ZIPPED[:-20], "damaged gzip file"),
        (LABELS, idx(DIGITS[:5]), "5 labels"),
        (IMAGES, idx(np.zeros((7, 32, 30), np.uint8)), "28x28, found 32x30"),
        (LABELS, idx(DIGITS + np.uint8(5)), "0 to 9, found 14"),
        (IMAGES, b"", "bytes"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong_with_it(folder, name, content, says):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    assert says in refusal(folder)


def refusal(folder):
    """The sentence, which names the folder."""
    with pytest.raises(DataError) as caught:
        read_mnist("test", folder)
    assert str(folder) in str(caught.value)
    return str(caught.value)


def test_an_absent_folder_is_refused(folder):
    assert "No such file or directory; expected a folder with" in refusal(folder / "nowhere")


def test_files_without_images_are_refused(folder):
    (folder / IMAGES).write_bytes(idx(np.zeros((0, 28, 28), np.uint8)))
    (folder / LABELS).write_bytes(idx(np.zeros(0, np.uint8)))
    assert "no image" in refusal(folder)


@needs_mnist
def test_a_filled_cache_needs_no_network(monkeypatch, tmp_path):
    monkeypatch.delenv("LENET_BENCH_MNIST")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = tmp_path / "lenet-bench" / "mnist"
    cache.mkdir(parents=True)
    for name in mnist.SOURCES:
        (cache / name).symlink_to(Path(FULL) / name)
    assert find_mnist() == cache
    assert all(path.is_symlink() for path in cache.iterdir()), "fetched anew"


FILES = ("t10k-images.gz", "train-images.gz")
DEAD = "http://127.0.0.1:9/"


class Mirrors(SimpleHTTPRequestHandler):
    """Folders on the web; `hasty` sends a part of what it promised and hangs up."""

    def do_GET(self):
        if not self.path.startswith("/hasty/"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"a part")

    def log_message(self, *_):
        pass


@pytest.fixture
def site(tmp_path, monkeypatch):
    """`good` has two small files, whose checksums are the known ones; `bad` has them spoilt."""
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    sources = {}
    for name in FILES:
        content = gzip.compress(name.encode() * 50_000, compresslevel=0)
        (good / name).write_bytes(content)
        (bad / name).write_bytes(content[:-1] + b"?")
        sources[name] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(mnist, "SOURCES", sources)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return good


@pytest.fixture
def web(site):
    """The address of both mirrors on 127.0.0.1."""
    handler = partial(Mirrors, directory=str(site.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_there_whole_is_not_fetched(web, site, cache):
    whole = contents(site)
    cache.mkdir()
    (site / FILES[0]).rename(cache / FILES[0])  # so that no mirror has it
    fetch(cache, [f"{web}good"])
    assert contents(cache) == whole


def test_what_is_damaged_is_fetched_anew(web, site, cache):
    cache.mkdir()
    (cache / FILES[0]).write_bytes(b"half of it")
    fetch(cache, [f"{web}good"])
    assert contents(cache) == contents(site)


def test_of_one_part_no_other_files_are_fetched(web, cache):
    fetch(cache, [f"{web}good"], part="test")
    assert list(contents(cache)) == [FILES[0]]


@pytest.mark.parametrize("failing", [DEAD, "nowhere", "hasty", "bad"])
def test_a_mirror_that_fails_is_passed_over(web, site, cache, failing):
    fetch(cache, [urljoin(web, failing), f"{web}good"])
    assert contents(cache) == contents(site)


def test_where_all_mirrors_fail_each_has_its_reason(web, cache):
    with pytest.raises(DataError) as caught:
        fetch(cache, [DEAD, f"{web}nowhere", f"{web}bad"])
    for part in ("refused", "404", "SHA-256", "--data", "LENET_BENCH_MNIST"):
        assert part in str(caught.value)


def test_a_cache_that_cannot_be_written_is_a_sentence(web, cache):
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataError, match="cannot be written"):
        fetch(cache, [f"{web}good"])


def test_a_failed_fetch_leaves_no_part_behind(web, site, cache):
    (site / FILES[1]).unlink()
    with pytest.raises(DataError, match=FILES[1]):
        fetch(cache, [f"{web}good"])
    assert contents(cache) == contents(site)
