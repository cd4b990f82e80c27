// The double of libcudart: memory, streams, events, graphs and launches (machine.hpp).
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "grid.hpp"
#include "machine.hpp"

using Work = std::function<void()>;

struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};
/// A kernel that stays on the GPU, or is about to.
struct Resident {
  std::atomic<bool> ended{false};
  std::set<const void*> used;  // pieces of memory
  std::thread thread;
};
struct CUstream_st {
  std::vector<Work> waiting;
  std::shared_ptr<Resident> resident;
  int device = 0;
  cudaGraph_t capturing = nullptr;
  std::thread::id capturer;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
};
struct CUevent_st {
  bool recorded = false;
  std::chrono::steady_clock::time_point when;
};
struct CUkern_st {
  std::shared_ptr<const cuda_double::Kernel> kernel;
  bool any_cluster_size = false;
  bool loaded = false;
};
struct CUlib_st {
  std::string text;
  std::map<std::string, std::unique_ptr<CUkern_st>> kernels;
};

namespace cuda_double {
namespace {

struct Allocation {
  std::size_t bytes;  // asked for
  Where where;
  char* pages;  // what was mapped, a guard page at its end included
  std::size_t mapped;
  char* behind;  // of device memory: the same pages again, never guarded
  int device;
};

struct Failure {
  int nth, status;
};

std::recursive_mutex mutex;  // one machine: its calls take turns
std::map<char*, Allocation> allocations;
std::map<std::string, int> calls;
std::map<std::string, Failure> failures;
std::set<cudaStream_t> streams;
std::string breached;
std::atomic<bool> off{false};
std::vector<std::shared_ptr<Resident>> residents;
int live = 0;
thread_local Resident* here = nullptr;
const pid_t process = getpid();
thread_local cudaError_t last_error = cudaSuccess;

const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

int setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

const std::pair<char* const, Allocation>* find(const void* pointer) {
  char* address = static_cast<char*>(const_cast<void*>(pointer));
  auto it = allocations.upper_bound(address);
  if (it == allocations.begin()) return nullptr;
  --it;
  return address < it->first + std::max<std::size_t>(it->second.bytes, 1) ? &*it : nullptr;
}

/// Device memory is open only while work runs.
void protect_device_memory(int protection) {
  for (auto& [start, a] : allocations) {
    if (a.where == Where::device) mprotect(a.pages, a.mapped - kPage, protection);
  }
}

void execute(const std::vector<Work>& work) {
  protect_device_memory(PROT_READ | PROT_WRITE);
  for (const Work& item : work) item();
  protect_device_memory(PROT_NONE);
}

void drain(cudaStream_t stream) {
  const std::vector<Work> work = std::move(stream->waiting);
  stream->waiting.clear();
  execute(work);
}

/// These pages of a file, and after them one that nobody may touch.
char* map_before_a_guard(int file, std::size_t pages) {
  void* mapped = mmap(nullptr, pages + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  mmap(mapped, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  return static_cast<char*>(mapped);
}

cudaError_t allocate(void** pointer, std::size_t bytes, Where kind) {
  // The end lies at a guard page, the start at a multiple of 256 as cudaMalloc promises.
  const std::size_t room = (bytes + 255) / 256 * 256;
  const std::size_t pages = (room + kPage - 1) / kPage * kPage;
  const int file = memfd_create("cuda double", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(pages)) != 0) return cudaErrorMemoryAllocation;
  char* mapped = map_before_a_guard(file, pages);
  char* behind = kind == Where::device ? map_before_a_guard(file, pages) : nullptr;
  close(file);
  if (mapped == nullptr) return cudaErrorMemoryAllocation;
  char* start = mapped + pages - room;
  std::memset(mapped, 0xff, pages);  // NaN
  if (kind == Where::device) mprotect(mapped, pages, PROT_NONE);
  allocations[start] = {bytes, kind, mapped, pages + kPage, behind, current_device()};
  *pointer = start;
  born();
  return cudaSuccess;
}

bool used_by_a_kernel_that_stays(const void* pointer) {
  const auto* found = find(pointer);
  return found != nullptr && std::any_of(residents.begin(), residents.end(), [&](const auto& r) {
           return !r->ended && r->used.count(found->first) != 0;
         });
}

cudaError_t release(void* pointer, bool device) {
  if (pointer == nullptr) return cudaSuccess;
  const auto it = allocations.find(static_cast<char*>(pointer));
  if (it == allocations.end() || (it->second.where == Where::device) != device) {
    breach("freed what is not allocated");
    return cudaErrorInvalidValue;
  }
  for (cudaStream_t stream : streams) drain(stream);
  if (used_by_a_kernel_that_stays(pointer)) {
    breach("memory freed under a kernel that stays");
    return cudaErrorInvalidValue;
  }
  munmap(it->second.pages, it->second.mapped);
  if (it->second.behind != nullptr) munmap(it->second.behind, it->second.mapped);
  allocations.erase(it);
  died();
  return cudaSuccess;
}

std::mutex gate;  // not the machine's, so that the calls that are not held go on
std::condition_variable opened;
std::string held_call;
int held = 0;

void wait_where_held(const char* call) {
  std::unique_lock<std::mutex> lock(gate);
  if (held_call != call) return;
  ++held;
  opened.wait(lock, [] { return held_call.empty(); });
  --held;
}

/// Not under the mutex, which the kernel may need on its way out.
void wait_for(const std::shared_ptr<Resident>& resident) {
  constexpr int kPatience = 10'000;  // milliseconds
  for (int waited = 0; resident && !resident->ended; ++waited) {
    if (waited == kPatience) breach("a kernel that never leaves the GPU was waited for");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void wait_for_all_residents() {
  if (getpid() != process) return;  // they stayed with the parent
  std::unique_lock<std::recursive_mutex> lock(mutex);
  const auto all = residents;
  lock.unlock();
  for (const auto& resident : all) wait_for(resident);
}

/// Once the one before it on its stream has left.
void start(const std::shared_ptr<Resident>& resident, const std::shared_ptr<Resident>& before,
           const Work& work) {
  for (auto it = residents.begin(); it != residents.end();) {
    if ((*it)->ended) (*it)->thread.join();
    it = (*it)->ended ? residents.erase(it) : it + 1;
  }
  residents.push_back(resident);
  resident->thread = std::thread([=, me = resident.get()] {
    here = me;
    wait_for(before);
    if (!broken()) work();
    me->ended = true;
  });
}

constexpr int kCalledWhileUnloading = 97;
std::atomic<bool> lingering{false};

/// When the process ends, so does what is on the GPU. A test may ask it to take its time, as the
/// unloading of large libraries does, and then no call may come any more.
struct PowerSwitch {
  ~PowerSwitch() {
    if (getpid() != process) return;
    lingering = setting("CUDA_DOUBLE_LINGERS", 0) != 0;
    if (lingering) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    off = true;
    for (const auto& resident : residents) resident->thread.join();
  }
};

bool copy_is_sound(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const Where target = where(to, bytes), source = where(from, bytes);
  const bool to_device = target == Where::device, from_device = source == Where::device;
  const bool right = (kind == cudaMemcpyHostToDevice && to_device && !from_device) ||
                     (kind == cudaMemcpyDeviceToHost && !to_device && from_device) ||
                     (kind == cudaMemcpyDeviceToDevice && to_device && from_device);
  if (!right) {
    breach("cudaMemcpyAsync: the direction is not where the pointers point, or out of bounds");
    return false;
  }
  if (used_by_a_kernel_that_stays(from) || used_by_a_kernel_that_stays(to)) {
    breach("memory copied that a kernel which stays uses meanwhile");
    return false;
  }
  return true;
}

}  // namespace

int enter(const char* call) {
  const bool of_a_library = std::strncmp(call, "cuda", 4) != 0;
  if (of_a_library) wait_where_held(call);
  if (lingering) _exit(kCalledWhileUnloading);
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const bool first = ++calls[call] == 1;
  if (getpid() != process) return cudaErrorInitializationError;
  // As in NVIDIA's libraries: what is left unread on this thread is taken for a launch's failure.
  if (of_a_library && last_error != cudaSuccess) return cudaErrorLaunchFailure;
  if (first && of_a_library) forbidden_in_capture(call);
  if (!breached.empty()) return cudaErrorIllegalAddress;
  const auto it = failures.find(call);
  if (it != failures.end() && --it->second.nth == 0) {
    const int status = it->second.status;
    failures.erase(it);
    if (status == cudaErrorIllegalAddress) breached = "asked to be";
    return status;
  }
  return 0;
}

cudaError_t told(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

void breach(const std::string& what) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (breached.empty()) std::fprintf(stderr, "cuda double: %s\n", what.c_str());
  breached = what;
}

Where where(const void* pointer, std::size_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const auto* found = find(pointer);
  if (found == nullptr) return Where::unknown;
  const auto* end = static_cast<const char*>(pointer) + bytes;
  if (end > found->first + found->second.bytes) return Where::unknown;
  return found->second.where;
}

bool require_device(const void* pointer, std::size_t bytes, const char* call) {
  if (where(pointer, bytes) == Where::device) return true;
  breach(std::string(call) + ": " + std::to_string(bytes) + " bytes are not inside device memory");
  return false;
}

void enqueue(cudaStream_t stream, Work work) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (stream == nullptr) return breach("work on the default stream");
  if (streams.count(stream) == 0) return breach("work on a stream that is gone");
  if (stream->device != current_device()) return breach("work on a stream of another GPU");
  auto& queue = stream->capturing ? stream->capturing->work : stream->waiting;
  queue.push_back(std::move(work));
}

bool forbidden_in_capture(const char* call) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  for (cudaStream_t stream : streams) {
    if (!stream->capturing) continue;
    const bool ours = stream->capturer == std::this_thread::get_id();
    const bool disturbed =
        stream->capture_mode == cudaStreamCaptureModeGlobal && !may_disturb_captures();
    if (ours || disturbed) {
      breach(std::string(call) + (ours ? " during a capture" : " during another thread's capture"));
      return true;
    }
  }
  return false;
}

Piece find_piece(const void* pointer) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const auto* found = find(pointer);
  if (found == nullptr) return {};
  const auto& [start, a] = *found;
  if (here != nullptr) here->used.insert(start);
  char* const memory = a.where == Where::device ? a.behind + (start - a.pages) : start;
  return {start, a.bytes, a.where, memory};
}

bool broken() {
  if (off) return true;
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  return !breached.empty();
}

void born() {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  ++live;
}

void died() {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  --live;
}

}  // namespace cuda_double

