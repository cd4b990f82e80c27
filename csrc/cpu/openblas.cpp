// LeNet on OpenBLAS, Caffe's own way: im2col turns a convolution into one sgemm, a fully
// connected layer is one sgemv. Everything else (unrolling, bias, pooling, ReLU, softmax) is not
// BLAS's business, so it is written here.
#include "cpu/openblas.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

namespace lenet {
namespace {

constexpr int kTaps = kKernelSide * kKernelSide;
constexpr int kConv1Pixels = kConv1Side * kConv1Side;
constexpr int kConv2Pixels = kConv2Side * kConv2Side;
constexpr int kPool1Pixels = kPool1Side * kPool1Side;

std::vector<float> copy(const float* values, int count) { return {values, values + count}; }

/// One row a channel and kernel offset, one column an output pixel. The sizes are constants, so
/// that each innermost copy is a few vector moves and no call.
template <int Channels, int Side>
void im2col(const float* input, float* columns) {
  constexpr int kOut = Side - kKernelSide + 1;
  for (int channel = 0; channel < Channels; ++channel) {
    for (int ky = 0; ky < kKernelSide; ++ky) {
      for (int kx = 0; kx < kKernelSide; ++kx) {
        for (int y = 0; y < kOut; ++y, columns += kOut) {
          std::copy_n(input + (channel * Side + y + ky) * Side + kx, kOut, columns);
        }
      }
    }
  }
}

/// output = weight (channels x taps) * columns (taps x pixels) + bias
void convolve(const std::vector<float>& weight, const std::vector<float>& bias,
              const float* columns, int pixels, float* output) {
  const int channels = static_cast<int>(bias.size());
  const int taps = static_cast<int>(weight.size()) / channels;
  for (int c = 0; c < channels; ++c) std::fill_n(output + c * pixels, pixels, bias[c]);
  scipy_cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, channels, pixels, taps, 1.0f,
                    weight.data(), taps, columns, pixels, 1.0f, output, pixels);
}

template <int Channels, int Side>
void max_pool(const float* input, float* output) {
  constexpr int kOut = Side / 2;
  for (int row = 0; row < Channels * kOut; ++row, input += 2 * Side, output += kOut) {
    float taller[Side];
    for (int x = 0; x < Side; ++x) taller[x] = std::max(input[x], input[Side + x]);
    for (int x = 0; x < kOut; ++x) output[x] = std::max(taller[2 * x], taller[2 * x + 1]);
  }
}

/// output = weight (outputs x inputs) * input + bias
void fully_connect(const std::vector<float>& weight, const std::vector<float>& bias,
                   const float* input, float* output) {
  const int outputs = static_cast<int>(bias.size());
  const int inputs = static_cast<int>(weight.size()) / outputs;
  std::copy(bias.begin(), bias.end(), output);
  scipy_cblas_sgemv(CblasRowMajor, CblasNoTrans, outputs, inputs, 1.0f, weight.data(), inputs,
                    input, 1, 1.0f, output, 1);
}

void softmax(const float* logits, float* probabilities) {
  const float largest = *std::max_element(logits, logits + kClasses);
  float sum = 0.0f;
  for (int i = 0; i < kClasses; ++i) sum += probabilities[i] = std::exp(logits[i] - largest);
  for (int i = 0; i < kClasses; ++i) probabilities[i] /= sum;
}

/// OpenBLAS keeps one count for the whole process, so each call asks for its own.
void use_threads(int threads) {
  if (scipy_openblas_get_num_threads() != threads) scipy_openblas_set_num_threads(threads);
}

}  // namespace

/// What one image needs on its way: 231 KB, one a calling thread.
struct OpenBlas::Activations {
  alignas(64) float columns[std::max(kTaps * kConv1Pixels, kConv1Channels * kTaps * kConv2Pixels)];
  alignas(64) float conv1[kConv1Channels * kConv1Pixels];
  alignas(64) float pool1[kConv1Channels * kPool1Pixels];
  alignas(64) float conv2[kConv2Channels * kConv2Pixels];
  alignas(64) float pool2[kFc1Inputs];
  alignas(64) float fc1[kFc1Outputs];
  alignas(64) float fc2[kClasses];
};

OpenBlas::OpenBlas(const Weights& weights, int threads)
    : threads_(threads),
      conv1_weight_(copy(weights.conv1_weight, kConv1Channels * kTaps)),
      conv1_bias_(copy(weights.conv1_bias, kConv1Channels)),
      conv2_weight_(copy(weights.conv2_weight, kConv2Channels * kConv1Channels * kTaps)),
      conv2_bias_(copy(weights.conv2_bias, kConv2Channels)),
      fc1_weight_(copy(weights.fc1_weight, kFc1Outputs * kFc1Inputs)),
      fc1_bias_(copy(weights.fc1_bias, kFc1Outputs)),
      fc2_weight_(copy(weights.fc2_weight, kClasses * kFc1Outputs)),
      fc2_bias_(copy(weights.fc2_bias, kClasses)) {}

void OpenBlas::forward(const float* image, Activations& a, float* probabilities) const {
  im2col<1, kImageSide>(image, a.columns);
  convolve(conv1_weight_, conv1_bias_, a.columns, kConv1Pixels, a.conv1);
  max_pool<kConv1Channels, kConv1Side>(a.conv1, a.pool1);

  im2col<kConv1Channels, kPool1Side>(a.pool1, a.columns);
  convolve(conv2_weight_, conv2_bias_, a.columns, kConv2Pixels, a.conv2);
  max_pool<kConv2Channels, kConv2Side>(a.conv2, a.pool2);

  fully_connect(fc1_weight_, fc1_bias_, a.pool2, a.fc1);
  for (float& value : a.fc1) value = std::max(value, 0.0f);
  fully_connect(fc2_weight_, fc2_bias_, a.fc1, a.fc2);
  softmax(a.fc2, probabilities);
}

void OpenBlas::infer(const float* images, std::size_t count, float* probabilities) const {
  thread_local Activations activations;
  use_threads(threads_);
  for (std::size_t i = 0; i < count; ++i) {
    forward(images + i * kImagePixels, activations, probabilities + i * kClasses);
  }
}

std::vector<Layer> OpenBlas::layers(const float* image) const {
  thread_local Activations activations;
  std::vector<float> probabilities(kClasses);
  use_threads(threads_);
  forward(image, activations, probabilities.data());
  const auto values = [](const auto& array) {
    return std::vector(std::begin(array), std::end(array));
  };
  return {
      {"conv1", values(activations.conv1)}, {"pool1", values(activations.pool1)},
      {"conv2", values(activations.conv2)}, {"pool2", values(activations.pool2)},
      {"fc1", values(activations.fc1)},     {"fc2", values(activations.fc2)},
      {"probabilities", probabilities},
  };
}

std::map<std::string, std::string> OpenBlas::describe() const {
  return {
      {"library", scipy_openblas_get_config()}, {"kernels", scipy_openblas_get_corename()},
      {"convolution", "im2col + sgemm"},        {"fully connected", "sgemv"},
      {"threads", std::to_string(threads_)},
  };
}

}  // namespace lenet
