// LeNet on cuDNN's graph API, the one that came with cuDNN 8: one describes a graph of operations,
// cuDNN lists the engines that can run it, best first, and one of them becomes an execution plan.
// A convolution and its bias are one graph, so one plan and one call, where `cudnn` needs two.
//
//   1  descriptors     everything is made alike: create, set attributes, finalize
//   2  graphs          convolution + bias, and max pooling
//   3  plans           the first engine that keeps to float32
//   4  the network     plans, buffers and the pointers of a call, all made once
//   5  one image       copy in, ten calls, copy out, wait
//
// It is written against <cudnn.h>, not against NVIDIA's header-only C++ layer over it: that would
// be shorter, but show less, and it ends in these same calls.
#include "cuda/cudnn_frontend.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <list>

#include "cuda/errors.hpp"
#include "cuda/owners.hpp"
#include "cuda/session.hpp"

namespace lenet {
namespace {

using cuda::DeviceFloats;
using cuda::Owner;
using cuda::PinnedFloats;

// 1  descriptors ----------------------------------------------------------------------------------

using CudnnHandle = Owner<cudnnHandle_t, cudnnDestroy>;
using CublasHandle = Owner<cublasHandle_t, cublasDestroy>;
using Descriptor = Owner<cudnnBackendDescriptor_t, cudnnBackendDestroyDescriptor>;

Descriptor create(cudnnBackendDescriptorType_t type) {
  Descriptor descriptor;
  LENET_CHECK(cudnnBackendCreateDescriptor(type, descriptor.put()));
  return descriptor;
}

// What cuDNN calls the type of an attribute. (Of pointers, which C++ does not convert silently.)
constexpr auto type_of(const cudnnHandle_t*) { return CUDNN_TYPE_HANDLE; }
constexpr auto type_of(const cudnnBackendDescriptor_t*) { return CUDNN_TYPE_BACKEND_DESCRIPTOR; }
constexpr auto type_of(const bool*) { return CUDNN_TYPE_BOOLEAN; }
constexpr auto type_of(const float*) { return CUDNN_TYPE_FLOAT; }
constexpr auto type_of(float* const*) { return CUDNN_TYPE_VOID_PTR; }
constexpr auto type_of(const std::int64_t*) { return CUDNN_TYPE_INT64; }
constexpr auto type_of(const cudnnDataType_t*) { return CUDNN_TYPE_DATA_TYPE; }
constexpr auto type_of(const cudnnConvolutionMode_t*) { return CUDNN_TYPE_CONVOLUTION_MODE; }
constexpr auto type_of(const cudnnPointwiseMode_t*) { return CUDNN_TYPE_POINTWISE_MODE; }
constexpr auto type_of(const cudnnResampleMode_t*) { return CUDNN_TYPE_RESAMPLE_MODE; }
constexpr auto type_of(const cudnnPaddingMode_t*) { return CUDNN_TYPE_PADDING_MODE; }
constexpr auto type_of(const cudnnBackendHeurMode_t*) { return CUDNN_TYPE_HEUR_MODE; }

template <class T>
void set_array(const Descriptor& descriptor, cudnnBackendAttributeName_t name, const T* values,
               std::size_t count) {
  LENET_CHECK(cudnnBackendSetAttribute(descriptor, name, type_of(values),
                                       static_cast<std::int64_t>(count), values));
}

template <class T>
void set(const Descriptor& descriptor, cudnnBackendAttributeName_t name, const T& value) {
  set_array(descriptor, name, &value, 1);
}

template <class T>
void set_list(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
              std::initializer_list<T> values) {
  set_array(descriptor, name, values.begin(), values.size());
}

void set_pair(const Descriptor& descriptor, cudnnBackendAttributeName_t name, std::int64_t both) {
  set_list<std::int64_t>(descriptor, name, {both, both});
}

Descriptor finalized(Descriptor descriptor) {
  LENET_CHECK(cudnnBackendFinalize(descriptor));
  return descriptor;
}

// 2  graphs ---------------------------------------------------------------------------------------

/// The tensors of a graph by number: operations that name the same one are connected by it.
enum Tensor : std::int64_t { kInput = 1, kWeight, kBias, kOutput, kSum };

/// Operations, and all that they are made of: it has to live as long as they do.
struct Graph {
  cudnnBackendDescriptor_t keep(Descriptor descriptor) {
    return parts.emplace_back(finalized(std::move(descriptor)));
  }

