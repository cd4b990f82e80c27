"""TensorFlow and Keras on it: from the call down to a graph, which the runtime finds by its name.

Its operations run in a thread of the runtime, which only a session can switch off.
"""

from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from typing import Any
from unittest import mock

import tensorflow as tf
from keras import callbacks
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.eager import context

from ..experiment_names import ENTERING
from ..networks.pieces import Form
from . import Case, Infer, Probe, Way, Ways
from .ways import COMPILED, EAGER, ON_TENSOR, users

Made = Any  # an adapter of a piece


def of_tensorflow(case: Case) -> Ways | None:
    variant, x = case.variant, tf.constant(case.images[..., None])

    def model(made: Made) -> Infer:
        held = made.inside()["model"]
        return case.waiting(lambda _: held(x))

    def graph(made: Made) -> Any:
        held = made.inside()["model"]
        return held.get_concrete_function(x) if variant == "function" else held

    if variant == "session":
        python = "Session.run, less the C++ run with prepared options"
        entered = Way(ENTERING, "a run of a graph that returns ten pixels", _below_session(case))
        return Ways([*users(case, "Python", python), entered], Form(held=True))
    if variant == "eager":
        entered = Way(ENTERING, "a module that does nothing, on a tensor", model)
        form = Form() if case.on_gpu else EAGER
        return Ways([*users(case, "arrays", ON_TENSOR), entered], form)
    if variant not in ("concrete", "function", "xla"):
        return None
    finding = [Way("finding the graph", _FINDING, model)] if variant == "function" else []
    return Ways(
        [*users(case, "arrays", ON_TENSOR), *finding, *_of_a_graph(case, graph, x, x)],
        COMPILED,
        beside=list(_hand_over(case)) if variant != "xla" else (),
    )


def of_keras(case: Case) -> Ways:
    images = case.images[..., None]
    x = tf.constant(images)
    if case.variant == "function":

        def program(made: Made) -> Infer:
            held = made.inside()["program"]
            return case.waiting(lambda _: held(x))

        def graph(made: Made) -> Any:
            return made.inside()["program"].get_concrete_function(x)

        ways = [*users(case, "arrays", ON_TENSOR), Way("finding the graph", _FINDING, program)]
        return Ways([*ways, *_of_a_graph(case, graph, x, x)], COMPILED)

    @cache
    def steps(made: Made) -> _Steps:
        return _Steps(made.inside()["model"], images)

    def stepping(call: Callable[[_Steps], Infer], made: Made) -> Infer:
        return call(steps(made))

    def asked(made: Made) -> Infer:
        function = steps(made).asked
        return case.waiting(lambda _: function([(x,)]))

    def predicted(made: Made) -> Any:
        return steps(made).asked.get_concrete_function([(x,)])

    if case.variant == "predict_on_batch":
        ways = users(case, "arrays", "predict_on_batch, less its predict_function on a tensor")
    else:
        whole = "predict on an array, less on the data set that Keras makes of it, kept"
        ways = users(case, "data set", whole)
        for name, (call, evidence) in _PREDICT.items():
            ways.append(Way(name, evidence, partial(stepping, call)))
    ways.append(Way("finding the graph", _FINDING, asked))
    ways += _of_a_graph(case, predicted, x, [(x,)])
    return Ways(ways, COMPILED, beside=list(_hand_over(case)))


_FINDING = "the function, less the concrete function that it finds and calls"


def _of_a_graph(case: Case, graph: Callable[[Made], Any], x: Any, given: Any) -> Iterator[Way]:
    """From a concrete function down to the runtime, which gets the graph's name."""

    def python(made: Made) -> Infer:
        concrete = graph(made)
        return case.waiting(lambda _: concrete(given))

    def below(made: Made) -> Infer:
        concrete = graph(made)  # kept, since the graph goes with its function
        inputs, outputs = [x, *concrete.captured_inputs], len(concrete.outputs)
        call, name = context.context().call_function, concrete.name
        return case.waiting(lambda _: (call(name, inputs, outputs), concrete))

    yield Way("Python", "the concrete function, less its graph called by name", python)
    yield Way(ENTERING, "a graph that returns ten pixels, called by name", below)


def _below_session(case: Case) -> Callable[[Made], Infer]:
    def below(made: Made) -> Infer:
        inside = made.inside()
        session, image, answer = (inside[name] for name in ("session", "image", "answer"))
        options = pywrap_tf_session.TF_NewBufferFromString(inside["here"].SerializeToString())
        given, wanted = {image._as_tf_output(): case.images[..., None]}, [answer._as_tf_output()]
        run, handle = pywrap_tf_session.TF_SessionRun_wrapper, session._session
        return lambda _: (run(handle, options, given, wanted, [], None), session)

    return below


