// Winograd F(4, 5) for both convolutions of fused_kernels.cpp.
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
#pragma once

#include "cpu/vectors.hpp"
#include "shapes.hpp"

namespace lenet::LENET_ISA {
namespace {

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

}  // namespace
}  // namespace lenet::LENET_ISA
