// The network's shapes and sizes: the one place in C++ and CUDA that knows them.
//
//   image 28x28 -> conv1 20@5x5 -> pool1 2x2 -> conv2 50@5x5 -> pool2 2x2
//               -> fc1 500, ReLU -> fc2 10 -> softmax
#pragma once

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

}  // namespace lenet
