// LeNet on one kernel that stays on the GPU: persistent.cu computes, persistent.cpp calls for it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lenet.hpp"

namespace lenet {

class PersistentOnGpu {
 public:
  PersistentOnGpu(const Weights& weights, int threads);

  /// `count` images in, 10 probabilities each out. Threads that call at once take turns.
  void infer(const float* images, std::size_t count, float* probabilities) const;

  std::vector<Layer> layers(const float* image) const;
  std::map<std::string, std::string> describe() const;

  /// Where the time of one image goes, in microseconds: means, since the GPU's clock is coarse.
  /// signals_us is what neither side sees: the bell's way to the GPU and the answer's way back.
  std::map<std::string, double> profile(const float* image, int calls) const;

 private:
  struct Network;
  std::shared_ptr<Network> network_;
};

}  // namespace lenet
