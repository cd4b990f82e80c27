// LeNet in kernels of our own.
//
//   ""        copy in, three kernels (fused.cu), copy out, wait for the stream
//   cudagraph the same as one CUDA graph: one call instead of five
//   mapped    no copies: the kernels read and write host memory, and the host polls the answer;
//             as one kernel (cluster.cu) where the GPU has clusters
#include "cuda/fused.hpp"

#include <algorithm>

#include "cuda/errors.hpp"
#include "cuda/words.hpp"

namespace lenet {

using namespace gpu;

FusedNetwork::Code::Code(const cuda::Session& session, bool wanted) {
  if (wanted) {
    try {
      library = cuda::cluster_kernels(session, "lenet_once", kThreads);
      once = library["lenet_once"];
      return;
    } catch (const cuda::Unavailable&) {  // then three
    }
  }
  library = cuda::Kernels(cuda::kFusedKernels, session.capability());
  convolutions = library["convolutions"];
  fc1_relu = library["fc1_relu"];
  fc2_softmax = library["fc2_softmax"];
}

FusedNetwork::Boundary::Boundary() {
  shared = {};
  void* address = nullptr;
  LENET_CHECK(cudaHostGetDevicePointer(&address, &shared, 0));
  on_gpu = static_cast<Shared*>(address);
}

FusedNetwork::FusedNetwork(const cuda::Session& opened, const Weights& from, Variant variant)
    : session_(opened),
      mapped_(variant == Variant::kMapped),
      code_(session_, mapped_),
      // load
      weights_(stream_, from, code_.once ? cuda::Fc1Order::kByThread : cuda::Fc1Order::kByOutput) {
  warm_up();  // it brings the code to the GPU, which a capture must not
  if (variant == Variant::kStream) return;
  graph_ = cuda::capture(stream_, [this] {
    copy_in();
    compute();
    copy_out();
  });
  warm_up();  // it brings the graph to the GPU, for which the first launch pays
}

/// The kernel of a cluster leaves the ten probabilities in host memory alone.
std::vector<cuda::Step> FusedNetwork::make_steps() {
  const float* pixels = mapped_ ? boundary_.on_gpu->image : boundary_.image;
  Word* words = mapped_ ? boundary_.on_gpu->answer : nullptr;
  float* ten = boundary_.probabilities;
  const Parameters parameters = weights_.parameters();
  const Outputs outputs = memory_.outputs();
  const auto launch = [this](cudaKernel_t kernel, int blocks, int threads, auto... arguments) {
    return [=] { cuda::launch(stream_, kernel, blocks, threads, arguments...); };
  };
  if (code_.once) {
    return {{"fc2", 1, launch(code_.once, kBlocks, kThreads, pixels, parameters, outputs, words),
             memory_.fc2}};
  }
  return {
      {"pool2", 1, launch(code_.convolutions, kBlocks, kThreads, pixels, parameters, outputs),
       memory_.pool2},
      {"fc1", 1, launch(code_.fc1_relu, kFc1Blocks, kFc1Threads, parameters, outputs), memory_.fc1},
      {"probabilities", 1,
       launch(code_.fc2_softmax, kFc2Blocks, kFc2Threads, parameters, outputs, ten, words),
       boundary_.probabilities},
  };
}

cuda::Step FusedNetwork::trivial() {
  const cudaKernel_t nothing = code_.library["nothing"];
  return {"", 1, [=] { cuda::launch(stream_, nothing, 1, 1); }, boundary_.image};
}

void FusedNetwork::warm_up() {
  const std::vector<float> blank(kImagePixels);
  float ten[kClasses];
  infer(blank.data(), ten);
}

void FusedNetwork::infer(const float* pixels, float* ten) {
  Shared& shared = boundary_.shared;
  std::copy_n(pixels, kImagePixels, shared.image);
  if (mapped_) {
    cuda::launch_and_poll(stream_, shared.answer, ten, [this] { enqueue(); });
    return;
  }
  enqueue();
  LENET_CHECK(cudaStreamSynchronize(stream_));
  std::copy_n(shared.probabilities, kClasses, ten);
}

void FusedNetwork::enqueue() {
  if (graph_) {
    LENET_CHECK(cudaGraphLaunch(graph_, stream_));
    return;
  }
  copy_in();
  compute();
  copy_out();
}

void FusedNetwork::copy_in() {
  if (mapped_) return;
  LENET_CHECK(cudaMemcpyAsync(boundary_.image, boundary_.shared.image, boundary_.image.bytes(),
                              cudaMemcpyHostToDevice, stream_));
}

void FusedNetwork::compute() {
  for (const cuda::Step& step : steps_) step.put();
}

void FusedNetwork::copy_out() {
  if (mapped_) return;
  LENET_CHECK(cudaMemcpyAsync(boundary_.shared.probabilities, boundary_.probabilities,
                              boundary_.probabilities.bytes(), cudaMemcpyDeviceToHost, stream_));
}

}  // namespace lenet
