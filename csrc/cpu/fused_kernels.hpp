// What one instruction set's build of the fused kernels offers to the network around them.
//
// fused_kernels.cpp is compiled once an instruction set; each build is a table of this type, and
// nothing else of it is visible outside.
#pragma once

#include <cstddef>

#include "lenet.hpp"

namespace lenet {

/// One image's intermediate results in Caffe's layout, for tests.
struct FusedTrace {
  float pool1[kConv1Channels * kPool1Side * kPool1Side];
  float pool2[kFc1Inputs];
  float fc1[kFc1Outputs];
  float fc2[kClasses];
};

struct FusedKernels {
  int lanes;                 // floats in a vector
  std::size_t packed_bytes;  // the weights, packed for this width and variant

  /// `packed` is aligned to 64 bytes and zeroed before it is filled.
  void (*pack)(const Weights& weights, void* packed);
  /// `backwards` changes only the order in which fc1's weights are read.
  void (*forward)(const void* packed, const float* image, bool backwards, float* probabilities);
  void (*trace)(const void* packed, const float* image, FusedTrace& trace);
};

/// By variant: fc1's weights as float, or as int16 with one scale an output.
struct FusedVariants {
  FusedKernels float32, int16;
};

namespace sse2 {
extern const FusedVariants kFused;
}
namespace avx2 {
extern const FusedVariants kFused;
}
namespace avx512 {
extern const FusedVariants kFused;
}
namespace neon {
extern const FusedVariants kFused;
}

}  // namespace lenet
