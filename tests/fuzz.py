"""Changed samples of all that strangers send, as fast as they are read: `python tests/fuzz.py`.

Each input is read, or refused by an error of the program's own in one sentence. Another exception,
another process's end, output, more than 1 GB or more than 10 s is a failure: its input is kept in
build/fuzz with what happened, and what is printed says how to try it again.
"""

import argparse
import asyncio
import gzip
import io
import json
import os
import platform
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from ctypes import Structure, c_bool, c_longlong
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast

import lenet_bench
import numpy as np
from digit_photos import BLACK, WHITE, lay, pen, sheet
from lenet_bench.classroom import Live, server
from lenet_bench.classroom.engines import Engines
from lenet_bench.classroom.server import IMAGE_BYTES, Lesson
from lenet_bench.errors import ImageError, LenetBenchError, ResultError, WeightsError
from lenet_bench.images import read_image
from lenet_bench.images.decode import decode
from lenet_bench.measure.environment import read_processor
from lenet_bench.network import PARAMETERS
from lenet_bench.questions.share import given, packed, received
from lenet_bench.results import as_result, read_log
from lenet_bench.results.log import as_lines
from lenet_bench.show.comparison import render
from lenet_bench.weights import default_path, read_weights
from PIL import Image
from sample_results import blocks, failed, possible_log, sample_log, with_checksums

FOLDER = Path("build/fuzz")
PLACE = "/dev/shm" if Path("/dev/shm").is_dir() else None  # in memory
ROOT = Path(__file__).resolve().parents[1]
MEMORY = 10**9  # bytes of data
CPU_S, HANGS_S = 10, 120  # of an input; the second by the clock, on a busy machine too
SENTENCE = r".{10,1000}"
MOST_FAILURES = 50  # of a kind, then it is given up
NUMBER = re.compile(rb"-?\d+(\.\d+)?(e-?\d+)?")
NUMBERS = [0, 1, -1, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**63, 2**64, -(2**63)]
VALUES: list[Any] = [
    *NUMBERS, *(0.5, -0.0, 1e-300, 1e300, float("inf"), float("nan"), True, False, None),
    *("", "a" * 5000, "\0", "\ud800", "\u202e", "<b>", "../x", "constructor", "1e999", [], {}),
    *([0] * 1000, [[]], {"": {}}, [None], [{}], [[0, 0]], "2026-01-01T00:00:00+00:00", "fused"),
]  # fmt: skip


def changed(content, random):
    """One to four changes of the bytes."""
    content = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(1 + min(len(content), random.choice([64, 512, 1 << 30])))
        chunk = slice(at, at + random.choice([1, 2, 8, 100, 4000]))
        to = random.randrange(1 + len(content))
        match random.randrange(8):
            case 0 if at < len(content):
                content[at] ^= 1 << random.randrange(8)
            case 1:
                content[at : at + 1] = random.randbytes(1)
            case 2:
                del content[at:]
            case 3:
                del content[chunk]
            case 4:
                content[to:to] = content[chunk] * random.choice([1, 1, 2, 50])
            case 5:
                content[at:at] = random.randbytes(random.choice([1, 4, 300]))
            case 6:
                number = random.choice(NUMBERS) % 2 ** (8 * (size := random.choice([2, 4, 8])))
                content[at : at + size] = number.to_bytes(size, random.choice(["little", "big"]))
            case _ if found := NUMBER.search(content, at):
                number = random.choice([*NUMBERS, "1e999", "NaN", "9" * 400, random.random()])
                content[slice(*found.span())] = str(number).encode()
    return bytes(content)


