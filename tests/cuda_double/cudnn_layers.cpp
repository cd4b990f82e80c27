// The double of libcudnn: what both of its APIs compute (machine.hpp).
#include <algorithm>
#include <cmath>

#include "cudnn.hpp"

namespace cuda_double {

namespace {

void convolve_one(Extent in, const float* x, Extent filter, const float* w, Extent out, float* y,
                  bool rounds, float by, float keep) {
  for (std::int64_t k = 0; k < out.c; ++k) {
    for (std::int64_t row = 0; row < out.h; ++row) {
      for (std::int64_t column = 0; column < out.w; ++column) {
        double sum = 0;
        for (std::int64_t c = 0; c < in.c; ++c) {
          for (std::int64_t dy = 0; dy < filter.h; ++dy) {
            for (std::int64_t dx = 0; dx < filter.w; ++dx) {
              const float a = x[(c * in.h + row + dy) * in.w + column + dx];
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
              float* y, bool rounds, float by, float keep) {
  for (; n > 0; --n, x += in.floats(), y += out.floats()) {
    convolve_one(in, x, filter, w, out, y, rounds, by, keep);
  }
}

/// The rows of all channels of all images lie one after the other.
void pool(std::int64_t n, Extent in, const float* x, Extent out, float* y) {
  for (std::int64_t row = 0; row < n * out.c * out.h; ++row) {
    for (std::int64_t column = 0; column < out.w; ++column) {
      const float* square = x + 2 * row * in.w + 2 * column;
      const float* below = square + in.w;
      // A NaN has to stay one, whatever std::max makes of it.
      const float sum = square[0] + square[1] + below[0] + below[1];
      y[row * out.w + column] =
          std::isnan(sum) ? sum : std::max({square[0], square[1], below[0], below[1]});
    }
  }
}

}  // namespace cuda_double
