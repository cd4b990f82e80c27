// fc1, fc2 and softmax: included by fused_kernels.cpp.
#pragma once

#include <float.h>
#include <math.h>

#include "cpu/fused_kernels.hpp"
#include "cpu/vectors.hpp"

namespace lenet::LENET_ISA {
namespace {

// --- fc1 -----------------------------------------------------------------------------------------
//
// 93 % of the parameters: what counts is that they are read once, in the order they lie. Lanes
// are outputs, in blocks of eight vectors that stay in registers for all 800 inputs; 496 outputs
// are whole vectors at every width, the last four are dot products with lanes along the inputs.

constexpr int kWholeFc1 = 496;
constexpr int kLastFc1 = kFc1Outputs - kWholeFc1;
constexpr int kFc1Vectors = kWholeFc1 / kLanes;
constexpr int kFc1Block = kLanes == 16 ? 4 : 8;  // at least what L2 delivers, 64 bytes a cycle
constexpr int kFc1Rest = kFc1Vectors % kFc1Block;
constexpr int kFc1Blocks = kFc1Vectors / kFc1Block + 1;
static_assert(kFc1Rest > 0, "the last block is a smaller one");

/// Two int16 weights a lane, in units of 2^-16 scales. The whole word is the first: it was rounded
/// with the second below it in mind. So one shift and two conversions make floats of both.
typedef int Words __attribute__((vector_size(4 * kLanes)));
typedef unsigned Bits __attribute__((vector_size(4 * kLanes)));

inline Vec first(Words w) { return __builtin_convertvector(w, Vec); }
inline Vec second(Words w) {
  return __builtin_convertvector(reinterpret_cast<Words>(reinterpret_cast<Bits>(w) << 16), Vec);
}
inline Vec first(Vec w) { return w; }

/// `Stored` is Vec, or Words with two weights in each lane.
template <class Stored>
constexpr int kInputsAWord = 1;
template <>
constexpr int kInputsAWord<Words> = 2;

template <class Stored>
constexpr int kFc1Words = kFc1Inputs / kInputsAWord<Stored>;

template <class Stored>
struct Fc1Weights {
  Stored blocks[kFc1Words<Stored> * kFc1Vectors];
  Stored last[kFc1Words<Stored> / kLanes][kLastFc1];
  float scale[kHiddenPadded];  // 1 for floats
  float bias[kHiddenPadded];
};

inline int fc1_width(int block) { return block < kFc1Blocks - 1 ? kFc1Block : kFc1Rest; }

/// What bias and ReLU make of the sums of the vector of outputs from `output` on.
template <class Stored>
inline Vec fc1_finished(const Fc1Weights<Stored>& w, int output, Vec sums) {
  return max(sums * load(w.scale + output) + load(w.bias + output), Vec{});
}

template <int Vectors, class Stored>
void fc1_block(const Fc1Weights<Stored>& w, int block, const float* x, float* hidden) {
  constexpr int kInputs = kInputsAWord<Stored>;
  const Stored* words = w.blocks + block * kFc1Block * kFc1Words<Stored>;
  Vec sums[Vectors] = {};
  for (int i = 0; i < kFc1Inputs; i += kInputs, words += Vectors) {
#pragma GCC unroll 8
    for (int b = 0; b < Vectors; ++b) {
      sums[b] += first(words[b]) * x[i];
      if constexpr (kInputs == 2) sums[b] += second(words[b]) * x[i + 1];
    }
  }
  for (int b = 0; b < Vectors; ++b) {
    const int output = (block * kFc1Block + b) * kLanes;
    store(hidden + output, fc1_finished(w, output, sums[b]));
  }
}

/// The last four outputs, and zeros up to a whole vector.
template <class Stored>
void fc1_last(const Fc1Weights<Stored>& w, const float* x, float* hidden) {
  Vec sums[kLastFc1] = {};
  for (const Stored(&words)[kLastFc1] : w.last) {
    for (int o = 0; o < kLastFc1; ++o) {
      sums[o] += first(words[o]) * load(x);
      if constexpr (kInputsAWord<Stored> == 2) sums[o] += second(words[o]) * load(x + kLanes);
    }
    x += kInputsAWord<Stored> * kLanes;
  }
  for (int o = kWholeFc1; o < kFc1Outputs; ++o) {
    const float s = sum(sums[o - kWholeFc1]) * w.scale[o] + w.bias[o];
    hidden[o] = s > 0 ? s : 0;
  }
  for (int o = kFc1Outputs; o < kHiddenPadded; ++o) hidden[o] = 0;
}

/// Some of the blocks; the last four outputs go with the last block.
template <class Stored>
void fc1_relu(const Fc1Weights<Stored>& w, const float* x, Range blocks, bool backwards,
              float* hidden) {
  for (int n = blocks.from; n < blocks.to; ++n) {
    const int block = backwards ? blocks.from + blocks.to - 1 - n : n;
    const auto run =
        block < kFc1Blocks - 1 ? fc1_block<kFc1Block, Stored> : fc1_block<kFc1Rest, Stored>;
    run(w, block, x, hidden);
  }
  if (blocks.to == kFc1Blocks) fc1_last(w, x, hidden);
}

// --- fc2 and softmax -----------------------------------------------------------------------------

struct Fc2Weights {
  Vec w[kHiddenPadded / kLanes][kClasses];
  float bias[kClasses];
};

void fc2(const Fc2Weights& w, const float* hidden, float* logits) {
  Vec sums[kClasses] = {};
  for (int v = 0; v < kHiddenPadded / kLanes; ++v) {
    const Vec x = load(hidden + v * kLanes);
    for (int c = 0; c < kClasses; ++c) sums[c] += w.w[v][c] * x;
  }
  for (int c = 0; c < kClasses; ++c) logits[c] = sum(sums[c]) + w.bias[c];
}

void softmax(const float* logits, float* probabilities) {
  float largest = logits[0], total = 0;
  for (int c = 1; c < kClasses; ++c) largest = logits[c] > largest ? logits[c] : largest;
  for (int c = 0; c < kClasses; ++c) total += probabilities[c] = expf(logits[c] - largest);
  for (int c = 0; c < kClasses; ++c) probabilities[c] /= total;
}

void fc2_softmax(const Fc2Weights& w, const float* hidden, float* probabilities) {
  float logits[kClasses];
  fc2(w, hidden, logits);
  softmax(logits, probabilities);
}

/// A word of two int16: the second below, the first rounded so that the whole is closest to it.
int join_int16(float first, float second) {
  const int low = static_cast<int>(lrintf(second)) & 0xffff;
  const int high = static_cast<int>(lrintf(first - static_cast<float>(low) / 65536));
  return high * 65536 + low;
}

template <class Stored>
// load
void pack_fc1(const Weights& weights, Fc1Weights<Stored>& packed) {
  constexpr int kArea = kPool2Side * kPool2Side;
  constexpr int kInputs = kInputsAWord<Stored>, kWords = kFc1Words<Stored>;
  for (int o = 0; o < kFc1Outputs; ++o) {
    float row[kFc1Inputs], largest = 0;
    for (int i = 0; i < kFc1Inputs; ++i) {  // Caffe has pixels innermost, we have channels
      const int caffe = i % kConv2Channels * kArea + i / kConv2Channels;
      row[i] = weights.fc1_weight[o * kFc1Inputs + caffe];
      largest = fabsf(row[i]) > largest ? fabsf(row[i]) : largest;
    }
    // Below, the scale would be too coarse a number; there the weights count for nothing.
    const float scale = largest > 32767 * FLT_MIN ? largest / 32767 : 1;
    const bool whole = o < kWholeFc1;
    const int vector = o / kLanes, block = vector / kFc1Block, in_block = vector % kFc1Block;
    for (int n = 0; n < kWords; ++n) {
      const int at = block * kFc1Block * kWords + n * fc1_width(block) + in_block;
      Stored& word = whole ? packed.blocks[at] : packed.last[n / kLanes][o - kWholeFc1];
      const int lane = whole ? o % kLanes : n % kLanes;
      const int i = whole ? kInputs * n : n / kLanes * kInputs * kLanes + n % kLanes;
      if constexpr (kInputs == 1) {
        word[lane] = row[i];
      } else {
        word[lane] = join_int16(row[i] / scale, row[i + (whole ? 1 : kLanes)] / scale);
      }
    }
    packed.scale[o] = kInputs == 1 ? 1 : scale / 65536;
    packed.bias[o] = weights.fc1_bias[o];
  }
}

// load
void pack_fc2(const Weights& weights, Fc2Weights& packed) {
  for (int c = 0; c < kClasses; ++c) {
    for (int i = 0; i < kHiddenPadded; ++i) {
      packed.w[i / kLanes][c][i % kLanes] =
          i < kFc1Outputs ? weights.fc2_weight[c * kFc1Outputs + i] : 0;
    }
    packed.bias[c] = weights.fc2_bias[c];
  }
}

}  // namespace
}  // namespace lenet::LENET_ISA
