// LeNet as one kernel that stays on the GPU: sixteen blocks, a thread-block cluster, that have the
// weights at hand and wait for images. No launch, no copy and no driver stand between an image and
// its answer, only two signals over the bus.
//
// Where things are, and why there:
//   fc1's 400,000 weights   in registers, 50 in each of 8,192 threads. They are used once an image:
//                           from shared memory a block would take 800 cycles to read its share.
//   the other weights       in shared memory, where several threads use each
//   pool1, pool2            a copy in each block: whoever computes a value writes it into the
//                           shared memory of all sixteen (distributed shared memory)
//
// One image, with a barrier of the cluster after each of the first four lines:
//   bell     block 0 polls the host's memory and tells the others
//   conv1    a block reads 10 rows of the image, computes 5 channels of 3 pooled rows
//   conv2    4 channels a block; a thread a pooled pixel and input channel
//   fc1      2 outputs a warp, 32 a block; their part of fc2's ten sums goes to block 0
//   answer   block 0 adds the parts up; ten floats and a flag go to the host's memory
//
// It takes clusters of 16: compute capability 9.0. 48 KB of shared memory a block are enough, and
// all of the registers. NVRTC compiles this for the GPU at hand; the tests compile the same text
// for the CPU.
#include "cuda/mailbox.hpp"

namespace lenet::persistent {

constexpr int kWarp = 32;
constexpr int kWarps = kThreads / kWarp;
constexpr int kTaps = kKernelSide * kKernelSide;
constexpr int kPatchSide = kKernelSide + 1;  // what the four windows of a pooled pixel cover
constexpr int kWindows = 4;
constexpr int kPool1Pixels = kPool1Side * kPool1Side;
constexpr int kPool2Pixels = kPool2Side * kPool2Side;

constexpr int kStrips = 4;                                              // of 3 pooled rows
constexpr int kStripPixels = kPool1Pixels / kStrips;                    // 36
constexpr int kStripRows = 2 * kPool1Side / kStrips + kKernelSide - 1;  // of the image: 10
constexpr int kConv1Share = kConv1Channels * kStrips / kBlocks;         // 5 channels
constexpr int kConv2Share = 4;                                          // so 13 blocks have work
constexpr int kFc1Rows = 2;                                             // a warp
constexpr int kFc1Share = kFc1Rows * kWarps;                            // 32, the last block's 20
constexpr int kFc1Columns = kFc1Inputs / kWarp;  // 25 weights of a row a thread

/// What a thread keeps from one image to the next.
struct Registers {
  float fc1_weight[kFc1Rows][kFc1Columns];  // of output 2 warp + row, input lane + 32 column
  float fc1_bias[kFc1Rows];
  float fc2_weight;  // of class `warp`, for the block's fc1 output `lane`
};

/// A block's shared memory.
struct Memory {
  Number bell;
  alignas(float4) float image[kStripRows][kImageSide];  // written four at a time

  float conv1_weight[kConv1Share][kTaps], conv1_bias[kConv1Share];
  float4 conv2_weight[kConv1Channels][kTaps];  // of four output channels, read at once
  float conv2_bias[kConv2Share];
  float fc2_bias[kClasses];

  float2 pool1[kConv1Channels][kPool1Pixels / 2];
  // A row is longer than it need be, so that who adds up reads 32 banks.
  float4 conv2_parts[kConv1Channels][kWindows][kPool2Pixels + 2];
  float pool2[kFc1Inputs];
  float fc1[kFc1Share];
  float fc2_parts[kBlocks][kClasses];  // in block 0
};

__shared__ Memory memory;

__device__ inline Memory& memory_of(int block) {
  return *static_cast<Memory*>(__cluster_map_shared_rank(&memory, block));
}

/// What any block wrote before is seen by every block after.
__device__ inline void cluster_barrier() {
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
}

__device__ inline Number nanoseconds() {
#ifdef __CUDA_ARCH__
  Number now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return __globaltimer();  // which the tests have
#endif
}

/// After this the host sees `value`, and all that this thread knows to be written before.
__device__ inline void release_to_host(Number* flag, Number value) {
  __nv_atomic_store_n(flag, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
}

__device__ inline float warp_sum(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, distance);
  }
  return value;
}

