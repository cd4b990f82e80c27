"""Another network in LeNet's place: the functions of a backend's file, given another model.

The right answers are exact, in float64. Float32's own error is the measure of how near to them a
backend's must be: the relative L2 distance of NumPy's answers in that precision, each layer by its
definition.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

import numpy as np

from .. import networks
from ..arrays import Floats
from ..errors import LenetBenchError, Unsupported, first_line
from ..export import NotConverted
from ..network import LENET
from ..networks import Graph, graph, seeded
from ..networks.builders import in_cpp
from ..registry import FLOAT32, IN_CPP, Backend, Device, Network, check_needs, find, names
from ..registry.adapter import Adapter
from ..registry.building import build
from ..weights import Weights
from .subject import STRETCHES, Judge, Known, Prepared, Run, Subject

#: Layers that a backend's API does not have, as tried with the versions in constraints.txt.
LACKING = {
    "gru": ("keras-jax:jit", "mnn", "mnn:direct", "ncnn", "ncnn:direct", "tflite-micro", "tvm")
}
#: The builder of each file of backends/.
_BUILDERS = {
    **dict.fromkeys(("iree", "mnn", "onnxruntime", "opencv", "openvino", "tract", "tvm"), "onnx"),
    **dict.fromkeys(("executorch", "torch"), "torch"),
    **dict.fromkeys(("litert", "tflite_micro"), "tflite"),
    **{name: name for name in ("jax", "keras", "ncnn", "numpy", "tensorflow")},
}
_CHANNELS_LAST = ("jax", "keras", "numpy", "tensorflow", "tflite")  # of these builders
_PRECISIONS = (np.float64, np.float32)
_EACH = 2  # inputs of a stretch and of the warm-up
_ALLOWED = 100  # times float32's own error; a wrong weight is off by ten thousand times


@dataclass(frozen=True)
class OtherNetwork(Subject):
    """A network of NETWORKS with seeded weights, on the backends that are built for any network."""

    name: str

    lacks: ClassVar[tuple[str, ...]] = ("--batch",)

    @property
    def label(self) -> str:
        return self.name

    @property
    def floats(self) -> int:
        return self.graph().answers

    def backends(self, device: Device | None) -> list[str]:
        return able(device or "cpu")

    def prepared(self, run: Run) -> Prepared:
        """Inputs in the network's own shape, and the exact answers in float64.

        They are the same in each run, and computed once. No backend is asked for new ones, as it is
        with LeNet, since what answers is made by our own builders, which remember nothing.
        """
        from ..cache import made
        from ..networks import exact
        from ..results import Other

        network = self.graph()
        check_memory(network)
        inputs = seeded.inputs_of(network, _EACH * (2 + STRETCHES))
        sources = [Path(str(one.__file__)).read_text() for one in (networks, graph, seeded, exact)]
        made_of = [*sources, str(len(inputs))]
        path = made("answers", self.name, made_of, lambda _: _computed(network, inputs, run))
        kept = json.loads(path.read_bytes())
        parts = (np.split(one, 2 + STRETCHES) for one in (inputs, np.array(kept["answers"])))
        rotating, edges, *timed = map(Known, *parts)
        allowance = _ALLOWED * kept["float32"] / FLOAT32
        return Prepared(
            self,
            kept["sha256"],
            rotating,
            edges,
            timed,
            judge=Judge(exact.distance, allowance),
            other=Other(self.name, kept["float32"]),
        )

    def as_taken(self, name: str, inputs: Any) -> Any:
        return images_of(find(name)[0], inputs)

    def weights(self) -> Weights:
        return seeded.weights_of(self.graph())

    def build(self, name: str, threads: int, weights: Weights, first: Any) -> Network:  # noqa: ARG002
        return place(name, self.graph(), weights, threads)

    def graph(self) -> Graph:
        return networks.network(self.name)


def _computed(network: Graph, inputs: Floats, run: Run) -> bytes:
    """The exact answers, and how far NumPy's in float32 are from them."""
    from ..networks import exact

    weights = seeded.weights_of(network)
    each = []
    for number, image in enumerate(inputs, 1):
        if monotonic() >= run.until_s:
            raise LenetBenchError(
                f"{network.name}: the budget ended before its exact answers were computed, which "
                "is done once; give a larger --budget"
            )
        run.tell(f"computing the exact answers of {network.name}, {number} of {len(inputs)}")
        of_image = (exact.answer_of(network, weights, image, kind) for kind in _PRECISIONS)
        each.append(list(of_image))
    answers, in_float32 = map(np.stack, zip(*each, strict=True))
    own = max(exact.distance(in_float32, answers), float(np.finfo(np.float32).eps))
    kept = {"float32": own, "sha256": weights.sha256, "answers": answers.tolist()}
    return json.dumps(kept).encode()


def check_memory(network: Graph) -> None:
    """Raise LenetBenchError where a process with the network does not fit the free memory."""
    from ..networks.memory import require_memory

    require_memory(
        f"{network.name} has {network.weights / 1e6:.0f} million weights, and its process",
        4 * network.weights,
        4 * network.activations,
    )


