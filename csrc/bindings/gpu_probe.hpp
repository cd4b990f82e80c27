// What `why` takes the networks on a GPU apart by: some of their stages, or trivial operations,
// with the same way of an image in and of ten floats out.
#pragma once

#include <string>

#include "bindings/on_gpu.hpp"
#include "cuda/cudnn.hpp"
#include "cuda/cudnn_graph_api.hpp"
#include "cuda/fused.hpp"

namespace lenet {

/// The stages of Network from `first` up to, not including, `last`; before them so many trivial
/// operations on ten pixels. It answers with the first ten floats of what was computed last.
template <class Network>
class StagesOnly;

/// Options: first, last, trivial, and the variant where the network has any.
using CudnnProbe = cuda::OnGpu<StagesOnly<CudnnNetwork>, int, int, int, std::string>;
using CudnnGraphApiProbe = cuda::OnGpu<StagesOnly<CudnnGraphApiNetwork>, int, int, int>;
using FusedProbe = cuda::OnGpu<StagesOnly<FusedNetwork>, int, int, int, std::string>;

}  // namespace lenet

extern template class lenet::cuda::OnGpu<lenet::StagesOnly<lenet::CudnnNetwork>, int, int, int,
                                         std::string>;
extern template class lenet::cuda::OnGpu<lenet::StagesOnly<lenet::CudnnGraphApiNetwork>, int, int,
                                         int>;
extern template class lenet::cuda::OnGpu<lenet::StagesOnly<lenet::FusedNetwork>, int, int, int,
                                         std::string>;
