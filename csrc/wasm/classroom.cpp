// The fused kernels for a browser, without a runtime: JavaScript writes the weights and an image
// into this module's memory, calls, and reads the answers there (show/classroom/engine.js). It
// imports nothing. The kernels are taken in as source, so that what is not called here is left out.
#include "cpu/fused_kernels.cpp"

#define LENET_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace lenet;

/// The parameters one after the other, as `Weights` lists them.
struct Parameters {
  float conv1_weight[kConv1Channels * kKernelSide * kKernelSide];
  float conv1_bias[kConv1Channels];
  float conv2_weight[kConv2Channels * kConv1Channels * kKernelSide * kKernelSide];
  float conv2_bias[kConv2Channels];
  float fc1_weight[kFc1Outputs * kFc1Inputs];
  float fc1_bias[kFc1Outputs];
  float fc2_weight[kClasses * kFc1Outputs];
  float fc2_bias[kClasses];
};

using Vec = wasm::Vec;

Parameters parameters;
wasm::Packed<Vec> packed;  // zeroed, as all memory is at the start
float image[kImagePixels];
float probabilities[kClasses];
FusedTrace layers;
bool backwards = false;

}  // namespace

LENET_EXPORT float* weights_at() { return parameters.conv1_weight; }
LENET_EXPORT float* image_at() { return image; }
LENET_EXPORT float* probabilities_at() { return probabilities; }
LENET_EXPORT float* layers_at() { return layers.pool1; }

LENET_EXPORT void prepare() {
  const Parameters& p = parameters;
  wasm::pack<Vec>({p.conv1_weight, p.conv1_bias, p.conv2_weight, p.conv2_bias, p.fc1_weight,
                   p.fc1_bias, p.fc2_weight, p.fc2_bias},
                  &packed);
}

LENET_EXPORT void infer() {
  backwards = !backwards;  // as csrc/cpu/fused.cpp does
  wasm::forward<Vec>(&packed, image, backwards, probabilities);
}

/// The same image many times, so that a browser's coarse clock can time it.
LENET_EXPORT void repeat(int times) {
  for (int n = 0; n < times; ++n) infer();
}

LENET_EXPORT void trace() { wasm::trace<Vec>(&packed, image, layers); }
