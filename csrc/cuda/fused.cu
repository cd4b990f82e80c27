// LeNet in four kernels of our own, for one image. A step's output goes through memory once: bias,
// pooling, ReLU and softmax happen where the sum was made.
//
//   conv1_pool    a block a channel, a thread a pooled pixel
//   conv2_pool    a block a channel, a thread a pooled pixel and input channel
//   fc1_relu      a warp an output, so that its row is read by 32 neighbours at once
//   fc2_softmax   one block, a warp a class
//
// How many blocks of how many threads that makes stands in fused_geometry.hpp.
// NVRTC compiles this for the GPU at hand; the tests compile the same text for the CPU.
#include "cuda/fused_geometry.hpp"

namespace lenet::fused {

constexpr int kTaps = kKernelSide * kKernelSide;
constexpr int kPatchSide = kKernelSide + 1;  // what the four windows of a pooled pixel cover

/// The four windows of one pooled pixel, each summed over one input channel. The patch is read
/// once into registers and not four times from memory.
__device__ inline void add_windows(const float* input, int side, const float* weight,
                                   float sums[4]) {
  float patch[kPatchSide][kPatchSide];
#pragma unroll
  for (int y = 0; y < kPatchSide; ++y) {
#pragma unroll
    for (int x = 0; x < kPatchSide; ++x) patch[y][x] = input[y * side + x];
  }
#pragma unroll
  for (int y = 0; y < kKernelSide; ++y) {
#pragma unroll
    for (int x = 0; x < kKernelSide; ++x) {
      const float w = weight[y * kKernelSide + x];
      sums[0] += w * patch[y][x];
      sums[1] += w * patch[y][x + 1];
      sums[2] += w * patch[y + 1][x];
      sums[3] += w * patch[y + 1][x + 1];
    }
  }
}

__device__ inline float largest(const float sums[4]) {
  return fmaxf(fmaxf(sums[0], sums[1]), fmaxf(sums[2], sums[3]));
}

/// The sum over a warp, in its lane 0.
__device__ inline float warp_sum(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_down_sync(0xffffffff, value, distance);
  }
  return value;
}

/// One output of a fully connected layer, by one warp; in its lane 0.
__device__ inline float warp_dot(const float* weight, const float* input, int count, int lane) {
  float sum = 0.0f;
  for (int i = lane; i < count; i += kWarp) sum += weight[i] * input[i];
  return warp_sum(sum);
}

/// Everything this thread's block wrote so far is seen by the host before `flag` is.
__device__ inline void release_to_host(unsigned* flag, unsigned value) {
#ifdef __CUDA_ARCH__
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
#else
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
#endif
}

}  // namespace lenet::fused

using namespace lenet;
using namespace lenet::fused;

extern "C" __global__ void __launch_bounds__(kConv1Threads)
    conv1_pool(const float* image, const float* weight, const float* bias, float* pool1) {
  __shared__ float pixels[kImagePixels];
  __shared__ float taps[kTaps];
  const int channel = blockIdx.x, thread = threadIdx.x;
  for (int i = thread; i < kImagePixels; i += kConv1Threads) pixels[i] = image[i];
  if (thread < kTaps) taps[thread] = weight[channel * kTaps + thread];
  __syncthreads();

  const int y = thread / kPool1Side, x = thread % kPool1Side;
  float sums[4] = {};
  add_windows(pixels + 2 * (y * kImageSide + x), kImageSide, taps, sums);
  pool1[channel * kConv1Threads + thread] = largest(sums) + bias[channel];
}

extern "C" __global__ void __launch_bounds__(kConv2Threads)
    conv2_pool(const float* pool1, const float* weight, const float* bias, float* pool2) {
  constexpr int kWeights = kConv1Channels * kTaps;
  constexpr int kInputs = kConv1Channels * kPool1Side * kPool1Side;
  __shared__ float input[kInputs];
  __shared__ float taps[kWeights];
  __shared__ float partial[kConv1Channels][4][kPool2Pixels];
  const int channel = blockIdx.x, thread = threadIdx.x;
  for (int i = thread; i < kInputs; i += kConv2Threads) input[i] = pool1[i];
  for (int i = thread; i < kWeights; i += kConv2Threads) taps[i] = weight[channel * kWeights + i];
  __syncthreads();

  const int pixel = thread % kPool2Pixels, source = thread / kPool2Pixels;
  const int y = pixel / kPool2Side, x = pixel % kPool2Side;
  float sums[4] = {};
  add_windows(input + (source * kPool1Side + 2 * y) * kPool1Side + 2 * x, kPool1Side,
              taps + source * kTaps, sums);
  for (int window = 0; window < 4; ++window) partial[source][window][pixel] = sums[window];
  __syncthreads();

  if (thread < kPool2Pixels) {
    float totals[4] = {};
    for (int from = 0; from < kConv1Channels; ++from) {
      for (int window = 0; window < 4; ++window) totals[window] += partial[from][window][thread];
    }
    pool2[channel * kPool2Pixels + thread] = largest(totals) + bias[channel];
  }
}

extern "C" __global__ void __launch_bounds__(kFc1Threads)
    fc1_relu(const float* pool2, const float* weight, const float* bias, float* fc1) {
  const int output = blockIdx.x * kFc1Warps + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const float sum = warp_dot(weight + output * kFc1Inputs, pool2, kFc1Inputs, lane);
  if (lane == 0) fc1[output] = fmaxf(sum + bias[output], 0.0f);
}

/// `probabilities` may be memory of the host. Where `done` is not null, it then gets the number
/// that the host put into `ticket`: the host polls it instead of waiting for the stream.
extern "C" __global__ void __launch_bounds__(kFc2Threads)
    fc2_softmax(const float* fc1, const float* weight, const float* bias, float* fc2,
                float* probabilities, const unsigned* ticket, unsigned* done) {
  __shared__ float logits[kClasses];
  const int output = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const bool tells = done != nullptr && threadIdx.x == 0;
  const unsigned number = tells ? *ticket : 0;  // now: it comes over the bus while the sums are made
  const float sum = warp_dot(weight + output * kFc1Outputs, fc1, kFc1Outputs, lane);
  if (lane == 0) fc2[output] = logits[output] = sum + bias[output];
  __syncthreads();

  if (threadIdx.x < kClasses) {
    float highest = logits[0], total = 0.0f;
    for (int i = 1; i < kClasses; ++i) highest = fmaxf(highest, logits[i]);
    for (int i = 0; i < kClasses; ++i) total += expf(logits[i] - highest);
    probabilities[threadIdx.x] = expf(logits[threadIdx.x] - highest) / total;
  }
  __syncthreads();
  if (tells) release_to_host(done, number);
}

/// What a launch costs when nothing is computed: bench/gpu.sh's floor.
extern "C" __global__ void nothing() {}
