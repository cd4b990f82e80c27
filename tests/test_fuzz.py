"""Changed samples of all that strangers send: each is read, or refused in one sentence.

`make fuzz` tries new ones for minutes. An input has a number; what fails says which, and
LENET_BENCH_FUZZ_FIRST=NUMBER begins with it.
"""

# ruff: noqa: ARG002 - a kind has its interface, whatever it looks at

import asyncio
import gzip
import io
import json
import os
import re
import signal
import time
from itertools import count
from random import Random
from typing import Any, cast

import numpy as np
import pytest
from digit_photos import BLACK, WHITE, lay, pen, sheet
from lenet_bench.classroom import Live, server
from lenet_bench.classroom.engines import Engines
from lenet_bench.classroom.server import IMAGE_BYTES, Lesson
from lenet_bench.errors import ImageError, LenetBenchError, ResultError, WeightsError
from lenet_bench.images import read_image
from lenet_bench.images.decode import decode
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
NUMBER = re.compile(rb"-?\d+(\.\d+)?(e-?\d+)?")
NUMBERS = [0, 1, -1, 255, 2**15, 2**31, 2**32 - 1, 2**53 + 1, 2**64, -(2**63)]
VALUES: list[Any] = [
    *NUMBERS, *(-0.0, 1e300, float("inf"), float("nan"), True, None, "", "a" * 5000, "\0"),
    *("\ud800", "\u202e", "<b>", "../x", "1e999", [], {}, [0] * 1000, {"": {}}, [None]),
    *([[0, 0]], "fused"),
]  # fmt: skip


def changed(content, random):
    """One to four changes of the bytes."""
    content = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(1 + min(len(content), random.choice([64, 512, 1 << 30])))
        chunk = slice(at, at + random.choice([1, 2, 8, 100, 4000]))
        to = random.randrange(1 + len(content))
        match random.randrange(6):
            case 0 if at < len(content):
                content[at] ^= 1 << random.randrange(8)
            case 1:
                del content[at:]
            case 2:
                del content[chunk]
            case 3:
                content[to:to] = content[chunk] * random.choice([1, 1, 2, 50])
            case 4:
                size = random.choice([1, 2, 4, 8])
                number = random.choice(NUMBERS) % 2 ** (8 * size)
                content[at : at + size] = number.to_bytes(size, random.choice(["little", "big"]))
            case _ if found := NUMBER.search(content, at):
                number = random.choice([*NUMBERS, "1e999", "NaN", "9" * 400])
                content[slice(*found.span())] = str(number).encode()
    return bytes(content)


def changed_json(value, random):
    """The JSON value with another one somewhere in it."""
    places: list[Any] = []
    stack = [value]
    while stack:
        one = stack.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one))
        places += [(one, key) for key in keys[:30]]
        stack += [one[key] for key in keys[:30] if isinstance(one[key], (dict, list)) and one[key]]
    parent, key = random.choice(places)
    old = parent[key]
    match random.randrange(5):
        case 0:
            del parent[key]
        case 1 if isinstance(old, (int, float)):
            parent[key] = old * random.choice([-1, 2, 1000, 1e9, 0.001]) + random.choice([0, 1, -1])
        case 2 if isinstance(parent, list):
            parent[key:key] = [old] * random.choice([1, 10, 3000])
        case 3:
            for _ in range(random.choice([1, 50, 2000])):
                old = [old] if random.random() < 0.5 else {str(key): old}
            parent[key] = old
        case _:
            parent[key] = random.choice(VALUES)
    return value


def dumped(value):
    try:
        return json.dumps(value, separators=(",", ":")).encode()
    except (RecursionError, ValueError):
        return b"[" * 5000


