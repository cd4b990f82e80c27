// What every backend on a GPU owes its callers beside the network: the right device, one thread at
// a time, a refusal after a fork, a known state after a failure, and rest when Python ends.
#pragma once

#include <cuda_runtime.h>
#include <sys/types.h>

#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "cuda/context.hpp"
#include "cuda/owners.hpp"

namespace lenet::cuda {

/// One GPU, opened by one process, and one stream on it.
class Session {
 public:
  /// Opens the GPU that LENET_BENCH_GPU names, else the first. Raises Unavailable, with what
  /// fixes it, where that cannot be used.
  Session();

  int device() const { return device_; }
  cudaStream_t stream() const { return stream_; }
  CUcontext context() const { return context_; }
  /// 90 for compute capability 9.0.
  int capability() const;
  /// CUDA does not survive a fork: a forked child leaves what it has inherited alone.
  bool is_of_this_process() const;

  /// Does `work` on this session's GPU while no other thread does. If a call in it fails, the
  /// session is usable again once the stream has come to rest, and dead where it does not.
  template <class Work>
  void run(const Work& work) const {
    const Turn turn = enter();
    try {
      work();
    } catch (const std::exception& error) {
      come_to_rest(error.what());
      throw;
    }
  }

  /// For facts(), within run(): the GPU and the libraries; and that `computed`, which the network
  /// computes, lies in the GPU's own memory, which no fall-back to the host could have written.
  std::map<std::string, std::string> facts(const void* computed) const;

 private:
  struct Turn {
    std::shared_lock<std::shared_mutex> before_the_end;
    std::unique_lock<std::mutex> alone;
    InContext here;
  };
  Turn enter() const;
  void come_to_rest(const std::string& reason) const;

  int device_;
  pid_t process_;
  CUcontext context_;
  Stream stream_;
  mutable std::mutex one_at_a_time_;
  mutable std::string dead_because_;
};

/// For the end of Python: waits for the runs under way and lets none begin after them, so that no
/// thread calls a library that the process unloads. Threads that try sleep, as daemon threads of
/// Python do then; the calling one gets an error.
void close_sessions();
/// Whether a long run has to end: close_sessions() waits for it.
bool closing();

/// Whether all work on the stream has ended. Raises what failed in it.
bool is_at_rest(cudaStream_t stream);

/// The work of one inference in its three stages, each put on the stream and not waited for.
struct Stages {
  std::function<void()> copy_in, compute, copy_out;
};

/// A step of a network: `put` puts it on the stream, where it leaves a layer's output.
struct Step {
  const char* layer;  // by its name in network.LAYERS
  int calls;          // of the libraries, or launches of our own kernels
  std::function<void()> put;
  const DeviceFloats& output;
};

/// What NVIDIA advises for cuBLAS on a GPU of 2022 or later.
constexpr std::size_t kCublasWorkspaceBytes = std::size_t{32} << 20;

/// Captures what `enqueue` puts on the stream, to be launched as one.
GraphExec capture(cudaStream_t stream, const std::function<void()>& enqueue);

/// Median times in microseconds of `calls` runs: h2d_us, kernels_us, d2h_us by CUDA events,
/// enqueue_us and total_us by the host's clock. The events themselves cost some microseconds, so
/// this is never the run that is compared.
std::map<std::string, double> profile(cudaStream_t stream, const Stages& stages, bool as_graph,
                                      int calls);

}  // namespace lenet::cuda
