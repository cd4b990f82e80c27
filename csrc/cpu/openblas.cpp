// LeNet on OpenBLAS, Caffe's own way: im2col turns a convolution into one sgemm, a fully
// connected layer is one sgemv. Everything else (unrolling, bias, pooling, ReLU, softmax) is not
// BLAS's business, so it is written here.
#include "cpu/openblas.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace lenet {
namespace {

constexpr int kTaps = kKernelSide * kKernelSide;
constexpr int kConv2Taps = kConv1Channels * kTaps;
constexpr int kConv1Pixels = kConv1Side * kConv1Side;
constexpr int kConv2Pixels = kConv2Side * kConv2Side;
constexpr int kPool1Pixels = kPool1Side * kPool1Side;

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

/// output (channels x pixels) = weight (channels x taps) * columns (taps x pixels) + bias
void convolve(const float* weight, const float* bias, const float* columns, int channels, int taps,
              int pixels, float* output) {
  for (int c = 0; c < channels; ++c) std::fill_n(output + c * pixels, pixels, bias[c]);
  scipy_cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, channels, pixels, taps, 1.0f, weight,
                    taps, columns, pixels, 1.0f, output, pixels);
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
void fully_connect(const float* weight, const float* bias, const float* input, int outputs,
                   int inputs, float* output) {
  std::copy_n(bias, outputs, output);
  scipy_cblas_sgemv(CblasRowMajor, CblasNoTrans, outputs, inputs, 1.0f, weight, inputs, input, 1,
                    1.0f, output, 1);
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

/// Caffe's layout is what BLAS wants. Aligned to cache lines, which is worth 3 of 70 us: sgemv
/// streams fc1's 1.6 MB.
struct OpenBlas::Parameters {
  alignas(64) float conv1_weight[kConv1Channels * kTaps];
  alignas(64) float conv1_bias[kConv1Channels];
  alignas(64) float conv2_weight[kConv2Channels * kConv2Taps];
  alignas(64) float conv2_bias[kConv2Channels];
  alignas(64) float fc1_weight[kFc1Outputs * kFc1Inputs];
  alignas(64) float fc1_bias[kFc1Outputs];
  alignas(64) float fc2_weight[kClasses * kFc1Outputs];
  alignas(64) float fc2_bias[kClasses];
};

/// What one image needs on its way: 206 KB.
struct OpenBlas::Activations {
  alignas(64) float columns[kConv2Taps * kConv2Pixels];  // conv1's, which are fewer, then conv2's
  alignas(64) float conv1[kConv1Channels * kConv1Pixels];
  alignas(64) float pool1[kConv1Channels * kPool1Pixels];
  alignas(64) float conv2[kConv2Channels * kConv2Pixels];
  alignas(64) float pool2[kFc1Inputs];
  alignas(64) float fc1[kFc1Outputs];
  alignas(64) float fc2[kClasses];
};

OpenBlas::OpenBlas(const Weights& weights, int threads)
    : threads_(threads), parameters_(std::make_unique<Parameters>()) {
  const auto copy = [](const float* from, auto& to) { std::copy_n(from, std::size(to), to); };
  copy(weights.conv1_weight, parameters_->conv1_weight);
  copy(weights.conv1_bias, parameters_->conv1_bias);
  copy(weights.conv2_weight, parameters_->conv2_weight);
  copy(weights.conv2_bias, parameters_->conv2_bias);
  copy(weights.fc1_weight, parameters_->fc1_weight);
  copy(weights.fc1_bias, parameters_->fc1_bias);
  copy(weights.fc2_weight, parameters_->fc2_weight);
  copy(weights.fc2_bias, parameters_->fc2_bias);
}

OpenBlas::~OpenBlas() = default;

OpenBlas::Activations& OpenBlas::activations() {
  thread_local Activations activations;
  return activations;
}

void OpenBlas::forward(const float* image, Activations& a, float* probabilities) const {
  const Parameters& p = *parameters_;

  im2col<1, kImageSide>(image, a.columns);
  convolve(p.conv1_weight, p.conv1_bias, a.columns, kConv1Channels, kTaps, kConv1Pixels, a.conv1);
  max_pool<kConv1Channels, kConv1Side>(a.conv1, a.pool1);

  im2col<kConv1Channels, kPool1Side>(a.pool1, a.columns);
  convolve(p.conv2_weight, p.conv2_bias, a.columns, kConv2Channels, kConv2Taps, kConv2Pixels,
           a.conv2);
  max_pool<kConv2Channels, kConv2Side>(a.conv2, a.pool2);

  fully_connect(p.fc1_weight, p.fc1_bias, a.pool2, kFc1Outputs, kFc1Inputs, a.fc1);
  for (float& value : a.fc1) value = std::max(value, 0.0f);
  fully_connect(p.fc2_weight, p.fc2_bias, a.fc1, kClasses, kFc1Outputs, a.fc2);
  softmax(a.fc2, probabilities);
}

void OpenBlas::infer(const float* images, std::size_t count, float* probabilities) const {
  use_threads(threads_);
  for (std::size_t i = 0; i < count; ++i) {
    forward(images + i * kImagePixels, activations(), probabilities + i * kClasses);
  }
}

std::vector<Layer> OpenBlas::layers(const float* image) const {
  Activations& a = activations();
  float probabilities[kClasses];
  use_threads(threads_);
  forward(image, a, probabilities);
  const auto values = [](const auto& of) { return std::vector(std::begin(of), std::end(of)); };
  return {
      {"conv1", values(a.conv1)},
      {"pool1", values(a.pool1)},
      {"conv2", values(a.conv2)},
      {"pool2", values(a.pool2)},
      {"fc1", values(a.fc1)},
      {"fc2", values(a.fc2)},
      {"probabilities", values(probabilities)},
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
