// cuDNN's graph API in three steps: everything is made alike, out of it come graphs, and cuDNN
// lists the engines that can run one, best first.
//
//   1  descriptors     create, set attributes, finalize
//   2  graphs          convolution + bias, and max pooling
//   3  plans           the first engine that keeps to float32 and runs
#include "cuda/cudnn_plan.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cuda/errors.hpp"
#include "shapes.hpp"

namespace lenet::cuda {
namespace {

// 1  descriptors ----------------------------------------------------------------------------------

Descriptor create(cudnnBackendDescriptorType_t type) {
  Descriptor descriptor;
  LENET_CHECK(cudnnBackendCreateDescriptor(type, descriptor.put()));
  return descriptor;
}

// What cuDNN calls the type of an attribute. (Of pointers, which C++ does not convert silently.)
constexpr auto type_of(const cudnnHandle_t*) { return CUDNN_TYPE_HANDLE; }
constexpr auto type_of(const cudnnBackendDescriptor_t*) { return CUDNN_TYPE_BACKEND_DESCRIPTOR; }
constexpr auto type_of(const bool*) { return CUDNN_TYPE_BOOLEAN; }
constexpr auto type_of(const float*) { return CUDNN_TYPE_FLOAT; }
constexpr auto type_of(float* const*) { return CUDNN_TYPE_VOID_PTR; }
constexpr auto type_of(const std::int64_t*) { return CUDNN_TYPE_INT64; }
constexpr auto type_of(const cudnnDataType_t*) { return CUDNN_TYPE_DATA_TYPE; }
constexpr auto type_of(const cudnnConvolutionMode_t*) { return CUDNN_TYPE_CONVOLUTION_MODE; }
constexpr auto type_of(const cudnnPointwiseMode_t*) { return CUDNN_TYPE_POINTWISE_MODE; }
constexpr auto type_of(const cudnnResampleMode_t*) { return CUDNN_TYPE_RESAMPLE_MODE; }
constexpr auto type_of(const cudnnPaddingMode_t*) { return CUDNN_TYPE_PADDING_MODE; }
constexpr auto type_of(const cudnnBackendHeurMode_t*) { return CUDNN_TYPE_HEUR_MODE; }

template <class T>
void set_array(const Descriptor& descriptor, cudnnBackendAttributeName_t name, const T* values,
               std::size_t count) {
  LENET_CHECK(cudnnBackendSetAttribute(descriptor, name, type_of(values),
                                       static_cast<std::int64_t>(count), values));
}

template <class T>
void set(const Descriptor& descriptor, cudnnBackendAttributeName_t name, const T& value) {
  set_array(descriptor, name, &value, 1);
}

template <class T>
void set_list(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
              std::initializer_list<T> values) {
  set_array(descriptor, name, values.begin(), values.size());
}

void set_pair(const Descriptor& descriptor, cudnnBackendAttributeName_t name, std::int64_t both) {
  set_list<std::int64_t>(descriptor, name, {both, both});
}

Descriptor finalized(Descriptor descriptor) {
  LENET_CHECK(cudnnBackendFinalize(descriptor));
  return descriptor;
}

// 2  graphs ---------------------------------------------------------------------------------------

OperationGraph make_graph() { return {{}, create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)}; }

cudnnBackendDescriptor_t keep(OperationGraph& graph, Descriptor descriptor) {
  return graph.parts.emplace_back(finalized(std::move(descriptor)));
}

/// Of floats, row by row: images x channels x height x width, or outputs x inputs x side x side.
/// A virtual tensor is what passes between two operations of a graph and never lies in memory.
Descriptor describe_tensor(Tensor id, std::int64_t n, std::int64_t c, std::int64_t side,
                           bool is_virtual = false) {
  Descriptor tensor = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  set<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 16);
  set_list<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, side, side});
  set_list<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_STRIDES,
                         {c * side * side, side * side, side, 1});
  set(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  return tensor;
}

/// No padding, stride 1. Cross-correlation is what every network calls a convolution; what
/// cuDNN calls CUDNN_CONVOLUTION flips the kernel.
Descriptor describe_convolution() {
  Descriptor convolution = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set<std::int64_t>(convolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
  set(convolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  set(convolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  set_pair(convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0);
  set_pair(convolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0);
  set_pair(convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, 1);
  set_pair(convolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1);
  return convolution;
}

Descriptor describe_addition() {
  Descriptor addition = create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(addition, CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
  set(addition, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  return addition;
}

Descriptor describe_max_pooling() {
  Descriptor pooling = create(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
  set<std::int64_t>(pooling, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, 2);
  set(pooling, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_RESAMPLE_MAXPOOL);
  set(pooling, CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_DATA_FLOAT);
  set(pooling, CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_NEG_INF_PAD);
  set_pair(pooling, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 2);
  set_pair(pooling, CUDNN_ATTR_RESAMPLE_STRIDES, 2);
  set_pair(pooling, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 0);
  set_pair(pooling, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 0);
  return pooling;
}

}  // namespace

OperationGraph convolve_and_add_bias(int images, int inputs, int side, int outputs) {
  const int out_side = side - kKernelSide + 1;
  OperationGraph graph = make_graph();
  const auto input = keep(graph, describe_tensor(kInput, images, inputs, side));
  const auto weight = keep(graph, describe_tensor(kWeight, outputs, inputs, kKernelSide));
  const auto bias = keep(graph, describe_tensor(kBias, 1, outputs, 1));
  const auto output = keep(graph, describe_tensor(kOutput, images, outputs, out_side));
  const auto sum = keep(graph, describe_tensor(kSum, images, outputs, out_side, true));

  Descriptor convolve = create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      keep(graph, describe_convolution()));
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, input);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, weight);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, sum);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f);

  Descriptor add = create(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(graph, describe_addition()));
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, bias);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, output);

  set_list(graph.operations, CUDNN_ATTR_OPERATIONGRAPH_OPS,
           {keep(graph, std::move(convolve)), keep(graph, std::move(add))});
  return graph;
}

