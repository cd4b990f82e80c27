// The steps that lead from plain loops to the backend `fused`, each a whole network, for
// bench/serial_limit.py --steps. What a step shares with the backend is the backend's own source.
//
//   1  plain loops, as the compiler makes them
//   2  lanes are channels, convolution and pooling in one, weights packed, fc1 in one stream
//   3  conv2 by Winograd F(4x4, 5x5)
//   4  conv1 by Winograd F(4, 5)
//   5  fc1 read backwards by turns
//   6  weights in pages that the second-level cache holds all at once
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "cpu/fused_kernels.cpp"
#include "cpu/fused_memory.cpp"

namespace lenet::LENET_ISA {
namespace {

constexpr int kTaps = kKernelSide * kKernelSide;

// --- step 1 --------------------------------------------------------------------------------------

/// Convolution and 2x2 maximum, in Caffe's layout.
template <int In, int Out, int Side>
void plain_convolution(const float* weight, const float* bias, const float* in, float* out) {
  constexpr int kConv = Side - kKernelSide + 1, kPool = kConv / 2;
  static float conv[Out * kConv * kConv];
  for (int o = 0; o < Out; ++o) {
    for (int y = 0; y < kConv; ++y) {
      for (int x = 0; x < kConv; ++x) {
        float sum = bias[o];
        for (int i = 0; i < In; ++i) {
          for (int tap = 0; tap < kTaps; ++tap) {
            sum += weight[(o * In + i) * kTaps + tap] *
                   in[(i * Side + y + tap / kKernelSide) * Side + x + tap % kKernelSide];
          }
        }
        conv[(o * kConv + y) * kConv + x] = sum;
      }
    }
  }
  for (int o = 0; o < Out; ++o) {
    for (int at = 0; at < kPool * kPool; ++at) {
      const float* c = conv + (o * kConv + at / kPool * 2) * kConv + at % kPool * 2;
      const float upper = c[0] > c[1] ? c[0] : c[1];
      const float lower = c[kConv] > c[kConv + 1] ? c[kConv] : c[kConv + 1];
      out[o * kPool * kPool + at] = upper > lower ? upper : lower;
    }
  }
}

template <int In, int Out>
void plain_product(const float* weight, const float* bias, const float* in, float* out) {
  for (int o = 0; o < Out; ++o) {
    float sum = bias[o];
    for (int i = 0; i < In; ++i) sum += weight[o * In + i] * in[i];
    out[o] = sum;
  }
}

void plain_network(const Weights& w, const float* image, float* probabilities) {
  static float pool1[kConv1Channels * kPool1Side * kPool1Side];
  float pool2[kFc1Inputs], hidden[kFc1Outputs], logits[kClasses];
  plain_convolution<1, kConv1Channels, kImageSide>(w.conv1_weight, w.conv1_bias, image, pool1);
  plain_convolution<kConv1Channels, kConv2Channels, kPool1Side>(w.conv2_weight, w.conv2_bias, pool1,
                                                                pool2);
  plain_product<kFc1Inputs, kFc1Outputs>(w.fc1_weight, w.fc1_bias, pool2, hidden);
  for (float& h : hidden) h = h > 0 ? h : 0;
  plain_product<kFc1Outputs, kClasses>(w.fc2_weight, w.fc2_bias, hidden, logits);
  softmax(logits, probabilities);
}

// --- step 2 --------------------------------------------------------------------------------------

/// Lanes are output channels, padded to whole vectors; inputs have channels innermost.
template <int In, int Out, int Side>
struct Direct {
  static constexpr int kVectors = (Out + kLanes - 1) / kLanes;
  static constexpr int kPool = (Side - kKernelSide + 1) / 2;
  static constexpr int kMost = kLanes == 16 ? 4 : 2;  // vectors that registers hold by four pixels
  static constexpr int kAtOnce = kVectors < kMost ? kVectors : kMost;

  Vec weight[kVectors][kTaps][In];
  Vec bias[kVectors];

  void pack(const float* from, const float* from_bias) {
    for (int o = 0; o < Out; ++o) {
      for (int at = 0; at < In * kTaps; ++at) {
        weight[o / kLanes][at % kTaps][at / kTaps][o % kLanes] = from[o * In * kTaps + at];
      }
      bias[o / kLanes][o % kLanes] = from_bias[o];
    }
  }

