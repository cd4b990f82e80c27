// LeNet on one kernel that stays on the GPU (persistent.cu). A call writes its image into memory
// that both sides see, rings the bell and waits for the answer's flag: CUDA itself is needed only
// to launch the kernel, and to launch it again when it has left (mailbox.hpp says when).
#include "cuda/persistent.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "cuda/errors.hpp"
#include "cuda/mailbox.hpp"
#include "cuda/nvrtc.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"

namespace lenet {
namespace {

using namespace persistent;
using cuda::DeviceFloats;

/// Before anything is compiled: a GPU without clusters does not know the kernel's instructions.
const cuda::Session& require_clusters(const cuda::Session& session) {
  const int capability = session.capability();
  if (capability < 90) {
    throw cuda::Unavailable(
        "a resident kernel needs thread-block clusters, compute capability 9.0 "
        "or later, and this GPU has " +
        std::to_string(capability / 10) + "." + std::to_string(capability % 10) +
        "; the fastest rung that it can run is cuda:mapped");
  }
  return session;
}

void pause_a_moment() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

Number read(const Number& flag) { return __atomic_load_n(&flag, __ATOMIC_ACQUIRE); }

}  // namespace

struct PersistentOnGpu::Network {
  explicit Network(const Weights& weights);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network();

  void require_room_for_a_cluster() const;
  void answer(const float* pixels, Order order);
  void call(Order order);
  void launch();
  void require_running();

  cuda::Session session;
  cudaStream_t stream = require_clusters(session).stream();

  cuda::Library library;
  const void* kernel = nullptr;

  DeviceFloats conv1_weight, conv1_bias, conv2_weight, conv2_bias;
  DeviceFloats fc1_weight, fc1_bias, fc2_weight, fc2_bias;

