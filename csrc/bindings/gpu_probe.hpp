// For `why`: networks of some steps of LeNet, or of trivial operations, that take an image and
// give ten floats as the backend itself does.
#pragma once

#include <string>

#include "bindings/on_gpu.hpp"
#include "cuda/cudnn.hpp"
#include "cuda/cudnn_graph_api.hpp"
#include "cuda/fused.hpp"

namespace lenet {

/// The steps of Network from `first` up to, not including, `last`; before them so many trivial
/// operations on ten pixels. It answers with the first ten floats of what was computed last.
template <class Network>
class StagesOnly;

/// Options: first, last, trivial, and the variant.
using CudnnProbe = cuda::OnGpu<StagesOnly<CudnnNetwork>, int, int, int, CudnnNetwork::Variant>;
using CudnnGraphApiProbe =
    cuda::OnGpu<StagesOnly<CudnnGraphApiNetwork>, int, int, int, CudnnGraphApiNetwork::Variant>;
using FusedProbe = cuda::OnGpu<StagesOnly<FusedNetwork>, int, int, int, FusedNetwork::Variant>;

}  // namespace lenet

extern template class lenet::cuda::OnGpu<lenet::StagesOnly<lenet::CudnnNetwork>, int, int, int,
                                         lenet::CudnnNetwork::Variant>;
extern template class lenet::cuda::OnGpu<lenet::StagesOnly<lenet::CudnnGraphApiNetwork>, int, int,
                                         int, lenet::CudnnGraphApiNetwork::Variant>;
extern template class lenet::cuda::OnGpu<lenet::StagesOnly<lenet::FusedNetwork>, int, int, int,
                                         lenet::FusedNetwork::Variant>;
