#include "cuda/errors.hpp"

namespace lenet::cuda {

Outcome explain(cudaError_t status) {
  cudaGetLastError();  // an error that is no fault of the context is forgotten once it is told
  return {cudaGetErrorName(status), cudaGetErrorString(status),
          status == cudaErrorMemoryAllocation};
}

Outcome explain(cublasStatus_t status) {
  return {cublasGetStatusName(status), cublasGetStatusString(status),
          status == CUBLAS_STATUS_ALLOC_FAILED};
}

Outcome explain(cudnnStatus_t status) {
  char details[512] = "";
  cudnnGetLastErrorString(details, sizeof details);
  return {cudnnGetErrorString(status), details,
          status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
              status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED};
}

Outcome explain(nvrtcResult status) {
  return {nvrtcGetErrorString(status), "", status == NVRTC_ERROR_OUT_OF_MEMORY};
}

void fail(const Outcome& outcome, const Call& call) {
  const std::string text(call.text);
  std::string sentence = text.substr(0, text.find('(')) + " failed with " + outcome.name;
  if (!outcome.meaning.empty()) sentence += " (" + outcome.meaning + ")";
  sentence += std::string(" at ") + call.file + ":" + std::to_string(call.line);
  if (outcome.out_of_memory) {
    throw Unavailable("the GPU has no memory left: " + sentence +
                      "; see who holds it with: nvidia-smi");
  }
  throw CallFailed(sentence);
}

}  // namespace lenet::cuda
