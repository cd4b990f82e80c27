// fc1: for many images at once, a product of matrices, where fused_fc.hpp has one of a matrix and a
// vector. Weights that are read once serve a whole block of images.
//
// Registers hold four vectors of outputs by a few images. Those four vectors' weights for a stretch
// of the inputs stay in the first-level cache while all images of the block pass by. Each output
// adds up in the same order as for one image, so the results are the same to the bit.
#pragma once

#include "cpu/fused_fc.hpp"

namespace lenet::LENET_ISA {
namespace {

#if defined(__aarch64__)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = kLanes == 16 ? 32 : 16;
#endif
constexpr int kImagesTogether = kRegisters == 32 ? 6 : 3;
constexpr int kVectorsTogether = 4;
constexpr int kStretch = 100;  // of inputs; from 40 to 400 it is the same within 3 %

/// `words` of the weights, `stride` apart, times the inputs from `from` on, added to the sums in
/// `hidden` from `output` on.
template <int Vectors, int Images, class Stored>
void add_products(const Stored* words, int stride, int from, int output, FusedActivations* images) {
  constexpr int kInputs = kInputsAWord<Stored>;
  Vec sums[Vectors][Images];
  for (int b = 0; b < Vectors; ++b) {
    for (int n = 0; n < Images; ++n) {
      sums[b][n] = from == 0 ? Vec{} : load(images[n].hidden + output + b * kLanes);
    }
  }
  for (int i = from; i < from + kStretch; i += kInputs, words += stride) {
#pragma GCC unroll 4
    for (int b = 0; b < Vectors; ++b) {
#pragma GCC unroll 6
      for (int n = 0; n < Images; ++n) {
        const float* x = images[n].pool2[0][0];
        sums[b][n] += first(words[b]) * x[i];
        if constexpr (kInputs == 2) sums[b][n] += second(words[b]) * x[i + 1];
      }
    }
  }
  for (int b = 0; b < Vectors; ++b) {
    for (int n = 0; n < Images; ++n) {
      store(images[n].hidden + output + b * kLanes, sums[b][n]);
    }
  }
}

/// The same for any number of images: as many at once as there are left.
template <int Vectors, int Images, class Stored>
void add_products_of_all(const Stored* words, int stride, int from, int output,
                         FusedActivations* images, int count) {
  for (; count >= Images; images += Images, count -= Images) {
    add_products<Vectors, Images>(words, stride, from, output, images);
  }
  if constexpr (Images > 1) {
    add_products_of_all<Vectors, (Images + 1) / 2>(words, stride, from, output, images, count);
  }
}

template <class Stored>
void fc1_relu_of_all(const Fc1Weights<Stored>& w, FusedActivations* images, int count) {
  constexpr int kLastVectors = (kFc1Rest - 1) % kVectorsTogether + 1;
  for (int vector = 0; vector < kFc1Vectors; vector += kVectorsTogether) {
    const int block = vector / kFc1Block, width = fc1_width(block);
    const Stored* words = w.blocks + block * kFc1Block * kFc1Words<Stored> + vector % kFc1Block;
    const auto add = kFc1Vectors - vector >= kVectorsTogether
                         ? add_products_of_all<kVectorsTogether, kImagesTogether, Stored>
                         : add_products_of_all<kLastVectors, kImagesTogether, Stored>;
    for (int i = 0; i < kFc1Inputs; i += kStretch) {
      add(words + i / kInputsAWord<Stored> * width, width, i, vector * kLanes, images, count);
    }
  }
  for (int n = 0; n < count; ++n) {
    float* hidden = images[n].hidden;
    for (int o = 0; o < kWholeFc1; o += kLanes) {
      store(hidden + o, fc1_finished(w, o, load(hidden + o)));
    }
    fc1_last(w, images[n].pool2[0][0], hidden);
  }
}

}  // namespace
}  // namespace lenet::LENET_ISA
