// Any network on cuDNN and cuBLAS: cudnn.cpp builds it as cuda/cudnn.cpp builds LeNet.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda/cudnn.hpp"
#include "networks/graph.hpp"

namespace lenet::networks {

/// For one image and one caller.
class AnyOnCudnn {
 public:
  /// As CudnnNetwork's of these names.
  enum class Variant { kNamed, kFind, kCudaGraph };

  AnyOnCudnn(const cuda::Session& session, const Graph& graph, Variant variant);

  void infer(const float* input, float* answer);

  std::size_t inputs() const { return inputs_; }
  std::size_t answers() const { return answers_; }
  std::map<std::string, std::string> facts() const;

 private:
  struct Tensor {
    cudnnTensorDescriptor_t shape = nullptr;
    float* values = nullptr;
  };
  /// A layer's output. The block is in use as long as somebody holds it.
  struct Value : Tensor {
    std::shared_ptr<cuda::DeviceFloats> block;
  };

  Value place(std::size_t number);
  void put(const Step& step);
  void convolve(const Layer& layer, const Step& step, Tensor x, Tensor added, Tensor y);
  void connect(const Layer& layer, Tensor x, Tensor y);
  void pool(const Layer& layer, Tensor x, Tensor y);
  void concatenate(const Layer& layer, Tensor y);
  void add(Tensor what, Tensor to);
  void rectify(Tensor x, Tensor y);
  void copy(const float* from, float* to, std::size_t floats);

  using WorkspaceOf = std::function<cudnnStatus_t(cudnnConvolutionFwdAlgo_t, std::size_t* bytes)>;
  using Convolve =
      std::function<cudnnStatus_t(cudnnConvolutionFwdAlgo_t, const cuda::DeviceFloats& workspace)>;
  cudnnConvolutionFwdAlgo_t choose(const WorkspaceOf& workspace_of, const Convolve& call);
  cudnnTensorDescriptor_t describe(const Shape& shape);
  Tensor parameter(const Parameter& from);
  void enqueue();

  const cuda::Session& session_;
  const Graph graph_;  // its parameters are borrowed until it is built
  Variant variant_;
  std::size_t inputs_, answers_;
  cudaStream_t stream_ = session_.stream();
  CudnnNetwork::CudnnHandle cudnn_;
  CudnnNetwork::CublasHandle cublas_;
  CudnnNetwork::ActivationDescriptor relu_;
  std::list<CudnnNetwork::TensorDescriptor> shapes_;
  std::list<cuda::DeviceFloats> parameters_;
  Pool<cuda::DeviceFloats> pool_;
  std::vector<Value> values_;
  std::size_t workspace_bytes_ = 0;
  std::map<cudnnConvolutionFwdAlgo_t, int> algorithms_;  // how many convolutions each has
  cuda::DeviceFloats workspace_, cublas_workspace_{cuda::kCublasWorkspaceBytes / sizeof(float)};
  cuda::PinnedFloats host_input_{inputs_}, host_answer_{answers_};
  std::vector<std::function<void()>> calls_;
  Value input_, answer_;
  cuda::GraphExec launched_;  // with "cudagraph"
};

}  // namespace lenet::networks
