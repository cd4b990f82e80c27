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

FusedNetwork::FusedNetwork(const cuda::Session& opened, const Weights& from,
                           const std::string& variant)
    : session(opened),
      mapped(variant == "mapped"),
      code(session, mapped),
      // load
      weights(stream, from, code.once ? cuda::Fc1Order::kByThread : cuda::Fc1Order::kByOutput) {
  warm_up();  // it brings the code to the GPU, which a capture must not
  if (variant.empty()) return;
  graph = cuda::capture(stream, [this] {
    copy_in();
    compute();
    copy_out();
  });
  warm_up();  // it brings the graph to the GPU, for which the first launch pays
}

void FusedNetwork::warm_up() {
  const std::vector<float> blank(kImagePixels);
  float ten[kClasses];
  infer(blank.data(), ten);
}

void FusedNetwork::infer(const float* pixels, float* ten) {
  Shared& shared = boundary.shared;
  std::copy_n(pixels, kImagePixels, shared.image);
  if (mapped) {
    cuda::launch_and_poll(stream, shared.answer, ten, [this] { enqueue(); });
    return;
  }
  enqueue();
  LENET_CHECK(cudaStreamSynchronize(stream));
  std::copy_n(shared.probabilities, kClasses, ten);
}

void FusedNetwork::enqueue() {
  if (graph) {
    LENET_CHECK(cudaGraphLaunch(graph, stream));
    return;
  }
  copy_in();
  compute();
  copy_out();
}

void FusedNetwork::copy_in() {
  if (mapped) return;
  LENET_CHECK(cudaMemcpyAsync(boundary.image, boundary.shared.image, boundary.image.bytes(),
                              cudaMemcpyHostToDevice, stream));
}

void FusedNetwork::compute() {
  const float* pixels = mapped ? boundary.on_gpu->image : boundary.image;
  Word* words = mapped ? boundary.on_gpu->answer : nullptr;
  const Parameters parameters = weights.parameters();
  const Outputs outputs = memory.outputs();
  if (code.once) {
    cuda::launch(stream, code.once, kBlocks, kThreads, pixels, parameters, outputs, words);
    return;
  }
  float* ten = boundary.probabilities;
  cuda::launch(stream, code.convolutions, kBlocks, kThreads, pixels, parameters, outputs);
  cuda::launch(stream, code.fc1_relu, kFc1Blocks, kFc1Threads, parameters, outputs);
  cuda::launch(stream, code.fc2_softmax, kFc2Blocks, kFc2Threads, parameters, outputs, ten, words);
}

void FusedNetwork::copy_out() {
  if (mapped) return;
  LENET_CHECK(cudaMemcpyAsync(boundary.shared.probabilities, boundary.probabilities,
                              boundary.probabilities.bytes(), cudaMemcpyDeviceToHost, stream));
}

}  // namespace lenet
