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

/// One row a channel and kernel offset, one column an output pixel. The sizes are constants, so
/// that each innermost copy is a few vector moves and no call.
template <int Channels, int Side>  // conv1 and conv2
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
// conv1 and conv2
void convolve(const float* weight, const float* bias, const float* columns, int channels, int taps,
              int pixels, float* output) {
  for (int c = 0; c < channels; ++c) std::fill_n(output + c * pixels, pixels, bias[c]);
  scipy_cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, channels, pixels, taps, 1.0f, weight,
                    taps, columns, pixels, 1.0f, output, pixels);
}

template <int Channels, int Side>  // pool1 and pool2
void max_pool(const float* input, float* output) {
  constexpr int kOut = Side / 2;
  for (int row = 0; row < Channels * kOut; ++row, input += 2 * Side, output += kOut) {
    float taller[Side];
    for (int x = 0; x < Side; ++x) taller[x] = std::max(input[x], input[Side + x]);
    for (int x = 0; x < kOut; ++x) output[x] = std::max(taller[2 * x], taller[2 * x + 1]);
  }
}

/// output = weight (outputs x inputs) * input + bias
// fc1 and fc2
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

}  // namespace

// load
OpenBlas::OpenBlas(const Weights& weights, int threads)
    : parameters_(std::make_unique<Parameters>()), activations_(std::make_unique<Activations>()) {
  scipy_openblas_set_num_threads(threads);
  threads_ = scipy_openblas_get_num_threads();  // fewer, where the library was built for fewer
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

void OpenBlas::infer(const float* image, float* probabilities) {
  if (scipy_openblas_get_num_threads() != threads_) scipy_openblas_set_num_threads(threads_);
  conv1(image);
  pool1();
  conv2();
  pool2();
  fc1();
  fc2();
  softmax(activations_->fc2, probabilities);
}

void OpenBlas::conv1(const float* image) {
  const Parameters& p = *parameters_;
  Activations& a = *activations_;
  im2col<1, kImageSide>(image, a.columns);
  convolve(p.conv1_weight, p.conv1_bias, a.columns, kConv1Channels, kTaps, kConv1Pixels, a.conv1);
}

// pool1
void OpenBlas::pool1() {
  max_pool<kConv1Channels, kConv1Side>(activations_->conv1, activations_->pool1);
}

// conv2
void OpenBlas::conv2() {
  const Parameters& p = *parameters_;
  Activations& a = *activations_;
  im2col<kConv1Channels, kPool1Side>(a.pool1, a.columns);
  convolve(p.conv2_weight, p.conv2_bias, a.columns, kConv2Channels, kConv2Taps, kConv2Pixels,
           a.conv2);
}

// pool2
void OpenBlas::pool2() {
  max_pool<kConv2Channels, kConv2Side>(activations_->conv2, activations_->pool2);
}

void OpenBlas::fc1() {
  const Parameters& p = *parameters_;
  Activations& a = *activations_;
  fully_connect(p.fc1_weight, p.fc1_bias, a.pool2, kFc1Outputs, kFc1Inputs, a.fc1);
  for (float& value : a.fc1) value = std::max(value, 0.0f);
}

void OpenBlas::fc2() {
  const Parameters& p = *parameters_;
  Activations& a = *activations_;
  fully_connect(p.fc2_weight, p.fc2_bias, a.fc1, kClasses, kFc1Outputs, a.fc2);
}

}  // namespace lenet
