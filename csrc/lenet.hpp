// What every native backend is given and gives: the weights and the layers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "shapes.hpp"

namespace lenet {

/// The parameters in Caffe's layout (OIHW, outputs x inputs), row-major and contiguous.
/// Borrowed: a backend packs its own copy while it is built and keeps none of these pointers.
struct Weights {
  const float* conv1_weight;  // 20 x 1 x 5 x 5
  const float* conv1_bias;    // 20
  const float* conv2_weight;  // 50 x 20 x 5 x 5
  const float* conv2_bias;    // 50
  const float* fc1_weight;    // 500 x 800
  const float* fc1_bias;      // 500
  const float* fc2_weight;    // 10 x 500
  const float* fc2_bias;      // 10
};

/// One layer's output for one image, in Caffe's layout (channels x height x width): what tests
/// compare. "fc1" is after its ReLU; a backend that fuses two layers reports only the second.
struct Layer {
  std::string name;  // conv1, pool1, conv2, pool2, fc1, fc2 or probabilities
  std::vector<float> values;
};

}  // namespace lenet
