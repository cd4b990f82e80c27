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
CudnnNetwork::FullyConnected::FullyConnected(cudaStream_t stream, int from, int to,
                                             const float* weights, const float* biases)
    : inputs(from),
      outputs(to),
      bias_shape(describe_tensor(1, to, 1)),
      weight(stream, weights, std::size_t(to) * from),
      bias(stream, biases, to) {}

// 3  the network ----------------------------------------------------------------------------------

CudnnNetwork::CudnnNetwork(const cuda::Session& opened, const Weights& w, Variant chosen,
                           int at_once)
    : session_(opened),
      variant_(chosen),
      images_(at_once),
      conv1_(stream_, 1, kConv1Channels, w.conv1_weight, w.conv1_bias, math_),
      conv2_(stream_, kConv1Channels, kConv2Channels, w.conv2_weight, w.conv2_bias, math_),
      fc1_(stream_, kFc1Inputs, kFc1Outputs, w.fc1_weight, w.fc1_bias),
      fc2_(stream_, kFc1Outputs, kClasses, w.fc2_weight, w.fc2_bias),
      max_pooling_(describe_max_pooling()),
      relu_(describe_activation(CUDNN_ACTIVATION_RELU)),
      identity_(describe_activation(CUDNN_ACTIVATION_IDENTITY)) {
  if (variant_ == Variant::kTf32) {
    cuda::require_tf32();
  } else {
    cuda::require_float32();
  }
  LENET_CHECK(cudnnCreate(cudnn_.put()));
  LENET_CHECK(cudnnSetStream(cudnn_, stream_));
  LENET_CHECK(cublasCreate(cublas_.put()));
  LENET_CHECK(cublasSetStream(cublas_, stream_));
  LENET_CHECK(cublasSetMathMode(
      cublas_, variant_ == Variant::kTf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));

  choose_algorithm(conv1_, image_, conv1_out_);
  choose_algorithm(conv2_, pool1_out_, conv2_out_);
  const std::size_t bytes = std::max(workspace_bytes(conv1_, image_, conv1_out_),
                                     workspace_bytes(conv2_, pool1_out_, conv2_out_));
  if (bytes != 0) convolution_workspace_ = DeviceFloats((bytes + 3) / 4);

  // cuBLAS would otherwise allocate its own when it first needs it: maybe while we capture.
  cublas_workspace_ = DeviceFloats(cuda::kCublasWorkspaceBytes / sizeof(float));
  LENET_CHECK(cublasSetWorkspace(cublas_, cublas_workspace_, cublas_workspace_.bytes()));

  warm_up();  // it loads the kernels, which a capture must not
  if (variant_ == Variant::kCudaGraph) {
    graph_ = cuda::capture(stream_, [this] {
      copy_in();
      compute();
      copy_out();
    });
    warm_up();  // it brings the graph to the GPU, for which the first launch pays
  }
}

std::vector<cuda::Step> CudnnNetwork::make_steps() {
  const int convolution_calls = variant_ == Variant::kFused ? 1 : 2;
  return {
      {"conv1", convolution_calls, [this] { convolve(conv1_, image_, conv1_out_); },
       conv1_out_.values},
      {"pool1", 1, [this] { pool(conv1_out_, pool1_out_); }, pool1_out_.values},
      {"conv2", convolution_calls, [this] { convolve(conv2_, pool1_out_, conv2_out_); },
       conv2_out_.values},
      {"pool2", 1, [this] { pool(conv2_out_, pool2_out_); }, pool2_out_.values},
      {"fc1", 3,
       [this] {
         connect(fc1_, pool2_out_, fc1_out_);
         rectify(fc1_out_.shape, fc1_out_.values);
       },
       fc1_out_.values},
      {"fc2", 2, [this] { connect(fc2_, fc1_out_, fc2_out_); }, fc2_out_.values},
      // softmax
      {"probabilities", 1,
       [this] {
         LENET_CHECK(cudnnSoftmaxForward(cudnn_, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                         &kOne, fc2_out_.shape, fc2_out_.values, &kZero,
                                         probabilities_.shape, probabilities_.values));
       },
       probabilities_.values},
  };
}

