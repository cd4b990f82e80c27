"""`infer`: which digit is it?"""

from pathlib import Path

import click

from ..texts import json_text
from .options import Device, asking_options, backend_option, command, option
from .output import SUCCESS, WRONG, complain, note, say, screen


@command("Classify pictures of digits and time the call.")
@click.argument(
    "images", metavar="IMAGE...", nargs=-1, required=True, type=click.Path(readable=False)
)
@backend_option("auto")
@option("--show", "Draw the 28x28 pixels that the network gets.")
@option("--steps DIR", "Write each step of reading a picture to DIR as PNG.")
@asking_options
def infer(
    images: tuple[str, ...],
    backends: tuple[str, ...],
    as_json: bool,
    show: bool,
    steps: Path | None,
    device: Device,
    threads: int,
    weights: Path | None,
    verbose: bool,
) -> int:
    """Classify pictures of digits and time the call.

    IMAGE is a PNG, JPEG, GIF, BMP, TIFF, WebP, PGM or PBM file, or - for standard input. Each
    answer is a digit and ten probabilities. The times are of one call, from NumPy array to NumPy
    array: the first call, and the median of later ones.

    $ lenet-bench infer digit.png
    $ lenet-bench infer images/*.png --backend fused
    $ lenet-bench infer photo.jpg --show --steps steps/
    $ lenet-bench infer digit.png --backend all
    $ lenet-bench infer digit.png --backend torch@gpu --backend torch
    $ lenet-bench infer --json images/*.png | jq .digit
    $ curl -s https://example.org/7.png | lenet-bench infer -

    Exit codes: 0 where every picture was read and all backends agree, else 1.
    """
    if show and as_json:
        raise click.UsageError("--json prints and --show draws: give one of them")
    from ..questions.infer import Failure, all_agree, open_backends, to_json
    from ..questions.infer import infer as answers_of
    from ..show.sentences import missing
    from ..show.terminal.answers import in_full, in_short, times
    from ..show.terminal.progress import progress
    from ..silence import silence_libraries
    from ..weights import read_weights

    with progress() as tell:
        opened = open_backends(
            backends, read_weights(weights), threads, device, hide_output=not verbose, tell=tell
        )
    if opened.frameworks and not verbose:
        silence_libraries()
    note(missing(opened.missing))
    outcomes = []
    for outcome in answers_of(images, opened.backends, steps):
        outcomes.append(outcome)
        if as_json:
            say(json_text(entry, indent=None) for entry in to_json(outcome))
        elif isinstance(outcome, Failure):
            complain(outcome.error)
        elif show or len(images) == 1:
            say(in_full(screen(), outcome, show=show))
        else:
            say(in_short(screen(), outcome, images))
    if not as_json:
        lines = list(times(screen(), opened.backends, outcomes))
        if lines and len(images) > 1 and not show:
            lines.insert(0, "")
        say(lines)
    return SUCCESS if all_agree(outcomes) else WRONG
