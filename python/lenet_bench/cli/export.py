"""`export`: the network as another program's model."""

from pathlib import Path

import click

from .options import command, option, weights_option
from .output import SUCCESS, note


@command("Write the network as a model file (ONNX, TFLite, Caffe).")
@click.argument("kind", metavar="FORMAT", type=click.Choice(["onnx", "tflite", "caffe"]))
@option("-o, --output FILE", "The file to write.", required=True)
@weights_option
def export(kind: str, output: Path, weights: Path | None) -> int:
    """Write the network with its weights as another program's model file.

    FORMAT is onnx, tflite or caffe.

    $ lenet-bench export onnx -o lenet.onnx
    $ lenet-bench export caffe -o lenet.caffemodel   and lenet.prototxt beside it
    """
    from ..export import export as write
    from ..weights import read_weights

    for path in write(kind, read_weights(weights), output):
        note(f"wrote {path}")
    return SUCCESS
