// The backends on a GPU: each network of csrc/cuda behind the face that all backends have.
#pragma once

#include <string>

#include "bindings/on_gpu.hpp"
#include "cuda/cudnn.hpp"
#include "cuda/cudnn_graph_api.hpp"
#include "cuda/fused.hpp"
#include "cuda/persistent.hpp"

namespace lenet {

using Cudnn = cuda::OnGpu<CudnnNetwork, std::string>;
using CudnnGraphApi = cuda::OnGpu<CudnnGraphApiNetwork, std::string>;
using FusedOnGpu = cuda::OnGpu<FusedNetwork, std::string>;
using PersistentOnGpu = cuda::OnGpu<PersistentNetwork>;

}  // namespace lenet

extern template class lenet::cuda::OnGpu<lenet::CudnnNetwork, std::string>;
extern template class lenet::cuda::OnGpu<lenet::CudnnGraphApiNetwork, std::string>;
extern template class lenet::cuda::OnGpu<lenet::FusedNetwork, std::string>;
extern template class lenet::cuda::OnGpu<lenet::PersistentNetwork>;
