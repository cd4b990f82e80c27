// LeNet on cuDNN's graph API: cudnn_frontend.cpp computes.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include "bindings/on_gpu.hpp"
#include "cuda/cudnn_plan.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet {

struct CudnnFrontendNetwork {
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
    FullyConnected(cudaStream_t stream, int inputs, int outputs, const float* weights,
                   const float* biases);

    int inputs, outputs;
    TensorDescriptor row;
    cuda::DeviceFloats weight, bias;
  };

  CudnnFrontendNetwork(const cuda::Session& session, const Weights& weights);

  void infer(const float* image, float* probabilities);
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

  cuda::DeviceFloats conv1_weight, conv1_bias, conv2_weight, conv2_bias;
  FullyConnected fc1, fc2;
  ActivationDescriptor relu;

  cuda::PinnedFloats host_image{kImagePixels}, host_probabilities{kClasses};
  cuda::DeviceFloats image{kImagePixels};
  cuda::DeviceFloats conv1_out{kConv1Channels * kConv1Side * kConv1Side};
  cuda::DeviceFloats pool1_out{kConv1Channels * kPool1Side * kPool1Side};
  cuda::DeviceFloats conv2_out{kConv2Channels * kConv2Side * kConv2Side};
  cuda::DeviceFloats pool2_out{kFc1Inputs};
  cuda::DeviceFloats fc1_out{kFc1Outputs}, fc2_out{kClasses}, probabilities{kClasses};
  cuda::DeviceFloats cublas_workspace{(4 << 20) / sizeof(float)};

  Step conv1, pool1, conv2, pool2;
};

using CudnnFrontend = cuda::OnGpu<CudnnFrontendNetwork>;

}  // namespace lenet

extern template class lenet::cuda::OnGpu<lenet::CudnnFrontendNetwork>;
