// LeNet with nothing underneath: every layer as SIMD kernels in GCC's vector extensions.
//
// The steps that led here, each measured as a whole network by bench/serial_limit.py --ladder on
// one core of an Intel Xeon with 2 MB of second-level cache (results/serial-limit), us an image:
//
//                                                                       AVX-512    AVX2
//   1  plain loops, as the compiler makes them                             2363    1350
//   2  lanes are channels, pooling in the convolution, weights packed      51.5    72.2
//   3  conv2 by Winograd F(4x4, 5x5): 256,000 multiplications, not 1.6 M   34.5    38.6
//   4  conv1 by Winograd F(4, 5): 115,200, not 288,000                     29.4    30.6
//   5  fc1 read backwards by turns: what was read last is still cached     22.1    25.9
//   6  weights in pages that the cache holds all at once (fused_memory)    18.5    22.1
//
// This file is compiled once an instruction set, with LENET_ISA naming it and LENET_LANES the
// floats in its vectors; no intrinsics, so SSE2, AVX2, AVX-512 and NEON are all this one source.
// Everything but the table at the end has internal linkage, and nothing of the standard library
// is instantiated: the linker could take another instruction set's copy of it. Multiply-adds may
// be contracted or not; nothing depends on it.
#include "cpu/fused_kernels.hpp"

#include <math.h>

#include "cpu/vectors.hpp"

