// LeNet in kernels of our own: fused.cu and cluster.cu compute, fused.cpp launches.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <string>
#include <vector>

#include "cuda/kernels.hpp"
#include "cuda/mailbox.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet {

class FusedNetwork {
 public:
  enum class Variant { kStream, kCudaGraph, kMapped };  // fused.cpp says what each does

  FusedNetwork(const cuda::Session& session, const Weights& weights, Variant variant);
  FusedNetwork(const FusedNetwork&) = delete;  // its steps refer to it

  void infer(const float* image, float* probabilities);

  // The stages of a call, each put on the stream and not waited for.
  void copy_in();
  void compute();
  void copy_out();

  const std::vector<cuda::Step>& steps() const { return steps_; }
  /// The cheapest call there is: it leaves the first ten pixels of an image as they are.
  cuda::Step trivial();
  const cuda::DeviceFloats& image() const { return boundary_.image; }
  const cuda::Session& session() const { return session_; }
  bool is_captured() const { return bool(graph_); }
  friend std::vector<Layer> layers_of(FusedNetwork& network, const float* image);
  friend std::map<std::string, std::string> facts_of(const FusedNetwork& network);

 private:
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

  std::vector<cuda::Step> make_steps();
  void warm_up();
  void enqueue();

  const cuda::Session& session_;
  cudaStream_t stream_ = session_.stream();
  bool mapped_;
  Code code_;
  cuda::KernelWeights weights_;
  cuda::LayerMemory memory_;
  Boundary boundary_;
  const std::vector<cuda::Step> steps_ = make_steps();
  cuda::GraphExec graph_;
};

}  // namespace lenet
