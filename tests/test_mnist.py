"""MNIST's files: read from a folder, refused when damaged, fetched from mirrors on 127.0.0.1."""

import gzip
import hashlib
import os
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lenet_bench import mnist
from lenet_bench.errors import DataError
from lenet_bench.mnist import Source, cache_folder, fetch, find_mnist, read_mnist
from numpy.typing import NDArray

FULL = os.environ.get("LENET_BENCH_MNIST", "")
IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


def idx(array: NDArray[np.uint8], magic: int | None = None) -> bytes:
    magic = 0x800 + array.ndim if magic is None else magic
    return struct.pack(f">{1 + array.ndim}I", magic, *array.shape) + array.tobytes()


@pytest.fixture
def images() -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(0, 256, (7, 28, 28), np.uint8)


@pytest.fixture
def labels() -> NDArray[np.uint8]:
    return np.array([3, 1, 4, 1, 5, 9, 2], np.uint8)


@pytest.fixture
def folder(tmp_path: Path, images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Path:
    """A folder with the two files of a test part of seven images."""
    (tmp_path / IMAGES).write_bytes(idx(images))
    (tmp_path / LABELS).write_bytes(idx(labels))
    return tmp_path


def refusal(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_mnist("test", folder)
    assert str(folder) in str(caught.value)
    return str(caught.value)


# reading


def test_images_and_labels_are_read(
    folder: Path, images: NDArray[np.uint8], labels: NDArray[np.uint8]
) -> None:
    digits = read_mnist("test", folder)
    assert np.array_equal(digits.images, images)
    assert np.array_equal(digits.labels, labels)


def test_gzip_files_are_read(folder: Path, images: NDArray[np.uint8]) -> None:
    (folder / IMAGES).unlink()
    (folder / f"{IMAGES}.gz").write_bytes(gzip.compress(idx(images)))
    assert np.array_equal(read_mnist("test", folder).images, images)


def test_a_gzip_file_without_its_ending_is_read(folder: Path, images: NDArray[np.uint8]) -> None:
    (folder / IMAGES).write_bytes(gzip.compress(idx(images)))
    assert np.array_equal(read_mnist("test", folder).images, images)


def test_the_spelling_with_a_dot_is_read(folder: Path) -> None:
    (folder / IMAGES).rename(folder / "t10k-images.idx3-ubyte")
    assert len(read_mnist("test", folder)) == 7


def test_ink_goes_from_0_to_1_as_float32(folder: Path) -> None:
    (folder / IMAGES).write_bytes(idx(np.full((7, 28, 28), 255, np.uint8)))
    ink = read_mnist("test", folder).ink()
    assert ink.dtype == np.float32
    assert (ink == 1).all()


def test_ink_of_some_images_has_only_those(folder: Path) -> None:
    digits = read_mnist("test", folder)
    assert np.array_equal(digits.ink(np.array([5, 2])), digits.ink()[[5, 2]])


@pytest.mark.skipif(not FULL, reason="needs MNIST: set LENET_BENCH_MNIST to its folder")
def test_mnist_has_60000_and_10000_images() -> None:
    assert len(read_mnist("train", FULL)) == 60_000
    assert len(read_mnist("test", FULL)) == 10_000


# refusing


def test_an_absent_folder_is_told(tmp_path: Path) -> None:
    assert "no such folder" in refusal(tmp_path / "nowhere")


def test_an_absent_file_is_named(folder: Path) -> None:
    (folder / LABELS).unlink()
    assert "t10k-labels-idx1-ubyte (or .gz) is absent" in refusal(folder)


def test_labels_in_the_place_of_images_are_told(folder: Path, labels: NDArray[np.uint8]) -> None:
    (folder / IMAGES).write_bytes(idx(labels) + bytes(100))
    assert "expected IDX images (magic 2051), found labels (magic 2049)" in refusal(folder)


def test_a_wrong_magic_is_told(folder: Path, images: NDArray[np.uint8]) -> None:
    (folder / IMAGES).write_bytes(idx(images, magic=0x0D03))  # IDX of floats
    assert "expected IDX images (magic 2051), found something else (magic 3331)" in refusal(folder)


def test_a_truncated_file_tells_both_lengths(folder: Path, images: NDArray[np.uint8]) -> None:
    (folder / IMAGES).write_bytes(idx(images)[:-100])
    assert "truncated: its header tells 5488 bytes, 5388 are there" in refusal(folder)


def test_a_truncated_header_is_told(folder: Path) -> None:
    (folder / LABELS).write_bytes(bytes(5))
    assert "truncated: expected 8 bytes of header, found 5" in refusal(folder)


def test_an_empty_file_is_told(folder: Path) -> None:
    (folder / IMAGES).write_bytes(b"")
    assert "truncated: expected 16 bytes of header, found 0" in refusal(folder)


def test_trailing_bytes_are_told(folder: Path, labels: NDArray[np.uint8]) -> None:
    (folder / LABELS).write_bytes(idx(labels) + b"more")
    assert "4 bytes too many after the last item" in refusal(folder)


def test_a_truncated_gzip_file_is_told(folder: Path, images: NDArray[np.uint8]) -> None:
    (folder / IMAGES).write_bytes(gzip.compress(idx(images))[:-20])
    assert "damaged gzip file" in refusal(folder)


def test_a_damaged_gzip_file_is_told(folder: Path, images: NDArray[np.uint8]) -> None:
    content = bytearray(gzip.compress(idx(images)))
    content[500] ^= 0xFF
    (folder / IMAGES).write_bytes(content)
    assert "damaged gzip file" in refusal(folder)


def test_fewer_labels_than_images_are_told(folder: Path, labels: NDArray[np.uint8]) -> None:
    (folder / LABELS).write_bytes(idx(labels[:5]))
    assert f"{IMAGES} holds 7 images, but {LABELS} holds 5 labels" in refusal(folder)


def test_images_of_another_size_are_told(folder: Path) -> None:
    (folder / IMAGES).write_bytes(idx(np.zeros((7, 32, 30), np.uint8)))
    assert "expected images of 28x28, found 32x30" in refusal(folder)


def test_a_label_above_9_is_told(folder: Path, labels: NDArray[np.uint8]) -> None:
    (folder / LABELS).write_bytes(idx(labels + 5))
    assert "expected labels from 0 to 9, found 14" in refusal(folder)


def test_files_without_an_image_are_told(folder: Path) -> None:
    (folder / IMAGES).write_bytes(idx(np.zeros((0, 28, 28), np.uint8)))
    (folder / LABELS).write_bytes(idx(np.zeros(0, np.uint8)))
    assert "holds no image" in refusal(folder)


def test_a_directory_in_the_place_of_a_file_is_told(folder: Path) -> None:
    (folder / IMAGES).unlink()
    (folder / IMAGES).mkdir()
    assert "cannot be read: Is a directory" in refusal(folder)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=200) | st.binary(max_size=200).map(lambda b: b"\x1f\x8b" + b))
