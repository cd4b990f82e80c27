// LeNet with nothing underneath: our own SIMD kernels, the widest that the processor has.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cpu/fused_kernels.hpp"
#include "cpu/fused_memory.hpp"
#include "lenet.hpp"

namespace lenet {

class Fused {
 public:
  /// `variant` is "" for float32 throughout, or "int16" for fc1's weights in 16 bits.
  Fused(const Weights& weights, int threads, const std::string& variant);

  /// `count` images in, 10 probabilities each out. Any number of threads may call it at once.
  void infer(const float* images, std::size_t count, float* probabilities) const;

  std::vector<Layer> layers(const float* image) const;
  std::map<std::string, std::string> describe() const;

 private:
  std::string isa_, variant_;
  int threads_;
  FusedKernels kernels_;
  FusedMemory packed_;
};

}  // namespace lenet
