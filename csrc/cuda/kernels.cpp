#include "cuda/kernels.hpp"

#include <string>

namespace lenet::cuda {
namespace {

using namespace gpu;

/// Two channels' weights tap by tap, two taps in four floats; the biases in place of a 26th tap.
std::vector<float> packed_conv1(const Weights& w) {
  std::vector<float> packed;
  for (int pair = 0; pair < kConv1Pairs; ++pair) {
    for (int tap = 0; tap <= kTaps; ++tap) {
      for (int channel = 2 * pair; channel < 2 * pair + 2; ++channel) {
        packed.push_back(tap < kTaps ? w.conv1_weight[channel * kTaps + tap]
                                     : w.conv1_bias[channel]);
      }
    }
  }
  return packed;
}

/// Each thread's weights where the thread reads them: `weight_of(block, thread, i)`.
template <class WeightOf>
std::vector<float> packed_by_thread(int blocks, const WeightOf& weight_of) {
  std::vector<float> packed(blocks * kBlockWeights);
  for (int block = 0; block < blocks; ++block) {
    for (int thread = 0; thread < kThreads; ++thread) {
      for (int i = 0; i < kThreadWeights; ++i) {
        const int quad = i / 4, width = quad < kQuads ? 4 : 2;
        const int place = quad * 4 * kThreads + thread * width + i % 4;
        packed[block * kBlockWeights + place] = weight_of(block, thread, i);
      }
    }
  }
  return packed;
}

std::vector<float> packed_conv2(const Weights& w) {
  return packed_by_thread(1, [&](int, int thread, int i) {
    if (thread >= kConv2Threads) return 0.0f;
    const int channel = thread % kConv2Channels;
    const int source = thread / kConv2Channels * kConv2Sources + i / kTaps;
    return w.conv2_weight[(channel * kConv1Channels + source) * kTaps + i % kTaps];
  });
}

/// In a cluster pool2 lies pixel by pixel, in Caffe's order channel by channel.
std::vector<float> packed_fc1(const Weights& w) {
  return packed_by_thread(kBlocks, [&](int block, int thread, int i) {
    const int output = block * kFc1Share + thread / kWarp * kFc1Rows + i % kFc1Rows;
    const int input = i / kFc1Rows * kWarp + thread % kWarp;
    const int pixel = input / kConv2Channels, channel = input % kConv2Channels;
    if (output >= kFc1Outputs) return 0.0f;
    return w.fc1_weight[output * kFc1Inputs + channel * kPool2Pixels + pixel];
  });
}

/// Whether the status is a GPU's way of saying that it has no such clusters.
bool says_no(cudaError_t status) {
  const bool no = status == cudaErrorInvalidValue || status == cudaErrorInvalidConfiguration ||
                  status == cudaErrorInvalidClusterSize || status == cudaErrorNotSupported;
  if (no) cudaGetLastError();
  return no;
}

DeviceFloats copied(cudaStream_t stream, const std::vector<float>& values) {
  return {stream, values.data(), values.size()};
}

}  // namespace

Kernels::Kernels(const KernelSource& source, int capability) {
  const std::vector<char> code = kernels_for(source, capability);
  LENET_CHECK(
      cudaLibraryLoadData(library_.put(), code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
}

cudaKernel_t Kernels::operator[](const char* name) const {
  cudaKernel_t kernel = nullptr;
  LENET_CHECK(cudaLibraryGetKernel(&kernel, library_, name));
  return kernel;
}

Kernels cluster_kernels(const Session& session, const char* name, int threads) {
  const std::string instead = "; the fastest backend that it can run is cuda:mapped";
  const int capability = session.capability();
  if (capability < 90) {  // before anything is compiled: it does not know the instructions
    throw Unavailable(
        "a resident kernel needs thread-block clusters, compute capability 9.0 or "
        "later, and this GPU has " +
        std::to_string(capability / 10) + "." + std::to_string(capability % 10) + instead);
  }
  Kernels kernels(kClusterKernels, capability);
  const void* kernel = reinterpret_cast<const void*>(kernels[name]);
  // Eight blocks a cluster is all that every GPU with clusters has to run; sixteen are asked for,
  // and a small GPU, or a slice of one, may never have the multiprocessors free.
  int clusters = 0;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(threads);
  cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (!says_no(status)) check(status, {"cudaFuncSetAttribute", __FILE__, __LINE__});
  if (status == cudaSuccess) {
    status = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
    if (!says_no(status)) check(status, {"cudaOccupancyMaxActiveClusters", __FILE__, __LINE__});
  }
  if (clusters > 0) return kernels;
  throw Unavailable(
      "this GPU, or the part of it that may be used here (MIG, MPS), cannot run a cluster of " +
      std::to_string(kBlocks) + " blocks at once" +
      (status == cudaSuccess ? "" : std::string(" (") + cudaGetErrorName(status) + ")") + instead);
}

KernelWeights::KernelWeights(cudaStream_t stream, const Weights& w, Fc1Order order)
    : conv1_(copied(stream, packed_conv1(w))),
      conv2_(copied(stream, packed_conv2(w))),
      conv2_bias_(stream, w.conv2_bias, kConv2Channels),
      fc1_(order == Fc1Order::kByThread
               ? copied(stream, packed_fc1(w))
               : DeviceFloats(stream, w.fc1_weight, kFc1Outputs * kFc1Inputs)),
      fc1_bias_(stream, w.fc1_bias, kFc1Outputs),
      fc2_(stream, w.fc2_weight, kClasses * kFc1Outputs),
      fc2_bias_(stream, w.fc2_bias, kClasses) {}

Parameters KernelWeights::parameters() const {
  return {conv1_, conv2_, conv2_bias_, fc1_, fc1_bias_, fc2_, fc2_bias_};
}

std::vector<Layer> LayerMemory::read(cudaStream_t stream) const {
  return {
      {"pool2", pool2.to_host(stream)}, {"fc1", fc1.to_host(stream)}, {"fc2", fc2.to_host(stream)}};
}

}  // namespace lenet::cuda
