// LeNet on cuDNN and cuBLAS: cudnn.cpp computes.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <map>
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

class CudnnNetwork {
 public:
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

  /// A network is built for a number of images a call, as its tensors and graph are.
  static constexpr int kMostImages = 1024;
  /// The algorithm named by hand, or found by cuDNN; a convolution and its bias in one call; TF32
  /// allowed; all of it as a CUDA graph.
  enum class Variant { kNamed, kFind, kFused, kTf32, kCudaGraph };

  CudnnNetwork(const cuda::Session& session, const Weights& weights, Variant variant,
               int images = 1);
  CudnnNetwork(const CudnnNetwork&) = delete;  // its steps refer to it

  /// `count` images, at most as many as it is built for.
  void infer(const float* pixels, float* ten, int count = 1);

  // The stages of a call, each put on the stream and not waited for.
  void copy_in();
  void compute();
  void copy_out();

  const std::vector<cuda::Step>& steps() const { return steps_; }
  /// The cheapest call there is: it leaves the first ten pixels of an image as they are.
  cuda::Step trivial();
  const cuda::DeviceFloats& image() const { return image_.values; }
  const cuda::Session& session() const { return session_; }
  bool is_captured() const { return bool(graph_); }
  friend std::map<std::string, std::string> facts_of(const CudnnNetwork& network);

 private:
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
    FullyConnected(cudaStream_t stream, int from, int to, const float* weights,
                   const float* biases);

    int inputs, outputs;
    TensorDescriptor bias_shape;
    cuda::DeviceFloats weight, bias;
  };

  std::vector<cuda::Step> make_steps();
  void warm_up();
  void convolve(const Convolution& layer, const Activation& input, Activation& output);
  void pool(const Activation& input, Activation& output);
  void connect(const FullyConnected& layer, const Activation& input, Activation& output);
  void rectify(const TensorDescriptor& shape, cuda::DeviceFloats& values);
  void choose_algorithm(Convolution& layer, const Activation& input, const Activation& output);
  std::vector<cudnnConvolutionFwdAlgoPerf_t> measure_algorithms(const Convolution& layer,
                                                                const Activation& input,
                                                                const Activation& output);
  std::size_t workspace_bytes(const Convolution& layer, const Activation& input,
                              const Activation& output);

  const cuda::Session& session_;
  Variant variant_;
  int images_;
  cudaStream_t stream_ = session_.stream();
  CudnnHandle cudnn_;
  CublasHandle cublas_;

  // Since Ampere, cuDNN's default math rounds float32 to the 10 bits of TF32: only where asked.
  cudnnMathType_t math_ = variant_ == Variant::kTf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
  Convolution conv1_, conv2_;
  FullyConnected fc1_, fc2_;
  PoolingDescriptor max_pooling_;
  ActivationDescriptor relu_, identity_;

  cuda::PinnedFloats host_image_{std::size_t(images_) * kImagePixels};
  cuda::PinnedFloats host_probabilities_{std::size_t(images_) * kClasses};
  Activation image_{images_, 1, kImageSide};
  Activation conv1_out_{images_, kConv1Channels, kConv1Side};
  Activation pool1_out_{images_, kConv1Channels, kPool1Side};
  Activation conv2_out_{images_, kConv2Channels, kConv2Side};
  Activation pool2_out_{images_, kConv2Channels, kPool2Side};
  Activation fc1_out_{images_, kFc1Outputs, 1}, fc2_out_{images_, kClasses, 1};
  Activation probabilities_{images_, kClasses, 1};
  cuda::DeviceFloats convolution_workspace_, cublas_workspace_;

  const std::vector<cuda::Step> steps_ = make_steps();
  cuda::GraphExec graph_;
};

}  // namespace lenet
