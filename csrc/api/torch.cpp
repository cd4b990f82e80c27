// LeNet in PyTorch's C++ API: the same module, without Python.
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>

#include "api/answer.hpp"

namespace lenet {
namespace {

struct LeNet : torch::nn::Module {
  torch::nn::Conv2d conv1{register_module("conv1", torch::nn::Conv2d(1, 20, 5))};
  torch::nn::Conv2d conv2{register_module("conv2", torch::nn::Conv2d(20, 50, 5))};
  torch::nn::Linear fc1{register_module("fc1", torch::nn::Linear(50 * 4 * 4, 500))};
  torch::nn::Linear fc2{register_module("fc2", torch::nn::Linear(500, 10))};

  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(conv1(x), 2);  // conv1 and pool1
    x = torch::max_pool2d(conv2(x), 2);  // conv2 and pool2
    x = torch::relu(fc1(torch::flatten(x, 1)));
    return torch::softmax(fc2(x), 1);  // fc2 and softmax
  }
};

// load
template <class Layer>
void load(Layer& layer, const float* weight, const float* bias) {
  const auto from = [](const torch::Tensor& parameter, const float* values) {
    return torch::from_blob(const_cast<float*>(values), parameter.sizes()).clone();
  };
  layer->weight.set_data(from(layer->weight, weight));
  layer->bias.set_data(from(layer->bias, bias));
}

}  // namespace

Answer build(const Weights& weights, const std::string&, int threads) {
  at::set_num_threads(threads);
  auto network = std::make_shared<LeNet>();
  load(network->conv1, weights.conv1_weight, weights.conv1_bias);  // load
  load(network->conv2, weights.conv2_weight, weights.conv2_bias);  // load
  load(network->fc1, weights.fc1_weight, weights.fc1_bias);        // load
  load(network->fc2, weights.fc2_weight, weights.fc2_bias);        // load
  for (auto* layer : {&network->conv1, &network->conv2}) {         // oneDNN's layout
    auto& weight = (*layer)->weight;
    weight.set_data(weight.contiguous(torch::MemoryFormat::ChannelsLast));
  }
  network->eval();
  return [network](const float* images, std::int64_t count, float* probabilities) {
    const torch::InferenceMode guard;
    auto x = torch::from_blob(const_cast<float*>(images), {count, 1, 28, 28});
    x = network->forward(x).contiguous();
    std::copy_n(x.data_ptr<float>(), x.numel(), probabilities);
  };
}

}  // namespace lenet
