"""Does Keras' predict wait at its end for the thread that tunes its data set? By network.

python bench/predict_wait.py > results/studies/predict-wait.json

Each start is a new process on one core, or on two, in shuffled order. It calls a network in four
ways, in shuffled turns: predict on an array, predict on the data set that Keras makes of it, the
same without tf.data's autotuning, and predict_on_batch. In one process more tf.data says what its
thread does in a call.
"""

import gc
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from statistics import median
from time import perf_counter, process_time
from typing import Any

from lenet_bench.measure.environment import read_machine
from lenet_bench.results.statistics import median_interval

MEASURED = ("lenet", "alexnet", "googlenet", "resnet50", "vgg16")
CORES = {"one core": {1}, "two cores": {0, 1}}
STARTS = 6
TURNS = 8
WARM_UP = 2  # turns before them
WAITED_MS = 5.0  # by which a call is longer than its time on the processor
SEED = 1
#: tf.data's thread: its log, the lines of it, and where a call begins in it.
LOGGED = {"TF_CPP_VMODULE": "model=2"}
LINE = re.compile(r"model\.cc:\d+\] (Waiting for \d+ ms|Optimized for \d+ ms)")
BEGINS = "a call begins"


def calls(name: str) -> dict[str, Callable[[], object]]:
    """The network in each way. TensorFlow is imported in the process that is timed."""
    import numpy as np
    import tensorflow as tf
    from lenet_bench.networks import network, seeded
    from lenet_bench.networks.builders import keras
    from lenet_bench.why.graphs import _data_set

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    asked = network(name)
    model = keras.model(asked, seeded.weights_of(asked))
    image = seeded.as_images(seeded.inputs_of(asked, 1), channels_last=True)[..., np.newaxis]
    tuned = _data_set(model, image)
    options = tf.data.Options()
    options.autotune.enabled = False
    untuned = tuned.with_options(options)
    return {
        "predict": lambda: model.predict(image, verbose=0),
        "data set": lambda: model.predict(tuned, verbose=0),
        "without tuning": lambda: model.predict(untuned, verbose=0),
        "predict_on_batch": lambda: model.predict_on_batch(image),
    }


def start(name: str) -> dict[str, list[tuple[float, float]]]:
    """Of each way the milliseconds of every call, and those on the processor."""
    ways = calls(name)
    gc.freeze()  # collections look at new objects only, as in `compare`
    took: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for turn in range(WARM_UP + TURNS):
        for way in random.sample(list(ways), len(ways)):
            began, began_cpu = perf_counter(), process_time()
            ways[way]()
            cpu_s, wall_s = process_time() - began_cpu, perf_counter() - began
            if turn >= WARM_UP:
                took[way].append((round(1e3 * wall_s, 3), round(1e3 * cpu_s, 3)))
    return took


def logged(name: str) -> None:
    """The third call of the data set, and where it begins in the log."""
    call = calls(name)["data set"]
    for _ in range(3):
        os.write(2, f"{BEGINS}\n".encode())
        call()


def answer(cores: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process of this program on these cores."""
    return subprocess.run(
        [sys.executable, __file__, *words],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ | variables,
        preexec_fn=lambda: os.sched_setaffinity(0, CORES[cores]),
    )


def summary(starts: list[list[tuple[float, float]]]) -> dict[str, Any]:
    """Of one way: the median over the starts with its interval, and how often a call waited."""
    medians = [median(wall for wall, _ in one) for one in starts]
    every = [call for one in starts for call in one]
    low, high = median_interval(medians, SEED) or (None, None)
    return {
        "ms": median(medians),
        "low_ms": low,
        "high_ms": high,
        "cpu_ms": median(cpu for _, cpu in every),
        "waited": sum(wall - cpu > WAITED_MS for wall, cpu in every) / len(every),
        "starts_ms": medians,
    }


def main() -> None:
    match sys.argv[1:]:
        case [name]:
            print(json.dumps(start(name)))
            return
        case ["--log", name]:
            logged(name)
            return
    log = answer("one core", "--log", MEASURED[-1], **LOGGED).stderr.rpartition(BEGINS)[2]
    found: dict[tuple[str, str], list[Any]] = {key: [] for key in product(MEASURED, CORES)}
    order = [key for _ in range(STARTS) for key in random.sample(list(found), len(found))]
    for number, (name, cores) in enumerate(order, 1):
        print(f"{number} of {len(order)}: {name} on {cores}", file=sys.stderr)
        found[name, cores].append(json.loads(answer(cores, name).stdout.splitlines()[-1]))
    result = {
        "processor": read_machine().processor.model,
        "log": LINE.findall(log),
        "networks": [
            {"network": name, "cores": cores, "way": way}
            | summary([one[way] for one in found[name, cores]])
            for name, cores in found
            for way in found[name, cores][0]
        ],
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
