// The way to the GPU and back without a network, from array to array like every backend. Each
// backend is compared with the floor of its own kind.
#pragma once

#include <map>
#include <string>

#include "bindings/on_gpu.hpp"
#include "cuda/resident.hpp"

namespace lenet {

class CopiesFloor;
class FlagFloor;
class EchoFloor;

/// An image copied in, an empty kernel, ten floats copied out, and a synchronise.
using LaunchAndCopies = cuda::OnGpu<CopiesFloor>;
/// A graph of one kernel that writes ten words into host memory, which the host polls.
using LaunchAndFlag = cuda::OnGpu<FlagFloor>;
/// A kernel that stays, and answers an image with its first ten pixels.
using ResidentEcho = cuda::OnGpu<EchoFloor>;

/// Where the time of calls to a kernel that stays goes, as means, since the GPU's clock is coarse.
/// h2d_us is the image's way from the blocks that saw it to all; signals_us is what the GPU does
/// not see: the image's way to it, the answer's back.
std::map<std::string, double> profile_of(cuda::Resident& resident, const float* image, int calls);

}  // namespace lenet

extern template class lenet::cuda::OnGpu<lenet::CopiesFloor>;
extern template class lenet::cuda::OnGpu<lenet::FlagFloor>;
extern template class lenet::cuda::OnGpu<lenet::EchoFloor>;