namespace lenet::LENET_ISA {
namespace {

// --- Winograd F(4, 5) ----------------------------------------------------------------------------
//
// Four outputs of a 5-tap correlation from eight inputs with 8 multiplications, not 20: both are
// polynomials, evaluated at eight points, multiplied point by point, and interpolated. The points
// 0, +-1, +-2, +-1/2 and infinity keep every factor small, and each pair +-p shares its work.
//
//   y = A^T [(G g) * (B^T d)]
//
//   G[k][i]   = c_k p_k^i                 c = 1, -2/9, 1/90, 32/45 for |p| = 0, 1, 2, 1/2
//   A^T[j][k] = p_k^j                     infinity: only the highest power, with factor 1
//   B^T[k]    = the polynomial that vanishes at all points but p_k

constexpr int kPoints = 8;
constexpr int kTile = 4;
constexpr double kPoint[kPoints - 1] = {0, 1, -1, 2, -2, 0.5, -0.5};
constexpr double kFactor[kPoints - 1] = {1, -2. / 9, -2. / 9, 1. / 90, 1. / 90, 32. / 45, 32. / 45};

/// G g of one row of five weights.
void transform_weights(const double* g, int stride, double* u, int u_stride) {
  for (int k = 0; k < kPoints - 1; ++k) {
    double value = 0;
    for (int i = kKernelSide - 1; i >= 0; --i) value = value * kPoint[k] + g[i * stride];
    u[k * u_stride] = value * kFactor[k];
  }
  u[(kPoints - 1) * u_stride] = g[(kKernelSide - 1) * stride];
}

/// B^T d: 26 operations.
inline void transform_input(const Vec d[kPoints], Vec v[kPoints]) {
  v[0] = (d[0] - d[6]) + 5.25f * (d[4] - d[2]);
  v[7] = (d[7] - d[1]) + 5.25f * (d[3] - d[5]);
  const Vec even1 = (d[2] + d[6]) - 4.25f * d[4];
  const Vec odd1 = (d[1] + d[5]) - 4.25f * d[3];
  const Vec even2 = (d[6] + 0.25f * d[2]) - 1.25f * d[4];
  const Vec odd2 = (0.5f * d[1] - 2.5f * d[3]) + 2.0f * d[5];
  const Vec even3 = (d[6] + 4.0f * d[2]) - 5.0f * d[4];
  const Vec odd3 = (2.0f * d[1] - 2.5f * d[3]) + 0.5f * d[5];
  v[1] = even1 + odd1;
  v[2] = even1 - odd1;
  v[3] = even2 + odd2;
  v[4] = even2 - odd2;
  v[5] = even3 + odd3;
  v[6] = even3 - odd3;
}

/// A^T m: 16 operations.
inline void transform_output(const Vec m[kPoints], Vec y[kTile]) {
  const Vec even1 = m[1] + m[2], odd1 = m[1] - m[2];
  const Vec even2 = m[3] + m[4], odd2 = m[3] - m[4];
  const Vec even3 = m[5] + m[6], odd3 = m[5] - m[6];
  y[0] = (m[0] + even1) + (even2 + even3);
  y[1] = (odd1 + 2.0f * odd2) + 0.5f * odd3;
  y[2] = (even1 + 4.0f * even2) + 0.25f * even3;
  y[3] = ((odd1 + m[7]) + 8.0f * odd2) + 0.125f * odd3;
}

// --- conv1 and pool1 -----------------------------------------------------------------------------
//
// One-dimensional Winograd along x: a row of 28 inputs is six tiles, five kernel rows add up
// before the output transform. Lanes are channels: 16 of the 20 in whole vectors, the last four
// with kLanes/4 pooled rows side by side instead of padding.

constexpr int kTilesAcross = kConv1Side / kTile;  // 6
constexpr int kPaddedPairs = 16;                  // the 14 rows of each parity, in whole vectors
constexpr int kConv1Blocks = 16 / kLanes;         // of whole vectors
constexpr int kLastConv1 = 16;                    // the first of the last four channels
constexpr int kRowsTogether = kLanes / 4;         // of the last four channels

/// Transformed weights of one vector of channels.
struct Conv1Weights {
  Vec u[kPoints][kKernelSide];
  Vec bias;
};

/// Transformed image, for each point and tile the even rows and the odd rows.
struct Conv1Input {
  float at[kPoints][kTilesAcross][2][kPaddedPairs];
  float read_too[kLanes];
};

/// pool1, channels innermost: how conv2 reads it.
typedef float Pool1[kPool1Side][kPool1Side][kConv1Channels];

/// The image transposed, the even rows and the odd rows of each column side by side.
typedef float Columns[kImageSide][2][kPaddedPairs];

void transform_image(const float* image, Columns& columns, Conv1Input& v) {
  for (int parity = 0; parity < 2; ++parity) {
    for (int pair = 0; pair < kPaddedPairs; pair += 4) {
      for (int x = 0; x < kImageSide; x += 4) {
        Quad rows[4];
        for (int i = 0; i < 4; ++i) {
          const int y = 2 * (pair + i) + parity;
          rows[i] = y < kImageSide ? load_quad(image + y * kImageSide + x) : Quad{};
        }
        transpose_quads(rows);
        for (int i = 0; i < 4; ++i) store_quad(&columns[x + i][parity][pair], rows[i]);
      }
    }
  }
  for (int tile = 0; tile < kTilesAcross; ++tile) {
    for (int lane = 0; lane < 2 * kPaddedPairs; lane += kLanes) {
      Vec d[kPoints], transformed[kPoints];
      for (int i = 0; i < kPoints; ++i) d[i] = load(&columns[kTile * tile + i][0][0] + lane);
      transform_input(d, transformed);
      for (int k = 0; k < kPoints; ++k) store(&v.at[k][tile][0][0] + lane, transformed[k]);
    }
  }
}

struct Pooled {
  Vec left, right;
};

/// The two pooled pixels of a tile in `Pairs` pairs of rows. The output transform adds up as the
/// points come, so that nothing but its sums has to stay in registers.
template <int Pairs, int RowsTogether>
inline void convolve_tile(const Conv1Weights& w, const Conv1Input& v, int tile, int pair,
                          Pooled pooled[Pairs]) {
  constexpr int kRows = 2 * Pairs;
  const auto correlate = [&](int k, bool fresh, Vec m[kRows]) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int from = 0; from < kRows + kKernelSide - 1; ++from) {
      const Vec row = repeat<RowsTogether>(&v.at[k][tile][from % 2][pair + from / 2]);
#pragma GCC unroll 4
      for (int to = 0; to < kRows; ++to) {
        const int tap = from - to;
        if (tap == 0 && fresh)
          m[to] = w.u[k][tap] * row;
        else if (tap >= 0 && tap < kKernelSide)
          m[to] += w.u[k][tap] * row;
      }
    }
  };
  Vec y[kTile][kRows], a[kRows], b[kRows];
  correlate(1, true, a);
  correlate(2, true, b);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    y[0][r] = y[2][r] = a[r] + b[r];
    y[1][r] = y[3][r] = a[r] - b[r];
  }
  correlate(3, true, a);
  correlate(4, true, b);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const Vec even = a[r] + b[r], odd = a[r] - b[r];
    y[0][r] += even;
    y[1][r] += 2.0f * odd;
    y[2][r] += 4.0f * even;
    y[3][r] += 8.0f * odd;
  }
  correlate(5, true, a);
  correlate(6, true, b);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    const Vec even = a[r] + b[r], odd = a[r] - b[r];
    y[0][r] += even;
    y[1][r] += 0.5f * odd;
    y[2][r] += 0.25f * even;
    y[3][r] += 0.125f * odd;
  }
  correlate(0, false, y[0]);
  correlate(7, false, y[3]);
