"""TensorFlow and Keras on it: from the call down to a graph, which the runtime finds by its name.

Its operations run in a thread of the runtime, which only a session can switch off.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from unittest import mock

import tensorflow as tf
from keras import callbacks
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.eager import context

from ..experiment_names import ENTERING
from ..networks.pieces import Form
from . import Case, Infer, Probe, Ways
from .calling import COMPILED, EAGER, ON_TENSOR, Below, Held, Inside, called

Function = Callable[[Held], Any]  # a function or graph of TensorFlow's, of what holds it


def of_tensorflow(case: Case) -> dict[str, Ways]:
    x = tf.nest.map_structure(tf.constant, case.images[..., None])

    def model(held: Held) -> Any:
        return held.model

    on_tensor = _on(case, model, x)
    graph = _of_a_graph(case, model, x, on_tensor)
    threads: dict[str, Any] = {"form": COMPILED, "beside": _hand_over(case)}
    nothing = (ENTERING, "a module that does nothing, on a tensor", on_tensor)
    eager = called(case, "arrays", ON_TENSOR, nothing, form=Form() if case.on_gpu else EAGER)
    if case.variant == "eager" and case.placed:  # a signature of the user's, which is a graph
        signature = _of_a_graph(case, lambda held: held.model.signature, x, on_tensor)
        eager = called(case, "arrays", ON_TENSOR, *signature, **threads)
    return {
        "session": called(
            case,
            "Python",
            "Session.run, less the C++ run with prepared options",
            (ENTERING, "a run of a graph that returns ten floats", _below_session(case)),
            form=Form(held=True),
        ),
        "eager": eager,
        "function": called(
            case, "arrays", ON_TENSOR, *_of_a_function(case, model, x, x), **threads
        ),
        "concrete": called(case, "arrays", ON_TENSOR, *graph, **threads),
        "xla": called(case, "arrays", ON_TENSOR, *graph, form=COMPILED),
    }


def of_keras(case: Case) -> dict[str, Ways]:
    images = case.images[..., None]
    x = tf.nest.map_structure(tf.constant, images)

    @cache
    def steps(model: Any) -> dict[str, Infer]:
        return dict(zip(_PREDICT, _steps(model, images), strict=True))

    def step(name: str) -> Inside:
        return lambda held: steps(held.model)[name]

    predicting = _of_a_function(case, lambda held: _predicting(held.model), x, [(x,)])
    compiled = _of_a_function(case, lambda held: held.program, x, x)
    whole = "predict on an array, less on the data set that Keras makes of it, kept"
    on_batch = "predict_on_batch, less its predict_function on a tensor"
    by_hand = [(name, evidence, step(name)) for name, evidence in _PREDICT.items()]
    threads: dict[str, Any] = {"form": COMPILED, "beside": _hand_over(case)}
    return {
        "function": called(case, "arrays", ON_TENSOR, *compiled, form=COMPILED),
        "predict_on_batch": called(case, "arrays", on_batch, *predicting, **threads),
        "predict": called(case, "data set", whole, *by_hand, *predicting, **threads),
    }


def _predicting(model: Any) -> Any:
    """The function that Keras makes of a model, of an iterator over batches."""
    model.make_predict_function()
    return model.predict_function


def _on(case: Case, of: Function, given: Any) -> Inside:
    """The call of a function with what it takes."""

    def calling(held: Held) -> Infer:
        function = of(held)
        return case.waiting(lambda _: function(given))

    return calling


def _of_a_function(case: Case, of: Function, x: Any, given: Any) -> list[Below]:
    def graph(held: Held) -> Any:
        return of(held).get_concrete_function(given)

    finding = "the function, less the concrete function that it finds and calls"
    way = ("finding the graph", finding, _on(case, of, given))
    return [way, *_of_a_graph(case, graph, x, _on(case, graph, given))]


def _of_a_graph(case: Case, graph: Function, x: Any, calling: Inside) -> list[Below]:
    """From the call of a concrete function down to the runtime, which gets the graph's name."""

    def below(held: Held) -> Infer:
        concrete = graph(held)  # kept, since the graph goes with its function
        inputs, outputs = [*tf.nest.flatten(x), *concrete.captured_inputs], len(concrete.outputs)
        call, name = context.context().call_function, concrete.name
        return case.waiting(lambda _: (call(name, inputs, outputs), concrete))

    by_name = "the concrete function, less its graph called by name"
    return [
        ("Python", by_name, calling),
        (ENTERING, "a graph that returns ten floats, called by name", below),
    ]


