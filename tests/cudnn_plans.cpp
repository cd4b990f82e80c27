// What NVIDIA's own cuDNN makes of the graphs of cudnn_plan.cpp when it is told of a GPU that
// need not be here: cuDNN plans for a GPU that it only has the description of.
//
//   cudnn_plans DESCRIPTION, which is JSON as CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has it
#include <cudnn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

namespace {

cudnnBackendDescriptor_t described_gpu = nullptr;

/// A handle is of a GPU that is here: ours stays away, and what is described takes its place.
cudnnStatus_t set_but_handles(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                              cudnnBackendAttributeType_t type, std::int64_t count,
                              const void* elements) {
  if (type == CUDNN_TYPE_HANDLE) return CUDNN_STATUS_SUCCESS;
  return cudnnBackendSetAttribute(descriptor, name, type, count, elements);
}

cudnnStatus_t finalize_for_described_gpu(cudnnBackendDescriptor_t descriptor) {
  for (const auto name : {CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP}) {
    cudnnBackendSetAttribute(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &described_gpu);
  }  // of which a descriptor takes its own, and most take none
  return cudnnBackendFinalize(descriptor);
}

}  // namespace

#define cudnnBackendSetAttribute set_but_handles
#define cudnnBackendFinalize finalize_for_described_gpu
#include "cuda/cudnn_plan.cpp"
#undef cudnnBackendSetAttribute
#undef cudnnBackendFinalize

int main(int, char** arguments) {
  using namespace lenet;
  using namespace lenet::cuda;
  const char* description = arguments[1];
  LENET_CHECK(cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &described_gpu));
  LENET_CHECK(cudnnBackendSetAttribute(
      described_gpu, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
      static_cast<std::int64_t>(std::strlen(description)) + 1, description));
  LENET_CHECK(cudnnBackendFinalize(described_gpu));
  const auto plan = [](const char* name, OperationGraph graph) {
    const auto not_run = [](const Plan&) { return CUDNN_STATUS_SUCCESS; };
    return choose(nullptr, name, std::move(graph), not_run);
  };
  std::vector<Plan> plans;
  for (const int images : {1, 512}) {
    plans.push_back(plan("conv1", convolve_and_add_bias(images, 1, kImageSide, kConv1Channels)));
    plans.push_back(plan("pool1", pool(images, kConv1Channels, kConv1Side)));
    plans.push_back(
        plan("conv2", convolve_and_add_bias(images, kConv1Channels, kPool1Side, kConv2Channels)));
    plans.push_back(plan("pool2", pool(images, kConv2Channels, kConv2Side)));
  }
  float* const somewhere = reinterpret_cast<float*>(4096);  // nothing is read before a call
  bind({{kInput, kWeight, kBias, kOutput}, {somewhere, somewhere, somewhere, somewhere}},
       somewhere);
  bind({{kInput, kOutput}, {somewhere, somewhere}}, nullptr);  // where no plan takes a workspace
  for (const Plan& plan : plans) std::printf("engine %ld\n", static_cast<long>(plan.engine));
}
