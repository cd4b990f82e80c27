// What both halves of the double of libcudnn share: the handle, and what every call does first.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <cstring>

#include "machine.hpp"

struct cudnnContext {
  cudaStream_t stream = nullptr;
  int device = cuda_double::current_device();
};

namespace cuda_double {

inline cudnnStatus_t entered(const char* call) {
  const int status = enter(call);
  if (status == 0) return CUDNN_STATUS_SUCCESS;
  return status > 1000 ? static_cast<cudnnStatus_t>(status) : CUDNN_STATUS_EXECUTION_FAILED;
}

/// TF32 keeps 10 bits of a float's mantissa.
inline float tf32(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x1000) & 0xffffe000;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

/// One image's tensor, or one filter of a convolution.
struct Extent {
  std::int64_t c, h, w;
  std::int64_t floats() const { return c * h * w; }
};

/// y = by * convolution(x, w) + keep * y, of each of n images.
void convolve(std::int64_t n, Extent in, const float* x, Extent filter, const float* w, Extent out,
              float* y, bool rounds, float by = 1, float keep = 0, std::int64_t pad = 0,
              std::int64_t stride = 1);

/// A pool: of the largest, or of the mean of what lies inside.
struct Window {
  bool mean = false;
  std::int64_t rows = 2, columns = 2, pad = 0, stride = 2;
};
void pool(std::int64_t n, Extent in, const float* x, Extent out, float* y, Window window = {});

}  // namespace cuda_double

#define ENTER(name) \
  if (const cudnnStatus_t status = entered(name); status != CUDNN_STATUS_SUCCESS) return status
