// LeNet in kernels of our own: fused.cu and cluster.cu compute, fused.cpp launches.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "cuda/kernels.hpp"
#include "cuda/mailbox.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet {

/// Its variant is "" (launches and copies on a stream), "cudagraph" or "mapped".
struct FusedNetwork {
  /// What host and GPU share: pinned memory that both can address. What the one writes and what the
  /// other writes never share a cache line, which they would pull about.
  struct Shared {
    float image[kImagePixels];
    alignas(128) float probabilities[kClasses];
    alignas(128) gpu::Word answer[kClasses];  // in the variant `mapped`: cleared before a launch
  };

  /// Our kernels: one in a cluster, where that is wanted and can be had, or three.
  struct Code {
    Code(const cuda::Session& session, bool wanted);

    cuda::Kernels library;
    cudaKernel_t once = nullptr;
    cudaKernel_t convolutions = nullptr, fc1_relu = nullptr, fc2_softmax = nullptr;
  };

  /// Where an image goes in and ten floats come out.
  struct Boundary {
    Boundary();

    cuda::DeviceFloats image{kImagePixels}, probabilities{kClasses};
    cuda::PinnedFloats host{sizeof(Shared) / sizeof(float), cudaHostAllocMapped};
    Shared& shared = *reinterpret_cast<Shared*>(static_cast<float*>(host));
    Shared* on_gpu = nullptr;  // the same memory, at the address that the GPU knows
  };

  FusedNetwork(const cuda::Session& session, const Weights& weights, const std::string& variant);

  void infer(const float* image, float* probabilities);
  void warm_up();
  void enqueue();
  void copy_in();
  void compute();
  void copy_out();

  const cuda::Session& session;
  cudaStream_t stream = session.stream();
  bool mapped;
  Code code;
  cuda::KernelWeights weights;
  cuda::LayerMemory memory;
  Boundary boundary;
  cuda::GraphExec graph;
};

}  // namespace lenet
