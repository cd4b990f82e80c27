// A kernel that stays on the GPU, and the host's side of its mailbox (mailbox.hpp). CUDA itself is
// needed only to launch it, and to launch it again when it has left.
#pragma once

#include <cuda_runtime.h>

#include <functional>

#include "cuda/mailbox.hpp"
#include "cuda/owners.hpp"

namespace lenet::cuda {

class Resident {
 public:
  /// `start` puts the kernel on the stream.
  Resident(cudaStream_t stream, std::function<void(const gpu::Launch&)> start);
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;
  ~Resident();

  struct Answer {
    float of[gpu::kTimes + kClasses];
    float time(gpu::Time which) const { return of[kClasses + which]; }
  };
  Answer call(const float* pixels, gpu::Order order = gpu::kAnswer);
  /// Comes back when the kernel has gone; the next call launches it again.
  void leave();
  unsigned launches() const { return launches_; }

 private:
  void post(const float* pixels, gpu::Order order);
  void launch();
  void require_running() const;

  cudaStream_t stream_;
  std::function<void(const gpu::Launch&)> start_;
  PinnedFloats host_{sizeof(gpu::Mailbox) / sizeof(float), cudaHostAllocMapped};
  gpu::Mailbox& mailbox_ = *reinterpret_cast<gpu::Mailbox*>(static_cast<float*>(host_));
  gpu::Stamp request_ = 0;  // the last that was posted
  unsigned launches_ = 0;   // so far; the kernel is there unless mailbox_.ended says the same
};

}  // namespace lenet::cuda
