"""Faults planted in our own kernels and in what calls them, each of which the double has to catch:
the kernels run there as NVIDIA's compiler makes them, in random order (cuda_double/grid.hpp).
Without a fault it is content: test_cuda_faults.py shows that.
"""

from pathlib import Path

import pytest
from cuda_setting import Driver, built_major

pytestmark = pytest.mark.skipif(
    built_major() != 13, reason="faults are planted for one CUDA, the newest (make test-cuda13)"
)

#: what is wrong, what is there, what the fault makes of it
Fault = tuple[str, str, str]

FUSED: list[Fault] = [
    ("conv1 does not wait for the image", "  __syncthreads();\n  conv1_pool(", "  conv1_pool("),
    ("conv2 does not wait for pool1", "  __syncthreads();\n  conv2_parts(", "  conv2_parts("),
    (
        "pool2 does not wait for its parts",
        "  __syncthreads();\n  const float2 two",
        "  const float2 two",
    ),
    (
        "the softmax does not wait for its logits",
        "  __syncthreads();\n  if (output",
        "  if (output",
    ),
    (
        "half of the warps wait at a barrier",
        "  __syncthreads();\n  conv2_",
        "  if (thread < 256) __syncthreads();\n  conv2_",
    ),
    (
        "half of a warp waits at a barrier",
        "  __syncthreads();\n  conv2_",
        "  if (thread % 32 < 16) __syncthreads();\n  conv2_",
    ),
    (
        "two blocks write one value",
        "* kPool2Pixels + block] = two.x",
        "* kPool2Pixels + block / 2] = two.x",
    ),
    ("a kernel reads past its input", "4 * quad < count ?", "4 * quad < count + 128 ?"),
    ("a kernel writes past its output", "outputs.fc1[output]", "outputs.fc1[output + 1]"),
    (
        "shared memory is read that nobody wrote",
        "softmax(logits[lane], lane)",
        "softmax(logits[lane + 1], lane)",
    ),
]

LAYERS: list[Fault] = [
    ("a shuffle reaches too short", "distance = kWarp / 2;", "distance = kWarp / 4;"),
    ("a shuffle takes the wrong lane", "sum, 4);", "sum, 2);"),
    (
        "a shuffle that half of its lanes never reach",
        "  sum += __shfl_xor_sync(0xffffffff, sum, 4);",
        "  if (half == 0) sum += __shfl_xor_sync(0xffffffff, sum, 4);",
    ),
    (
        "a shuffle from lanes that it does not name",
        "__shfl_xor_sync(0xffffffff, sum, 4)",
        "__shfl_xor_sync(0xffffu << (threadIdx.x & 16), sum, 16)",
    ),
    ("a vector lies where a GPU cannot read one", "kImageRow = 38;", "kImageRow = 37;"),
    ("a thread takes its neighbour's weights", "+ 2 * thread);", "+ 2 * (thread ^ 1));"),
]

