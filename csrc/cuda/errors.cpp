#include "cuda/errors.hpp"

namespace lenet::cuda {
namespace {

constexpr Remedy kFull = {"the GPU has no memory left", "see who holds it with: nvidia-smi"};
constexpr Remedy kTaken = {
    "the GPU lets in one process only, which is there, or none",
    "see who is there with: nvidia-smi, or mend it with: nvidia-smi --compute-mode=DEFAULT"};
constexpr bool kCuda13 = CUDART_VERSION >= 13000;
constexpr Remedy kUnknownToCudnn = {
    "this cuDNN does not know this GPU",
    kCuda13 ? "mend it with: pip install --upgrade nvidia-cudnn-cu13"
            : "mend it with: pip install 'nvidia-cudnn-cu12<9.11'"};  // the last for 5.0 to 7.0
constexpr Remedy kPartsOfCudnn = {
    "cuDNN's parts do not belong together",
    kCuda13 ? "mend it with: pip install --force-reinstall nvidia-cudnn-cu13"
            : "mend it with: pip install --force-reinstall nvidia-cudnn-cu12"};

const Remedy* remedy_for(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return &kFull;
  if (status == cudaErrorDevicesUnavailable) return &kTaken;
  return nullptr;
}

/// The GPU has been opened by then, so a handle that cannot be made had no room on it.
const Remedy* remedy_for(cublasStatus_t status) {
  const bool full = status == CUBLAS_STATUS_ALLOC_FAILED || status == CUBLAS_STATUS_NOT_INITIALIZED;
  return full ? &kFull : nullptr;
}

const Remedy* remedy_for(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_NOT_INITIALIZED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return &kFull;
    case CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH:
      return &kUnknownToCudnn;
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
    case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
      return &kPartsOfCudnn;
    default:
      return nullptr;
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

Outcome explain(nvrtcResult status) { return {nvrtcGetErrorString(status), "", nullptr}; }

void fail(const Outcome& outcome, const Call& call) {
  const std::string text(call.text);
  std::string sentence = text.substr(0, text.find('(')) + " failed with " + outcome.name;
  if (!outcome.meaning.empty()) sentence += " (" + outcome.meaning + ")";
  sentence += std::string(" at ") + call.file + ":" + std::to_string(call.line);
  if (outcome.remedy == nullptr) throw CallFailed(sentence);
  throw Unavailable(std::string(outcome.remedy->wrong) + ": " + sentence + "; " +
                    outcome.remedy->mends);
}

}  // namespace lenet::cuda
