"""How long does the iterator of a tf.data pipeline take to be deleted?

python tf_data_wait.py [RUNS]    100 runs each: on one core and on two, with autotuning and without

A run counts as waiting where the deletion takes 5 ms more than this process computed meanwhile.
"""

import json
import os
import subprocess
import sys
import time
from statistics import median

RUN_S, WAITS_S = 0.35, 0.005


def measure(cores: int, autotuned: bool, runs: int) -> dict[str, object]:
    """Delete an iterator so many times, each RUN_S after it began."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = autotuned
    data = tf.data.Dataset.from_tensors(0).prefetch(tf.data.AUTOTUNE).with_options(options)
    took_ms, waits = [], 0
    for _ in range(runs):
        iterator = iter(data)
        next(iterator)
        until = time.perf_counter() + RUN_S
        while time.perf_counter() < until:
            pass
        began, computed = time.perf_counter(), time.process_time()
        del iterator
        took, computed = time.perf_counter() - began, time.process_time() - computed
        took_ms.append(round(1000 * took, 3))
        waits += took - computed > WAITS_S
    return {
        "tensorflow": tf.__version__,
        "cores": cores,
        "autotuned": autotuned,
        "mend": "callbacks after the flag" if os.environ.get("CANCEL_FIRST") else None,
        "runs": runs,
        "waits": waits,
        "median_ms": median(took_ms),
        "longest_ms": max(took_ms),
    }


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(measure(int(sys.argv[1]), sys.argv[2] == "tuned", int(sys.argv[3]))))
    else:
        for cores in "1", "2":
            for tuning in "tuned", "plain":
                words = [cores, tuning, *(sys.argv[1:] or ["100"])]
                subprocess.run([sys.executable, __file__, *words], check=True)