class Pictures:
    errors, inputs = ImageError, 400
    forms = (
        ("PNG", "L"), ("PNG", "P"), ("PNG", "RGBA"), ("JPEG", "RGB"), ("JPEG", "CMYK"),
        ("PPM", "1"), ("PPM", "L"), ("GIF", "P"), ("BMP", "RGB"), ("WEBP", "RGB"),
        ("TIFF", "L"), ("TIFF", "1"),
    )  # fmt: skip

    def __init__(self, folder):
        ink = pen(4, np.random.default_rng(2), 40, 5)
        picture = lay(sheet((60, 60), WHITE), ink, BLACK, (8, 8))
        self.image = Image.fromarray((picture * 255).astype(np.uint8))
        self.samples = [self.saved(*form) for form in self.forms]

    def saved(self, form, mode):
        file = io.BytesIO()
        self.image.convert(mode).save(file, form)
        return file.getvalue()

    def made(self, random):
        in_a_process = random.random() < 0.02  # TIFF, which takes as long as many others
        samples = self.samples[-2:] if in_a_process else self.samples[:-2]
        return changed(random.choice(samples), random)

    def read(self, content, number):
        if number % 4:  # to find the digit takes longer
            decode("it", content)
            return
        image = read_image(content)
        assert image.shape == (28, 28)
        assert np.isfinite(image).all()


class Weights:
    errors, inputs = WeightsError, 600

    def __init__(self, folder):
        self.path = folder / "lenet.safetensors"
        self.samples = [default_path().read_bytes()]
        self.right = read_weights().sha256

    def made(self, random):
        whole = self.samples[0]
        start = 8 + int.from_bytes(whole[:8], "little")
        header, rest = whole[8:start], whole[start:]
        match random.randrange(3):
            case 0:
                return changed(whole, random)
            case 1:
                header = changed(header, random)
            case _:
                header = dumped(changed_json(json.loads(header), random))
        rest = rest if random.random() < 0.2 else rest[:4000]  # 1.7 MB take their time
        return len(header).to_bytes(8, "little") + header + rest

    def read(self, content, number):
        self.path.write_bytes(content)
        weights = read_weights(self.path)
        assert {name: a.shape for name, a in weights.parameters.items()} == PARAMETERS
        assert weights.sha256 == self.right or "sha256" not in weights.metadata


class Results:
    errors, inputs = ResultError, 600
    suffix = ".jsonl"

    def __init__(self, folder):
        self.path = folder / f"result{self.suffix}"
        self.samples = [self.packed(lines) for lines in self.of_lines()]

    def of_lines(self):
        yield as_lines(sample_log())
        yield as_lines(possible_log(blocks("fused", 20, 4), failed("numpy", "crashed", "so")))

    def packed(self, lines):
        return lines

    def made(self, random):
        lines = random.choice(self.samples)
        if lines.startswith(b"\x1f\x8b"):
            lines = gzip.decompress(lines)
        for _ in range(random.choice([1, 1, 1, 3])):
            each = lines.splitlines(keepends=True) or [b"{}\n"]
            one, other = random.randrange(len(each)), random.randrange(len(each))
            match random.randrange(8):
                case 0:
                    each[one:one] = [each[other]] * random.choice([1, 1, 200])
                case 1:
                    del each[one]
                case 2:
                    each[one] = with_checksums(changed(each[one], random))
                case _:
                    try:
                        value = json.loads(each[one])
                        value.pop("crc32", None)
                        each[one] = with_checksums(dumped(changed_json(value, random)) + b"\n")
                    except (ValueError, AttributeError, TypeError, IndexError, RecursionError):
                        each[one] = changed(each[one], random)
            lines = b"".join(each)
        content = self.packed(lines)
        return changed(content, random) if random.random() < 0.1 else content

    def read(self, content, number):
        self.path.write_bytes(content)
        log = read_log(self.path)
        if number % 20 == 0:  # it takes longer
            result = as_result(log)
            assert render(result)
            json.loads(render(result, form="json"), parse_constant=lambda _: 1 / 0)


