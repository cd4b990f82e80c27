// Our kernels, compiled for the GPU at hand: machine code from NVRTC, kept on disk between runs.
#pragma once

#include <string>
#include <vector>

namespace lenet::cuda {

/// A file of CUDA and its text; kernel_source.cpp.in has them.
struct KernelSource {
  const char* name;
  const char* text;
};
extern const KernelSource kFusedKernels, kClusterKernels;
/// What they include, under the names that they include it by.
extern const KernelSource kKernelHeaders[5];

/// The cache: a folder that nobody else may write. Without it nothing is kept.
void keep_kernels_in(const std::string& folder);

/// Machine code for this compute capability (90 is 9.0), out of the cache where it has it. Raises
/// Unavailable where this NVRTC does not know the GPU.
std::vector<char> kernels_for(const KernelSource& source, int capability);

/// Compiles, whatever the cache holds.
std::vector<char> compile_kernels(const KernelSource& source, int capability);

/// The compute capabilities that this NVRTC compiles for.
std::vector<int> known_capabilities();

}  // namespace lenet::cuda
