// LeNet on cuDNN's graph API: cudnn_graph_api.cpp computes.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <string>

#include "cuda/cudnn_plan.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet {

/// Its variant is "" or "cudagraph".
struct CudnnGraphApiNetwork {
  using CudnnHandle = cuda::Owner<cudnnHandle_t, cudnnDestroy>;
  using CublasHandle = cuda::Owner<cublasHandle_t, cublasDestroy>;
  using TensorDescriptor = cuda::Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
  using ActivationDescriptor =
      cuda::Owner<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor>;

  /// A plan that has run, with all that a call of it needs.
  struct Step {
    Step(cudnnHandle_t handle, cudaStream_t stream, const char* name, cuda::OperationGraph graph,
         const cuda::Tensors& tensors);

    cuda::Plan plan;
    cuda::DeviceFloats workspace;
    cuda::Descriptor pointers;
  };

  struct FullyConnected {
    FullyConnected(cudaStream_t stream, int images, int inputs, int outputs, const float* weights,
                   const float* biases);

    int images, inputs, outputs;
    TensorDescriptor bias_shape, output_shape;
    cuda::DeviceFloats weight, bias;
  };

  /// A network is built for a number of images a call, as its plans are.
  static constexpr int kMostImages = 1024;
  CudnnGraphApiNetwork(const cuda::Session& session, const Weights& weights,
                       const std::string& variant, int images = 1);

  /// `count` images, at most as many as it is built for.
  void infer(const float* pixels, float* ten, int count = 1);
  void copy_in();
  void compute();
  void copy_out();
  void execute(const Step& step);
  void connect(const FullyConnected& layer, const cuda::DeviceFloats& input,
               cuda::DeviceFloats& output);

  const cuda::Session& session;
  cudaStream_t stream = session.stream();
  CudnnHandle cudnn;
  CublasHandle cublas;
  std::size_t images;

  cuda::DeviceFloats conv1_weight, conv1_bias, conv2_weight, conv2_bias;
  FullyConnected fc1, fc2;
  ActivationDescriptor relu;

  cuda::PinnedFloats host_image{images * kImagePixels}, host_probabilities{images * kClasses};
  cuda::DeviceFloats image{images * kImagePixels};
  cuda::DeviceFloats conv1_out{images * kConv1Channels * kConv1Side * kConv1Side};
  cuda::DeviceFloats pool1_out{images * kConv1Channels * kPool1Side * kPool1Side};
  cuda::DeviceFloats conv2_out{images * kConv2Channels * kConv2Side * kConv2Side};
  cuda::DeviceFloats pool2_out{images * kFc1Inputs};
  cuda::DeviceFloats fc1_out{images * kFc1Outputs}, fc2_out{images * kClasses};
  cuda::DeviceFloats probabilities{images * kClasses};
  cuda::DeviceFloats cublas_workspace{cuda::kCublasWorkspaceBytes / sizeof(float)};

  Step conv1, pool1, conv2, pool2;

  cuda::GraphExec graph;  // with "cudagraph"
};

}  // namespace lenet
