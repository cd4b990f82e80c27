// Plans of cuDNN's graph API: a graph of operations, and the engine that cuDNN runs it with.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <list>

#include "cuda/owners.hpp"

namespace lenet::cuda {

using Descriptor = Owner<cudnnBackendDescriptor_t, cudnnBackendDestroyDescriptor>;

/// The tensors of a graph by number: operations that name the same one are connected by it.
enum Tensor : std::int64_t { kInput = 1, kWeight, kBias, kOutput, kSum };

/// Operations, and all that they are made of: it has to live as long as they do.
struct OperationGraph {
  std::list<Descriptor> parts;
  Descriptor operations;
};

/// output = convolution(input, weight) + bias, the sum of the convolution staying on the way.
OperationGraph convolve_and_add_bias(int images, int inputs, int side, int outputs);
/// A graph of its own: cuDNN has no engine that pools in the same plan as it convolves.
OperationGraph pool(int images, int channels, int side);

/// A graph with an engine that can run it.
struct Plan {
  OperationGraph graph;
  Descriptor configuration, executable;
  std::int64_t engine = 0;
  std::size_t workspace_bytes = 0;
};

/// The first plan in float32 that can be built and that `runs`, which executes it once.
Plan choose(cudnnHandle_t handle, const char* name, OperationGraph graph,
            const std::function<cudnnStatus_t(const Plan&)>& runs);

/// The tensors of a call: each one's number and where it lies.
struct Tensors {
  std::initializer_list<std::int64_t> numbers;
  std::initializer_list<float*> pointers;
};

/// What a call gives to its plan.
Descriptor bind(const Tensors& tensors, float* workspace);

}  // namespace lenet::cuda
