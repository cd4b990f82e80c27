// LeNet on cuDNN and cuBLAS, as one writes it against their classic API: a descriptor for every
// tensor, then one library call a step, all on one stream.
//
//   1  owners and descriptors    what cuDNN wants to know before it computes
//   2  layers                    parameters on the GPU, algorithms chosen once
//   3  the network               every buffer allocated here, none in a call
//   4  one image                 copy in, eight layers, copy out, wait
#include "cuda/cudnn.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <algorithm>

#include "cuda/errors.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"

namespace lenet {
namespace {

using cuda::DeviceFloats;
using cuda::Owner;
using cuda::PinnedFloats;

// cuDNN and cuBLAS compute `output = alpha * operation(input) + beta * output`.
constexpr float kOne = 1.0f;
constexpr float kZero = 0.0f;

// 1  owners and descriptors -----------------------------------------------------------------------

using CudnnHandle = Owner<cudnnHandle_t, cudnnDestroy>;
using CublasHandle = Owner<cublasHandle_t, cublasDestroy>;
using TensorDescriptor = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using FilterDescriptor = Owner<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor =
    Owner<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;
using PoolingDescriptor = Owner<cudnnPoolingDescriptor_t, cudnnDestroyPoolingDescriptor>;
using ActivationDescriptor = Owner<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor>;

/// One image's tensor: channels x side x side, row by row.
TensorDescriptor describe_tensor(int channels, int side) {
  TensorDescriptor tensor;
  LENET_CHECK(cudnnCreateTensorDescriptor(tensor.put()));
  LENET_CHECK(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, channels,
                                         side, side));
  return tensor;
}

FilterDescriptor describe_filter(int outputs, int inputs) {
  FilterDescriptor filter;
  LENET_CHECK(cudnnCreateFilterDescriptor(filter.put()));
  LENET_CHECK(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, outputs,
                                         inputs, kKernelSide, kKernelSide));
  return filter;
}

/// No padding, stride 1. Cross-correlation is what every network calls a convolution; what
/// cuDNN calls CUDNN_CONVOLUTION flips the kernel.
ConvolutionDescriptor describe_convolution(cudnnMathType_t math) {
  ConvolutionDescriptor convolution;
  LENET_CHECK(cudnnCreateConvolutionDescriptor(convolution.put()));
  LENET_CHECK(cudnnSetConvolution2dDescriptor(convolution, 0, 0, 1, 1, 1, 1,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  LENET_CHECK(cudnnSetConvolutionMathType(convolution, math));
  return convolution;
}

PoolingDescriptor describe_max_pooling() {
  PoolingDescriptor pooling;
  LENET_CHECK(cudnnCreatePoolingDescriptor(pooling.put()));
  LENET_CHECK(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 2, 2,
                                          0, 0, 2, 2));
  return pooling;
}

ActivationDescriptor describe_relu() {
  ActivationDescriptor relu;
  LENET_CHECK(cudnnCreateActivationDescriptor(relu.put()));
  LENET_CHECK(
      cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0.0));
  return relu;
}

// 2  layers ---------------------------------------------------------------------------------------

/// What goes from one layer to the next.
struct Activation {
  Activation(int channels, int side)
      : shape(describe_tensor(channels, side)), values(std::size_t(channels) * side * side) {}

  TensorDescriptor shape;
  DeviceFloats values;
};

struct Convolution {
  Convolution(int inputs, int outputs, const float* weights, const float* biases,
              cudnnMathType_t math)
      : filter(describe_filter(outputs, inputs)),
        convolution(describe_convolution(math)),
        bias_shape(describe_tensor(outputs, 1)),
        weight(weights, std::size_t(outputs) * inputs * kKernelSide * kKernelSide),
        bias(biases, outputs) {}

  FilterDescriptor filter;
  ConvolutionDescriptor convolution;
  TensorDescriptor bias_shape;
  DeviceFloats weight, bias;
  cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
};

struct FullyConnected {
  FullyConnected(int inputs, int outputs, const float* weights, const float* biases)
      : inputs(inputs),
        outputs(outputs),
        bias_shape(describe_tensor(outputs, 1)),
        weight(weights, std::size_t(outputs) * inputs),
        bias(biases, outputs) {}

  int inputs, outputs;
  TensorDescriptor bias_shape;
  DeviceFloats weight, bias;
};

/// Of the algorithms that cuDNN lists, best first, the first that worked and keeps to our math.
cudnnConvolutionFwdAlgo_t first_usable(const cudnnConvolutionFwdAlgoPerf_t* found, int count) {
  for (const auto* it = found; it != found + count; ++it) {
    const bool float32 = it->mathType == CUDNN_FMA_MATH || it->mathType == CUDNN_DEFAULT_MATH;
    if (it->status == CUDNN_STATUS_SUCCESS && float32) return it->algo;
  }
  throw cuda::CallFailed("cuDNN knows no float32 algorithm for this convolution");
}

