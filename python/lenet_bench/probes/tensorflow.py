"""TensorFlow: an operation is a kernel, called from Python or a node of the graph.

Below Python a graph is called by its name (`call_function`), or in a session by the session's
binding. Its operations run in a thread of the runtime, which only a session can switch off.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.eager import context

from ..backends import tensorflow as file
from ..registry.adapter import Adapter
from . import CUTS, ENTERING, IMAGES, SOFTMAX, Case, Infer, Probe, called, compiled, networks, way

Forward = Callable[[Any, Any], Any]  # of the module and its images

#: Operations a stage, called one by one.
_EAGER = {"conv1": 2, "pool1": 1, "conv2": 2, "pool2": 1, "fc1": 4, "fc2": 2, SOFTMAX: 1}
#: Operations a stage in the graph, which fuses bias and ReLU into a convolution or product.
GRAPH = {"conv1": 1, "pool1": 1, "conv2": 1, "pool2": 1, "fc1": 2, "fc2": 1, SOFTMAX: 1}
#: Operations that take ten floats: reshape and slice.
REST = 2
_CONVOLUTIONS = ("conv1", "conv2")


def probes(case: Case) -> Sequence[Probe]:
    variant = case.variant
    if variant in case.row.reduced:
        return ()

    def module(forward: Forward) -> Any:
        class Varied(file.LeNet):
            def __call__(self, images: Any) -> Any:
                _hold(self)
                return forward(self, images)

        return Varied(case.weights)

    def build(forward: Forward) -> Adapter:
        return case.varied(load=lambda *_: module(forward))

    nothing = build(_nothing)
    if variant == "session":
        return _of_session(build, nothing, operations_of_a_graph(case))
    x = tf.constant(IMAGES[..., None])
    ways = called(nothing, "arrays", "the call on an array less that on a tensor", REST)
    if variant == "eager":

        def last(forward: Forward) -> Infer:
            made = module(forward)
            return case.waiting(lambda _: made(x))

        ways.append(way(ENTERING, last(_nothing), "a module that gives ten pixels", REST))
        if case.on_gpu:  # the call waits for a copy of the answer
            return [*ways, *networks(last, trivial, _cut, _EAGER, REST)]
        cut = partial(_cut, ten=lambda x: x)
        return [*ways, *networks(last, trivial, cut, _EAGER, REST, lambda _, x: x)]
    if variant == "function":
        asked = nothing.inside()["model"]
        evidence = "the tf.function less the concrete function that it calls"
        ways.append(way("finding the graph", case.waiting(lambda _: asked(x)), evidence, REST))
    xla = variant == "xla"

    def graph(forward: Forward) -> Any:
        return file.graph_of(module(forward), 1, jit_compile=xla)

    ways += ways_of_a_graph(case, graph(_nothing), x, x, own_thread=not xla)
    count = GRAPH if xla else operations_of_a_graph(case)

    def named(forward: Forward, *, keep: bool = xla) -> Infer:
        return below_python(case, graph(_keeping(forward) if keep else forward), x)

    if xla:
        ways += compiled(named(_nothing), named(_cut(CUTS[-1]), keep=False), REST)
    return [*ways, *networks(named, trivial, _cut, count, REST)]


def operations_of_a_graph(case: Case) -> dict[str, int]:
    """On a GPU, grappler fuses a bias with a product, and with a convolution only before a ReLU."""
    return GRAPH | (dict.fromkeys(_CONVOLUTIONS, 2) if case.on_gpu else {})


def _of_session(
    build: Callable[[Forward], Adapter], nothing: Adapter, count: Mapping[str, int]
) -> Sequence[Probe]:
    """The call, and what Session.run calls."""
    python = "Session.run less the C++ run with prepared options"
    return [
        *called(nothing, "Python", python, REST),
        way(ENTERING, _below_session(nothing), "a run of a graph that returns ten pixels", REST),
        *networks(lambda forward: _below_session(build(forward)), trivial, _cut, count, REST),
    ]


def _below_session(adapter: Adapter) -> Infer:
    adapter.infer(IMAGES[0])  # makes the session load its graph
    inside = adapter.inside()
    session, image, answer = (inside[name] for name in ("session", "image", "answer"))
    options = pywrap_tf_session.TF_NewBufferFromString(inside["here"].SerializeToString())
    given, asked = {image._as_tf_output(): IMAGES[..., None]}, [answer._as_tf_output()]
    run, handle = pywrap_tf_session.TF_SessionRun_wrapper, session._session
    return lambda _: (run(handle, options, given, asked, [], None), session)  # which goes with it


def ways_of_a_graph(
    case: Case, graph: Any, x: Any, given: Any, *, own_thread: bool
) -> Iterator[Probe]:
    """From a concrete function that does nothing down to the runtime."""
    evidence = "the concrete function less its graph called by name"
    yield way("Python", case.waiting(lambda _: graph(given)), evidence, REST)
    evidence = "a graph that returns ten pixels, called by name"
    yield way(ENTERING, below_python(case, graph, x), evidence, REST)
    if own_thread and not case.on_gpu:  # on a GPU a session always uses its own thread
        evidence = "that graph in a session: in the runtime's thread less in the caller's"
        yield Probe("hand-over", "own thread", _in_session(), REST, evidence)
        yield Probe("hand-over", "caller's thread", _in_session(-1), REST, evidence)


def below_python(case: Case, graph: Any, x: Any) -> Infer:
    """The graph, called by its name."""
    name, inputs, outputs = graph.name, [x, *graph.captured_inputs], len(graph.outputs)
    call = context.context().call_function
    # The graph goes with its function.
    return case.waiting(lambda _: (call(name, inputs, outputs), graph))


def _in_session(pool: int = 0) -> Infer:
    """A graph that does nothing, computed by a thread of this pool; -1 is the caller."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        image = v1.placeholder(tf.float32, [1, 28, 28, 1])
        answer = _ten(image)
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    session = v1.Session(graph=graph, config=config)
    options, feed = v1.RunOptions(inter_op_thread_pool=pool), {image: IMAGES[..., None]}
    return lambda _: session.run(answer, feed, options=options)


