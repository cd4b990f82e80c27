"""Changed samples of all that strangers send: each is read, or refused in one sentence.

`make fuzz` tries new ones for minutes. An input has a number; what fails says which, and
LENET_BENCH_FUZZ_FIRST=NUMBER begins with it.
"""

import gzip
import json
import os
import re
import signal
import time
from collections.abc import Callable
from itertools import count
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from digits import saved
from lenet_bench.errors import LenetBenchError
from lenet_bench.images import read_image
from lenet_bench.network import PARAMETERS
from lenet_bench.questions.share import given, packed, received
from lenet_bench.results import as_result, read_log
from lenet_bench.results.log import as_lines
from lenet_bench.show.comparison import render
from lenet_bench.weights import default_path, read_weights
from PIL import Image
from sample_results import blocks, failed, possible_log, sample_log, with_checksums

FIRST = int(os.environ.get("LENET_BENCH_FUZZ_FIRST", "0"))
SECONDS = float(os.environ.get("LENET_BENCH_FUZZ_SECONDS", "0"))
CPU_S = 10  # of an input
SENTENCE = r".{10,1000}"

#: A value of JSON that is no list and no object, and what may stand in its place.
VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"(?!:)|-?\d+(?:\.\d+)?(?:e-?\d+)?|null|true|false')
VALUES = (
    *(b"0", b"-1", b"255", b"4294967295", b"9007199254740993", b"18446744073709551616"),
    *(b"-0.0", b"1e300", b"1e999", b"NaN", b"9" * 400, b"null", b"true", b"[]", b"{}", b"[null]"),
    *(b'""', b'"%s"' % (b"a" * 5000), rb'"\u0000"', rb'"\ud800"', rb'"\u202e"', b'"../x"'),
    *(b'"<b>"', b'"fused"', b"[[0,0]]", b"[0%s]" % (b",0" * 3000), b"[" * 2000 + b"]" * 2000),
    *(b'{"":{}}', b'{"a":' * 2000 + b"1" + b"}" * 2000, b"[" * 5000),
)


def changed(content: bytes, random: Random) -> bytes:
    """One to four changes: a part replaced, left out or repeated, a cut, another value."""
    made = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(1 + min(len(made), random.choice([64, 512, 1 << 30])))
        part = slice(at, at + random.choice([1, 2, 8, 100, 4000]))
        match random.randrange(6):
            case 0:
                made[part] = random.randbytes(random.choice([1, 4, 8]))
            case 1:
                del made[part]
            case 2:
                made[at:at] = made[part] * random.choice([1, 50])
            case 3:
                del made[at:]
            case _ if found := VALUE.search(made, at):
                made[slice(*found.span())] = random.choice(VALUES)
    return bytes(made)


class Reader(NamedTuple):
    """What reads one kind of input, samples of it, and how they are changed."""

    inputs: int
    samples: list[bytes]
    read: Callable[[bytes], object]
    changed: Callable[[bytes, Random], bytes] = changed


def pictures(_folder):
    pixels = np.full((60, 60, 3), 255, np.uint8)
    pixels[10:50, 28:34] = 0
    picture = Image.fromarray(pixels)
    quick = "PNG L,PNG P,PNG RGBA,JPEG RGB,JPEG CMYK,PPM 1,PPM L,GIF P,BMP RGB,WEBP RGB"

    def read(content):
        image = read_image(content)
        assert image.shape == (28, 28)
        assert np.isfinite(image).all()

    kinds = (kind.split() for kind in quick.split(","))
    samples = [saved(picture.convert(mode), form) for form, mode in kinds]
    slow = saved(picture.convert("1"), "TIFF")  # it takes a process
    return Reader(300, [*samples * 4, slow], read)