const char* name_of(cudnnConvolutionFwdAlgo_t algorithm) {
  constexpr const char* kNames[CUDNN_CONVOLUTION_FWD_ALGO_COUNT] = {
      "implicit gemm", "implicit precomputed gemm", "gemm", "direct", "fft", "fft tiling",
      "winograd",      "winograd nonfused"};
  return kNames[algorithm];
}

}  // namespace

// 3  the network ----------------------------------------------------------------------------------

struct Cudnn::Network {
  Network(const Weights& weights, const std::string& variant);

  void answer(const float* pixels, float* ten);
  void copy_in();
  void compute();
  void copy_out();
  void convolve(const Convolution& layer, const Activation& input, Activation& output);
  void pool(const Activation& input, Activation& output);
  void connect(const FullyConnected& layer, const Activation& input, Activation& output);
  void choose_algorithm(Convolution& layer, const Activation& input, const Activation& output);
  std::size_t workspace_bytes(const Convolution& layer, const Activation& input,
                              const Activation& output);

  std::string variant;
  cuda::Session session;
  cudaStream_t stream = session.stream();
  CudnnHandle cudnn;
  CublasHandle cublas;

  // Since Ampere, cuDNN's default math rounds float32 to the 10 bits of TF32: only where asked.
  cudnnMathType_t math = variant == "tf32" ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  Convolution conv1, conv2;
  FullyConnected fc1, fc2;
  PoolingDescriptor max_pooling = describe_max_pooling();
  ActivationDescriptor relu = describe_relu();

  PinnedFloats host_image{kImagePixels}, host_probabilities{kClasses};
  Activation image{1, kImageSide};
  Activation conv1_out{kConv1Channels, kConv1Side}, pool1_out{kConv1Channels, kPool1Side};
  Activation conv2_out{kConv2Channels, kConv2Side}, pool2_out{kConv2Channels, kPool2Side};
  Activation fc1_out{kFc1Outputs, 1}, fc2_out{kClasses, 1}, probabilities{kClasses, 1};
  DeviceFloats convolution_workspace, cublas_workspace;

  cuda::GraphExec graph;
};

Cudnn::Network::Network(const Weights& w, const std::string& chosen)
    : variant(chosen),
      conv1(1, kConv1Channels, w.conv1_weight, w.conv1_bias, math),
      conv2(kConv1Channels, kConv2Channels, w.conv2_weight, w.conv2_bias, math),
      fc1(kFc1Inputs, kFc1Outputs, w.fc1_weight, w.fc1_bias),
      fc2(kFc1Outputs, kClasses, w.fc2_weight, w.fc2_bias) {
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
  cublas_workspace = DeviceFloats((4 << 20) / sizeof(float));
  LENET_CHECK(cublasSetWorkspace(cublas, cublas_workspace, cublas_workspace.bytes()));

  // The first call loads the kernels, which a capture must not.
  const std::vector<float> blank(kImagePixels);
  float ten[kClasses];
  session.run([&] { answer(blank.data(), ten); });
  if (variant == "graph") {
    graph = cuda::capture(stream, [this] { copy_in(), compute(), copy_out(); });
  }
}

/// `find` runs every algorithm and measures it; `heuristic` asks cuDNN for its guess; the others
/// take what most code of the time names by hand.
void Cudnn::Network::choose_algorithm(Convolution& layer, const Activation& input,
                                      const Activation& output) {
  cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
  int count = 0;
  if (variant == "find") {
    LENET_CHECK(cudnnFindConvolutionForwardAlgorithm(
        cudnn, input.shape, layer.filter, layer.convolution, output.shape,
        CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count, found));
  } else if (variant == "heuristic") {
    LENET_CHECK(cudnnGetConvolutionForwardAlgorithm_v7(
        cudnn, input.shape, layer.filter, layer.convolution, output.shape,
        CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count, found));
  } else {
    return;
  }
  layer.algorithm = first_usable(found, count);
}

std::size_t Cudnn::Network::workspace_bytes(const Convolution& layer, const Activation& input,
                                            const Activation& output) {
  std::size_t bytes = 0;
  LENET_CHECK(cudnnGetConvolutionForwardWorkspaceSize(
      cudnn, input.shape, layer.filter, layer.convolution, output.shape, layer.algorithm, &bytes));
  return bytes;
}

// 4  one image ------------------------------------------------------------------------------------

void Cudnn::Network::answer(const float* pixels, float* ten) {
  std::copy_n(pixels, kImagePixels, static_cast<float*>(host_image));
  if (graph) {
    LENET_CHECK(cudaGraphLaunch(graph, stream));
  } else {
    copy_in();
    compute();
    copy_out();
  }
  LENET_CHECK(cudaStreamSynchronize(stream));
  std::copy_n(static_cast<const float*>(host_probabilities), kClasses, ten);
}

