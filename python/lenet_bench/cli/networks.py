"""`networks`: list the networks that can be measured in LeNet's place."""

from .options import command, json_option
from .output import SUCCESS, answer, screen


@command("List the networks that `compare`, `verify` and `why` can take in LeNet's place.")
@json_option
def networks(as_json: bool) -> int:
    """List the networks, from a perceptron to VGG-16: their size, and who can run them.

    Their weights are random, the same each time; LeNet's are its own. Nothing is downloaded.

    $ lenet-bench networks
    $ lenet-bench networks --json | jq '.[] | {name, multiply_adds}'
    $ lenet-bench compare --network resnet50 torch onnxruntime keras
    """
    from ..networks import NETWORKS, network
    from ..show.terminal.networks import overview
    from ..subjects.network import described

    found = [described(network(name)) for name in NETWORKS]
    answer(as_json, found, overview(screen(), found))
    return SUCCESS
