#include "kernels.hpp"

namespace cuda_double {

const Kernel* find_kernel(const char*) { return nullptr; }

}  // namespace cuda_double
