// One owner a handle: what CUDA hands out is given back when its owner goes. Giving back never
// throws; a failure there has nobody left whom it could matter to.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "cuda/errors.hpp"

namespace lenet::cuda {

/// Owns one handle of a C library, and stands wherever that library takes the handle.
template <class Handle, auto destroy>
class Owner {
 public:
  Owner() = default;
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() {
    if (handle_) destroy(handle_);
  }

  operator Handle() const { return handle_; }
  /// Where a create function writes the new handle.
  Handle* put() { return &handle_; }

 private:
  Handle handle_{};
};

using Stream = Owner<cudaStream_t, cudaStreamDestroy>;
using Event = Owner<cudaEvent_t, cudaEventDestroy>;
using Graph = Owner<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owner<cudaGraphExec_t, cudaGraphExecDestroy>;
using Library = Owner<cudaLibrary_t, cudaLibraryUnload>;

/// A stream that does not wait for the legacy default stream.
inline Stream make_stream() {
  Stream stream;
  LENET_CHECK(cudaStreamCreateWithFlags(stream.put(), cudaStreamNonBlocking));
  return stream;
}

inline Event make_event() {
  Event event;
  LENET_CHECK(cudaEventCreate(event.put()));
  return event;
}

/// Floats in the GPU's memory.
class DeviceFloats {
 public:
  DeviceFloats() = default;
  explicit DeviceFloats(std::size_t count) : count_(count) {
    LENET_CHECK(cudaMalloc(memory_.put(), bytes()));
  }
  /// A copy of `count` floats of the host. (On a stream of ours, as all that is done here: on the
  /// default stream it would wait for the work of every other library in this process.)
  DeviceFloats(cudaStream_t stream, const float* from, std::size_t count) : DeviceFloats(count) {
    LENET_CHECK(cudaMemcpyAsync(memory_, from, bytes(), cudaMemcpyHostToDevice, stream));
    LENET_CHECK(cudaStreamSynchronize(stream));
  }

  std::vector<float> to_host(cudaStream_t stream) const {
    std::vector<float> values(count_);
    LENET_CHECK(cudaMemcpyAsync(values.data(), memory_, bytes(), cudaMemcpyDeviceToHost, stream));
    LENET_CHECK(cudaStreamSynchronize(stream));
    return values;
  }

  operator float*() const { return static_cast<float*>(static_cast<void*>(memory_)); }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(float); }

 private:
  Owner<void*, cudaFree> memory_;
  std::size_t count_ = 0;
};

/// Floats in host memory that the GPU's copy engines can reach without a detour.
class PinnedFloats {
 public:
  explicit PinnedFloats(std::size_t count, unsigned flags = cudaHostAllocDefault) : count_(count) {
    LENET_CHECK(cudaHostAlloc(memory_.put(), bytes(), flags));
  }

  operator float*() const { return static_cast<float*>(static_cast<void*>(memory_)); }
  std::size_t bytes() const { return count_ * sizeof(float); }

 private:
  Owner<void*, cudaFreeHost> memory_;
  std::size_t count_;
};

}  // namespace lenet::cuda
