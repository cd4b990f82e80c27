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

#: backend, file -> fault, what is there, what the fault makes of it
IN_FILES: dict[tuple[str, str], list[tuple[str, str, str]]] = {
    ("cudnn", CUDNN): [
        ("the answer is read before it is there", SYNCHRONISE, ""),
        ("cuDNN is left off the stream", "LENET_CHECK(cudnnSetStream(cudnn, stream));", ""),
        ("cuBLAS is left off the stream", "LENET_CHECK(cublasSetStream(cublas, stream));", ""),
        (
            "pooling is added to what was there",
            "max_pooling, &kOne, input.shape, input.values, &kZero",
            "max_pooling, &kOne, input.shape, input.values, &kOne",
        ),
        ("the copy in goes the wrong way", "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost"),
        (
            "the copy out goes the wrong way",
            "host_probabilities.bytes(),\n                              cudaMemcpyDeviceToHost",
            "host_probabilities.bytes(),\n                              cudaMemcpyHostToDevice",
        ),
        ("half the image is copied", "host_image.bytes()", "host_image.bytes() / 2"),
        (
            "the image is copied from memory that is not pinned",
            "cudaMemcpyAsync(image.values, host_image,",
            "cudaMemcpyAsync(image.values, std::vector<float>(kImagePixels).data(),",
        ),
        (
            "the host reads device memory",
            "std::copy_n(static_cast<const float*>(host_probabilities), kClasses, ten);",
            "std::copy_n(static_cast<const float*>(probabilities.values), kClasses, ten);",
        ),
        (
            "the workspace is not passed",
            "convolution_workspace, convolution_workspace.bytes()",
            "nullptr, convolution_workspace.bytes()",
        ),
        (
            "the workspace is that of the first convolution",
            "workspace_bytes(conv2, pool1_out, conv2_out));",
            "std::size_t{0});",
        ),
        ("the kernels are flipped", "CUDNN_CROSS_CORRELATION", "CUDNN_CONVOLUTION"),
        ("the matrix is not transposed", "CUBLAS_OP_T", "CUBLAS_OP_N"),
        (
            "the output is added to what was there",
            "convolution_workspace.bytes(), &kZero",
            "convolution_workspace.bytes(), &kOne",
        ),
        (
            "a bias is added to nothing",
            "layer.bias, &kOne, output.shape",
            "layer.bias, &kZero, output.shape",
        ),
        (
            "the ReLU is forgotten",
            "  LENET_CHECK(cudnnActivationForward(cudnn, relu, &kOne, fc1_out.shape, "
            "fc1_out.values, &kZero,\n                                     "
            "fc1_out.shape, fc1_out.values));\n",
            "",
        ),
    ],
    ("cudnn:graph", CUDNN): [
        ("a graph is not waited for", SYNCHRONISE, ""),
        (
            "cuBLAS is left off the captured stream",
            "LENET_CHECK(cublasSetStream(cublas, stream));",
            "",
        ),
        (
            "cuDNN does what it never did during the capture",
            "  warm_up();  // it loads the kernels, which a capture must not\n",
            "",
        ),
        (
            "an algorithm is measured during the capture",
            "void CudnnNetwork::copy_in() {",
            "void CudnnNetwork::copy_in() {\n  int count = 0;\n"
            "  cudnnConvolutionFwdAlgoPerf_t found;\n"
            "  LENET_CHECK(cudnnFindConvolutionForwardAlgorithm(cudnn, image.shape, conv1.filter, "
            "conv1.convolution, conv1_out.shape, 1, &count, &found));\n",
        ),
        ("cuBLAS allocates during the capture", WORKSPACE, ""),
        (
            "memory is allocated in a captured call",
            "void CudnnNetwork::copy_in() {",
            "void CudnnNetwork::copy_in() { DeviceFloats scratch(1);",
        ),
        (
            "the stream is waited for during the capture",
            "void CudnnNetwork::copy_out() {",
            "void CudnnNetwork::copy_out() { LENET_CHECK(cudaStreamSynchronize(stream));",
        ),
    ],
    ("cudnn:graph", SESSION): [
        (
            "a captured event tells no time",
            "as_graph ? cudaEventRecordExternal : cudaEventRecordDefault",
            "cudaEventRecordDefault",
        ),
    ],
    ("cudnn", SESSION): [
        (
            "an event is external to no graph",
            "as_graph ? cudaEventRecordExternal : cudaEventRecordDefault",
            "cudaEventRecordExternal",
        ),
        ("threads share the buffers at once", "alone(one_at_a_time_);", "alone;"),
    ],
    ("cudnn", CUDNN_HEADER): [
        (
            "the image's buffer is too small",
            "Activation image{1, kImageSide};",
            "Activation image{1, kPool1Side};",
        ),
        ("TF32 comes in by the back door", ": CUDNN_FMA_MATH;", ": CUDNN_DEFAULT_MATH;"),
    ],
    ("cudnn:find", CUDNN): [
        (
            "a failed measurement is taken",
            "it.status == CUDNN_STATUS_SUCCESS && it.mathType == math",
            "it.mathType == math",
        ),
    ],
    ("cudnn:frontend", FRONTEND): [
        (
            "cuDNN's graphs are left off the stream",
            "  LENET_CHECK(cudnnSetStream(cudnn, stream));\n",
            "",
        ),
        (
            "a plan is taken that has not run",
            "status = cudnnBackendExecute(handle, candidate.executable, pointers);",
            "status = CUDNN_STATUS_SUCCESS;",
        ),
        (
            "a plan gets no workspace",
            "floats != 0 ? DeviceFloats(floats) : DeviceFloats()",
            "DeviceFloats()",
        ),
        (
            "a plan gets two tensors swapped",
            "{image, conv1_weight, conv1_bias, conv1_out}",
            "{image, conv1_bias, conv1_weight, conv1_out}",
        ),
        (
            "a plan gets a tensor too few",
            "{{kInput, kOutput}, {conv1_out, pool1_out}}",
            "{{kInput}, {conv1_out}}",
        ),
        ("a plan is not executed", "  execute(pool2);\n", ""),
    ],
    ("cudnn:frontend", PLAN): [
        ("a plan rounds to TF32", "      if (!keeps_to_float32(candidate)) continue;\n", ""),
        (
            "a plan that was not built is taken",
            "if (status == CUDNN_STATUS_SUCCESS) return plan;",
            "return plan;",
        ),
        (
            "only the fast engines are asked for",
            "{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}",
            "{CUDNN_HEUR_MODE_A}",
        ),
        ("the pointers are never finalized", "return finalized(std::move(pack));", "return pack;"),
        (
            "the sum between two operations is not virtual",
            "describe_tensor(kSum, 1, outputs, out_side, true)",
            "describe_tensor(kSum, 1, outputs, out_side)",
        ),
        (
            "the bias is added to another tensor",
            "CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum",
            "CUDNN_ATTR_OPERATION_POINTWISE_XDESC, output",
        ),
        (
            "an attribute has another type",
            "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f",
            "CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, std::int64_t{1}",
        ),
        ("an attribute is forgotten", "  set_pair(pooling, CUDNN_ATTR_RESAMPLE_STRIDES, 2);\n", ""),
        (
            "an operation's part is not finalized",
            "parts.emplace_back(finalized(std::move(descriptor)))",
            "parts.emplace_back(std::move(descriptor))",
        ),
        (
            "a graph's kernels are flipped",
            "CONV_MODE, CUDNN_CROSS_CORRELATION",
            "CONV_MODE, CUDNN_CONVOLUTION",
        ),
        (
            "a graph's tensor lies column by column",
            "{c * side * side, side * side, side, 1}",
            "{c * side * side, side * side, 1, side}",
        ),
    ],
    ("cudnn:frontend", FRONTEND_HEADER): [
        (
            "a graph's output buffer is too small",
            "kConv2Channels * kConv2Side * kConv2Side}",
            "kConv2Channels * kConv2Side}",
        ),
    ],
    ("cudnn", ON_GPU): [
        (
            "the answer that is told of lies on the host",
            "facts(n.probabilities.values)",
            "facts(n.host_probabilities)",
        ),
    ],
    ("cuda:graph", FUSED): [
        (
            "a kernel is loaded during the capture",
            "  warm_up();  // it brings the code to the GPU, which a capture must not\n",
            "",
        ),
    ],
    ("cuda", FUSED): [
        ("the answer of our kernels is not waited for", SYNCHRONISE, ""),
        ("the answer's copy is forgotten", "  compute();\n  copy_out();\n", "  compute();\n"),
        ("a launch has half its blocks", "kFc1Blocks, kFc1", "kFc1Blocks / 2, kFc1"),
        ("a launch has too few threads", "kFc2Threads,", "kFc2Threads / 2,"),
        (
            "two arguments are swapped",
            "parameters, outputs, ten, words",
            "outputs, parameters, ten, words",
        ),
    ],
    ("cuda", "cuda/kernels.hpp"): [
        ("a layer's memory is too small", "pool2_{kFc1Inputs}", "pool2_{kFc1Inputs / 2}"),
    ],
    ("cuda:mapped", "cuda/words.hpp"): [
        ("an earlier answer is not cleared", "  std::fill_n(words, kClasses, Word{0});\n", ""),
    ],
    ("cuda:persistent", "cuda/words.hpp"): [
        (
            "an answer is taken whatever its number",
            "    if (word >> 32 != stamp) return false;\n",
            "",
        ),
    ],
    ("cuda:persistent", "cuda/kernels.cpp"): [
        (
            "a large cluster is not allowed",
            "NonPortableClusterSizeAllowed, 1)",
            "NonPortableClusterSizeAllowed, 0)",
        ),
    ],
    ("cuda:persistent", RESIDENT): [
        (
            "memory goes before the kernel that uses it",
            "kLeave);\n  cudaStreamSynchronize(stream_);\n",
            "kLeave);\n",
        ),
        (
            "two requests have one number",
            "++request_ * kOrders",
            "(request_ += launches_ % 2) * kOrders",
        ),
        (
            "a launch takes its request for served",
            "request_, launches_ + 1}",
            "request_ + 1, launches_ + 1}",
        ),
    ],
    ("cuda:persistent", ON_GPU): [
        ("the layers are read while the kernel may write them", "  n.resident.leave();\n", ""),
    ],
    ("cudnn", CONTEXT): [
        ("the thread's GPU is not given back", "  driver().pop(&ours);\n", ""),
        ("an error of other code is taken for ours", "  cudaGetLastError();\n", ""),
    ],
    ("cudnn", "cuda/owners.hpp"): [
        (
            "what is read back is not waited for",
            "    LENET_CHECK(cudaStreamSynchronize(stream));\n    return values;",
            "    return values;",
        ),
        ("a handle is never destroyed", "    if (handle_) destroy(handle_);\n", ""),
    ],
}
FAULTS = {
    fault: (*place, there, planted)
    for place, faults in IN_FILES.items()
    for fault, there, planted in faults
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