class Shared(Results):
    inputs = 400
    suffix = ".jsonl.gz"

    def of_lines(self):
        self.path.write_bytes(as_lines(possible_log()))
        yield gzip.decompress(given(self.path).content)

    def packed(self, lines):
        return gzip.compress(lines, 1)

    def read(self, content, number):
        self.path.write_bytes(content)
        found = received(self.path)
        assert packed(as_lines(found.log)) == found.content


class Requests:
    errors, inputs = LenetBenchError, 3000

    def __init__(self, folder):
        self.loop = asyncio.new_event_loop()
        self.lesson = Lesson("<!doctype html>", Live([]), Engines(["x"], {"x.js": b"1"}))
        self.loop.run_until_complete(self.begin())
        head = b" HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"
        body = np.full(IMAGE_BYTES // 4, 0.5, "<f4").tobytes()
        more = b"Origin: http://127.0.0.1:8000\r\nContent-Length: 3136\r\nAccept: */*\r\n\r\n"
        self.samples = [
            b"GET /?token=TOKEN" + head + b"\r\n",
            b"GET /backends?token=TOKEN&a=%20" + head + b"\r\n",
            b"GET /engines/TOKEN/x.js" + head + b"User-Agent: Mozilla/5.0 (X11)\r\n\r\n",
            b"POST /infer?token=TOKEN" + head + more + body,
        ]

    async def begin(self):
        self.token = self.lesson.open(8000).partition("=")[2].encode()

    def made(self, random):
        return changed(random.choice(self.samples), random)

    def read(self, content, number):
        status = self.loop.run_until_complete(self.answer(content.replace(b"TOKEN", self.token)))
        if status != b"200":
            raise LenetBenchError(f"refused with {status!r}")

    async def answer(self, content):
        reader, writer = asyncio.StreamReader(8 << 10), Written()
        reader.feed_data(content)
        reader.feed_eof()
        await self.lesson.connected(reader, cast(asyncio.StreamWriter, writer))
        head, _, body = writer.content.partition(b"\r\n\r\n")
        if not head:
            return b"nothing"  # the request has no end
        status = head.split()[1]
        assert status[:1] in b"24" or status == b"501"
        assert status == b"200" or body.count(b"\n") == 1
        return status


class Written:
    """What the lesson answers."""

    def __init__(self):
        self.content = b""
        self.transport = self

    def write(self, content):
        self.content += content

    def close(self):
        """Nothing is held."""

    abort = close

    def is_closing(self):
        return False

    async def wait_closed(self):
        """It is closed at once."""


@pytest.fixture(params=[Pictures, Weights, Results, Shared, Requests])
def kind(request, tmp_path, monkeypatch):
    """What reads samples of a kind, and each of these can be read."""
    plenty = (1e9, 10**9)  # of requests a second, at once
    monkeypatch.setattr(server, "_REQUESTS", plenty)
    monkeypatch.setattr(server, "_DRAWINGS", plenty)
    before = signal.signal(signal.SIGPROF, too_long)
    made = request.param(tmp_path)
    for sample in made.samples:
        made.read(sample, 0)
    yield made
    signal.signal(signal.SIGPROF, before)
    if isinstance(made, Requests):
        made.loop.close()


def too_long(*_):
    raise TimeoutError(f"it takes more than {CPU_S} s")


def tried(kind, content, number):
    """Whether it is read; an exception that is not the program's own leaves."""
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        kind.read(content, number)
    except kind.errors as error:
        if not re.fullmatch(SENTENCE, str(error)):
            raise RuntimeError(f"no sentence: {str(error)[:2000]!r}") from error
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return True


def test_changed_samples_are_read_or_refused_in_a_sentence(kind, capfd):
    name, until = type(kind).__name__, time.monotonic() + SECONDS
    read: list[bool] = []
    for number in count(FIRST):
        if len(read) >= kind.inputs and time.monotonic() > until:
            break
        content = kind.made(Random(f"{name} {number}"))
        try:
            read.append(tried(kind, content, number))
            assert not any(capfd.readouterr())
        except Exception as error:
            raise AssertionError(f"input {number} of {name}") from error
    assert 0 < sum(read) < len(read)
