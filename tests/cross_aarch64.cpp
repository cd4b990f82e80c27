// Builds the backend `fused` on random weights and checks every layer of a random image against
// plain loops in float64: what tests/cross_aarch64.sh runs on an emulated 64-bit Arm.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cpu/fused.hpp"

using namespace lenet;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

namespace {

Floats random_weights(std::mt19937& random, int outputs, int inputs) {
  std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(inputs)));
  Floats values(static_cast<std::size_t>(outputs * inputs));
  for (float& value : values) value = normal(random);
  return values;
}

/// Convolution and 2x2 maximum.
Doubles convolve_and_pool(const Floats& weight, const Floats& bias, const Doubles& in, int side) {
  const int out_channels = static_cast<int>(bias.size()), kernel = kKernelSide;
  const int in_channels = static_cast<int>(in.size()) / (side * side);
  const int pool = (side - kernel + 1) / 2;
  Doubles out(static_cast<std::size_t>(out_channels * pool * pool), -INFINITY);
  for (int o = 0; o < out_channels; ++o) {
    for (int y = 0; y < 2 * pool; ++y) {
      for (int x = 0; x < 2 * pool; ++x) {
        double sum = bias[o];
        for (int i = 0; i < in_channels; ++i) {
          for (int tap = 0; tap < kernel * kernel; ++tap) {
            sum += static_cast<double>(weight[(o * in_channels + i) * kernel * kernel + tap]) *
                   in[(i * side + y + tap / kernel) * side + x + tap % kernel];
          }
        }
        double& largest = out[(o * pool + y / 2) * pool + x / 2];
        largest = std::max(largest, sum);
      }
    }
  }
  return out;
}

Doubles multiply(const Floats& weight, const Floats& bias, const Doubles& in) {
  Doubles out(bias.begin(), bias.end());
  for (std::size_t o = 0; o < out.size(); ++o) {
    for (std::size_t i = 0; i < in.size(); ++i) out[o] += weight[o * in.size() + i] * in[i];
  }
  return out;
}

double largest_difference(const Floats& got, const Doubles& expected) {
  double largest = got.size() == expected.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::fabs(got[i] - expected[i]);
    if (!(difference <= largest)) largest = difference;  // keeps a NaN
  }
  return largest;
}

std::map<std::string, Floats> layers_of(const Fused& fused, const Floats& image) {
  const auto traced = std::make_unique<FusedTrace>();
  fused.trace(image.data(), *traced);
  Floats probabilities(kClasses);
  fused.infer(image.data(), 1, probabilities.data());
  const auto values = [](const auto& of) { return Floats(std::begin(of), std::end(of)); };
  return {{"pool1", values(traced->pool1)},
          {"pool2", values(traced->pool2)},
          {"fc1", values(traced->fc1)},
          {"fc2", values(traced->fc2)},
          {"probabilities", probabilities}};
}

}  // namespace

int main() {
  std::mt19937 random(1);
  const Floats conv1 = random_weights(random, 20, 25), conv1_bias = random_weights(random, 20, 1);
  const Floats conv2 = random_weights(random, 50, 500), conv2_bias = random_weights(random, 50, 1);
  const Floats fc1 = random_weights(random, 500, 800), fc1_bias = random_weights(random, 500, 1);
  const Floats fc2 = random_weights(random, 10, 500), fc2_bias = random_weights(random, 10, 1);
  const Weights weights = {conv1.data(), conv1_bias.data(), conv2.data(), conv2_bias.data(),
                           fc1.data(),   fc1_bias.data(),   fc2.data(),   fc2_bias.data()};
  Floats image(kImagePixels);
  for (float& pixel : image) pixel = std::uniform_real_distribution<float>(0, 1)(random);

  std::map<std::string, Doubles> expected;
  const Doubles exact(image.begin(), image.end());
  expected["pool1"] = convolve_and_pool(conv1, conv1_bias, exact, kImageSide);
  expected["pool2"] = convolve_and_pool(conv2, conv2_bias, expected["pool1"], kPool1Side);
  expected["fc1"] = multiply(fc1, fc1_bias, expected["pool2"]);
  for (double& value : expected["fc1"]) value = std::max(value, 0.0);
  expected["fc2"] = multiply(fc2, fc2_bias, expected["fc1"]);
  Doubles probabilities = expected["fc2"];
  double total = 0;
  for (double& value : probabilities) total += value = std::exp(value);
  for (double& value : probabilities) value /= total;
  expected["probabilities"] = probabilities;

  bool right = true;
  for (const auto& [variant, tolerance] :
       {std::pair{Fused::Variant::kFloat32, 1e-5}, std::pair{Fused::Variant::kInt16, 1e-3}}) {
    const Fused fused(weights, 1, variant);
    for (const auto& [name, values] : layers_of(fused, image)) {
      const double difference = largest_difference(values, expected[name]);
      const bool close = difference <= tolerance;
      right = right && close;
      std::printf("%-4s %-7s %-13s differs by %.1e%s\n", fused.isa().c_str(),
                  variant == Fused::Variant::kInt16 ? "int16" : "float32", name.c_str(), difference,
                  close ? "" : ": WRONG");
    }
  }
  return right ? 0 : 1;
}
