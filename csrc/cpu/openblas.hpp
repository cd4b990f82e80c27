// LeNet on OpenBLAS: every layer with weights is a matrix product.
#pragma once

#include <memory>

#include "lenet.hpp"

namespace lenet {

class OpenBlas {
 public:
  /// Caffe's layout is what BLAS wants. Aligned to cache lines, which is worth 3 of 70 us: sgemv
  /// streams fc1's 1.6 MB.
  struct Parameters {
    alignas(64) float conv1_weight[kConv1Channels * kKernelSide * kKernelSide];
    alignas(64) float conv1_bias[kConv1Channels];
    alignas(64) float conv2_weight[kConv2Channels * kConv1Channels * kKernelSide * kKernelSide];
    alignas(64) float conv2_bias[kConv2Channels];
    alignas(64) float fc1_weight[kFc1Outputs * kFc1Inputs];
    alignas(64) float fc1_bias[kFc1Outputs];
    alignas(64) float fc2_weight[kClasses * kFc1Outputs];
    alignas(64) float fc2_bias[kClasses];
  };

  /// What one image needs on its way: 206 KB.
  struct Activations {
    alignas(64) float columns[kConv1Channels * kKernelSide * kKernelSide * kConv2Side * kConv2Side];
    alignas(64) float conv1[kConv1Channels * kConv1Side * kConv1Side];
    alignas(64) float pool1[kConv1Channels * kPool1Side * kPool1Side];
    alignas(64) float conv2[kConv2Channels * kConv2Side * kConv2Side];
    alignas(64) float pool2[kFc1Inputs];
    alignas(64) float fc1[kFc1Outputs];
    alignas(64) float fc2[kClasses];
  };

  OpenBlas(const Weights& weights, int threads);

  void infer(const float* image, float* probabilities);

  void conv1(const float* image);
  void pool1();
  void conv2();
  void pool2();
  void fc1();
  void fc2();

  int threads() const { return threads_; }
  const Activations& activations() const { return *activations_; }

 private:
  int threads_;
  std::unique_ptr<Parameters> parameters_;
  std::unique_ptr<Activations> activations_;
};

}  // namespace lenet
