// Our own kernels for the double: their source, built for the CPU, found by name.
#pragma once

#include <functional>

namespace cuda_double {

struct Kernel {
  const char* name;
  /// Copies the arguments, as a launch does, and returns what runs the whole grid.
  std::function<void()> (*bind)(void** arguments, unsigned blocks, unsigned threads);
  /// The blocks of its cluster, for a kernel that stays on the GPU.
  unsigned cluster = 0;
};

extern const Kernel kPersistentKernel;

/// nullptr where no kernel has this name.
const Kernel* find_kernel(const char* name);

}  // namespace cuda_double
