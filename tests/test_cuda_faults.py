"""Faults planted in the GPU backends, each of which the double of CUDA has to catch: what makes its
silence on the real sources worth something.
"""

from pathlib import Path

import pytest
from cuda_setting import Driver, built_major

pytestmark = pytest.mark.skipif(
    built_major() != 13, reason="faults are planted for one CUDA, the newest (make test-cuda13)"
)

CUDNN = "cuda/cudnn.cpp"
CUDNN_HEADER = "cuda/cudnn.hpp"
FRONTEND = "cuda/cudnn_frontend.cpp"
FRONTEND_HEADER = "cuda/cudnn_frontend.hpp"
ON_GPU = "bindings/on_gpu.cpp"
PLAN = "cuda/cudnn_plan.cpp"
SESSION = "cuda/session.cpp"
CONTEXT = "cuda/context.cpp"
FUSED = "cuda/fused.cpp"
RESIDENT = "cuda/resident.cpp"
SYNCHRONISE = "  LENET_CHECK(cudaStreamSynchronize(stream));\n"
WORKSPACE = (
    "  LENET_CHECK(cublasSetWorkspace(cublas, cublas_workspace, cublas_workspace.bytes()));\n"
)

#: fault -> backend, file, what is there, what the fault makes of it
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
        "  warm_up();  // it loads the kernels, which a capture must not\n",
        "",
    ),
    "an algorithm is measured during the capture": (
        "cudnn:graph",
        CUDNN,
        "void CudnnNetwork::copy_in() {",
        "void CudnnNetwork::copy_in() {\n  int count = 0;\n"
        "  cudnnConvolutionFwdAlgoPerf_t found;\n"
        "  LENET_CHECK(cudnnFindConvolutionForwardAlgorithm(cudnn, image.shape, conv1.filter, "
        "conv1.convolution, conv1_out.shape, 1, &count, &found));\n",
    ),
    "a captured event tells no time": (
        "cudnn:graph",
        SESSION,
        "as_graph ? cudaEventRecordExternal : cudaEventRecordDefault",
        "cudaEventRecordDefault",
    ),
    "an event is external to no graph": (
        "cudnn",
        SESSION,
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
        "void CudnnNetwork::copy_in() {",
        "void CudnnNetwork::copy_in() { DeviceFloats scratch(1);",
    ),
    "the stream is waited for during the capture": (
        "cudnn:graph",
        CUDNN,
        "void CudnnNetwork::copy_out() {",
        "void CudnnNetwork::copy_out() { LENET_CHECK(cudaStreamSynchronize(stream));",
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
        CUDNN_HEADER,
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
        "it.status == CUDNN_STATUS_SUCCESS && it.mathType == math",
        "it.mathType == math",
    ),
    "TF32 comes in by the back door": (
        "cudnn",
        CUDNN_HEADER,
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
        PLAN,
        "      if (!keeps_to_float32(candidate)) continue;\n",
        "",
    ),
    "a plan that was not built is taken": (
        "cudnn:frontend",
        PLAN,
        "if (status == CUDNN_STATUS_SUCCESS) return plan;",
        "return plan;",
    ),
    "a plan is taken that has not run": (
        "cudnn:frontend",
        FRONTEND,
        "status = cudnnBackendExecute(handle, candidate.executable, pointers);",
        "status = CUDNN_STATUS_SUCCESS;",
    ),
    "only the fast engines are asked for": (
        "cudnn:frontend",
        PLAN,
        "{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}",
        "{CUDNN_HEUR_MODE_A}",
    ),
    "a plan gets no workspace": (
        "cudnn:frontend",
        FRONTEND,
        "floats != 0 ? DeviceFloats(floats) : DeviceFloats()",
        "DeviceFloats()",
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
        "{{kInput, kOutput}, {conv1_out, pool1_out}}",
        "{{kInput}, {conv1_out}}",
    ),
    "the pointers are never finalized": (
        "cudnn:frontend",
        PLAN,
        "return finalized(std::move(pack));",
        "return pack;",
    ),
    "the sum between two operations is not virtual": (
        "cudnn:frontend",
        PLAN,
        "describe_tensor(kSum, 1, outputs, out_side, true)",
        "describe_tensor(kSum, 1, outputs, out_side)",
    ),
    "the bias is added to another tensor": (
        "cudnn:frontend",
        PLAN,
        "CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum",
        "CUDNN_ATTR_OPERATION_POINTWISE_XDESC, output",
    ),
    "an attribute has another type": (
        "cudnn:frontend",
        PLAN,
        "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f",
        "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, std::int64_t{1}",
    ),
    "an attribute is forgotten": (
        "cudnn:frontend",
        PLAN,
        "  set_pair(pooling, CUDNN_ATTR_RESAMPLE_STRIDES, 2);\n",
        "",
    ),
    "an operation's part is not finalized": (
        "cudnn:frontend",
        PLAN,
        "parts.emplace_back(finalized(std::move(descriptor)))",
        "parts.emplace_back(std::move(descriptor))",
    ),
    "a graph's kernels are flipped": (
        "cudnn:frontend",
        PLAN,
        "CONV_MODE, CUDNN_CROSS_CORRELATION",
        "CONV_MODE, CUDNN_CONVOLUTION",
    ),
    "a graph's tensor lies column by column": (
        "cudnn:frontend",
        PLAN,
        "{c * side * side, side * side, side, 1}",
        "{c * side * side, side * side, 1, side}",
    ),
    "a graph's output buffer is too small": (
        "cudnn:frontend",
        FRONTEND_HEADER,
        "kConv2Channels * kConv2Side * kConv2Side}",
        "kConv2Channels * kConv2Side}",
    ),
    "a plan is not executed": (
        "cudnn:frontend",
        FRONTEND,
        "  execute(pool2);\n",
        "",
    ),
    "the answer that is told of lies on the host": (
        "cudnn",
        ON_GPU,
        "facts(n.probabilities.values)",
        "facts(n.host_probabilities)",
    ),
    "a kernel is loaded during the capture": (
        "cuda:graph",
        FUSED,
        "  warm_up();  // it brings the code to the GPU, which a capture must not\n",
        "",
    ),
    "the answer of our kernels is not waited for": ("cuda", FUSED, SYNCHRONISE, ""),
    "the answer's copy is forgotten": (
        "cuda",
        FUSED,
        "  compute();\n  copy_out();\n",
        "  compute();\n",
    ),
    "a launch has half its blocks": ("cuda", FUSED, "kFc1Blocks, kFc1", "kFc1Blocks / 2, kFc1"),
    "a launch has too few threads": ("cuda", FUSED, "kFc2Threads,", "kFc2Threads / 2,"),
    "two arguments are swapped": (
        "cuda",
        FUSED,
        "parameters, outputs, ten, words",
        "outputs, parameters, ten, words",
    ),
    "a layer's memory is too small": (
        "cuda",
        "cuda/kernels.hpp",
        "pool2_{kFc1Inputs}",
        "pool2_{kFc1Inputs / 2}",
    ),
    "an earlier answer is not cleared": (
        "cuda:mapped",
        "cuda/words.hpp",
        "  std::fill_n(words, kClasses, Word{0});\n",
        "",
    ),
    "an answer is taken whatever its number": (
        "cuda:persistent",
        "cuda/words.hpp",
        "    if (word >> 32 != stamp) return false;\n",
        "",
    ),
    "a large cluster is not allowed": (
        "cuda:persistent",
        "cuda/kernels.cpp",
        "NonPortableClusterSizeAllowed, 1)",
        "NonPortableClusterSizeAllowed, 0)",
    ),
    "memory goes before the kernel that uses it": (
        "cuda:persistent",
        RESIDENT,
        "kLeave);\n  cudaStreamSynchronize(stream_);\n",
        "kLeave);\n",
    ),
    "two requests have one number": (
        "cuda:persistent",
        RESIDENT,
        "++request_ * kOrders",
        "(request_ += launches_ % 2) * kOrders",
    ),
    "a launch takes its request for served": (
        "cuda:persistent",
        RESIDENT,
        "request_, launches_ + 1}",
        "request_ + 1, launches_ + 1}",
    ),
    "the layers are read while the kernel may write them": (
        "cuda:persistent",
        ON_GPU,
        "  n.resident.leave();\n",
        "",
    ),
    "threads share the buffers at once": (
        "cudnn",
        SESSION,
        "alone(one_at_a_time_);",
        "alone;",
    ),
    "the thread's GPU is not given back": ("cudnn", CONTEXT, "  driver().pop(&ours);\n", ""),
    "an error of other code is taken for ours": ("cudnn", CONTEXT, "  cudaGetLastError();\n", ""),
    "what is read back is not waited for": (
        "cudnn",
        "cuda/owners.hpp",
        "    LENET_CHECK(cudaStreamSynchronize(stream));\n    return values;",
        "    return values;",
    ),
    "a handle is never destroyed": (
        "cudnn",
        "cuda/owners.hpp",
        "    if (handle_) destroy(handle_);\n",
        "",
    ),
}


@pytest.mark.parametrize("backend", sorted({fault[0] for fault in FAULTS.values()}))
def test_without_a_fault_the_driver_is_content(
    driver: Driver, backend: str, tmp_path: Path
) -> None:
    done = driver.run(backend, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fault", FAULTS)
def test_the_double_catches(driver: Driver, fault: str, tmp_path: Path) -> None:
    backend, *change = FAULTS[fault]
    assert driver.run(backend, tmp_path, *change).returncode != 0
