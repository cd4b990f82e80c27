"""A fleet: ReFrame takes lenet-bench to hosts of every kind, and each costs its own row only."""

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from conftest import environment
from lenet_bench.questions.share import given
from lenet_bench.results.log import as_lines
from packaging.requirements import Requirement
from processes import ran, wait_for
from sample_results import blocks, possible_log, with_checksums, write_log

ROOT = Path(__file__).parents[1]
FLEET = ROOT / "bench/fleet/fleet.py"
SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")

needs_reframe = pytest.mark.skipif(
    importlib.util.find_spec("reframe") is None, reason="no ReFrame: pip install '.[fleet]'"
)
needs_sshd = pytest.mark.skipif(SSHD is None, reason="no sshd (Debian: openssh-server)")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """What is installed here, as wheels: the package under test and what its core needs."""
    folder = tmp_path_factory.mktemp("wheels")
    pack("lenet-bench", folder)
    for needed in distribution("lenet-bench").requires or ():
        if "extra ==" not in needed:
            pack(Requirement(needed).name, folder)
    return folder


def pack(name, folder):
    """An installed distribution as a wheel again; of ours also files that came by an edit."""
    found = distribution(name)
    site = Path(str(found.locate_file("")))
    tags = re.findall(r"^Tag: (.+)-(.+)-(.+)$", found.read_text("WHEEL") or "", re.M)
    tag = "-".join(".".join(dict.fromkeys(part)) for part in zip(*tags, strict=True))
    files = {str(file) for file in found.files or ()}
    if name == "lenet-bench":
        files |= {str(file.relative_to(site)) for file in site.glob("lenet_bench/**/*.*")}
    ours = re.compile(r"(?!\.\.)(?!.*\.pyc$)(?!.*/(RECORD|direct_url.json)$)")
    kept = sorted(filter(ours.match, files))
    title = f"{re.sub('[-_.]+', '_', name)}-{found.version}"
    with zipfile.ZipFile(folder / f"{title}-{tag}.whl", "w") as wheel:
        for file in kept:
            wheel.write(site / file, file)
        (info,) = {Path(file).parent for file in kept if file.endswith(".dist-info/METADATA")}
        wheel.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in kept))


class Fleet:
    """Hosts, the file that tells ReFrame of them, and what is collected of them."""

    def __init__(self, folder):
        self.folder = folder
        self.partitions = []
        self.sample = None  # a file of hosts in place of these
        self.sshds = []

    def add(self, name, launcher="local", access=(), **extras):
        usual = {"scheduler": "local", "environs": ["host"], "max_jobs": 1, "extras": extras}
        here = {"name": name, "launcher": launcher, "access": list(access)}
        self.partitions.append({**here, **usual})

    def add_over_ssh(self, name, forced=None, **extras):
        """A host: an sshd with a home and a folder for temporary files of its own."""
        root = self.folder / name
        (root / "tmp").mkdir(parents=True)
        for key in ("host_key", "key"):
            ran("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", root / key)
        (root / "key.pub").rename(root / "authorized_keys")
        port = free_port()
        settings = [
            *("ListenAddress 127.0.0.1", f"Port {port}", f"HostKey {root}/host_key"),
            *(f"AuthorizedKeysFile {root}/authorized_keys", "StrictModes no", "UsePAM no"),
            *("PidFile none", f"SetEnv HOME={root} TMPDIR={root}/tmp"),
            *([f"ForceCommand {forced}"] if forced else []),
        ]
        (root / "sshd_config").write_text("".join(f"{line}\n" for line in settings))
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        started = [SSHD, "-D", "-e", "-f", root / "sshd_config"]
        with (root / "sshd.log").open("wb") as log:
            self.sshds.append(subprocess.Popen(started, stderr=log, start_new_session=True))
        wait_for(lambda: listens(port))
        self.add(name, "ssh", reached_by(root, port), **extras)
        return root

    def start(self, wheels, *options, **variables):
        system = {"name": "fleet", "hostnames": [".*"], "prefix": str(self.folder / "work")}
        system["partitions"] = self.partitions
        site = {"systems": [system], "environments": [{"name": "host"}]}
        hosts = self.folder / "hosts.py"
        hosts.write_text(self.sample or f"site_configuration = {site!r}\n")
        settings = {"wheels": wheels, "backends": "numpy", "options": "--rounds 1", **variables}
        set_to = [word for name, value in settings.items() for word in ("-S", f"{name}={value}")]
        command = [sys.executable, FLEET, "-C", hosts, *set_to, *options]
        return subprocess.Popen(
            command,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=environment(TMPDIR=str(self.folder)),  # for ReFrame's log
            start_new_session=True,
        )

    def run(self, wheels, *options, **variables):
        """Its exit code, what was said of each host, and all that was said."""
        return ended(self.start(wheels, *options, **variables))

    def close(self):
        for sshd in self.sshds:
            sshd.kill()
            sshd.wait()


def ended(running):
    output, _ = running.communicate(timeout=600)
    said = output.rpartition("\n\n")[2].splitlines()
    return running.returncode, dict(line.split(": ", 1) for line in said), output


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def reached_by(root, port):
    options = (
        *("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"),
        *(f"IdentityFile={root}/key", "IdentitiesOnly=yes", f"Port={port}", "ConnectTimeout=20"),
    )
    return [*("-F", "/dev/null"), *(f"-o {option}" for option in options), "127.0.0.1"]


@pytest.fixture
def fleet(tmp_path):
    made = Fleet(tmp_path)
    yield made
    made.close()


