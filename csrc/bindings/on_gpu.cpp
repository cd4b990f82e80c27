// What only the harness asks of the networks on a GPU: each layer's output, what it runs on, and
// where the time of one image goes.
#include "bindings/gpu_backends.hpp"
#include "bindings/gpu_floors.hpp"

namespace lenet {
namespace {

/// Of a network that computes in three stages on its stream. It uses the image of its last call.
template <class Network>
std::map<std::string, double> profile_stages(Network& n, const float* image, bool as_graph,
                                             int calls) {
  float probabilities[kClasses];
  n.infer(image, probabilities);
  return cuda::profile(n.stream,
                       {[&] { n.copy_in(); }, [&] { n.compute(); }, [&] { n.copy_out(); }},
                       as_graph, calls);
}

}  // namespace

// cudnn -------------------------------------------------------------------------------------------

std::vector<Layer> layers_of(CudnnNetwork& n, const float* image) {
  float probabilities[kClasses];
  n.infer(image, probabilities);
  const auto read = [&](const char* name, const CudnnNetwork::Activation& activation) {
    return Layer{name, activation.values.to_host(n.stream)};
  };
  return {read("conv1", n.conv1_out),
          read("pool1", n.pool1_out),
          read("conv2", n.conv2_out),
          read("pool2", n.pool2_out),
          read("fc1", n.fc1_out),
          read("fc2", n.fc2_out),
          read("probabilities", n.probabilities)};
}

std::map<std::string, std::string> facts_of(const CudnnNetwork& n) {
  auto facts = n.session.facts(n.probabilities.values);
  const auto tell = [&](const char* name, const CudnnNetwork::Convolution& layer) {
    facts[name] = kAlgorithmNames[layer.algorithm];
    if (layer.refused) facts[name] += ", since cuDNN refuses implicit precomputed gemm here";
    if (n.variant == "fused") facts[name] += ", with its bias in one call";
  };
  tell("conv1", n.conv1);
  tell("conv2", n.conv2);
  facts["math"] = n.variant == "tf32" ? "TF32 allowed" : "float32";
  facts["launch"] = n.graph                ? "one CUDA graph"
                    : n.variant == "fused" ? "12 calls on a stream"
                                           : "14 calls on a stream";
  facts["workspace"] = std::to_string(n.convolution_workspace.bytes()) + " bytes";
  return facts;
}

std::map<std::string, double> profile_of(CudnnNetwork& n, const float* image, int calls) {
  return profile_stages(n, image, bool(n.graph), calls);
}

// cudnn:graph_api
// ----------------------------------------------------------------------------------

std::vector<Layer> layers_of(CudnnGraphApiNetwork& n, const float* image) {
  float probabilities[kClasses];
  n.infer(image, probabilities);
  const auto read = [&](const char* name, const cuda::DeviceFloats& values) {
    return Layer{name, values.to_host(n.stream)};
  };
  return {read("conv1", n.conv1_out),
          read("pool1", n.pool1_out),
          read("conv2", n.conv2_out),
          read("pool2", n.pool2_out),
          read("fc1", n.fc1_out),
          read("fc2", n.fc2_out),
          read("probabilities", n.probabilities)};
}

std::map<std::string, std::string> facts_of(const CudnnGraphApiNetwork& n) {
  auto facts = n.session.facts(n.probabilities);
  std::size_t workspace = 0;
  const auto tell = [&](const char* layer, const CudnnGraphApiNetwork::Step& step) {
    facts[layer] = "engine " + std::to_string(step.plan.engine);
    workspace += step.plan.workspace_bytes;
  };
  tell("conv1", n.conv1);
  tell("pool1", n.pool1);
  tell("conv2", n.conv2);
  tell("pool2", n.pool2);
  for (const char* layer : {"conv1", "conv2"}) facts[layer] += ", with its bias in one plan";
  facts["math"] = "float32";
  facts["launch"] = n.graph ? "one CUDA graph" : "12 calls on a stream";
  facts["workspace"] = std::to_string(workspace) + " bytes";
  return facts;
}

std::map<std::string, double> profile_of(CudnnGraphApiNetwork& n, const float* image, int calls) {
  return profile_stages(n, image, bool(n.graph), calls);
}

// cuda, cuda:cudagraph, cuda:mapped
// -------------------------------------------------------------------

std::vector<Layer> layers_of(FusedNetwork& n, const float* image) {
  std::vector<float> probabilities(kClasses);
  n.infer(image, probabilities.data());
  std::vector<Layer> layers = n.memory.read(n.stream);
  layers.push_back({"probabilities", probabilities});
  return layers;
}

std::map<std::string, std::string> facts_of(const FusedNetwork& n) {
  auto facts = n.session.facts(n.memory.outputs().fc2);
  facts["kernels"] = n.code.once ? "1, a cluster of " + std::to_string(gpu::kBlocks) + " blocks"
                                 : "3: conv1+pool+conv2+pool, fc1+ReLU, fc2+softmax";
  facts["kernels"] += ", compiled by NVRTC";
  facts["math"] = "float32";
  facts["launch"] = n.graph ? "one CUDA graph" : "5 calls on a stream";
  facts["copies"] = n.mapped ? "none: the kernels use host memory" : "2";
  return facts;
}

std::map<std::string, double> profile_of(FusedNetwork& n, const float* image, int calls) {
  return profile_stages(n, image, bool(n.graph), calls);
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

template class cuda::OnGpu<CudnnNetwork, std::string>;
template class cuda::OnGpu<CudnnGraphApiNetwork, std::string>;
template class cuda::OnGpu<FusedNetwork, std::string>;
template class cuda::OnGpu<PersistentNetwork>;

}  // namespace lenet