  std::list<Descriptor> parts;
  Descriptor operations = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
};

/// Of floats, row by row: images x channels x height x width, or outputs x inputs x side x side.
/// A virtual tensor is what passes between two operations of a graph and never lies in memory.
Descriptor describe_tensor(Tensor id, std::int64_t n, std::int64_t c, std::int64_t side,
                           bool is_virtual = false) {
  Descriptor tensor = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  set<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 16);
  set_list<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, side, side});
  set_list<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_STRIDES,
                         {c * side * side, side * side, side, 1});
  set(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  return tensor;
}

/// No padding, stride 1. Cross-correlation is what every network calls a convolution; what
/// cuDNN calls CUDNN_CONVOLUTION flips the kernel.
Descriptor describe_convolution() {
  Descriptor convolution = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set<std::int64_t>(convolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
  set(convolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  set(convolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  set_pair(convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0);
  set_pair(convolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0);
  set_pair(convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, 1);
  set_pair(convolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1);
  return convolution;
}

Descriptor describe_addition() {
  Descriptor addition = create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(addition, CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
  set(addition, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  return addition;
}

Descriptor describe_max_pooling() {
  Descriptor pooling = create(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
  set<std::int64_t>(pooling, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, 2);
  set(pooling, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_RESAMPLE_MAXPOOL);
  set(pooling, CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_DATA_FLOAT);
  set(pooling, CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_NEG_INF_PAD);
  set_pair(pooling, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 2);
  set_pair(pooling, CUDNN_ATTR_RESAMPLE_STRIDES, 2);
  set_pair(pooling, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 0);
  set_pair(pooling, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 0);
  return pooling;
}

/// output = convolution(input, weight) + bias, the sum of the convolution staying on the way.
Graph convolve_and_add_bias(int inputs, int side, int outputs) {
  const int out_side = side - kKernelSide + 1;
  Graph graph;
  const auto input = graph.keep(describe_tensor(kInput, 1, inputs, side));
  const auto weight = graph.keep(describe_tensor(kWeight, outputs, inputs, kKernelSide));
  const auto bias = graph.keep(describe_tensor(kBias, 1, outputs, 1));
  const auto output = graph.keep(describe_tensor(kOutput, 1, outputs, out_side));
  const auto sum = graph.keep(describe_tensor(kSum, 1, outputs, out_side, true));

  Descriptor convolve = create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      graph.keep(describe_convolution()));
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, input);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, weight);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, sum);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f);
  set(convolve, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f);

  Descriptor add = create(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, graph.keep(describe_addition()));
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, bias);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, output);

  set_list(graph.operations, CUDNN_ATTR_OPERATIONGRAPH_OPS,
           {graph.keep(std::move(convolve)), graph.keep(std::move(add))});
  return graph;
}

/// A graph of its own: cuDNN has no engine that pools in the same plan as it convolves.
Graph pool(int channels, int side) {
  Graph graph;
  Descriptor pool = create(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  set(pool, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, graph.keep(describe_max_pooling()));
  set(pool, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC,
      graph.keep(describe_tensor(kInput, 1, channels, side)));
  set(pool, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC,
      graph.keep(describe_tensor(kOutput, 1, channels, side / 2)));
  set(graph.operations, CUDNN_ATTR_OPERATIONGRAPH_OPS, graph.keep(std::move(pool)));
  return graph;
}

// 3  plans ----------------------------------------------------------------------------------------

/// The ways to run a graph that cuDNN lists, the one that it guesses to be the fastest first.
std::vector<Descriptor> list_configurations(const Graph& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set<cudnnBackendDescriptor_t>(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                graph.operations);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (cudnnBackendFinalize(heuristics) != CUDNN_STATUS_SUCCESS) return {};  // none in this mode

  std::int64_t count = 0;
  LENET_CHECK(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> to_fill;
  for (std::int64_t i = 0; i < count; ++i) {
    configurations.push_back(create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    to_fill.push_back(configurations.back());
  }
  LENET_CHECK(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                       to_fill.data()));
  configurations.resize(static_cast<std::size_t>(count));  // it may write fewer than it announced
  return configurations;
}

Descriptor engine_of(const Descriptor& configuration) {
  Descriptor engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::int64_t count = 0;
  LENET_CHECK(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, engine.put()));
  return engine;
}

std::int64_t read_integer(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  std::int64_t value = 0, count = 0;
  LENET_CHECK(cudnnBackendGetAttribute(descriptor, name, CUDNN_TYPE_INT64, 1, &count, &value));
  return value;
}

/// On floats, an engine that uses tensor cores rounds them to the 10 bits of TF32, and there is no
/// math mode to forbid it: in this API one reads what each engine notes of itself.
bool keeps_to_float32(const Descriptor& engine) {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes;
  std::int64_t count = 0;
  LENET_CHECK(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                       CUDNN_TYPE_NUMERICAL_NOTE, notes.size(), &count,
                                       notes.data()));
  return std::none_of(notes.begin(), notes.begin() + count, [](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ||
           note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
           note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
  });
}

