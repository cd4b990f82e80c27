// The text of our own kernels, built for the CPU.
#include "kernels.hpp"

#include <cstring>

// clang-format off
#include "simt.hpp"  // first: it gives the words of the next one a meaning
#include "cuda/fused.cu"
// clang-format on

namespace cuda_double {

#define KERNEL(name) {#name, &Launch<&name>::bind, 0}

const Kernel* find_kernel(const char* name) {
  static const Kernel kKernels[] = {KERNEL(conv1_pool),  KERNEL(conv2_pool), KERNEL(fc1_relu),
                                    KERNEL(fc2_softmax), KERNEL(nothing),    kPersistentKernel};
  for (const Kernel& kernel : kKernels) {
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  }
  return nullptr;
}

}  // namespace cuda_double