#pragma GCC unroll 2
  for (int p = 0; p < Pairs; ++p) {
    pooled[p].left = max(max(y[0][2 * p], y[1][2 * p]), max(y[0][2 * p + 1], y[1][2 * p + 1]));
    pooled[p].right = max(max(y[2][2 * p], y[3][2 * p]), max(y[2][2 * p + 1], y[3][2 * p + 1]));
    pooled[p].left += w.bias;
    pooled[p].right += w.bias;
  }
}

constexpr int rows_innermost(int lane) { return lane % 4 * kRowsTogether + lane / 4; }

void conv1_pool1(const Conv1Weights weights[kConv1Blocks], const Conv1Weights& last,
                 const Conv1Input& v, Pool1& pool1) {
  constexpr int kPairs = kLanes == 16 ? 2 : 1;  // as many as the registers hold
  for (int block = 0; block < kConv1Blocks; ++block) {
    for (int tile = 0; tile < kTilesAcross; ++tile) {
      for (int y = 0; y < kPool1Side; y += kPairs) {
        Pooled pooled[kPairs];
        convolve_tile<kPairs, 1>(weights[block], v, tile, y, pooled);
        for (int p = 0; p < kPairs; ++p) {
          store(&pool1[y + p][2 * tile][block * kLanes], pooled[p].left);
          store(&pool1[y + p][2 * tile + 1][block * kLanes], pooled[p].right);
        }
      }
    }
  }
  for (int tile = 0; tile < kTilesAcross; ++tile) {
    for (int y = 0; y < kPool1Side; y += kRowsTogether) {
      Pooled p;
      convolve_tile<1, kRowsTogether>(last, v, tile, y, &p);
      constexpr int kRow = kPool1Side * kConv1Channels;
      const Vec left = permute<rows_innermost>(p.left, p.left);
      const Vec right = permute<rows_innermost>(p.right, p.right);
      store_quads(left, &pool1[y][2 * tile][kLastConv1], kRow);
      store_quads(right, &pool1[y][2 * tile + 1][kLastConv1], kRow);
    }
  }
}

// --- conv2 and pool2 -----------------------------------------------------------------------------
//
// Two-dimensional Winograd F(4x4, 5x5): four tiles of 8x8 inputs cover the 12x12 exactly, and each
// of 64 points is a product (50 x 20) * (20 x 4 tiles). 48 channels go in blocks of three vectors
// by four tiles, twelve accumulators. For the last two, lanes are four input channels of each
// tile; they are added up after the output transform, which is linear.

constexpr int kTiles = 4;
constexpr int kBlockVectors = 3;
constexpr int kBlockChannels = kBlockVectors * kLanes;
constexpr int kWholeConv2 = 48;
constexpr int kConv2Blocks = kWholeConv2 / kBlockChannels;
constexpr int kQuads = kConv1Channels / 4;
constexpr int kLastConv2 = kConv2Channels - kWholeConv2;

/// [point column][point row][input channel]
struct Conv2Weights {
  Vec u[kPoints][kPoints][kConv1Channels][kBlockVectors];
  Vec bias[kBlockVectors];
};
struct Conv2LastWeights {
  float u[kPoints][kPoints][kLastConv2][kQuads][4];
  float bias[kLastConv2];
};

