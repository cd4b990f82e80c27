// The backends on a GPU: each network of csrc/cuda behind the face that all backends have.
#pragma once

#include <string>

#include "bindings/on_gpu.hpp"
#include "cuda/cudnn.hpp"
#include "cuda/cudnn_graph_api.hpp"
#include "cuda/fused.hpp"
#include "cuda/persistent.hpp"

namespace lenet {

using Cudnn = cuda::OnGpu<CudnnNetwork, CudnnNetwork::Variant>;
using CudnnGraphApi = cuda::OnGpu<CudnnGraphApiNetwork, CudnnGraphApiNetwork::Variant>;
using FusedOnGpu = cuda::OnGpu<FusedNetwork, FusedNetwork::Variant>;
using PersistentOnGpu = cuda::OnGpu<PersistentNetwork>;

}  // namespace lenet

extern template class lenet::cuda::OnGpu<lenet::CudnnNetwork, lenet::CudnnNetwork::Variant>;
extern template class lenet::cuda::OnGpu<lenet::CudnnGraphApiNetwork,
                                         lenet::CudnnGraphApiNetwork::Variant>;
extern template class lenet::cuda::OnGpu<lenet::FusedNetwork, lenet::FusedNetwork::Variant>;
extern template class lenet::cuda::OnGpu<lenet::PersistentNetwork>;
