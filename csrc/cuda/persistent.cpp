// LeNet on one kernel that stays on the GPU (cluster.cu), called for by way of its mailbox.
#include "cuda/persistent.hpp"

#include <algorithm>
#include <vector>

namespace lenet {

using namespace gpu;

PersistentNetwork::PersistentNetwork(const cuda::Session& opened, const Weights& from)
    : session(opened),
      weights(stream, from, cuda::Fc1Order::kByThread),  // load
      resident(stream, [this](const Launch& launch) {
        cuda::launch(stream, kernels["persistent_lenet"], kBlocks, kThreads, launch,
                     weights.parameters(), memory.outputs());
      }) {
  const std::vector<float> blank(kImagePixels);  // the first call brings the code to the GPU
  resident.call(blank.data());
}

void PersistentNetwork::infer(const float* image, float* probabilities) {
  std::copy_n(resident.call(image).of, kClasses, probabilities);
}

}  // namespace lenet
