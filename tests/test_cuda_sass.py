"""What ptxas makes of our kernels: how many trips to the memory stand in a row, and that the kernel
that stays waits for no fence.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from cuda_setting import built_major, wheel_folders


def disassembler() -> Path | None:
    """nvdisasm; CUDA 13's reads what CUDA 12 compiles too."""
    folders = wheel_folders("bin", 13)
    return next((path for folder in folders if (path := folder / "nvdisasm").exists()), None)


pytestmark = [
    pytest.mark.skipif(built_major() is None, reason="lenet_bench is built without CUDA"),
    pytest.mark.skipif(
        disassembler() is None, reason="no nvdisasm here (pip install nvidia-cuda-nvdisasm)"
    ),
]

#: T4, A100, RTX 4090, H200, B200, RTX 5090.
CAPABILITIES = [75, 80, 89, 90, 100, 120]
WITH_CLUSTERS = [c for c in CAPABILITIES if c >= 90]


@dataclass(frozen=True)
class Instruction:
    """One line of SASS."""

    label: str | None  # that stands before it
    opcode: str  # with what follows its dots
    operands: str
    predicated: bool

    @property
    def target(self) -> str | None:
        found = re.search(r"\(?(\.L_x_\d+)", self.operands)
        goes = self.opcode.startswith(("BRA", "CALL", "WARPSYNC.COLLECTIVE"))
        return found[1] if goes and found else None


Code = list[Instruction]
POLL = "LDG.E.128.STRONG.SYS"  # a read of the host's memory that no cache answers


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("kernel", ["convolutions", "fc1_relu", "fc2_softmax", "lenet_once"])
def test_a_kernel_goes_to_the_memory_once(kernel: str, capability: int) -> None:
    chain = kernel != "lenet_once"
    if not chain and capability not in WITH_CLUSTERS:
        pytest.skip("it has no clusters")
    code = kernels_of("kernels" if chain else "cluster_kernels", capability)[kernel]
    loads = rounds(code)
    assert [turn for _, turn in loads] == [1] * len(loads)
    assert len(loads) > (4 if chain else 20)
    if not chain:
        waits = [i for i, each in enumerate(code) if each.opcode.startswith("SYNCS.PHASECHK")]
        assert max(place for place, _ in loads) < min(waits)  # for the image
        assert not fences(code[min(waits) :])


@pytest.mark.parametrize("capability", WITH_CLUSTERS)
@pytest.mark.parametrize("kernel", ["persistent_lenet", "persistent_echo"])
def test_a_kernel_that_stays_waits_for_no_fence(kernel: str, capability: int) -> None:
    code = kernels_of("cluster_kernels", capability)[kernel]
    loop = loop_around(code, POLL)
    assert {each.opcode for each in loop if each.opcode.startswith("LDG")} == {POLL}
    assert not fences(loop)
    assert fences(code)  # when it leaves: so they are known when they are seen
    assert [each for each in loop if each.opcode.startswith("STG.E.64.STRONG.SYS")]  # the answer
    asks = [each.opcode for each in loop if each.opcode.startswith("SYNCS.PHASECHK")]
    assert [each for each in asks if not each.endswith("TRYWAIT")]  # who polls does not sleep
    for every in kernels_of("cluster_kernels", capability).values():  # no weight is kept in memory
        assert not [each for each in every if each.opcode.startswith(("LDL", "STL"))]


def fences(code: Code) -> Code:
    kinds = ("MEMBAR.ALL.SYS", "MEMBAR.ALL.GPU", "MEMBAR.SC", "UCGABAR", "ERRBAR", "CCTL")
    return [each for each in code if each.opcode.startswith(kinds)]


@cache
def kernels_of(source: str, capability: int) -> dict[str, Code]:
    """The kernels of a source as our module compiles it, by name."""
    from lenet_bench.registry.cuda import native

    module = native()
    if capability not in module.known_capabilities():
        pytest.skip("this NVRTC does not know it")
    compiled = getattr(module, f"compile_{source}")(capability)
    tool = disassembler()
    assert tool is not None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        cubin.write(compiled)
        cubin.flush()
        text = subprocess.check_output([tool, "-c", cubin.name], text=True, stderr=subprocess.PIPE)
    parts = re.split(r"^\.text\.(\w+):$", text, flags=re.MULTILINE)[1:]
    return {name: list(parse(body)) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def parse(text: str) -> Iterable[Instruction]:
    label = None
    for line in text.splitlines():
        if named := re.match(r"(\.L_x_\d+):", line):
            label = named[1]
        elif found := re.match(r"\s+/\*[0-9a-f]{4}\*/\s+(@!?U?P\d+ )?([A-Z][\w.]*)(.*?);", line):
            yield Instruction(label, found[2], found[3], found[1] is not None)
            label = None


def rounds(code: Code) -> list[tuple[int, int]]:
    """Where loads from memory stand, each with its round: one more than that of the latest load
    that was waited for before it was issued, which is where its register is next named.
    """
    loads, waited, pending = [], 0, dict[int, int]()
    for place, instruction in enumerate(code):
        for register in map(int, re.findall(r"\bR(\d+)", instruction.operands)):
            waited = max(waited, pending.pop(register, 0))
        if instruction.opcode.startswith("LDG"):
            width = re.search(r"\.(64|128)\b", instruction.opcode)
            (first,) = re.findall(r"^\s*R(\d+)", instruction.operands)
            for part in range(int(width[1]) // 32 if width else 1):
                pending[int(first) + part] = waited + 1
            loads.append((place, waited + 1))
    return loads


def loop_around(code: Code, marker: str) -> Code:
    """What can both follow an instruction and lead to it again."""
    places = {instruction.label: i for i, instruction in enumerate(code) if instruction.label}
    after = []
    for i, instruction in enumerate(code):
        ends = instruction.opcode in ("EXIT", "RET.REL.NODEC") or instruction.opcode == "BRA"
        goes_on = not ends or instruction.predicated or "P" in instruction.operands.split("`")[0]
        target = [places[instruction.target]] if instruction.target in places else []
        after.append(target + [i + 1] * (goes_on and i + 1 < len(code)))
    before: list[list[int]] = [[] for _ in code]
    for i, nexts in enumerate(after):
        for following in nexts:
            before[following].append(i)
    (start, *_) = (i for i, each in enumerate(code) if each.opcode.startswith(marker))
    return [code[i] for i in sorted(reached(start, after) & reached(start, before))]


def reached(start: int, edges: list[list[int]]) -> set[int]:
    seen, waiting = set[int](), [start]
    while waiting:
        if (place := waiting.pop()) not in seen:
            seen.add(place)
            waiting += edges[place]
    return seen