def program(path, *lines):
    path.write_text("\n".join([f"#!{sys.executable}", *lines, ""]))
    path.chmod(0o755)
    return path


def collected(fleet):
    """The results that are there whole: one that is being written has another name."""
    found = fleet.folder.glob("fleet/*/*.gz")
    return {str(path.relative_to(fleet.folder / "fleet")) for path in found}


DIES = (  # as when the power goes: every sshd above it is gone
    "import psutil, time",
    "[one.kill() for one in psutil.Process().parents() if one.name() == 'sshd']",
    "time.sleep(600)",
)


@needs_reframe
@needs_sshd
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core")
@pytest.mark.slow
def test_each_host_costs_its_own_row_only(fleet, wheels, tmp_path):
    """The package comes here and to two hosts; one dies, and one was never there.

    Each that is there measures on two devices at once, which are halves of its cores here.
    """
    fleet.add("here")
    greeting = 'printf "\\033]0;a title\\007"; eval "$SSH_ORIGINAL_COMMAND"'
    roots = [fleet.add_over_ssh("one", greeting)]
    roots.append(fleet.add_over_ssh("dying", python=str(program(tmp_path / "dies", *DIES))))
    fleet.add("gone", "ssh", ["-o ConnectTimeout=5", "-p 9", "127.0.0.1"])
    code, said, output = fleet.run(wheels, pip="--no-index --no-compile", at_once="2")
    assert code != 0
    good = ("here", "one")
    assert {host: said[host] for host in good} == dict.fromkeys(good, "measured"), output
    assert "closed by remote host" in said["dying"] or "reset" in said["dying"]
    assert "refused" in said["gone"]
    assert collected(fleet) == {
        f"{host}/threads-1-{number}-of-2.jsonl.gz" for host in good for number in (1, 2)
    }
    kept = [root / "tmp" for root in roots]  # nothing, also where the caller is gone
    wait_for(lambda: not [file for folder in kept for file in folder.iterdir()])


#: What a host answers in place of measuring, and what is said of it.
ANSWERS = {
    "honest": (["print(name, result())"], "measured"),
    "silent": ([], "no result came: it printed no message"),
    "quick": (["print(name, result('impossible'))"], "took less than 1000 ns"),
    "escaping": ([r"print('\x1b[2J' * 99, file=sys.stderr)"], r"no result came: \x1b[2J"),
    "flooding": (["while True: print('x' * 2**16)"], "more than 8 MiB"),
}


def answering(tmp_path, name, lines):
    return program(
        tmp_path / f"{name}.py",
        "import base64, gzip, os, re, sys, time",
        "script = os.read(0, 9999).decode(errors='replace')",
        "name = re.search('^run=(.*)$', script, re.M)[1] + '-0'",
        "def result(form='possible'):",
        f"    lines = open('{tmp_path}/' + form, 'rb').read()",
        "    return base64.b64encode(gzip.compress(lines)).decode()",
        *lines,
    )


@pytest.fixture
def made_up(tmp_path):
    """Results that hosts may give: one that a run can have written, and one that none can.

    Beside them a wheel for hosts that install nothing.
    """
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels/lenet_bench-0.1.0-py3-none-any.whl").touch()
    write_log(tmp_path / "log.jsonl", possible_log(blocks("numpy", 90)))
    possible = as_lines(given(tmp_path / "log.jsonl").log)
    (tmp_path / "possible").write_bytes(possible)
    impossible = with_checksums(re.sub(rb"\[\[\d+,", b"[[7,", possible))
    (tmp_path / "impossible").write_bytes(impossible)
    return tmp_path


@needs_reframe
@needs_sshd
def test_what_a_host_answers_is_believed_only_where_it_can_be(fleet, made_up):
    for name, (lines, _) in ANSWERS.items():
        fleet.add_over_ssh(name, answering(made_up, name, lines))
    code, said, output = fleet.run(made_up / "wheels")
    assert code != 0
    for name, (_, expected) in ANSWERS.items():
        assert expected in said[name], output
    assert "\x1b[2J" not in output
    assert collected(fleet) == {"honest/threads-1.jsonl.gz"}


@needs_reframe
@needs_sshd
def test_an_interrupted_run_goes_on(fleet, made_up):
    fleet.add_over_ssh("done", answering(made_up, "done", ANSWERS["honest"][0]))
    waits = program(made_up / "waits", "open('../started', 'w')", "import time", "time.sleep(600)")
    root = fleet.add_over_ssh("waiting", python=str(waits))
    running = fleet.start(made_up / "wheels")
    wait_for(lambda: (root / "tmp/started").exists() and collected(fleet))
    (root / "tmp/started").unlink()
    os.killpg(running.pid, signal.SIGINT)
    code, said, _ = ended(running)
    assert code != 0
    assert said["waiting"] != "measured"
    wait_for(lambda: not list((root / "tmp").iterdir()))

    fleet.partitions = [one for one in fleet.partitions if one["name"] == "done"]
    again = fleet.run(made_up / "wheels")
    assert again[:2] == (0, {"done": "was measured before"})


@needs_reframe
def test_wheels_that_are_missing_are_asked_for(fleet, tmp_path):
    fleet.sample = (ROOT / "bench/fleet/hosts.py").read_text()
    code, said, output = fleet.run(tmp_path / "none", "--system", "fleet:here")
    assert code != 0
    assert "pip wheel" in said["here"], output
    assert list(fleet.folder.glob("rfm-*.log")), "ReFrame's log is not left in /tmp"