void Cudnn::Network::copy_in() {
  LENET_CHECK(cudaMemcpyAsync(image.values, host_image, host_image.bytes(), cudaMemcpyHostToDevice,
                              stream));
}

void Cudnn::Network::compute() {
  convolve(conv1, image, conv1_out);
  pool(conv1_out, pool1_out);
  convolve(conv2, pool1_out, conv2_out);
  pool(conv2_out, pool2_out);
  connect(fc1, pool2_out, fc1_out);
  LENET_CHECK(cudnnActivationForward(cudnn, relu, &kOne, fc1_out.shape, fc1_out.values, &kZero,
                                     fc1_out.shape, fc1_out.values));
  connect(fc2, fc1_out, fc2_out);
  LENET_CHECK(cudnnSoftmaxForward(cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne,
                                  fc2_out.shape, fc2_out.values, &kZero, probabilities.shape,
                                  probabilities.values));
}

void Cudnn::Network::copy_out() {
  LENET_CHECK(cudaMemcpyAsync(host_probabilities, probabilities.values, host_probabilities.bytes(),
                              cudaMemcpyDeviceToHost, stream));
}

void Cudnn::Network::convolve(const Convolution& layer, const Activation& input,
                              Activation& output) {
  LENET_CHECK(cudnnConvolutionForward(cudnn, &kOne, input.shape, input.values, layer.filter,
                                      layer.weight, layer.convolution, layer.algorithm,
                                      convolution_workspace, convolution_workspace.bytes(), &kZero,
                                      output.shape, output.values));
  LENET_CHECK(cudnnAddTensor(cudnn, &kOne, layer.bias_shape, layer.bias, &kOne, output.shape,
                             output.values));
}

void Cudnn::Network::pool(const Activation& input, Activation& output) {
  LENET_CHECK(cudnnPoolingForward(cudnn, max_pooling, &kOne, input.shape, input.values, &kZero,
                                  output.shape, output.values));
}

/// cuBLAS counts by columns, so our row-major outputs x inputs is its transposed inputs x outputs.
void Cudnn::Network::connect(const FullyConnected& layer, const Activation& input,
                             Activation& output) {
  LENET_CHECK(cublasSgemv(cublas, CUBLAS_OP_T, layer.inputs, layer.outputs, &kOne, layer.weight,
                          layer.inputs, input.values, 1, &kZero, output.values, 1));
  LENET_CHECK(cudnnAddTensor(cudnn, &kOne, layer.bias_shape, layer.bias, &kOne, output.shape,
                             output.values));
}

Cudnn::Cudnn(const Weights& weights, int /*threads*/, const std::string& variant)
    : network_(cuda::make_in_this_process<Network>(weights, variant)) {}

void Cudnn::infer(const float* images, std::size_t count, float* probabilities) const {
  network_->session.run([&] {
    for (std::size_t i = 0; i < count; ++i) {
      network_->answer(images + i * kImagePixels, probabilities + i * kClasses);
    }
  });
}

std::vector<Layer> Cudnn::layers(const float* image) const {
  Network& n = *network_;
  const auto read = [](const char* name, const Activation& activation) {
    Layer layer{name, std::vector<float>(activation.values.count())};
    LENET_CHECK(cudaMemcpy(layer.values.data(), activation.values, activation.values.bytes(),
                           cudaMemcpyDeviceToHost));
    return layer;
  };
  std::vector<Layer> layers;
  n.session.run([&] {
    float probabilities[kClasses];
    n.answer(image, probabilities);
    layers = {read("conv1", n.conv1_out),
              read("pool1", n.pool1_out),
              read("conv2", n.conv2_out),
              read("pool2", n.pool2_out),
              read("fc1", n.fc1_out),
              read("fc2", n.fc2_out),
              read("probabilities", n.probabilities)};
  });
  return layers;
}

std::map<std::string, std::string> Cudnn::describe() const {
  auto facts = network_->session.facts(network_->probabilities.values);
  facts["conv1"] = name_of(network_->conv1.algorithm);
  facts["conv2"] = name_of(network_->conv2.algorithm);
  facts["math"] = network_->variant == "tf32" ? "TF32 allowed" : "float32";
  facts["launch"] = network_->graph ? "one CUDA graph" : "14 calls on a stream";
  facts["workspace"] = std::to_string(network_->convolution_workspace.bytes()) + " bytes";
  return facts;
}

std::map<std::string, double> Cudnn::profile(const float* image, int calls) const {
  Network& n = *network_;
  std::map<std::string, double> medians;
  n.session.run([&] {
    std::copy_n(image, kImagePixels, static_cast<float*>(n.host_image));
    medians =
        cuda::profile(n.stream, {[&] { n.copy_in(); }, [&] { n.compute(); }, [&] { n.copy_out(); }},
                      n.variant == "graph", calls);
  });
  return medians;
}

}  // namespace lenet
