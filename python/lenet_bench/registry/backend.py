"""A row of the registry, and the network that is built from it.

A row holds facts about a backend that are known without importing its API.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from ..arrays import Floats

Device = Literal["cpu", "gpu"]

#: The families of backends, from C++ to Keras, which group long lists.
FAMILIES = ("native code", "arrays", "inference engines", "compilers", "frameworks", "Keras")

#: No TF32 in NVIDIA's libraries, a variable of frameworks that run on a GPU.
FLOAT32_ON_GPU = {"NVIDIA_TF32_OVERRIDE": "0"}
TF32_ON_GPU = {"NVIDIA_TF32_OVERRIDE": "1"}
#: How many threads an API on OpenMP has.
OPENMP = {"OMP_NUM_THREADS": "{threads}"}

IN_CPP = "cpp"  # the variant that calls the same libraries without Python: csrc/api
ON_GPU = "@gpu"  # ends the name of a framework's backend that runs on a GPU: torch:compile@gpu


@dataclass(frozen=True)
class Native:
    """The compiled module and the sources of a backend in C++."""

    module: str  # the extension module of this package; "cuda" is _cuda13 or _cuda12
    cls: str
    sources: tuple[str, ...]  # in csrc: what is counted and shown, with all that it includes
    library: str = ""  # the shared library that it calls, and the package that brings it
    package: str = ""
    built: str = ""  # the class of any network: csrc/networks


@dataclass(frozen=True)
class OnGpu:
    """The differences of a framework's backend on an NVIDIA GPU."""

    calls: str
    environment: str | None  # with its GPU build, which excludes the CPU's
    variables: Mapping[str, str] = field(default_factory=dict)  # added to the CPU's
    variants: Mapping[str, str] = field(default_factory=dict)  # on a GPU only
    tolerances: Mapping[str, float] = field(default_factory=dict)
    reduced: Mapping[str, str] = field(default_factory=dict)  # replaces the CPU's
    at_once: Mapping[str, int] = field(default_factory=dict)
    compiled: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Backend:
    """An API that the network is written on."""

    name: str
    family: str  # one of FAMILIES
    summary: str  # what one writes against
    calls: str  # what that calls underneath
    variants: Mapping[str, str] = field(default_factory=dict)  # name -> what it changes
    default: str = ""  # the variant that the bare name is: `keras` is `keras:predict`
    device: Device = "cpu"
    tolerances: Mapping[str, float] = field(default_factory=dict)  # by variant, where not FLOAT32
    reduced: Mapping[str, str] = field(default_factory=dict)  # variant -> less than float32: int8

    # Where it is written: in backends/, or in C++.
    module: str = ""  # the file in backends/, without .py
    set_up: str = ""  # the function of that file that a user calls first, where there is one
    native: Native | None = None
    layers: bool = False  # its function returns each layer's output
    at_once: Mapping[str, int] = field(default_factory=dict)  # most images a call, by variant
    batch: frozenset[str] = frozenset()  # variants whose function is called again for batches

    #: Variant -> where its API says that several threads may call one network; "" is all of them.
    shared: Mapping[str, str] = field(default_factory=dict)

    # What it needs.
    library: str = ""  # its API's name, and the package whose version is that of the API
    package: str = ""
    extra: str | None = None  # the optional dependencies that bring its API
    converter: str | None = None  # those that bring what writes its file of LeNet, where others do
    framework: bool = False  # its API is a Python package of another project
    environment: str | None = None  # the isolated environment that holds its API
    version: str = ""  # of its API, where that was asked for: torch==2.9.1
    programs: tuple[str, ...] = ()  # programs that its API runs: compilers
    compiled: frozenset[str] = frozenset()  # variants that run a C++ compiler, for seconds
    variables: Mapping[str, str] = field(default_factory=dict)  # threads, device: `variables_for`
    own_threads: int | None = None  # its API's default, 0 if that is a word of it; None: every core
    silencing_variables: Mapping[str, str] = field(default_factory=dict)  # hide its logs
    counterpart: str | None = None  # for a backend on a GPU only: the one on the CPU
    gpu: OnGpu | None = None  # how it runs on a GPU, where it can

    @property
    def moved(self) -> bool:
        """Whether it can run on both devices and this row is the one on the GPU."""
        return self.gpu is not None and self.device == "gpu"

    @property
    def for_a_file(self) -> "Backend":
        """The same as it runs a model file that is there."""
        return replace(self, converter=None)

    def names(self) -> Iterator[str]:
        """The backend and its variants as the user spells them: fused, fused:int16."""
        yield self.spell(self.default)
        others = (variant for variant in self.variants if variant != self.default)
        yield from map(self.spell, others)

    def spell(self, variant: str) -> str:
        """The name of a variant as it is listed: keras, keras:call@gpu, keras:call==3.8.0."""
        bare = self.name if variant == self.default else f"{self.name}:{variant}"
        bare += ON_GPU if self.moved else ""
        return f"{bare}=={self.version}" if self.version else bare

    def on(self, device: Device) -> "Backend | None":
        """The same backend on that device; None where it cannot run there."""
        if device == self.device:
            return self
        if device == "cpu" or self.gpu is None:
            return None
        on_cpu_only = {IN_CPP, *self.reduced} - {*self.gpu.reduced}
        own = {name: v for name, v in self.variants.items() if name not in on_cpu_only}
        return replace(
            self,
            device="gpu",
            variants={**own, **self.gpu.variants},
            summary=f"{self.summary}, on a GPU",
            calls=self.gpu.calls,
            environment=self.gpu.environment,
            variables={**self.variables, **self.gpu.variables},
            tolerances={**self.tolerances, **self.gpu.tolerances},
            reduced=self.gpu.reduced,
            at_once={**self.at_once, **self.gpu.at_once},
            compiled=self.compiled | self.gpu.compiled,
            programs=(),
        )

    def of(self, variant: str) -> "Backend":
        """The row for one variant; that of a TF32 variant lets NVIDIA's libraries round to TF32."""
        if self.reduced.get(variant) != "TF32" or not self.moved:
            return self
        return replace(self, variables={**self.variables, **TF32_ON_GPU})

    def takes_one_image(self, variant: str) -> bool:
        """Whether a batch is a loop of single calls."""
        return self.at_once.get(variant) == 1 and variant not in self.batch

    def is_shared(self, variant: str) -> bool:
        """Whether several threads may call one network at once, as its API's documentation says."""
        return not self.moved and ("" in self.shared or variant in self.shared)

    def at(self, version: str) -> "Backend":
        """The same with that version of its API, in an environment of its own."""
        return replace(self, version=version, environment=f"{self.name}=={version}")

    def variables_for(self, threads: int) -> dict[str, str]:
        """The environment variables that its API reads when it is imported.

        With 0 threads they leave the number to the API.
        """
        return {
            name: value.format(threads=threads)
            for name, value in self.variables.items()
            if threads or ("THREADS" not in name and "{threads}" not in value)
        }

    def threads_for(self, asked: int) -> int:
        """As many as were asked for, or what its API takes by itself."""
        return asked or (usable_cores() if self.own_threads is None else self.own_threads)


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Network(Protocol):
    """A backend that has been built; it holds its own copy of the weights."""

    def infer(self, images: Floats) -> Floats:
        """Probabilities (10,) of one image (28, 28), or (n, 10) of (n, 28, 28).

        Images are float32 from 0 (paper) to 1 (ink). Wrong shapes, types and values (NaN, 0 to
        255) raise ValueError or TypeError.
        """
        ...

    def layers(self, image: Floats) -> dict[str, Floats]:
        """The output of each layer for one image (network.LAYERS).

        Raises LenetBenchError where the API returns only the answer.
        """
        ...

    def describe(self) -> dict[str, str]:
        """What runs: library version, instruction set, algorithm."""
        ...


def framework(
    name: str, *, family: str = "frameworks", one_at_a_time: bool = False, **rest: Any
) -> Backend:
    """The row of an API that is a Python package of another project.

    Defaults follow from the name: the file in backends/, the package, and the extra that installs
    it if it has no environment. The bare name means the first variant.
    """
    variants = rest.get("variants", {})
    defaults: dict[str, Any] = {
        "module": name,
        "package": name,
        "extra": None if "environment" in rest else name,
        "default": next(iter(variants), ""),
        "compiled": frozenset({IN_CPP}).intersection(variants),
    }
    if one_at_a_time:
        rest["at_once"] = dict.fromkeys(("", *variants), 1)
    return Backend(name, family, framework=True, **{**defaults, **rest})
