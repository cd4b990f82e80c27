// LeNet with nothing underneath: every layer as SIMD kernels in GCC's vector extensions.
//
// Compiled once an instruction set, with LENET_ISA naming it and LENET_LANES the floats in its
// vectors; no intrinsics, so SSE2, AVX2, AVX-512 and NEON are all this one source. Everything
// but the table at the end has internal linkage, and no template of the standard library is
// used: the linker could take another instruction set's copy of it.
#include "cpu/fused_kernels.hpp"

#include <math.h>

namespace lenet::LENET_ISA {
namespace {

// --- vectors -------------------------------------------------------------------------------------

constexpr int kLanes = LENET_LANES;

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef float Quad __attribute__((vector_size(16)));
typedef float UnalignedVec __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef float UnalignedQuad __attribute__((vector_size(16), aligned(4), may_alias));

inline Vec load(const float* from) { return *reinterpret_cast<const UnalignedVec*>(from); }
inline void store(float* to, Vec v) { *reinterpret_cast<UnalignedVec*>(to) = v; }
inline Quad load_quad(const float* from) { return *reinterpret_cast<const UnalignedQuad*>(from); }
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }

inline float sum(Vec v) {
  float total[4] = {};
  for (int i = 0; i < kLanes; ++i) total[i % 4] += v[i];
  return (total[0] + total[1]) + (total[2] + total[3]);
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define LENET_SHUFFLE 1
#endif
#endif

/// kLanes/4 floats, four times over.
inline Vec repeat4(const float* from) {
#if LENET_LANES == 4
  return *from + Vec{};
#elif LENET_LANES == 8
  typedef double Pairs __attribute__((vector_size(32)));
  double pair;
  __builtin_memcpy(&pair, from, 8);
  return reinterpret_cast<Vec>(Pairs{pair, pair, pair, pair});
#elif defined(LENET_SHUFFLE)
  const Quad q = load_quad(from);
  const auto octet = __builtin_shufflevector(q, q, 0, 1, 2, 3, 0, 1, 2, 3);
  return __builtin_shufflevector(octet, octet, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
#else
  Vec v;
  for (int i = 0; i < kLanes; ++i) v[i] = from[i % 4];
  return v;
#endif
}

/// kLanes/4 quads from different places.
inline Vec join_quads(const float* const from[]) {
#if LENET_LANES == 4
  return load(from[0]);
#elif LENET_LANES == 8 && defined(LENET_SHUFFLE)
  return __builtin_shufflevector(load_quad(from[0]), load_quad(from[1]), 0, 1, 2, 3, 4, 5, 6, 7);
#elif defined(LENET_SHUFFLE)
  const auto low =
      __builtin_shufflevector(load_quad(from[0]), load_quad(from[1]), 0, 1, 2, 3, 4, 5, 6, 7);
  const auto high =
      __builtin_shufflevector(load_quad(from[2]), load_quad(from[3]), 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  Vec v;
  for (int i = 0; i < kLanes; ++i) v[i] = from[i / 4][i % 4];
  return v;
#endif
}

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
constexpr int kRowPairs = kImageSide / 2;         // 14 rows of each parity
constexpr int kPaddedPairs = 16;                  // ... as whole vectors
constexpr int kConv1Blocks = 16 / kLanes;         // of whole vectors
constexpr int kLastConv1 = 16;                    // the first of the last four channels
constexpr int kRowsTogether = kLanes / 4;         // of the last four channels

/// Transformed weights of one vector of channels.
struct Conv1Weights {
  Vec u[kPoints][kKernelSide];
  Vec bias;
};

/// Transformed image, for each point and tile the even rows and the odd rows.
typedef float Conv1Input[kPoints][kTilesAcross][2][kPaddedPairs];

/// pool1, channels innermost: how conv2 reads it.
typedef float Pool1[kPool1Side][kPool1Side][kConv1Channels];

void transform_image(const float* image, Conv1Input& v) {
  alignas(64) float columns[kImageSide][2][kPaddedPairs];
  for (int x = 0; x < kImageSide; ++x) {
    for (int parity = 0; parity < 2; ++parity) {
      for (int pair = 0; pair < kRowPairs; ++pair) {
        columns[x][parity][pair] = image[(2 * pair + parity) * kImageSide + x];
      }
      for (int pair = kRowPairs; pair < kPaddedPairs; ++pair) columns[x][parity][pair] = 0;
    }
  }
  for (int tile = 0; tile < kTilesAcross; ++tile) {
    for (int lane = 0; lane < 2 * kPaddedPairs; lane += kLanes) {
      Vec d[kPoints], transformed[kPoints];
      for (int i = 0; i < kPoints; ++i) d[i] = load(&columns[kTile * tile + i][0][0] + lane);
      transform_input(d, transformed);
      for (int k = 0; k < kPoints; ++k) store(&v[k][tile][0][0] + lane, transformed[k]);
    }
  }
}

struct Pooled {
  Vec left, right;
};

/// The two pooled pixels of a tile in rows `pair` (and on, if Input reads several rows).
template <class Read>
inline Pooled convolve_tile(const Conv1Weights& w, const Conv1Input& v, int tile, int pair,
                            Read read) {
  Vec upper[kPoints], lower[kPoints];
#pragma GCC unroll 8
  for (int k = 0; k < kPoints; ++k) {
    Vec row = read(&v[k][tile][0][pair]);
    upper[k] = w.u[k][0] * row;
    row = read(&v[k][tile][1][pair]);
    upper[k] += w.u[k][1] * row;
    lower[k] = w.u[k][0] * row;
    row = read(&v[k][tile][0][pair + 1]);
    upper[k] += w.u[k][2] * row;
    lower[k] += w.u[k][1] * row;
    row = read(&v[k][tile][1][pair + 1]);
    upper[k] += w.u[k][3] * row;
    lower[k] += w.u[k][2] * row;
    row = read(&v[k][tile][0][pair + 2]);
    upper[k] += w.u[k][4] * row;
    lower[k] += w.u[k][3] * row;
    row = read(&v[k][tile][1][pair + 2]);
    lower[k] += w.u[k][4] * row;
  }
  Vec y0[kTile], y1[kTile];
  transform_output(upper, y0);
  transform_output(lower, y1);
  return {max(max(y0[0], y0[1]), max(y1[0], y1[1])) + w.bias,
          max(max(y0[2], y0[3]), max(y1[2], y1[3])) + w.bias};
}

void conv1_pool1(const Conv1Weights weights[kConv1Blocks], const Conv1Weights& last,
                 const Conv1Input& v, Pool1& pool1) {
  for (int block = 0; block < kConv1Blocks; ++block) {
    for (int tile = 0; tile < kTilesAcross; ++tile) {
      for (int y = 0; y < kPool1Side; ++y) {
        const Pooled p = convolve_tile(weights[block], v, tile, y,
                                       [](const float* row) { return *row + Vec{}; });
        store(&pool1[y][2 * tile][block * kLanes], p.left);
        store(&pool1[y][2 * tile + 1][block * kLanes], p.right);
      }
    }
  }
  for (int tile = 0; tile < kTilesAcross; ++tile) {
    for (int y = 0; y < kPool1Side; y += kRowsTogether) {
      const Pooled p = convolve_tile(last, v, tile, y, repeat4);
      for (int row = 0; row < kRowsTogether; ++row) {
        for (int c = 0; c < 4; ++c) {
          pool1[y + row][2 * tile][kLastConv1 + c] = p.left[c * kRowsTogether + row];
          pool1[y + row][2 * tile + 1][kLastConv1 + c] = p.right[c * kRowsTogether + row];
        }
      }
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
constexpr int kGrid = kPoints * kPoints;
constexpr int kBlockVectors = 3;
constexpr int kBlockChannels = kBlockVectors * kLanes;
constexpr int kWholeConv2 = 48;
constexpr int kConv2Blocks = kWholeConv2 / kBlockChannels;
constexpr int kQuads = kConv1Channels / 4;
constexpr int kLastConv2 = kConv2Channels - kWholeConv2;
constexpr int kTileVectors = kTiles * 4 / kLanes;  // vectors in a quad of every tile

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

void conv2_pool2_block(const Conv2Weights& w, const Conv2Input& v, float* pool2) {
  Vec half[kTiles][kBlockVectors][kTile][kPoints];  // transformed down the columns
  for (int l = 0; l < kPoints; ++l) {
    Vec column[kTiles][kBlockVectors][kPoints];
    for (int k = 0; k < kPoints; ++k) {
      Vec sums[kBlockVectors][kTiles] = {};
      const float* in = &v[l][k][0][0][0];
      for (int i = 0; i < kConv1Channels; ++i) {
        const Vec* u = w.u[l][k][i];
        for (int t = 0; t < kTiles; ++t) {
          const float x = in[(i / 4) * 4 * kTiles + t * 4 + i % 4];
          for (int b = 0; b < kBlockVectors; ++b) sums[b][t] += u[b] * x;
        }
      }
      for (int t = 0; t < kTiles; ++t) {
        for (int b = 0; b < kBlockVectors; ++b) column[t][b][k] = sums[b][t];
      }
    }
    for (int t = 0; t < kTiles; ++t) {
      for (int b = 0; b < kBlockVectors; ++b) {
        Vec y[kTile];
        transform_output(column[t][b], y);
        for (int row = 0; row < kTile; ++row) half[t][b][row][l] = y[row];
      }
    }
  }
  for (int t = 0; t < kTiles; ++t) {
    for (int b = 0; b < kBlockVectors; ++b) {
      for (int row = 0; row < kTile; row += 2) {
        Vec y0[kTile], y1[kTile];
        transform_output(half[t][b][row], y0);
        transform_output(half[t][b][row + 1], y1);
        const int py = 2 * (t / 2) + row / 2, px = 2 * (t % 2);
        float* to = pool2 + (py * kPool2Side + px) * kConv2Channels + b * kLanes;
        store(to, max(max(y0[0], y0[1]), max(y1[0], y1[1])) + w.bias[b]);
        store(to + kConv2Channels, max(max(y0[2], y0[3]), max(y1[2], y1[3])) + w.bias[b]);
      }
    }
  }
}

/// Four floats, kLanes/4 times over.
inline Vec repeat_quad(const float* from) {
  const float* quads[4] = {from, from, from, from};
  return join_quads(quads);
}

void conv2_pool2_last(const Conv2LastWeights& w, const Conv2Input& v, Pool2& pool2) {
  for (int c = 0; c < kLastConv2; ++c) {
    for (int part = 0; part < kTileVectors; ++part) {
      Vec half[kTile][kPoints];
      for (int l = 0; l < kPoints; ++l) {
        Vec column[kPoints], y[kTile];
        for (int k = 0; k < kPoints; ++k) {
          column[k] = Vec{};
          for (int quad = 0; quad < kQuads; ++quad) {
            column[k] +=
                repeat_quad(w.u[l][k][c][quad]) * load(&v[l][k][quad][0][0] + part * kLanes);
          }
        }
        transform_output(column, y);
        for (int row = 0; row < kTile; ++row) half[row][l] = y[row];
      }
      float outputs[kTile][kTile][kLanes];
      for (int row = 0; row < kTile; ++row) {
        Vec y[kTile];
        transform_output(half[row], y);
        for (int x = 0; x < kTile; ++x) store(outputs[row][x], y[x]);
      }
      for (int t = 0; t < kLanes / 4; ++t) {
        const int tile = part * (kLanes / 4) + t;
        for (int row = 0; row < kTile; row += 2) {
          for (int x = 0; x < kTile; x += 2) {
            float largest = -INFINITY;
            for (int at = 0; at < 4; ++at) {
              const float* o = outputs[row + at / 2][x + at % 2] + 4 * t;
              const float total = (o[0] + o[1]) + (o[2] + o[3]);
              largest = total > largest ? total : largest;
            }
            pool2[2 * (tile / 2) + row / 2][2 * (tile % 2) + x / 2][kWholeConv2 + c] =
                largest + w.bias[c];
          }
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
constexpr int kFc1Block = 8;
constexpr int kHiddenPadded = 512;

typedef short Short __attribute__((vector_size(2 * kLanes)));
inline Vec as_float(Vec w) { return w; }
inline Vec as_float(Short w) { return __builtin_convertvector(w, Vec); }

template <class Stored>
struct Fc1Weights {
  Stored blocks[kFc1Inputs * kFc1Vectors];
  Stored last[kFc1Inputs / kLanes][kLastFc1];
  float scale[kHiddenPadded];
  float bias[kHiddenPadded];
};

inline Vec relu(Vec v) { return max(v, Vec{}); }

template <int Vectors, class Stored>
inline void fc1_block(const Stored* w, const float* x, const float* scale, const float* bias,
                      float* to) {
  Vec sums[Vectors] = {};
  for (int i = 0; i < kFc1Inputs; ++i, w += Vectors) {
#pragma GCC unroll 16
    for (int b = 0; b < Vectors; ++b) sums[b] += as_float(w[b]) * x[i];
  }
  for (int b = 0; b < Vectors; ++b) {
    Vec s = sums[b];
    if (sizeof(Stored) != sizeof(Vec)) s *= load(scale + b * kLanes);
    store(to + b * kLanes, relu(s + load(bias + b * kLanes)));
  }
}

template <class Stored>
void fc1_relu(const Fc1Weights<Stored>& w, const float* x, float* hidden) {
  constexpr int kRest = kFc1Vectors % kFc1Block;
  const Stored* stream = w.blocks;
  int v = 0;
  for (; v + kFc1Block <= kFc1Vectors; v += kFc1Block, stream += kFc1Block * kFc1Inputs) {
    fc1_block<kFc1Block>(stream, x, w.scale + v * kLanes, w.bias + v * kLanes, hidden + v * kLanes);
  }
  fc1_block<kRest>(stream, x, w.scale + v * kLanes, w.bias + v * kLanes, hidden + v * kLanes);

  Vec sums[kLastFc1] = {};
  for (int i = 0; i < kFc1Inputs / kLanes; ++i) {
    for (int o = 0; o < kLastFc1; ++o) sums[o] += as_float(w.last[i][o]) * load(x + i * kLanes);
  }
  for (int o = 0; o < kLastFc1; ++o) {
    float s = sum(sums[o]);
    if (sizeof(Stored) != sizeof(Vec)) s *= w.scale[kWholeFc1 + o];
    s += w.bias[kWholeFc1 + o];
    hidden[kWholeFc1 + o] = s > 0 ? s : 0;
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

struct alignas(64) Scratch {
  Conv1Input conv1_input;
  Pool1 pool1;
  Conv2Input conv2_input;
  Pool2 pool2;
  float hidden[kHiddenPadded];
  float logits[kClasses];
};

template <class Stored>
inline void run(const Packed<Stored>& w, Scratch& s, const float* image) {
  transform_image(image, s.conv1_input);
  conv1_pool1(w.conv1, w.conv1_last, s.conv1_input, s.pool1);
  transform_pool1(s.pool1, s.conv2_input);
  for (int block = 0; block < kConv2Blocks; ++block) {
    conv2_pool2_block(w.conv2[block], s.conv2_input, &s.pool2[0][0][block * kBlockChannels]);
  }
  conv2_pool2_last(w.conv2_last, s.conv2_input, s.pool2);
  fc1_relu(w.fc1, &s.pool2[0][0][0], s.hidden);
  fc2(w.fc2, s.hidden, s.logits);
}

template <class Stored>
void forward(const void* packed, const float* image, float* probabilities) {
  Scratch s;
  run(*static_cast<const Packed<Stored>*>(packed), s, image);
  softmax(s.logits, probabilities);
}

template <class Stored>
void trace(const void* packed, const float* image, FusedTrace& trace) {
  Scratch s;
  run(*static_cast<const Packed<Stored>*>(packed), s, image);
  constexpr int kArea1 = kPool1Side * kPool1Side, kArea2 = kPool2Side * kPool2Side;
  for (int c = 0; c < kConv1Channels; ++c) {
    for (int p = 0; p < kArea1; ++p) {
      trace.pool1[c * kArea1 + p] = (&s.pool1[0][0][0])[p * kConv1Channels + c];
    }
  }
  for (int c = 0; c < kConv2Channels; ++c) {
    for (int p = 0; p < kArea2; ++p) {
      trace.pool2[c * kArea2 + p] = (&s.pool2[0][0][0])[p * kConv2Channels + c];
    }
  }
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

/// Caffe's fc1 reads pool2 with pixels innermost, ours with channels innermost.
template <class Stored>
void pack_fc1(const Weights& weights, Fc1Weights<Stored>& packed) {
  constexpr int kArea = kPool2Side * kPool2Side;
  for (int o = 0; o < kFc1Outputs; ++o) {
    const float* row = weights.fc1_weight + o * kFc1Inputs;
    float largest = 0;
    for (int i = 0; i < kFc1Inputs; ++i)
      largest = fabsf(row[i]) > largest ? fabsf(row[i]) : largest;
    const float scale = largest > 0 ? largest / 32767 : 1;
    const int vector = o / kLanes, lane = o % kLanes;
    const int first = vector / kFc1Block * kFc1Block;  // of this block
    const int width = kFc1Vectors - first < kFc1Block ? kFc1Vectors - first : kFc1Block;
    for (int i = 0; i < kFc1Inputs; ++i) {
      const float value = row[i % kConv2Channels * kArea + i / kConv2Channels];
      auto& to = o < kWholeFc1 ? packed.blocks[first * kFc1Inputs + i * width + vector - first]
                               : packed.last[i / kLanes][o - kWholeFc1];
      const int at = o < kWholeFc1 ? lane : i % kLanes;
      if constexpr (sizeof(Stored) == sizeof(Vec)) {
        to[at] = value;
      } else {
        to[at] = static_cast<short>(lrintf(value / scale));
      }
    }
    packed.scale[o] = scale;
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
const FusedVariants kFused = {kernels<Vec>(), kernels<Short>()};

}  // namespace lenet::LENET_ISA
