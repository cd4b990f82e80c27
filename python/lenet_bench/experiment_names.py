"""The kinds and names of the experiments of `why`, which result files hold."""

from typing import Literal

Kind = Literal["call", "way", "hand-over", "together", "operations", "stage", "told"]

COUNTS = (1, 4, 16, 64)
#: The call with one more core for its process; timed after all else.
TWO_CORES = "on two cores"
#: Where LeNet is cut; the softmax is an experiment of its own, on ten floats of the image.
CUTS = ("conv1", "pool1", "conv2", "pool2", "fc1", "fc2")
SOFTMAX = "softmax"
#: The baseline of the first stage, where that is not the last way.
NOTHING = "nothing"
#: The last cut with ten floats as its answer, where the other cuts return more.
ALONE = "fc2 alone"
#: The identity network: the baseline of stages, and entering, where cuts return whole arrays.
IN_FULL = "nothing in full"
ENTERING = "entering"
#: The control: memory is read in the network's place.
WALK = "a walk"


def after(name: str, before: str) -> str:
    """The experiment that times a way right after something else."""
    return f"{name} after {before}"
