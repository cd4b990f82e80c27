// The text of the kernel that stays, built for the CPU.
// clang-format off
#include "resident.hpp"  // first: it gives the words of the next one a meaning
#include "cuda/persistent.cu"
// clang-format on

namespace cuda_double {
namespace {

SharedMemory shared_memory() { return {reinterpret_cast<char*>(&memory), sizeof memory}; }

}  // namespace

const Kernel kPersistentKernel = {"persistent_lenet",
                                  &Resident<&persistent_lenet, &shared_memory>::bind, kBlocks};

}  // namespace cuda_double
