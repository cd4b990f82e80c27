// No network: what the way to a GPU and back costs, with the boundary of every rung.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lenet.hpp"

namespace lenet {

class LaunchFloor {
 public:
  LaunchFloor(const Weights& weights, int threads);

  /// Copies each image in, launches an empty kernel, copies ten floats out and waits.
  void infer(const float* images, std::size_t count, float* probabilities) const;

  std::vector<Layer> layers(const float* image) const;
  std::map<std::string, std::string> describe() const;

 private:
  struct Way;
  std::shared_ptr<Way> way_;
};

}  // namespace lenet
