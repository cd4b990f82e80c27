// LeNet in TensorFlow's C++ API: the graph in a session, computed in the thread that calls.
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "api/answer.hpp"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/ops/standard_ops.h"
#include "tensorflow/core/public/session.h"

namespace lenet {
namespace {

namespace tf = tensorflow;
namespace ops = tensorflow::ops;
using Sizes = std::initializer_list<std::int64_t>;

void check(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

struct Graph {
  tf::Scope scope = tf::Scope::NewRootScope();

  // load
  tf::Output constant(const float* values, Sizes shape) {
    tf::Tensor tensor(tf::DT_FLOAT, tf::TensorShape(shape));
    std::memcpy(tensor.data(), values, tensor.TotalBytes());
    return ops::Const(scope, tensor);
  }
  /// Outputs first to outputs last: OIHW to HWIO.
  // load
  tf::Output turned(const float* values, Sizes shape) {
    return ops::Transpose(scope, constant(values, shape), {2, 3, 1, 0});
  }
};

tf::GraphDef lenet_of(const Weights& weights) {
  Graph g;
  const auto& s = g.scope;
  const auto conv1_weight = g.turned(weights.conv1_weight, {20, 1, 5, 5});
  const auto conv1_bias = g.constant(weights.conv1_bias, {20});
  const auto conv2_weight = g.turned(weights.conv2_weight, {50, 20, 5, 5});
  const auto conv2_bias = g.constant(weights.conv2_bias, {50});
  const auto fc1_weight = g.turned(weights.fc1_weight, {500, 50, 4, 4});
  const auto fc1_bias = g.constant(weights.fc1_bias, {500});
  const auto fc2_weight = ops::Transpose(s, g.constant(weights.fc2_weight, {10, 500}), {1, 0});
  const auto fc2_bias = g.constant(weights.fc2_bias, {10});

  tf::Output x = ops::Placeholder(s.WithOpName("image"), tf::DT_FLOAT,
                                  ops::Placeholder::Shape(tf::PartialTensorShape({-1, 28, 28, 1})));
  x = ops::BiasAdd(s, ops::Conv2D(s, x, conv1_weight, {1, 1, 1, 1}, "VALID"), conv1_bias);
  x = ops::MaxPool(s, x, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");  // pool1
  x = ops::BiasAdd(s, ops::Conv2D(s, x, conv2_weight, {1, 1, 1, 1}, "VALID"), conv2_bias);
  x = ops::MaxPool(s, x, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");  // pool2
  x = ops::Reshape(s, x, {-1, 800});                            // fc1
  x = ops::BiasAdd(s, ops::MatMul(s, x, ops::Reshape(s, fc1_weight, {800, 500})), fc1_bias);
  x = ops::BiasAdd(s, ops::MatMul(s, ops::Relu(s, x), fc2_weight), fc2_bias);
  ops::Softmax(s.WithOpName("probabilities"), x);
  tf::GraphDef graph;
  check(s.ToGraphDef(&graph));
  return graph;
}

}  // namespace

Answer build(const Weights& weights, const std::string&, int threads) {
  tf::SessionOptions options;
  options.config.set_intra_op_parallelism_threads(threads);
  options.config.set_inter_op_parallelism_threads(1);
  tf::Session* opened = nullptr;
  check(tf::NewSession(options, &opened));
  const std::shared_ptr<tf::Session> session(opened);
  check(session->Create(lenet_of(weights)));
  tf::CallableOptions call;
  call.add_feed("image:0");
  call.add_fetch("probabilities:0");
  call.mutable_run_options()->set_inter_op_thread_pool(-1);  // in the thread that calls
  tf::Session::CallableHandle handle;
  check(session->MakeCallable(call, &handle));
  return [session, handle](const float* images, std::int64_t count, float* probabilities) {
    tf::Tensor image(tf::DT_FLOAT, tf::TensorShape({count, 28, 28, 1}));
    std::memcpy(image.data(), images, image.TotalBytes());
    std::vector<tf::Tensor> answer;
    check(session->RunCallable(handle, {image}, &answer, nullptr));
    std::memcpy(probabilities, answer.at(0).data(), answer[0].TotalBytes());
  };
}

}  // namespace lenet
