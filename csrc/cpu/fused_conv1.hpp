// conv1 and pool1: included by fused_kernels.cpp.
//
// One-dimensional Winograd along x: a row of 28 inputs is six tiles, five kernel rows add up
// before the output transform. Lanes are channels: 16 of the 20 in whole vectors, the last four
// with kLanes/4 pooled rows side by side instead of padding.
#pragma once

#include "cpu/fused_kernels.hpp"
#include "cpu/fused_winograd.hpp"

namespace lenet::LENET_ISA {
namespace {

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

/// The image transposed, the even rows and the odd rows of each column side by side.
typedef float Columns[kImageSide][2][kPaddedPairs];

void transform_image(const float* image, Range tiles, Columns& columns, Conv1Input& v) {
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
  for (int tile = tiles.from; tile < tiles.to; ++tile) {
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
                 const Conv1Input& v, Range tiles, Pool1& pool1) {
  constexpr int kPairs = 2;  // of rows: each weight that is read serves four
  for (int block = 0; block < kConv1Blocks; ++block) {
    for (int tile = tiles.from; tile < tiles.to; ++tile) {
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
  for (int tile = tiles.from; tile < tiles.to; ++tile) {
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

// load
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

}  // namespace
}  // namespace lenet::LENET_ISA
