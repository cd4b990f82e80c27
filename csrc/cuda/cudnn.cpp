// LeNet on cuDNN and cuBLAS, as one writes it against their classic API: a descriptor for every
// tensor, then one library call a step, all on one stream.
//
//   1  owners and descriptors    what cuDNN wants to know before it computes
//   2  layers                    parameters on the GPU, algorithms chosen once
//   3  the network               every buffer allocated here, none in a call
//   4  a call                    copy in, eight layers, copy out, wait
#include "cuda/cudnn.hpp"

#include <algorithm>

#include "cuda/errors.hpp"
#include "cuda/float32.hpp"

namespace lenet {
namespace {

using cuda::DeviceFloats;

// cuDNN and cuBLAS compute `output = alpha * operation(input) + beta * output`.
constexpr float kOne = 1.0f;
constexpr float kZero = 0.0f;

// 1  owners and descriptors -----------------------------------------------------------------------

using TensorDescriptor = CudnnNetwork::TensorDescriptor;
using FilterDescriptor = CudnnNetwork::FilterDescriptor;
using ConvolutionDescriptor = CudnnNetwork::ConvolutionDescriptor;
using PoolingDescriptor = CudnnNetwork::PoolingDescriptor;
using ActivationDescriptor = CudnnNetwork::ActivationDescriptor;

/// images x channels x side x side, row by row.
TensorDescriptor describe_tensor(int images, int channels, int side) {
  TensorDescriptor tensor;
  LENET_CHECK(cudnnCreateTensorDescriptor(tensor.put()));
  LENET_CHECK(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, images,
                                         channels, side, side));
  return tensor;
}

// conv1 and conv2
FilterDescriptor describe_filter(int outputs, int inputs) {
  FilterDescriptor filter;
  LENET_CHECK(cudnnCreateFilterDescriptor(filter.put()));
  LENET_CHECK(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, outputs,
                                         inputs, kKernelSide, kKernelSide));
  return filter;
}

/// No padding, stride 1. Cross-correlation is what every network calls a convolution; what
/// cuDNN calls CUDNN_CONVOLUTION flips the kernel.
// conv1 and conv2
ConvolutionDescriptor describe_convolution(cudnnMathType_t math) {
  ConvolutionDescriptor convolution;
  LENET_CHECK(cudnnCreateConvolutionDescriptor(convolution.put()));
  LENET_CHECK(cudnnSetConvolution2dDescriptor(convolution, 0, 0, 1, 1, 1, 1,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  LENET_CHECK(cudnnSetConvolutionMathType(convolution, math));
  return convolution;
}

// pool1 and pool2
PoolingDescriptor describe_max_pooling() {
  PoolingDescriptor pooling;
  LENET_CHECK(cudnnCreatePoolingDescriptor(pooling.put()));
  LENET_CHECK(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 2, 2,
                                          0, 0, 2, 2));
  return pooling;
}

// fc1
ActivationDescriptor describe_activation(cudnnActivationMode_t mode) {
  ActivationDescriptor activation;
  LENET_CHECK(cudnnCreateActivationDescriptor(activation.put()));
  LENET_CHECK(cudnnSetActivationDescriptor(activation, mode, CUDNN_NOT_PROPAGATE_NAN, 0.0));
  return activation;
}

// 2  layers ---------------------------------------------------------------------------------------

/// Of the algorithms that cuDNN lists, best first, the first that worked with this math.
const cudnnConvolutionFwdAlgoPerf_t* first_usable(
    const std::vector<cudnnConvolutionFwdAlgoPerf_t>& listed, cudnnMathType_t math) {
  for (const auto& it : listed) {
    if (it.status == CUDNN_STATUS_SUCCESS && it.mathType == math) return &it;
  }
  return nullptr;
}

}  // namespace

CudnnNetwork::Activation::Activation(int images, int channels, int side)
    : shape(describe_tensor(images, channels, side)),
      values(std::size_t(images) * channels * side * side) {}

// load
CudnnNetwork::Convolution::Convolution(cudaStream_t stream, int inputs, int outputs,
                                       const float* weights, const float* biases,
                                       cudnnMathType_t math)
    : filter(describe_filter(outputs, inputs)),
      convolution(describe_convolution(math)),
      bias_shape(describe_tensor(1, outputs, 1)),
      weight(stream, weights, std::size_t(outputs) * inputs * kKernelSide * kKernelSide),
      bias(stream, biases, outputs) {}