__device__ inline float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, distance));
  }
  return value;
}

__device__ inline void add(float4& sum, const float4& weight, float value) {
  sum.x += weight.x * value;
  sum.y += weight.y * value;
  sum.z += weight.z * value;
  sum.w += weight.w * value;
}

/// The 6x6 pixels under the four windows of a pooled pixel, from rows of `pairs` float2.
__device__ inline void read_patch(const float2* corner, int pairs,
                                  float patch[kPatchSide][kPatchSide]) {
#pragma unroll
  for (int y = 0; y < kPatchSide; ++y) {
#pragma unroll
    for (int x = 0; x < kPatchSide; x += 2) {
      const float2 pair = corner[y * pairs + x / 2];
      patch[y][x] = pair.x;
      patch[y][x + 1] = pair.y;
    }
  }
}

// the weights: once a launch ----------------------------------------------------------------------

__device__ inline void load_convolutions(int block, const float* conv1_weight,
                                         const float* conv1_bias, const float* conv2_weight,
                                         const float* conv2_bias) {
  const int channel1 = block / kStrips * kConv1Share, channel2 = block * kConv2Share;
  for (int i = threadIdx.x; i < kConv1Share * kTaps; i += kThreads) {
    memory.conv1_weight[i / kTaps][i % kTaps] = conv1_weight[channel1 * kTaps + i];
  }
  if (threadIdx.x < kConv1Share) {
    memory.conv1_bias[threadIdx.x] = conv1_bias[channel1 + threadIdx.x];
  }
  for (int i = threadIdx.x; i < kConv1Channels * kTaps; i += kThreads) {
    const auto weight_of = [&](int channel) {
      return channel < kConv2Channels ? conv2_weight[channel * kConv1Channels * kTaps + i] : 0.0f;
    };
    memory.conv2_weight[i / kTaps][i % kTaps] = {weight_of(channel2), weight_of(channel2 + 1),
                                                 weight_of(channel2 + 2), weight_of(channel2 + 3)};
  }
  if (threadIdx.x < kConv2Share) {
    const int channel = channel2 + threadIdx.x;
    memory.conv2_bias[threadIdx.x] = channel < kConv2Channels ? conv2_bias[channel] : 0.0f;
  }
}

/// Outputs past the last have weights of zero: they come to nothing in fc2.
__device__ inline Registers load_fully_connected(int block, const float* fc1_weight,
                                                 const float* fc1_bias, const float* fc2_weight,
                                                 const float* fc2_bias) {
  Registers own;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
#pragma unroll
  for (int row = 0; row < kFc1Rows; ++row) {
    const int output = block * kFc1Share + warp * kFc1Rows + row;
    const bool real = output < kFc1Outputs;
    own.fc1_bias[row] = real ? fc1_bias[output] : 0.0f;
#pragma unroll
    for (int column = 0; column < kFc1Columns; ++column) {
      own.fc1_weight[row][column] =
          real ? fc1_weight[output * kFc1Inputs + column * kWarp + lane] : 0.0f;
    }
  }
  const int input = block * kFc1Share + lane;
  own.fc2_weight =
      warp < kClasses && input < kFc1Outputs ? fc2_weight[warp * kFc1Outputs + input] : 0.0f;
  if (threadIdx.x < kClasses) memory.fc2_bias[threadIdx.x] = fc2_bias[threadIdx.x];
  return own;
}

// the layers --------------------------------------------------------------------------------------

/// Past all caches: they may hold an earlier image.
__device__ inline void read_image(int block, const Mailbox& mailbox) {
  constexpr int kQuads = kImageSide / 4;
  const int first = block % kStrips * (kStripRows - kKernelSide + 1);
  if (threadIdx.x < kStripRows * kQuads) {
    const int row = threadIdx.x / kQuads, column = threadIdx.x % kQuads * 4;
    const auto* from = reinterpret_cast<const float4*>(&mailbox.image[first + row][column]);
    *reinterpret_cast<float4*>(&memory.image[row][column]) = __ldcv(from);
  }
}

