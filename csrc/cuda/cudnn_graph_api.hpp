// LeNet on cuDNN's graph API: cudnn_graph_api.cpp computes.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <map>
#include <string>
#include <vector>

#include "cuda/cudnn_plan.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet {

class CudnnGraphApiNetwork {
 public:
  using CudnnHandle = cuda::Owner<cudnnHandle_t, cudnnDestroy>;
  using CublasHandle = cuda::Owner<cublasHandle_t, cublasDestroy>;
  using TensorDescriptor = cuda::Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
  using ActivationDescriptor =
      cuda::Owner<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor>;

  /// A network is built for a number of images a call, as its plans are.
  static constexpr int kMostImages = 1024;
  enum class Variant { kStream, kCudaGraph };

  CudnnGraphApiNetwork(const cuda::Session& session, const Weights& weights, Variant variant,
                       int images = 1);
  CudnnGraphApiNetwork(const CudnnGraphApiNetwork&) = delete;  // its steps refer to it

  /// `count` images, at most as many as it is built for.
  void infer(const float* pixels, float* ten, int count = 1);

  // The stages of a call, each put on the stream and not waited for.
  void copy_in();
  void compute();
  void copy_out();

  const std::vector<cuda::Step>& steps() const { return steps_; }
  /// The cheapest call there is: it leaves the first ten pixels of an image as they are.
  cuda::Step trivial();
  const cuda::DeviceFloats& image() const { return image_; }
  const cuda::Session& session() const { return session_; }
  bool is_captured() const { return bool(graph_); }
  friend std::map<std::string, std::string> facts_of(const CudnnGraphApiNetwork& network);

 private:
  /// A plan that has run, with all that a call of it needs.
  struct Planned {
    Planned(cudnnHandle_t handle, cudaStream_t stream, const char* name, cuda::OperationGraph graph,
            const cuda::Tensors& tensors);

    cuda::Plan plan;
    cuda::DeviceFloats workspace;
    cuda::Descriptor pointers;
  };

  struct FullyConnected {
    FullyConnected(cudaStream_t stream, int n, int from, int to, const float* weights,
                   const float* biases);

    int images, inputs, outputs;
    TensorDescriptor bias_shape, output_shape;
    cuda::DeviceFloats weight, bias;
  };

  std::vector<cuda::Step> make_steps();
  void execute(const Planned& layer);
  void connect(const FullyConnected& layer, const cuda::DeviceFloats& input,
               cuda::DeviceFloats& output);
  void rectify(const TensorDescriptor& shape, cuda::DeviceFloats& values);

  const cuda::Session& session_;
  cudaStream_t stream_ = session_.stream();
  CudnnHandle cudnn_;
  CublasHandle cublas_;
  std::size_t images_;

  cuda::DeviceFloats conv1_weight_, conv1_bias_, conv2_weight_, conv2_bias_;
  FullyConnected fc1_, fc2_;
  ActivationDescriptor relu_;

  cuda::PinnedFloats host_image_{images_ * kImagePixels}, host_probabilities_{images_ * kClasses};
  cuda::DeviceFloats image_{images_ * kImagePixels};
  cuda::DeviceFloats conv1_out_{images_ * kConv1Channels * kConv1Side * kConv1Side};
  cuda::DeviceFloats pool1_out_{images_ * kConv1Channels * kPool1Side * kPool1Side};
  cuda::DeviceFloats conv2_out_{images_ * kConv2Channels * kConv2Side * kConv2Side};
  cuda::DeviceFloats pool2_out_{images_ * kFc1Inputs};
  cuda::DeviceFloats fc1_out_{images_ * kFc1Outputs}, fc2_out_{images_ * kClasses};
  cuda::DeviceFloats probabilities_{images_ * kClasses};
  cuda::DeviceFloats cublas_workspace_{cuda::kCublasWorkspaceBytes / sizeof(float)};

  Planned conv1_, pool1_, conv2_, pool2_;
  const std::vector<cuda::Step> steps_ = make_steps();

  cuda::GraphExec graph_;
};

}  // namespace lenet
