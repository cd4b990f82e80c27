"""What a rung took of its GPU, summed over its turns."""

from collections.abc import Mapping, Sequence
from statistics import mean

from ..results import Gpu, Turn
from .nvml import Reading
from .protocol import Message


class GpuUse:
    """Adds up what the rung's process read before and after its turns (nvml.Span)."""

    def __init__(self) -> None:
        self._turns = self._calls = 0
        self._seconds = 0.0
        self._energy_mj: float | None = 0.0  # None once a turn's was not told
        self._watts: list[float] = []  # at the end of each turn
        self._memory_mib: float | None = None
        self._mhz_before: float | None = None
        self._mhz_after: float | None = None

    def add(self, span: Message, calls: int) -> None:
        """One turn's."""
        before, after = Reading(**span["before"]), Reading(**span["after"])
        if not self._turns:
            self._mhz_before = before.mhz
        self._memory_mib, self._mhz_after = after.memory_mib, after.mhz
        self._turns += 1
        self._calls += calls
        self._seconds += after.at_s - before.at_s
        if before.energy_mj is None or after.energy_mj is None:
            self._energy_mj = None
        elif self._energy_mj is not None:
            self._energy_mj += after.energy_mj - before.energy_mj
        if after.power_w is not None:
            self._watts.append(after.power_w)

    def take_over(self, before: Gpu, turns: Sequence[Turn]) -> None:
        """What an earlier run came to in these turns: energy and time follow from its means."""
        if not turns:
            return
        self._turns, self._calls = len(turns), sum(len(turn.samples_ns) for turn in turns)
        self._memory_mib = before.memory_mib
        self._mhz_before, self._mhz_after = before.mhz_before, before.mhz_after
        if before.energy_mj is None:
            self._energy_mj = None
            self._watts = [before.power_w] * len(turns) if before.power_w is not None else []
        else:
            self._energy_mj = before.energy_mj * self._calls
            self._seconds = self._energy_mj / 1000 / before.power_w if before.power_w else 0.0

    def total(self, name: str, profile_us: Mapping[str, float] | None) -> Gpu:
        """Of all turns. The GPU counts energy in steps of up to 100 ms, so a turn says little."""
        if not self._turns:
            return Gpu(name, profile_us=profile_us)
        return Gpu(
            name,
            memory_mib=self._memory_mib,
            power_w=self._power_w(),
            energy_mj=None if self._energy_mj is None else self._energy_mj / self._calls,
            mhz_before=self._mhz_before,
            mhz_after=self._mhz_after,
            profile_us=profile_us,
        )

    def _power_w(self) -> float | None:
        """Where no energy is counted, the mean of what it drew at the end of each turn."""
        if self._energy_mj is not None and self._seconds:
            return self._energy_mj / 1000 / self._seconds
        return mean(self._watts) if self._watts else None