class Placed(Adapter):
    """The adapter of another network than LeNet, whose images have another shape and any values."""

    def __init__(self, network: Graph, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._network = network
        self._given.clear()  # the API has its own copy of the weights

    def infer(self, images: Floats) -> Floats:
        """The answer (floats,) to one image (rows, columns), arranged by `as_images`."""
        with self._lock:
            try:
                answer: Floats = self._infer(images[np.newaxis])[0]
            except Exception as error:  # what is compiled when it is called first
                raise _unsupported(self._row, self._variant, self._network, error) from error
            return answer

    def _own_description(self) -> dict[str, str]:
        """Of a network on a GPU, which has to prove its device; not every file's can on a CPU."""
        return super()._own_description() if self._row.moved else {}


def file_with(row: Backend, others: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the backend's module with some of its globals replaced, as an adapter takes it.

    Names that the module does not have become arguments of its functions, such as onnx_model.
    """
    spec = find_spec(f"lenet_bench.backends.{row.module}")
    assert spec is not None
    assert spec.loader is not None
    file = module_from_spec(spec)  # a copy, so that the imported module stays unchanged
    spec.loader.exec_module(file)
    given = {name: other for name, other in others.items() if not hasattr(file, name)}
    vars(file).update({name: others[name] for name in others.keys() - given.keys()})
    return {"file": file, "given": given}


def place(name: str, network: Graph, weights: Weights, threads: int) -> Network:
    """Build the network on a backend's variant.

    Raises Unavailable where the backend cannot run here, and Unsupported, in the API's own words,
    where it cannot run this network.
    """
    row, variant = find(name)
    if reason := why_not(row, variant):
        raise Unsupported(f"{name} {reason}")
    check_needs(row, variant)

    def adapted(row: Backend, variant: str, weights: Weights, threads: int) -> Network:
        if row.native:
            return in_cpp.built(row.native, variant, network, weights, threads)
        return placed(row, variant, network, weights, threads)

    return build(row, variant, weights, threads, adapted)


def placed(
    row: Backend, variant: str, network: Graph, weights: Weights, threads: int, **others: Any
) -> Adapter:
    """The network on a variant that is known to run, also in place of other names of its file.

    Pieces of LeNet are called as LeNet is.
    """
    builder = import_module(f"lenet_bench.networks.builders.{_BUILDERS[row.module]}")
    kept = Weights({name: weights[name] for name in network.parameters})
    try:
        others = in_any_file(network, row) | builder.in_place(network, kept) | others
        is_lenet = network.name.partition(":")[0] == LENET
        adapter: Callable[..., Adapter] = Adapter if is_lenet else partial(Placed, network)
        return adapter(row, variant, kept, threads, **file_with(row, others))
    except (Unsupported, NotConverted):
        raise
    except Exception as error:
        raise _unsupported(row, variant, network, error) from error


def in_any_file(network: Graph, row: Backend) -> dict[str, Any]:
    """The shapes that a file may have names for."""
    _, rows, columns = image_shape = images_of(row, seeded.inputs_of(network, 1)).shape
    return {
        "IMAGE": (rows, columns),
        "CLASSES": network.answers,
        "SHAPE": (1, *image_shape),
        "ONE_IMAGE": ({"image": [1, *image_shape]}, {"probabilities": [1, network.answers]}),
    }


def images_of(row: Backend, inputs: Floats) -> Floats:
    """Inputs as this backend takes them."""
    return seeded.as_images(inputs, channels_last=_BUILDERS.get(row.module) in _CHANNELS_LAST)


def _unsupported(row: Backend, variant: str, network: Graph, error: Exception) -> Unsupported:
    """In the API's own words, after the layer that is known to be the reason."""
    known = [kind for kind in network.kinds if row.spell(variant) in LACKING.get(kind, ())]
    why = f" for its layer {', '.join(known)}" if known else ""
    return Unsupported(f"{row.library} does not run {network.name}{why}: {first_line(error)}")


def why_not(row: Backend, variant: str) -> str | None:
    """Why no network but LeNet is built on this variant; None where one is."""
    built = row.native.built if row.native else row.module in _BUILDERS
    if variant == IN_CPP or not built:
        return "is written for LeNet only"
    if variant in row.reduced:
        return f"is {row.reduced[variant]}, and other networks are measured in float32"
    return None


def able(device: Device = "cpu") -> list[str]:
    """The backends and variants that take other networks."""
    return [name for name in names(device=device) if why_not(*find(name)) is None]


@dataclass(frozen=True)
class Described:
    """What is known of a network before anything runs."""

    name: str
    summary: str
    layers: int
    parameters: int
    multiply_adds: int
    apis: tuple[str, ...]  # the backends and variants that can run it


def described(network: Graph) -> Described:
    lacking = {name for kind in network.kinds for name in LACKING.get(kind, ())}
    return Described(
        name=network.name,
        summary=network.summary,
        layers=len(network.computed),
        parameters=network.weights,
        multiply_adds=network.multiply_adds,
        apis=tuple(name for name in able() if name not in lacking),
    )