def _hold(module: Any) -> None:
    """Give the graph all of LeNet's weights, as LeNet's own graph has."""
    if not tf.executing_eagerly():
        for name, weight in vars(module).items():
            if name.endswith(("_weight", "_bias")):
                tf.identity(weight)


def _ten(x: Any) -> Any:
    """The first ten floats."""
    return tf.slice(tf.reshape(x, [1, -1]), [0, 0], [1, 10])


def trivial(count: int) -> Forward:
    """So many operations on ten floats, which grappler does not fuse as it does most."""

    def forward(_: Any, x: Any) -> Any:
        x = _ten(x)
        for _ in range(count):
            x = tf.nn.softsign(x)
        return x

    return forward


_nothing = trivial(0)


def _keeping(forward: Forward) -> Forward:
    """The network with an answer that needs all of its floats, so that XLA computes them all."""

    def kept(module: Any, x: Any) -> Any:
        return forward(module, x), module.last if hasattr(module, "last") else x

    return kept


def _cut(stage: str, ten: Callable[[Any], Any] = _ten) -> Forward:
    steps: dict[str, Forward] = {
        "conv1": lambda m, x: _convolve(x, m.conv1_weight, m.conv1_bias),
        "pool1": lambda _, x: _pool(x),
        "conv2": lambda m, x: _convolve(x, m.conv2_weight, m.conv2_bias),
        "pool2": lambda _, x: _pool(x),
        "fc1": lambda m, x: tf.nn.relu(
            tf.nn.bias_add(tf.reshape(x, [-1, 800]) @ m.fc1_weight, m.fc1_bias)
        ),
        "fc2": lambda m, x: tf.nn.bias_add(x @ m.fc2_weight, m.fc2_bias),
    }

    def forward(module: Any, x: Any) -> Any:
        if stage == SOFTMAX:
            return tf.nn.softmax(_ten(x))
        for name in CUTS[: CUTS.index(stage) + 1]:
            x = steps[name](module, x)
        module.last = x
        return x if stage == CUTS[-1] else ten(x)

    return forward


def _convolve(x: Any, weight: Any, bias: Any) -> Any:
    return tf.nn.bias_add(tf.nn.conv2d(x, weight, strides=1, padding="VALID"), bias)


def _pool(x: Any) -> Any:
    return tf.nn.max_pool2d(x, 2, strides=2, padding="VALID")