/// Transformed pool1: [point column][point row][quad of channels][tile][channel in quad].
typedef float Conv2Input[kPoints][kPoints][kQuads][kTiles][4];

/// pool2, channels innermost: how fc1 reads it.
typedef float Pool2[kPool2Side][kPool2Side][kConv2Channels];

void transform_pool1(const Pool1& pool1, Conv2Input& v) {
  for (int quad = 0; quad < kQuads; ++quad) {
    for (int tile = 0; tile < kTiles; tile += kLanes / 4) {
      Vec rows[kPoints][kPoints];
      for (int j = 0; j < kPoints; ++j) {
        Vec d[kPoints], transformed[kPoints];
        for (int i = 0; i < kPoints; ++i) {
          const float* from[kLanes / 4];
          for (int t = 0; t < kLanes / 4; ++t) {
            from[t] = &pool1[kTile * ((tile + t) / 2) + i][kTile * ((tile + t) % 2) + j][4 * quad];
          }
          d[i] = join_quads(from);
        }
        transform_input(d, transformed);
        for (int k = 0; k < kPoints; ++k) rows[k][j] = transformed[k];
      }
      for (int k = 0; k < kPoints; ++k) {
        Vec transformed[kPoints];
        transform_input(rows[k], transformed);
        for (int l = 0; l < kPoints; ++l) store(&v[l][k][quad][tile][0], transformed[l]);
      }
    }
  }
}

/// The products of one column of points, and all columns transformed downwards.
struct Conv2Sums {
  Vec column[kTiles][kBlockVectors][kPoints];
  Vec half[kTiles][kBlockVectors][kTile][kPoints];
};

void conv2_pool2_block(const Conv2Weights& w, const Conv2Input& v, Conv2Sums& s, float* pool2) {
  for (int l = 0; l < kPoints; ++l) {
    for (int k = 0; k < kPoints; ++k) {
      Vec sums[kBlockVectors][kTiles] = {};
// Unrolled to the end: a loop of five ends unforeseen, which costs 1 us an image with AVX2.
#pragma GCC unroll 5
      for (int quad = 0; quad < kQuads; ++quad) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          const Vec* u = w.u[l][k][4 * quad + i];
#pragma GCC unroll 4
          for (int t = 0; t < kTiles; ++t) {
            const Vec x = splat(v[l][k][quad][t][i]);
#pragma GCC unroll 3
            for (int b = 0; b < kBlockVectors; ++b) sums[b][t] += u[b] * x;
          }
        }
      }
      for (int t = 0; t < kTiles; ++t) {
        for (int b = 0; b < kBlockVectors; ++b) s.column[t][b][k] = sums[b][t];
      }
    }
    for (int t = 0; t < kTiles; ++t) {
      for (int b = 0; b < kBlockVectors; ++b) {
        Vec y[kTile];
        transform_output(s.column[t][b], y);
        for (int row = 0; row < kTile; ++row) s.half[t][b][row][l] = y[row];
      }
    }
  }
  for (int t = 0; t < kTiles; ++t) {
    for (int b = 0; b < kBlockVectors; ++b) {
      for (int row = 0; row < kTile; row += 2) {
        Vec y0[kTile], y1[kTile];
        transform_output(s.half[t][b][row], y0);
        transform_output(s.half[t][b][row + 1], y1);
        const int py = 2 * (t / 2) + row / 2, px = 2 * (t % 2);
        float* to = pool2 + (py * kPool2Side + px) * kConv2Channels + b * kLanes;
        store(to, max(max(y0[0], y0[1]), max(y1[0], y1[1])) + w.bias[b]);
        store(to + kConv2Channels, max(max(y0[2], y0[3]), max(y1[2], y1[3])) + w.bias[b]);
      }
    }
  }
}

constexpr int swapped_pairs(int lane) { return lane ^ 2; }
constexpr int swapped(int lane) { return lane ^ 1; }

/// The largest of four vectors' sums over a quad, in each lane of that quad.
inline Vec largest_sum(Vec a, Vec b, Vec c, Vec d) {
  Vec v[4] = {a, b, c, d};
  transpose_quads(v);
  Vec sums = (v[0] + v[1]) + (v[2] + v[3]);
  sums = max(sums, permute<swapped_pairs>(sums, sums));
  return max(sums, permute<swapped>(sums, sums));
}

