"""A row of the ladder: what is known of a rung without importing its API."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Device = Literal["cpu", "gpu"]

ON_GPU = "@gpu"  # ends the name of a framework's rung that was moved there: torch:compile@gpu


@dataclass(frozen=True)
class OnGpu:
    """What is different where a framework's rung runs on an NVIDIA GPU."""

    calls: str
    environment: str  # that holds its GPU build, which cannot lie beside the CPU's
    variables: Mapping[str, str] = field(default_factory=dict)  # on top of the CPU's, or instead


@dataclass(frozen=True)
class Rung:
    """One way to run the network, as the ladder knows it without importing it."""

    name: str
    summary: str  # what one writes against
    calls: str  # what that calls underneath
    exhibit: str  # "module:Class" in this folder
    variants: Mapping[str, str] = field(default_factory=dict)  # name -> what it changes
    default: str = ""  # the variant that the bare name is: `keras` is `keras:predict`
    device: Device = "cpu"
    extra: str | None = None  # the optional dependencies that bring its API
    framework: bool = False  # its API is a Python package of somebody else's
    environment: str | None = None  # the isolated environment that holds its API
    programs: tuple[str, ...] = ()  # what its API calls while it builds, compilers mostly
    tolerances: Mapping[str, float] = field(default_factory=dict)  # by variant, where not FLOAT32
    variables: Mapping[str, str] = field(default_factory=dict)  # see `variables_for`
    quieting: Mapping[str, str] = field(default_factory=dict)  # variables that hush its logs
    compiled: frozenset[str] = frozenset()  # variants that run a C++ compiler, for many seconds
    gpu: OnGpu | None = None  # how it runs on a GPU, where it can be told to
    gone: str | None = None  # why nobody can run it any more, and what took its place

    @property
    def moved(self) -> bool:
        """Whether it can run on either device and was told to run on the GPU."""
        return self.gpu is not None and self.device == "gpu"

    def names(self) -> Iterator[str]:
        """The rung and its variants as the user spells them: fused, fused:int16."""
        yield self.spell(self.default)
        others = (variant for variant in self.variants if variant != self.default)
        yield from map(self.spell, others)

    def spell(self, variant: str) -> str:
        """The name of a variant as the ladder lists it: keras, keras:call, keras:call@gpu."""
        bare = self.name if variant == self.default else f"{self.name}:{variant}"
        return bare + ON_GPU if self.moved else bare

    def on(self, device: Device) -> "Rung | None":
        """The same rung on that device; None where it cannot run there."""
        if device == self.device:
            return self
        if device == "cpu" or self.gpu is None:
            return None
        return replace(
            self,
            device="gpu",
            summary=f"{self.summary}, on a GPU",
            calls=self.gpu.calls,
            environment=self.gpu.environment,
            variables={**self.variables, **self.gpu.variables},
        )

    def variables_for(self, threads: int) -> dict[str, str]:
        """The environment variables that its API reads when it is imported."""
        return {name: value.format(threads=threads) for name, value in self.variables.items()}