def test_any_bytes_are_read_or_refused_in_a_sentence(folder: Path, content: bytes) -> None:
    (folder / IMAGES).write_bytes(content)
    refusal(folder)


# where it is looked for


def test_a_named_folder_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LENET_BENCH_MNIST", "/of/the/environment")
    assert find_mnist("/of/the/option") == Path("/of/the/option")


def test_the_environment_comes_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LENET_BENCH_MNIST", "/of/the/environment")
    assert find_mnist() == Path("/of/the/environment")


def test_the_cache_respects_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "lenet-bench" / "mnist"


@pytest.mark.skipif(not FULL, reason="needs MNIST: set LENET_BENCH_MNIST to its folder")
def test_a_filled_cache_needs_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LENET_BENCH_MNIST")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(mnist, "MIRRORS", ())
    cache = tmp_path / "lenet-bench" / "mnist"
    cache.mkdir(parents=True)
    for source in mnist.SOURCES:
        (cache / source.name).symlink_to(Path(FULL) / source.name)
    assert find_mnist() == cache


# fetching


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a good mirror has, by paths: two small files, whose checksums are the known ones."""
    site = tmp_path / "site"
    site.mkdir()
    for name in ("one.gz", "two.gz"):
        (site / name).write_bytes(gzip.compress(name.encode() * 50_000, compresslevel=0))
    sources = [source_of(site / name) for name in ("one.gz", "two.gz")]
    monkeypatch.setattr(mnist, "SOURCES", tuple(sources))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return site


def source_of(path: Path) -> Source:
    content = path.read_bytes()
    return Source(path.name, len(content), hashlib.sha256(content).hexdigest())


class Quiet(SimpleHTTPRequestHandler):
    """A folder on the web, which remembers what was asked for."""

    asked: list[str]

    def __init__(self, *args: object, asked: list[str], **options: object) -> None:
        self.asked = asked
        super().__init__(*args, **options)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Mute(Quiet):
    """Promises a file and never sends it."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        threading.Event().wait(10)


class Hasty(Quiet):
    """Sends a part of what it promised and hangs up."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"a part")


Serve = Callable[..., str]


@pytest.fixture
def asked() -> list[str]:
    """The paths that all servers were asked for."""
    return []


@pytest.fixture
def serve(asked: list[str]) -> Iterator[Serve]:
    """`serve(folder)`: a server on 127.0.0.1, by its address."""
    servers = []

    def start(folder: Path, kind: type[Quiet] = Quiet) -> str:
        server = ThreadingHTTPServer(
            ("127.0.0.1", 0), partial(kind, directory=str(folder), asked=asked)
        )
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def dead() -> str:
    """The address of a server that is not there."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    server.server_close()
    return f"http://127.0.0.1:{server.server_port}/"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_good_mirror_fills_the_folder(site: Path, tmp_path: Path, serve: Serve) -> None:
    fetch(tmp_path / "cache", [serve(site)])
    for name in ("one.gz", "two.gz"):
        assert (tmp_path / "cache" / name).read_bytes() == (site / name).read_bytes()


