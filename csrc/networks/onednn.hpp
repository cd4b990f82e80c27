// Any network on oneDNN's primitives: onednn.cpp builds it as cpu/onednn.cpp builds LeNet.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "networks/graph.hpp"

namespace lenet::networks {

/// For one input and one caller.
class AnyOnOneDnn {
 public:
  AnyOnOneDnn(const Graph& graph, int threads);

  void infer(const float* input, float* answer);

  std::int64_t inputs() const { return inputs_; }
  std::int64_t answers() const { return answers_; }
  int threads() const { return threads_; }
  /// By kind of layer.
  const std::map<std::string, std::set<std::string>>& implementations() const {
    return implementations_;
  }

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  /// A layer's output. The block is in use as long as somebody holds it.
  struct Value {
    dnnl::memory memory;
    std::shared_ptr<dnnl::memory> block;
  };
  /// A primitive, or what there is no primitive for.
  struct Call {
    dnnl::primitive primitive;
    Arguments arguments;
    std::function<void()> by_hand;
  };

  Value compute(const Layer& layer, const Step& step, const std::vector<Value>& given, Value added);
  Value convolve(const Layer& layer, const Step& step, const Value& x, const Value& added);
  Value connect(const Value& x, const float* weight, const float* bias, dnnl::memory::dim outputs,
                const dnnl::primitive_attr& attributes, const Value& added = {});
  Value pool(const Value& x, dnnl::algorithm algorithm, const dnnl::memory::dims& to,
             const dnnl::memory::dims& window, dnnl::memory::dim stride, dnnl::memory::dim pad);
  Value look_up(const Layer& layer, const Value& words);
  Value recur(const Layer& layer, const Value& x);
  Value attend(const Layer& layer, const Value& x);
  Value multiply(const dnnl::memory& a, const dnnl::memory& b, Value into);

  template <class Description>
  Value put(const Description& description, Arguments arguments, Value into = {});
  Value place(const dnnl::memory::desc& description);
  /// The same memory, described otherwise and from another float on.
  Value view(const Value& value, const dnnl::memory::desc& description, std::int64_t from = 0);
  Value reordered(const Value& value, const dnnl::memory::desc& to);
  dnnl::memory packed(const float* values, const dnnl::memory::desc& plain,
                      const dnnl::memory::desc& to);

  int threads_;
  std::int64_t inputs_, answers_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  Pool<dnnl::memory> pool_;
  std::vector<dnnl::memory> given_;  // what has to be told where the input lies
  std::vector<Call> calls_;
  Value answer_;
  std::string kind_;  // of the layer that is built
  std::map<std::string, std::set<std::string>> implementations_;
};

}  // namespace lenet::networks