CLUSTER: list[Fault] = [
    (
        "conv2 does not wait for pool1",
        "  conv1_pool(memory, block);\n  __syncthreads();\n",
        "  conv1_pool(memory, block);\n",
    ),
    (
        "pool2 does not wait for its parts",
        "  conv2_parts(memory, own.conv2);\n  __syncthreads();\n",
        "  conv2_parts(memory, own.conv2);\n",
    ),
    (
        "fc2 does not wait for the other warps",
        "  fc1_and_fc2(block, own, outputs);\n  __syncthreads();\n",
        "  fc1_and_fc2(block, own, outputs);\n",
    ),
    ("the image is not waited for", "    memory.image_here.wait(parity);\n", ""),
    ("pool2 is not waited for", "  memory.pool2_here.wait(parity);\n", ""),
    (
        "the sums are not waited for",
        "  memory.parts_here.wait(parity);\n  const unsigned",
        "  const unsigned",
    ),
    ("the stamp is not waited for", "    memory.stamp_here.wait(parity);\n", ""),
    (
        "the image's parity is forgotten",
        "    memory.image_here.wait(parity);\n",
        "    memory.image_here.wait(0);\n",
    ),
    (
        "pool2's parity is forgotten",
        "  memory.pool2_here.wait(parity);\n",
        "  memory.pool2_here.wait(0);\n",
    ),
    (
        "the sums' parity is forgotten",
        "  memory.parts_here.wait(parity);\n  const unsigned",
        "  memory.parts_here.wait(0);\n  const unsigned",
    ),
    (
        "the stamp's parity is forgotten",
        "    memory.stamp_here.wait(parity);\n",
        "    memory.stamp_here.wait(0);\n",
    ),
    (
        "one lane waits for all",
        "  memory.parts_here.wait(parity);\n  const unsigned",
        "  if (lane_index() == 0) memory.parts_here.wait(parity);\n  const unsigned",
    ),
    (
        "too few bytes are waited for",
        "expect(kFc1Inputs * sizeof(float))",
        "expect(kFc1Inputs * sizeof(float) - 8)",
    ),
    (
        "more bytes are waited for than come",
        "expect(kFc1Inputs * sizeof(float))",
        "expect(kFc1Inputs * sizeof(float) + 8)",
    ),
    (
        "bytes are announced twice",
        "if (threadIdx.x == kThreads - 1) memory",
        "if (threadIdx.x >= kThreads - 2) memory",
    ),
    (
        "bytes are not announced",
        "  memory.image_here.expect(kImagePixels",
        "  if (block != 3) memory.image_here.expect(kImagePixels",
    ),
    (
        "two rows of the image are read by nobody",
        "kReaders = kImageSide / kImageRows;",
        "kReaders = kImageSide / kImageRows - 1;",
    ),
    (
        "a block gets no image",
        "for (int to = 0; to < kBlocks; ++to) send(place",
        "for (int to = 0; to < kBlocks - 1; ++to) send(place",
    ),
    (
        "a block is sent to that the cluster has not",
        "for (int to = 0; to < kBlocks; ++to) send(place",
        "for (int to = 0; to <= kBlocks; ++to) send(place",
    ),
    ("the bytes are counted in another block", "pixels, here.in(to))", "pixels, here.in(to ^ 1))"),
    (
        "what is sent does not lie where it may",
        "send(Place(&memory.pool2[block][channel])",
        "send(Place(&memory.pool2[block][channel + 1])",
    ),
    ("every warp sends the sums of one", "if (warp_index() == 0) send_part(", "send_part("),
    (
        "blocks write into others that have not begun",
        "  wait_for_the_cluster();\n  if (threadIdx",
        "  if (threadIdx",
    ),
    (
        "a block ends before all that is sent to it is there",
        "    memory.image_here.wait(parity);\n    if (order == kLeave) break;\n",
        "    if (order == kLeave) break;\n    memory.image_here.wait(parity);\n",
    ),
    (
        "a word's number is not compared",
        "belongs(words.first, request) && belongs(words.second, request)",
        "true",
    ),
    (
        "one of two words' numbers is not compared",
        "belongs(words.first, request) && belongs(words.second, request)",
        "belongs(words.first, request)",
    ),
    (
        "a lane does not ask the others",
        "__all_sync(0xffffffff, belongs",
        "__any_sync(0xffffffff, belongs",
    ),
    (
        "the stamp is read before it is known to be there",
        "    const volatile Stamp& stamp = memory.stamp;",
        "    const Stamp stamp = memory.stamp;",
    ),
    (
        "an answer has the number of another",
        "value, request * kOrders)",
        "value, (request - 1) * kOrders)",
    ),
    ("a kernel stays for ever uncalled", "return nanoseconds() > until;", "return false;"),
    ("a kernel stays for ever while it is called", "late ? 0 : now + kIdle", "now + kIdle"),
    (
        "a kernel that leaves sends no rows",
        "    if (__any_sync(0xffffffff, patience.over())) break;",
        "    if (__any_sync(0xffffffff, patience.over())) { if (block != 0) return; break; }",
    ),
]

SIGNALS: list[Fault] = [
    (
        "an acquire is weakened to relaxed",
        "try_wait.parity.shared::cta",
        "try_wait.parity.relaxed.cta.shared::cta",
    ),
    ("mbarriers are made and not told of", "fence.mbarrier_init.release.cluster;", ""),
    (
        "what a barrier of the cluster tells is not taken",
        "barrier.cluster.wait.acquire.aligned;",
        "",
    ),
    (
        "an mbarrier waits for two",
        "mbarrier.init.shared::cta.b64 [%0], 1;",
        "mbarrier.init.shared::cta.b64 [%0], 2;",
    ),
    ("an answer's words are weak", "st.relaxed.sys.global.u64", "st.global.u64"),
    (
        "an answer's words are for the GPU alone",
        "st.relaxed.sys.global.u64",
        "st.relaxed.gpu.global.u64",
    ),
    ("the image's words may come from a cache", "ld.relaxed.sys.global.v2.u64", "ld.global.v2.u64"),
    (
        "the image's words are asked of the GPU alone",
        "ld.relaxed.sys.global.v2.u64",
        "ld.relaxed.gpu.global.v2.u64",
    ),
    (
        "a word is written in two halves",
        'asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");',
        "const auto low = static_cast<unsigned>(word);\n"
        '  asm volatile("st.relaxed.sys.global.u32 [%0+4], %1;" ::"l"(to), "r"(stamp));\n'
        '  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(low));',
    ),
]

#: file -> the backend that shows its faults, and these
KERNELS = {
    "cuda/fused.cu": ("cuda", FUSED),
    "cuda/layers.cuh": ("cuda", LAYERS),
    "cuda/cluster.cu": ("cuda:persistent", CLUSTER),
    "cuda/signals.cuh": ("cuda:persistent", SIGNALS),
}
IN_KERNELS = {
    f"{file}: {fault}": (backend, file, there, planted)
    for file, (backend, faults) in KERNELS.items()
    for fault, there, planted in faults
}


@pytest.mark.parametrize("fault", IN_KERNELS)
def test_the_double_catches_in_a_kernel(driver: Driver, fault: str, tmp_path: Path) -> None:
    backend, *change = IN_KERNELS[fault]
    for _ in range(
        3
    ):  # on a busy machine the caller may be late itself, which hides faults of time
        done = driver.run(backend, tmp_path, *change)
        print(done.stderr)
        if done.returncode != 0:
            break
    assert done.returncode != 0
    assert "nvrtcCompileProgram" not in done.stderr
