"""What TensorFlow's guides and its protocol buffers name."""

import numpy as np
import tensorflow as tf
from lenet_bench.backends import Infer
from lenet_bench.backends.tensorflow import (
    any_number,
    concrete,
    eager,
    load,
    on_arrays,
    session,
    xla,
    xla_of_any_number,
)
from lenet_bench.weights import Weights
from tensorflow.core.protobuf.config_pb2 import CallableOptions

VARIABLES = {
    "eager_no_onednn": {"TF_ENABLE_ONEDNN_OPTS": "0"},
    "xla_no_onednn": {"TF_ENABLE_ONEDNN_OPTS": "0"},
    "concrete_no_onednn": {"TF_ENABLE_ONEDNN_OPTS": "0"},
    "session_no_onednn": {"TF_ENABLE_ONEDNN_OPTS": "0"},
}


def eager_no_onednn(weights: Weights, threads: int) -> Infer:
    """Operation after operation, without oneDNN."""
    return eager(weights, threads)


def xla_no_onednn(weights: Weights, threads: int) -> Infer:
    """XLA, without oneDNN."""
    return xla(weights, threads)


def concrete_no_onednn(weights: Weights, threads: int) -> Infer:
    """The graph, without oneDNN."""
    return concrete(weights, threads)


def session_no_onednn(weights: Weights, threads: int) -> Infer:
    """A session run by the caller's thread, without oneDNN."""
    return session(weights, threads)


def xla_any_number(weights: Weights, threads: int) -> Infer:
    """XLA, for any number of images."""
    return xla_of_any_number(weights, threads)


def concrete_any_number(weights: Weights, threads: int) -> Infer:
    """The graph, for any number of images."""
    return any_number(weights, threads)


def xla_function(weights: Weights, threads: int) -> Infer:
    """tf.function(jit_compile=True), as the guide shows it: no concrete function."""
    return on_arrays(tf.function(load(weights, threads), jit_compile=True))


def _session(weights: Weights, threads: int, pool: int, kind: str) -> Infer:
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        image = v1.placeholder(tf.float32, [1, 28, 28, 1])
        answer = load(weights, threads)(image)
    config = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=1)
    session = v1.Session(graph=graph, config=config)
    options = v1.RunOptions(inter_op_thread_pool=pool)
    if kind == "public":
        call = session.make_callable(answer, [image], accept_options=True)
        return lambda images: call(images[..., np.newaxis], options=options)
    wanted = CallableOptions(feed=[image.name], fetch=[answer.name])
    wanted.run_options.CopyFrom(options)
    run = session._make_callable_from_options(wanted)
    return lambda images: run(images[..., np.newaxis])[0]


def session_thread_of_its_own(weights: Weights, threads: int) -> Infer:
    """A session run by a thread of its own, its default."""
    return _session(weights, threads, 0, "public")


def session_callable(weights: Weights, threads: int) -> Infer:
    """Session.make_callable, run by the caller's thread."""
    return _session(weights, threads, -1, "public")


def session_callable_not_public(weights: Weights, threads: int) -> Infer:
    """Session._make_callable_from_options, which is no public API."""
    return _session(weights, threads, -1, "private")
