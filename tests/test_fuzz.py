"""A short run of tests/fuzz.py, and that it finds what it looks for."""

import json
import sys
from pathlib import Path

import pytest
from conftest import environment
from processes import python, ran

FUZZ = Path(__file__).with_name("fuzz.py")
INPUTS = {"pictures": 400, "weights": 600, "results": 600, "shared": 400, "requests": 3000}


def fuzz(folder, *words, code=0):
    return ran(sys.executable, FUZZ, *words, code=code, cwd=folder, env=environment())


@pytest.mark.parametrize("kind", INPUTS)
def test_changed_samples_are_read_or_refused_in_a_sentence(tmp_path, kind):
    counts = tmp_path / "counts.json"
    limits = ("--seed", 1, "--inputs", INPUTS[kind], "--seconds", 3600)
    done = fuzz(tmp_path, kind, *limits, "--json", counts)
    found = json.loads(counts.read_text())["kinds"][kind]
    assert found["inputs"] == INPUTS[kind], done.stdout
    assert 0 < found["read"] < found["inputs"]


#: A kind of one input in which something happens, after which there are others.
PLANTED = """
import ctypes, os, sys, time, warnings
sys.path.insert(0, {tests!r})
import fuzz

class Planted(fuzz.Kind):
    samples = ()
    def made(self, random):
        return random.randbytes(4)
    def read(self, content):
        if fuzz.made(self, "planted", 1, 2) == content:
            {happens}

fuzz.CPU_S, fuzz.HANGS_S, fuzz.KINDS["planted"] = 1, 5, Planted
sys.argv = ["fuzz.py", "planted", "--seed", "1", "--inputs", "5"]
fuzz.main()
"""
FAULTS = {
    "another exception": ("{}['x']", "KeyError: 'x'"),
    "an error of two lines": ("raise fuzz.LenetBenchError('this is\\n too long')", "no sentence"),
    "a crash": ("ctypes.string_at(8)", "SIGSEGV"),
    "an endless loop": ("exec('while True: pass')", "SIGPROF"),
    "a wait without end": ("time.sleep(1000)", "SIGALRM"),
    "output of a library": ("os.write(2, b'libtiff: warning')", "it printed: libtiff: warning"),
    "a warning": ("warnings.warn('mind')", "UserWarning: mind"),
    "much memory": ("bytes(1 << 30)", "MemoryError"),
    "the end of the process": ("os._exit(0)", "ended with code 0"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_is_found_with_its_input(tmp_path, what):
    happens, said = FAULTS[what]
    text = PLANTED.format(tests=str(FUZZ.parent), happens=happens)
    done = python(text, code=1, cwd=tmp_path, env=environment())
    assert "'inputs': 5, 'read': 4, 'failures': 1" in done.stdout, done.stdout + done.stderr
    assert "planted --seed 1 --first 2 --inputs 1: " in done.stdout
    kept = tmp_path / "build" / "fuzz" / "planted-1-2"
    assert len(kept.read_bytes()) == 4
    assert said in kept.with_suffix(".txt").read_text()