cuda::Step CudnnNetwork::trivial() {
  return {"", 1, [this] { rectify(fc2_out_.shape, image_.values); }, image_.values};
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
  if (variant_ != Variant::kFind) {
    std::size_t bytes = 0;
    const cudnnStatus_t status = cudnnGetConvolutionForwardWorkspaceSize(
        cudnn_, input.shape, layer.filter, layer.convolution, output.shape, layer.algorithm,
        &bytes);
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
  LENET_CHECK(cudnnGetConvolutionForwardAlgorithmMaxCount(cudnn_, &count));
  std::vector<cudnnConvolutionFwdAlgoPerf_t> listed(static_cast<std::size_t>(count));
  const int room = count;
  for (int time = 0; time < 2; ++time) {
    LENET_CHECK(cudnnFindConvolutionForwardAlgorithm(cudnn_, input.shape, layer.filter,
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
      cudnn_, input.shape, layer.filter, layer.convolution, output.shape, layer.algorithm, &bytes));
  return bytes;
}

// 4  a call ---------------------------------------------------------------------------------------

void CudnnNetwork::infer(const float* pixels, float* ten, int count) {
  std::copy_n(pixels, count * kImagePixels, static_cast<float*>(host_image_));
  if (graph_) {
    LENET_CHECK(cudaGraphLaunch(graph_, stream_));
  } else {
    copy_in();
    compute();
    copy_out();
  }
  LENET_CHECK(cudaStreamSynchronize(stream_));
  std::copy_n(static_cast<const float*>(host_probabilities_), count * kClasses, ten);
}

void CudnnNetwork::copy_in() {
  LENET_CHECK(cudaMemcpyAsync(image_.values, host_image_, host_image_.bytes(),
                              cudaMemcpyHostToDevice, stream_));
}

void CudnnNetwork::compute() {
  for (const cuda::Step& step : steps_) step.put();
}

void CudnnNetwork::copy_out() {
  LENET_CHECK(cudaMemcpyAsync(host_probabilities_, probabilities_.values,
                              host_probabilities_.bytes(), cudaMemcpyDeviceToHost, stream_));
}

/// Two calls, as csrc/networks/cudnn.cpp makes them where no ReLU follows, and none does here. The
/// variant `fused` makes one: without a ReLU, cuDNN takes the bias in the same call with one
/// algorithm only, implicit precomputed gemm.
// conv1 and conv2
void CudnnNetwork::convolve(const Convolution& layer, const Activation& input, Activation& output) {
  if (variant_ == Variant::kFused) {
    LENET_CHECK(cudnnConvolutionBiasActivationForward(
        cudnn_, &kOne, input.shape, input.values, layer.filter, layer.weight, layer.convolution,
        layer.algorithm, convolution_workspace_, convolution_workspace_.bytes(), &kZero,
        output.shape, output.values, layer.bias_shape, layer.bias, identity_, output.shape,
        output.values));
    return;
  }
  LENET_CHECK(cudnnConvolutionForward(cudnn_, &kOne, input.shape, input.values, layer.filter,
                                      layer.weight, layer.convolution, layer.algorithm,
                                      convolution_workspace_, convolution_workspace_.bytes(),
                                      &kZero, output.shape, output.values));
  LENET_CHECK(cudnnAddTensor(cudnn_, &kOne, layer.bias_shape, layer.bias, &kOne, output.shape,
                             output.values));
}

// pool1 and pool2
void CudnnNetwork::pool(const Activation& input, Activation& output) {
  LENET_CHECK(cudnnPoolingForward(cudnn_, max_pooling_, &kOne, input.shape, input.values, &kZero,
                                  output.shape, output.values));
}

// fc1
void CudnnNetwork::rectify(const TensorDescriptor& shape, DeviceFloats& values) {
  LENET_CHECK(cudnnActivationForward(cudnn_, relu_, &kOne, shape, values, &kZero, shape, values));
}

/// cuBLAS counts by columns, so our row-major outputs x inputs is its transposed inputs x outputs.
/// One image is a vector, a batch a matrix with a column for each image.
// fc1 and fc2
void CudnnNetwork::connect(const FullyConnected& layer, const Activation& input,
                           Activation& output) {
  if (images_ == 1) {
    LENET_CHECK(cublasSgemv(cublas_, CUBLAS_OP_T, layer.inputs, layer.outputs, &kOne, layer.weight,
                            layer.inputs, input.values, 1, &kZero, output.values, 1));
  } else {
    LENET_CHECK(cublasSgemm(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, layer.outputs, images_, layer.inputs,
                            &kOne, layer.weight, layer.inputs, input.values, layer.inputs, &kZero,
                            output.values, layer.outputs));
  }
  LENET_CHECK(cudnnAddTensor(cudnn_, &kOne, layer.bias_shape, layer.bias, &kOne, output.shape,
                             output.values));
}

}  // namespace lenet
