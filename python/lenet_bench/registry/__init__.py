"""The registry: every backend as data; `load` one, or ask why it cannot be loaded.

A backend is one row here and one file in backends/, or in csrc/. Its API is imported only when it
is loaded.
"""

from .backend import FAMILIES, IN_CPP, Backend, Device, Network, usable_cores
from .building import (
    check_needs,
    exact_probabilities,
    is_installed,
    packages_of,
    why_absent,
    wrong_version,
)
from .loading import load
from .rows import (
    AGAIN,
    BACKENDS,
    FLOAT32,
    canonical_name,
    every_name,
    find,
    held_by,
    names,
    on_cpu,
    on_device,
    precision,
    tolerance,
    with_counterpart,
    with_threads,
    with_variants,
    without_threads,
    without_version,
)
