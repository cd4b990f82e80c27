"""A row of the ladder: what is known of a rung without importing its API."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Rung:
    """One way to run the network, as the ladder knows it without importing it."""

    name: str
    summary: str  # what one writes against
    calls: str  # what that calls underneath
    exhibit: str  # "module:Class" in this folder
    variants: Mapping[str, str] = field(default_factory=dict)  # name -> what it changes
    default: str = ""  # the variant that the bare name is: `keras` is `keras:predict`
    device: Literal["cpu", "gpu"] = "cpu"
    extra: str | None = None  # the optional dependencies that bring its API
    framework: bool = False  # its API is a Python package of somebody else's
    environment: str | None = None  # the isolated environment that holds its API
    programs: tuple[str, ...] = ()  # what its API calls while it builds, compilers mostly
    tolerances: Mapping[str, float] = field(default_factory=dict)  # by variant, where not FLOAT32
    variables: Mapping[str, str] = field(default_factory=dict)  # see `variables_for`
    gone: str | None = None  # why nobody can run it any more, and what took its place

    def names(self) -> Iterator[str]:
        """The rung and its variants as the user spells them: fused, fused:int16."""
        yield self.name
        others = (variant for variant in self.variants if variant != self.default)
        yield from (f"{self.name}:{variant}" for variant in others)

    def variables_for(self, threads: int) -> dict[str, str]:
        """The environment variables that its API reads when it is imported."""
        return {name: value.format(threads=threads) for name, value in self.variables.items()}
