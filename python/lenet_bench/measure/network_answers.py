"""The exact answers of another network than LeNet, and how near to them a backend's must be.

Float32's own error is the measure: the relative L2 distance of NumPy's answers in that precision,
each layer by its definition.
"""

import json
from pathlib import Path

import numpy as np

from .. import networks
from ..cache import made
from ..networks import Network, exact, graph, seeded
from ..networks.memory import require_memory
from ..networks.placed import images_of
from ..registry import FLOAT32, find
from ..results import Other
from .reference_answers import STRETCHES, Known, ReferenceAnswers

_SOURCES = (networks, graph, seeded, exact)
_EACH = 2  # inputs of a stretch and of the warm-up
_ALLOWED = 100  # times float32's own error; a wrong weight is off by ten thousand times


def of_network(name: str) -> ReferenceAnswers:
    """The inputs of a run, in the network's own shape, and the exact answers in float64.

    They are the same in each run, and computed once. No backend is asked for new ones, as it is
    with LeNet, since what answers is made by our own builders, which remember nothing.
    """
    network = networks.network(name)
    check_memory(network)
    inputs = seeded.inputs_of(network, _EACH * (2 + STRETCHES))
    sources = [Path(str(one.__file__)).read_text() for one in _SOURCES]
    path = made("answers", name, [*sources, str(len(inputs))], lambda _: _computed(network, inputs))
    kept = json.loads(path.read_bytes())
    parts = (np.split(one, 2 + STRETCHES) for one in (inputs, np.array(kept["answers"])))
    rotating, edges, *timed = map(Known, *parts)
    return ReferenceAnswers(
        weights_sha256=kept["sha256"],
        rotating=rotating,
        edges=edges,
        timed=timed,
        network=name,
        other=Other(name, kept["float32"]),
        difference=exact.distance,
        allowance=_ALLOWED * kept["float32"] / FLOAT32,
        as_taken=lambda backend, images: images_of(find(backend)[0], images),
    )


def _computed(network: Network, inputs: exact.Floats) -> bytes:
    weights = seeded.weights_of(network)
    answers, in_float32 = (
        np.stack([exact.answer_of(network, weights, one, kind) for one in inputs])
        for kind in (np.float64, np.float32)
    )
    own = max(exact.distance(in_float32, answers), float(np.finfo(np.float32).eps))
    kept = {"float32": own, "sha256": weights.sha256, "answers": answers.tolist()}
    return json.dumps(kept).encode()


def check_memory(network: Network) -> None:
    """Raise LenetBenchError where a process with the network does not fit the free memory."""
    require_memory(
        f"{network.name} has {network.weights / 1e6:.0f} million weights, and its process",
        4 * network.weights,
        4 * network.activations,
    )