void conv2_pool2_last(const Conv2LastWeights& w, const Conv2Input& v, Pool2& pool2) {
  for (int c = 0; c < kLastConv2; ++c) {
    for (int tile = 0; tile < kTiles; tile += kLanes / 4) {
      Vec half[kTile][kPoints];
      for (int l = 0; l < kPoints; ++l) {
        Vec column[kPoints], y[kTile];
        for (int k = 0; k < kPoints; ++k) {
          column[k] = Vec{};
          for (int quad = 0; quad < kQuads; ++quad) {
            column[k] += repeat<4>(w.u[l][k][c][quad]) * load(v[l][k][quad][tile]);
          }
        }
        transform_output(column, y);
        for (int row = 0; row < kTile; ++row) half[row][l] = y[row];
      }
      for (int row = 0; row < kTile; row += 2) {
        Vec y0[kTile], y1[kTile];
        transform_output(half[row], y0);
        transform_output(half[row + 1], y1);
        const Vec left = largest_sum(y0[0], y0[1], y1[0], y1[1]) + w.bias[c];
        const Vec right = largest_sum(y0[2], y0[3], y1[2], y1[3]) + w.bias[c];
        for (int t = 0; t < kLanes / 4; ++t) {
          const int y = 2 * ((tile + t) / 2) + row / 2, x = 2 * ((tile + t) % 2);
          pool2[y][x][kWholeConv2 + c] = left[4 * t];
          pool2[y][x + 1][kWholeConv2 + c] = right[4 * t];
        }
      }
    }
  }
}

// --- fc1 -----------------------------------------------------------------------------------------
//
// 93 % of the parameters: what counts is that they are read once, in the order they lie. Lanes
// are outputs, in blocks of eight vectors that stay in registers for all 800 inputs; 496 outputs
// are whole vectors at every width, the last four are dot products with lanes along the inputs.

constexpr int kWholeFc1 = 496;
constexpr int kLastFc1 = kFc1Outputs - kWholeFc1;
constexpr int kFc1Vectors = kWholeFc1 / kLanes;
constexpr int kFc1Block = kLanes == 16 ? 4 : 8;  // at least what L2 delivers, 64 bytes a cycle
constexpr int kHiddenPadded = 512;

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
struct Fc1Weights {
  Stored blocks[kFc1Inputs / kInputsAWord<Stored> * kFc1Vectors];
  Stored last[kFc1Inputs / kInputsAWord<Stored> / kLanes][kLastFc1];
  float scale[kHiddenPadded];  // 1 for floats
  float bias[kHiddenPadded];
};

inline Vec relu(Vec v) { return max(v, Vec{}); }

template <int Vectors, class Stored>
void fc1_block(const Stored* w, const float* x, const float* scale, const float* bias, float* to) {
  Vec sums[Vectors] = {};
  for (int i = 0; i < kFc1Inputs; i += kInputsAWord<Stored>, w += Vectors) {
#pragma GCC unroll 8
    for (int b = 0; b < Vectors; ++b) {
      sums[b] += first(w[b]) * x[i];
      if constexpr (kInputsAWord<Stored> == 2) sums[b] += second(w[b]) * x[i + 1];
    }
  }
  for (int b = 0; b < Vectors; ++b) {
    const Vec s = sums[b] * load(scale + b * kLanes) + load(bias + b * kLanes);
    store(to + b * kLanes, relu(s));
  }
}

