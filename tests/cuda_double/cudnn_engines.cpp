// The double of libcudnn: the engines behind its graph API (machine.hpp).
//
// They know two graphs, a convolution with its bias and a max pooling, both of floats that lie row
// by row. As the real cuDNN does for them, the double lists engines that round to TF32 first, one
// that cannot be built and one that cannot run, and pools only as a fallback.
#include <algorithm>

#include "cudnn_graph.hpp"

namespace cuda_double {
namespace {

/// One that cuDNN made, and that its owner is to fill by cudnnBackendGetAttribute.
std::shared_ptr<State> made(cudnnBackendDescriptorType_t type) {
  auto state = std::make_shared<State>();
  state->type = type;
  state->finalized = true;
  return state;
}

void give(State& state, cudnnBackendAttributeName_t name, std::int64_t value) {
  state.attributes[name].integers = {value};
}

void give(State& state, cudnnBackendAttributeName_t name, const Shared& value) {
  state.attributes[name].descriptors = {value};
}

// graphs ------------------------------------------------------------------------------------------

struct Tensor {
  std::int64_t id, n, c, h, w, alignment;
  bool is_virtual;
  std::size_t bytes() const { return std::size_t(n) * c * h * w * sizeof(float); }
};

Extent extent(const Tensor& t) { return {t.c, t.h, t.w}; }

Tensor tensor(const State& state) {
  const Integers& d = state.at(CUDNN_ATTR_TENSOR_DIMENSIONS).integers;
  return {state.integer(CUDNN_ATTR_TENSOR_UNIQUE_ID),
          d[0],
          d[1],
          d[2],
          d[3],
          state.integer(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT),
          state.integer(CUDNN_ATTR_TENSOR_IS_VIRTUAL) != 0};
}

bool is_plain(const State& state) {
  const Tensor t = tensor(state);
  const Integers rows = {t.c * t.h * t.w, t.h * t.w, t.w, 1};
  return state.integer(CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_FLOAT &&
         state.at(CUDNN_ATTR_TENSOR_STRIDES).integers == rows;
}

bool pair_is(const State& state, cudnnBackendAttributeName_t name, std::int64_t both) {
  return state.at(name).integers == Integers{both, both};
}

/// output = convolve(input, weight) + bias
struct Convolution {
  Tensor input, weight, bias, output;
};

bool read(const State& graph, Convolution* found) {
  const auto& operations = graph.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors;
  if (operations.size() != 2 ||
      operations[0]->type != CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
      operations[1]->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    return false;
  }
  const State &convolve = *operations[0], &add = *operations[1];
  const State& how = convolve.descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  const State& what = add.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const State& x = convolve.descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  const State& w = convolve.descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  const State& sum = convolve.descriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  const State& in = add.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  const State& b = add.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  const State& y = add.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  for (const State* each : {&x, &w, &sum, &in, &b, &y}) {
    if (!is_plain(*each)) return false;
  }
  *found = {tensor(x), tensor(w), tensor(b), tensor(y)};
  const auto& [input, weight, bias, output] = *found;
  const Tensor between = tensor(sum);
  return how.integer(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) == 2 &&
         how.integer(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == CUDNN_DATA_FLOAT &&
         how.integer(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION &&
         pair_is(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0) &&
         pair_is(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0) &&
         pair_is(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, 1) &&
         pair_is(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1) &&
         convolve.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA).reals[0] == 1 &&
         convolve.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA).reals[0] == 0 &&
         what.integer(CUDNN_ATTR_POINTWISE_MODE) == CUDNN_POINTWISE_ADD &&
         what.integer(CUDNN_ATTR_POINTWISE_MATH_PREC) == CUDNN_DATA_FLOAT &&
         between.id == tensor(in).id && between.is_virtual && between.bytes() == output.bytes() &&
         input.n == output.n && input.c == weight.c && output.c == weight.n && bias.c == weight.n &&
         bias.n * bias.h * bias.w == 1 && output.h == input.h - weight.h + 1 &&
         output.w == input.w - weight.w + 1;
}

struct Pooling {
  Tensor input, output;
};

bool read(const State& graph, Pooling* found) {
  const auto& operations = graph.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors;
  if (operations.size() != 1 ||
      operations[0]->type != CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR) {
    return false;
  }
  const State& how = operations[0]->descriptor(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
  const State& x = operations[0]->descriptor(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC);
  const State& y = operations[0]->descriptor(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC);
  if (!is_plain(x) || !is_plain(y)) return false;
  *found = {tensor(x), tensor(y)};
  const auto& [input, output] = *found;
  return how.integer(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS) == 2 &&
         how.integer(CUDNN_ATTR_RESAMPLE_MODE) == CUDNN_RESAMPLE_MAXPOOL &&
         how.integer(CUDNN_ATTR_RESAMPLE_COMP_TYPE) == CUDNN_DATA_FLOAT &&
         how.integer(CUDNN_ATTR_RESAMPLE_PADDING_MODE) == CUDNN_NEG_INF_PAD &&
         pair_is(how, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 2) &&
         pair_is(how, CUDNN_ATTR_RESAMPLE_STRIDES, 2) &&
         pair_is(how, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 0) &&
         pair_is(how, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 0) && input.n == output.n &&
         input.c == output.c && input.h == 2 * output.h && input.w == 2 * output.w;
}

// engines -----------------------------------------------------------------------------------------

enum Engine : std::int64_t {
  kPools = 1,
  kFloat32 = 11,
  kTensorCores = 33,
  kCannotRun = 55,
  kCannotBeBuilt = 99
};

std::vector<Engine> engines(const State& graph, std::int64_t mode) {
  Convolution convolution;
  Pooling pooling;
  if (read(graph, &convolution) && mode == CUDNN_HEUR_MODE_A) {
    return {kTensorCores, kCannotBeBuilt, kCannotRun, kFloat32};
  }
  if (read(graph, &pooling) && mode == CUDNN_HEUR_MODE_FALLBACK) return {kPools};
  return {};
}

Shared configure(const Shared& graph, Engine index) {
  const auto engine = made(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  give(*engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
  give(*engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  Integers& notes = engine->attributes[CUDNN_ATTR_ENGINE_NUMERICAL_NOTE].integers;
  if (index == kTensorCores) notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE};
  const auto configuration = made(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  give(*configuration, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  return configuration;
}

const State& engine_of(const State& plan) {
  return plan.descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
      .descriptor(CUDNN_ATTR_ENGINECFG_ENGINE);
}

std::size_t workspace_bytes(const State& plan) {
  Convolution c;
  if (!read(engine_of(plan).descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH), &c)) return 0;
  return std::size_t(1000) * c.weight.n + c.weight.c;
}

// execution ---------------------------------------------------------------------------------------

/// The pointer that a call gave to this tensor.
const float* find(const State& pack, const Tensor& tensor) {
  const Integers& ids = pack.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).integers;
  const auto it = std::find(ids.begin(), ids.end(), tensor.id);
  if (it == ids.end()) return nullptr;
  const auto index = static_cast<std::size_t>(it - ids.begin());
  return static_cast<const float*>(pack.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).pointers[index]);
}

bool is_sound(const float* pointer, const Tensor& tensor) {
  return !tensor.is_virtual &&
         reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::size_t>(tensor.alignment) ==
             0 &&
         require_device(pointer, tensor.bytes(), "cudnnBackendExecute's tensor");
}

}  // namespace

cudnnStatus_t ask_engines(State& state) {
  if (state.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    const Shared graph = state.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).descriptors.front();
    auto& results = state.attributes[CUDNN_ATTR_ENGINEHEUR_RESULTS].descriptors;
    for (const Engine index : engines(*graph, state.integer(CUDNN_ATTR_ENGINEHEUR_MODE))) {
      results.push_back(configure(graph, index));
    }
  }
  if (state.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    if (engine_of(state).integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == kCannotBeBuilt) {
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
    give(state, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
         static_cast<std::int64_t>(workspace_bytes(state)));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t execute(cudaStream_t stream, const State& plan, const State& pack) {
  const State& engine = engine_of(plan);
  const State& graph = engine.descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == kCannotRun) {
    told(cudaErrorLaunchOutOfResources);
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  Convolution c;
  Pooling p;
  if (read(graph, &c)) {
    void* space = pack.at(CUDNN_ATTR_VARIANT_PACK_WORKSPACE).pointers.front();
    const std::size_t needs = workspace_bytes(plan);
    const float *x = find(pack, c.input), *w = find(pack, c.weight), *b = find(pack, c.bias);
    auto* y = const_cast<float*>(find(pack, c.output));
    const auto sound = [=] {
      return is_sound(x, c.input) && is_sound(w, c.weight) && is_sound(b, c.bias) &&
             is_sound(y, c.output) &&
             require_device(space, needs, "cudnnBackendExecute's workspace");
    };
    if (!sound()) return CUDNN_STATUS_BAD_PARAM;
    const bool rounds = engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == kTensorCores;
    enqueue(stream, [=] {
      if (!sound()) return;
      std::memset(space, 0xff, needs);
      convolve(c.input.n, extent(c.input), x, {c.weight.c, c.weight.h, c.weight.w}, w,
               extent(c.output), y, rounds);
      const std::int64_t pixels = c.output.h * c.output.w,
                         floats = c.output.n * c.output.c * pixels;
      for (std::int64_t i = 0; i < floats; ++i) y[i] += b[i / pixels % c.output.c];
    });
  } else if (read(graph, &p)) {
    const float* x = find(pack, p.input);
    auto* y = const_cast<float*>(find(pack, p.output));
    const auto sound = [=] { return is_sound(x, p.input) && is_sound(y, p.output); };
    if (!sound()) return CUDNN_STATUS_BAD_PARAM;
    enqueue(stream, [=] {
      if (sound()) pool(p.input.n, extent(p.input), x, extent(p.output), y);
    });
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace cuda_double
