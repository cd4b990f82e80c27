// LeNet in three kernels of our own, for one image:
//
//   convolutions   a block a pixel of pool2, from the image on
//   fc1_relu       a warp an output
//   fc2_softmax    one block, a warp a class
//
// Each loads all that it needs at once and then computes: one trip to the memory a kernel. How many
// blocks of how many threads that makes stands in fused_geometry.hpp.
#include "cuda/layers.cuh"
#include "cuda/signals.cuh"

namespace lenet::gpu {

/// What one of `sharers` threads has of `count` floats: four of them in turn, zeros past the end.
template <int count, int sharers>
struct Quads {
  static constexpr int kEach = (count / 4 + sharers - 1) / sharers;
  float4 of[kEach];

  __device__ Quads(const float* from, int index) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int quad = i * sharers + index;
      of[i] = 4 * quad < count ? load_four_now(from + 4 * quad) : float4{};
    }
  }
};

/// A warp's product of a row of weights with an input that its block has in common; the same in all
/// lanes. Weights, bias and input come in one trip, the input by way of shared memory.
template <int inputs, int threads>
__device__ inline float row(const float* weights, const float* bias, const float* input) {
  using Weights = Quads<inputs, kWarp>;
  using Input = Quads<inputs, threads>;
  __shared__ float4 shared[Input::kEach * threads];
  static_assert(Weights::kEach * kWarp <= Input::kEach * threads, "what a warp reads is there");
  const int lane = threadIdx.x % kWarp;
  const Input mine(input, threadIdx.x);
  const Weights weight(weights, lane);
  const float constant = load_now(bias);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Input::kEach; ++i) shared[i * threads + threadIdx.x] = mine.of[i];
  __syncthreads();
  float4 sum = {};
#pragma unroll
  for (int i = 0; i < Weights::kEach; ++i) {
    const float4 four = shared[i * kWarp + lane];
    sum.x += weight.of[i].x * four.x;
    sum.y += weight.of[i].y * four.y;
    sum.z += weight.of[i].z * four.z;
    sum.w += weight.of[i].w * four.w;
  }
  return warp_sum((sum.x + sum.y) + (sum.z + sum.w)) + constant;
}

}  // namespace lenet::gpu

using namespace lenet;
using namespace lenet::gpu;

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convolutions(const float* image, Parameters parameters, Outputs outputs) {
  __shared__ Convolutions memory;
  const int block = blockIdx.x, thread = threadIdx.x;
  constexpr int kRowQuads = kReach / 4;
  const int row = thread / kRowQuads + 4 * (block / kPool2Side);
  const int column = 4 * (thread % kRowQuads + block % kPool2Side);
  float4 pixels = {};
  if (thread < kReach * kRowQuads) {
    pixels = load_four_now(image + row * kImageSide + column);
  }
  const Shared shared(parameters);
  const Own conv2 = load_own(parameters.conv2);
  __syncthreads();
  shared.keep(memory);
  if (thread < kReach * kRowQuads) {
    *reinterpret_cast<float2*>(&memory.image[row][column]) = {pixels.x, pixels.y};
    *reinterpret_cast<float2*>(&memory.image[row][column + 2]) = {pixels.z, pixels.w};
  }
  __syncthreads();
  conv1_pool(memory, block);
  __syncthreads();
  conv2_parts(memory, conv2);
  __syncthreads();
  const float2 two = pool2(memory);
  if (thread < kPool2Threads && thread % kPool2Lanes == 0) {
    outputs.pool2[2 * pool2_pair() * kPool2Pixels + block] = two.x;
    outputs.pool2[(2 * pool2_pair() + 1) * kPool2Pixels + block] = two.y;
  }
}

extern "C" __global__ void __launch_bounds__(kFc1Threads)
    fc1_relu(Parameters parameters, Outputs outputs) {
  const int output = blockIdx.x * kFc1Warps + threadIdx.x / kWarp;
  const float sum = row<kFc1Inputs, kFc1Threads>(parameters.fc1 + output * kFc1Inputs,
                                                 parameters.fc1_bias + output, outputs.pool2);
  if (threadIdx.x % kWarp == 0) outputs.fc1[output] = fmaxf(sum, 0.0f);
}

/// Where `answer` is not null it is the host's memory, and its words are marked with 1: the host
/// has cleared them, and waits for the marks instead of for the stream.
extern "C" __global__ void __launch_bounds__(kFc2Threads)
    fc2_softmax(Parameters parameters, Outputs outputs, float* probabilities, Word* answer) {
  __shared__ float logits[kWarp];
  const int output = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const float sum = row<kFc1Outputs, kFc2Threads>(parameters.fc2 + output * kFc1Outputs,
                                                  parameters.fc2_bias + output, outputs.fc1);
  if (lane == 0) logits[output] = outputs.fc2[output] = sum;
  __syncthreads();
  if (output != 0) return;
  const float probability = softmax(logits[lane], lane);
  if (lane >= kClasses) return;
  probabilities[lane] = probability;
  if (answer != nullptr) store_word(answer + lane, probability, 1);
}

/// The floors of bench/gpu.py: what a launch costs when nothing is computed.
extern "C" __global__ void nothing() {}

extern "C" __global__ void raise_flag(Word* answer) {
  if (threadIdx.x < kClasses) store_word(answer + threadIdx.x, 0.1f, 1);
}
