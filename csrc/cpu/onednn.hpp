// LeNet on oneDNN's primitives, the CPU's cuDNN.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "lenet.hpp"

namespace lenet {

class OneDnn {
 public:
  /// A primitive with all that it reads and writes.
  struct Step {
    std::string layer;  // empty for a reorder between two layers
    std::string implementation;
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  OneDnn(const Weights& weights, int threads);

  void infer(const float* image, float* probabilities);

  int threads() const { return threads_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  template <class Description>
  void add(const char* layer, const Description& description, Arguments weights = {});
  void reorder_activation(const dnnl::memory::desc& to);
  dnnl::memory reordered(const float* values, const dnnl::memory::desc& plain,
                         const dnnl::memory::desc& to);

  int threads_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::memory image_, activation_;  // what goes in, and what the last step so far gives
  std::vector<Step> steps_;
};

}  // namespace lenet
