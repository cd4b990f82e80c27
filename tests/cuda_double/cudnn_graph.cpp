// The double of libcudnn: what LeNet needs of the graph API (machine.hpp).
//
// It knows two graphs, a convolution with its bias and a max pooling, both of floats that lie row
// by row. As the real one does for them, it lists engines that round to TF32 first, one that
// cannot be built and one that cannot run, and pools only as a fallback.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "cudnn.hpp"

using namespace cuda_double;

namespace {

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

struct Descriptor {
  std::shared_ptr<State> state;
};

struct Attribute {
  cudnnBackendDescriptorType_t owner;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  std::size_t count;  // 0: any
};

/// What may be set, and has to be before its descriptor is finalized.
const Attribute kAttributes[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1},

    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
     1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
     1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
     CUDNN_TYPE_CONVOLUTION_MODE, 1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64,
     2},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64,
     2},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64,
     2},

    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1},

    {CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1},
    {CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, 1},
    {CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1},
    {CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE,
     1},
    {CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_TYPE_INT64, 2},
    {CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, CUDNN_ATTR_RESAMPLE_STRIDES, CUDNN_TYPE_INT64, 2},
    {CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, CUDNN_TYPE_INT64, 2},
    {CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, CUDNN_TYPE_INT64, 2},

    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1},

    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},

    {CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},

    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
     1},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 0},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
     1},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
     0},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
     CUDNN_TYPE_VOID_PTR, 0},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
     1},
};

using Integers = std::vector<std::int64_t>;

Descriptor* opened(cudnnBackendDescriptor_t handle) { return static_cast<Descriptor*>(handle); }

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
         input.n == 1 && input.c == weight.c && output.c == weight.n && bias.c == weight.n &&
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
         pair_is(how, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 0) && input.c == output.c &&
         input.h == 2 * output.h && input.w == 2 * output.w;
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

// finalizing --------------------------------------------------------------------------------------

bool is_complete(const State& state) {
  return std::all_of(std::begin(kAttributes), std::end(kAttributes), [&](const Attribute& a) {
    return a.owner != state.type || state.has(a.name);
  });
}

cudnnStatus_t finalize(const std::shared_ptr<State>& state) {
  if (!is_complete(*state)) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (state->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    const Shared graph = state->at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).descriptors.front();
    auto& results = state->attributes[CUDNN_ATTR_ENGINEHEUR_RESULTS].descriptors;
    for (const Engine index : engines(*graph, state->integer(CUDNN_ATTR_ENGINEHEUR_MODE))) {
      results.push_back(configure(graph, index));
    }
  }
  if (state->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    if (engine_of(*state).integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == kCannotBeBuilt) {
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
    give(*state, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
         static_cast<std::int64_t>(workspace_bytes(*state)));
  }
  if (state->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
      state->at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count() !=
          state->at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).count()) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  state->finalized = true;
  return CUDNN_STATUS_SUCCESS;
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

void convolve(const Convolution& c, const float* x, const float* w, const float* b, float* y,
              bool rounds) {
  for (std::int64_t k = 0; k < c.output.c; ++k) {
    for (std::int64_t row = 0; row < c.output.h; ++row) {
      for (std::int64_t column = 0; column < c.output.w; ++column) {
        double sum = 0;
        for (std::int64_t from = 0; from < c.input.c; ++from) {
          for (std::int64_t dy = 0; dy < c.weight.h; ++dy) {
            for (std::int64_t dx = 0; dx < c.weight.w; ++dx) {
              const float a = x[(from * c.input.h + row + dy) * c.input.w + column + dx];
              const float v = w[((k * c.input.c + from) * c.weight.h + dy) * c.weight.w + dx];
              sum += rounds ? double(tf32(a)) * tf32(v) : double(a) * v;
            }
          }
        }
        y[(k * c.output.h + row) * c.output.w + column] = float(sum) + b[k];
      }
    }
  }
}

