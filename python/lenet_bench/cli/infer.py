"""`infer` and `verify`: what the rungs answer."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..numerals import counted
from ..terminal import Screen
from .options import (
    FILE,
    FOLDER,
    backend_option,
    data_option,
    device_option,
    json_option,
    threads_here_option,
    verbose_option,
    weights_option,
)
from .output import INTERRUPTED, SUCCESS, WRONG, complain, interruptible, note, progress, say

if TYPE_CHECKING:
    from ..backends import Device


@click.command(
    epilog="""\b
Examples:
  lenet-bench infer digit.png
  lenet-bench infer images/*.png --backend fused
  lenet-bench infer photo.jpg --show --steps steps/
  lenet-bench infer digit.png --backend all
  lenet-bench infer digit.png --backend torch@gpu --backend torch
  lenet-bench infer --json images/*.png | jq .digit
  curl -s https://example.org/7.png | lenet-bench infer -
"""
)
@click.argument(
    "images", metavar="IMAGE...", nargs=-1, required=True, type=click.Path(readable=False)
)
@backend_option("auto")
@json_option
@click.option("--show", is_flag=True, help="Draw what the network saw.")
@click.option(
    "--steps",
    type=FOLDER,
    metavar="DIR",
    help="Write each step of reading an image to DIR as PNG.",
)
@device_option
@threads_here_option
@weights_option
@verbose_option
def infer(
    images: tuple[str, ...],
    backends: tuple[str, ...],
    as_json: bool,
    show: bool,
    steps: Path | None,
    device: "Device | None",
    threads: int,
    weights: Path | None,
    verbose: bool,
) -> int:
    """Classify pictures of digits, and time the call.

    IMAGE is a PNG, JPEG, GIF, BMP, TIFF, WebP, PGM or PBM file, a pattern, or - for standard
    input. Each gets the digit and the ten probabilities; the times are those of one call, NumPy
    array in and out: the first one, and the median once warm.
    """
    from ..backends import only_our_words
    from ..inference import Failure, all_agree, expand, open_rungs, to_json
    from ..inference import infer as answers_of
    from ..printout.absent import not_at_hand
    from ..printout.answers import AnswerPrinter
    from ..weights import read_weights

    opened = open_rungs(backends, read_weights(weights), threads, device, quiet=not verbose)
    if opened.frameworks and not verbose:
        only_our_words()
    note(not_at_hand(opened.passed_over))
    paths, outcomes = expand(images), []
    printer = AnswerPrinter(Screen.of(sys.stdout), paths, show)
    for outcome in answers_of(paths, opened.rungs, steps):
        outcomes.append(outcome)
        if as_json:
            say(json.dumps(entry) for entry in to_json(outcome))
        elif isinstance(outcome, Failure):
            complain(outcome.error)
        else:
            say(printer.answer(outcome))
    if not as_json:
        say(printer.times(opened.rungs, outcomes))
    return SUCCESS if all_agree(outcomes) else WRONG


@click.command(
    epilog="""\b
Examples:
  lenet-bench verify
  lenet-bench verify --data ~/mnist --backend fused --backend fused:int16
  lenet-bench verify -o verify.json
  lenet-bench verify --device gpu
  lenet-bench verify --json | jq 'select(.passed | not)'
"""
)
@data_option
@backend_option("all")
@json_option
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Keep it as JSON, with the machine and the versions.",
)
@device_option
@threads_here_option
@weights_option
@verbose_option
def verify(
    data: Path | None,
    backends: tuple[str, ...],
    as_json: bool,
    output: Path | None,
    device: "Device | None",
    threads: int,
    weights: Path | None,
    verbose: bool,
) -> int:
    """Check every rung on MNIST's 10,000 test images.

    Each rung's probabilities are compared with the float64 reference's, and its digits with the
    labels. Fails where a rung is further from the reference than its tolerance. An image on which
    a rung and the reference say different digits is listed with its margin: by how much the
    reference prefers its own digit.
    """
    from ..backends import on_device
    from ..inference import ALL, AUTO, in_order
    from ..mnist import find_mnist, read_mnist
    from ..printout.absent import not_at_hand
    from ..printout.verification import verification
    from ..results.versioned import check_place
    from ..verify import Unverified, Verification, verify_each, write_verifications
    from ..weights import read_weights

    if output:
        check_place(output)
    read, digits = read_weights(weights), read_mnist("test", find_mnist(data))
    names = in_order(backends, read, device)
    outcomes: list[Verification | Unverified] = []
    whole = len(digits) * (1 + len(names))
    with progress(whole) as told, interruptible() as interrupted:
        for outcome in verify_each(names, digits, read, told, threads=threads, quiet=not verbose):
            outcomes.append(outcome)
            if as_json and isinstance(outcome, Verification):
                say([json.dumps(outcome.to_json())])
            if output:
                write_verifications(output, outcomes, read, threads, last=False)
    if output and outcomes:
        write_verifications(output, outcomes, read, threads)
    found = [one for one in outcomes if isinstance(one, Verification)]
    missing = [one for one in outcomes if isinstance(one, Unverified)]
    named = {on_device(name, device) for name in backends if name not in (AUTO, ALL)}
    wanted = [one for one in missing if one.failed or one.backend in named]
    for one in wanted:
        complain(one.reason)
    note(not_at_hand([one.backend for one in missing if one not in wanted]))
    if found and not as_json:
        say(verification(Screen.of(sys.stdout), found))
    if interrupted.is_set():
        note(f"interrupted after {len(outcomes)} of {counted(len(names), 'rung')}")
        return INTERRUPTED
    return SUCCESS if found and not wanted and all(one.passed for one in found) else WRONG
