"""Who runs together: all rungs or, where memory is too small for that, as many as fit at a time."""

from collections.abc import Callable, Sequence

from .memory import Memory, process_bytes
from .row import Row


class Groups:
    """The groups so far; none where all fit."""

    def __init__(self, memory: Memory, rows: Sequence[Row]) -> None:
        self._memory = memory
        self._rows = rows
        self._groups: list[list[Row]] = []

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """As in the result."""
        return tuple(tuple(row.name for row in group) for group in self._groups)

    def take_over(self, names: Sequence[Sequence[str]]) -> None:
        """Those of an earlier run."""
        by_name = {row.name: row for row in self._rows}
        self._groups = [[by_name[name] for name in group] for group in names]

    def unfinished(self, waiting: Sequence[Row]) -> list[Row]:
        """Those of the group that was running when the run was interrupted, and of none so far."""
        if not self._groups:
            return list(waiting)
        begun = {row.name for group in self._groups for row in group}
        last = {row.name for row in self._groups.pop()}
        return [row for row in waiting if row.name in last or row.name not in begun]

    def fill(
        self, waiting: Sequence[Row], start: Callable[[Row], None]
    ) -> tuple[list[Row], list[Row]]:
        """Start as many as fit into memory, one beside the bridge at least: these, and the rest."""
        group: list[Row] = []
        rest: list[Row] = []
        fewest = 2 if self._groups else 1
        for number, row in enumerate(waiting):
            if not row.live:  # the bridge is
                start(row)
            others = sum(other.live for other in group)
            if row.live and others >= fewest and self._is_short():
                row.set_aside()
                rest = list(waiting[number:])
                break
            group.append(row)
        if rest or self._groups:
            self._groups.append(group)
        return group, rest

    def alone(self, group: Sequence[Row]) -> list[Row]:
        """Those of a group that are in no other."""
        elsewhere = [row for other in self._groups if other is not group for row in other]
        return [row for row in group if row not in elsewhere]

    def _is_short(self) -> bool:
        """Whether no room is left to start the largest worker anew beside its old process."""
        workers = [row.pid for row in self._rows if row.pid is not None]
        left = self._memory.left_bytes(workers)
        return left is not None and left < max(map(process_bytes, workers), default=0)


def bridge(group: Sequence[Row], baseline: str | None) -> Row | None:
    """Who runs in the next group too, so that ratios hold across them: what they are taken to."""
    live = [row for row in group if row.live]
    named = [row for row in live if row.name == baseline]
    return next(iter(named or live), None)
