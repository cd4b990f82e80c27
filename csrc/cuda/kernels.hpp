// Our kernels on the GPU at hand: loading, launching, and the memory that they work on.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "cuda/fused_geometry.hpp"
#include "cuda/nvrtc.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet::cuda {

/// The kernels of one source, compiled for one GPU.
class Kernels {
 public:
  Kernels() = default;
  Kernels(const KernelSource& source, int capability);
  cudaKernel_t operator[](const char* name) const;

 private:
  Library library_;
};

/// cluster.cu's. Raises Unavailable where the GPU cannot run a cluster of its size: `kernel` is
/// asked, with as many threads a block.
Kernels cluster_kernels(const Session& session, const char* kernel, int threads);

/// The arguments have to be of the kernel's types: nobody checks.
template <class... Arguments>
void launch(cudaStream_t stream, cudaKernel_t kernel, int blocks, int threads,
            Arguments... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  LENET_CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads),
                               pointers, 0, stream));
}

/// In which order fc1's weights lie: as one warp reads an output's, or as a cluster's threads do.
enum class Fc1Order { kByOutput, kByThread };

/// The weights in the GPU's memory, packed as our kernels read them.
class KernelWeights {
 public:
  KernelWeights(cudaStream_t stream, const Weights& weights, Fc1Order order);
  gpu::Parameters parameters() const;

 private:
  DeviceFloats conv1_, conv2_, conv2_bias_, fc1_, fc1_bias_, fc2_, fc2_bias_;
};

/// The memory that our kernels leave the layers in.
struct LayerMemory {
  gpu::Outputs outputs() const { return {pool2, fc1, fc2}; }
  /// What is there now. Nothing may run that writes it.
  std::vector<Layer> read(cudaStream_t stream) const;

  DeviceFloats pool2{kFc1Inputs}, fc1{kFc1Outputs}, fc2{kClasses};
};

}  // namespace lenet::cuda
