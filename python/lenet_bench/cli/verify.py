"""`verify`: compare each backend's answers with the reference's."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..network import LENET
from ..texts import json_text
from ..units import counted
from .options import (
    Device,
    asking_options,
    backend_option,
    command,
    data_option,
    network_option,
    option,
)
from .output import INTERRUPTED, SUCCESS, WRONG, complain, each_network, note, say, screen

if TYPE_CHECKING:
    from ..questions.verify import Outcomes


@command("Check every backend on MNIST's 10,000 test images.")
@data_option
@backend_option("all")
@network_option
@option("-o, --output FILE", "Write the result as JSON, with the machine and the versions.")
@asking_options
def verify(
    data: Path | None,
    backends: tuple[str, ...],
    network: str,
    as_json: bool,
    output: Path | None,
    device: Device,
    threads: int,
    weights: Path | None,
    verbose: bool,
) -> int:
    """Check every backend on MNIST's 10,000 test images.

    Probabilities are compared with the float64 reference's, digits with the labels. An image with
    two different digits is listed with its margin: how much the reference prefers its own digit.
    With --network, a network's own answers in float64 take MNIST's place.

    $ lenet-bench verify
    $ lenet-bench verify --data ~/mnist --backend fused --backend fused:int16
    $ lenet-bench verify -o verify.json
    $ lenet-bench verify --device gpu
    $ lenet-bench verify --network all -b torch -b openvino
    $ lenet-bench verify --json | jq 'select(.passed | not)'

    Exit codes: 0 if all are within their tolerance, 1 if one is not or a named one does not run.
    """
    from ..mnist import find_mnist, read_mnist
    from ..questions.infer import ALL, AUTO, in_order
    from ..questions.verify import BEGINS, Outcomes, Verification, verify_each
    from ..registry import on_device
    from ..results.files import check_place
    from ..show.terminal.progress import progress
    from ..weights import read_weights

    if network != LENET:
        if data or output or weights or device:
            raise click.UsageError("--data, --output, --weights and --device are for LeNet only")
        return each_network(network, partial(_agreement, backends, threads, as_json))
    if output:
        check_place(output, BEGINS)
    read, digits = read_weights(weights), read_mnist("test", find_mnist(data, part="test"))
    names = in_order(backends, read, device)
    named = {on_device(name, device) for name in backends if name not in (AUTO, ALL)}
    outcomes = Outcomes(read, threads, names, named)
    interrupted = False
    with progress(len(digits) * (1 + len(names))) as step:
        try:
            for outcome in verify_each(
                names, digits, read, step, threads=threads, hide_output=not verbose
            ):
                outcomes.add(outcome)
                if as_json and isinstance(outcome, Verification):
                    say([json_text(outcome.to_json(), indent=None)])
                if output:
                    outcomes.write(output, last=False)
        except KeyboardInterrupt:  # what was done until then is shown
            interrupted = True
    if output and outcomes:
        outcomes.write(output)
    _report(outcomes, as_json)
    if interrupted:
        note(f"interrupted after {len(outcomes)} of {counted(len(names), 'backend')}")
        return INTERRUPTED
    return SUCCESS if outcomes.passed else WRONG


def _report(outcomes: "Outcomes", as_json: bool) -> None:
    """What is wanting, and the table of the others where no JSON was printed."""
    from ..registry import with_counterpart
    from ..show.sentences import missing
    from ..show.terminal.answers import verification

    wanting = outcomes.wanting
    for outcome in wanting:
        name, reason = outcome.backend, outcome.reason
        complain(reason if outcome.failed else with_counterpart(name, reason))
    note(missing(outcome.backend for outcome in outcomes.unverified if outcome not in wanting))
    if outcomes.verified and not as_json:
        say(verification(screen(), outcomes.verified))


def _agreement(backends: tuple[str, ...], threads: int, as_json: bool, network: str) -> int:
    """Compare answers to another network with the exact ones."""
    from ..questions.agreement import agree_each
    from ..questions.infer import ALL, AUTO
    from ..show.sentences import missing
    from ..show.terminal.networks import agreements
    from ..show.terminal.progress import progress
    from ..subjects.network import OtherNetwork

    subject = OtherNetwork(network)
    named = [name for name in backends if name not in (ALL, AUTO)]
    names = named or subject.backends("cpu")[: None if ALL in backends else 1]
    with progress(len(names)) as step:
        every = list(agree_each(names, subject, threads, step))
    absent = [one for one in every if one.status == "unavailable" and one.backend not in named]
    answers = [answer for answer in every if answer not in absent]
    note(missing(one.backend for one in absent))
    if as_json:
        say(json_text(asdict(answer), indent=None) for answer in answers)
    elif answers:
        say(agreements(screen(), answers))
    return SUCCESS if all(one.status in ("ok", "unsupported") for one in answers) else WRONG
