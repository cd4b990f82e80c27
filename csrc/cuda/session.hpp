// What every rung on a GPU owes its callers beside the network: the right device, one thread at a
// time, a refusal after a fork, and a known state after a failure.
#pragma once

#include <cuda_runtime.h>
#include <sys/types.h>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cuda/owners.hpp"

namespace lenet::cuda {

/// One GPU, opened by one process, and one stream on it.
class Session {
 public:
  /// Opens the GPU that LENET_BENCH_GPU names, else the first. Raises Unavailable, with what
  /// mends it, where that cannot be used.
  Session();

  int device() const { return device_; }
  cudaStream_t stream() const { return stream_; }
  /// 90 for compute capability 9.0.
  int capability() const;

  /// Does `work` on this session's GPU while no other thread does. If a call in it fails, the
  /// session is usable again once the stream has come to rest, and dead where it does not.
  template <class Work>
  void run(const Work& work) const {
    const std::unique_lock<std::mutex> alone = enter();
    try {
      work();
    } catch (const std::exception& error) {
      recover(error.what());
      throw;
    }
  }

  /// The GPU and the libraries, as describe() tells them; and that what the rung computes lies in
  /// the GPU's own memory, which no fall-back to the host could have written.
  std::map<std::string, std::string> facts(const void* computed) const;

 private:
  std::unique_lock<std::mutex> enter() const;
  void recover(const std::string& reason) const;

  int device_;
  pid_t process_;
  std::size_t free_before_ = 0;
  Stream stream_;
  mutable std::mutex one_at_a_time_;
  mutable std::string dead_because_;
};

/// The work of one inference in its three stages, each put on the stream and not waited for.
struct Stages {
  std::function<void()> copy_in, compute, copy_out;
};

/// Captures what `enqueue` puts on the stream, to be launched as one.
GraphExec capture(cudaStream_t stream, const std::function<void()>& enqueue);

/// Median times in microseconds of `calls` runs: h2d_us, kernels_us, d2h_us by CUDA events,
/// enqueue_us and total_us by the host's clock. The events themselves cost some microseconds, so
/// this is never the run that is compared.
std::map<std::string, double> profile(cudaStream_t stream, const Stages& stages, bool as_graph,
                                      int calls);

pid_t current_process();

/// Made here and deleted only in this process. In a forked child, where every CUDA call fails or
/// hangs, the copy is left alone. (A shared_ptr, since it deletes what a header only declares.)
template <class T, class... Arguments>
std::shared_ptr<T> make_in_this_process(const Arguments&... arguments) {
  return {new T(arguments...), [process = current_process()](T* object) {
            if (process != current_process()) return;
            cudaSetDevice(object->session.device());  // whichever thread this is
            delete object;
          }};
}

}  // namespace lenet::cuda
