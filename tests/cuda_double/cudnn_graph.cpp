// The double of libcudnn: the entry points of its graph API, and the attributes that may be set
// (machine.hpp).
#include "cudnn_graph.hpp"

#include <algorithm>

using namespace cuda_double;

namespace {

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

Descriptor* opened(cudnnBackendDescriptor_t handle) { return static_cast<Descriptor*>(handle); }

// finalizing --------------------------------------------------------------------------------------

bool is_complete(const State& state) {
  return std::all_of(std::begin(kAttributes), std::end(kAttributes), [&](const Attribute& a) {
    return a.owner != state.type || state.has(a.name);
  });
}

cudnnStatus_t finalize(const std::shared_ptr<State>& state) {
  if (!is_complete(*state)) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (const auto status = ask_engines(*state); status != CUDNN_STATUS_SUCCESS) return status;
  if (state->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
      state->at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count() !=
          state->at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).count()) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  state->finalized = true;
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