def changed_json(value, random):
    """The JSON value with another one somewhere in it."""
    places: list[Any] = [None]
    stack = [value]
    while stack:
        one = stack.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one))
        places += [(one, key) for key in keys[:30]]
        stack += [one[key] for key in keys[:30] if isinstance(one[key], (dict, list)) and one[key]]
    place = random.choice(places)
    if place is None:
        return random.choice(VALUES) if random.random() < 0.1 else value
    parent, key = place
    old = parent[key]
    match random.randrange(6):
        case 0:
            del parent[key]
        case 1 if isinstance(old, (int, float)):
            parent[key] = old * random.choice([-1, 2, 1000, 1e9, 0.001]) + random.choice([0, 1, -1])
        case 2 if isinstance(parent, list):
            parent[key:key] = [old] * random.choice([1, 10, 3000])
        case 2 if isinstance(old, list):
            parent[key] = old * random.choice([2, 100])
        case 3:
            for _ in range(random.choice([1, 50, 2000])):
                old = [old] if random.random() < 0.5 else {str(key): old}
            parent[key] = old
        case 4 if isinstance(parent, dict):
            name = random.choice(["", str(key) * 2, "a\n" * 999, "schema", "kind"])
            parent[name] = parent.pop(key)
        case _:
            parent[key] = random.choice(VALUES)
    return value


def dumped(value):
    try:
        return json.dumps(value, separators=(",", ":")).encode()
    except (RecursionError, ValueError):
        return b"[" * 5000


class Kind:
    """Samples that are read, and what is read of a changed one."""

    errors: type[Exception] = LenetBenchError
    share = 1.0  # of the time
    samples: Sequence[bytes] = ()

    def __init__(self, folder):
        self.folder = folder
        self.seen = count()

    def made(self, random):
        return changed(random.choice(self.samples), random)

    def read(self, content):
        raise NotImplementedError


class Pictures(Kind):
    errors, share = ImageError, 0.1
    forms = (
        ("PNG", "L"), ("PNG", "P"), ("PNG", "RGBA"), ("PNG", "1"), ("JPEG", "L"), ("JPEG", "RGB"),
        ("JPEG", "CMYK"), ("PPM", "1"), ("PPM", "L"), ("PPM", "RGB"), ("GIF", "P"), ("BMP", "RGB"),
        ("BMP", "1"), ("WEBP", "RGB"), ("TIFF", "L"), ("TIFF", "RGB"), ("TIFF", "1"),
    )  # fmt: skip

    def __init__(self, folder):
        super().__init__(folder)
        picture = lay(
            sheet((60, 60), WHITE), pen(4, np.random.default_rng(2), 40, 5), BLACK, (8, 8)
        )
        self.image = Image.fromarray((picture * 255).astype(np.uint8))
        self.samples = [self.saved(*form) for form in self.forms]

    def saved(self, form, mode):
        file = io.BytesIO()
        more = {"progressive": True} if (form, mode) == ("JPEG", "RGB") else {}
        self.image.convert(mode).save(file, form, **more)
        return file.getvalue()

    def made(self, random):
        in_a_process = random.random() < 0.02  # TIFF, which takes as long as many others
        samples = self.samples[-3:] if in_a_process else self.samples[:-3]
        return changed(random.choice(samples), random)

    def read(self, content):
        if next(self.seen) % 4:  # to find the digit takes longer
            decode("it", content)
            return
        image = read_image(content)
        assert image.shape == (28, 28)
        assert np.isfinite(image).all()


class Weights(Kind):
    errors, share = WeightsError, 0.15

    def __init__(self, folder):
        super().__init__(folder)
        self.path = folder / "lenet.safetensors"
        self.samples = [default_path().read_bytes()]
        self.length = int.from_bytes(self.samples[0][:8], "little")
        self.right = read_weights().sha256
        self.bytes = sum(array.nbytes for array in read_weights().parameters.values())

    def made(self, random):
        whole = self.samples[0]
        start = 8 + self.length
        header, rest = whole[8:start], whole[start:]
        match random.randrange(4):
            case 0:
                return changed(whole, random)
            case 1:
                header = changed(header, random)
            case 2:
                header = dumped(changed_json(json.loads(header), random))
            case _:
                return changed(whole[: start + 2000], random)  # the parameters are missing
        rest = rest if random.random() < 0.2 else rest[:4000]  # 1.7 MB take their time
        return len(header).to_bytes(8, "little") + header + rest

    def read(self, content):
        self.path.write_bytes(content)
        weights = read_weights(self.path)
        assert {name: a.shape for name, a in weights.parameters.items()} == PARAMETERS
        assert len(content) == 8 + int.from_bytes(content[:8], "little") + self.bytes
        assert weights.sha256 == self.right or "sha256" not in weights.metadata