__device__ inline void conv1_pool(int block, Mailbox* shown) {
  if (threadIdx.x >= kConv1Share * kStripPixels) return;
  const int own = threadIdx.x / kStripPixels, pixel = threadIdx.x % kStripPixels;
  const int y = pixel / kPool1Side, x = pixel % kPool1Side;
  float patch[kPatchSide][kPatchSide], sums[kWindows] = {};
  read_patch(reinterpret_cast<const float2*>(&memory.image[2 * y][2 * x]), kImageSide / 2, patch);
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
    const int ky = tap / kKernelSide, kx = tap % kKernelSide;
    const float weight = memory.conv1_weight[own][tap];
#pragma unroll
    for (int w = 0; w < kWindows; ++w) sums[w] += weight * patch[ky + w / 2][kx + w % 2];
  }
  const float value =
      fmaxf(fmaxf(sums[0], sums[1]), fmaxf(sums[2], sums[3])) + memory.conv1_bias[own];

  const int channel = block / kStrips * kConv1Share + own;
  const int place = channel * kPool1Pixels + block % kStrips * kStripPixels + pixel;
  for (int to = 0; to < kBlocks; ++to) {
    reinterpret_cast<float*>(memory_of(to).pool1)[place] = value;
  }
  if (shown != nullptr) shown->pool1[place] = value;
}

__device__ inline void conv2_pool(int block, Mailbox* shown) {
  if (threadIdx.x < kPool2Pixels * kConv1Channels) {
    const int pixel = threadIdx.x % kPool2Pixels, source = threadIdx.x / kPool2Pixels;
    const int y = pixel / kPool2Side, x = pixel % kPool2Side;
    float patch[kPatchSide][kPatchSide];
    float4 sums[kWindows] = {};
    read_patch(&memory.pool1[source][y * kPool1Side + x], kPool1Side / 2, patch);
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      const int ky = tap / kKernelSide, kx = tap % kKernelSide;
      const float4 weight = memory.conv2_weight[source][tap];
#pragma unroll
      for (int w = 0; w < kWindows; ++w) add(sums[w], weight, patch[ky + w / 2][kx + w % 2]);
    }
#pragma unroll
    for (int w = 0; w < kWindows; ++w) memory.conv2_parts[source][w][pixel] = sums[w];
  }
  __syncthreads();

  if (threadIdx.x < kWindows * kPool2Pixels * kConv2Share) {  // four lanes a value, one a window
    const int window = threadIdx.x % kWindows, value = threadIdx.x / kWindows;
    float sum = 0.0f;
    for (int source = 0; source < kConv1Channels; ++source) {
      sum += reinterpret_cast<const float*>(memory.conv2_parts[source][window])[value];
    }
    sum = fmaxf(sum, __shfl_xor_sync(0xffffffff, sum, 1));
    sum = fmaxf(sum, __shfl_xor_sync(0xffffffff, sum, 2));
    const int pixel = value / kConv2Share, own = value % kConv2Share;
    const int channel = block * kConv2Share + own, place = channel * kPool2Pixels + pixel;
    if (channel < kConv2Channels) {
      sum += memory.conv2_bias[own];
      for (int to = window; to < kBlocks; to += kWindows) memory_of(to).pool2[place] = sum;
      if (shown != nullptr && window == 0) shown->pool2[place] = sum;
    }
  }
}

__device__ inline void fc1_relu(int block, const Registers& own, Mailbox* shown) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  float sums[kFc1Rows] = {};
#pragma unroll
  for (int column = 0; column < kFc1Columns; ++column) {
    const float input = memory.pool2[column * kWarp + lane];
#pragma unroll
    for (int row = 0; row < kFc1Rows; ++row) sums[row] += own.fc1_weight[row][column] * input;
  }
#pragma unroll
  for (int row = 0; row < kFc1Rows; ++row) {
    const float value = fmaxf(warp_sum(sums[row]) + own.fc1_bias[row], 0.0f);
    const int place = warp * kFc1Rows + row, output = block * kFc1Share + place;
    if (lane == 0) memory.fc1[place] = value;
    if (shown != nullptr && lane == 0 && output < kFc1Outputs) shown->fc1[output] = value;
  }
}

