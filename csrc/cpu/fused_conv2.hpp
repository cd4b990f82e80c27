// conv2 and pool2: included by fused_kernels.cpp.
//
// Two-dimensional Winograd F(4x4, 5x5): four tiles of 8x8 inputs cover the 12x12 exactly, and each
// of 64 points is a product (50 x 20) * (20 x 4 tiles). 48 channels go in blocks of three vectors
// by four tiles, twelve accumulators. For the last two, lanes are four input channels of each
// tile; they are added up after the output transform, which is linear.
#pragma once

#include "cpu/fused_conv1.hpp"

namespace lenet::LENET_ISA {
namespace {

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

// conv2
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

/// `Vectors` of a block's vectors of channels, from `first` on, into `pool2` from its channel on.
template <int Vectors>
void conv2_pool2_vectors(const Conv2Weights& w, int first, const Conv2Input& v, Conv2Sums& s,
                         float* pool2) {
  for (int l = 0; l < kPoints; ++l) {
    for (int k = 0; k < kPoints; ++k) {
      Vec sums[Vectors][kTiles] = {};
// Unrolled to the end: a loop of five ends unforeseen, which costs 1 us an image with AVX2.
#pragma GCC unroll 5
      for (int quad = 0; quad < kQuads; ++quad) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          const Vec* u = w.u[l][k][4 * quad + i] + first;
#pragma GCC unroll 4
          for (int t = 0; t < kTiles; ++t) {
            const Vec x = splat(v[l][k][quad][t][i]);
#pragma GCC unroll 3
            for (int b = 0; b < Vectors; ++b) sums[b][t] += u[b] * x;
          }
        }
      }
      for (int t = 0; t < kTiles; ++t) {
        for (int b = 0; b < Vectors; ++b) s.column[t][b][k] = sums[b][t];
      }
    }
    for (int t = 0; t < kTiles; ++t) {
      for (int b = 0; b < Vectors; ++b) {
        Vec y[kTile];
        transform_output(s.column[t][b], y);
        for (int row = 0; row < kTile; ++row) s.half[t][b][row][l] = y[row];
      }
    }
  }
  const Vec* bias = w.bias + first;
  for (int t = 0; t < kTiles; ++t) {
    for (int b = 0; b < Vectors; ++b) {
      for (int row = 0; row < kTile; row += 2) {
        Vec y0[kTile], y1[kTile];
        transform_output(s.half[t][b][row], y0);
        transform_output(s.half[t][b][row + 1], y1);
        const int py = 2 * (t / 2) + row / 2, px = 2 * (t % 2);
        float* to = pool2 + (py * kPool2Side + px) * kConv2Channels + b * kLanes;
        store(to, max(max(y0[0], y0[1]), max(y1[0], y1[1])) + bias[b]);
        store(to + kConv2Channels, max(max(y0[2], y0[3]), max(y1[2], y1[3])) + bias[b]);
      }
    }
  }
}

/// Those of the 48 channels' vectors that are asked for.
void conv2_pool2(const Conv2Weights blocks[kConv2Blocks], const Conv2Input& v, Range vectors,
                 Conv2Sums& s, Pool2& pool2) {
  for (int at = vectors.from, width; at < vectors.to; at += width) {
    const int first = at % kBlockVectors, left = vectors.to - at;
    width = left < kBlockVectors - first ? left : kBlockVectors - first;
    const auto run = width == 3   ? conv2_pool2_vectors<3>
                     : width == 2 ? conv2_pool2_vectors<2>
                                  : conv2_pool2_vectors<1>;
    run(blocks[at / kBlockVectors], first, v, s, &pool2[0][0][at * kLanes]);
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

void conv2_pool2_last(const Conv2LastWeights& w, const Conv2Input& v, Range channels,
                      Pool2& pool2) {
  for (int c = channels.from; c < channels.to; ++c) {
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

// load
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

}  // namespace
}  // namespace lenet::LENET_ISA
