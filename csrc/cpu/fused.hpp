// LeNet with nothing underneath: our own SIMD kernels, the widest that the processor has.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "cpu/fused_helpers.hpp"
#include "cpu/fused_kernels.hpp"
#include "cpu/fused_memory.hpp"
#include "lenet.hpp"

namespace lenet {

class Fused {
 public:
  /// float32 throughout, or fc1's weights in 16 bits.
  enum class Variant { kFloat32, kInt16 };

  Fused(const Weights& weights, int threads, Variant variant);

  /// `count` images in, 10 probabilities each out. Any number of threads may call it at once.
  void infer(const float* images, std::size_t count, float* probabilities) const;

  void trace(const float* image, FusedTrace& trace) const {
    kernels_.trace(packed_.get(), image, trace);
  }
  const std::string& isa() const { return isa_; }
  Variant variant() const { return variant_; }
  int lanes() const { return kernels_.lanes; }
  int threads() const { return threads_; }

 private:
  bool infer_shared(const float* image, bool backwards, float* probabilities) const;
  void infer_many(const float* images, std::size_t count, float* probabilities) const;

  std::string isa_;
  Variant variant_;
  int threads_;
  FusedKernels kernels_;
  FusedMemory packed_;
  std::unique_ptr<FusedHelpers> helpers_;  // none with one thread
};

}  // namespace lenet
