// LeNet on cuDNN's graph API: the exhibit is cudnn_frontend.cpp.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lenet.hpp"

namespace lenet {

class CudnnFrontend {
 public:
  /// `threads` is what every rung takes and means nothing to a GPU.
  CudnnFrontend(const Weights& weights, int threads);

  /// `count` images in, 10 probabilities each out. Threads that call at once take turns.
  void infer(const float* images, std::size_t count, float* probabilities) const;

  std::vector<Layer> layers(const float* image) const;
  std::map<std::string, std::string> describe() const;

  /// Where the time of one image goes, in microseconds (cuda/session.hpp).
  std::map<std::string, double> profile(const float* image, int calls) const;

 private:
  struct Network;
  std::shared_ptr<Network> network_;
};

}  // namespace lenet
