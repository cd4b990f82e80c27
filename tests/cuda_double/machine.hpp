// A GPU that is none: the memory, streams and graphs behind the doubles of libcudart, libcublas
// and libcudnn. It computes on the CPU, and it is stricter than a GPU:
//
//   - work that was put on a stream runs only when somebody waits for the stream;
//   - what a library or a kernel does for the first time loads code, and breaks a capture;
//   - device memory holds NaN until it is written, and the host that touches it dies;
//   - kernels are what NVRTC makes of them, stepped through in random order (grid.hpp); one that
//     polls the host's memory runs in a thread of its own;
//   - pointers, bounds, the direction of a copy, streams and captures are checked, and a breach is
//     told on standard error and makes every later call fail, as an illegal address does.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>

namespace cuda_double {

enum class Where { device, pinned, mapped, unknown };

/// Counts this call; nonzero where a test wants it to fail, or where an earlier breach made the
/// context unusable (status 700).
int enter(const char* call);

/// Keeps a failed call's status for cudaGetLastError, and returns it.
cudaError_t told(cudaError_t status);

/// The calling thread's GPU.
int current_device();
/// Whether it has said that its calls may come while other threads capture.
bool may_disturb_captures();

/// Tells a breach of CUDA's rules; every later call fails.
void breach(const std::string& what);

/// Breach unless [pointer, pointer + bytes) lies in one live piece of device memory.
bool require_device(const void* pointer, std::size_t bytes, const char* call);
Where where(const void* pointer, std::size_t bytes);

/// Puts work on a stream: captured, or kept until it is waited for. On the default stream a breach:
/// it waits for the work of all other code in the process, and that code for it.
void enqueue(cudaStream_t stream, std::function<void()> work);

/// Breach where the calling thread is capturing, or another, globally: what allocates or waits may
/// not be captured.
bool forbidden_in_capture(const char* call);

/// The piece of memory that this lies in, and where a kernel finds it whatever the host may touch;
/// nothing where it lies in none.
struct Piece {
  char* start = nullptr;
  std::size_t bytes = 0;
  Where where = Where::unknown;
  char* memory = nullptr;
};
Piece find_piece(const void* pointer);

/// A breach was told, or the process ends: whatever runs has to stop.
bool broken();

/// Handles alive, so that tests see leaks.
void born();
void died();

}  // namespace cuda_double

extern "C" {
/// From now on, the `nth` call of `call` (1 is the next) returns `status`, once.
void cuda_double_fail(const char* call, int nth, int status);
/// Handles and pieces of memory that were not given back.
int cuda_double_live();
/// How often `call` was called.
int cuda_double_calls(const char* call);
/// Kernels that are on the GPU now.
int cuda_double_residents();
/// Contexts that the calling thread has pushed and not popped.
int cuda_double_pushed();
/// From now on `call`, of cuDNN or cuBLAS, waits until cuda_double_release(), which waits itself.
void cuda_double_hold(const char* call);
/// How many threads wait so.
int cuda_double_held();
void cuda_double_release(int milliseconds);
}
