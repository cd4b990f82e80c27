#include "bindings/gpu_floors.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "cuda/errors.hpp"
#include "cuda/kernels.hpp"
#include "cuda/session.hpp"
#include "cuda/words.hpp"

namespace lenet {

using namespace gpu;

namespace {

struct Floor {
  explicit Floor(const cuda::Session& opened) : session(opened) {}
  virtual ~Floor() = default;
  virtual void infer(const float* pixels, float* ten) = 0;

  const cuda::Session& session;
  cudaStream_t stream = session.stream();
  cuda::DeviceFloats ten_on_gpu{stream, std::vector<float>(kClasses, 0.1f).data(), kClasses};
};

}  // namespace

class CopiesFloor : public Floor {
 public:
  CopiesFloor(const cuda::Session& opened, const Weights& /*weights*/) : Floor(opened) {}

  void infer(const float* pixels, float* ten) override {
    std::copy_n(pixels, kImagePixels, static_cast<float*>(host_image));
    LENET_CHECK(cudaMemcpyAsync(image, host_image, image.bytes(), cudaMemcpyHostToDevice, stream));
    cuda::launch(stream, nothing, 1, 1);
    LENET_CHECK(
        cudaMemcpyAsync(host_ten, ten_on_gpu, ten_on_gpu.bytes(), cudaMemcpyDeviceToHost, stream));
    LENET_CHECK(cudaStreamSynchronize(stream));
    std::copy_n(static_cast<const float*>(host_ten), kClasses, ten);
  }

 private:
  cuda::Kernels kernels{cuda::kFusedKernels, session.capability()};
  cudaKernel_t nothing = kernels["nothing"];
  cuda::PinnedFloats host_image{kImagePixels}, host_ten{kClasses};
  cuda::DeviceFloats image{kImagePixels};
};

class FlagFloor : public Floor {
 public:
  FlagFloor(const cuda::Session& opened, const Weights& /*weights*/) : Floor(opened) {
    void* there = nullptr;
    LENET_CHECK(cudaHostGetDevicePointer(&there, shared.answer, 0));
    put = [this, there] { cuda::launch(stream, raise_flag, 1, kWarp, static_cast<Word*>(there)); };
    put();  // brings the code to the GPU
    LENET_CHECK(cudaStreamSynchronize(stream));
    graph = cuda::capture(stream, put);
  }

  std::map<std::string, double> profile(int calls) {
    const auto nothing = [] {};
    return cuda::profile(stream, {nothing, put, nothing}, true, calls);
  }

  void infer(const float* pixels, float* ten) override {
    std::copy_n(pixels, kImagePixels, shared.image);
    cuda::launch_and_poll(stream, shared.answer, ten,
                          [&] { LENET_CHECK(cudaGraphLaunch(graph, stream)); });
  }

 private:
  struct Shared {
    float image[kImagePixels];
    alignas(128) Word answer[kClasses];
  };
  cuda::Kernels kernels{cuda::kFusedKernels, session.capability()};
  cudaKernel_t raise_flag = kernels["raise_flag"];
  std::function<void()> put;
  cuda::PinnedFloats host{sizeof(Shared) / sizeof(float), cudaHostAllocMapped};
  Shared& shared = *reinterpret_cast<Shared*>(static_cast<float*>(host));
  cuda::GraphExec graph;
};

class EchoFloor : public Floor {
 public:
  EchoFloor(const cuda::Session& opened, const Weights& /*weights*/) : Floor(opened) {}

  void infer(const float* pixels, float* ten) override {
    std::copy_n(resident.call(pixels).of, kClasses, ten);
  }

  std::map<std::string, double> profile(const float* image, int calls) {
    return profile_of(resident, image, calls);
  }

 private:
  cuda::Kernels kernels = cuda::cluster_kernels(session, "persistent_echo", kWarp);
  cuda::Resident resident{stream, [this](const Launch& launch) {
                            cuda::launch(stream, kernels["persistent_echo"], kBlocks, kWarp,
                                         launch);
                          }};
};

// A floor has no layers and computes nothing.

std::vector<Layer> layers_of(Floor&, const float*) { return {}; }

std::map<std::string, std::string> facts_of(const Floor& floor) {
  auto facts = floor.session.facts(floor.ten_on_gpu);
  facts.erase("proof");
  return facts;
}

std::map<std::string, double> profile_of(Floor& floor, const float* image, int calls) {
  float ten[kClasses];
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) floor.infer(image, ten);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  return {{"total_us", spent.count() / calls}};
}

std::map<std::string, double> profile_of(FlagFloor& floor, const float* /*image*/, int calls) {
  return floor.profile(calls);
}

std::map<std::string, double> profile_of(EchoFloor& floor, const float* image, int calls) {
  return floor.profile(image, calls);
}

std::map<std::string, double> profile_of(cuda::Resident& resident, const float* image, int calls) {
  using Clock = std::chrono::steady_clock;
  double total = 0, forwarding = 0, computing = 0;
  resident.call(image, kTellTimes);
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    const cuda::Resident::Answer answer = resident.call(image, kTellTimes);
    total += std::chrono::duration<double, std::micro>(Clock::now() - start).count() / calls;
    forwarding += double(answer.time(kForwarding)) / 1000 / calls;
    computing += double(answer.time(kComputing)) / 1000 / calls;
  }
  return {{"h2d_us", forwarding},
          {"kernels_us", computing},
          {"d2h_us", 0.0},  // not told apart from:
          {"signals_us", std::max(0.0, total - forwarding - computing)},
          {"enqueue_us", 0.0},  // nor is this
          {"total_us", total}};
}

template class cuda::OnGpu<CopiesFloor>;
template class cuda::OnGpu<FlagFloor>;
template class cuda::OnGpu<EchoFloor>;

}  // namespace lenet
