#include "cuda/context.hpp"

#include "cuda/errors.hpp"

namespace lenet::cuda {
namespace {

template <class Function>
Function* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  LENET_CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess) {
    throw Unavailable(std::string("the NVIDIA driver has no ") + name +
                      ": update it, and see that nvidia-smi lists the GPU");
  }
  return reinterpret_cast<Function*>(function);
}

/// Of the driver's library, which is not linked: the module is imported where there is none.
struct Driver {
  CUresult (*device_get)(CUdevice*, int) = driver_function<CUresult(CUdevice*, int)>("cuDeviceGet");
  CUresult (*primary_retain)(CUcontext*, CUdevice) =
      driver_function<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain");
  CUresult (*push)(CUcontext) = driver_function<CUresult(CUcontext)>("cuCtxPushCurrent");
  CUresult (*pop)(CUcontext*) = driver_function<CUresult(CUcontext*)>("cuCtxPopCurrent");
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

cudaError_t as_runtime(CUresult status) { return static_cast<cudaError_t>(status); }  // one list

}  // namespace

CUcontext primary_context(int device) {
  CUdevice handle = 0;
  CUcontext context = nullptr;
  check(as_runtime(driver().device_get(&handle, device)), {"cuDeviceGet", __FILE__, __LINE__});
  check(as_runtime(driver().primary_retain(&context, handle)),
        {"cuDevicePrimaryCtxRetain", __FILE__, __LINE__});
  return context;
}

/// An error that other code left unread on this thread goes: cuDNN would take it for its own.
InContext::InContext(CUcontext context) {
  check(as_runtime(driver().push(context)), {"cuCtxPushCurrent", __FILE__, __LINE__});
  cudaThreadExchangeStreamCaptureMode(&mode_);
  cudaGetLastError();
}

InContext::~InContext() {
  cudaThreadExchangeStreamCaptureMode(&mode_);
  CUcontext ours = nullptr;
  driver().pop(&ours);
}

}  // namespace lenet::cuda
