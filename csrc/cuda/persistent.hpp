// LeNet on one kernel that stays on the GPU: cluster.cu computes, persistent.cpp calls for it.
#pragma once

#include <cuda_runtime.h>

#include "cuda/kernels.hpp"
#include "cuda/resident.hpp"
#include "cuda/session.hpp"
#include "lenet.hpp"

namespace lenet {

struct PersistentNetwork {
  PersistentNetwork(const cuda::Session& session, const Weights& weights);

  void infer(const float* image, float* probabilities);

  const cuda::Session& session;
  cudaStream_t stream = session.stream();
  cuda::Kernels kernels = cuda::cluster_kernels(session, "persistent_lenet", gpu::kThreads);
  cuda::KernelWeights weights;
  cuda::LayerMemory memory;
  cuda::Resident resident;  // goes first
};

}  // namespace lenet
