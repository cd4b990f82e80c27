// The double of libcudart: its entry points. What they work on is machine.cpp's.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "state.hpp"

using namespace cuda_double;

extern "C" {

// the device --------------------------------------------------------------------------------------

cudaError_t cudaDriverGetVersion(int* version) {
  *version = setting("CUDA_DOUBLE_DRIVER", CUDART_VERSION);
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&] {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const int devices = setting("CUDA_DOUBLE_DEVICES", 1);
    if (setting("CUDA_DOUBLE_DRIVER", CUDART_VERSION) / 1000 < CUDART_VERSION / 1000) {
      return cudaErrorInsufficientDriver;
    }
    if (devices == 0 || (visible != nullptr && *visible == 0)) return cudaErrorNoDevice;
    *count = devices;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  return call("cudaDeviceGetAttribute", [&] {
    const int capability = setting("CUDA_DOUBLE_CAPABILITY", 90);
    switch (attribute) {
      case cudaDevAttrComputeCapabilityMajor:
        *value = capability / 10;
        return cudaSuccess;
      case cudaDevAttrComputeCapabilityMinor:
        *value = capability % 10;
        return cudaSuccess;
      default:
        breach("an attribute that the double does not know");
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  return call("cudaGetDeviceProperties", [&] {
    std::memset(properties, 0, sizeof *properties);
    std::strcpy(properties->name, "a double of a GPU");
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* bus, int room, int) {
  return call("cudaDeviceGetPCIBusId", [&] {
    std::strncpy(bus, "0000:01:00.0", room);
    return cudaSuccess;
  });
}

// errors ------------------------------------------------------------------------------------------

const char* cudaGetErrorName(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorDevicesUnavailable:
      return "cudaErrorDevicesUnavailable";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorLaunchOutOfResources:
      return "cudaErrorLaunchOutOfResources";
    default:
      return "cudaErrorOfTheDouble";
  }
}

const char* cudaGetErrorString(cudaError_t) { return "the double says so"; }

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

// memory ------------------------------------------------------------------------------------------

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return call("cudaMalloc", [&] {
    if (forbidden_in_capture("cudaMalloc")) return cudaErrorStreamCaptureUnsupported;
    return allocate(pointer, bytes, Where::device);
  });
}

/// As the real one: when all work on the GPU has ended.
cudaError_t cudaFree(void* pointer) {
  wait_for_all_residents();
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const int status = enter("cudaFree");
  forbidden_in_capture("cudaFree");
  const cudaError_t freed = release(pointer, true);
  return status ? static_cast<cudaError_t>(status) : freed;
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return call("cudaHostAlloc", [&] {
    if (forbidden_in_capture("cudaHostAlloc")) return cudaErrorStreamCaptureUnsupported;
    return allocate(pointer, bytes, flags & cudaHostAllocMapped ? Where::mapped : Where::pinned);
  });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return call("cudaHostGetDevicePointer", [&] {
    if (where(host, 1) != Where::mapped) breach("the device address of memory that is not mapped");
    *device = host;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call("cudaPointerGetAttributes", [&] {
    *attributes = {};
    switch (where(pointer, 1)) {
      case Where::device:
        attributes->type = cudaMemoryTypeDevice;
        attributes->device = find(pointer)->second.device;
        break;
      case Where::unknown:
        attributes->type = cudaMemoryTypeUnregistered;
        break;
      default:
        attributes->type = cudaMemoryTypeHost;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const int status = enter("cudaFreeHost");
  const cudaError_t freed = release(pointer, false);
  return status ? static_cast<cudaError_t>(status) : freed;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call("cudaMemGetInfo", [&] {
    *total = std::size_t{2} << 30;
    *free = static_cast<std::size_t>(setting("CUDA_DOUBLE_FREE_MIB", 1024)) << 20;
    for (const auto& [start, a] : allocations) *free -= a.where == Where::device ? a.bytes : 0;
    return cudaSuccess;
  });
}

/// Memory of the host that is not pinned costs a detour, so copies of it are counted; the bytes may
/// be fetched as late as with pinned memory, as some GPUs do.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] {
    if (!copy_is_sound(to, from, bytes, kind)) return cudaErrorInvalidValue;
    if (where(kind == cudaMemcpyHostToDevice ? from : to, 1) == Where::unknown) {
      ++calls["copy of memory that is not pinned"];
    }
    enqueue(stream, [=] { std::memcpy(to, from, bytes); });
    return cudaSuccess;
  });
}

// streams -----------------------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return call("cudaStreamCreateWithFlags", [&] {
    create(stream);
    (*stream)->device = current_device();
    streams.insert(*stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (stream->resident && !stream->resident->ended) breach("a stream destroyed under its kernel");
  drain(stream);
  streams.erase(stream);
  return destroy("cudaStreamDestroy", stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream != nullptr && getpid() == process) wait_for(stream->resident);
  return call("cudaStreamSynchronize", [&] {
    if (forbidden_in_capture("cudaStreamSynchronize")) return cudaErrorStreamCaptureUnsupported;
    if (stream == nullptr) breach("the default stream is waited for");
    if (stream != nullptr) drain(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call("cudaStreamQuery", [&] {
    drain(stream);
    return stream->resident && !stream->resident->ended ? cudaErrorNotReady : cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  wait_for_all_residents();
  return call("cudaDeviceSynchronize", [&] {
    for (cudaStream_t stream : streams) drain(stream);
    return cudaSuccess;
  });
}

// events ------------------------------------------------------------------------------------------

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return call("cudaEventCreate", [&] { return create(event); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) { return destroy("cudaEventDestroy", event); }

/// In a capture, an event that is not external only orders what is captured: it tells no time.
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return call("cudaEventRecordWithFlags", [&] {
    const bool external = flags == cudaEventRecordExternal;
    if (external && !stream->capturing) breach("an external event outside of a capture");
    if (!external && stream->capturing) return cudaSuccess;
    enqueue(stream, [event] {
      event->recorded = true;
      event->when = std::chrono::steady_clock::now();
    });
    return cudaSuccess;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return call("cudaEventElapsedTime", [&] {
    if (!from->recorded || !to->recorded) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(to->when - from->when).count();
    return cudaSuccess;
  });
}

// graphs ------------------------------------------------------------------------------------------

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCapture", [&] {
    create(&stream->capturing);
    stream->capture_mode = mode;
    stream->capturer = std::this_thread::get_id();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  *graph = std::exchange(stream->capturing, nullptr);  // also where the call fails
  return call("cudaStreamEndCapture", [&] { return cudaSuccess; });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  return call("cudaGraphInstantiateWithFlags", [&] {
    create(executable);
    (*executable)->work = graph->work;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return call("cudaGraphLaunch", [&] {
    for (const Work& work : executable->work) enqueue(stream, work);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy("cudaGraphDestroy", graph); }

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return destroy("cudaGraphExecDestroy", executable);
}

// kernels of our own ------------------------------------------------------------------------------

/// What is loaded is PTX (nvrtc.cpp), but as machine code it would fit this GPU alone.
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                unsigned, cudaLibraryOption*, void**, unsigned) {
  return call("cudaLibraryLoadData", [&] {
    const std::string text = static_cast<const char*>(code);
    if (target_of(text) != setting("CUDA_DOUBLE_CAPABILITY", 90)) {
      return cudaErrorNoKernelImageForDevice;
    }
    create(library);
    (*library)->text = text;
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  return destroy("cudaLibraryUnload", library);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return call("cudaLibraryGetKernel", [&] {
    std::unique_ptr<CUkern_st>& known = library->kernels[name];
    try {
      if (!known) known.reset(new CUkern_st{std::make_shared<Kernel>(decode(library->text, name))});
    } catch (const NoSuchKernel&) {
      return cudaErrorSymbolNotFound;
    } catch (const std::runtime_error& error) {
      breach(error.what());
    }
    *kernel = known.get();
    return cudaSuccess;
  });
}

/// A kernel that polls the host's memory may stay: it gets a thread of its own.
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream) {
  return call("cudaLaunchKernel", [&] {
    auto* handle = static_cast<CUkern_st*>(const_cast<void*>(function));
    if (!std::exchange(handle->loaded, true)) forbidden_in_capture("loading a kernel");
    const unsigned cluster = handle->kernel->cluster, most = handle->kernel->threads;
    if (grid.x % cluster != 0 || (cluster > 8 && !handle->any_cluster_size)) {
      return cudaErrorInvalidClusterSize;
    }
    if (most != 0 && block.x > most) return cudaErrorInvalidValue;
    const Work work = launch_of(handle->kernel, arguments, grid.x, block.x, shared);
    if (!handle->kernel->polls) {
      enqueue(stream, work);
      return cudaSuccess;
    }
    if (stream->capturing) breach("a kernel that polls the host, in a graph");
    drain(stream);
    const auto before = std::exchange(stream->resident, std::make_shared<Resident>());
    start(stream->resident, before, work);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return call("cudaFuncSetAttribute", [&] {
    if (attribute != cudaFuncAttributeNonPortableClusterSizeAllowed) return cudaErrorInvalidValue;
    const_cast<CUkern_st*>(static_cast<const CUkern_st*>(function))->any_cluster_size = value != 0;
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return call("cudaOccupancyMaxActiveClusters", [&] {
    const auto* handle = static_cast<const CUkern_st*>(function);
    if (config->gridDim.x != handle->kernel->cluster || !handle->any_cluster_size) {
      return cudaErrorInvalidClusterSize;
    }
    *clusters = setting("CUDA_DOUBLE_CLUSTERS", 4);
    return cudaSuccess;
  });
}

}  // extern "C"