def _hand_over(case: Case) -> Iterator[Probe]:
    """A graph that returns ten pixels in a session, in the runtime's thread and the caller's."""
    if case.on_gpu:  # there a session always uses its own thread
        return
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        image = v1.placeholder(tf.float32, case.images[..., None].shape)
        answer = tf.reshape(image, [1, -1])[:, :10]
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    feed = {image: case.images[..., None]}
    evidence = "that graph in a session: in the runtime's thread, less in the caller's"
    for name, pool in (("own thread", 0), ("caller's thread", -1)):
        session, options = v1.Session(graph=graph, config=config), v1.RunOptions()
        options.inter_op_thread_pool = pool

        def infer(_: Any, session: Any = session, options: Any = options) -> Any:
            return session.run(answer, feed, options=options)

        yield Probe("hand-over", name, infer, evidence=evidence)


class _Steps:
    """What predict does with a model, step by step through public API."""

    def __init__(self, model: Any, images: Any) -> None:
        self.model, self.images = model, images
        model.make_predict_function()
        self.asked = model.predict_function

    @cached_property
    def kept(self) -> Any:
        """The data set that Keras makes of an array, kept where predict asks for its iterator.

        Keras infers one batch from an array; for a data set we set the cardinality.
        """
        found: list[Any] = []
        ask = tf.data.Dataset.__iter__

        def iterator(data: Any) -> Any:
            found.append(data)
            return ask(data)

        with mock.patch.object(tf.data.Dataset, "__iter__", iterator):
            self.model.predict(self.images, verbose=0)
        return found[0].apply(tf.data.experimental.assert_cardinality(1))

    @cached_property
    def untuned(self) -> Any:
        return _untuned(self.kept)

    def on(self, data: Any) -> Infer:
        return lambda _: self.model.predict(data, verbose=0)

    def by_hand(self, *, called_back: bool = False, twice: bool = False) -> Infer:
        """The steps on the data set."""
        data, asked = self.untuned, self.asked

        def infer(_: Any) -> Any:
            calls = None
            if called_back:
                calls = callbacks.CallbackList(model=self.model, epochs=1, steps=1)
                calls.on_predict_begin()
            iterator = iter(data)
            if calls:
                calls.on_predict_batch_begin(0)
            answer = asked([next(iterator)])
            if calls:
                calls.on_predict_batch_end(0, {"outputs": answer})
            if twice:
                iterator = iter(data)
            if calls:
                calls.on_predict_end()
            return tf.concat([answer], 0).numpy()

        return infer

    def unasked(self, data: Any) -> Infer:
        """An iterator that is made only, and the function on a tensor."""
        asked, x = self.asked, tf.constant(self.images)
        return lambda _: (iter(data) if data else None, tf.concat([asked([(x,)])], 0).numpy())[1]

    @property
    def plain(self) -> Any:
        return _untuned(tf.data.Dataset.from_tensors((self.images,)))


def _untuned(data: Any) -> Any:
    options = tf.data.Options()
    options.autotune.enabled = False
    return data.with_options(options)


#: Each step of predict: the call with it, and what is measured.
_PREDICT: dict[str, tuple[Callable[[_Steps], Infer], str]] = {
    "tuning": (
        lambda steps: steps.on(steps.kept),
        "predict on that data set, less without tf.data's autotuning and the thread for it",
    ),
    "loop": (
        lambda steps: steps.on(steps.untuned),
        "predict on that, less its steps by hand",
    ),
    "callbacks": (
        lambda steps: steps.by_hand(called_back=True, twice=True),
        "the steps by hand, less the same without a CallbackList",
    ),
    "second iterator": (
        lambda steps: steps.by_hand(twice=True),
        "the same, less without the iterator that predict makes at the end, and asks nothing",
    ),
    "batch": (
        lambda steps: steps.by_hand(),
        "the batch taken from an iterator, less an iterator that is made only",
    ),
    "pipeline": (
        lambda steps: steps.unasked(steps.untuned),
        "an iterator of Keras' data set, whose steps are functions, less one of a single tensor",
    ),
    "iterator": (
        lambda steps: steps.unasked(steps.plain),
        "an iterator of a single tensor, less none",
    ),
    "arrays": (
        lambda steps: steps.unasked(None),
        "the predict_function, its answer as an array, less without that",
    ),
}
