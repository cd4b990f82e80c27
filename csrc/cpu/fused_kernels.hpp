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

/// pool1 and pool2 with channels innermost: how conv2 and fc1 read them.
typedef float Pool1[kPool1Side][kPool1Side][kConv1Channels];
typedef float Pool2[kPool2Side][kPool2Side][kConv2Channels];

constexpr int kHiddenPadded = 512;  // fc1's outputs, in whole vectors

/// What fc1 reads and writes of one image.
struct alignas(64) FusedActivations {
  Pool2 pool2;
  float hidden[kHiddenPadded];
};

/// What those see who share one image, stage by stage.
struct alignas(64) FusedShared {
  Pool1 pool1;
  FusedActivations activations;
};
constexpr int kFusedStages = 3;  // conv1, conv2, fc1

/// One of the parts that a stage is split into. `backwards` as for `forward`.
struct FusedPart {
  int part, parts;
  bool backwards;
};

struct FusedKernels {
  int lanes;                 // floats in a vector
  std::size_t packed_bytes;  // the weights, packed for this width and variant

  /// `packed` is aligned to 64 bytes and zeroed before it is filled.
  void (*pack)(const Weights& weights, void* packed);
  /// `backwards` changes only the order in which fc1's weights are read.
  void (*forward)(const void* packed, const float* image, bool backwards, float* probabilities);
  /// Many images, each layer for all of them, with one of `activations` for each.
  void (*forward_all)(const void* packed, const float* images, int count,
                      FusedActivations* activations, float* probabilities);
  /// A part of a stage of one image; the last stage's result goes to `finish`.
  void (*forward_part)(const void* packed, int stage, FusedPart part, const float* image,
                       FusedShared& shared);
  void (*finish)(const void* packed, const FusedActivations& activations, float* probabilities);
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