def _below_session(case: Case) -> Inside:
    def below(held: Held) -> Infer:
        session, here = held.session, held.here.SerializeToString()
        options = pywrap_tf_session.TF_NewBufferFromString(here)
        given = {held.image._as_tf_output(): case.images[..., None]}
        wanted = [held.answer._as_tf_output()]
        run, handle = pywrap_tf_session.TF_SessionRun_wrapper, session._session
        return lambda _: (run(handle, options, given, wanted, [], None), session)

    return below


def _hand_over(case: Case) -> Iterator[Probe]:
    """A graph that returns ten floats in a session, in the runtime's thread and the caller's."""
    if case.on_gpu:  # there a session always uses its own thread
        return
    v1, given = tf.compat.v1, tf.nest.flatten(case.images[..., None])[0]
    with tf.Graph().as_default() as graph:
        image = v1.placeholder(given.dtype, given.shape)
        answer = tf.reshape(image, [1, -1])[:, :10]
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    feed = {image: given}
    evidence = "that graph in a session: in the runtime's thread, less in the caller's"
    for name, pool in (("own thread", 0), ("caller's thread", -1)):
        session, options = v1.Session(graph=graph, config=config), v1.RunOptions()
        options.inter_op_thread_pool = pool

        def infer(_: Any, session: Any = session, options: Any = options) -> Any:
            return session.run(answer, feed, options=options)

        yield Probe("hand-over", name, infer, evidence=evidence)


#: Each step of predict, and what is measured for it: the call with the step, less without.
_PREDICT = {
    "tuning": "predict on that data set, less without tf.data's autotuning and the thread for it",
    "loop": "predict on that, less its steps by hand",
    "callbacks": "the steps by hand, less the same without a CallbackList",
    "second iterator": (
        "the same, less without the iterator that predict makes at the end, and asks nothing"
    ),
    "batch": "the batch taken from an iterator, less an iterator that is made only",
    "pipeline": (
        "an iterator of Keras' data set, whose steps are functions, less one of a single tensor"
    ),
    "iterator": "an iterator of a single tensor, less none",
    "arrays": "the predict_function, its answer as an array, less without that",
}


def _steps(model: Any, images: Any) -> list[Infer]:
    """What predict does with a model, each time without one more step, through public API."""
    asked, kept = _predicting(model), _data_set(model, images)
    x = tf.nest.map_structure(tf.constant, images)
    options = tf.data.Options()
    options.autotune.enabled = False
    untuned = kept.with_options(options)
    single = tf.data.Dataset.from_tensors((images,)).with_options(options)

    def as_arrays(answer: Any) -> Any:
        return tf.nest.map_structure(lambda one: tf.concat([one], 0).numpy(), answer)

    def on(data: Any) -> Infer:
        return lambda _: model.predict(data, verbose=0)

    def by_hand(*, called_back: bool = False, twice: bool = False) -> Infer:
        def infer(_: Any) -> Any:
            calls = None
            if called_back:
                calls = callbacks.CallbackList(model=model, epochs=1, steps=1)
                calls.on_predict_begin()
            iterator = iter(untuned)
            if calls:
                calls.on_predict_batch_begin(0)
            answer = asked([next(iterator)])
            if calls:
                calls.on_predict_batch_end(0, {"outputs": answer})
            if twice:
                iterator = iter(untuned)
            if calls:
                calls.on_predict_end()
            return as_arrays(answer)

        return infer

    def unasked(data: Any) -> Infer:
        """An iterator that is made only, and the function on a tensor."""
        return lambda _: (iter(data) if data else None, as_arrays(asked([(x,)])))[1]

    return [
        on(kept),
        on(untuned),
        by_hand(called_back=True, twice=True),
        by_hand(twice=True),
        by_hand(),
        unasked(untuned),
        unasked(single),
        unasked(None),
    ]


def _data_set(model: Any, images: Any) -> Any:
    """The data set that Keras makes of an array, kept where predict asks for its iterator.

    Keras infers one batch from an array; for a data set we set the cardinality.
    """
    found: list[Any] = []
    ask = tf.data.Dataset.__iter__

    def iterator(data: Any) -> Any:
        found.append(data)
        return ask(data)

    with mock.patch.object(tf.data.Dataset, "__iter__", iterator):
        model.predict(images, verbose=0)
    return found[0].apply(tf.data.experimental.assert_cardinality(1))
