// LeNet in kernels of our own (fused.cu), put on a stream one by one.
//
//   ""        copy in, four kernels, copy out, wait for the stream
//   graph     the same as one CUDA graph: one call instead of six
//   mapped    the kernels read and write host memory, the host polls a flag: no copies, no wait
#include "cuda/fused.hpp"

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/errors.hpp"
#include "cuda/fused_geometry.hpp"
#include "cuda/nvrtc.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"

namespace lenet {
namespace {

using cuda::DeviceFloats;

/// What host and GPU share in the variant `mapped`: pinned memory that both can address. What the
/// one writes and what the other writes never share a cache line, which they would pull about.
struct Shared {
  float image[kImagePixels];
  unsigned ticket;  // written by the host before a launch, one more for each image

  alignas(128) float probabilities[kClasses];
  unsigned done;  // the ticket of the last image that the GPU finished
};

void pause_a_moment() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct FusedOnGpu::Network {
  Network(const Weights& weights, const std::string& variant);

  void answer(const float* pixels, float* ten);
  void copy_in();
  void compute();
  void copy_out();
  void wait();
  cudaKernel_t kernel(const char* name);
  template <class... Arguments>
  void launch(cudaKernel_t kernel, int blocks, int threads, Arguments... arguments);

  std::string variant;
  bool mapped = variant == "mapped";
  cuda::Session session;
  cudaStream_t stream = session.stream();

  cuda::Library library;
  cudaKernel_t conv1_pool, conv2_pool, fc1_relu, fc2_softmax;

  DeviceFloats conv1_weight, conv1_bias, conv2_weight, conv2_bias;
  DeviceFloats fc1_weight, fc1_bias, fc2_weight, fc2_bias;

  cuda::PinnedFloats host{sizeof(Shared) / sizeof(float), cudaHostAllocMapped};
  Shared& shared = *reinterpret_cast<Shared*>(static_cast<float*>(host));
  Shared* on_gpu = nullptr;  // the same memory, at the address that the GPU knows
  DeviceFloats image{kImagePixels}, pool1{kConv1Channels * kPool1Side * kPool1Side};
  DeviceFloats pool2{kFc1Inputs}, fc1{kFc1Outputs}, fc2{kClasses}, probabilities{kClasses};

  cuda::GraphExec graph;
};

FusedOnGpu::Network::Network(const Weights& w, const std::string& chosen)
    : variant(chosen),
      conv1_weight(w.conv1_weight, kConv1Channels * kKernelSide * kKernelSide),
      conv1_bias(w.conv1_bias, kConv1Channels),
      conv2_weight(w.conv2_weight, kConv2Channels * kConv1Channels * kKernelSide * kKernelSide),
      conv2_bias(w.conv2_bias, kConv2Channels),
      fc1_weight(w.fc1_weight, kFc1Outputs * kFc1Inputs),
      fc1_bias(w.fc1_bias, kFc1Outputs),
      fc2_weight(w.fc2_weight, kClasses * kFc1Outputs),
      fc2_bias(w.fc2_bias, kClasses) {
  const std::vector<char> code = cuda::kernels_for(cuda::kFusedKernels, session.capability());
  LENET_CHECK(
      cudaLibraryLoadData(library.put(), code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  conv1_pool = kernel("conv1_pool");
  conv2_pool = kernel("conv2_pool");
  fc1_relu = kernel("fc1_relu");
  fc2_softmax = kernel("fc2_softmax");

  shared = {};
  void* address = nullptr;
  LENET_CHECK(cudaHostGetDevicePointer(&address, &shared, 0));
  on_gpu = static_cast<Shared*>(address);

  const std::vector<float> blank(kImagePixels);  // the first call brings the code to the GPU
  float ten[kClasses];
  session.run([&] { answer(blank.data(), ten); });
  if (variant == "graph") {
    graph = cuda::capture(stream, [this] { copy_in(), compute(), copy_out(); });
  } else if (mapped) {
    graph = cuda::capture(stream, [this] { compute(); });
  }
}

cudaKernel_t FusedOnGpu::Network::kernel(const char* name) {
  cudaKernel_t found = nullptr;
  LENET_CHECK(cudaLibraryGetKernel(&found, library, name));
  return found;
}

/// The arguments have to be of the kernel's types: nobody checks.
template <class... Arguments>
void FusedOnGpu::Network::launch(cudaKernel_t kernel, int blocks, int threads,
                                 Arguments... arguments) {
  void* pointers[] = {&arguments...};
  LENET_CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads),
                               pointers, 0, stream));
}

void FusedOnGpu::Network::answer(const float* pixels, float* ten) {
  std::copy_n(pixels, kImagePixels, shared.image);
  ++shared.ticket;
  if (graph) {
    LENET_CHECK(cudaGraphLaunch(graph, stream));
  } else {
    copy_in();
    compute();
    copy_out();
  }
  wait();
  std::copy_n(shared.probabilities, kClasses, ten);
}

void FusedOnGpu::Network::copy_in() {
  if (mapped) return;
  LENET_CHECK(cudaMemcpyAsync(image, shared.image, image.bytes(), cudaMemcpyHostToDevice, stream));
}

void FusedOnGpu::Network::compute() {
  float* pixels = mapped ? on_gpu->image : image;
  float* ten = mapped ? on_gpu->probabilities : probabilities;
  unsigned* ticket = mapped ? &on_gpu->ticket : nullptr;
  unsigned* done = mapped ? &on_gpu->done : nullptr;
  const auto f = [](const DeviceFloats& floats) -> float* { return floats; };

  using namespace fused;
  launch(conv1_pool, kConv1Blocks, kConv1Threads, pixels, f(conv1_weight), f(conv1_bias), f(pool1));
  launch(conv2_pool, kConv2Blocks, kConv2Threads, f(pool1), f(conv2_weight), f(conv2_bias),
         f(pool2));
  launch(fc1_relu, kFc1Blocks, kFc1Threads, f(pool2), f(fc1_weight), f(fc1_bias), f(fc1));
  launch(fc2_softmax, kFc2Blocks, kFc2Threads, f(fc1), f(fc2_weight), f(fc2_bias), f(fc2), ten,
         ticket, done);
}

void FusedOnGpu::Network::copy_out() {
  if (mapped) return;
  LENET_CHECK(cudaMemcpyAsync(shared.probabilities, probabilities, probabilities.bytes(),
                              cudaMemcpyDeviceToHost, stream));
}

/// The flag is there some microseconds before the stream would be known to rest. Once in a while
/// the stream is asked all the same: a kernel that failed sets no flag.
void FusedOnGpu::Network::wait() {
  if (!mapped) {
    LENET_CHECK(cudaStreamSynchronize(stream));
    return;
  }
  const auto finished = [this] {
    return __atomic_load_n(&shared.done, __ATOMIC_ACQUIRE) == shared.ticket;
  };
  constexpr unsigned kSpins = 100'000;  // some milliseconds
  for (unsigned spin = 1; !finished(); ++spin) {
    pause_a_moment();
    if (spin % kSpins == 0) {
      const cudaError_t status = cudaStreamQuery(stream);
      if (status != cudaErrorNotReady) {
        cuda::check(status, {"cudaStreamQuery", __FILE__, __LINE__});
      }
      if (status == cudaSuccess && !finished()) {
        throw cuda::CallFailed("the kernels ended and left no answer");
      }
    }
  }
}

FusedOnGpu::FusedOnGpu(const Weights& weights, int /*threads*/, const std::string& variant)
    : network_(cuda::make_in_this_process<Network>(weights, variant)) {}

void FusedOnGpu::infer(const float* images, std::size_t count, float* probabilities) const {
  network_->session.run([&] {
    for (std::size_t i = 0; i < count; ++i) {
      network_->answer(images + i * kImagePixels, probabilities + i * kClasses);
    }
  });
}

std::vector<Layer> FusedOnGpu::layers(const float* image) const {
  Network& n = *network_;
  const auto read = [](const char* name, const DeviceFloats& values) {
    Layer layer{name, std::vector<float>(values.count())};
    LENET_CHECK(cudaMemcpy(layer.values.data(), values, values.bytes(), cudaMemcpyDeviceToHost));
    return layer;
  };
  std::vector<Layer> layers;
  n.session.run([&] {
    std::vector<float> ten(kClasses);
    n.answer(image, ten.data());
    LENET_CHECK(cudaStreamSynchronize(n.stream));  // `mapped` has only seen its flag
    layers = {read("pool1", n.pool1),
              read("pool2", n.pool2),
              read("fc1", n.fc1),
              read("fc2", n.fc2),
              {"probabilities", ten}};
  });
  return layers;
}

std::map<std::string, std::string> FusedOnGpu::describe() const {
  auto facts = network_->session.facts(network_->fc2);
  facts["kernels"] = "conv1+pool, conv2+pool, fc1+ReLU, fc2+softmax, compiled by NVRTC";
  facts["math"] = "float32";
  facts["launch"] = network_->graph ? "one CUDA graph" : "6 calls on a stream";
  facts["copies"] = network_->mapped ? "none: the kernels use host memory" : "2";
  return facts;
}

std::map<std::string, double> FusedOnGpu::profile(const float* image, int calls) const {
  Network& n = *network_;
  std::map<std::string, double> medians;
  n.session.run([&] {
    std::copy_n(image, kImagePixels, n.shared.image);
    medians =
        cuda::profile(n.stream, {[&] { n.copy_in(); }, [&] { n.compute(); }, [&] { n.copy_out(); }},
                      bool(n.graph), calls);
  });
  return medians;
}

}  // namespace lenet