/// A graph with the engine that runs it.
struct Plan {
  Plan(cudnnHandle_t handle, const char* name, Graph described);

  Graph graph;
  Descriptor configuration, executable;
  std::int64_t engine = 0;
  std::size_t workspace_bytes = 0;
};

/// Heuristic A knows the engines that are fast, the fallback those that merely work, pooling's
/// among them. That an engine is listed does not mean that it can be built.
Plan::Plan(cudnnHandle_t handle, const char* name, Graph described) : graph(std::move(described)) {
  set(graph.operations, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  LENET_CHECK(cudnnBackendFinalize(graph.operations));
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& listed : list_configurations(graph, mode)) {
      const Descriptor candidate = engine_of(listed);
      if (!keeps_to_float32(candidate)) continue;
      Descriptor plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
      set<cudnnBackendDescriptor_t>(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, listed);
      if (cudnnBackendFinalize(plan) != CUDNN_STATUS_SUCCESS) continue;
      executable = std::move(plan);
      configuration = std::move(listed);
      engine = read_integer(candidate, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
      workspace_bytes = static_cast<std::size_t>(
          read_integer(executable, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
      return;
    }
  }
  throw cuda::Unavailable(std::string("this cuDNN has no float32 engine for ") + name +
                          " on this GPU; mend it with: pip install --upgrade nvidia-cudnn-cu" +
                          std::to_string(CUDART_VERSION / 1000));
}

/// The pointers that a call gives to a plan: each tensor's by its number, and the workspace.
Descriptor bind(std::initializer_list<std::int64_t> tensors, std::initializer_list<float*> pointers,
                float* workspace) {
  Descriptor pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set_list(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, tensors);
  set_list(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers);
  set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  return finalized(std::move(pack));
}

// 4  the network ----------------------------------------------------------------------------------

// What has no graph here is called as in `cudnn`, with descriptors of the classic API: cuBLAS's
// products, and after them bias, ReLU and softmax on one row.
using Row = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using Activation = Owner<cudnnActivationDescriptor_t, cudnnDestroyActivationDescriptor>;

constexpr float kOne = 1.0f;
constexpr float kZero = 0.0f;

Row describe_row(int outputs) {
  Row row;
  LENET_CHECK(cudnnCreateTensorDescriptor(row.put()));
  LENET_CHECK(
      cudnnSetTensor4dDescriptor(row, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, outputs, 1, 1));
  return row;
}

Activation describe_relu() {
  Activation relu;
  LENET_CHECK(cudnnCreateActivationDescriptor(relu.put()));
  LENET_CHECK(
      cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0.0));
  return relu;
}

CudnnHandle open_cudnn(cudaStream_t stream) {
  CudnnHandle cudnn;
  LENET_CHECK(cudnnCreate(cudnn.put()));
  LENET_CHECK(cudnnSetStream(cudnn, stream));
  return cudnn;
}

struct FullyConnected {
  FullyConnected(int inputs, int outputs, const float* weights, const float* biases)
      : inputs(inputs),
        outputs(outputs),
        row(describe_row(outputs)),
        weight(weights, std::size_t(outputs) * inputs),
        bias(biases, outputs) {}

  int inputs, outputs;
  Row row;
  DeviceFloats weight, bias;
};

}  // namespace

struct CudnnFrontend::Network {
  explicit Network(const Weights& weights);

