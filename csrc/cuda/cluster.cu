// LeNet as one kernel: a thread-block cluster of sixteen blocks.
//
//   lenet_once        one image a launch: cuda:mapped
//   persistent_lenet  stays on the GPU with the weights at hand, and waits for images
//   persistent_echo   the same without the network: the floor of the one above
//
// Where the weights are: a thread has 100, of which it keeps 88 in registers, all that are left
// beside its work. A weight of fc1 is used once an image, one of conv2 four times, so reading them
// from shared memory would take longer than computing. The others are there.
//
// One image, in which the blocks wait for each other three times:
//   image          fourteen blocks read two rows each from the host's memory and send them to all
//   convolutions   a block a pixel of pool2; it goes to all
//   fc1, fc2       32 outputs of fc1 a block, and their part of fc2's ten sums, to block 0
//   answer         block 0 adds the parts up; ten floats go to the host's memory
//
// A block sends with st.async. The receiver waits on a barrier in its own shared memory, which
// counts bytes. One buffer suffices for everything that is sent: the next image starts only after
// the host has the whole answer, to which every warp of every block has contributed.
//
// It takes clusters of 16: compute capability 9.0.
#include "cuda/layers.cuh"
#include "cuda/signals.cuh"

namespace lenet::gpu {

constexpr int kImageRows = 2;                      // that a block reads
constexpr int kRowPairs = kImageSide / 2;          // a lane reads two pixels
constexpr int kReaders = kImageSide / kImageRows;  // 14 of 16 blocks
constexpr int kKept = 38;                          // weights of conv2 in registers
constexpr int kReader = kWarps - 1;                // the warp with the least work
constexpr int kLogitRow = kBlocks + 4;             // so that neighbours read different banks

struct Memory : Convolutions {
  float pool2[kBlocks][kConv2Channels];
  alignas(16) float fc2_parts[kClasses][kLogitRow];    // of this block's warps
  alignas(16) float block_parts[kClasses][kLogitRow];  // of all blocks, in block 0
  float fc1_bias[kFc1Share], fc2_bias[kWarp];
  float conv2_rest[kThreadWeights - kKept][kThreads];
  Stamp stamp;
  unsigned long long launched;  // when, by the GPU's clock
  unsigned started;             // when, by the multiprocessor's, and in all blocks at once

  Arrivals stamp_here, image_here, pool2_here, parts_here;
};
static_assert(kWarps == kBlocks, "the two sums of fc2 have one shape");

__shared__ Memory memory;

/// A thread's weights of conv2; the last are in shared memory, and nobody else reads them there.
struct Kept {
  float of[kKept];

