// The GPU backends without Python: every variant against the network written out in double, first
// and hundredth call, one thread and three. Ends with 0 where all of it is right. The tests build
// it with faults planted in a backend; bench/gpu.sh runs it under compute-sanitizer.
//
//   driver BACKEND[:VARIANT]...
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bindings/gpu_backends.hpp"
#include "cuda/nvrtc.hpp"
#include "lenet.hpp"

/// The double's (machine.hpp), absent on a real GPU.
extern "C" __attribute__((weak)) int cuda_double_live();
extern "C" __attribute__((weak)) int cuda_double_residents();
extern "C" __attribute__((weak)) int cuda_double_calls(const char* call);
extern "C" __attribute__((weak)) int cuda_double_pushed();

namespace {

using lenet::Layer;
using Values = std::vector<double>;

struct Parameters {
  std::mt19937 random{3};
  std::vector<float> make(int count, float scale) {
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(count);
    for (float& value : values) value = normal(random);
    return values;
  }
  std::vector<float> conv1_weight = make(20 * 25, 0.2f), conv1_bias = make(20, 0.2f);
  std::vector<float> conv2_weight = make(50 * 500, 0.04f), conv2_bias = make(50, 0.2f);
  std::vector<float> fc1_weight = make(500 * 800, 0.03f), fc1_bias = make(500, 0.2f);
  std::vector<float> fc2_weight = make(10 * 500, 0.05f), fc2_bias = make(10, 0.2f);

