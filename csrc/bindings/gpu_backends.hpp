// The backends on a GPU: each network of csrc/cuda behind the face that all backends have.
#pragma once

#include <string>

#include "bindings/on_gpu.hpp"
#include "bindings/variants.hpp"
#include "cuda/cudnn.hpp"
#include "cuda/cudnn_graph_api.hpp"
#include "cuda/fused.hpp"
#include "cuda/persistent.hpp"

namespace lenet {

template <>
struct VariantNames<CudnnNetwork::Variant> {
  using Variant = CudnnNetwork::Variant;
  static constexpr NamedVariant<Variant> kAll[] = {{"", Variant::kNamed},
                                                   {"find", Variant::kFind},
                                                   {"fused", Variant::kFused},
                                                   {"tf32", Variant::kTf32},
                                                   {"cudagraph", Variant::kCudaGraph}};
};
template <>
struct VariantNames<CudnnGraphApiNetwork::Variant> {
  using Variant = CudnnGraphApiNetwork::Variant;
  static constexpr NamedVariant<Variant> kAll[] = {{"", Variant::kStream},
                                                   {"cudagraph", Variant::kCudaGraph}};
};
template <>
struct VariantNames<FusedNetwork::Variant> {
  using Variant = FusedNetwork::Variant;
  static constexpr NamedVariant<Variant> kAll[] = {
      {"", Variant::kStream}, {"cudagraph", Variant::kCudaGraph}, {"mapped", Variant::kMapped}};
};

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
