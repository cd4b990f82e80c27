// Whether images can be read as they lie: the check that stands before every backend's network, the
// native ones' (backend.hpp) and, as lenet_bench._boundary, those in Python.
#pragma once

#include <pybind11/numpy.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lenet.hpp"

namespace lenet::bindings {

namespace py = pybind11;

/// Every value in 0..1, and so no NaN. As integers these are the floats from 0 to the bits of 1,
/// which two subtractions' signs tell without a branch: 70 ns an image with SSE2 alone, where
/// comparing floats takes 160. Says no to -0.0 too, which `check_images` then lets pass.
inline bool within_unit(const float* values, std::size_t count) {
  constexpr std::uint32_t kOne = 0x3f800000;
  std::uint32_t outside = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    outside |= bits | (kOne - bits);
  }
  return outside >> 31 == 0;
}

/// A float32 array (28, 28) or (n, 28, 28) that can be read as it lies, all values in 0..1.
inline bool is_ready(py::handle object) {
  if (!py::isinstance<py::array>(object)) return false;
  const auto array = py::reinterpret_borrow<py::array>(object);
  const py::dtype dtype = array.dtype();
  constexpr int kLayout = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  const py::ssize_t dimensions = array.ndim();
  return dtype.num() == py::dtype::num_of<float>() && dtype.byteorder() == '=' &&
         (array.flags() & kLayout) == kLayout && (dimensions == 2 || dimensions == 3) &&
         array.shape(dimensions - 2) == kImageSide && array.shape(dimensions - 1) == kImageSide &&
         within_unit(static_cast<const float*>(array.data()),
                     static_cast<std::size_t>(array.size()));
}

}  // namespace lenet::bindings
