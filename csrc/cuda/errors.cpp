#include "cuda/errors.hpp"

namespace lenet::cuda {
namespace {

const Remedy kFull = {"the GPU has no memory left", "see who holds it with: nvidia-smi"};
const Remedy kTaken = {
    "the GPU lets in one process only, which is there, or none",
    "see who is there with: nvidia-smi, or mend it with: nvidia-smi --compute-mode=DEFAULT"};

std::optional<Remedy> remedy_for(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return kFull;
  if (status == cudaErrorDevicesUnavailable) return kTaken;
  return {};
}

/// The GPU has been opened by then, so a handle that cannot be made had no room on it.
std::optional<Remedy> remedy_for(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_ALLOC_FAILED) return kFull;
  if (status == CUBLAS_STATUS_NOT_INITIALIZED) return kFull;
  return {};
}

std::optional<Remedy> remedy_for(cudnnStatus_t status) {
  const std::string cudnn = "nvidia-cudnn-cu" + std::to_string(CUDART_VERSION / 1000);
  switch (status) {
    case CUDNN_STATUS_NOT_INITIALIZED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return kFull;
    case CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH:  // 9.10 was the last before 7.5
      return Remedy{"this cuDNN does not know this GPU",
                    "mend it with: pip install " +
                        (CUDART_VERSION >= 13000 ? "--upgrade " + cudnn : "'" + cudnn + "<9.11'")};
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
    case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
      return Remedy{"cuDNN's parts do not belong together",
                    "mend it with: pip install --force-reinstall " + cudnn};
    default:
      return {};
  }
}

}  // namespace

Outcome explain(cudaError_t status) {
  cudaGetLastError();  // an error that is no fault of the context is forgotten once it is told
  return {cudaGetErrorName(status), cudaGetErrorString(status), remedy_for(status)};
}

Outcome explain(cublasStatus_t status) {
  return {cublasGetStatusName(status), cublasGetStatusString(status), remedy_for(status)};
}

Outcome explain(cudnnStatus_t status) {
  char details[512] = "";
  cudnnGetLastErrorString(details, sizeof details);
  return {cudnnGetErrorString(status), details, remedy_for(status)};
}

Outcome explain(nvrtcResult status) { return {nvrtcGetErrorString(status), "", {}}; }

void fail(const Outcome& outcome, const Call& call) {
  const std::string text(call.text);
  std::string sentence = text.substr(0, text.find('(')) + " failed with " + outcome.name;
  if (!outcome.meaning.empty()) sentence += " (" + outcome.meaning + ")";
  sentence += std::string(" at ") + call.file + ":" + std::to_string(call.line);
  if (!outcome.remedy) throw CallFailed(sentence);
  throw Unavailable(outcome.remedy->wrong + ": " + sentence + "; " + outcome.remedy->mends);
}

}  // namespace lenet::cuda
