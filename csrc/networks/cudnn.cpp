// One library call a step on one stream, as in cuda/cudnn.cpp. Two things differ. Where a ReLU
// follows a convolution, the bias, an addition and the ReLU are one call with it. And a layer that
// only a concatenation reads writes into the concatenation's output, so nothing is copied.
#include "networks/cudnn.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cuda/errors.hpp"
#include "cuda/float32.hpp"

namespace lenet::networks {
namespace {

using cuda::DeviceFloats;

// cuDNN and cuBLAS compute `output = alpha * operation(input) + beta * output`.
constexpr float kOne = 1.0f;
constexpr float kZero = 0.0f;

// Of a search for the fastest algorithm.
constexpr int kTimes = 4;
constexpr std::size_t kMostWorkspace = std::size_t{1} << 30;

void require_layers(const Graph& graph) {
  for (const Layer& layer : graph.layers()) {
    if (layer.kind == "embedding" || layer.kind == "norm") {
      throw Unsupported("cuDNN's classic API and cuBLAS do not have layer " + layer.name);
    }
  }
  for (const Layer& layer : graph.layers()) {
    if (layer.shape.size() != 2) continue;
    throw Unsupported("cuDNN is given images and vectors here, not the tokens of layer " +
                      layer.name);
  }
}

}  // namespace

AnyOnCudnn::AnyOnCudnn(const cuda::Session& session, const Graph& graph, Variant variant)
    : session_(session),
      graph_(graph),
      variant_(variant),
      inputs_(floats_of(graph[0].shape)),
      answers_(floats_of(graph.layers().back().shape)),
      values_(graph.layers().size()) {
  require_layers(graph);
  cuda::require_float32();
  LENET_CHECK(cudnnCreate(cudnn_.put()));
  LENET_CHECK(cudnnSetStream(cudnn_, stream_));
  LENET_CHECK(cublasCreate(cublas_.put()));
  LENET_CHECK(cublasSetStream(cublas_, stream_));
  LENET_CHECK(cublasSetWorkspace(cublas_, cublas_workspace_, cublas_workspace_.bytes()));
  LENET_CHECK(cudnnCreateActivationDescriptor(relu_.put()));
  LENET_CHECK(
      cudnnSetActivationDescriptor(relu_, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0.0));

  input_ = place(0);
  std::vector<std::size_t> left(values_.size());  // readers
  for (std::size_t number = 0; number < left.size(); ++number) {
    left[number] = graph.readers(number).size();
  }
  for (const Step& step : steps_of(graph)) {
    put(step);
    for (const std::size_t one : graph[step.layer].inputs) {
      if (--left[one] == 0) values_[one] = {};
    }
    if (step.added != 0) values_[step.added] = {};
  }
  answer_ = values_.back();
  if (workspace_bytes_ != 0) workspace_ = DeviceFloats((workspace_bytes_ + 3) / 4);

  const std::vector<float> blank(inputs_);
  std::vector<float> answer(answers_);
  infer(blank.data(), answer.data());  // it loads the kernels, which a capture must not
  if (variant_ == Variant::kCudaGraph) {
    launched_ = cuda::capture(stream_, [this] { enqueue(); });
    infer(blank.data(), answer.data());  // it brings the graph to the GPU
  }
}

void AnyOnCudnn::infer(const float* input, float* answer) {
  std::copy_n(input, inputs_, static_cast<float*>(host_input_));
  if (launched_) {
    LENET_CHECK(cudaGraphLaunch(launched_, stream_));
  } else {
    enqueue();
  }
  LENET_CHECK(cudaStreamSynchronize(stream_));
  std::copy_n(static_cast<const float*>(host_answer_), answers_, answer);
}

void AnyOnCudnn::enqueue() {
  LENET_CHECK(cudaMemcpyAsync(input_.values, host_input_, host_input_.bytes(),
                              cudaMemcpyHostToDevice, stream_));
  for (const auto& call : calls_) call();
  LENET_CHECK(cudaMemcpyAsync(host_answer_, answer_.values, host_answer_.bytes(),
                              cudaMemcpyDeviceToHost, stream_));
}

std::map<std::string, std::string> AnyOnCudnn::facts() const {
  auto facts = session_.facts(answer_.values);
  facts["math"] = "float32";
  facts["launch"] =
      launched_ ? "one CUDA graph" : std::to_string(calls_.size() + 2) + " calls on a stream";
  facts["workspace"] = std::to_string(workspace_.bytes()) + " bytes";
  std::string& convolutions = facts["convolutions"];
  for (const auto& [algorithm, count] : algorithms_) {
    if (!convolutions.empty()) convolutions += ", ";
    convolutions += std::to_string(count) + " by " + kAlgorithmNames[algorithm];
  }
  return facts;
}

// layers ------------------------------------------------------------------------------------------

void AnyOnCudnn::put(const Step& step) {
  const Layer& layer = graph_[step.layer];
  const std::string& kind = layer.kind;
  const Tensor x = values_[layer.inputs[0]],
               added = step.added != 0 ? values_[step.added] : Tensor{};
  const Tensor y = place(step.output);
  if (kind == "conv") {
    convolve(layer, step, x, added, y);
  } else if (kind == "fc") {
    connect(layer, x, y);
    if (step.added != 0) add(added, y);
    if (step.relu) rectify(y, y);
  } else if (kind == "pool" || kind == "mean") {
    pool(layer, x, y);
  } else if (kind == "relu") {
    rectify(x, y);
  } else if (kind == "softmax") {
    calls_.push_back([=] {
      LENET_CHECK(cudnnSoftmaxForward(cudnn_, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                      &kOne, x.shape, x.values, &kZero, y.shape, y.values));
    });
  } else if (kind == "add") {
    copy(x.values, y.values, floats_of(layer.shape));
    add(values_[layer.inputs[1]], y);
  } else if (kind == "concat") {
    concatenate(layer, y);
  } else {
    throw Unsupported("the builder on cuDNN has no layer of the kind " + kind);
  }
}

/// With a bias, an addition and a ReLU in one call where there is a ReLU: without one, cuDNN takes
/// them with one algorithm only.
void AnyOnCudnn::convolve(const Layer& layer, const Step& step, Tensor x, Tensor added, Tensor y) {
  const std::vector<int> kernel(layer.parameters[0].shape.begin(), layer.parameters[0].shape.end());
  const int pad = static_cast<int>(layer.pad), stride = static_cast<int>(layer.stride);
  const auto filter = std::make_shared<CudnnNetwork::FilterDescriptor>();
  LENET_CHECK(cudnnCreateFilterDescriptor(filter->put()));
  LENET_CHECK(cudnnSetFilter4dDescriptor(*filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, kernel[0],
                                         kernel[1], kernel[2], kernel[3]));
  const auto convolution = std::make_shared<CudnnNetwork::ConvolutionDescriptor>();
  LENET_CHECK(cudnnCreateConvolutionDescriptor(convolution->put()));
  LENET_CHECK(cudnnSetConvolution2dDescriptor(*convolution, pad, pad, stride, stride, 1, 1,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  LENET_CHECK(cudnnSetConvolutionMathType(*convolution, CUDNN_FMA_MATH));
  const Tensor weight = parameter(layer.parameters[0]), bias = parameter(layer.parameters[1]);
  const auto workspace_of = [=](cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(cudnn_, x.shape, *filter, *convolution, y.shape,
                                                   algorithm, bytes);
  };
  const Convolve fused = [=, z = step.added != 0 ? added : y,
                          times = step.added != 0 ? 1.0f : 0.0f](auto algorithm, auto& workspace) {
    return cudnnConvolutionBiasActivationForward(cudnn_, &kOne, x.shape, x.values, *filter,
                                                 weight.values, *convolution, algorithm, workspace,
                                                 workspace.bytes(), &times, z.shape, z.values,
                                                 bias.shape, bias.values, relu_, y.shape, y.values);
  };
  const Convolve alone = [=](auto algorithm, auto& workspace) {
    return cudnnConvolutionForward(cudnn_, &kOne, x.shape, x.values, *filter, weight.values,
                                   *convolution, algorithm, workspace, workspace.bytes(), &kZero,
                                   y.shape, y.values);
  };
  const Convolve& call = step.relu ? fused : alone;
  const auto algorithm = choose(workspace_of, call);
  std::size_t bytes = 0;
  LENET_CHECK(workspace_of(algorithm, &bytes));
  workspace_bytes_ = std::max(workspace_bytes_, bytes);
  ++algorithms_[algorithm];
  calls_.push_back([=] { LENET_CHECK(call(algorithm, workspace_)); });
  if (step.relu) return;
  add(bias, y);
  if (step.added != 0) add(added, y);
}

/// The algorithm named by hand, or the one that every GPU has where cuDNN lacks it here. With
/// "find" the fastest in the very call that is made later: cuDNN's own search measures a
/// convolution without its bias and ReLU, which may be fast where the call with them is slow or
/// refused.
cudnnConvolutionFwdAlgo_t AnyOnCudnn::choose(const WorkspaceOf& workspace_of,
                                             const Convolve& call) {
  std::size_t bytes = 0;
  if (variant_ != Variant::kFind) {
    constexpr auto kNamed = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    return cuda::is_not_supported(workspace_of(kNamed, &bytes))
               ? CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM
               : kNamed;
  }
  const cuda::Event begin = cuda::make_event(), end = cuda::make_event();
  std::optional<cudnnConvolutionFwdAlgo_t> fastest;
  float least = 0;
  for (int number = 0; number < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; ++number) {
    const auto algorithm = static_cast<cudnnConvolutionFwdAlgo_t>(number);
    if (workspace_of(algorithm, &bytes) != CUDNN_STATUS_SUCCESS || bytes > kMostWorkspace) continue;
    const DeviceFloats workspace((bytes + 4) / 4);
    for (int time = 0; time < kTimes; ++time) {  // the first also loads its kernels
      LENET_CHECK(cudaEventRecordWithFlags(begin, stream_, cudaEventRecordDefault));
      if (call(algorithm, workspace) != CUDNN_STATUS_SUCCESS) {
        cudaGetLastError();  // of a launch that failed: the next call would take it for its own
        break;
      }
      LENET_CHECK(cudaEventRecordWithFlags(end, stream_, cudaEventRecordDefault));
      LENET_CHECK(cudaStreamSynchronize(stream_));
      float took = 0;
      LENET_CHECK(cudaEventElapsedTime(&took, begin, end));
      if (time == 0 || (fastest && took >= least)) continue;
      fastest = algorithm;
      least = took;
    }
  }
  if (fastest) return *fastest;
  throw cuda::CallFailed("cuDNN runs no float32 algorithm for a convolution of this network");
}

/// cuBLAS counts by columns, so our row-major outputs x inputs is its transposed inputs x outputs.
void AnyOnCudnn::connect(const Layer& layer, Tensor x, Tensor y) {
  const Tensor weight = parameter(layer.parameters[0]), bias = parameter(layer.parameters[1]);
  const int outputs = static_cast<int>(layer.parameters[0].shape[0]),
            inputs = static_cast<int>(layer.parameters[0].shape[1]);
  calls_.push_back([=] {
    LENET_CHECK(cublasSgemv(cublas_, CUBLAS_OP_T, inputs, outputs, &kOne, weight.values, inputs,
                            x.values, 1, &kZero, y.values, 1));
  });
  add(bias, y);
}

void AnyOnCudnn::pool(const Layer& layer, Tensor x, Tensor y) {
  const bool mean = layer.kind == "mean";
  const Shape& given = graph_[layer.inputs[0]].shape;
  const int rows = static_cast<int>(mean ? given[1] : layer.side),
            columns = static_cast<int>(mean ? given[2] : layer.side),
            pad = static_cast<int>(layer.pad), stride = static_cast<int>(layer.stride);
  const auto pooling = std::make_shared<CudnnNetwork::PoolingDescriptor>();
  LENET_CHECK(cudnnCreatePoolingDescriptor(pooling->put()));
  LENET_CHECK(cudnnSetPooling2dDescriptor(
      *pooling, mean ? CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING : CUDNN_POOLING_MAX,
      CUDNN_NOT_PROPAGATE_NAN, rows, columns, pad, pad, stride, stride));
  calls_.push_back([=] {
    LENET_CHECK(
        cudnnPoolingForward(cudnn_, *pooling, &kOne, x.shape, x.values, &kZero, y.shape, y.values));
  });
}

void AnyOnCudnn::concatenate(const Layer& layer, Tensor y) {
  float* to = y.values;
  for (const std::size_t one : layer.inputs) {
    const std::int64_t floats = floats_of(graph_[one].shape);
    if (values_[one].values != to) copy(values_[one].values, to, floats);
    to += floats;
  }
}

void AnyOnCudnn::add(Tensor what, Tensor to) {
  calls_.push_back([=] {
    LENET_CHECK(cudnnAddTensor(cudnn_, &kOne, what.shape, what.values, &kOne, to.shape, to.values));
  });
}

void AnyOnCudnn::rectify(Tensor x, Tensor y) {
  calls_.push_back([=] {
    LENET_CHECK(
        cudnnActivationForward(cudnn_, relu_, &kOne, x.shape, x.values, &kZero, y.shape, y.values));
  });
}

void AnyOnCudnn::copy(const float* from, float* to, std::size_t floats) {
  calls_.push_back([=] {
    LENET_CHECK(
        cudaMemcpyAsync(to, from, floats * sizeof(float), cudaMemcpyDeviceToDevice, stream_));
  });
}

// memory ------------------------------------------------------------------------------------------

/// Where a layer's output goes. A part of a concatenation goes there at once.
AnyOnCudnn::Value AnyOnCudnn::place(std::size_t number) {
  Value& value = values_[number];
  if (value.values != nullptr) return value;
  const Shape& shape = graph_[number].shape;
  value.shape = describe(shape);
  const auto readers = graph_.readers(number);
  if (readers.size() == 1 && graph_[readers[0]].kind == "concat") {
    const Value whole = place(readers[0]);
    value.block = whole.block;
    value.values = whole.values;
    for (const std::size_t one : graph_[readers[0]].inputs) {
      if (one == number) break;
      value.values += floats_of(graph_[one].shape);
    }
  } else {
    value.block = pool_.take(floats_of(shape), [](std::size_t room) { return DeviceFloats(room); });
    value.values = *value.block;
  }
  return value;
}

cudnnTensorDescriptor_t AnyOnCudnn::describe(const Shape& shape) {
  const bool image = shape.size() == 3;
  const int rows = image ? static_cast<int>(shape[1]) : 1,
            columns = image ? static_cast<int>(shape[2]) : 1;
  auto& tensor = shapes_.emplace_back();
  LENET_CHECK(cudnnCreateTensorDescriptor(tensor.put()));
  LENET_CHECK(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1,
                                         static_cast<int>(shape[0]), rows, columns));
  return tensor;
}

/// A copy on the GPU; its descriptor is that of a bias.
AnyOnCudnn::Tensor AnyOnCudnn::parameter(const Parameter& from) {
  parameters_.emplace_back(stream_, from.values, floats_of(from.shape));
  return {describe({from.shape[0]}), parameters_.back()};
}

}  // namespace lenet::networks
