#include "bindings/gpu_probe.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "cuda/errors.hpp"

namespace lenet {
namespace {

/// Work that is put on the stream, and where it leaves what it computes.
struct Stage {
  std::function<void()> put;
  const float* computed;
};

constexpr float kOne = 1.0f;
constexpr float kZero = 0.0f;

void rectify(cudnnHandle_t cudnn, cudnnActivationDescriptor_t relu, cudnnTensorDescriptor_t shape,
             float* values) {
  LENET_CHECK(cudnnActivationForward(cudnn, relu, &kOne, shape, values, &kZero, shape, values));
}

void softmax(cudnnHandle_t cudnn, cudnnTensorDescriptor_t shape, const float* from, float* to) {
  LENET_CHECK(cudnnSoftmaxForward(cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne,
                                  shape, from, &kZero, shape, to));
}

// Of each network: its stages as its compute() has them, where an image goes in, and an operation
// that leaves the first ten pixels as they are.

std::vector<Stage> stages_of(CudnnNetwork& n) {
  return {
      {[&n] { n.convolve(n.conv1, n.image, n.conv1_out); }, n.conv1_out.values},
      {[&n] { n.pool(n.conv1_out, n.pool1_out); }, n.pool1_out.values},
      {[&n] { n.convolve(n.conv2, n.pool1_out, n.conv2_out); }, n.conv2_out.values},
      {[&n] { n.pool(n.conv2_out, n.pool2_out); }, n.pool2_out.values},
      {[&n] {
         n.connect(n.fc1, n.pool2_out, n.fc1_out);
         rectify(n.cudnn, n.relu, n.fc1_out.shape, n.fc1_out.values);
       },
       n.fc1_out.values},
      {[&n] { n.connect(n.fc2, n.fc1_out, n.fc2_out); }, n.fc2_out.values},
      {[&n] { softmax(n.cudnn, n.fc2_out.shape, n.fc2_out.values, n.probabilities.values); },
       n.probabilities.values},
  };
}

std::vector<Stage> stages_of(CudnnGraphApiNetwork& n) {
  return {
      {[&n] { n.execute(n.conv1); }, n.conv1_out},
      {[&n] { n.execute(n.pool1); }, n.pool1_out},
      {[&n] { n.execute(n.conv2); }, n.conv2_out},
      {[&n] { n.execute(n.pool2); }, n.pool2_out},
      {[&n] {
         n.connect(n.fc1, n.pool2_out, n.fc1_out);
         rectify(n.cudnn, n.relu, n.fc1.output_shape, n.fc1_out);
       },
       n.fc1_out},
      {[&n] { n.connect(n.fc2, n.fc1_out, n.fc2_out); }, n.fc2_out},
      {[&n] { softmax(n.cudnn, n.fc2.output_shape, n.fc2_out, n.probabilities); }, n.probabilities},
  };
}

/// Three kernels; the first is of all that comes before fc1.
std::vector<Stage> stages_of(FusedNetwork& n) {
  using namespace gpu;
  const Parameters parameters = n.weights.parameters();
  const Outputs outputs = n.memory.outputs();
  const float* pixels = n.boundary.image;
  float* ten = n.boundary.probabilities;
  const auto launch = [&n](cudaKernel_t kernel, int blocks, int threads, auto... arguments) {
    return [=, &n] { cuda::launch(n.stream, kernel, blocks, threads, arguments...); };
  };
  return {
      {launch(n.code.convolutions, kBlocks, kThreads, pixels, parameters, outputs), outputs.pool2},
      {launch(n.code.fc1_relu, kFc1Blocks, kFc1Threads, parameters, outputs), outputs.fc1},
      {launch(n.code.fc2_softmax, kFc2Blocks, kFc2Threads, parameters, outputs, ten,
              static_cast<Word*>(nullptr)),
       ten},
  };
}

float* image_of(const CudnnNetwork& n) { return n.image.values; }
float* image_of(const CudnnGraphApiNetwork& n) { return n.image; }
float* image_of(const FusedNetwork& n) { return n.boundary.image; }

std::function<void()> trivial_of(CudnnNetwork& n) {
  return [&n] { rectify(n.cudnn, n.relu, n.fc2_out.shape, image_of(n)); };
}
std::function<void()> trivial_of(CudnnGraphApiNetwork& n) {
  return [&n] { rectify(n.cudnn, n.relu, n.fc2.output_shape, image_of(n)); };
}
std::function<void()> trivial_of(FusedNetwork& n) {
  return [&n, nothing = n.code.library["nothing"]] { cuda::launch(n.stream, nothing, 1, 1); };
}

bool is_graph(const CudnnNetwork& n) { return bool(n.graph); }
bool is_graph(const CudnnGraphApiNetwork& n) { return bool(n.graph); }
bool is_graph(const FusedNetwork& n) { return bool(n.graph); }

}  // namespace

template <class Network>
class StagesOnly {
 public:
  template <class... Variant>
  StagesOnly(const cuda::Session& session, const Weights& weights, int first, int last, int trivial,
             const Variant&... variant)
      : network_(session, weights, variant...) {
    const std::vector<Stage> all = stages_of(network_);
    steps_.assign(trivial, {trivial_of(network_), image_of(network_)});
    steps_.insert(steps_.end(), all.begin() + first, all.begin() + last);
    put();  // it loads the kernels, which a capture must not
    LENET_CHECK(cudaStreamSynchronize(network_.stream));
    if (is_graph(network_)) graph_ = cuda::capture(network_.stream, [this] { put(); });
  }

  void infer(const float* pixels, float* ten) {
    std::copy_n(pixels, kImagePixels, static_cast<float*>(host_image_));
    if (graph_) {
      LENET_CHECK(cudaGraphLaunch(graph_, network_.stream));
    } else {
      put();
    }
    LENET_CHECK(cudaStreamSynchronize(network_.stream));
    std::copy_n(static_cast<const float*>(host_ten_), kClasses, ten);
  }

  const cuda::Session& session() const { return network_.session; }
  const float* image() const { return image_of(network_); }

 private:
  void put() {
    LENET_CHECK(cudaMemcpyAsync(image_of(network_), host_image_, host_image_.bytes(),
                                cudaMemcpyHostToDevice, network_.stream));
    for (const Stage& step : steps_) step.put();
    LENET_CHECK(cudaMemcpyAsync(host_ten_, steps_.back().computed, host_ten_.bytes(),
                                cudaMemcpyDeviceToHost, network_.stream));
  }

  Network network_;
  std::vector<Stage> steps_;  // one at least
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
  return stages.session().facts(stages.image());
}

template <class Network>
std::map<std::string, double> profile_of(StagesOnly<Network>&, const float*, int) {
  return {};
}

template class cuda::OnGpu<StagesOnly<CudnnNetwork>, int, int, int, std::string>;
template class cuda::OnGpu<StagesOnly<CudnnGraphApiNetwork>, int, int, int, std::string>;
template class cuda::OnGpu<StagesOnly<FusedNetwork>, int, int, int, std::string>;

}  // namespace lenet