template <class Stored>
void fc1_relu(const Fc1Weights<Stored>& w, const float* x, bool backwards, float* hidden) {
  constexpr int kWhole = kFc1Vectors / kFc1Block, kRest = kFc1Vectors % kFc1Block;
  for (int n = 0; n <= kWhole; ++n) {
    const int block = backwards ? kWhole - n : n;
    const int first = block * kFc1Block * kLanes;  // output
    const auto run = block < kWhole ? fc1_block<kFc1Block, Stored> : fc1_block<kRest, Stored>;
    run(w.blocks + block * kFc1Block * (kFc1Inputs / kInputsAWord<Stored>), x, w.scale + first,
        w.bias + first, hidden + first);
  }

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

// --- the network ---------------------------------------------------------------------------------

template <class Stored>
struct alignas(64) Packed {
  Conv1Weights conv1[kConv1Blocks];
  Conv1Weights conv1_last;
  Conv2Weights conv2[kConv2Blocks];
  Conv2LastWeights conv2_last;
  Fc1Weights<Stored> fc1;
  Fc2Weights fc2;
};

/// What one image needs on its way. A layer's input is dead when its output is being read, so two
/// places do for all; each KB here is one less of weights in the second-level cache.
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
  Pool2 pool2;
  float hidden[kHiddenPadded];
  float logits[kClasses];
};

/// From channels innermost to Caffe's layout.
template <int Channels, int Area>
void channels_outermost(const float* from, float* to) {
  for (int c = 0; c < Channels; ++c) {
    for (int p = 0; p < Area; ++p) to[c * Area + p] = from[p * Channels + c];
  }
}

template <class Stored>
inline void run(const Packed<Stored>& w, const float* image, bool backwards, Scratch& s,
                FusedTrace* trace) {
  transform_image(image, s.columns, s.conv1_input);
  conv1_pool1(w.conv1, w.conv1_last, s.conv1_input, s.pool1);
  if (trace != nullptr) {
    channels_outermost<kConv1Channels, kPool1Side * kPool1Side>(s.pool1[0][0], trace->pool1);
  }
  transform_pool1(s.pool1, s.conv2_input);
  for (int block = 0; block < kConv2Blocks; ++block) {
    conv2_pool2_block(w.conv2[block], s.conv2_input, s.conv2_sums,
                      &s.pool2[0][0][block * kBlockChannels]);
  }
  conv2_pool2_last(w.conv2_last, s.conv2_input, s.pool2);
  fc1_relu(w.fc1, s.pool2[0][0], backwards, s.hidden);
  fc2(w.fc2, s.hidden, s.logits);
}

template <class Stored>
void forward(const void* packed, const float* image, bool backwards, float* probabilities) {
  Scratch s;
  run(*static_cast<const Packed<Stored>*>(packed), image, backwards, s, nullptr);
  softmax(s.logits, probabilities);
}

template <class Stored>
void trace(const void* packed, const float* image, FusedTrace& trace) {
  Scratch s;
  run(*static_cast<const Packed<Stored>*>(packed), image, false, s, &trace);
  channels_outermost<kConv2Channels, kPool2Side * kPool2Side>(s.pool2[0][0], trace.pool2);
  for (int o = 0; o < kFc1Outputs; ++o) trace.fc1[o] = s.hidden[o];
  for (int c = 0; c < kClasses; ++c) trace.fc2[c] = s.logits[c];
}

// --- packing -------------------------------------------------------------------------------------

void pack_conv1(const Weights& weights, Conv1Weights* whole, Conv1Weights& last) {
  for (int c = 0; c < kConv1Channels; ++c) {
    for (int row = 0; row < kKernelSide; ++row) {
      double g[kKernelSide], u[kPoints];
      for (int i = 0; i < kKernelSide; ++i) {
        g[i] = weights.conv1_weight[(c * kKernelSide + row) * kKernelSide + i];
      }
      transform_weights(g, 1, u, 1);
      for (int k = 0; k < kPoints; ++k) {
        const float value = static_cast<float>(u[k]);
        if (c < kLastConv1) {
          whole[c / kLanes].u[k][row][c % kLanes] = value;
        } else {
          for (int r = 0; r < kRowsTogether; ++r) {
            last.u[k][row][(c - kLastConv1) * kRowsTogether + r] = value;
          }
        }
      }
    }
    if (c < kLastConv1) {
      whole[c / kLanes].bias[c % kLanes] = weights.conv1_bias[c];
    } else {
      for (int r = 0; r < kRowsTogether; ++r) {
        last.bias[(c - kLastConv1) * kRowsTogether + r] = weights.conv1_bias[c];
      }
    }
  }
}

