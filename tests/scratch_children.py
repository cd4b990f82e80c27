"""What a child process of a test does: each is a function for `Child`."""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from lenet_bench.errors import DataError


def echo(parent):
    while True:
        parent.say(parent.hear())


def chatter(parent):
    """Print much, below Python too, and answer all the same."""
    while True:
        message = parent.hear()
        for _ in range(1000):
            print("one more line of what nobody asked for")
        os.write(1, b"from below Python\n")
        parent.say(message)


def keeping(parent):
    """Leave a temporary file, and say where."""
    while True:
        parent.hear()
        folder = tempfile.gettempdir()
        Path(folder, f"kept-{os.getpid()}").touch()
        parent.say(folder)


def divide(parent):
    """Answer with a quotient; of what is no number, with an error of lenet-bench's."""
    while True:
        numbers = parent.hear()
        parent.answer(lambda numbers=numbers: _quotient(*numbers))


def _quotient(above, below):
    if below is None:
        raise DataError("a number is missing")
    return above / below


def obey(parent):
    while True:
        exec(parent.hear(), {"parent": parent, "os": os, "sys": sys, "time": time, "np": np})
