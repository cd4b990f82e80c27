// What a caller and the resident kernel (persistent.cu) say to each other, through memory of the
// host that both can address.
#pragma once

#include "shapes.hpp"

namespace lenet::persistent {

using Number = unsigned long long;  // 64 bits for the host and for the GPU

constexpr int kBlocks = 16;  // one thread-block cluster
constexpr int kThreads = 512;

/// The kernel leaves the GPU when nobody has called for kIdle, and with the first answer after
/// kLife; the next call launches it again. So it never outlives its owner, no display waits for it,
/// and whoever waits for the whole GPU (cudaFree does) gets it.
constexpr Number kIdle = 5'000'000;    // nanoseconds
constexpr Number kLife = 100'000'000;  // a launch costs microseconds of that

enum Order : Number { kAnswer, kShowLayers, kTellTimes, kLeave };

/// What stands on the bell is request * kOrders + order: the request's number and what is wanted
/// in one word, since each read goes over the bus.
constexpr Number kOrders = 4;

/// What the host writes and what the GPU writes never share a cache line.
struct Mailbox {
  // From the host. The bell is written after the image (release) and read before it (acquire).
  alignas(128) float image[kImageSide][kImageSide];
  alignas(128) Number bell;

  // From the kernel. `answered` is written after the answer: the last request that has one.
  alignas(128) float probabilities[kClasses];
  Number answered;
  Number ended;  // the last launch that has left, written after all it answered

  // On demand, written before `answered`.
  alignas(128) float pool1[kConv1Channels * kPool1Side * kPool1Side];
  float pool2[kFc1Inputs], fc1[kFc1Outputs], fc2[kClasses];
  Number heard, read, computed;  // the GPU's clock, in nanoseconds
};

}  // namespace lenet::persistent
