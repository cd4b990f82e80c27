// What only the harness asks of the networks on a GPU: each layer's output, what it runs on, and
// where the time of one image goes.
#include "bindings/gpu_backends.hpp"
#include "bindings/gpu_floors.hpp"

namespace lenet {
namespace {

/// It uses the image of its last call.
template <class Network>
std::map<std::string, double> profile_stages(Network& n, const float* image, int calls) {
  float probabilities[kClasses];
  n.infer(image, probabilities);
  return cuda::profile(n.session().stream(),
                       {[&] { n.copy_in(); }, [&] { n.compute(); }, [&] { n.copy_out(); }},
                       n.is_captured(), calls);
}

template <class Network>
std::vector<Layer> outputs_of_steps(Network& n, const float* image) {
  float probabilities[kClasses];
  n.infer(image, probabilities);
  std::vector<Layer> layers;
  for (const cuda::Step& step : n.steps()) {
    layers.push_back({step.layer, step.output.to_host(n.session().stream())});
  }
  return layers;
}

template <class Network>
std::string launch_of(const Network& n) {
  if (n.is_captured()) return "one CUDA graph";
  int calls = 2;  // the copies
  for (const cuda::Step& step : n.steps()) calls += step.calls;
  return std::to_string(calls) + " calls on a stream";
}

}  // namespace

// cudnn -------------------------------------------------------------------------------------------

std::vector<Layer> layers_of(CudnnNetwork& n, const float* image) {
  return outputs_of_steps(n, image);
}

std::map<std::string, std::string> facts_of(const CudnnNetwork& n) {
  auto facts = n.session_.facts(n.probabilities_.values);
  const auto tell = [&](const char* name, const CudnnNetwork::Convolution& layer) {
    facts[name] = kAlgorithmNames[layer.algorithm];
    if (layer.refused) facts[name] += ", since cuDNN refuses implicit precomputed gemm here";
    if (n.variant_ == CudnnNetwork::Variant::kFused) facts[name] += ", with its bias in one call";
  };
  tell("conv1", n.conv1_);
  tell("conv2", n.conv2_);
  facts["math"] = n.variant_ == CudnnNetwork::Variant::kTf32 ? "TF32 allowed" : "float32";
  facts["launch"] = launch_of(n);
  facts["workspace"] = std::to_string(n.convolution_workspace_.bytes()) + " bytes";
  return facts;
}

std::map<std::string, double> profile_of(CudnnNetwork& n, const float* image, int calls) {
  return profile_stages(n, image, calls);
}

// cudnn:graph_api ---------------------------------------------------------------------------------

std::vector<Layer> layers_of(CudnnGraphApiNetwork& n, const float* image) {
  return outputs_of_steps(n, image);
}

std::map<std::string, std::string> facts_of(const CudnnGraphApiNetwork& n) {
  auto facts = n.session_.facts(n.probabilities_);
  std::size_t workspace = 0;
  const auto tell = [&](const char* name, const CudnnGraphApiNetwork::Planned& layer) {
    facts[name] = "engine " + std::to_string(layer.plan.engine);
    workspace += layer.plan.workspace_bytes;
  };
  tell("conv1", n.conv1_);
  tell("pool1", n.pool1_);
  tell("conv2", n.conv2_);
  tell("pool2", n.pool2_);
  for (const char* layer : {"conv1", "conv2"}) facts[layer] += ", with its bias in one plan";
  facts["math"] = "float32";
  facts["launch"] = launch_of(n);
  facts["workspace"] = std::to_string(workspace) + " bytes";
  return facts;
}

std::map<std::string, double> profile_of(CudnnGraphApiNetwork& n, const float* image, int calls) {
  return profile_stages(n, image, calls);
}

// cuda, cuda:cudagraph, cuda:mapped ---------------------------------------------------------------

std::vector<Layer> layers_of(FusedNetwork& n, const float* image) {
  std::vector<float> probabilities(kClasses);
  n.infer(image, probabilities.data());
  std::vector<Layer> layers = n.memory_.read(n.stream_);
  layers.push_back({"probabilities", probabilities});
  return layers;
}

std::map<std::string, std::string> facts_of(const FusedNetwork& n) {
  auto facts = n.session_.facts(n.memory_.outputs().fc2);
  facts["kernels"] = n.code_.once ? "1, a cluster of " + std::to_string(gpu::kBlocks) + " blocks"
                                  : "3: conv1+pool+conv2+pool, fc1+ReLU, fc2+softmax";
  facts["kernels"] += ", compiled by NVRTC";
  facts["math"] = "float32";
  facts["launch"] = launch_of(n);
  facts["copies"] = n.mapped_ ? "none: the kernels use host memory" : "2";
  return facts;
}

std::map<std::string, double> profile_of(FusedNetwork& n, const float* image, int calls) {
  return profile_stages(n, image, calls);
}

// cuda:persistent ---------------------------------------------------------------------------------

/// The kernel writes them with every image; they can be read when it has gone.
std::vector<Layer> layers_of(PersistentNetwork& n, const float* image) {
  const cuda::Resident::Answer answer = n.resident.call(image);
  n.resident.leave();
  std::vector<Layer> layers = n.memory.read(n.stream);
  layers.push_back({"probabilities", {answer.of, answer.of + kClasses}});
  return layers;
}

std::map<std::string, std::string> facts_of(const PersistentNetwork& n) {
  auto facts = n.session.facts(n.memory.outputs().fc2);
  facts["kernels"] = "1, resident: a cluster of " + std::to_string(gpu::kBlocks) + " blocks of " +
                     std::to_string(gpu::kThreads) + " threads, compiled by NVRTC";
  facts["math"] = "float32";
  facts["launch"] = "none a call; the kernel leaves after " +
                    std::to_string(gpu::kIdle / 1'000'000) + " ms without one, and " +
                    std::to_string(gpu::kLife / 1'000'000) + " ms after its launch";
  facts["relaunches"] = std::to_string(n.resident.launches() - 1);
  facts["copies"] = "none: the kernel uses host memory";
  return facts;
}

std::map<std::string, double> profile_of(PersistentNetwork& n, const float* image, int calls) {
  return profile_of(n.resident, image, calls);
}

// -------------------------------------------------------------------------------------------------

template class cuda::OnGpu<CudnnNetwork, CudnnNetwork::Variant>;
template class cuda::OnGpu<CudnnGraphApiNetwork, CudnnGraphApiNetwork::Variant>;
template class cuda::OnGpu<FusedNetwork, FusedNetwork::Variant>;
template class cuda::OnGpu<PersistentNetwork>;

}  // namespace lenet