OperationGraph pool(int images, int channels, int side) {
  OperationGraph graph = make_graph();
  Descriptor pool = create(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  set(pool, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, keep(graph, describe_max_pooling()));
  set(pool, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC,
      keep(graph, describe_tensor(kInput, images, channels, side)));
  set(pool, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC,
      keep(graph, describe_tensor(kOutput, images, channels, side / 2)));
  set(graph.operations, CUDNN_ATTR_OPERATIONGRAPH_OPS, keep(graph, std::move(pool)));
  return graph;
}

namespace {

// 3  plans ----------------------------------------------------------------------------------------

/// The ways to run a graph that cuDNN lists, the one that it guesses to be the fastest first.
std::vector<Descriptor> list_configurations(const OperationGraph& graph,
                                            cudnnBackendHeurMode_t mode) {
  Descriptor heuristics = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set<cudnnBackendDescriptor_t>(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                graph.operations);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  const cudnnStatus_t status = cudnnBackendFinalize(heuristics);
  if (is_not_supported(status)) return {};  // none in this mode
  check(status, {"cudnnBackendFinalize", __FILE__, __LINE__});

  std::int64_t count = 0;
  LENET_CHECK(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> to_fill;
  for (std::int64_t i = 0; i < count; ++i) {
    configurations.push_back(create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    to_fill.push_back(configurations.back());
  }
  LENET_CHECK(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                       to_fill.data()));
  configurations.resize(static_cast<std::size_t>(count));  // it may write fewer than it announced
  return configurations;
}

Descriptor engine_of(const Descriptor& configuration) {
  Descriptor engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::int64_t count = 0;
  LENET_CHECK(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, engine.put()));
  return engine;
}

std::int64_t read_integer(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  std::int64_t value = 0, count = 0;
  LENET_CHECK(cudnnBackendGetAttribute(descriptor, name, CUDNN_TYPE_INT64, 1, &count, &value));
  return value;
}

/// On floats, an engine that uses tensor cores rounds them to the 10 bits of TF32, and there is no
/// math mode to forbid it: in this API one reads what each engine notes of itself.
bool keeps_to_float32(const Descriptor& engine) {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes;
  std::int64_t count = 0;
  LENET_CHECK(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                       CUDNN_TYPE_NUMERICAL_NOTE, notes.size(), &count,
                                       notes.data()));
  return std::none_of(notes.begin(), notes.begin() + count, [](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
           note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
           note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
  });
}

/// An engine that is listed need not support the graph: this says whether it does.
cudnnStatus_t build(cudnnHandle_t handle, Descriptor configuration, Plan& plan) {
  plan.executable = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.configuration = std::move(configuration);
  set(plan.executable, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  set<cudnnBackendDescriptor_t>(plan.executable, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                plan.configuration);
  const cudnnStatus_t status = cudnnBackendFinalize(plan.executable);
  if (status == CUDNN_STATUS_SUCCESS) {
    plan.workspace_bytes = static_cast<std::size_t>(
        read_integer(plan.executable, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  }
  return status;
}

[[noreturn]] void fail_without_plan(const char* graph, const Outcome& last) {
  throw Unavailable(
      std::string("this cuDNN has no float32 engine for ") + graph + " on this GPU" +
      (last.name.empty() ? "" : "; the last that it tried: " + last.name + " " + last.meaning) +
      "; fix it with: pip install --upgrade nvidia-cudnn-cu" +
      std::to_string(CUDART_VERSION / 1000));
}

}  // namespace

/// Heuristic A knows the engines that are fast, the fallback those that merely work, pooling's
/// among them.
Plan choose(cudnnHandle_t handle, const char* name, OperationGraph graph,
            const std::function<cudnnStatus_t(const Plan&)>& runs) {
  Plan plan;
  plan.graph = std::move(graph);
  set(plan.graph.operations, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  LENET_CHECK(cudnnBackendFinalize(plan.graph.operations));
  Outcome last;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& listed : list_configurations(plan.graph, mode)) {
      const Descriptor candidate = engine_of(listed);
      if (!keeps_to_float32(candidate)) continue;
      plan.engine = read_integer(candidate, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
      const cudnnStatus_t built = build(handle, std::move(listed), plan);
      const cudnnStatus_t status = built == CUDNN_STATUS_SUCCESS ? runs(plan) : built;
      if (status == CUDNN_STATUS_SUCCESS) return plan;
      last = explain(status);
      // The numbers after EXECUTION_FAILED, the last kind, say in which library.
      if (is_not_supported(status) || status >= CUDNN_STATUS_EXECUTION_FAILED) continue;
      fail(last, {"a cuDNN plan", __FILE__, __LINE__});
    }
  }
  fail_without_plan(name, last);
}

Descriptor bind(const Tensors& tensors, float* workspace) {
  Descriptor pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set_list(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, tensors.numbers);
  set_list(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, tensors.pointers);
  set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  return finalized(std::move(pack));
}

}  // namespace lenet::cuda
