// LeNet's layers on a GPU, for one image: what the kernels of fused.cu and cluster.cu share.
//
// A block computes one pixel of pool2 from the image on: the 16x16 pixels that it depends on, the
// 6x6 pixels of pool1 in 20 channels, the pixel in 50. Sixteen blocks are all of pool2, and until
// then none waits for another. They compute pool1 four times over: 0.2 us more work, and it saves
// an exchange between the blocks or a launch.
//
// A thread loads all its weights before it uses one, so they cost one trip to the memory.
#pragma once

#include "cuda/fused_geometry.hpp"

namespace lenet::gpu {

constexpr int kWindows = 4;                                // that a pooled pixel is the largest of
constexpr int kPatchSide = kKernelSide + 1;                // what they cover
constexpr int kPatchPixels = kPatchSide * kPatchSide;      // 36
constexpr int kReach = 2 * (kPatchSide - 1) + kPatchSide;  // 16 pixels of the image
constexpr int kConv1Threads = kPatchPixels * kConv1Pairs;  // 360
constexpr int kConv2Parts = kConv1Channels / kConv2Sources;  // 10
constexpr int kImageRow = 38;  // floats: neighbours in two rows then read different banks
constexpr int kPartRow = 52;   // the same

/// A block's shared memory for the convolutions.
struct Convolutions {
  alignas(16) float image[kImageSide][kImageRow];
  float4 conv1_weight[kConv1Pairs][kConv1Quads];
  alignas(16) float pool1[kConv1Channels][kPatchPixels];
  float4 conv2_parts[kConv2Parts][kPartRow];  // a float a window
  float conv2_bias[kConv2Channels];
};

/// Loads that stay where they are written. The compiler moves others down to where the value is
/// used, behind a barrier or into a branch, and there they cost another trip to the memory. These
/// it still moves below what waits for an earlier one, but past no barrier: one stands between the
/// last load of a kernel and the first wait.
__device__ inline float load_now(const float* from) {
  float value;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(from) : "memory");
  return value;
}
__device__ inline float2 load_two_now(const float* from) {
  float2 two;
  asm volatile("ld.global.v2.f32 {%0, %1}, [%2];"
               : "=f"(two.x), "=f"(two.y)
               : "l"(from)
               : "memory");
  return two;
}
__device__ inline float4 load_four_now(const float* from) {
  float4 four;
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "l"(from)
               : "memory");
  return four;
}

/// The 50 weights of a thread.
struct Own {
  float of[kThreadWeights];
  __device__ float operator[](int i) const { return of[i]; }
};

/// Asked anew each time: what follows from it would otherwise be kept in registers for as long as a
/// kernel stays, and there are none left.
__device__ inline unsigned thread_index() {
  unsigned index;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
}

// load
__device__ inline Own load_own(const float* weights) {
  Own own;
  const unsigned thread = thread_index();
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    const float4 quad = load_four_now(weights + 4 * (i * kThreads + thread));
    own.of[4 * i] = quad.x, own.of[4 * i + 1] = quad.y;
    own.of[4 * i + 2] = quad.z, own.of[4 * i + 3] = quad.w;
  }
  const float2 pair = load_two_now(weights + 4 * kQuads * kThreads + 2 * thread);
  own.of[4 * kQuads] = pair.x, own.of[4 * kQuads + 1] = pair.y;
  return own;
}

/// A thread's part of what goes to shared memory.
// load
struct Shared {
  float4 conv1_weight;
  float conv2_bias;

  __device__ explicit Shared(const Parameters& from) {
    const unsigned thread = thread_index();
    if (thread < kConv1Pairs * kConv1Quads) {
      conv1_weight = load_four_now(from.conv1 + 4 * thread);
    }
    if (thread < kConv2Channels) conv2_bias = load_now(from.conv2_bias + thread);
  }
  __device__ void keep(Convolutions& memory) const {
    const unsigned thread = thread_index();
    if (thread < kConv1Pairs * kConv1Quads) memory.conv1_weight[0][thread] = conv1_weight;
    if (thread < kConv2Channels) memory.conv2_bias[thread] = conv2_bias;
  }
};

__device__ inline float largest(const float (&sums)[kWindows]) {
  return fmaxf(fmaxf(sums[0], sums[1]), fmaxf(sums[2], sums[3]));
}

/// Adds one tap of a kernel to its sums in four windows.
// conv1 and conv2
__device__ inline void add_tap(float (&sums)[kWindows], float weight, int tap,
                               const float (&patch)[kPatchSide][kPatchSide]) {
  const int y = tap / kKernelSide, x = tap % kKernelSide;
#pragma unroll
  for (int w = 0; w < kWindows; ++w) sums[w] += weight * patch[y + w / 2][x + w % 2];
}

