"""`lenet-bench compare` on every host of a fleet, through ReFrame (docs/fleet.md).

    python bench/fleet/fleet.py -C HOSTS.py [OPTION OF REFRAME'S...]

runs `reframe` on this file and then says which host gave a row. Each result lies in
FOLDER/HOST/; a host that has one there is not asked again, so the same command goes on.
"""
# ruff: noqa: F821, RUF012  ReFrame brings the names in a test's class, and checks it

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import reframe as rfm
from lenet_bench.atomic import write_atomically
from lenet_bench.errors import ResultError
from lenet_bench.questions.share import Given, received
from lenet_bench.results import as_result, failures
from lenet_bench.texts import printable
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from reframe.core.exceptions import ReframeError, SanityError

_START = Path(os.environ.get("PWD", "."))  # the caller's folder, which ReFrame leaves
_HOST = Path(__file__).with_name("host.sh")
_MOST_SAID = 2**23  # bytes that a host may say
_ANSWER, _SAID = "answer.txt", "said.txt"  # not ReFrame's own files, which it prints as they are


@rfm.simple_test
class LenetBench(rfm.RunOnlyRegressionTest):
    """One comparison on one host; `-S NAME=VALUE` sets a variable, `-P NAME=A,B` tries several."""

    folder = variable(str, value="fleet")  # where results are collected
    wheels = variable(str, value="wheels")  # lenet-bench's, and what it needs
    extras = variable(str, value="")  # of lenet-bench, to install: native
    pip = variable(str, value="--no-index")  # '' lets hosts fetch what `wheels` lacks
    python = variable(str, value="python3")
    backends = variable(str, value="")  # all that run there
    options = variable(str, value="--budget 60s")  # more of `compare`'s
    threads = variable(int, value=1)
    device = variable(str, value="cpu")  # or gpu
    at_once = variable(int, value=1)  # so many runs, each on a GPU and on cores of its own

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    executable = "bash"
    time_limit = "20m"
    exclusive_access = True  # of a Slurm node

    @run_after("setup")
    def skip_what_is_there(self) -> None:
        self.run_name = f"fleet-{uuid4().hex[:12]}"
        self.targets = [self._target(number) for number in range(self.at_once)]
        self.skip_if(all(map(Path.exists, self.targets)), f"{self.targets[0]} is there")

    @run_before("run")
    def send(self) -> None:
        wheels = _wheels(_START / self.wheels)
        compare = [*shlex.split(self.backends), *shlex.split(self.options)]
        compare += ["--threads", str(self.threads), "--device", self.device]
        values = {
            "run": self.run_name,
            "python": self.current_partition.extras.get("python", self.python),
            "pip": self.pip,
            "requirement": f"lenet-bench[{self.extras}]",
            "at_once": str(self.at_once),
            "device": self.device,
            "compare": compare,
            "wheels": [wheel.name for wheel in wheels],
            "sizes": [str(wheel.stat().st_size) for wheel in wheels],
        }
        script = Path(self.stagedir, "host.sh")
        script.write_text("".join(map(_assignment, values.items())) + _HOST.read_text())
        sent = shlex.join(["cat", str(script.resolve()), *map(str, wheels)])
        if self.current_partition.launcher_type.registered_name == "ssh":
            self.prerun_cmds = [f"ulimit -f {_MOST_SAID // 1024}"]  # a host may say so much
        self.executable_opts = ["-s", f"< <({sent}; exec sleep 1d)", f"> {_ANSWER}", f"2> {_SAID}"]

    @sanity_function
    def collect(self) -> bool:
        """Each result is one that could be shared, and of this run; only then it is kept."""
        found = self._received()
        results = [as_result(one.log) for one in found]
        missing: dict[str, str | None] = {}
        for target, one, result in zip(self.targets, found, results, strict=True):
            write_atomically(target, one.content)
            named = shlex.split(self.backends)
            missing |= {
                name: result.backend(name).reason for name in failures(result.backends, named)
            }
        if missing:
            said = "; ".join(
                f"{name}: {_short(reason or 'failed')}" for name, reason in missing.items()
            )
            raise SanityError(f"{self.targets[0]} is kept, without {said}")
        return True

    def _target(self, number: int) -> Path:
        name = f"threads-{self.threads}" + ("-gpu" if self.device == "gpu" else "")
        name += f"-{number + 1}-of-{self.at_once}" if self.at_once > 1 else ""
        return _START / self.folder / self.current_partition.name / f"{name}.jsonl.gz"

    def _received(self) -> list[Given]:
        """What the host sent; SanityError says why it cannot be taken."""
        answer = Path(self.stagedir, _ANSWER)
        if answer.stat().st_size >= _MOST_SAID:
            raise SanityError(f"it sent more than {_MOST_SAID // 2**20} MiB")
        words = (line.split() for line in answer.read_text(errors="replace").splitlines())
        sent = {pair[0]: pair[1] for pair in words if len(pair) == 2}
        found = []
        for number in range(self.at_once):
            content = sent.get(name := f"{self.run_name}-{number}")
            if content is None:
                raise SanityError(f"no result came: {self._last_words()}")
            path = Path(self.stagedir, f"{name}.jsonl.gz")
            try:
                path.write_bytes(b64decode(content, validate=True))
                one = received(path)
            except (ValueError, ResultError) as error:
                why = str(error).removeprefix(f"{path}: ").removeprefix("cannot be shared: ")
                raise SanityError(_short(f"its result is refused: {why}")) from None
            if one.log.header.rules.threads != self.threads:
                raise SanityError("its result is refused: it is of another run")
            found.append(one)
        return found

    def _last_words(self) -> str:
        lines = Path(self.stagedir, _SAID).read_text(errors="replace").split("\n")
        return _short(
            " / ".join([line.strip() for line in lines if line.strip()][-3:])
            or "it printed no message"
        )


