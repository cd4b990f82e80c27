"""The stages of ResNet-50 on one core of a CPU, with XLA's YNNPACK fusions and without.

python jax_ynnpack.py [TURNS]     processes of both kinds in turns; ms a call as JSON
"""

import json
import os
import subprocess
import sys
import time
from statistics import median

import numpy as np

WITHOUT = "--xla_cpu_experimental_ynn_fusion_type="
#: The pixels and the channels of each stage, and how many blocks it has.
STAGES = ((56, 64, 3), (28, 128, 4), (14, 256, 6), (7, 512, 3))
CALLS = 40


def measure() -> dict[str, float]:
    """The median call of each stage."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    import jax
    from jax import lax, nn

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    random = np.random.default_rng(1)

    def values(*shape):
        scale = np.float32(np.prod(shape[:-1]) ** 0.5)
        return jax.device_put(random.standard_normal(shape, np.float32) / scale)

    def convolve(x, weight):
        around = ((weight.shape[0] // 2,) * 2,) * 2
        return lax.conv_general_dilated(
            x, weight, (1, 1), around, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    @jax.jit
    def stage(x, blocks):
        for first, second, third in blocks:
            y = nn.relu(convolve(x, first))
            y = nn.relu(convolve(y, second))
            x = nn.relu(x + convolve(y, third))
        return x

    found = {"jax": jax.__version__}
    for side, few, count in STAGES:
        many = 4 * few
        shapes = ((1, 1, many, few), (3, 3, few, few), (1, 1, few, many))
        blocks = [[values(*shape) for shape in shapes] for _ in range(count)]
        x = values(1, side, side, many)
        stage(x, blocks).block_until_ready()
        took = []
        for _ in range(CALLS):
            began = time.perf_counter()
            stage(x, blocks).block_until_ready()
            took.append(time.perf_counter() - began)
        found[f"{side}x{side}, {many} channels"] = round(1000 * median(took), 3)
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["here"]:
        print(json.dumps(measure()))
    else:
        for _ in range(int(sys.argv[1]) if sys.argv[1:] else 6):
            for flags in "", WITHOUT:
                own = {**os.environ, "XLA_FLAGS": flags}
                command = [sys.executable, __file__, "here"]
                done = subprocess.run(command, env=own, check=True, capture_output=True)
                print(json.dumps({"XLA_FLAGS": flags, **json.loads(done.stdout)}), flush=True)