  cuda::PinnedFloats host{sizeof(Mailbox) / sizeof(float), cudaHostAllocMapped};
  Mailbox& mailbox = *reinterpret_cast<Mailbox*>(static_cast<float*>(host));
  Number request = 0;   // the last that was rung for
  Number launches = 0;  // so far; the kernel is on the GPU unless mailbox.ended says the same
};

PersistentOnGpu::Network::Network(const Weights& w)
    : conv1_weight(w.conv1_weight, kConv1Channels * kKernelSide * kKernelSide),
      conv1_bias(w.conv1_bias, kConv1Channels),
      conv2_weight(w.conv2_weight, kConv2Channels * kConv1Channels * kKernelSide * kKernelSide),
      conv2_bias(w.conv2_bias, kConv2Channels),
      fc1_weight(w.fc1_weight, kFc1Outputs * kFc1Inputs),
      fc1_bias(w.fc1_bias, kFc1Outputs),
      fc2_weight(w.fc2_weight, kClasses * kFc1Outputs),
      fc2_bias(w.fc2_bias, kClasses) {
  const std::vector<char> code = cuda::kernels_for(cuda::kPersistentKernel, session.capability());
  LENET_CHECK(
      cudaLibraryLoadData(library.put(), code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t found = nullptr;
  LENET_CHECK(cudaLibraryGetKernel(&found, library, "persistent_lenet"));
  kernel = reinterpret_cast<const void*>(found);
  // More than eight blocks a cluster is more than every GPU with clusters has to have.
  LENET_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  require_room_for_a_cluster();

  mailbox = {};
  const std::vector<float> blank(kImagePixels);  // the first call brings the code to the GPU
  session.run([&] { answer(blank.data(), kAnswer); });
}

/// Before the memory goes that the kernel polls: not every way of freeing waits for it.
PersistentOnGpu::Network::~Network() {
  __atomic_store_n(&mailbox.bell, (request + 1) * kOrders + kLeave, __ATOMIC_RELEASE);
  cudaStreamSynchronize(stream);
}

/// A cluster's blocks run at once or not at all: a small GPU, or a slice of one, may never have
/// sixteen multiprocessors for it.
void PersistentOnGpu::Network::require_room_for_a_cluster() const {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kThreads);
  int clusters = 0;
  const cudaError_t status = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
  if (status == cudaErrorInvalidClusterSize) {
    cudaGetLastError();
  } else {
    cuda::check(status, {"cudaOccupancyMaxActiveClusters", __FILE__, __LINE__});
  }
  if (clusters == 0) {
    throw cuda::Unavailable(
        "this GPU, or the part of it that may be used here (MIG, MPS), cannot "
        "run a cluster of " +
        std::to_string(kBlocks) +
        " blocks at once; the fastest rung that it can run is cuda:mapped");
  }
}

void PersistentOnGpu::Network::answer(const float* pixels, Order order) {
  std::copy_n(pixels, kImagePixels, &mailbox.image[0][0]);
  call(order);
}

void PersistentOnGpu::Network::call(Order order) {
  ++request;
  __atomic_store_n(&mailbox.bell, request * kOrders + order, __ATOMIC_RELEASE);
  const Number before = launches;
  constexpr unsigned kSpins = 100'000;  // some milliseconds
  for (unsigned spin = 1;; ++spin) {
    const bool gone = read(mailbox.ended) == launches;  // first: what it answered, stands then
    if (read(mailbox.answered) == request) return;
    if (gone && launches != before) {
      throw cuda::CallFailed("the resident kernel ended and left no answer");
    }
    if (gone) launch();
    pause_a_moment();
    if (spin % kSpins == 0) require_running();
  }
}

/// After an earlier kernel has wholly left, since both are on one stream. The arguments have to be
/// of the types that persistent.cu has: nobody checks.
void PersistentOnGpu::Network::launch() {
  void* address = nullptr;
  LENET_CHECK(cudaHostGetDevicePointer(&address, &mailbox, 0));
  Number served = request - 1, number = launches + 1;
  const float* weights[] = {conv1_weight, conv1_bias, conv2_weight, conv2_bias,
                            fc1_weight,   fc1_bias,   fc2_weight,   fc2_bias};
  void* arguments[] = {&weights[0], &weights[1], &weights[2], &weights[3], &weights[4], &weights[5],
                       &weights[6], &weights[7], &address,    &served,     &number};
  LENET_CHECK(cudaLaunchKernel(kernel, dim3(kBlocks), dim3(kThreads), arguments, 0, stream));
  launches = number;
}

/// A kernel that failed raises no flag: once in a while the stream is asked.
void PersistentOnGpu::Network::require_running() {
  const cudaError_t status = cudaStreamQuery(stream);
  if (status == cudaErrorNotReady) return;
  cuda::check(status, {"cudaStreamQuery", __FILE__, __LINE__});
  if (read(mailbox.ended) != launches) {
    throw cuda::CallFailed("the resident kernel stopped without a word");
  }
}

PersistentOnGpu::PersistentOnGpu(const Weights& weights, int /*threads*/)
    : network_(cuda::make_in_this_process<Network>(weights)) {}

void PersistentOnGpu::infer(const float* images, std::size_t count, float* probabilities) const {
  Network& n = *network_;
  n.session.run([&] {
    for (std::size_t i = 0; i < count; ++i) {
      n.answer(images + i * kImagePixels, kAnswer);
      std::copy_n(n.mailbox.probabilities, kClasses, probabilities + i * kClasses);
    }
  });
}

std::vector<Layer> PersistentOnGpu::layers(const float* image) const {
  Network& n = *network_;
  std::vector<Layer> layers;
  const auto add = [&](const char* name, const auto& values) {
    layers.push_back({name, {std::begin(values), std::end(values)}});
  };
  n.session.run([&] {
    n.answer(image, kShowLayers);
    add("pool1", n.mailbox.pool1);
    add("pool2", n.mailbox.pool2);
    add("fc1", n.mailbox.fc1);
    add("fc2", n.mailbox.fc2);
    add("probabilities", n.mailbox.probabilities);
  });
  return layers;
}

std::map<std::string, std::string> PersistentOnGpu::describe() const {
  auto facts = network_->session.facts(network_->fc1_weight);
  facts["proof"] = "its weights lie in the memory of GPU " + facts["device index"] +
                   ", where only a kernel reads them";
  facts["kernels"] = "1, resident: a cluster of " + std::to_string(kBlocks) + " blocks of " +
                     std::to_string(kThreads) + " threads, compiled by NVRTC";
  facts["math"] = "float32";
  facts["launch"] = "none a call; the kernel leaves after " + std::to_string(kIdle / 1'000'000) +
                    " ms without one, and " + std::to_string(kLife / 1'000'000) +
                    " ms after its launch";
  facts["copies"] = "none: the kernel uses host memory";
  return facts;
}

std::map<std::string, double> PersistentOnGpu::profile(const float* image, int calls) const {
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::duration<double, std::micro>;
  Network& n = *network_;
  double enqueue = 0, total = 0, read_image = 0, compute = 0;
  n.session.run([&] {
    n.answer(image, kTellTimes);
    for (int i = 0; i < calls; ++i) {
      const auto start = Clock::now();
      std::copy_n(image, kImagePixels, &n.mailbox.image[0][0]);
      enqueue += Microseconds(Clock::now() - start).count() / calls;
      n.call(kTellTimes);
      total += Microseconds(Clock::now() - start).count() / calls;
      read_image += double(n.mailbox.read - n.mailbox.heard) / 1000 / calls;
      compute += double(n.mailbox.computed - n.mailbox.read) / 1000 / calls;
    }
  });
  return {{"h2d_us", read_image},
          {"kernels_us", compute},
          {"d2h_us", 0.0},  // not told apart from:
          {"signals_us", std::max(0.0, total - enqueue - read_image - compute)},
          {"enqueue_us", enqueue},
          {"total_us", total}};
}

}  // namespace lenet
