"""Many results together: each backend's time on each machine."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LenetBenchError, ResultError
from ..network import LENET
from ..results import read_log
from ..results.differences import hardware
from ..results.machine import Processor
from ..results.read import medians
from ..texts import listed

#: The folders of results in a checkout: our own, and shared ones.
FOLDERS = (Path("results/cpu"), Path("results/community"))


@dataclass(frozen=True)
class Median:
    """A backend's time on a machine."""

    us: float
    starts: int


@dataclass(frozen=True)
class MeasuredMachine:
    """A machine, from one result."""

    source: str
    processor: Processor
    gpu: str | None
    threads: int
    version: str
    started: str
    times: Mapping[str, Median]  # by backend
    hardware: Mapping[str, Any]  # what tells it from others


def measured_machines(paths: Sequence[Path]) -> tuple[list[MeasuredMachine], list[str]]:
    """The machines of these files and folders, and why some files cannot be read.

    Without paths, the results of the checkout that is the current folder.
    """
    files = list(_files(paths or [folder for folder in FOLDERS if folder.is_dir()]))
    if not files:
        raise ResultError(
            "there are no results here: name files or folders, or run this in a checkout"
        )
    found: list[MeasuredMachine] = []
    refused: list[str] = []
    for path in files:
        try:
            found.append(_measured_machine(path))
        except LenetBenchError as error:
            refused.append(str(error))
    return found, refused


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if os.access(path, os.R_OK) and path.is_dir():  # a fleet's has a folder for each host
            found = (p for pattern in ("*", "*/*") for p in sorted(path.glob(pattern)))
            yield from (p for p in found if p.name.endswith((".jsonl", ".jsonl.gz")))
            # A closed one is refused with its reason. Of a name, Path.is_dir may raise.
            folders = filter(os.path.isdir, sorted(path.iterdir()))
            yield from (p for p in folders if not os.access(p, os.R_OK))
        else:
            yield path


def _measured_machine(path: Path) -> MeasuredMachine:
    log = read_log(path)
    header, found = log.header, list(medians(log))
    rules = header.rules
    if rules.network != LENET:
        raise ResultError(f"{path}: is of the network {rules.network}, not of LeNet")
    conditions = {
        "--interval": rules.interval_s,
        "--beside": rules.beside,
        "--cold": rules.cold_mb,
        "--quota": rules.quota,
    }
    if given := [option for option, value in conditions.items() if value]:
        raise ResultError(f"{path}: was measured with {listed(given)}, and is not comparable")
    if not found:
        raise ResultError(f"{path}: no backend was timed long enough for a median")
    return MeasuredMachine(
        source=str(path),
        processor=header.machine.processor,
        gpu=next((row.gpu.name for row, _ in found if row.gpu), None),
        threads=rules.threads,
        version=header.version,
        started=header.started,
        times={row.name: Median(us, len(row.blocks)) for row, us in found},
        hardware=hardware(header.machine),
    )