using namespace cuda_double;

void cuda_double_fail(const char* call, int nth, int status) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  failures[call] = {nth, status};
}

int cuda_double_live() {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  return live;
}

int cuda_double_residents() {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  return static_cast<int>(std::count_if(residents.begin(), residents.end(),
                                        [](const auto& resident) { return !resident->ended; }));
}

void cuda_double_hold(const char* call) {
  const std::lock_guard<std::mutex> lock(gate);
  held_call = call;
}

int cuda_double_held() {
  const std::lock_guard<std::mutex> lock(gate);
  return held;
}

void cuda_double_release(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  const std::lock_guard<std::mutex> lock(gate);
  held_call.clear();
  opened.notify_all();
}

int cuda_double_calls(const char* call) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  return calls[call];
}

namespace {

PowerSwitch power_switch;  // goes first of all that this file has

/// What every entry point does first. A breach made in the body is the call's own failure.
template <class Body>
cudaError_t call(const char* name, Body body) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (const int status = enter(name)) return told(static_cast<cudaError_t>(status));
  const cudaError_t status = body();
  return told(breached.empty() ? status : cudaErrorIllegalAddress);
}

/// Giving back works in a broken context too.
template <class Handle>
cudaError_t destroy(const char* name, Handle* handle) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const int status = enter(name);
  delete handle;
  died();
  return static_cast<cudaError_t>(status);
}

template <class Handle>
cudaError_t create(Handle** handle) {
  *handle = new Handle{};
  born();
  return cudaSuccess;
}

}  // namespace

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
