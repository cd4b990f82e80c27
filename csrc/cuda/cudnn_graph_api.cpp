// LeNet on cuDNN's graph API, the one that came with cuDNN 8: one describes a graph of operations,
// cuDNN lists the engines that can run it, best first, and one of them becomes an execution plan
// (cudnn_plan.cpp). A convolution and its bias are one graph, so one plan and one call, where
// `cudnn` needs two.
//
//   1  steps           a plan that has run, with what a call of it needs
//   2  the rest        what has no graph here is called as in `cudnn`
//   3  the network     plans, buffers and the pointers of a call, all made once
//   4  a call          copy in, ten calls, copy out, wait
//
// This is the C API of <cudnn.h>, whose functions begin with cudnnBackend. NVIDIA's library
// cudnn-frontend is a C++ layer over it, which is not used here.
#include "cuda/cudnn_graph_api.hpp"

#include <algorithm>

#include "cuda/errors.hpp"
#include "cuda/float32.hpp"

namespace lenet {

using cuda::DeviceFloats;
using cuda::kBias;
using cuda::kInput;
using cuda::kOutput;
using cuda::kWeight;

// 1  steps ----------------------------------------------------------------------------------------

CudnnGraphApiNetwork::Step::Step(cudnnHandle_t handle, cudaStream_t stream, const char* name,
                                 cuda::OperationGraph graph, const cuda::Tensors& tensors) {
  plan = cuda::choose(handle, name, std::move(graph), [&](const cuda::Plan& candidate) {
    const std::size_t floats = (candidate.workspace_bytes + 3) / 4;
    workspace = floats != 0 ? DeviceFloats(floats) : DeviceFloats();
    pointers = cuda::bind(tensors, workspace);
    const cudnnStatus_t status = cudnnBackendExecute(handle, candidate.executable, pointers);
    LENET_CHECK(cudaStreamSynchronize(stream));
    return status;
  });
}

// 2  the rest -------------------------------------------------------------------------------------

namespace {

// cuBLAS's products, and after them bias, ReLU and softmax, with descriptors of cuDNN's classic
// API.
using CudnnHandle = CudnnGraphApiNetwork::CudnnHandle;
using TensorDescriptor = CudnnGraphApiNetwork::TensorDescriptor;
using ActivationDescriptor = CudnnGraphApiNetwork::ActivationDescriptor;

constexpr float kOne = 1.0f;
constexpr float kZero = 0.0f;

TensorDescriptor describe_rows(int images, int outputs) {
  TensorDescriptor rows;
  LENET_CHECK(cudnnCreateTensorDescriptor(rows.put()));
  LENET_CHECK(
      cudnnSetTensor4dDescriptor(rows, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, images, outputs, 1, 1));
  return rows;
}

// fc1
ActivationDescriptor describe_relu() {
  ActivationDescriptor relu;
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

}  // namespace

// load
CudnnGraphApiNetwork::FullyConnected::FullyConnected(cudaStream_t stream, int images, int inputs,
                                                     int outputs, const float* weights,
                                                     const float* biases)
    : images(images),
      inputs(inputs),
      outputs(outputs),
      bias_shape(describe_rows(1, outputs)),
      output_shape(describe_rows(images, outputs)),
      weight(stream, weights, std::size_t(outputs) * inputs),
      bias(stream, biases, outputs) {}

// 3  the network ----------------------------------------------------------------------------------

CudnnGraphApiNetwork::CudnnGraphApiNetwork(const cuda::Session& opened, const Weights& w,
                                           const std::string& variant, int n)
    : session(opened),
      cudnn(open_cudnn(stream)),
      images(n),
      conv1_weight(stream, w.conv1_weight, kConv1Channels * kKernelSide * kKernelSide),
      conv1_bias(stream, w.conv1_bias, kConv1Channels),
      conv2_weight(stream, w.conv2_weight,
                   kConv2Channels * kConv1Channels * kKernelSide * kKernelSide),
      conv2_bias(stream, w.conv2_bias, kConv2Channels),
      fc1(stream, n, kFc1Inputs, kFc1Outputs, w.fc1_weight, w.fc1_bias),
      fc2(stream, n, kFc1Outputs, kClasses, w.fc2_weight, w.fc2_bias),
      relu(describe_relu()),
      conv1(cudnn, stream, "conv1", cuda::convolve_and_add_bias(n, 1, kImageSide, kConv1Channels),
            {{kInput, kWeight, kBias, kOutput}, {image, conv1_weight, conv1_bias, conv1_out}}),
      pool1(cudnn, stream, "pool1", cuda::pool(n, kConv1Channels, kConv1Side),
            {{kInput, kOutput}, {conv1_out, pool1_out}}),
      conv2(cudnn, stream, "conv2",
            cuda::convolve_and_add_bias(n, kConv1Channels, kPool1Side, kConv2Channels),
            {{kInput, kWeight, kBias, kOutput}, {pool1_out, conv2_weight, conv2_bias, conv2_out}}),
      pool2(cudnn, stream, "pool2", cuda::pool(n, kConv2Channels, kConv2Side),
            {{kInput, kOutput}, {conv2_out, pool2_out}}) {
  cuda::require_float32();
  LENET_CHECK(cublasCreate(cublas.put()));
  LENET_CHECK(cublasSetStream(cublas, stream));
  LENET_CHECK(cublasSetMathMode(cublas, CUBLAS_DEFAULT_MATH));  // float32, no TF32
  LENET_CHECK(cublasSetWorkspace(cublas, cublas_workspace, cublas_workspace.bytes()));

  const std::vector<float> blank(kImagePixels);
  float ten[kClasses];
  infer(blank.data(), ten);  // it loads the other kernels, which a capture must not
  if (variant == "cudagraph") {
    graph = cuda::capture(stream, [this] {
      copy_in();
      compute();
      copy_out();
    });
    infer(blank.data(), ten);  // it brings the graph to the GPU, for which the first launch pays
  }
}

// 4  a call ---------------------------------------------------------------------------------------

void CudnnGraphApiNetwork::infer(const float* pixels, float* ten, int count) {
  std::copy_n(pixels, count * kImagePixels, static_cast<float*>(host_image));
  if (graph) {
    LENET_CHECK(cudaGraphLaunch(graph, stream));
  } else {
    copy_in();
    compute();
    copy_out();
  }
  LENET_CHECK(cudaStreamSynchronize(stream));
  std::copy_n(static_cast<const float*>(host_probabilities), count * kClasses, ten);
}

void CudnnGraphApiNetwork::copy_in() {
  LENET_CHECK(
      cudaMemcpyAsync(image, host_image, host_image.bytes(), cudaMemcpyHostToDevice, stream));
}

void CudnnGraphApiNetwork::compute() {
  execute(conv1);
  execute(pool1);
  execute(conv2);
  execute(pool2);
  connect(fc1, pool2_out, fc1_out);
  // fc1
  LENET_CHECK(cudnnActivationForward(cudnn, relu, &kOne, fc1.output_shape, fc1_out, &kZero,
                                     fc1.output_shape, fc1_out));
  connect(fc2, fc1_out, fc2_out);
  LENET_CHECK(cudnnSoftmaxForward(cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &kOne,
                                  fc2.output_shape, fc2_out, &kZero, fc2.output_shape,
                                  probabilities));
}

void CudnnGraphApiNetwork::copy_out() {
  LENET_CHECK(cudaMemcpyAsync(host_probabilities, probabilities, host_probabilities.bytes(),
                              cudaMemcpyDeviceToHost, stream));
}

void CudnnGraphApiNetwork::execute(const Step& step) {
  LENET_CHECK(cudnnBackendExecute(cudnn, step.plan.executable, step.pointers));
}

/// cuBLAS counts by columns, so our row-major outputs x inputs is its transposed inputs x outputs.
/// One image is a vector, a batch a matrix with a column for each image.
// fc1 and fc2
void CudnnGraphApiNetwork::connect(const FullyConnected& layer, const DeviceFloats& input,
                                   DeviceFloats& output) {
  if (layer.images == 1) {
    LENET_CHECK(cublasSgemv(cublas, CUBLAS_OP_T, layer.inputs, layer.outputs, &kOne, layer.weight,
                            layer.inputs, input, 1, &kZero, output, 1));
  } else {
    LENET_CHECK(cublasSgemm(cublas, CUBLAS_OP_T, CUBLAS_OP_N, layer.outputs, layer.images,
                            layer.inputs, &kOne, layer.weight, layer.inputs, input, layer.inputs,
                            &kZero, output, layer.outputs));
  }
  LENET_CHECK(cudnnAddTensor(cudnn, &kOne, layer.bias_shape, layer.bias, &kOne, layer.output_shape,
                             output));
}

}  // namespace lenet
