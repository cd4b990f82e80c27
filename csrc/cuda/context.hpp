// The calling thread's GPU, borrowed and given back: other code of this process, a framework's
// say, finds its thread as it left it.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

namespace lenet::cuda {

/// What all libraries of this process share on a GPU: its primary context. It stays until the
/// process ends, as it does for the CUDA runtime.
CUcontext primary_context(int device);

/// While it lives, the calling thread works on this GPU, whatever other threads capture. Then the
/// thread has again what it had: its own GPU, another library's context, or none at all.
/// (cudaSetDevice would have to guess what to set back, and opens a GPU that was never in use.)
class InContext {
 public:
  explicit InContext(CUcontext context);
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  ~InContext();

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace lenet::cuda