class Results(Kind):
    errors, share = ResultError, 0.22
    suffix = ".jsonl"

    def __init__(self, folder):
        super().__init__(folder)
        self.path = folder / f"result{self.suffix}"
        self.samples = [self.packed(lines) for lines in self.of_lines()]

    def of_lines(self):
        yield as_lines(sample_log())
        yield as_lines(possible_log(blocks("fused", 20, 4), failed("numpy", "crashed", "so")))
        for kept in sorted((ROOT / "results").glob("*/*-2026-*.jsonl.gz")):
            header, *lines, end = gzip.decompress(kept.read_bytes()).splitlines(keepends=True)
            yield b"".join([header, *lines[:: len(lines) // 6], end])

    def packed(self, lines):
        return lines

    def made(self, random):
        lines = random.choice(self.samples)
        if lines.startswith(b"\x1f\x8b"):
            lines = gzip.decompress(lines)
        for _ in range(random.choice([1, 1, 1, 3])):
            if random.random() < 0.2:
                lines = changed(lines, random)
                lines = with_checksums(lines) if random.random() < 0.5 else lines
                continue
            each = lines.splitlines(keepends=True) or [b"{}\n"]
            one, other = random.randrange(len(each)), random.randrange(len(each))
            match random.randrange(12):
                case 0:
                    each[one:one] = [each[other]] * random.choice([1, 1, 200])
                case 1:
                    del each[one]
                case _:
                    try:
                        value = json.loads(each[one])
                        value.pop("crc32", None)
                        each[one] = with_checksums(dumped(changed_json(value, random)) + b"\n")
                    except (ValueError, AttributeError, TypeError, RecursionError):
                        each[one] = changed(each[one], random)
            lines = b"".join(each)
        content = self.packed(lines) if random.random() < 0.9 else gzip.compress(lines, 1)
        return changed(content, random) if random.random() < 0.1 else content

    def read(self, content):
        self.path.write_bytes(content)
        log, number = read_log(self.path), next(self.seen)
        if number % 4:  # the rest takes longer
            return
        result = as_result(log)
        if number % 20 == 0:
            assert render(result)
            json.loads(render(result, form="json"), parse_constant=lambda _: 1 / 0)


class Shared(Results):
    share = 0.08
    suffix = ".jsonl.gz"

    def of_lines(self):
        for log in (possible_log(), possible_log(blocks("fused", 20, 4), blocks("torch", 90))):
            self.path.write_bytes(as_lines(log))
            yield gzip.decompress(given(self.path).content)

    def packed(self, lines):
        return gzip.compress(lines, 1)

    def read(self, content):
        self.path.write_bytes(content)
        found = received(self.path)
        assert packed(as_lines(found.log)) == found.content
        assert read_log(self.path) == found.log


class Requests(Kind):
    share = 0.45

    def __init__(self, folder):
        super().__init__(folder)
        server._REQUESTS = server._DRAWINGS = 1e9, 10**9  # a second, at once
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

    def read(self, content):
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


KINDS = {
    **{"results": Results, "shared": Shared, "weights": Weights},
    **{"pictures": Pictures, "requests": Requests},
}


def made(kind, name, seed, number):
    """That input, the same each time."""
    return kind.made(Random(f"{name} {seed} {number}"))


def tried(kind, content):
    """Whether it was read; an exception that is not the program's own leaves."""
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    signal.setitimer(signal.ITIMER_REAL, HANGS_S)
    try:
        kind.read(content)
    except kind.errors as error:
        if not re.fullmatch(SENTENCE, str(error)):
            raise RuntimeError(f"no sentence: {str(error)[:2000]!r}") from error
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True


def keep(name, seed, number, content, what):
    """Keep the input of a failure, and say how it is repeated."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}-{seed}-{number}"
    path.write_bytes(content)
    path.with_suffix(".txt").write_text(what, errors="backslashreplace")
    last = what.strip().splitlines()[-1]
    print(f"{name} --seed {seed} --first {number} --inputs 1: {ascii(last)[:300]}", flush=True)


def child(name, seed, until, end, folder, state):
    """All inputs from state.next on, in this process."""
    output = Path(folder, "output").open("w+b")  # noqa: SIM115 - until this process ends
    kind = KINDS[name](Path(folder))
    for sample in kind.samples:
        kind.read(sample)
    sys.stdout = os.fdopen(os.dup(1), "w")
    for stream in (1, 2):
        os.dup2(output.fileno(), stream)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.RLIM_INFINITY))
    state.begun = True
    while state.next < end and time.monotonic() < until:
        content = made(kind, name, seed, state.next)
        try:
            read = tried(kind, content)
            sys.stderr.flush()
            if os.fstat(output.fileno()).st_size:
                output.seek(0)
                text = output.read().decode(errors="replace")
                output.truncate(0)
                raise RuntimeError(f"it printed: {text}")
            state.read += read
        except (Exception, SystemExit):
            state.failures += 1
            keep(name, seed, state.next, content, traceback.format_exc())
        state.next += 1
    state.done = True


class State(Structure):
    """How far a child is, in memory that its parent sees too."""

    _fields_ = (
        *((name, c_longlong) for name in ("next", "read", "failures")),
        *((name, c_bool) for name in ("begun", "done")),
    )


def campaign(name, seed, seconds, first, inputs):
    """The counts of that kind; an input that ends the child is a failure, and another goes on."""
    context = get_context("fork")
    state = context.RawValue(State, first)
    began = time.monotonic()
    until = began + seconds
    while not state.done and state.failures < MOST_FAILURES:
        with TemporaryDirectory(dir=PLACE) as folder:
            arguments = (name, seed, until, first + inputs, folder, state)
            process = context.Process(target=child, args=arguments)
            process.start()
            process.join()
            if not state.begun:
                sys.exit(f"{name}: a sample could not be read")
            if not state.done:
                content = made(KINDS[name](Path(folder)), name, seed, state.next)
                code = process.exitcode
                how = f"code {code}" if code >= 0 else signal.Signals(-code).name
                keep(name, seed, state.next, content, f"the process ended with {how}")
                state.next += 1
                state.failures += 1
    return {
        **{"inputs": state.next - first, "read": state.read, "failures": state.failures},
        "seconds": round(time.monotonic() - began, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seconds", type=float, default=120, help="of all kinds together")
    parser.add_argument("--inputs", type=int, default=1 << 40, help="of each kind at most")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--json", type=Path, help="a file for the counts")
    options = parser.parse_args()
    kinds = options.kinds or list(KINDS)
    whole = sum(KINDS[name].share for name in kinds)
    found = {}
    for name in kinds:
        seconds = options.seconds * KINDS[name].share / whole
        found[name] = campaign(name, options.seed, seconds, options.first, options.inputs)
        print(name, found[name], flush=True)
    said = {
        "inputs": sum(one["inputs"] for one in found.values()),
        "failures": sum(one["failures"] for one in found.values()),
        "seed": options.seed,
        "version": lenet_bench.__version__,
        "python": platform.python_version(),
        "machine": read_processor().model,
        "kinds": found,
    }
    if options.json:
        options.json.write_text(json.dumps(said, indent=1) + "\n")
    sys.exit(said["failures"] > 0)


if __name__ == "__main__":
    main()
