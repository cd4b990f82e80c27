"""What a rung took of its GPU, summed over its turns."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import mean

from ..results import Gpu
from .nvml import Reading
from .protocol import Message


class GpuUse:
    """Adds up what the rung's process read before and after its turns (nvml.Span)."""

    def __init__(self) -> None:
        self._spans: list[tuple[Reading, Reading]] = []
        self._calls = 0

    def add(self, span: Message, calls: int) -> None:
        """One turn's."""
        self._spans.append((Reading(**span["before"]), Reading(**span["after"])))
        self._calls += calls

    def total(self, name: str, profile_us: Mapping[str, float] | None) -> Gpu:
        """Of all turns. The GPU counts energy in steps of up to 100 ms, so a turn says little."""
        gpu = Gpu(name, profile_us=profile_us)
        if not self._spans:
            return gpu
        first, last = self._spans[0][0], self._spans[-1][1]
        energy_mj = self._energy_mj()
        seconds = sum(after.at_s - before.at_s for before, after in self._spans)
        return replace(
            gpu,
            memory_mib=last.memory_mib,
            power_w=self._sampled_w() if energy_mj is None else energy_mj / 1000 / seconds,
            energy_mj=None if energy_mj is None else energy_mj / self._calls,
            mhz_before=first.mhz,
            mhz_after=last.mhz,
        )

    def _energy_mj(self) -> float | None:
        spent = 0.0
        for before, after in self._spans:
            if before.energy_mj is None or after.energy_mj is None:
                return None
            spent += after.energy_mj - before.energy_mj
        return spent

    def _sampled_w(self) -> float | None:
        """Where no energy is counted: what the GPU drew at the end of each turn."""
        known = [after.power_w for _, after in self._spans if after.power_w is not None]
        return mean(known) if known else None
