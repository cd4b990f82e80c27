// LeNet against the C++ API of a library that Python has installed: what each file here writes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lenet.hpp"

namespace lenet {

/// From images (count, 28, 28) to probabilities (count, 10).
using Answer = std::function<void(const float* images, std::int64_t count, float* probabilities)>;

/// The network on the API that this was compiled with; `onnx_model` is what the file holds.
Answer build(const Weights& weights, const std::string& onnx_model, int threads);

}  // namespace lenet