  __device__ explicit Kept(const Own& own) {
#pragma unroll
    for (int i = 0; i < kThreadWeights; ++i) {
      (i < kKept ? of[i] : memory.conv2_rest[i - kKept][threadIdx.x]) = own.of[i];
    }
  }
  __device__ float operator[](int i) const {
    return i < kKept ? of[i] : memory.conv2_rest[i - kKept][threadIdx.x];
  }
};

/// What a thread keeps from one image to the next.
struct Registers {
  Kept conv2;  // of output channel thread % 50 and input channels 2 (thread / 50) and the next
  Own fc1;     // of outputs 2 warp and the next; inputs lane + 32 column
  float fc2_weight;  // of class lane % 16, for output 2 warp + lane / 16
};

__device__ inline unsigned warp_index() { return thread_index() / kWarp; }
__device__ inline unsigned lane_index() { return thread_index() % kWarp; }
__device__ inline unsigned block_index() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// the weights: once a launch ----------------------------------------------------------------------

/// Outputs past the last have weights of zero: they come to nothing in fc2.
// load
__device__ inline Registers load_weights(unsigned block, const Parameters& parameters) {
  const unsigned thread = thread_index(), channel = thread % 16;
  const unsigned output = block * kFc1Share + thread / 16, bias = block * kFc1Share + thread;
  const Shared shared(parameters);
  const Own conv2 = load_own(parameters.conv2);
  const float fc1_bias =
      thread < kFc1Share && bias < kFc1Outputs ? load_now(parameters.fc1_bias + bias) : 0.0f;
  const float fc2_weight = output < kFc1Outputs && channel < kClasses
                               ? load_now(parameters.fc2 + channel * kFc1Outputs + output)
                               : 0.0f;
  const float fc2_bias = thread < kClasses ? load_now(parameters.fc2_bias + thread) : 0.0f;
  const Own fc1 = load_own(parameters.fc1 + block * kBlockWeights);
  __syncthreads();
  shared.keep(memory);
  if (thread < kFc1Share) memory.fc1_bias[thread] = fc1_bias;
  if (thread < kClasses) memory.fc2_bias[thread] = fc2_bias;
  return {Kept(conv2), fc1, fc2_weight};
}

// between the blocks ------------------------------------------------------------------------------

/// By one thread.
__device__ inline void expect_an_image(unsigned block) {
  memory.image_here.expect(kImagePixels * sizeof(float));
  if (block == 0) memory.parts_here.expect(kBlocks * kClasses * sizeof(float));
}

/// By the reading warp of a block: two pixels of its rows to all blocks.
__device__ inline void send_pixels(unsigned block, unsigned lane, float2 pixels) {
  if (lane >= kImageRows * kRowPairs) return;
  const unsigned row = block * kImageRows + lane / kRowPairs, column = lane % kRowPairs * 2;
  const Place place(&memory.image[row][column]), here(&memory.image_here);
#pragma unroll
  for (int to = 0; to < kBlocks; ++to) send(place.in(to), pixels, here.in(to));
}

/// Sixteen lanes have the same two channels of pool2; each sends them to one block.
__device__ inline void send_pool2(unsigned block, float2 two, const Outputs& outputs) {
  if (thread_index() >= kPool2Threads) return;
  const unsigned to = thread_index() % kPool2Lanes, channel = 2 * pool2_pair();
  send(Place(&memory.pool2[block][channel]).in(to), two, Place(&memory.pool2_here).in(to));
  if (to == 0) {
    outputs.pool2[channel * kPool2Pixels + block] = two.x;
    outputs.pool2[(channel + 1) * kPool2Pixels + block] = two.y;
  }
}

/// The sum of sixteen parts, by a lane a class.
__device__ inline float sum_of(const float (&parts)[kClasses][kLogitRow], unsigned lane) {
  const auto* quads = reinterpret_cast<const float4*>(parts[min(lane, kClasses - 1u)]);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kBlocks / 4; ++i) {
    sum += (quads[i].x + quads[i].y) + (quads[i].z + quads[i].w);
  }
  return sum;
}

/// By the first warp: a class's part of the sums that block 0 makes.
__device__ inline void send_part(unsigned block, unsigned lane, float part) {
  if (lane >= kClasses) return;
  send(Place(&memory.block_parts[lane][block]).in(0), __float_as_uint(part),
       Place(&memory.parts_here).in(0));
}

// the layers --------------------------------------------------------------------------------------

/// By all threads; leaves a class's part in each warp's row.
__device__ inline void fc1_and_fc2(unsigned block, const Registers& own, const Outputs& outputs) {
  const unsigned warp = warp_index(), lane = lane_index();
  const float* inputs = memory.pool2[0];
  float sums[kFc1Rows] = {};
#pragma unroll
  for (int column = 0; column < kFc1Columns; ++column) {
    const float input = inputs[column * kWarp + lane];
    sums[0] += own.fc1.of[2 * column] * input;
    sums[1] += own.fc1.of[2 * column + 1] * input;
  }
  // Half a warp for each of the two outputs.
  const bool second = lane >= kWarp / 2;
  float value = second ? sums[1] : sums[0];
  value += __shfl_xor_sync(0xffffffff, second ? sums[0] : sums[1], kWarp / 2);
#pragma unroll
  for (int distance = kWarp / 4; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, distance);
  }
  value = fmaxf(value + memory.fc1_bias[thread_index() / 16], 0.0f);
  const unsigned output = block * kFc1Share + thread_index() / 16;
  if (lane % (kWarp / 2) == 0 && output < kFc1Outputs) outputs.fc1[output] = value;

  float part = own.fc2_weight * value;
  part += __shfl_xor_sync(0xffffffff, part, kWarp / 2);
  if (lane < kClasses) memory.fc2_parts[lane][warp] = part;
}

