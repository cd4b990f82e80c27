// How the kernels of fused.cu are launched: they are written for these blocks and threads, and
// fused.cpp launches them so.
#pragma once

#include "shapes.hpp"

namespace lenet::fused {

constexpr int kWarp = 32;

// conv1_pool: a block a channel, a thread a pooled pixel.
constexpr int kConv1Blocks = kConv1Channels;
constexpr int kConv1Threads = kPool1Side * kPool1Side;  // 144

// conv2_pool: a block a channel, a thread a pooled pixel and input channel.
constexpr int kPool2Pixels = kPool2Side * kPool2Side;  // 16
constexpr int kConv2Blocks = kConv2Channels;
constexpr int kConv2Threads = kPool2Pixels * kConv1Channels;  // 320

// fc1_relu: a warp an output.
constexpr int kFc1Warps = 4;                         // a block
constexpr int kFc1Blocks = kFc1Outputs / kFc1Warps;  // 125
constexpr int kFc1Threads = kFc1Warps * kWarp;
static_assert(kFc1Blocks * kFc1Warps == kFc1Outputs, "fc1_relu asks for no bounds");

// fc2_softmax: one block, a warp a class.
constexpr int kFc2Blocks = 1;
constexpr int kFc2Threads = kClasses * kWarp;  // 320

}  // namespace lenet::fused
