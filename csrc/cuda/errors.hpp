// Every call to a CUDA library goes through LENET_CHECK, so that a failure is one exception that
// names the call, what came back, the file and the line.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>
#include <nvrtc.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace lenet::cuda {

/// The backend cannot run here; the sentence says how to fix it (Python's errors.Unavailable).
struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A library call failed although the GPU is there (Python's RuntimeError).
struct CallFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where a checked call stands in our source.
struct Call {
  const char* text;
  const char* file;
  int line;
};

/// What is wrong, where the user can fix it, and the command that does.
struct Remedy {
  std::string wrong;
  std::string fix;
};

/// What a status says.
struct Outcome {
  std::string name;
  std::string meaning;
  std::optional<Remedy> remedy;
};

Outcome explain(cudaError_t status);
Outcome explain(cublasStatus_t status);
Outcome explain(cudnnStatus_t status);
Outcome explain(nvrtcResult status);

/// Whether cuDNN only says that this is no way to do it here. (That a part of cuDNN cannot be
/// loaded is more, although it has one of these numbers.)
bool is_not_supported(cudnnStatus_t status);

[[noreturn]] void fail(const Outcome& outcome, const Call& call);

template <class Status>
void check(Status status, const Call& call) {
  if (status != Status{}) fail(explain(status), call);  // success is 0 in all four libraries
}

}  // namespace lenet::cuda

/// A macro, since only a macro can see the call as it is written.
#define LENET_CHECK(call) ::lenet::cuda::check((call), {#call, __FILE__, __LINE__})