def _wheels(folder: Path) -> list[Path]:
    """Those to send; the host's pip takes what fits."""
    found = sorted(folder.glob("*.whl"))
    try:
        names = {parse_wheel_filename(wheel.name)[0] for wheel in found}
    except InvalidWheelFilename as error:
        raise ReframeError(str(error)) from None
    if "lenet-bench" not in names:
        raise ReframeError(
            f"{folder} holds no wheel of lenet-bench; make it with: pip wheel -w {folder} ."
        )
    return found


def _assignment(pair: tuple[str, str | list[str]]) -> str:
    """A line of bash."""
    name, value = pair
    return f"{name}={shlex.quote(value) if isinstance(value, str) else f'({shlex.join(value)})'}\n"


def _short(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= 300 else f"{line[:297]}..."


def main() -> int:
    """ReFrame's exit code, after a line for each host."""
    if shlex.quote(here := str(Path.cwd())) != here:
        sys.exit(
            f"ReFrame needs a folder without spaces and quotes in its path, and this is {here}"
        )
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        reframe = str(Path(sys.executable).with_name("reframe"))
        command = [reframe, "-c", __file__, "-r", "--report-file", str(report), *sys.argv[1:]]
        running = subprocess.Popen(command, env={**os.environ, "PWD": str(Path.cwd())})
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ReFrame ends what it started, and reports
        code = running.wait()
        if report.exists():
            print("\n".join(_summary(json.loads(report.read_text())["runs"][-1]["testcases"])))
    return code


def _summary(cases: list[dict[str, Any]]) -> Iterator[str]:
    """Which host gave a row, which did not, and why."""
    yield ""
    for case in cases:
        name = (
            case["display_name"].removeprefix("LenetBench").replace("%.", ", ").replace(" ,", ",")
        )
        said = {"pass": "measured", "skip": "was measured before"}.get(case["result"])
        reason = _short((case["fail_reason"] or case["result"]).removeprefix("sanity error: "))
        yield f"{case['partition']}{name}: {said or reason}"


if __name__ == "__main__":
    sys.exit(main())