def test_nothing_else_is_left_in_the_folder(site: Path, tmp_path: Path, serve: Serve) -> None:
    fetch(tmp_path / "cache", [serve(site)])
    assert names(tmp_path / "cache") == ["one.gz", "two.gz"]


def test_a_file_that_is_there_is_not_fetched_again(
    site: Path, tmp_path: Path, serve: Serve, asked: list[str]
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "one.gz").write_bytes((site / "one.gz").read_bytes())
    fetch(tmp_path / "cache", [serve(site)])
    assert asked == ["/two.gz"]


def test_a_damaged_file_is_fetched_again(site: Path, tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "one.gz").write_bytes(b"half of it")
    fetch(tmp_path / "cache", [serve(site)])
    assert (tmp_path / "cache" / "one.gz").read_bytes() == (site / "one.gz").read_bytes()


def bad_site(tmp_path: Path, content: Callable[[bytes], bytes]) -> Path:
    """A mirror whose files are not the right ones."""
    bad = tmp_path / "bad"
    bad.mkdir()
    for name in ("one.gz", "two.gz"):
        (bad / name).write_bytes(content((tmp_path / "site" / name).read_bytes()))
    return bad


def flip(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


@pytest.mark.parametrize(
    "spoil",
    [flip, lambda _: b"", lambda c: c[:-1], lambda c: c + b"x", lambda _: b"<html>Login</html>"],
    ids=["flipped bit", "empty", "short", "long", "a login page"],
)
def test_a_mirror_with_a_wrong_file_is_passed_over(
    site: Path, tmp_path: Path, serve: Serve, spoil: Callable[[bytes], bytes]
) -> None:
    fetch(tmp_path / "cache", [serve(bad_site(tmp_path, spoil)), serve(site)])
    assert (tmp_path / "cache" / "one.gz").read_bytes() == (site / "one.gz").read_bytes()


def test_a_mirror_without_the_file_is_passed_over(site: Path, tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "empty").mkdir()
    fetch(tmp_path / "cache", [serve(tmp_path / "empty"), serve(site)])
    assert names(tmp_path / "cache") == ["one.gz", "two.gz"]


def test_a_dead_mirror_is_passed_over(site: Path, tmp_path: Path, serve: Serve) -> None:
    fetch(tmp_path / "cache", [dead(), serve(site)])
    assert names(tmp_path / "cache") == ["one.gz", "two.gz"]


@pytest.mark.parametrize("kind", [Mute, Hasty])
def test_a_mirror_that_falls_silent_is_passed_over(
    site: Path, tmp_path: Path, serve: Serve, kind: type[Quiet]
) -> None:
    fetch(tmp_path / "cache", [serve(site, kind), serve(site)], timeout=2)  # a busy machine's, too
    assert names(tmp_path / "cache") == ["one.gz", "two.gz"]


@pytest.mark.usefixtures("site")
def test_all_mirrors_failing_tells_why_of_each_and_what_to_do(tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "empty").mkdir()
    mirrors = [dead(), serve(tmp_path / "empty"), serve(bad_site(tmp_path, flip))]
    with pytest.raises(DataError) as caught:
        fetch(tmp_path / "cache", mirrors)
    told = str(caught.value)
    for part in ("refused", "404", "wrong SHA-256", "--data", "LENET_BENCH_MNIST"):
        assert part in told, part


def test_a_failed_fetch_leaves_no_part_behind(site: Path, tmp_path: Path, serve: Serve) -> None:
    (site / "two.gz").unlink()
    with pytest.raises(DataError, match=r"two\.gz cannot be downloaded"):
        fetch(tmp_path / "cache", [serve(site)])
    assert names(tmp_path / "cache") == ["one.gz"]


def test_progress_ends_with_each_file_whole(site: Path, tmp_path: Path, serve: Serve) -> None:
    last: dict[str, tuple[int, int]] = {}

    def note(name: str, received: int, total: int) -> None:
        last[name] = received, total

    fetch(tmp_path / "cache", [serve(site)], progress=note)
    sizes = {source.name: source.size for source in mnist.SOURCES}
    assert last == {name: (size, size) for name, size in sizes.items()}


def test_a_cache_that_cannot_be_written_is_told(site: Path, tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"cache/one\.gz: cannot be written: "):
        fetch(tmp_path / "cache", [serve(site)])
