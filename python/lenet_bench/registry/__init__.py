"""The registry: every backend as data, and the ways to use one: `load` it, or ask why it cannot.

A backend is one row here and one file in backends/, or in csrc/. Nobody imports its API before it
is loaded.
"""

from .backend import FAMILIES, IN_CPP, Backend, Device
from .building import check_needs, exact_probabilities, is_installed, wrong_version
from .loading import load
from .lookup import (
    every_name,
    find,
    held_by,
    names,
    nearest,
    on_cpu,
    on_device,
    precision,
    tolerance,
    usual_name,
    with_counterpart,
)
from .network import Network
from .rows import BACKENDS, FLOAT32