  template <int Vectors>
  void pooled_pixel(int vector, const float* in, float* out) const {
    Vec sums[4][Vectors] = {};
    for (int tap = 0; tap < kTaps; ++tap) {
      for (int i = 0; i < In; ++i) {
        for (int at = 0; at < 4; ++at) {
          const int y = tap / kKernelSide + at / 2, x = tap % kKernelSide + at % 2;
          const Vec pixel = splat(in[(y * Side + x) * In + i]);
          for (int v = 0; v < Vectors; ++v) sums[at][v] += weight[vector + v][tap][i] * pixel;
        }
      }
    }
    for (int v = 0; v < Vectors; ++v) {
      const Vec largest = max(max(sums[0][v], sums[1][v]), max(sums[2][v], sums[3][v]));
      const Vec result = largest + bias[vector + v];
      const int first = (vector + v) * kLanes;
      if (first + kLanes <= Out) {
        store(out + first, result);
      } else {
        for (int lane = 0; first + lane < Out; ++lane) out[first + lane] = result[lane];
      }
    }
  }

  void run(const float* in, float* out) const {
    for (int y = 0; y < kPool; ++y) {
      for (int x = 0; x < kPool; ++x) {
        const float* from = in + (2 * y * Side + 2 * x) * In;
        float* to = out + (y * kPool + x) * Out;
        int v = 0;
        for (; v + kAtOnce <= kVectors; v += kAtOnce) pooled_pixel<kAtOnce>(v, from, to);
        for (; v < kVectors; ++v) pooled_pixel<1>(v, from, to);
      }
    }
  }
};

// --- all steps -----------------------------------------------------------------------------------

/// Weights of the size that training gives, everything packed in each way.
struct Everything {
  std::vector<float> values = std::vector<float>(kFc1Inputs * kFc1Outputs);
  Weights weights;
  Direct<1, kConv1Channels, kImageSide> conv1 = {};
  Direct<kConv1Channels, kConv2Channels, kPool1Side> conv2 = {};
  Packed<Vec> anywhere = {};
  FusedMemory chosen{sizeof(Packed<Vec>)};
  float image[kImagePixels];

  Everything() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.05f);
    for (float& value : values) value = normal(random);
    for (float& pixel : image) pixel = 0.5f;
    const float* v = values.data();
    weights = {v, v, v, v, v, v, v, v};
    conv1.pack(v, v);
    conv2.pack(v, v);
    pack<Vec>(weights, &anywhere);
    pack<Vec>(weights, chosen.get());
  }
};

void run_step(const Everything& e, int step, bool backwards, float* probabilities) {
  if (step == 1) return plain_network(e.weights, e.image, probabilities);
  if (step == 6) return forward<Vec>(e.chosen.get(), e.image, backwards, probabilities);
  if (step >= 4) return forward<Vec>(&e.anywhere, e.image, step == 5 && backwards, probabilities);
  Scratch s;
  FusedActivations a;
  const Packed<Vec>& w = e.anywhere;
  e.conv1.run(e.image, s.pool1[0][0]);
  if (step == 2) {
    e.conv2.run(s.pool1[0][0], a.pool2[0][0]);
  } else {
    transform_pool1(s.pool1, s.conv2_input);
    conv2_pool2(w.conv2, s.conv2_input, {0, kConv2Vectors}, s.conv2_sums, a.pool2);
    conv2_pool2_last(w.conv2_last, s.conv2_input, {0, kLastConv2}, a.pool2);
  }
  fc1_relu(w.fc1, a.pool2[0][0], {0, kFc1Blocks}, false, a.hidden);
  fc2_softmax(w.fc2, a.hidden, probabilities);
}

}  // namespace
}  // namespace lenet::LENET_ISA

/// Seconds for one image, without Python; `probabilities` shows that the steps agree.
extern "C" double seconds_for_step(int step, int backwards, float* probabilities) {
  using namespace lenet::LENET_ISA;
  static const auto everything = std::make_unique<Everything>();
  const auto start = std::chrono::steady_clock::now();
  run_step(*everything, step, backwards != 0, probabilities);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
