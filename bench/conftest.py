"""Before NumPy loads its BLAS: one thread for every library, and the core that `compare` uses."""

import os

from lenet_bench.measure.pinning import choose_cores, thread_variables

os.environ.update(thread_variables(threads=1))
if cores := choose_cores(threads=1).worker:
    os.sched_setaffinity(0, cores)