void pack_conv2(const Weights& weights, Conv2Weights* whole, Conv2LastWeights& last) {
  constexpr int kTaps = kKernelSide * kKernelSide;
  for (int c = 0; c < kConv2Channels; ++c) {
    const int lane = c % kLanes, vector = c % kBlockChannels / kLanes, block = c / kBlockChannels;
    for (int i = 0; i < kConv1Channels; ++i) {
      double g[kTaps], half[kPoints][kKernelSide], u[kPoints][kPoints];
      for (int at = 0; at < kTaps; ++at) {
        g[at] = weights.conv2_weight[(c * kConv1Channels + i) * kTaps + at];
      }
      for (int x = 0; x < kKernelSide; ++x) {
        transform_weights(g + x, kKernelSide, &half[0][x], kKernelSide);
      }
      for (int k = 0; k < kPoints; ++k) transform_weights(half[k], 1, u[k], 1);
      for (int k = 0; k < kPoints; ++k) {
        for (int l = 0; l < kPoints; ++l) {
          const float value = static_cast<float>(u[k][l]);
          if (c < kWholeConv2) {
            whole[block].u[l][k][i][vector][lane] = value;
          } else {
            last.u[l][k][c - kWholeConv2][i / 4][i % 4] = value;
          }
        }
      }
    }
    if (c < kWholeConv2) {
      whole[block].bias[vector][lane] = weights.conv2_bias[c];
    } else {
      last.bias[c - kWholeConv2] = weights.conv2_bias[c];
    }
  }
}

/// A word of two int16: the second below, the first rounded so that the whole is closest to it.
int join_int16(float first, float second) {
  const int low = static_cast<int>(lrintf(second)) & 0xffff;
  const int high = static_cast<int>(lrintf(first - static_cast<float>(low) / 65536));
  return high * 65536 + low;
}

template <class Stored>
void pack_fc1(const Weights& weights, Fc1Weights<Stored>& packed) {
  constexpr int kArea = kPool2Side * kPool2Side;
  constexpr int kInputs = kInputsAWord<Stored>, kWords = kFc1Inputs / kInputs;
  for (int o = 0; o < kFc1Outputs; ++o) {
    float row[kFc1Inputs], largest = 0;
    for (int i = 0; i < kFc1Inputs; ++i) {  // Caffe has pixels innermost, we have channels
      const int caffe = i % kConv2Channels * kArea + i / kConv2Channels;
      row[i] = weights.fc1_weight[o * kFc1Inputs + caffe];
      largest = fabsf(row[i]) > largest ? fabsf(row[i]) : largest;
    }
    const float scale = largest > 0 ? largest / 32767 : 1;
    const bool whole = o < kWholeFc1;
    const int vector = o / kLanes, block = vector / kFc1Block * kFc1Block;
    const int width = kFc1Vectors - block < kFc1Block ? kFc1Vectors - block : kFc1Block;
    for (int n = 0; n < kWords; ++n) {
      Stored& word = whole ? packed.blocks[block * kWords + n * width + vector - block]
                           : packed.last[n / kLanes][o - kWholeFc1];
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

void pack_fc2(const Weights& weights, Fc2Weights& packed) {
  for (int c = 0; c < kClasses; ++c) {
    for (int i = 0; i < kHiddenPadded; ++i) {
      packed.w[i / kLanes][c][i % kLanes] =
          i < kFc1Outputs ? weights.fc2_weight[c * kFc1Outputs + i] : 0;
    }
    packed.bias[c] = weights.fc2_bias[c];
  }
}

template <class Stored>
void pack(const Weights& weights, void* memory) {
  auto& packed = *static_cast<Packed<Stored>*>(memory);
  pack_conv1(weights, packed.conv1, packed.conv1_last);
  pack_conv2(weights, packed.conv2, packed.conv2_last);
  pack_fc1(weights, packed.fc1);
  pack_fc2(weights, packed.fc2);
}

template <class Stored>
constexpr FusedKernels kernels() {
  return {kLanes, sizeof(Packed<Stored>), pack<Stored>, forward<Stored>, trace<Stored>};
}

}  // namespace

extern const FusedVariants kFused;
const FusedVariants kFused = {kernels<Vec>(), kernels<Words>()};

}  // namespace lenet::LENET_ISA
