// LeNet on cuDNN and cuBLAS: cudnn.cpp computes.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <string>
#include <vector>

#include "cuda/owners.hpp"
#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet {

/// What cuDNN calls its algorithms for a convolution, by their numbers.
constexpr const char* kAlgorithmNames[CUDNN_CONVOLUTION_FWD_ALGO_COUNT] = {
    "implicit gemm", "implicit precomputed gemm", "gemm", "direct", "fft", "fft tiling",
    "winograd",      "winograd nonfused"};

/// Its variant is "" (algorithm named by hand), "find", "fused", "tf32" or "cudagraph".
struct CudnnNetwork {
  template <class Handle, auto destroy>
  using Owner = cuda::Owner<Handle, destroy>;
  using CudnnHandle = Owner<cudnnHandle_t, cudnnDestroy>;
  using CublasHandle = Owner<cublasHandle_t, cublasDestroy>;
  using TensorDescriptor = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
  using FilterDescriptor = Owner<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
  using ConvolutionDescriptor =
      Owner<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;
  using PoolingDescriptor = Owner<cudnnPoolingDescriptor_t, cudnnDestroyPoolingDescriptor>;
  using ActivationDescriptor = Owner<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor>;

  /// What goes from one layer to the next, of all images of a call.
  struct Activation {
    Activation(int images, int channels, int side);

    TensorDescriptor shape;
    cuda::DeviceFloats values;
  };

  struct Convolution {
    Convolution(cudaStream_t stream, int inputs, int outputs, const float* weights,
                const float* biases, cudnnMathType_t math);

    FilterDescriptor filter;
    ConvolutionDescriptor convolution;
    TensorDescriptor bias_shape;
    cuda::DeviceFloats weight, bias;
    cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    bool refused = false;  // that one, by this cuDNN on this GPU
  };

  struct FullyConnected {
    FullyConnected(cudaStream_t stream, int inputs, int outputs, const float* weights,
                   const float* biases);

    int inputs, outputs;
    TensorDescriptor bias_shape;
    cuda::DeviceFloats weight, bias;
  };

  /// A network is built for a number of images a call, as its tensors and graph are.
  static constexpr int kMostImages = 1024;
  CudnnNetwork(const cuda::Session& session, const Weights& weights, const std::string& variant,
               int images = 1);

  /// `count` images, at most as many as it is built for.
  void infer(const float* pixels, float* ten, int count = 1);
  void warm_up();
  void copy_in();
  void compute();
  void copy_out();
  void convolve(const Convolution& layer, const Activation& input, Activation& output);
  void pool(const Activation& input, Activation& output);
  void connect(const FullyConnected& layer, const Activation& input, Activation& output);
  void choose_algorithm(Convolution& layer, const Activation& input, const Activation& output);
  std::vector<cudnnConvolutionFwdAlgoPerf_t> measure_algorithms(const Convolution& layer,
                                                                const Activation& input,
                                                                const Activation& output);
  std::size_t workspace_bytes(const Convolution& layer, const Activation& input,
                              const Activation& output);

  const cuda::Session& session;
  std::string variant;
  int images;
  cudaStream_t stream = session.stream();
  CudnnHandle cudnn;
  CublasHandle cublas;

  // Since Ampere, cuDNN's default math rounds float32 to the 10 bits of TF32: only where asked.
  cudnnMathType_t math = variant == "tf32" ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  Convolution conv1, conv2;
  FullyConnected fc1, fc2;
  PoolingDescriptor max_pooling;
  ActivationDescriptor relu, identity;

  cuda::PinnedFloats host_image{std::size_t(images) * kImagePixels};
  cuda::PinnedFloats host_probabilities{std::size_t(images) * kClasses};
  Activation image{images, 1, kImageSide};
  Activation conv1_out{images, kConv1Channels, kConv1Side};
  Activation pool1_out{images, kConv1Channels, kPool1Side};
  Activation conv2_out{images, kConv2Channels, kConv2Side};
  Activation pool2_out{images, kConv2Channels, kPool2Side};
  Activation fc1_out{images, kFc1Outputs, 1}, fc2_out{images, kClasses, 1};
  Activation probabilities{images, kClasses, 1};
  cuda::DeviceFloats convolution_workspace, cublas_workspace;

  cuda::GraphExec graph;
};

}  // namespace lenet
