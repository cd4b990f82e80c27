"""cudnn:graph_api's plans, made by NVIDIA's own cuDNN without a GPU: cuDNN plans for a GPU that it
is only told of. That they compute the right thing is test_cuda.py's and bench/gpu.sh's.
"""

import json
import os

import pytest
from cuda_children import PLAN, needs_cuda
from processes import python

pytestmark = needs_cuda

#: What cuDNN wants to know of a GPU, and what of it these GPUs have in common.
COMMON = {
    **{"cudaDeviceId": 0, "driverVer": 13000, "pciDeviceId": 0, "isTccDriver": 0, "warpSize": 32},
    **{"totalGlobalMem": 16 << 30, "l2CacheSize": 62914560, "memoryBusWidth": 6144},
    **{"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64]},
    **{"regsPerBlock": 65536, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "smCountOrigin": 0},
    **{"maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "supportCoopLaunch": 1},
    **{"maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024},
    **{"oversizedSharedMemoryPerBlock": 0, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000},
}

#: name -> compute capability times 100, multiprocessors, shared memory of a block at most
GPUS = {
    "T4": (750, 40, 65536),
    "A100": (800, 108, 166912),
    "RTX 4090": (890, 128, 101376),
    "H200": (900, 132, 232448),
    "B200": (1000, 148, 232448),
    "RTX 5090": (1200, 170, 101376),
}


def described(gpu):
    capability, multiprocessors, shared = GPUS[gpu]
    own = {"deviceName": gpu, "deviceVer": capability, "multiProcessorCount": multiprocessors}
    return json.dumps({**COMMON, **own, "maxSharedMemoryPerBlockOptin": shared})


@pytest.mark.parametrize("gpu", GPUS)
def test_cudnn_plans_every_graph_in_float32_for(planner, gpu):
    own = {**os.environ, "LD_LIBRARY_PATH": str(planner.parent)}
    done = python(f"import ctypes, sys\n{PLAN}", planner, described(gpu), env=own)
    engines = [line.split()[0] for line in done.stdout.splitlines()]
    assert engines == ["engine"] * 8  # four of one image, and four of 512