/// By kConv1Threads threads, each a pixel of pool1 and two channels.
// conv1 and pool1
__device__ inline void conv1_pool(Convolutions& memory, unsigned block) {
  if (thread_index() >= kConv1Threads) return;
  const unsigned pixel = thread_index() % kPatchPixels, pair = thread_index() / kPatchPixels;
  const unsigned top = 4 * (block / kPool2Side) + 2 * (pixel / kPatchSide);
  const unsigned left = 4 * (block % kPool2Side) + 2 * (pixel % kPatchSide);
  float patch[kPatchSide][kPatchSide];
#pragma unroll
  for (int y = 0; y < kPatchSide; ++y) {
#pragma unroll
    for (int x = 0; x < kPatchSide; x += 2) {
      const float2 two = *reinterpret_cast<const float2*>(&memory.image[top + y][left + x]);
      patch[y][x] = two.x, patch[y][x + 1] = two.y;
    }
  }
  float one[kWindows] = {}, other[kWindows] = {};
  float4 weight;
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    if (tap % 2 == 0) weight = memory.conv1_weight[pair][tap / 2];
    add_tap(one, tap % 2 == 0 ? weight.x : weight.z, tap, patch);
    add_tap(other, tap % 2 == 0 ? weight.y : weight.w, tap, patch);
  }
  memory.pool1[2 * pair][pixel] = largest(one) + weight.z;  // the biases, beside the last tap
  memory.pool1[2 * pair + 1][pixel] = largest(other) + weight.w;
}

/// By kConv2Threads threads, each an output channel and two input channels.
template <class Weights>
__device__ inline void conv2_parts(Convolutions& memory, const Weights& weight) {
  if (thread_index() >= kConv2Threads) return;
  const unsigned channel = thread_index() % kConv2Channels, part = thread_index() / kConv2Channels;
  float sums[kWindows] = {};
#pragma unroll
  for (int source = 0; source < kConv2Sources; ++source) {
    float patch[kPatchSide][kPatchSide];
    const auto* from = reinterpret_cast<const float4*>(memory.pool1[kConv2Sources * part + source]);
#pragma unroll
    for (int i = 0; i < kPatchPixels; i += 4) {
      const float4 four = from[i / 4];
      patch[i / kPatchSide][i % kPatchSide] = four.x;
      patch[(i + 1) / kPatchSide][(i + 1) % kPatchSide] = four.y;
      patch[(i + 2) / kPatchSide][(i + 2) % kPatchSide] = four.z;
      patch[(i + 3) / kPatchSide][(i + 3) % kPatchSide] = four.w;
    }
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) add_tap(sums, weight[source * kTaps + tap], tap, patch);
  }
  memory.conv2_parts[part][channel] = {sums[0], sums[1], sums[2], sums[3]};
}

constexpr int kPool2Lanes = 16;  // for two channels: a lane a window, half of the parts, a channel
constexpr int kPool2Pairs = kConv2Channels / 2;
constexpr int kPool2Threads = kPool2Pairs * kPool2Lanes;  // 400; the others do as the last

__device__ inline unsigned pool2_pair() {
  return min(thread_index() / kPool2Lanes, kPool2Pairs - 1u);
}
__device__ inline unsigned pool2_channel() { return 2 * pool2_pair() + thread_index() / 8 % 2; }

/// By all threads; sixteen lanes get the same two channels.
__device__ inline float2 pool2(const Convolutions& memory) {
  constexpr int kHalf = kConv2Parts / 2;
  const unsigned window = thread_index() % kWindows, half = thread_index() / kWindows % 2;
  const auto* from =
      reinterpret_cast<const float*>(&memory.conv2_parts[half * kHalf][pool2_channel()]) + window;
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) sum += from[i * kPartRow * kWindows];
  sum += __shfl_xor_sync(0xffffffff, sum, 4);
  sum = fmaxf(sum, __shfl_xor_sync(0xffffffff, sum, 1));
  sum = fmaxf(sum, __shfl_xor_sync(0xffffffff, sum, 2)) + memory.conv2_bias[pool2_channel()];
  const float other = __shfl_xor_sync(0xffffffff, sum, 8);
  return thread_index() & 8 ? float2{other, sum} : float2{sum, other};
}

/// The sum over a warp, in all of its lanes.
__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, distance);
  }
  return value;
}

/// By a warp, with a class in each of its first ten lanes.
__device__ inline float softmax(float logit, unsigned lane) {
  float highest = lane < kClasses ? logit : -3e38f;
#pragma unroll
  for (int distance = 8; distance > 0; distance /= 2) {
    highest = fmaxf(highest, __shfl_xor_sync(0xffffffff, highest, distance));
  }
  const float power = lane < kClasses ? expf(logit - highest) : 0.0f;
  float total = power;
#pragma unroll
  for (int distance = 8; distance > 0; distance /= 2) {
    total += __shfl_xor_sync(0xffffffff, total, distance);
  }
  return power / total;
}

}  // namespace lenet::gpu
