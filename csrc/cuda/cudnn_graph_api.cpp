// LeNet on cuDNN's graph API, the one that came with cuDNN 8: one describes a graph of operations,
// cuDNN lists the engines that can run it, best first, and one of them becomes an execution plan
// (cudnn_plan.cpp). A convolution and its bias are one graph, so one plan and one call, where
// `cudnn` needs two.
//
//   1  plans           a plan that has run, with what a call of it needs
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

// 1  plans ----------------------------------------------------------------------------------------

CudnnGraphApiNetwork::Planned::Planned(cudnnHandle_t handle, cudaStream_t stream, const char* name,
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
CudnnGraphApiNetwork::FullyConnected::FullyConnected(cudaStream_t stream, int n, int from, int to,
                                                     const float* weights, const float* biases)
    : images(n),
      inputs(from),
      outputs(to),
      bias_shape(describe_rows(1, to)),
      output_shape(describe_rows(n, to)),
      weight(stream, weights, std::size_t(to) * from),
      bias(stream, biases, to) {}

// 3  the network ----------------------------------------------------------------------------------

CudnnGraphApiNetwork::CudnnGraphApiNetwork(const cuda::Session& opened, const Weights& w,
                                           Variant variant, int n)
    : session_(opened),
      cudnn_(open_cudnn(stream_)),
      images_(n),
      conv1_weight_(stream_, w.conv1_weight, kConv1Channels * kKernelSide * kKernelSide),
      conv1_bias_(stream_, w.conv1_bias, kConv1Channels),
      conv2_weight_(stream_, w.conv2_weight,
                    kConv2Channels * kConv1Channels * kKernelSide * kKernelSide),
      conv2_bias_(stream_, w.conv2_bias, kConv2Channels),
      fc1_(stream_, n, kFc1Inputs, kFc1Outputs, w.fc1_weight, w.fc1_bias),
      fc2_(stream_, n, kFc1Outputs, kClasses, w.fc2_weight, w.fc2_bias),
      relu_(describe_relu()),
      conv1_(cudnn_, stream_, "conv1",
             cuda::convolve_and_add_bias(n, 1, kImageSide, kConv1Channels),
             {{kInput, kWeight, kBias, kOutput}, {image_, conv1_weight_, conv1_bias_, conv1_out_}}),
      pool1_(cudnn_, stream_, "pool1", cuda::pool(n, kConv1Channels, kConv1Side),
             {{kInput, kOutput}, {conv1_out_, pool1_out_}}),
      conv2_(cudnn_, stream_, "conv2",
             cuda::convolve_and_add_bias(n, kConv1Channels, kPool1Side, kConv2Channels),
             {{kInput, kWeight, kBias, kOutput},
              {pool1_out_, conv2_weight_, conv2_bias_, conv2_out_}}),
      pool2_(cudnn_, stream_, "pool2", cuda::pool(n, kConv2Channels, kConv2Side),
             {{kInput, kOutput}, {conv2_out_, pool2_out_}}) {
  cuda::require_float32();
  LENET_CHECK(cublasCreate(cublas_.put()));
  LENET_CHECK(cublasSetStream(cublas_, stream_));
  LENET_CHECK(cublasSetMathMode(cublas_, CUBLAS_DEFAULT_MATH));  // float32, no TF32
  LENET_CHECK(cublasSetWorkspace(cublas_, cublas_workspace_, cublas_workspace_.bytes()));

  const std::vector<float> blank(kImagePixels);
  float ten[kClasses];
  infer(blank.data(), ten);  // it loads the other kernels, which a capture must not
  if (variant == Variant::kCudaGraph) {
    graph_ = cuda::capture(stream_, [this] {
      copy_in();
      compute();
      copy_out();
    });
    infer(blank.data(), ten);  // it brings the graph to the GPU, for which the first launch pays
  }
}

std::vector<cuda::Step> CudnnGraphApiNetwork::make_steps() {
  return {
      {"conv1", 1, [this] { execute(conv1_); }, conv1_out_},
      {"pool1", 1, [this] { execute(pool1_); }, pool1_out_},
      {"conv2", 1, [this] { execute(conv2_); }, conv2_out_},
      {"pool2", 1, [this] { execute(pool2_); }, pool2_out_},
      {"fc1", 3,
       [this] {
         connect(fc1_, pool2_out_, fc1_out_);
         rectify(fc1_.output_shape, fc1_out_);
       },
       fc1_out_},
      {"fc2", 2, [this] { connect(fc2_, fc1_out_, fc2_out_); }, fc2_out_},
      // softmax
      {"probabilities", 1,
       [this] {
         LENET_CHECK(cudnnSoftmaxForward(cudnn_, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                         &kOne, fc2_.output_shape, fc2_out_, &kZero,
                                         fc2_.output_shape, probabilities_));
       },
       probabilities_},
  };
}

cuda::Step CudnnGraphApiNetwork::trivial() {
  return {"", 1, [this] { rectify(fc2_.output_shape, image_); }, image_};
}

// 4  a call ---------------------------------------------------------------------------------------

void CudnnGraphApiNetwork::infer(const float* pixels, float* ten, int count) {
  std::copy_n(pixels, count * kImagePixels, static_cast<float*>(host_image_));
  if (graph_) {
    LENET_CHECK(cudaGraphLaunch(graph_, stream_));
  } else {
    copy_in();
    compute();
    copy_out();
  }
  LENET_CHECK(cudaStreamSynchronize(stream_));
  std::copy_n(static_cast<const float*>(host_probabilities_), count * kClasses, ten);
}

void CudnnGraphApiNetwork::copy_in() {
  LENET_CHECK(
      cudaMemcpyAsync(image_, host_image_, host_image_.bytes(), cudaMemcpyHostToDevice, stream_));
}

void CudnnGraphApiNetwork::compute() {
  for (const cuda::Step& step : steps_) step.put();
}

void CudnnGraphApiNetwork::copy_out() {
  LENET_CHECK(cudaMemcpyAsync(host_probabilities_, probabilities_, host_probabilities_.bytes(),
                              cudaMemcpyDeviceToHost, stream_));
}

void CudnnGraphApiNetwork::execute(const Planned& layer) {
  LENET_CHECK(cudnnBackendExecute(cudnn_, layer.plan.executable, layer.pointers));
}

// fc1
void CudnnGraphApiNetwork::rectify(const TensorDescriptor& shape, DeviceFloats& values) {
  LENET_CHECK(cudnnActivationForward(cudnn_, relu_, &kOne, shape, values, &kZero, shape, values));
}

/// cuBLAS counts by columns, so our row-major outputs x inputs is its transposed inputs x outputs.
/// One image is a vector, a batch a matrix with a column for each image.
// fc1 and fc2
void CudnnGraphApiNetwork::connect(const FullyConnected& layer, const DeviceFloats& input,
                                   DeviceFloats& output) {
  if (layer.images == 1) {
    LENET_CHECK(cublasSgemv(cublas_, CUBLAS_OP_T, layer.inputs, layer.outputs, &kOne, layer.weight,
                            layer.inputs, input, 1, &kZero, output, 1));
  } else {
    LENET_CHECK(cublasSgemm(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, layer.outputs, layer.images,
                            layer.inputs, &kOne, layer.weight, layer.inputs, input, layer.inputs,
                            &kZero, output, layer.outputs));
  }
  LENET_CHECK(cudnnAddTensor(cudnn_, &kOne, layer.bias_shape, layer.bias, &kOne, layer.output_shape,
                             output));
}

}  // namespace lenet
