// LeNet on oneDNN's primitives, the CPU's cuDNN.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lenet.hpp"

namespace lenet {

class OneDnn {
 public:
  OneDnn(const Weights& weights, int threads);
  ~OneDnn();

  /// `count` images in, 10 probabilities each out. Any number of threads may call it at once.
  void infer(const float* images, std::size_t count, float* probabilities) const;

  std::vector<Layer> layers(const float* image) const;
  std::map<std::string, std::string> describe() const;

 private:
  class Network;  // so that what includes this needs no oneDNN headers
  std::unique_ptr<Network> network_;
};

}  // namespace lenet
