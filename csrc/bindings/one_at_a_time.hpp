// Makes a backend (backend.hpp) of a network in C++ that is written for one image and one caller.
//
// Such a network is a class with
//   Network(const Weights&, int threads);
//   void infer(const float* image, float* probabilities);
// and its module adds what only the harness asks for, found by the class's namespace:
//   std::vector<Layer> layers_of(Network&, const float* image);
//   std::map<std::string, std::string> facts_of(const Network&);
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lenet.hpp"

namespace lenet::bindings {

struct NoScope {};

/// One caller at a time in each API, as for those in Python; a `Scope` lives around each call.
/// After `let_all_in` others may call other networks meanwhile.
template <class Network, class Scope = NoScope>
class OneAtATime {
 public:
  OneAtATime(const Weights& weights, int threads) : network_(make(weights, threads)) {}

  void infer(const float* images, std::size_t count, float* probabilities) const {
    const std::lock_guard lock(mutex());
    [[maybe_unused]] const Scope scope;
    for (std::size_t i = 0; i < count; ++i) {
      network_.infer(images + i * kImagePixels, probabilities + i * kClasses);
    }
  }

  std::vector<Layer> layers(const float* image) const {
    const std::lock_guard lock(mutex());
    [[maybe_unused]] const Scope scope;
    return layers_of(network_, image);
  }

  std::map<std::string, std::string> describe() const { return facts_of(network_); }

  void let_all_in() { alone_ = false; }

 private:
  static Network make(const Weights& weights, int threads) {
    const std::lock_guard lock(of_all_);
    [[maybe_unused]] const Scope scope;
    return Network(weights, threads);
  }

  std::mutex& mutex() const { return alone_ ? of_all_ : own_; }

  static inline std::mutex of_all_;
  mutable std::mutex own_;
  bool alone_ = true;
  mutable Network network_;
};

}  // namespace lenet::bindings