// load
CudnnNetwork::FullyConnected::FullyConnected(cudaStream_t stream, int inputs, int outputs,
                                             const float* weights, const float* biases)
    : inputs(inputs),
      outputs(outputs),
      bias_shape(describe_tensor(1, outputs, 1)),
      weight(stream, weights, std::size_t(outputs) * inputs),
      bias(stream, biases, outputs) {}

// 3  the network ----------------------------------------------------------------------------------

CudnnNetwork::CudnnNetwork(const cuda::Session& opened, const Weights& w, const std::string& chosen,
                           int at_once)
    : session(opened),
      variant(chosen),
      images(at_once),
      conv1(stream, 1, kConv1Channels, w.conv1_weight, w.conv1_bias, math),
      conv2(stream, kConv1Channels, kConv2Channels, w.conv2_weight, w.conv2_bias, math),
      fc1(stream, kFc1Inputs, kFc1Outputs, w.fc1_weight, w.fc1_bias),
      fc2(stream, kFc1Outputs, kClasses, w.fc2_weight, w.fc2_bias),
      max_pooling(describe_max_pooling()),
      relu(describe_activation(CUDNN_ACTIVATION_RELU)),
      identity(describe_activation(CUDNN_ACTIVATION_IDENTITY)) {
  if (variant == "tf32") {
    cuda::require_tf32();
  } else {
    cuda::require_float32();
  }
  LENET_CHECK(cudnnCreate(cudnn.put()));
  LENET_CHECK(cudnnSetStream(cudnn, stream));
  LENET_CHECK(cublasCreate(cublas.put()));
  LENET_CHECK(cublasSetStream(cublas, stream));
  LENET_CHECK(cublasSetMathMode(
      cublas, variant == "tf32" ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));

  choose_algorithm(conv1, image, conv1_out);
  choose_algorithm(conv2, pool1_out, conv2_out);
  const std::size_t bytes = std::max(workspace_bytes(conv1, image, conv1_out),
                                     workspace_bytes(conv2, pool1_out, conv2_out));
  if (bytes != 0) convolution_workspace = DeviceFloats((bytes + 3) / 4);

  // cuBLAS would otherwise allocate its own when it first needs it: maybe while we capture.
  cublas_workspace = DeviceFloats(cuda::kCublasWorkspaceBytes / sizeof(float));
  LENET_CHECK(cublasSetWorkspace(cublas, cublas_workspace, cublas_workspace.bytes()));

  warm_up();  // it loads the kernels, which a capture must not
  if (variant == "cudagraph") {
    graph = cuda::capture(stream, [this] {
      copy_in();
      compute();
      copy_out();
    });
    warm_up();  // it brings the graph to the GPU, for which the first launch pays
  }
}

void CudnnNetwork::warm_up() {
  const std::vector<float> blank(kImagePixels);
  float ten[kClasses];
  infer(blank.data(), ten);
}

/// Default: the hard-coded algorithm, or the one that every GPU has where cuDNN lacks it here. Only
/// `find` asks cuDNN. An algorithm may be listed with CUDNN_DEFAULT_MATH: it is the second choice,
/// and keeps to the float32 that the convolution's descriptor demands; whether it can,
/// workspace_bytes() asks.
void CudnnNetwork::choose_algorithm(Convolution& layer, const Activation& input,
                                    const Activation& output) {
  if (variant != "find") {
    std::size_t bytes = 0;
    const cudnnStatus_t status = cudnnGetConvolutionForwardWorkspaceSize(
        cudnn, input.shape, layer.filter, layer.convolution, output.shape, layer.algorithm, &bytes);
    layer.refused = cuda::is_not_supported(status);
    if (layer.refused) layer.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
    return;
  }
  const auto listed = measure_algorithms(layer, input, output);
  const auto* chosen = first_usable(listed, CUDNN_FMA_MATH);
  if (chosen == nullptr) chosen = first_usable(listed, CUDNN_DEFAULT_MATH);
  if (chosen == nullptr) {
    throw cuda::CallFailed("cuDNN lists no float32 algorithm for a convolution of this network");
  }
  layer.algorithm = chosen->algo;
}

/// Runs every algorithm and measures it, twice, since the first time loads them all.
std::vector<cudnnConvolutionFwdAlgoPerf_t> CudnnNetwork::measure_algorithms(
    const Convolution& layer, const Activation& input, const Activation& output) {
  int count = 0;
  LENET_CHECK(cudnnGetConvolutionForwardAlgorithmMaxCount(cudnn, &count));
  std::vector<cudnnConvolutionFwdAlgoPerf_t> listed(static_cast<std::size_t>(count));
  const int room = count;
  for (int time = 0; time < 2; ++time) {
    LENET_CHECK(cudnnFindConvolutionForwardAlgorithm(cudnn, input.shape, layer.filter,
                                                     layer.convolution, output.shape, room, &count,
                                                     listed.data()));
  }
  listed.resize(static_cast<std::size_t>(count));
  return listed;
}

