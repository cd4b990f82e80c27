"""Faults planted in the GPU rungs, each of which the double of CUDA has to catch: what makes its
silence on the real sources worth something.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_setting import (
    SOURCES,
    TESTS,
    build_double,
    built_major,
    compile_options,
    compiler,
    link_options,
    run,
    write_kernel_source,
)

pytestmark = pytest.mark.skipif(
    built_major() is None, reason="lenet_bench is built without CUDA (make test-cuda13)"
)

CUDNN = "cuda/cudnn.cpp"
FRONTEND = "cuda/cudnn_frontend.cpp"
FUSED = "cuda/fused.cpp"
KERNELS = "cuda/fused.cu"
PERSISTENT = "cuda/persistent.cpp"
RESIDENT = "cuda/persistent.cu"
AFTER = "    cluster_barrier();\n"
SYNCHRONISE = "  LENET_CHECK(cudaStreamSynchronize(stream));\n"
WORKSPACE = (
    "  LENET_CHECK(cublasSetWorkspace(cublas, cublas_workspace, cublas_workspace.bytes()));\n"
)

#: fault -> rung, file, what is there, what the fault makes of it
FAULTS: dict[str, tuple[str, str, str, str]] = {
    "the answer is read before it is there": ("cudnn", CUDNN, SYNCHRONISE, ""),
    "a graph is not waited for": ("cudnn:graph", CUDNN, SYNCHRONISE, ""),
    "cuDNN is left off the stream": (
        "cudnn",
        CUDNN,
        "LENET_CHECK(cudnnSetStream(cudnn, stream));",
        "",
    ),
    "cuBLAS is left off the stream": (
        "cudnn",
        CUDNN,
        "LENET_CHECK(cublasSetStream(cublas, stream));",
        "",
    ),
    "cuBLAS is left off the captured stream": (
        "cudnn:graph",
        CUDNN,
        "LENET_CHECK(cublasSetStream(cublas, stream));",
        "",
    ),
    "cuDNN does what it never did during the capture": (
        "cudnn:graph",
        CUDNN,
        "  session.run([&] { answer(blank.data(), ten); });\n",
        "",
    ),
    "a kernel is loaded during the capture": (
        "cuda:graph",
        FUSED,
        "  session.run([&] { answer(blank.data(), ten); });\n",
        "",
    ),
    "an algorithm is measured during the capture": (
        "cudnn:graph",
        CUDNN,
        "void Cudnn::Network::copy_in() {",
        "void Cudnn::Network::copy_in() {\n  int count = 0;\n"
        "  cudnnConvolutionFwdAlgoPerf_t found;\n"
        "  LENET_CHECK(cudnnFindConvolutionForwardAlgorithm(cudnn, image.shape, conv1.filter, "
        "conv1.convolution, conv1_out.shape, 1, &count, &found));\n",
    ),
    "a captured event tells no time": (
        "cudnn:graph",
        "cuda/session.cpp",
        "as_graph ? cudaEventRecordExternal : cudaEventRecordDefault",
        "cudaEventRecordDefault",
    ),
    "an event is external to no graph": (
        "cudnn",
        "cuda/session.cpp",
        "as_graph ? cudaEventRecordExternal : cudaEventRecordDefault",
        "cudaEventRecordExternal",
    ),
    "pooling is added to what was there": (
        "cudnn",
        CUDNN,
        "max_pooling, &kOne, input.shape, input.values, &kZero",
        "max_pooling, &kOne, input.shape, input.values, &kOne",
    ),
    "cuBLAS allocates during the capture": ("cudnn:graph", CUDNN, WORKSPACE, ""),
    "memory is allocated in a captured call": (
        "cudnn:graph",
        CUDNN,
        "void Cudnn::Network::copy_in() {",
        "void Cudnn::Network::copy_in() { DeviceFloats scratch(1);",
    ),
    "the stream is waited for during the capture": (
        "cudnn:graph",
        CUDNN,
        "void Cudnn::Network::copy_out() {",
        "void Cudnn::Network::copy_out() { LENET_CHECK(cudaStreamSynchronize(stream));",
    ),
    "the copy in goes the wrong way": (
        "cudnn",
        CUDNN,
        "cudaMemcpyHostToDevice",
        "cudaMemcpyDeviceToHost",
    ),
    "the copy out goes the wrong way": (
        "cudnn",
        CUDNN,
        "host_probabilities.bytes(),\n                              cudaMemcpyDeviceToHost",
        "host_probabilities.bytes(),\n                              cudaMemcpyHostToDevice",
    ),
    "half the image is copied": ("cudnn", CUDNN, "host_image.bytes()", "host_image.bytes() / 2"),
    "the image is copied from memory that is not pinned": (
        "cudnn",
        CUDNN,
        "cudaMemcpyAsync(image.values, host_image,",
        "cudaMemcpyAsync(image.values, std::vector<float>(kImagePixels).data(),",
    ),
    "the image's buffer is too small": (
        "cudnn",
        CUDNN,
        "Activation image{1, kImageSide};",
        "Activation image{1, kPool1Side};",
    ),
    "the host reads device memory": (
        "cudnn",
        CUDNN,
        "std::copy_n(static_cast<const float*>(host_probabilities), kClasses, ten);",
        "std::copy_n(static_cast<const float*>(probabilities.values), kClasses, ten);",
    ),
    "the workspace is not passed": (
        "cudnn",
        CUDNN,
        "convolution_workspace, convolution_workspace.bytes()",
        "nullptr, convolution_workspace.bytes()",
    ),
    "the workspace is that of the first convolution": (
        "cudnn",
        CUDNN,
        "workspace_bytes(conv2, pool1_out, conv2_out));",
        "std::size_t{0});",
    ),
    "a failed measurement is taken": (
        "cudnn:find",
        CUDNN,
        "it->status == CUDNN_STATUS_SUCCESS && float32",
        "float32",
    ),
    "TF32 comes in by the back door": (
        "cudnn",
        CUDNN,
        ": CUDNN_FMA_MATH;",
        ": CUDNN_DEFAULT_MATH;",
    ),
    "the kernels are flipped": ("cudnn", CUDNN, "CUDNN_CROSS_CORRELATION", "CUDNN_CONVOLUTION"),
    "the matrix is not transposed": ("cudnn", CUDNN, "CUBLAS_OP_T", "CUBLAS_OP_N"),
    "the output is added to what was there": (
        "cudnn",
        CUDNN,
        "convolution_workspace.bytes(), &kZero",
        "convolution_workspace.bytes(), &kOne",
    ),
    "a bias is added to nothing": (
        "cudnn",
        CUDNN,
        "layer.bias, &kOne, output.shape",
        "layer.bias, &kZero, output.shape",
    ),
    "the ReLU is forgotten": (
        "cudnn",
        CUDNN,
        "  LENET_CHECK(cudnnActivationForward(cudnn, relu, &kOne, fc1_out.shape, fc1_out.values,"
        " &kZero,\n                                     fc1_out.shape, fc1_out.values));\n",
        "",
    ),
    "cuDNN's graphs are left off the stream": (
        "cudnn:frontend",
        FRONTEND,
        "  LENET_CHECK(cudnnSetStream(cudnn, stream));\n",
        "",
    ),
    "a plan rounds to TF32": (
        "cudnn:frontend",
        FRONTEND,
        "      if (!keeps_to_float32(candidate)) continue;\n",
        "",
    ),
    "a plan that was not built is taken": (
        "cudnn:frontend",
        FRONTEND,
        "      if (cudnnBackendFinalize(plan) != CUDNN_STATUS_SUCCESS) continue;\n",
        "      cudnnBackendFinalize(plan);\n",
    ),
    "only the fast engines are asked for": (
        "cudnn:frontend",
        FRONTEND,
        "{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}",
        "{CUDNN_HEUR_MODE_A}",
    ),
    "a plan gets no workspace": (
        "cudnn:frontend",
        FRONTEND,
        "if (bytes != 0) workspace =",
        "if (bytes == 0) workspace =",
    ),
    "the workspace is that of the first plan": (
        "cudnn:frontend",
        FRONTEND,
        "conv2.workspace_bytes, pool2",
        "conv1.workspace_bytes, pool2",
    ),
    "a plan gets two tensors swapped": (
        "cudnn:frontend",
        FRONTEND,
        "{image, conv1_weight, conv1_bias, conv1_out}",
        "{image, conv1_bias, conv1_weight, conv1_out}",
    ),
    "a plan gets a tensor too few": (
        "cudnn:frontend",
        FRONTEND,
        "bind({kInput, kOutput}, {conv1_out, pool1_out}",
        "bind({kInput}, {conv1_out}",
    ),
    "the pointers are never finalized": (
        "cudnn:frontend",
        FRONTEND,
        "return finalized(std::move(pack));",
        "return pack;",
    ),
    "the sum between two operations is not virtual": (
        "cudnn:frontend",
        FRONTEND,
        "describe_tensor(kSum, 1, outputs, out_side, true)",
        "describe_tensor(kSum, 1, outputs, out_side)",
    ),
    "the bias is added to another tensor": (
        "cudnn:frontend",
        FRONTEND,
        "CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum",
        "CUDNN_ATTR_OPERATION_POINTWISE_XDESC, output",
    ),
    "an attribute has another type": (
        "cudnn:frontend",
        FRONTEND,
        "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f",
        "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, std::int64_t{1}",
    ),
    "an attribute is forgotten": (
        "cudnn:frontend",
        FRONTEND,
        "  set_pair(pooling, CUDNN_ATTR_RESAMPLE_STRIDES, 2);\n",
        "",
    ),
    "an operation's part is not finalized": (
        "cudnn:frontend",
        FRONTEND,
        "parts.emplace_back(finalized(std::move(descriptor)))",
        "parts.emplace_back(std::move(descriptor))",
    ),
    "a graph's kernels are flipped": (
        "cudnn:frontend",
        FRONTEND,
        "CONV_MODE, CUDNN_CROSS_CORRELATION",
        "CONV_MODE, CUDNN_CONVOLUTION",
    ),
    "a graph's tensor lies column by column": (
        "cudnn:frontend",
        FRONTEND,
        "{c * side * side, side * side, side, 1}",
        "{c * side * side, side * side, 1, side}",
    ),
    "a graph's output buffer is too small": (
        "cudnn:frontend",
        FRONTEND,
        "kConv2Channels * kConv2Side * kConv2Side}",
        "kConv2Channels * kConv2Side}",
    ),
    "a plan is not executed": (
        "cudnn:frontend",
        FRONTEND,
        "  execute(pool2, pool2_pointers);\n",
        "",
    ),
    "the answer that is told of lies on the host": (
        "cudnn",
        CUDNN,
        "facts(network_->probabilities.values)",
        "facts(network_->host_probabilities)",
    ),
    "the host does not count its images": ("cuda:mapped", FUSED, "  ++shared.ticket;\n", ""),
    "the flag is not waited for": ("cuda:mapped", FUSED, "!finished(); ++spin", "false; ++spin"),
    "the answer's copy is forgotten": ("cuda", FUSED, "    copy_out();\n  }", "  }"),
    "a launch has half its blocks": ("cuda", FUSED, "kFc1Blocks,", "kFc1Blocks / 2,"),
    "a launch has too few threads": ("cuda", FUSED, "kFc2Threads,", "kFc2Threads / 2,"),
    "two arguments are swapped": (
        "cuda",
        FUSED,
        "f(fc1_weight), f(fc1_bias)",
        "f(fc1_bias), f(fc1_weight)",
    ),
    "an activation's buffer is too small": (
        "cuda",
        FUSED,
        "pool2{kFc1Inputs}",
        "pool2{kFc1Inputs / 2}",
    ),
    "a kernel uses what its block has not loaded": ("cuda", KERNELS, "  __syncthreads();\n", ""),
    "a barrier is reached by some threads only": (
        "cuda",
        KERNELS,
        "  if (thread < kTaps) taps[thread] = weight[channel * kTaps + thread];\n"
        "  __syncthreads();",
        "  if (thread < kTaps) { taps[thread] = weight[channel * kTaps + thread];\n"
        "  __syncthreads(); }",
    ),
    "the flag is raised before the answer": (
        "cuda:mapped",
        KERNELS,
        "  if (lane == 0) fc2[output] = logits[output] = sum + bias[output];\n",
        "  if (done != nullptr) release_to_host(done, *ticket);\n"
        "  if (done != nullptr && *ticket % 7 == 0) return;\n"
        "  if (lane == 0) fc2[output] = logits[output] = sum + bias[output];\n",
    ),
    "a shuffle reaches too short": (
        "cuda",
        KERNELS,
        "distance = kWarp / 2;",
        "distance = kWarp / 4;",
    ),
    "a kernel reads past its input": (
        "cuda",
        KERNELS,
        "for (int i = lane; i < count; i += kWarp)",
        "for (int i = lane; i <= count + kWarp; i += kWarp)",
    ),
    "blocks write into others that have not begun": (
        "cuda:persistent",
        RESIDENT,
        "  cluster_barrier();  // no block",
        "  // no block",
    ),
    "blocks do not wait for the bell": (
        "cuda:persistent",
        RESIDENT,
        f"    }}\n{AFTER}    const Number request",
        "    }\n    const Number request",
    ),
    "a block starts before its image is there": (
        "cuda:persistent",
        RESIDENT,
        "    read_image(block, *mailbox);\n    __syncthreads();\n",
        "    read_image(block, *mailbox);\n",
    ),
    "a vector lies where a GPU cannot write one": (
        "cuda:persistent",
        RESIDENT,
        "  alignas(float4) float image",
        "  float image",
    ),
    "conv2 does not wait for other blocks": (
        "cuda:persistent",
        RESIDENT,
        f"    conv1_pool(block, shown);\n{AFTER}",
        "    conv1_pool(block, shown);\n    __syncthreads();\n",
    ),
    "fc1 does not wait for other blocks": (
        "cuda:persistent",
        RESIDENT,
        f"    conv2_pool(block, shown);\n{AFTER}",
        "    conv2_pool(block, shown);\n    __syncthreads();\n",
    ),
    "the answer does not wait for other blocks": (
        "cuda:persistent",
        RESIDENT,
        f"    fc2_part(block, own);\n{AFTER}",
        "    fc2_part(block, own);\n    __syncthreads();\n",
    ),
    "a block waits for the others alone": (
        "cuda:persistent",
        RESIDENT,
        f"    fc2_part(block, own);\n{AFTER}",
        "    fc2_part(block, own);\n    if (block == 0) cluster_barrier();\n",
    ),
    "pool1 stays in its block": (
        "cuda:persistent",
        RESIDENT,
        "reinterpret_cast<float*>(memory_of(to).pool1)",
        "reinterpret_cast<float*>(memory.pool1)",
    ),
    "the flag is raised before other lanes wrote": (
        "cuda:persistent",
        RESIDENT,
        "      __syncwarp();\n",
        "",
    ),
    "the answer is not released": (
        "cuda:persistent",
        RESIDENT,
        "release_to_host(&mailbox->answered, request);",
        "mailbox->answered = request;",
    ),
    "the bell is not acquired": (
        "cuda:persistent",
        RESIDENT,
        "__nv_atomic_load_n(&mailbox->bell, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM);",
        "mailbox->bell;",
    ),
    "a kernel stays for ever uncalled": (
        "cuda:persistent",
        RESIDENT,
        "    if (nanoseconds() - since > kIdle) return leave;\n",
        "",
    ),
    "a kernel stays for ever while it is called": (
        "cuda:persistent",
        RESIDENT,
        "  if (!fresh && since - launched > kLife) return leave;\n",
        "",
    ),
    "the bell rings before the image is there": (
        "cuda:persistent",
        PERSISTENT,
        "  std::copy_n(pixels, kImagePixels, &mailbox.image[0][0]);\n  call(order);\n",
        "  call(order);\n  std::copy_n(pixels, kImagePixels, &mailbox.image[0][0]);\n",
    ),
    "the answer's flag is not waited for": (
        "cuda:persistent",
        PERSISTENT,
        "if (read(mailbox.answered) == request) return;",
        "return;",
    ),
    "a launch takes its request for served": (
        "cuda:persistent",
        PERSISTENT,
        "served = request - 1,",
        "served = request,",
    ),
    "a large cluster is not allowed": (
        "cuda:persistent",
        PERSISTENT,
        "  LENET_CHECK(cudaFuncSetAttribute(kernel, "
        "cudaFuncAttributeNonPortableClusterSizeAllowed, 1));\n",
        "",
    ),
    "memory goes before the kernel that uses it": (
        "cuda:persistent",
        PERSISTENT,
        "kLeave, __ATOMIC_RELEASE);\n  cudaStreamSynchronize(stream);\n",
        "kLeave, __ATOMIC_RELEASE);\n",
    ),
    "threads share the buffers at once": (
        "cudnn",
        "cuda/session.cpp",
        "alone(one_at_a_time_);",
        "alone;",
    ),
    "an upload is not waited for": (
        "cudnn",
        "cuda/owners.hpp",
        "    LENET_CHECK(cudaStreamSynchronize(nullptr));",
        "",
    ),
    "a handle is never destroyed": (
        "cudnn",
        "cuda/owners.hpp",
        "    if (handle_) destroy(handle_);\n",
        "",
    ),
}

Build = Callable[[Path, str], Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """`build(sources, changed)`: the driver from these sources, of which only one was changed."""
    major = built_major()
    assert major is not None
    folder = tmp_path_factory.mktemp("faults")
    double = build_double(folder / "double", major)
    driver = TESTS / "cuda_double" / "driver.cpp"
    objects: dict[str, Path] = {}
    kernels = write_kernel_source(folder / "kernel_source.cpp")
    for source in [driver, kernels, *sorted((SOURCES / "cuda").glob("*.cpp"))]:
        objects[source.name] = folder / f"{source.stem}.o"
        options = compile_options(major)
        run([compiler(), *options, "-c", str(source), "-o", str(objects[source.name])])

    def link(sources: Path, changed: str) -> Path:
        again = {
            ".cpp": [Path(changed).name],
            ".hpp": ["cudnn.cpp", "cudnn_frontend.cpp", "fused.cpp", "session.cpp"],
            ".cu": [],  # our kernels are a part of the double
        }[Path(changed).suffix]
        fresh = dict(objects)
        for name in again:
            fresh[name] = sources / f"{name}.o"
            command = [compiler(), *compile_options(major, sources)]
            run([*command, "-c", str(sources / "cuda" / name), "-o", str(fresh[name])])
        kernels_changed = changed.endswith(".cu")
        stand_in = (
            build_double(sources / "double", major, sources, double) if kernels_changed else double
        )
        program = sources / "driver"
        parts = [str(path) for path in fresh.values()]
        run([compiler(), *parts, "-o", str(program), *link_options(major, stand_in)])
        return program

    return link


def drive(program: Path, rung: str, cache: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(program), rung],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    )


@pytest.mark.parametrize("rung", sorted({fault[0] for fault in FAULTS.values()}))
def test_without_a_fault_the_driver_is_content(build: Build, rung: str, tmp_path: Path) -> None:
    sources = tmp_path / "csrc"
    shutil.copytree(SOURCES, sources)
    done = drive(build(sources, CUDNN), rung, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fault", FAULTS)
def test_the_double_catches(build: Build, fault: str, tmp_path: Path) -> None:
    rung, file, there, planted = FAULTS[fault]
    sources = tmp_path / "csrc"
    shutil.copytree(SOURCES, sources)
    text = (sources / file).read_text()
    assert there in text, f"{file} has changed: plant this fault anew"
    (sources / file).write_text(text.replace(there, planted, 1))
    done = drive(build(sources, file), rung, tmp_path)
    assert done.returncode != 0
