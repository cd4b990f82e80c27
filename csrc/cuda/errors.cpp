#include "cuda/errors.hpp"

namespace lenet::cuda {
namespace {

const Remedy kFull = {"the GPU has no memory left", "see who holds it with: nvidia-smi"};
const Remedy kTaken = {
    "the GPU is in exclusive or prohibited compute mode",
    "see who is there with: nvidia-smi, or fix it with: nvidia-smi --compute-mode=DEFAULT"};

std::optional<Remedy> remedy_for(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return kFull;
  if (status == cudaErrorDevicesUnavailable) return kTaken;
  return {};
}

/// A library's handle takes about this much of the GPU's memory. With less free, too little memory
/// is the likely reason that no handle was made.
constexpr std::size_t kHandleBytes = std::size_t{512} << 20;

/// Libraries say "not initialized" of whatever went wrong below them while a handle was made.
std::optional<Remedy> remedy_for_no_handle() {
  std::size_t free = 0, total = 0;
  const cudaError_t status = cudaMemGetInfo(&free, &total);
  cudaGetLastError();
  if (status != cudaSuccess) {
    return Remedy{std::string("the GPU does not answer (") + cudaGetErrorName(status) + ")",
                  "start a new process, and see what the driver says with: nvidia-smi"};
  }
  if (free < kHandleBytes) return kFull;
  return Remedy{
      "the library cannot start, although the GPU has " + std::to_string(free >> 20) + " MiB free",
      "see which libraries load with: lenet-bench doctor"};
}

std::optional<Remedy> remedy_for(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_ALLOC_FAILED) return kFull;
  if (status == CUBLAS_STATUS_NOT_INITIALIZED) return remedy_for_no_handle();
  return {};
}

std::optional<Remedy> remedy_for(cudnnStatus_t status) {
  const std::string cudnn = "nvidia-cudnn-cu" + std::to_string(CUDART_VERSION / 1000);
  switch (status) {
    case CUDNN_STATUS_NOT_INITIALIZED:
      return remedy_for_no_handle();
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return kFull;
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER:
      return Remedy{"the NVIDIA driver is too old for this cuDNN", "update the driver"};
    case CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH:  // 9.10 was the last before 7.5
      return Remedy{"this cuDNN does not know this GPU",
                    "fix it with: pip install " +
                        (CUDART_VERSION >= 13000 ? "--upgrade " + cudnn : "'" + cudnn + "<9.11'")};
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
    case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
    case CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE:
      return Remedy{"a part of cuDNN is missing, or of another version",
                    "fix it with: pip install --force-reinstall " + cudnn};
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
  cudaGetLastError();  // a launch of its that failed, which the next call would take for its own
  char details[512] = "";
  cudnnGetLastErrorString(details, sizeof details);
  return {cudnnGetErrorString(status), details, remedy_for(status)};
}

Outcome explain(nvrtcResult status) { return {nvrtcGetErrorString(status), "", {}}; }

bool is_not_supported(cudnnStatus_t status) {
  return status >= CUDNN_STATUS_NOT_SUPPORTED && status < CUDNN_STATUS_INTERNAL_ERROR &&
         status != CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE;
}

void fail(const Outcome& outcome, const Call& call) {
  const std::string text(call.text);
  std::string sentence = text.substr(0, text.find('(')) + " failed with " + outcome.name;
  if (!outcome.meaning.empty()) sentence += " (" + outcome.meaning + ")";
  sentence += std::string(" at ") + call.file + ":" + std::to_string(call.line);
  if (!outcome.remedy) throw CallFailed(sentence);
  throw Unavailable(outcome.remedy->wrong + ": " + sentence + "; " + outcome.remedy->fix);
}

}  // namespace lenet::cuda