void pool(const Pooling& p, const float* x, float* y) {
  for (std::int64_t row = 0; row < p.output.c * p.output.h; ++row) {
    for (std::int64_t column = 0; column < p.output.w; ++column) {
      const float* square = x + 2 * row * p.input.w + 2 * column;
      const float* below = square + p.input.w;
      // A NaN has to stay one, whatever std::max makes of it.
      const float sum = square[0] + square[1] + below[0] + below[1];
      y[row * p.output.w + column] =
          std::isnan(sum) ? sum : std::max({square[0], square[1], below[0], below[1]});
    }
  }
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
      convolve(c, x, w, b, y, rounds);
    });
  } else if (read(graph, &p)) {
    const float* x = find(pack, p.input);
    auto* y = const_cast<float*>(find(pack, p.output));
    const auto sound = [=] { return is_sound(x, p.input) && is_sound(y, p.output); };
    if (!sound()) return CUDNN_STATUS_BAD_PARAM;
    enqueue(stream, [=] {
      if (sound()) pool(p, x, y);
    });
  }
  return CUDNN_STATUS_SUCCESS;
}

// attributes --------------------------------------------------------------------------------------

template <class T>
std::vector<T> copied(const void* elements, std::int64_t count) {
  const auto* first = static_cast<const T*>(elements);
  return {first, first + count};
}

cudnnStatus_t store(Value& value, cudnnBackendAttributeType_t type, std::int64_t count,
                    const void* elements) {
  value = {};
  switch (type) {
    case CUDNN_TYPE_INT64:
      value.integers = copied<std::int64_t>(elements, count);
      break;
    case CUDNN_TYPE_BOOLEAN:
      value.integers = {*static_cast<const bool*>(elements)};
      break;
    case CUDNN_TYPE_FLOAT:
      value.reals = {*static_cast<const float*>(elements)};
      break;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      value.pointers = copied<void*>(elements, count);
      break;
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      for (void* other : copied<void*>(elements, count)) {
        if (other == nullptr || !opened(other)->state->finalized) return CUDNN_STATUS_BAD_PARAM;
        value.descriptors.push_back(opened(other)->state);
      }
      break;
    default:  // an enumerator
      value.integers = {*static_cast<const std::int32_t*>(elements)};
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  ENTER("cudnnBackendCreateDescriptor");
  auto* created = new Descriptor{std::make_shared<State>()};
  created->state->type = type;
  *descriptor = created;
  born();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  enter("cudnnBackendDestroyDescriptor");
  delete opened(descriptor);
  died();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  ENTER("cudnnBackendSetAttribute");
  State& state = *opened(descriptor)->state;
  if (state.finalized) return CUDNN_STATUS_NOT_INITIALIZED;
  for (const Attribute& known : kAttributes) {
    if (known.owner != state.type || known.name != name) continue;
    if (known.type != type || count <= 0) return CUDNN_STATUS_BAD_PARAM;
    if (known.count != 0 && known.count != static_cast<std::size_t>(count)) {
      return CUDNN_STATUS_BAD_PARAM;
    }
    return store(state.attributes[name], type, count, elements);
  }
  return CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  ENTER("cudnnBackendFinalize");
  forbidden_in_capture("cudnnBackendFinalize");
  return finalize(opened(descriptor)->state);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room,
                                       int64_t* count, void* elements) {
  ENTER("cudnnBackendGetAttribute");
  const State& state = *opened(descriptor)->state;
  if (!state.finalized || !state.has(name)) return CUDNN_STATUS_BAD_PARAM;
  const Value& value = state.at(name);
  *count = static_cast<std::int64_t>(value.count());
  if (room == 0) return CUDNN_STATUS_SUCCESS;
  *count = std::min(*count, room);
  for (std::int64_t i = 0; i < *count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      Descriptor* to_fill = opened(static_cast<void**>(elements)[i]);
      if (to_fill->state->type != value.descriptors.at(at)->type) return CUDNN_STATUS_BAD_PARAM;
      to_fill->state = std::const_pointer_cast<State>(value.descriptors.at(at));
    } else if (type == CUDNN_TYPE_INT64) {
      static_cast<std::int64_t*>(elements)[i] = value.integers.at(at);
    } else {
      static_cast<std::int32_t*>(elements)[i] = static_cast<std::int32_t>(value.integers.at(at));
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  ENTER("cudnnBackendExecute");
  const State &how = *opened(plan)->state, &where = *opened(pack)->state;
  if (!how.finalized || !where.finalized) return CUDNN_STATUS_BAD_PARAM;
  return execute(handle->stream, how, where);
}

}  // extern "C"
