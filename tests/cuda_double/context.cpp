// The double of libcudart: which GPU a thread works on, as the runtime and the driver both set it,
// and what other threads' captures allow it to do (machine.hpp).
#include <cstdlib>
#include <cstring>
#include <vector>

#include "machine.hpp"

struct CUctx_st {
  int device;
};
using Context = CUctx_st*;

namespace cuda_double {
namespace {

CUctx_st primary_contexts[] = {{0}, {1}, {2}, {3}};
thread_local int device_of_thread = 0;
thread_local std::vector<Context> pushed;  // goes before the runtime's GPU
thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

int devices() {
  const char* value = std::getenv("CUDA_DOUBLE_DEVICES");
  return value != nullptr ? std::atoi(value) : 1;
}

cudaError_t open(int device) {
  if (std::getenv("CUDA_DOUBLE_TAKEN") != nullptr) return cudaErrorDevicesUnavailable;
  return device < devices() ? cudaSuccess : cudaErrorInvalidDevice;
}

// The driver's functions, of which none has a name that a program can link with.

int device_get(int* handle, int device) {
  *handle = device;
  return device < devices() ? cudaSuccess : cudaErrorInvalidDevice;
}

int primary_retain(Context* context, int device) {
  if (const cudaError_t status = open(device)) return status;
  *context = &primary_contexts[device];
  return cudaSuccess;
}

int push(Context context) {
  pushed.push_back(context);
  return cudaSuccess;
}

int pop(Context* context) {
  if (pushed.empty()) {
    breach("a context popped that nobody pushed");
    return cudaErrorInvalidValue;
  }
  *context = pushed.back();
  pushed.pop_back();
  return cudaSuccess;
}

}  // namespace

int current_device() { return pushed.empty() ? device_of_thread : pushed.back()->device; }

bool may_disturb_captures() { return mode == cudaStreamCaptureModeRelaxed; }

}  // namespace cuda_double

using namespace cuda_double;

int cuda_double_pushed() { return static_cast<int>(pushed.size()); }

extern "C" {

cudaError_t cudaSetDevice(int device) {
  if (const int status = enter("cudaSetDevice")) return told(static_cast<cudaError_t>(status));
  if (const cudaError_t status = open(device)) return told(status);
  device_of_thread = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* exchanged) {
  std::swap(*exchanged, mode);
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  struct {
    const char* name;
    void* function;
  } const known[] = {
      {"cuDeviceGet", reinterpret_cast<void*>(&device_get)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&primary_retain)},
      {"cuCtxPushCurrent", reinterpret_cast<void*>(&push)},
      {"cuCtxPopCurrent", reinterpret_cast<void*>(&pop)},
  };
  *result = cudaDriverEntryPointSymbolNotFound;
  for (const auto& each : known) {
    if (std::strcmp(each.name, name) != 0) continue;
    *function = each.function;
    *result = cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}

}  // extern "C"