/// From the image in shared memory to the parts of fc2 on their way to block 0.
__device__ inline void compute(unsigned block, const Registers& own, const Outputs& outputs,
                               unsigned parity) {
  if (threadIdx.x == kThreads - 1) memory.pool2_here.expect(kFc1Inputs * sizeof(float));
  conv1_pool(memory, block);
  __syncthreads();
  conv2_parts(memory, own.conv2);
  __syncthreads();
  send_pool2(block, pool2(memory), outputs);
  memory.pool2_here.wait(parity);
  fc1_and_fc2(block, own, outputs);
  __syncthreads();
  if (warp_index() == 0) send_part(block, lane_index(), sum_of(memory.fc2_parts, lane_index()));
}

/// By the first warp of block 0: in each of its first ten lanes a class's probability.
__device__ inline float answer(const Outputs& outputs, unsigned parity) {
  memory.parts_here.wait(parity);
  const unsigned lane = lane_index();
  const float logit = sum_of(memory.block_parts, lane) + memory.fc2_bias[lane];
  if (lane < kClasses) outputs.fc2[lane] = logit;
  return softmax(logit, lane);
}

// requests to a kernel that stays -----------------------------------------------------------------

/// Whether this word belongs to the request, whatever its order.
__device__ inline bool belongs(Word word, Stamp request) {
  return stamp_of(word) - request * kOrders < kOrders;
}

/// Reads of all blocks begin at the same moments, two of them on the bus at a time: what matters is
/// how soon the last of fourteen sees its rows.
__device__ inline void wait_for_the_next_moment() {
  constexpr unsigned kCycles = 1024;  // half a microsecond; a read takes about two
  const unsigned started = memory.started, now = (cycles() - started) / kCycles;
  while ((cycles() - started) / kCycles == now) {
  }
}

/// Block 0 says when to leave. The others look whether it did.
struct Patience {
  unsigned block;
  unsigned parity;
  unsigned long long until;

  __device__ bool over() const {
    if (block == 0) return nanoseconds() > until;
    const volatile Stamp& stamp = memory.stamp;  // or it would be read before the barrier is asked
    return memory.stamp_here.over(parity) && stamp % kOrders == kLeave;
  }
};

/// By the reading warp: waits until the host has written this block's rows for the request, or
/// until it is time to leave; then whatever it has goes to all blocks, so that none waits for ever.
__device__ inline void listen(const Mailbox& mailbox, Stamp request, const Patience& patience) {
  const unsigned lane = lane_index(), block = patience.block;
  const unsigned mine = min(lane, kImageRows * kRowPairs - 1u);
  const Word* from = mailbox.image + block * kImageRows * kImageSide + 2 * mine;
  const auto whole = [&](const TwoWords& words) {
    return __all_sync(0xffffffff, belongs(words.first, request) && belongs(words.second, request));
  };
  TwoWords words, next = load_words(from);
  Stamp stamp = request * kOrders + kLeave;
  for (;;) {
    wait_for_the_next_moment();
    words = load_words(from);
    if (whole(next)) {
      words = next;
      stamp = stamp_of(words.first);
      break;
    }
    wait_for_the_next_moment();
    next = load_words(from);
    if (whole(words)) {
      stamp = stamp_of(words.first);
      break;
    }
    if (__any_sync(0xffffffff, patience.over())) break;
  }
  if (block == 0 && lane < kBlocks) {
    send(Place(&memory.stamp).in(lane), stamp, Place(&memory.stamp_here).in(lane));
  }
  send_pixels(block, lane, {value_of(words.first), value_of(words.second)});
}

