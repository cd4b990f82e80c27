// Which of the instruction sets this library was compiled for the processor at hand can run.
#pragma once

#include <string>

namespace lenet {

/// The widest of sse2, avx2, avx512 (or neon, on Arm) that processor and system support, or the
/// one that the environment variable LENET_BENCH_ISA names. Throws std::runtime_error, with one
/// sentence, where that one is unknown or not to be had here.
std::string choose_isa();

}  // namespace lenet
