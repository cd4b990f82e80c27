// LeNet on OpenBLAS: every layer with weights is a matrix product.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lenet.hpp"

namespace lenet {

class OpenBlas {
 public:
  OpenBlas(const Weights& weights, int threads);

  /// `count` images in, 10 probabilities each out. Any number of threads may call it at once.
  void infer(const float* images, std::size_t count, float* probabilities) const;

  std::vector<Layer> layers(const float* image) const;
  std::map<std::string, std::string> describe() const;

 private:
  struct Activations;
  void forward(const float* image, Activations& activations, float* probabilities) const;

  int threads_;
  std::vector<float> conv1_weight_, conv1_bias_, conv2_weight_, conv2_bias_;
  std::vector<float> fc1_weight_, fc1_bias_, fc2_weight_, fc2_bias_;
};

}  // namespace lenet