def weights(folder):
    whole, path = default_path().read_bytes(), folder / "lenet.safetensors"
    start, right = 8 + int.from_bytes(whole[:8], "little"), read_weights().sha256

    def read(content):
        path.write_bytes(content)
        found = read_weights(path)
        assert {name: a.shape for name, a in found.parameters.items()} == PARAMETERS
        assert found.sha256 == right or "sha256" not in found.metadata

    def changed_header(content, random):
        """Or all of it; mostly without the 1.7 MB of parameters, which take their time."""
        header, rest = content[8:start], content[start:]
        if random.random() < 0.3:
            return changed(content, random)
        header = changed(header, random)
        rest = rest if random.random() < 0.2 else rest[:4000]
        return len(header).to_bytes(8, "little") + header + rest

    return Reader(600, [whole], read, changed_header)


def changed_lines(content, random):
    """One line changed, doubled or left out, with all checksums right again."""
    lines = content.splitlines(keepends=True)
    one = random.randrange(len(lines))
    match random.randrange(8):
        case 0:
            lines[one:one] = [random.choice(lines)] * random.choice([1, 200])
        case 1:
            del lines[one]
        case _:
            line = re.sub(rb',"crc32":"\w+"', b"", lines[one].rstrip(b"\n"))
            lines[one] = changed(line, random) + b"\n"
    return with_checksums(b"".join(lines))


def results(folder):
    path = folder / "result.jsonl"

    def read(content):
        path.write_bytes(content)
        result = as_result(read_log(path))
        assert render(result)
        json.loads(render(result, form="json"), parse_constant=lambda _: 1 / 0)

    other = possible_log(blocks("fused", 20, 4), failed("numpy", "crashed", "so"))
    return Reader(600, [as_lines(sample_log()), as_lines(other)], read, changed_lines)


def damaged_lines(content, random):
    """A bit turned, a cut, or two lines changed round; the checksums are left alone."""
    at = random.randrange(len(content))
    match random.randrange(3):
        case 0:
            turned = bytes([content[at] ^ 1 << random.randrange(8)])
            return content[:at] + turned + content[at + 1 :]
        case 1:
            return content[:at]
        case _:
            lines = content.splitlines(keepends=True)
            one, other = random.sample(range(len(lines)), 2)
            lines[one], lines[other] = lines[other], lines[one]
            return b"".join(lines)


def damaged(folder):
    path, log = folder / "result.jsonl", sample_log()

    def read(content):
        path.write_bytes(content)
        found = read_log(path)
        assert found.header == log.header
        assert found.blocks == log.blocks[: len(found.blocks)]

    return Reader(400, [as_lines(log)], read, damaged_lines)


def shared(folder):
    path = folder / "result.jsonl.gz"

    def read(content):
        path.write_bytes(content)
        found = received(path)
        assert packed(as_lines(found.log)) == found.content

    def changed_inside(content, random):
        """In what is packed, or seldom the packed bytes."""
        if random.random() < 0.1:
            return changed(content, random)
        return gzip.compress(changed_lines(gzip.decompress(content), random), 1)

    path.write_bytes(as_lines(possible_log()))
    return Reader(400, [given(path).content], read, changed_inside)


def too_long(*_):
    raise TimeoutError(f"it takes more than {CPU_S} s")


@pytest.fixture
def in_time():
    """What takes too long fails."""
    before = signal.signal(signal.SIGPROF, too_long)
    yield
    signal.signal(signal.SIGPROF, before)


def tried(reader, content):
    """Whether it is read; an exception that is not the program's own leaves."""
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        reader.read(content)
    except LenetBenchError as error:
        if not re.fullmatch(SENTENCE, str(error)):
            raise RuntimeError(f"no sentence: {str(error)[:2000]!r}") from error
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return True


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("kind", [pictures, weights, results, damaged, shared])
def test_changed_samples_are_read_or_refused_in_a_sentence(kind, tmp_path, capfd):
    reader, until = kind(tmp_path), time.monotonic() + SECONDS
    assert all(tried(reader, sample) for sample in reader.samples)
    read: list[bool] = []
    for number in count(FIRST):
        if len(read) >= reader.inputs and time.monotonic() > until:
            break
        random = Random(f"{kind.__name__} {number}")
        content = reader.changed(random.choice(reader.samples), random)
        try:
            read.append(tried(reader, content))
            assert not any(capfd.readouterr())
        except Exception as error:
            raise AssertionError(f"input {number} of {kind.__name__}") from error
    assert 0 < sum(read) < len(read)