  void answer(const float* pixels, float* ten);
  void copy_in();
  void compute();
  void copy_out();
  void execute(const Plan& plan, const Descriptor& pointers);
  void connect(const FullyConnected& layer, const DeviceFloats& input, DeviceFloats& output);

  cuda::Session session;
  cudaStream_t stream = session.stream();
  CudnnHandle cudnn = open_cudnn(stream);
  CublasHandle cublas;

  DeviceFloats conv1_weight, conv1_bias, conv2_weight, conv2_bias;
  FullyConnected fc1, fc2;
  Activation relu = describe_relu();

  PinnedFloats host_image{kImagePixels}, host_probabilities{kClasses};
  DeviceFloats image{kImagePixels};
  DeviceFloats conv1_out{kConv1Channels * kConv1Side * kConv1Side};
  DeviceFloats pool1_out{kConv1Channels * kPool1Side * kPool1Side};
  DeviceFloats conv2_out{kConv2Channels * kConv2Side * kConv2Side};
  DeviceFloats pool2_out{kFc1Inputs};
  DeviceFloats fc1_out{kFc1Outputs}, fc2_out{kClasses}, probabilities{kClasses};

  Plan conv1{cudnn, "conv1", convolve_and_add_bias(1, kImageSide, kConv1Channels)};
  Plan pool1{cudnn, "pool1", pool(kConv1Channels, kConv1Side)};
  Plan conv2{cudnn, "conv2", convolve_and_add_bias(kConv1Channels, kPool1Side, kConv2Channels)};
  Plan pool2{cudnn, "pool2", pool(kConv2Channels, kConv2Side)};
  DeviceFloats workspace, cublas_workspace;
  Descriptor conv1_pointers, pool1_pointers, conv2_pointers, pool2_pointers;
};

CudnnFrontend::Network::Network(const Weights& w)
    : conv1_weight(w.conv1_weight, kConv1Channels * kKernelSide * kKernelSide),
      conv1_bias(w.conv1_bias, kConv1Channels),
      conv2_weight(w.conv2_weight, kConv2Channels * kConv1Channels * kKernelSide * kKernelSide),
      conv2_bias(w.conv2_bias, kConv2Channels),
      fc1(kFc1Inputs, kFc1Outputs, w.fc1_weight, w.fc1_bias),
      fc2(kFc1Outputs, kClasses, w.fc2_weight, w.fc2_bias) {
  const std::size_t bytes = std::max(
      {conv1.workspace_bytes, pool1.workspace_bytes, conv2.workspace_bytes, pool2.workspace_bytes});
  if (bytes != 0) workspace = DeviceFloats((bytes + 3) / 4);
  conv1_pointers = bind({kInput, kWeight, kBias, kOutput},
                        {image, conv1_weight, conv1_bias, conv1_out}, workspace);
  pool1_pointers = bind({kInput, kOutput}, {conv1_out, pool1_out}, workspace);
  conv2_pointers = bind({kInput, kWeight, kBias, kOutput},
                        {pool1_out, conv2_weight, conv2_bias, conv2_out}, workspace);
  pool2_pointers = bind({kInput, kOutput}, {conv2_out, pool2_out}, workspace);

  LENET_CHECK(cublasCreate(cublas.put()));
  LENET_CHECK(cublasSetStream(cublas, stream));
  LENET_CHECK(cublasSetMathMode(cublas, CUBLAS_DEFAULT_MATH));  // float32, no TF32
  cublas_workspace = DeviceFloats((4 << 20) / sizeof(float));
  LENET_CHECK(cublasSetWorkspace(cublas, cublas_workspace, cublas_workspace.bytes()));

  const std::vector<float> blank(kImagePixels);  // the first call loads the kernels
  float ten[kClasses];
  session.run([&] { answer(blank.data(), ten); });
}

// 5  one image ------------------------------------------------------------------------------------

void CudnnFrontend::Network::answer(const float* pixels, float* ten) {
  std::copy_n(pixels, kImagePixels, static_cast<float*>(host_image));
  copy_in();
  compute();
  copy_out();
  LENET_CHECK(cudaStreamSynchronize(stream));
  std::copy_n(static_cast<const float*>(host_probabilities), kClasses, ten);
}

