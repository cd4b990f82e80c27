// Our kernels, compiled for the GPU at hand: machine code from NVRTC, kept on disk between runs.
#pragma once

#include <string>
#include <vector>

namespace lenet::cuda {

/// The text of fused.cu, and of the header it includes.
extern const char* const kKernelSource;
extern const char* const kShapesHeader;

/// Machine code of our kernels for this compute capability (90 is 9.0), out of the cache where it
/// has it. Raises Unavailable where this NVRTC does not know the GPU.
std::vector<char> kernels_for(int capability);

/// Compiles, whatever the cache holds.
std::vector<char> compile_kernels(int capability);

/// The compute capabilities that this NVRTC compiles for.
std::vector<int> known_capabilities();

}  // namespace lenet::cuda
