#include "bindings/gpu_probe.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "cuda/errors.hpp"

namespace lenet {

template <class Network>
class StagesOnly {
 public:
  StagesOnly(const cuda::Session& session, const Weights& weights, int first, int last, int trivial,
             typename Network::Variant variant)
      : network_(session, weights, variant) {
    for (int i = 0; i < trivial; ++i) steps_.push_back(network_.trivial());
    for (int i = first; i < last; ++i) steps_.push_back(network_.steps()[i]);
    put();  // it loads the kernels, which a capture must not
    LENET_CHECK(cudaStreamSynchronize(stream_));
    if (network_.is_captured()) graph_ = cuda::capture(stream_, [this] { put(); });
  }

  void infer(const float* pixels, float* ten) {
    std::copy_n(pixels, kImagePixels, static_cast<float*>(host_image_));
    if (graph_) {
      LENET_CHECK(cudaGraphLaunch(graph_, stream_));
    } else {
      put();
    }
    LENET_CHECK(cudaStreamSynchronize(stream_));
    std::copy_n(static_cast<const float*>(host_ten_), kClasses, ten);
  }

  std::map<std::string, std::string> facts() const {
    return network_.session().facts(network_.image());
  }

 private:
  void put() {
    LENET_CHECK(cudaMemcpyAsync(network_.image(), host_image_, host_image_.bytes(),
                                cudaMemcpyHostToDevice, stream_));
    for (const cuda::Step& step : steps_) step.put();
    LENET_CHECK(cudaMemcpyAsync(host_ten_, steps_.back().output, host_ten_.bytes(),
                                cudaMemcpyDeviceToHost, stream_));
  }

  Network network_;
  cudaStream_t stream_ = network_.session().stream();
  std::vector<cuda::Step> steps_;  // one at least
  cuda::PinnedFloats host_image_{kImagePixels}, host_ten_{kClasses};
  cuda::GraphExec graph_;
};

// They have no layers of their own, and nobody profiles them.

template <class Network>
std::vector<Layer> layers_of(StagesOnly<Network>&, const float*) {
  return {};
}

template <class Network>
std::map<std::string, std::string> facts_of(const StagesOnly<Network>& stages) {
  return stages.facts();
}

template <class Network>
std::map<std::string, double> profile_of(StagesOnly<Network>&, const float*, int) {
  return {};
}

template class cuda::OnGpu<StagesOnly<CudnnNetwork>, int, int, int, CudnnNetwork::Variant>;
template class cuda::OnGpu<StagesOnly<CudnnGraphApiNetwork>, int, int, int,
                           CudnnGraphApiNetwork::Variant>;
template class cuda::OnGpu<StagesOnly<FusedNetwork>, int, int, int, FusedNetwork::Variant>;

}  // namespace lenet
