// The network's shapes and sizes: the one place in C++ that knows them.
//
//   image 28x28 -> conv1 20@5x5 -> pool1 2x2 -> conv2 50@5x5 -> pool2 2x2
//               -> fc1 500, ReLU -> fc2 10 -> softmax
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lenet {

constexpr int kImageSide = 28;
constexpr int kKernelSide = 5;

constexpr int kConv1Channels = 20;
constexpr int kConv1Side = kImageSide - kKernelSide + 1;  // 24
constexpr int kPool1Side = kConv1Side / 2;                // 12

constexpr int kConv2Channels = 50;
constexpr int kConv2Side = kPool1Side - kKernelSide + 1;  // 8
constexpr int kPool2Side = kConv2Side / 2;                // 4

constexpr int kFc1Inputs = kConv2Channels * kPool2Side * kPool2Side;  // 800
constexpr int kFc1Outputs = 500;
constexpr int kClasses = 10;

constexpr int kImagePixels = kImageSide * kImageSide;

/// The parameters in Caffe's layout (OIHW, outputs x inputs), row-major and contiguous.
/// Borrowed: a rung packs its own copy while it is built and keeps none of these pointers.
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
/// compare. "fc1" is after its ReLU; a rung that fuses two layers reports only the second.
struct Layer {
  std::string name;  // conv1, pool1, conv2, pool2, fc1, fc2 or probabilities
  std::vector<float> values;
};

}  // namespace lenet
