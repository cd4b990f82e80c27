// No network: what a way to a GPU and back costs, with the boundary of every backend. Each backend
// is compared with the floor of its own kind.
#pragma once

#include "bindings/on_gpu.hpp"

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

}  // namespace lenet

extern template class lenet::cuda::OnGpu<lenet::CopiesFloor>;
extern template class lenet::cuda::OnGpu<lenet::FlagFloor>;
extern template class lenet::cuda::OnGpu<lenet::EchoFloor>;
