"""A start of a backend: a process of its own, which builds a subject and answers questions."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import msgspec
import numpy as np

from ..between import Between
from ..process import Child, Died
from ..registry import usable_cores, with_counterpart, wrong_version
from ..results import ColdStart, Status
from ..results.machine import Words
from ..subjects.subject import Subject, sent
from . import messages
from .messages import Question, Said
from .options import CompareOptions, Entry
from .pinning import Cores, choose_cores, cpus_near_gpu, on_cores, thread_variables
from .quota import Quota

# Of a block: six keep the 1,000 of a 99th percentile where a quarter does not count, as on the
# virtual machine of results/conditions/idle.
_PACED_CALLS, _FEWEST_PACED = 225, 10
_PACED_S = 4.5  # that they take, unless even the fewest take longer
_STATUS: dict[str, Status] = {"missing": "unavailable", "late": "timeout", "dead": "crashed"}


@dataclass(frozen=True)
class Conditions:
    """What is the same for all backends of a run."""

    options: CompareOptions
    cores: Cores
    until_s: float = inf  # by time.monotonic: the end of the budget

    @property
    def left_s(self) -> float:
        """Of the budget."""
        return self.until_s - time.monotonic()

    @property
    def between(self) -> Between:
        return self.options.between

    @property
    def paced(self) -> int:
        """The paced calls of a block."""
        interval_s = self.between.interval_s
        calls = round(_PACED_S / interval_s) if interval_s else 0
        return max(_FEWEST_PACED, min(_PACED_CALLS, calls))

    @property
    def pauses_s(self) -> float:
        """What the pauses between the calls of a block may take at most."""
        return 2 * self.paced * (self.between.interval_s or 0.0)


def conditions(
    options: CompareOptions, entries: Sequence[Entry], until_s: float = inf
) -> Conditions:
    """Choose the cores."""
    threads = max(number or usable_cores() for number in options.numbers)
    wanted = usable_cores() if options.quota else threads * max(options.callers, default=1)
    count = options.cores or wanted
    cores = choose_cores(count, cpus_near_gpu(entry.device for entry in entries))
    return Conditions(options, cores, until_s)


class Failed(Exception):
    """The backend failed: its status, the reason and, where it raised, the traceback."""

    def __init__(self, status: Status, reason: str, traceback: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.traceback = traceback


class BudgetEnded(Failed):
    """The time of the run is over, which says nothing about the backend."""

    def __init__(self) -> None:
        super().__init__("timeout", "the budget ended before it answered")


class Start:
    """A process of a backend. Every method may raise Failed, which ends it."""

    def __init__(self, entry: Entry, conditions: Conditions, subject: Subject) -> None:
        self.entry = entry
        self.conditions = conditions
        self.subject = entry.made_by(subject)
        numbers = conditions.options.numbers
        self.threads = max(numbers) if entry.threads is None else entry.threads
        self.runs: Mapping[str, str] = {}
        if conditions.left_s <= 0:
            raise BudgetEnded
        self.quota = Quota(conditions.options.quota) if conditions.options.quota else None
        with on_cores(conditions.cores.worker):
            try:
                self.child = Child(
                    "lenet_bench.measure.worker:serve",
                    python=entry.python,
                    variables={**thread_variables(self.threads), **entry.variables},
                )
            except Died as death:
                if self.quota:
                    self.quota.close()
                raise Failed(_STATUS[death.how], death.reason) from None
        if self.quota:
            self.quota.take(self.child.pid)

    def build(self, inputs: Any) -> None:
        """Build the subject, and answer the first of these inputs."""
        started = self.ask(
            messages.Build(
                self.entry.backend,
                self.threads,
                sent(self.subject),
                self.entry.path,
                self.taken(inputs[:1])[0],
                self.child.started_ns,
            )
        )
        self.runs = held(started.runs, Words, "describe returned")
        parts = {name: getattr(started, name) for name in ColdStart.__struct_fields__}
        self.cold_start = ColdStart(**parts)

    def close(self) -> None:
        self.child.close()
        if self.quota:
            self.quota.close()

    def answers(self, inputs: Any) -> Any:
        return self.ask(messages.Check(self.taken(inputs))).answers

    def taken(self, inputs: Any) -> Any:
        """Inputs as the backend takes them."""
        return self.subject.as_taken(self.entry.backend, inputs)

    def ask(self, question: Question[Said], longer_s: float = 0.0, grace_s: float = 0.0) -> Said:
        """Ask a question of `worker.Built`; `longer_s` is added to the default timeout.

        The end of the budget ends the process, after `grace_s` where it is about to answer.
        """
        timeout_s = self.conditions.options.timeout_s + longer_s
        left_s = max(0.0, self.conditions.left_s) + grace_s
        try:
            message = self.child.ask(messages.packed(question), min(timeout_s, left_s))
        except Died as death:
            if death.how == "late" and left_s < timeout_s:
                raise BudgetEnded from None
            # The wrong version of a package may explain it.
            wrong = None if self.entry.factory else wrong_version(self.entry.backend, death.reason)
            raise Failed(_STATUS[death.how], wrong or death.reason) from None
        try:
            return answer_in(message, messages.answer_type(question))
        except Failed as failure:
            self.child.end()
            if failure.status == "unavailable" and not self.entry.factory:
                failure.reason = with_counterpart(self.entry.backend, failure.reason)
            raise


def held(value: Any, kind: Any, what: str) -> Any:
    """What a backend found, as a result holds it; raises Failed where none can."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise Failed("wrong", f"{what} what no result can hold: {error}") from None


def answer_in(message: Any, kind: type[Said]) -> Said:
    """The answer in a message; raises Failed where it is a failure, or no message at all."""
    try:
        name, fields = msgspec.convert(message, messages.Message)
        if name == messages.Failure.__name__:
            failure = msgspec.convert(fields, messages.Failure)
            raise Failed(failure.status, failure.reason, failure.traceback)
        if name != kind.__name__:
            raise msgspec.ValidationError(f"Expected `{kind.__name__}`, got `{name}`")
        return msgspec.convert(fields, kind, dec_hook=_array)
    except msgspec.ValidationError as error:
        raise Failed("crashed", f"its process sent a message of a wrong form: {error}") from None


def _array(_: Any, value: Any) -> Any:
    """The times of calls, the one kind of array that a message names."""
    if isinstance(value, np.ndarray) and (value.ndim != 1 or value.dtype != np.int64):
        raise TypeError(f"Expected int64 (calls,), got {value.dtype} {value.shape}")
    return value