  lenet::Weights weights() const {
    return {conv1_weight.data(), conv1_bias.data(), conv2_weight.data(), conv2_bias.data(),
            fc1_weight.data(),   fc1_bias.data(),   fc2_weight.data(),   fc2_bias.data()};
  }
};

Values convolve(const Values& in, int channels, int side, const std::vector<float>& weight,
                const std::vector<float>& bias) {
  const int out_side = side - 4;
  Values out;
  for (std::size_t k = 0; k < bias.size(); ++k) {
    for (int y = 0; y < out_side; ++y) {
      for (int x = 0; x < out_side; ++x) {
        double sum = bias[k];
        for (int c = 0; c < channels; ++c) {
          for (int tap = 0; tap < 25; ++tap) {
            sum += in[(c * side + y + tap / 5) * side + x + tap % 5] *
                   double(weight[(k * channels + c) * 25 + tap]);
          }
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

Values pool(const Values& in, int side) {
  Values out;
  for (std::size_t row = 0; row < in.size() / side; row += 2) {
    for (int x = 0; x < side; x += 2) {
      const double* square = &in[row * side + x];
      out.push_back(
          std::fmax(std::fmax(square[0], square[1]), std::fmax(square[side], square[side + 1])));
    }
  }
  return out;
}

Values connect(const Values& in, const std::vector<float>& weight, const std::vector<float>& bias) {
  Values out(bias.begin(), bias.end());
  for (std::size_t o = 0; o < out.size(); ++o) {
    for (std::size_t i = 0; i < in.size(); ++i) out[o] += double(weight[o * in.size() + i]) * in[i];
  }
  return out;
}

std::vector<std::pair<std::string, Values>> reference(const Parameters& p,
                                                      const std::vector<float>& image) {
  const Values conv1 = convolve({image.begin(), image.end()}, 1, 28, p.conv1_weight, p.conv1_bias);
  const Values pool1 = pool(conv1, 24);
  const Values conv2 = convolve(pool1, 20, 12, p.conv2_weight, p.conv2_bias);
  const Values pool2 = pool(conv2, 8);
  Values fc1 = connect(pool2, p.fc1_weight, p.fc1_bias);
  for (double& value : fc1) value = std::fmax(value, 0);
  const Values fc2 = connect(fc1, p.fc2_weight, p.fc2_bias);
  Values probabilities = fc2;
  double sum = 0;
  for (double& value : probabilities) sum += value = std::exp(value);
  for (double& value : probabilities) value /= sum;
  return {{"conv1", conv1},
          {"pool1", pool1},
          {"conv2", conv2},
          {"pool2", pool2},
          {"fc1", fc1},
          {"fc2", fc2},
          {"probabilities", probabilities}};
}

void require_close(const std::string& what, const float* found, const Values& expected,
                   double allowed) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::fabs(found[i] - expected[i]) <= allowed)) {  // NaN is not close
      throw std::runtime_error(what + "[" + std::to_string(i) + "] is " + std::to_string(found[i]) +
                               ", expected " + std::to_string(expected[i]));
    }
  }
}

template <class Backend>
void examine(const Backend& backend, const Parameters& parameters, double allowed,
             int calls = 100) {
  std::vector<std::vector<float>> images;
  std::vector<Values> answers;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> pixel(0, 1);
  for (int i = 0; i < 3; ++i) {
    images.emplace_back(lenet::kImagePixels);
    for (float& value : images.back()) value = pixel(random);
    const auto layers = reference(parameters, images.back());
    answers.push_back(layers.back().second);
    for (const Layer& layer : backend.layers(images.back().data())) {
      for (const auto& [name, expected] : layers) {
        if (name == layer.name) require_close(name, layer.values.data(), expected, 10 * allowed);
      }
    }
  }
  const auto ask = [&](int calls) {
    cudaSetDevice(9999);  // leaves an error on this thread, as other code may
    for (int call = 0; call < calls; ++call) {
      float ten[lenet::kClasses];
      backend.infer(images[call % 3].data(), 1, ten);
      require_close("call " + std::to_string(call), ten, answers[call % 3], allowed);
    }
  };
  const auto detours = [] {
    return cuda_double_calls ? cuda_double_calls("copy of memory that is not pinned") : 0;
  };
  const int before = detours();
  ask(calls);
  if (detours() != before) throw std::runtime_error("a call copies memory that is not pinned");
  std::vector<std::thread> threads;
  std::vector<std::string> failures(3);
  for (std::string& failure : failures) {
    threads.emplace_back([&] {
      try {
        ask(calls / 5);
      } catch (const std::exception& error) {
        failure = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) {
    if (!failure.empty()) throw std::runtime_error("in a thread: " + failure);
  }
  if (backend.describe().at("proof").empty()) throw std::runtime_error("no proof");
  if (backend.profile(images[0].data(), 3).at("total_us") <= 0)
    throw std::runtime_error("no profile");
}

/// A kernel that stays does so while it is called, but not for ever, and leaves when it is not.
void examine_residence(const lenet::PersistentOnGpu& backend) {
  using Clock = std::chrono::steady_clock;
  const std::vector<float> image(lenet::kImagePixels);
  float ten[lenet::kClasses];
  const auto launches = [] { return cuda_double_calls("cudaLaunchKernel"); };
  for (int call = 0; call < 3; ++call) backend.infer(image.data(), 1, ten);
  if (launches() > 2) throw std::runtime_error("launched for every call");

  for (const auto start = Clock::now(); cuda_double_residents() != 0;) {
    if (Clock::now() - start > std::chrono::seconds(5)) throw std::runtime_error("stays uncalled");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const int before = launches();
  for (const auto start = Clock::now(); launches() < before + 2;) {
    if (Clock::now() - start > std::chrono::seconds(20)) throw std::runtime_error("never leaves");
    backend.infer(image.data(), 1, ten);
  }
}

void examine(const std::string& name, const Parameters& parameters) {
  const std::size_t colon = name.find(':');
  const std::string variant = colon == std::string::npos ? "" : name.substr(colon + 1);
  const double allowed = variant == "tf32" ? 5e-3 : 1e-5;
  if (variant == "graph_api" || variant == "graph_api_cudagraph") {
    const std::string of_it = variant == "graph_api" ? "" : "cudagraph";
    examine(lenet::CudnnGraphApi(parameters.weights(), 1,
                                 lenet::variant_of<lenet::CudnnGraphApiNetwork::Variant>(of_it)),
            parameters, allowed);
  } else if (name.substr(0, colon) == "cudnn") {
    examine(lenet::Cudnn(parameters.weights(), 1,
                         lenet::variant_of<lenet::CudnnNetwork::Variant>(variant)),
            parameters, allowed);
  } else if (name == "cuda:persistent") {
    const lenet::PersistentOnGpu backend(parameters.weights(), 1);
    if (cuda_double_residents) examine_residence(backend);
    examine(backend, parameters, allowed, 20);
  } else if (name.substr(0, colon) == "cuda") {
    examine(lenet::FusedOnGpu(parameters.weights(), 1,
                              lenet::variant_of<lenet::FusedNetwork::Variant>(variant)),
            parameters, allowed);
  } else {
    throw std::runtime_error("no such backend");
  }
}

}  // namespace

int main(int count, char** names) {
  const Parameters parameters;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) lenet::cuda::keep_kernels_in(cache);
  for (int i = 1; i < count; ++i) {
    try {
      examine(names[i], parameters);
      if (cuda_double_live && cuda_double_live() != 0) throw std::runtime_error("a handle leaked");
      if (cuda_double_pushed && cuda_double_pushed() != 0) throw std::runtime_error("another GPU");
      std::printf("%s: right\n", names[i]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", names[i], error.what());
      return 1;
    }
  }
}
