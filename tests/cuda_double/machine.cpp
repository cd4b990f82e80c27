// The machine behind the double of libcudart: memory that is guarded, work that waits on streams,
// kernels that stay, planted failures and breaches (machine.hpp).
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "state.hpp"

namespace cuda_double {
std::recursive_mutex mutex;
std::map<char*, Allocation> allocations;
std::map<std::string, int> calls;
std::set<cudaStream_t> streams;
std::string breached;
const pid_t process = getpid();
thread_local cudaError_t last_error = cudaSuccess;

namespace {

struct Failure {
  int nth, status;
};

std::map<std::string, Failure> failures;
std::atomic<bool> off{false};
std::vector<std::shared_ptr<Resident>> residents;
int live = 0;
thread_local Resident* here = nullptr;

const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

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

/// These pages of a file, and after them one that nobody may touch.
char* map_before_a_guard(int file, std::size_t pages) {
  void* mapped = mmap(nullptr, pages + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  mmap(mapped, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  return static_cast<char*>(mapped);
}

bool used_by_a_kernel_that_stays(const void* pointer) {
  const auto* found = find(pointer);
  return found != nullptr && std::any_of(residents.begin(), residents.end(), [&](const auto& r) {
           return !r->ended && r->used.count(found->first) != 0;
         });
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

}  // namespace

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

void drain(cudaStream_t stream) {
  const std::vector<Work> work = std::move(stream->waiting);
  stream->waiting.clear();
  execute(work);
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

}  // namespace