/// Serves requests until it is time to leave, then says that this launch has ended. `work` is what
/// a block does with an image: it leaves its part of the ten sums on the way to block 0, and in
/// block 0 makes the answer of them.
template <class Work>
__device__ inline void serve(const Launch& launch, const Work& work) {
  wait_for_the_cluster();
  if (threadIdx.x == 0) {
    memory.launched = nanoseconds();
    memory.started = cycles();
  }
  __syncthreads();
  for (Stamp request = launch.request;; ++request) {
    const unsigned block = block_index(), parity = (request - launch.request) % 2;
    if (threadIdx.x == 0) {
      memory.stamp_here.expect(sizeof memory.stamp);
      expect_an_image(block);
    }
    if (block < kReaders && warp_index() == blockDim.x / kWarp - 1) {
      const unsigned long long now = nanoseconds();
      const bool late = request != launch.request && now - memory.launched > kLife;
      listen(*launch.mailbox, request, {block, parity, late ? 0 : now + kIdle});
    }
    memory.stamp_here.wait(parity);
    const Stamp order = memory.stamp % kOrders;
    const bool timed = order == kTellTimes;
    const unsigned long long heard = timed ? nanoseconds() : 0;
    memory.image_here.wait(parity);
    if (order == kLeave) break;
    const unsigned long long read = timed ? nanoseconds() : 0;
    float value = work(block, parity);
    if (block == 0 && warp_index() == 0) {
      const unsigned lane = lane_index();
      if (timed && lane == kClasses + kForwarding) value = read - heard;
      if (timed && lane == kClasses + kComputing) value = nanoseconds() - read;
      if (lane < kClasses + kTimes) {
        store_word(&launch.mailbox->answer[lane], value, request * kOrders);
      }
    }
  }
  if (block_index() == 0 && warp_index() == 0) __syncwarp();  // after the answers of all its lanes
  if (block_index() == 0 && threadIdx.x == 0)
    release_to_host(&launch.mailbox->ended, launch.number);
}

/// By all threads of a block that will be sent to.
__device__ inline void begin() {
  if (threadIdx.x == 0) {
    memory.stamp_here.init();
    memory.image_here.init();
    memory.pool2_here.init();
    memory.parts_here.init();
  }
  __syncthreads();
  begin_in_cluster();
}

}  // namespace lenet::gpu

using namespace lenet;
using namespace lenet::gpu;

/// The image is in memory of the host, the answer's words go there, marked with 1.
extern "C" __global__ void __cluster_dims__(kBlocks) __launch_bounds__(kThreads, 1)
    lenet_once(const float* image, Parameters parameters, Outputs outputs, Word* words) {
  const unsigned block = block_index(), warp = warp_index(), lane = lane_index();
  const bool reads = block < kReaders && warp == kReader;
  float2 pixels = {};  // first: they come over the bus
  if (reads && lane < kImageRows * kRowPairs) {
    pixels = load_two_now(image + 2 * (block * kImageRows * kRowPairs + lane));
  }
  begin();
  const Registers own = load_weights(block, parameters);
  if (threadIdx.x == 0) expect_an_image(block);
  wait_for_the_cluster();
  if (reads) send_pixels(block, lane, pixels);
  __syncthreads();
  memory.image_here.wait(0);
  compute(block, own, outputs, 0);
  if (block == 0 && warp == 0) {
    const float probability = answer(outputs, 0);
    if (lane < kClasses) store_word(words + lane, probability, 1);
  }
}

extern "C" __global__ void __cluster_dims__(kBlocks) __launch_bounds__(kThreads, 1)
    persistent_lenet(Launch launch, Parameters parameters, Outputs outputs) {
  begin();
  const Registers own = load_weights(block_index(), parameters);
  serve(launch, [&](unsigned block, unsigned parity) {
    compute(block, own, outputs, parity);
    return block == 0 && warp_index() == 0 ? answer(outputs, parity) : 0.0f;
  });
}

/// Answers with the first ten pixels, by the same ways. One warp a block.
extern "C" __global__ void __cluster_dims__(kBlocks) __launch_bounds__(kWarp, 1)
    persistent_echo(Launch launch) {
  begin();
  serve(launch, [&](unsigned block, unsigned parity) {
    const unsigned lane = lane_index();
    send_part(block, lane, block == 0 ? memory.image[0][lane] : 0.0f);
    if (block != 0) return 0.0f;
    memory.parts_here.wait(parity);
    return sum_of(memory.block_parts, lane);
  });
}