__device__ inline void fc2_part(int block, const Registers& own) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (warp < kClasses) {
    const float part = warp_sum(own.fc2_weight * memory.fc1[lane]);
    if (lane == 0) memory_of(0).fc2_parts[block][warp] = part;
  }
}

/// By the first warp of block 0: a lane a class.
__device__ inline void answer(Mailbox* mailbox, Mailbox* shown, int lane) {
  float logit = -3e38f;  // of the lanes without a class
  if (lane < kClasses) {
    logit = memory.fc2_bias[lane];
    for (int block = 0; block < kBlocks; ++block) logit += memory.fc2_parts[block][lane];
  }
  const float power = expf(logit - warp_max(logit));
  const float total = warp_sum(power);
  if (lane < kClasses) mailbox->probabilities[lane] = power / total;
  if (lane < kClasses && shown != nullptr) shown->fc2[lane] = logit;
}

// the way in and out ------------------------------------------------------------------------------

/// The bell of the first request after `served`, or the order to leave. What rang before the
/// launch is served in any case, however long the GPU was somebody else's meanwhile.
__device__ inline Number wait_for_a_request(Mailbox* mailbox, Number served, bool fresh,
                                            Number launched) {
  const Number leave = served * kOrders + kLeave, since = nanoseconds();
  if (!fresh && since - launched > kLife) return leave;
  for (;;) {
    const Number bell =
        __nv_atomic_load_n(&mailbox->bell, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM);
    if (bell / kOrders != served) return bell;
    if (nanoseconds() - since > kIdle) return leave;
    __nanosleep(50);  // a read takes longer by far: the bus has one at a time to carry
  }
}

}  // namespace lenet::persistent

using namespace lenet;
using namespace lenet::persistent;

/// Serves requests after `served`, then says that this `launch` has ended.
extern "C" __global__ void __cluster_dims__(kBlocks) __launch_bounds__(kThreads, 1)
    persistent_lenet(const float* conv1_weight, const float* conv1_bias, const float* conv2_weight,
                     const float* conv2_bias, const float* fc1_weight, const float* fc1_bias,
                     const float* fc2_weight, const float* fc2_bias, Mailbox* mailbox,
                     Number served, Number launch) {
  const int block = __clusterRelativeBlockRank();
  const bool first_thread = block == 0 && threadIdx.x == 0;
  load_convolutions(block, conv1_weight, conv1_bias, conv2_weight, conv2_bias);
  const Registers own = load_fully_connected(block, fc1_weight, fc1_bias, fc2_weight, fc2_bias);
  cluster_barrier();  // no block writes into another before that has begun

  const Number launched = nanoseconds();
  for (bool fresh = true;; fresh = false) {
    if (first_thread) {
      const Number bell = wait_for_a_request(mailbox, served, fresh, launched);
      for (int to = 0; to < kBlocks; ++to) memory_of(to).bell = bell;
    }
    cluster_barrier();
    const Number request = memory.bell / kOrders, order = memory.bell % kOrders;
    if (order == kLeave) break;
    const Number heard = order == kTellTimes ? nanoseconds() : 0;
    Mailbox* shown = order == kShowLayers ? mailbox : nullptr;
    read_image(block, *mailbox);
    __syncthreads();
    const Number read = order == kTellTimes ? nanoseconds() : 0;

    conv1_pool(block, shown);
    cluster_barrier();
    conv2_pool(block, shown);
    cluster_barrier();
    fc1_relu(block, own, shown);
    __syncthreads();
    fc2_part(block, own);
    cluster_barrier();

    if (block == 0 && threadIdx.x < kWarp) {
      answer(mailbox, shown, threadIdx.x);
      __syncwarp();
      if (first_thread) {
        if (order == kTellTimes) {
          mailbox->heard = heard;
          mailbox->read = read;
          mailbox->computed = nanoseconds();
        }
        release_to_host(&mailbox->answered, request);
      }
    }
    served = request;
  }
  if (first_thread) release_to_host(&mailbox->ended, launch);
}