std::size_t CudnnNetwork::workspace_bytes(const Convolution& layer, const Activation& input,
                                          const Activation& output) {
  std::size_t bytes = 0;
  LENET_CHECK(cudnnGetConvolutionForwardWorkspaceSize(
      cudnn, input.shape, layer.filter, layer.convolution, output.shape, layer.algorithm, &bytes));
  return bytes;
}

// 4  a call ---------------------------------------------------------------------------------------

void CudnnNetwork::infer(const float* pixels, float* ten, int count) {
  std::copy_n(pixels, count * kImagePixels, static_cast<float*>(host_image));
  if (graph) {
    LENET_CHECK(cudaGraphLaunch(graph, stream));
  } else {
    copy_in();
    compute();
    copy_out();
  }
  LENET_CHECK(cudaStreamSynchronize(stream));
  std::copy_n(static_cast<const float*>(host_probabilities), count * kClasses, ten);
}

void CudnnNetwork::copy_in() {
  LENET_CHECK(cudaMemcpyAsync(image.values, host_image, host_image.bytes(), cudaMemcpyHostToDevice,
                              stream));
}

void CudnnNetwork::compute() {
  convolve(conv1, image, conv1_out);
  pool(conv1_out, pool1_out);  // pool1
  convolve(conv2, pool1_out, conv2_out);
  pool(conv2_out, pool2_out);  // pool2
  connect(fc1, pool2_out, fc1_out);
  // fc1
  LENET_CHECK(cudnnActivationForward(cudnn, relu, &kOne, fc1_out.shape, fc1_out.values, &kZero,
                                     fc1_out.shape, fc1_out.values));
  connect(fc2, fc1_out, fc2_out);
  LENET_CHECK(cudnnSoftmaxForward(cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne,
                                  fc2_out.shape, fc2_out.values, &kZero, probabilities.shape,
                                  probabilities.values));
}

void CudnnNetwork::copy_out() {
  LENET_CHECK(cudaMemcpyAsync(host_probabilities, probabilities.values, host_probabilities.bytes(),
                              cudaMemcpyDeviceToHost, stream));
}

// conv1 and conv2
void CudnnNetwork::convolve(const Convolution& layer, const Activation& input, Activation& output) {
  if (variant == "fused") {
    LENET_CHECK(cudnnConvolutionBiasActivationForward(
        cudnn, &kOne, input.shape, input.values, layer.filter, layer.weight, layer.convolution,
        layer.algorithm, convolution_workspace, convolution_workspace.bytes(), &kZero, output.shape,
        output.values, layer.bias_shape, layer.bias, identity, output.shape, output.values));
    return;
  }
  LENET_CHECK(cudnnConvolutionForward(cudnn, &kOne, input.shape, input.values, layer.filter,
                                      layer.weight, layer.convolution, layer.algorithm,
                                      convolution_workspace, convolution_workspace.bytes(), &kZero,
                                      output.shape, output.values));
  LENET_CHECK(cudnnAddTensor(cudnn, &kOne, layer.bias_shape, layer.bias, &kOne, output.shape,
                             output.values));
}

// pool1 and pool2
void CudnnNetwork::pool(const Activation& input, Activation& output) {
  LENET_CHECK(cudnnPoolingForward(cudnn, max_pooling, &kOne, input.shape, input.values, &kZero,
                                  output.shape, output.values));
}

/// cuBLAS counts by columns, so our row-major outputs x inputs is its transposed inputs x outputs.
/// One image is a vector, a batch a matrix with a column for each image.
// fc1 and fc2
void CudnnNetwork::connect(const FullyConnected& layer, const Activation& input,
                           Activation& output) {
  if (images == 1) {
    LENET_CHECK(cublasSgemv(cublas, CUBLAS_OP_T, layer.inputs, layer.outputs, &kOne, layer.weight,
                            layer.inputs, input.values, 1, &kZero, output.values, 1));
  } else {
    LENET_CHECK(cublasSgemm(cublas, CUBLAS_OP_T, CUBLAS_OP_N, layer.outputs, images, layer.inputs,
                            &kOne, layer.weight, layer.inputs, input.values, layer.inputs, &kZero,
                            output.values, layer.outputs));
  }
  LENET_CHECK(cudnnAddTensor(cudnn, &kOne, layer.bias_shape, layer.bias, &kOne, output.shape,
                             output.values));
}

}  // namespace lenet
