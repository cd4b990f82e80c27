// LeNet with nothing underneath: every layer as SIMD kernels in GCC's vector extensions.
//
// The steps that led here, each measured as a whole network on one core
// of an Intel Xeon with 2 MB of second-level cache (docs/fused.md), us an image:
//
//                                                                       AVX-512    AVX2
//   1  plain loops, as the compiler makes them                             2363    1350
//   2  lanes are channels, pooling in the convolution, weights packed      51.5    72.2
//   3  conv2 by Winograd F(4x4, 5x5): 256,000 multiplications, not 1.6 M   34.5    38.6
//   4  conv1 by Winograd F(4, 5): 115,200, not 288,000                     29.4    30.6
//   5  fc1 read backwards by turns: what was read last is still cached     22.1    25.9
//   6  weights in pages that the cache holds all at once (fused_memory)    18.5    22.1
//
// This file, with the layers that it includes, is compiled once an instruction set, with LENET_ISA
// naming it and LENET_LANES the floats in its vectors; no intrinsics, so SSE2, AVX2, AVX-512 and
// NEON are all this one source. Everything but the table at the end has internal linkage, and
// nothing of the standard library is instantiated: the linker could take another instruction set's
// copy of it. Multiply-adds may be contracted or not; nothing depends on it.
#include "cpu/fused_kernels.hpp"

#include "cpu/fused_batch.hpp"
#include "cpu/fused_conv1.hpp"
#include "cpu/fused_conv2.hpp"
#include "cpu/fused_fc.hpp"

namespace lenet::LENET_ISA {
namespace {

template <class Stored>
struct alignas(64) Packed {
  Conv1Weights conv1[kConv1Blocks];
  Conv1Weights conv1_last;
  Conv2Weights conv2[kConv2Blocks];
  Conv2LastWeights conv2_last;
  Fc1Weights<Stored> fc1;
  Fc2Weights fc2;
};

/// What the convolutions of one image need on their way. A layer's input is dead when its output is
/// being read, so two places do for all; each KB here is one less of weights in the second-level
/// cache.
struct alignas(64) Scratch {
  union {
    Columns columns;
    Pool1 pool1;
    Conv2Sums conv2_sums;
  };
  union {
    Conv1Input conv1_input;
    Conv2Input conv2_input;
  };
};

constexpr int kConv2Vectors = kWholeConv2 / kLanes;

template <class Stored>
inline void convolutions(const Packed<Stored>& w, const float* image, Scratch& s, Pool2& pool2) {
  transform_image(image, {0, kTilesAcross}, s.columns, s.conv1_input);  // conv1
  conv1_pool1(w.conv1, w.conv1_last, s.conv1_input, {0, kTilesAcross}, s.pool1);
  transform_pool1(s.pool1, s.conv2_input);  // conv2
  conv2_pool2(w.conv2, s.conv2_input, {0, kConv2Vectors}, s.conv2_sums, pool2);
  conv2_pool2_last(w.conv2_last, s.conv2_input, {0, kLastConv2}, pool2);
}

template <class Stored>
void forward(const void* packed, const float* image, bool backwards, float* probabilities) {
  const auto& w = *static_cast<const Packed<Stored>*>(packed);
  Scratch s;
  FusedActivations a;
  convolutions(w, image, s, a.pool2);
  fc1_relu(w.fc1, a.pool2[0][0], {0, kFc1Blocks}, backwards, a.hidden);
  fc2_softmax(w.fc2, a.hidden, probabilities);
}

template <class Stored>
void forward_all(const void* packed, const float* images, int count, FusedActivations* activations,
                 float* probabilities) {
  const auto& w = *static_cast<const Packed<Stored>*>(packed);
  for (int n = 0; n < count; ++n) {
    Scratch s;
    convolutions(w, images + n * kImagePixels, s, activations[n].pool2);
  }
  fc1_relu_of_all(w.fc1, activations, count);
  for (int n = 0; n < count; ++n) {
    fc2_softmax(w.fc2, activations[n].hidden, probabilities + n * kClasses);
  }
}

inline Range share(int whole, FusedPart p) {
  return {whole * p.part / p.parts, whole * (p.part + 1) / p.parts};
}

/// A stage needs all parts of the one before. Every part transforms all of pool1 for itself, since
/// sharing that too would be one more stage to wait for.
template <class Stored>
void forward_part(const void* packed, int stage, FusedPart part, const float* image,
                  FusedShared& shared) {
  const auto& w = *static_cast<const Packed<Stored>*>(packed);
  FusedActivations& a = shared.activations;
  Scratch s;
  switch (stage) {
    case 0:
      transform_image(image, share(kTilesAcross, part), s.columns, s.conv1_input);  // conv1
      conv1_pool1(w.conv1, w.conv1_last, s.conv1_input, share(kTilesAcross, part), shared.pool1);
      break;
    case 1:
      transform_pool1(shared.pool1, s.conv2_input);  // conv2
      conv2_pool2(w.conv2, s.conv2_input, share(kConv2Vectors, part), s.conv2_sums, a.pool2);
      conv2_pool2_last(w.conv2_last, s.conv2_input, share(kLastConv2, part), a.pool2);
      break;
    default:
      fc1_relu(w.fc1, a.pool2[0][0], share(kFc1Blocks, part), part.backwards, a.hidden);
  }
}

template <class Stored>
void finish(const void* packed, const FusedActivations& activations, float* probabilities) {
  fc2_softmax(static_cast<const Packed<Stored>*>(packed)->fc2, activations.hidden, probabilities);
}

/// From channels innermost to Caffe's layout.
template <int Channels, int Area>
void channels_outermost(const float* from, float* to) {
  for (int c = 0; c < Channels; ++c) {
    for (int p = 0; p < Area; ++p) to[c * Area + p] = from[p * Channels + c];
  }
}

template <class Stored>
void trace(const void* packed, const float* image, FusedTrace& trace) {
  FusedShared s;
  const FusedActivations& a = s.activations;
  for (int stage = 0; stage < kFusedStages; ++stage) {
    forward_part<Stored>(packed, stage, {0, 1, false}, image, s);
  }
  channels_outermost<kConv1Channels, kPool1Side * kPool1Side>(s.pool1[0][0], trace.pool1);
  channels_outermost<kConv2Channels, kPool2Side * kPool2Side>(a.pool2[0][0], trace.pool2);
  for (int o = 0; o < kFc1Outputs; ++o) trace.fc1[o] = a.hidden[o];
  fc2(static_cast<const Packed<Stored>*>(packed)->fc2, a.hidden, trace.fc2);
}

template <class Stored>
// load
void pack(const Weights& weights, void* memory) {
  auto& packed = *static_cast<Packed<Stored>*>(memory);
  pack_conv1(weights, packed.conv1, packed.conv1_last);
  pack_conv2(weights, packed.conv2, packed.conv2_last);
  pack_fc1(weights, packed.fc1);
  pack_fc2(weights, packed.fc2);
}

template <class Stored>
constexpr FusedKernels kernels() {
  return {kLanes,          sizeof(Packed<Stored>), pack<Stored>,
          forward<Stored>, forward_all<Stored>,    forward_part<Stored>,
          finish<Stored>,  trace<Stored>};
}

}  // namespace

extern const FusedVariants kFused;
const FusedVariants kFused = {kernels<Vec>(), kernels<Words>()};

}  // namespace lenet::LENET_ISA
