// What the parts of the double of libcudart share: the machine's state, and how an entry point
// begins.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
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

struct Allocation {
  std::size_t bytes;  // asked for
  Where where;
  char* pages;  // what was mapped, a guard page at its end included
  std::size_t mapped;
  char* behind;  // of device memory: the same pages again, never guarded
  int device;
};

extern std::recursive_mutex mutex;  // one machine: its calls take turns
extern std::map<char*, Allocation> allocations;
extern std::map<std::string, int> calls;
extern std::set<cudaStream_t> streams;
extern std::string breached;
extern const pid_t process;
extern thread_local cudaError_t last_error;

int setting(const char* name, int otherwise);
const std::pair<char* const, Allocation>* find(const void* pointer);
cudaError_t allocate(void** pointer, std::size_t bytes, Where kind);
cudaError_t release(void* pointer, bool device);
bool copy_is_sound(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);

/// Does what waits on a stream.
void drain(cudaStream_t stream);

/// Not under the mutex, which the kernel may need on its way out.
void wait_for(const std::shared_ptr<Resident>& resident);
void wait_for_all_residents();

/// Once the one before it on its stream has left.
void start(const std::shared_ptr<Resident>& resident, const std::shared_ptr<Resident>& before,
           const Work& work);

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

}  // namespace cuda_double
