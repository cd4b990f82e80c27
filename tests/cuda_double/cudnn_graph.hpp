// What both halves of the double of cuDNN's graph API share: its descriptors, and what its engines
// are asked for.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "cudnn.hpp"

namespace cuda_double {

struct State;
using Shared = std::shared_ptr<const State>;

/// An attribute's value: numbers and enumerators, pointers, or other descriptors.
struct Value {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<void*> pointers;
  std::vector<Shared> descriptors;
  std::size_t count() const {
    return integers.size() + reals.size() + pointers.size() + descriptors.size();
  }
};

struct State {
  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Value> attributes;

  bool has(cudnnBackendAttributeName_t name) const { return attributes.count(name) != 0; }
  const Value& at(cudnnBackendAttributeName_t name) const { return attributes.at(name); }
  std::int64_t integer(cudnnBackendAttributeName_t name) const { return at(name).integers.front(); }
  const State& descriptor(cudnnBackendAttributeName_t name) const {
    return *at(name).descriptors.front();
  }
};

/// What a handle points to.
struct Descriptor {
  std::shared_ptr<State> state;
};

using Integers = std::vector<std::int64_t>;

/// Fills a heuristic's results, or a plan's needs; fails for a plan that cannot be built.
cudnnStatus_t ask_engines(State& state);
cudnnStatus_t execute(cudaStream_t stream, const State& plan, const State& pack);

}  // namespace cuda_double
