// The double of libcudnn: what both of its APIs compute (machine.hpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "cudnn.hpp"

namespace cuda_double {

namespace {

void convolve_one(Extent in, const float* x, Extent filter, const float* w, Extent out, float* y,
                  bool rounds, float by, float keep, std::int64_t pad, std::int64_t stride) {
  for (std::int64_t k = 0; k < out.c; ++k) {
    for (std::int64_t row = 0; row < out.h; ++row) {
      for (std::int64_t column = 0; column < out.w; ++column) {
        double sum = 0;
        for (std::int64_t c = 0; c < in.c; ++c) {
          for (std::int64_t dy = 0; dy < filter.h; ++dy) {
            for (std::int64_t dx = 0; dx < filter.w; ++dx) {
              const std::int64_t iy = row * stride + dy - pad, ix = column * stride + dx - pad;
              if (iy < 0 || iy >= in.h || ix < 0 || ix >= in.w) continue;
              const float a = x[(c * in.h + iy) * in.w + ix];
              const float b = w[((k * in.c + c) * filter.h + dy) * filter.w + dx];
              sum += rounds ? double(tf32(a)) * tf32(b) : double(a) * b;
            }
          }
        }
        float& result = y[(k * out.h + row) * out.w + column];
        result = float(by * sum) + (keep == 0 ? 0 : keep * result);
      }
    }
  }
}

}  // namespace

void convolve(std::int64_t n, Extent in, const float* x, Extent filter, const float* w, Extent out,
              float* y, bool rounds, float by, float keep, std::int64_t pad, std::int64_t stride) {
  for (; n > 0; --n, x += in.floats(), y += out.floats()) {
    convolve_one(in, x, filter, w, out, y, rounds, by, keep, pad, stride);
  }
}

void pool(std::int64_t n, Extent in, const float* x, Extent out, float* y, Window window) {
  for (std::int64_t plane = 0; plane < n * out.c; ++plane, x += in.h * in.w) {
    for (std::int64_t place = 0; place < out.h * out.w; ++place) {
      const std::int64_t top = place / out.w * window.stride - window.pad,
                         left = place % out.w * window.stride - window.pad;
      float largest = -std::numeric_limits<float>::infinity();
      double sum = 0;
      std::int64_t count = 0;
      for (std::int64_t row = std::max<std::int64_t>(top, 0);
           row < std::min(top + window.rows, in.h); ++row) {
        for (std::int64_t column = std::max<std::int64_t>(left, 0);
             column < std::min(left + window.columns, in.w); ++column, ++count) {
          largest = std::max(largest, x[row * in.w + column]);
          sum += x[row * in.w + column];
        }
      }
      // A NaN has to stay one, whatever std::max makes of it.
      *y++ = window.mean || std::isnan(sum) ? static_cast<float>(sum / count) : largest;
    }
  }
}

}  // namespace cuda_double
