// What the host and our kernels both know: how the kernels are launched, and where their weights
// lie.
#pragma once

#include "shapes.hpp"

namespace lenet::gpu {

constexpr int kWarp = 32;
constexpr int kTaps = kKernelSide * kKernelSide;
constexpr int kPool2Pixels = kPool2Side * kPool2Side;  // 16

// The convolutions, and all of a cluster: a block a pixel of pool2.
constexpr int kBlocks = kPool2Pixels;
constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kWarp;

// conv1: a thread takes two channels. Their weights lie tap by tap, two taps in four floats; the
// biases take the place of a 26th tap.
constexpr int kConv1Pairs = kConv1Channels / 2;
constexpr int kConv1Quads = (kTaps + 1) / 2;  // 13

// conv2: a thread takes one output channel and two input channels, so it has 50 weights.
constexpr int kConv2Sources = 2;
constexpr int kConv2Threads = kConv2Channels * kConv1Channels / kConv2Sources;  // 500

// fc1 in a cluster: a warp takes two outputs, so a thread has 50 weights again.
constexpr int kFc1Rows = 2;
constexpr int kFc1Columns = kFc1Inputs / kWarp;  // 25
constexpr int kFc1Share = kFc1Rows * kWarps;     // outputs a block; those past the 500th are zero

/// The weights of one thread, four at a time so that each read of a warp is one piece of memory:
/// [kQuads][kThreads][4], then [kThreads][2].
constexpr int kThreadWeights = 50;
constexpr int kQuads = kThreadWeights / 4;  // 12
constexpr int kBlockWeights = kThreadWeights * kThreads;
static_assert(kThreadWeights == kConv2Sources * kTaps, "conv2's fit");
static_assert(kThreadWeights == kFc1Rows * kFc1Columns, "and fc1's");

// fc1 as a kernel of its own: a warp an output.
constexpr int kFc1Warps = 4;                         // a block
constexpr int kFc1Blocks = kFc1Outputs / kFc1Warps;  // 125
constexpr int kFc1Threads = kFc1Warps * kWarp;
static_assert(kFc1Blocks * kFc1Warps == kFc1Outputs, "fc1_relu asks for no bounds");

// fc2 as a kernel of its own: one block, a warp a class.
constexpr int kFc2Blocks = 1;
constexpr int kFc2Threads = kClasses * kWarp;  // 320

/// Where the weights lie in the GPU's memory.
struct Parameters {
  const float* conv1;       // [kConv1Pairs][kConv1Quads][4], with the biases
  const float* conv2;       // a block's, of every block
  const float* conv2_bias;  // [kConv2Channels]
  const float* fc1;         // in a cluster [kBlocks] blocks', else Caffe's [500][800]
  const float* fc1_bias;    // [kFc1Outputs]
  const float* fc2;         // [kClasses][kFc1Outputs]
  const float* fc2_bias;    // [kClasses]
};

/// Where what the layers come to is left in the GPU's memory, in Caffe's order.
struct Outputs {
  float* pool2;  // [kFc1Inputs]
  float* fc1;    // [kFc1Outputs]
  float* fc2;    // [kClasses]
};

}  // namespace lenet::gpu
