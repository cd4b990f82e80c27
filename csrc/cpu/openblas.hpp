// LeNet on OpenBLAS: every layer with weights is a matrix product.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lenet.hpp"

namespace lenet {

class OpenBlas {
 public:
  OpenBlas(const Weights& weights, int threads);
  ~OpenBlas();

  /// `count` images in, 10 probabilities each out. Any number of threads may call it at once.
  void infer(const float* images, std::size_t count, float* probabilities) const;

  std::vector<Layer> layers(const float* image) const;
  std::map<std::string, std::string> describe() const;

 private:
  struct Parameters;
  struct Activations;
  static Activations& activations();  // the calling thread's own
  void forward(const float* image, Activations& activations, float* probabilities) const;

  int threads_;
  std::unique_ptr<Parameters> parameters_;
};

}  // namespace lenet
