"""The user's caches: what is kept there is the user's own, and whole."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest
from lenet_bench import cache
from lenet_bench.atomic import check_writable, write_file
from lenet_bench.errors import Unavailable
from lenet_bench.export import converted
from lenet_bench.installed import CONVERTER

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
SOMEBODY_ELSE = 12345


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The folder of the cache, in which nothing is yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/lenet-bench/kind"


def made(content=b"code", of="a source"):
    return cache.made("kind", "name", [of], lambda _: content, ".so")


def mode(path):
    return path.stat().st_mode & 0o777


def test_it_is_made_once_of_the_same():
    assert made(b"first").read_bytes() == b"first"
    assert made(b"second").read_bytes() == b"first"


def test_of_something_else_it_is_made_anew():
    first = made(b"first")
    assert made(b"second", of="another source").read_bytes() == b"second"
    assert first.read_bytes() == b"first"


@pytest.mark.parametrize("damage", [b"", b"cod\0"])
def test_what_is_damaged_is_made_anew(damage):
    path = made()
    path.write_bytes(damage)
    assert made() == path
    assert path.read_bytes() == b"code"


def test_others_may_not_even_look_whatever_the_umask():
    before = os.umask(0)
    path = made()
    os.umask(before)
    assert [mode(one) for one in (path, *path.parents[:3])] == [0o600, 0o700, 0o700, 0o700]


def test_a_file_that_others_may_write_is_made_anew():
    path = made(b"first")
    path.chmod(0o602)
    assert made(b"second").read_bytes() == b"second"


def test_a_link_is_made_anew(tmp_path):
    path = made()
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert not made().is_symlink()


def test_a_folder_above_that_others_may_write_is_refused(place, tmp_path):
    made()
    tmp_path.chmod(0o775)
    with pytest.raises(Unavailable, match=f"fix it with: chmod go-w {tmp_path}$"):
        made()
    assert cache.cache_folder("kind") == place


@as_root
def test_a_file_of_somebody_else_is_made_anew():
    path = made()
    os.chown(path, SOMEBODY_ELSE, SOMEBODY_ELSE)
    assert made().stat().st_uid == 0


@as_root
@pytest.mark.parametrize("above", [0, 2])
def test_a_folder_of_somebody_else_is_refused(place, tmp_path, above):
    made()
    tmp_path.chmod(0o1777)
    theirs = (place, *place.parents)[above]
    os.chown(theirs, SOMEBODY_ELSE, SOMEBODY_ELSE)
    with pytest.raises(Unavailable, match=f"{theirs} belongs to another user"):
        made()


def test_a_link_into_a_folder_that_others_may_write_is_refused(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    (tmp_path / "cache").symlink_to(tmp_path / "shared")
    with pytest.raises(Unavailable, match="other users may write"):
        made()


def test_what_a_killed_process_left_is_removed_after_an_hour(place):
    made()
    old, new = place / ".old", place / ".new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "library.so").touch()
    an_hour_ago = time.time() - 3601
    os.utime(old, (an_hour_ago, an_hour_ago))
    made(of="another source")
    assert not old.exists()
    assert new.exists()


def test_a_failure_to_make_it_leaves_nothing(place):
    def fail(folder):
        (folder / "half").touch()
        raise ValueError("no such operator")

    with pytest.raises(ValueError, match="no such operator"):
        cache.made("kind", "name", ["a source"], fail)
    assert not [*place.iterdir()]


def make_slowly(number):
    def make(_):
        time.sleep(0.2)
        return b"%d" % number

    return cache.made("kind", "name", ["a source"], make).read_bytes()


def test_four_that_make_it_at_once_find_a_whole_one():
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert {*pool.map(make_slowly, range(4))} <= {b"0", b"1", b"2", b"3"}
    assert make_slowly(4) in (b"0", b"1", b"2", b"3")


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [("/dev/null", "it is no folder"), ("/" + "x" * 5000, "File name too long")],
)
def test_a_cache_that_cannot_be_made_is_a_sentence(monkeypatch, chosen, reason):
    monkeypatch.setenv("XDG_CACHE_HOME", chosen)
    with pytest.raises(Unavailable, match=f"{reason}.*export XDG_CACHE_HOME=DIR$"):
        made()


@pytest.mark.parametrize("relative", ["", "cache"])
def test_a_relative_xdg_folder_is_ignored(monkeypatch, tmp_path, relative):
    monkeypatch.setenv("XDG_CACHE_HOME", relative)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder("kind") == tmp_path / ".cache/lenet-bench/kind"


def test_a_model_that_another_python_converts_is_kept_apart(monkeypatch):
    """Its converters are not those here, which may be absent."""
    made_of = []

    def keep(_, __, parts, ___):
        made_of.append(list(parts))
        return Path(__file__)

    monkeypatch.setattr(cache, "made", keep)
    for elsewhere in ("", "/opt/one/bin/python", "/opt/two/bin/python"):
        monkeypatch.setenv(CONVERTER, elsewhere)
        converted("tflite", "name", ["a source"], "no:one", None)
    assert made_of[0] != made_of[1] != made_of[2]


def test_a_link_in_the_place_of_a_file_that_is_being_written_is_not_followed(tmp_path):
    """In a folder that others may write, as they could plant it."""
    victim, file = tmp_path / "victim", tmp_path / "out.html"
    victim.write_text("mine")
    planted = tmp_path / f".out.html.{os.getpid()}"
    planted.symlink_to(victim)
    check_writable(file)
    planted.symlink_to(victim)
    write_file(file, b"a page")
    assert victim.read_text() == "mine"
    assert file.read_bytes() == b"a page"
    assert not file.is_symlink()
