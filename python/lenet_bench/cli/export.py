"""`export`: the network as another program's model."""

from pathlib import Path

import click

from .options import FILE, weights_option
from .output import SUCCESS, note


@click.command(
    short_help="Write the network as a model file (ONNX, TFLite, Caffe).",
    epilog="""\b
Examples:
  lenet-bench export onnx -o lenet.onnx
  lenet-bench export caffe -o lenet.caffemodel   and lenet.prototxt beside it
""",
)
@click.argument("kind", metavar="FORMAT", type=click.Choice(["onnx", "tflite", "caffe"]))
@click.option("-o", "--output", type=FILE, metavar="FILE", required=True, help="The file to write.")
@weights_option
def export(kind: str, output: Path, weights: Path | None) -> int:
    """Write the network with its weights as another program's model file.

    FORMAT is onnx, tflite or caffe.
    """
    from ..export import export as write
    from ..weights import read_weights

    for path in write(kind, read_weights(weights), output):
        note(f"wrote {path}")
    return SUCCESS