void CudnnFrontend::Network::copy_in() {
  LENET_CHECK(
      cudaMemcpyAsync(image, host_image, host_image.bytes(), cudaMemcpyHostToDevice, stream));
}

void CudnnFrontend::Network::compute() {
  execute(conv1, conv1_pointers);
  execute(pool1, pool1_pointers);
  execute(conv2, conv2_pointers);
  execute(pool2, pool2_pointers);
  connect(fc1, pool2_out, fc1_out);
  LENET_CHECK(
      cudnnActivationForward(cudnn, relu, &kOne, fc1.row, fc1_out, &kZero, fc1.row, fc1_out));
  connect(fc2, fc1_out, fc2_out);
  LENET_CHECK(cudnnSoftmaxForward(cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne,
                                  fc2.row, fc2_out, &kZero, fc2.row, probabilities));
}

void CudnnFrontend::Network::copy_out() {
  LENET_CHECK(cudaMemcpyAsync(host_probabilities, probabilities, host_probabilities.bytes(),
                              cudaMemcpyDeviceToHost, stream));
}

void CudnnFrontend::Network::execute(const Plan& plan, const Descriptor& pointers) {
  LENET_CHECK(cudnnBackendExecute(cudnn, plan.executable, pointers));
}

/// cuBLAS counts by columns, so our row-major outputs x inputs is its transposed inputs x outputs.
void CudnnFrontend::Network::connect(const FullyConnected& layer, const DeviceFloats& input,
                                     DeviceFloats& output) {
  LENET_CHECK(cublasSgemv(cublas, CUBLAS_OP_T, layer.inputs, layer.outputs, &kOne, layer.weight,
                          layer.inputs, input, 1, &kZero, output, 1));
  LENET_CHECK(cudnnAddTensor(cudnn, &kOne, layer.row, layer.bias, &kOne, layer.row, output));
}

CudnnFrontend::CudnnFrontend(const Weights& weights, int /*threads*/)
    : network_(cuda::make_in_this_process<Network>(weights)) {}

void CudnnFrontend::infer(const float* images, std::size_t count, float* probabilities) const {
  network_->session.run([&] {
    for (std::size_t i = 0; i < count; ++i) {
      network_->answer(images + i * kImagePixels, probabilities + i * kClasses);
    }
  });
}

std::vector<Layer> CudnnFrontend::layers(const float* image) const {
  Network& n = *network_;
  const auto read = [](const char* name, const DeviceFloats& values) {
    Layer layer{name, std::vector<float>(values.count())};
    LENET_CHECK(cudaMemcpy(layer.values.data(), values, values.bytes(), cudaMemcpyDeviceToHost));
    return layer;
  };
  std::vector<Layer> layers;
  n.session.run([&] {
    float ten[kClasses];
    n.answer(image, ten);
    layers = {read("conv1", n.conv1_out),
              read("pool1", n.pool1_out),
              read("conv2", n.conv2_out),
              read("pool2", n.pool2_out),
              read("fc1", n.fc1_out),
              read("fc2", n.fc2_out),
              read("probabilities", n.probabilities)};
  });
  return layers;
}

std::map<std::string, std::string> CudnnFrontend::describe() const {
  const Network& n = *network_;
  auto facts = n.session.facts(n.probabilities);
  const auto engine = [](const Plan& plan) { return "engine " + std::to_string(plan.engine); };
  facts["conv1"] = engine(n.conv1) + ", with its bias in one plan";
  facts["pool1"] = engine(n.pool1);
  facts["conv2"] = engine(n.conv2) + ", with its bias in one plan";
  facts["pool2"] = engine(n.pool2);
  facts["math"] = "float32";
  facts["launch"] = "12 calls on a stream";
  facts["workspace"] = std::to_string(n.workspace.bytes()) + " bytes";
  return facts;
}

std::map<std::string, double> CudnnFrontend::profile(const float* image, int calls) const {
  Network& n = *network_;
  std::map<std::string, double> medians;
  n.session.run([&] {
    std::copy_n(image, kImagePixels, static_cast<float*>(n.host_image));
    medians =
        cuda::profile(n.stream, {[&] { n.copy_in(); }, [&] { n.compute(); }, [&] { n.copy_out(); }},
                      false, calls);
  });
  return medians;
}

}  // namespace lenet
