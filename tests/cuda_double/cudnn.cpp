// The double of libcudnn: what LeNet needs of the classic API (machine.hpp).
#include "cudnn.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <vector>

using namespace cuda_double;

struct cudnnTensorStruct {
  int n = 0, c = 0, h = 0, w = 0;
  std::size_t floats() const { return std::size_t(n) * c * h * w; }
  std::size_t bytes() const { return floats() * sizeof(float); }
  bool operator==(const cudnnTensorStruct& o) const {
    return n == o.n && c == o.c && h == o.h && w == o.w;
  }
};
struct cudnnFilterStruct {
  int k = 0, c = 0, h = 0, w = 0;
};
struct cudnnConvolutionStruct {
  bool plain = false;  // no padding, stride 1, cross-correlation, float32
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnPoolingStruct {
  bool max_2x2 = false;
};
struct cudnnActivationStruct {
  bool relu = false;
};

namespace {

Extent extent(const cudnnTensorStruct& t) { return {t.c, t.h, t.w}; }

template <class Handle>
cudnnStatus_t create(const char* call, Handle** handle) {
  if (const auto status = entered(call); status != CUDNN_STATUS_SUCCESS) return status;
  *handle = new Handle;
  born();
  return CUDNN_STATUS_SUCCESS;
}

template <class Handle>
cudnnStatus_t destroy(const char* call, Handle* handle) {
  enter(call);
  delete handle;
  died();
  return CUDNN_STATUS_SUCCESS;
}

/// Some algorithms need no workspace, ours by default does.
std::size_t workspace(const cudnnFilterStruct& filter, cudnnConvolutionFwdAlgo_t algorithm) {
  if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM) return 0;
  return std::size_t(1000) * (algorithm + 1) + filter.k;
}

/// Most of what LeNet asks for is to be written, and nothing to be added to it.
bool only_writes(const void* alpha, const void* beta) {
  return *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
}

bool fits(const cudnnTensorStruct& x, const cudnnFilterStruct& w, const cudnnTensorStruct& y) {
  return x.n == y.n && x.c == w.c && y.c == w.k && y.h == x.h - w.h + 1 && y.w == x.w - w.w + 1;
}

cudnnConvolutionFwdAlgoPerf_t candidate(cudnnConvolutionFwdAlgo_t algorithm, cudnnStatus_t status,
                                        cudnnMathType_t math) {
  cudnnConvolutionFwdAlgoPerf_t found{};
  found.algo = algorithm;
  found.status = status;
  found.mathType = math;
  return found;
}

/// The best is one that failed, the next two round: none of these may be taken. Where there are no
/// tensor cores for it, the default math is float32.
cudnnStatus_t candidates(int room, int* count, cudnnConvolutionFwdAlgoPerf_t* found,
                         cudnnConvolutionFwdAlgo_t best) {
  const cudnnConvolutionFwdAlgoPerf_t all[] = {
      candidate(CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_FMA_MATH),
      candidate(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_STATUS_SUCCESS,
                CUDNN_TENSOR_OP_MATH),
      candidate(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, CUDNN_STATUS_SUCCESS, CUDNN_DEFAULT_MATH),
      candidate(best, CUDNN_STATUS_SUCCESS, CUDNN_FMA_MATH)};
  *count = std::min(room, std::getenv("CUDA_DOUBLE_NO_FMA") != nullptr ? 3 : 4);
  std::copy_n(all, *count, found);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetCudartVersion() {
  const char* other = std::getenv("CUDA_DOUBLE_CUDNN_OF");
  return other != nullptr ? std::atoi(other) : CUDART_VERSION;
}

// The double has no parts that could be of another version.
cudnnStatus_t cudnnGraphVersionCheck() { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnOpsVersionCheck() { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnCnnVersionCheck() { return CUDNN_STATUS_SUCCESS; }
void cudnnGetLastErrorString(char* message, size_t room) {
  std::strncpy(message, "the double says so", room);
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED"
                                                 : "CUDNN_STATUS_OF_THE_DOUBLE";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  forbidden_in_capture("cudnnCreate");
  return create("cudnnCreate", handle);
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  if (handle->device != current_device()) breach("cudnnDestroy while another GPU is current");
  return destroy("cudnnDestroy", handle);
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  ENTER("cudnnSetStream");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

// descriptors -------------------------------------------------------------------------------------

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* d) {
  return create("cudnnCreateTensorDescriptor", d);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) {
  return destroy("cudnnDestroyTensorDescriptor", d);
}
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  ENTER("cudnnSetTensor4dDescriptor");
  if (format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT) return CUDNN_STATUS_NOT_SUPPORTED;
  *d = {n, c, h, w};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* d) {
  return create("cudnnCreateFilterDescriptor", d);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d) {
  return destroy("cudnnDestroyFilterDescriptor", d);
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  ENTER("cudnnSetFilter4dDescriptor");
  if (format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT) return CUDNN_STATUS_NOT_SUPPORTED;
  *d = {k, c, h, w};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* d) {
  return create("cudnnCreateConvolutionDescriptor", d);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d) {
  return destroy("cudnnDestroyConvolutionDescriptor", d);
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int pad_h, int pad_w,
                                              int u, int v, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t type) {
  ENTER("cudnnSetConvolution2dDescriptor");
  d->plain = pad_h == 0 && pad_w == 0 && u == 1 && v == 1 && dilation_h == 1 && dilation_w == 1 &&
             mode == CUDNN_CROSS_CORRELATION && type == CUDNN_DATA_FLOAT;
  return d->plain ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t d, cudnnMathType_t math) {
  ENTER("cudnnSetConvolutionMathType");
  d->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* d) {
  return create("cudnnCreatePoolingDescriptor", d);
}
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t d) {
  return destroy("cudnnDestroyPoolingDescriptor", d);
}
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int h, int w, int pad_h, int pad_w,
                                          int stride_h, int stride_w) {
  ENTER("cudnnSetPooling2dDescriptor");
  d->max_2x2 = mode == CUDNN_POOLING_MAX && h == 2 && w == 2 && pad_h == 0 && pad_w == 0 &&
               stride_h == 2 && stride_w == 2;
  return d->max_2x2 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* d) {
  return create("cudnnCreateActivationDescriptor", d);
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t d) {
  return destroy("cudnnDestroyActivationDescriptor", d);
}
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t d,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t,
                                           double) {
  ENTER("cudnnSetActivationDescriptor");
  d->relu = mode == CUDNN_ACTIVATION_RELU;
  return d->relu ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

// algorithms --------------------------------------------------------------------------------------

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t, int* count) {
  ENTER("cudnnGetConvolutionForwardAlgorithmMaxCount");
  *count = 4;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                   const cudnnFilterDescriptor_t w,
                                                   const cudnnConvolutionDescriptor_t,
                                                   const cudnnTensorDescriptor_t y, const int room,
                                                   int* count,
                                                   cudnnConvolutionFwdAlgoPerf_t* found) {
  ENTER("cudnnFindConvolutionForwardAlgorithm");
  forbidden_in_capture("cudnnFindConvolutionForwardAlgorithm");
  if (!fits(*x, *w, *y)) return CUDNN_STATUS_BAD_PARAM;
  // Measured for the first time, each also loads its kernels, and another one seems to be the best.
  static std::set<int> warm;
  const bool cold = warm.insert(w->k).second;
  return candidates(
      room, count, found,
      cold ? CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM : CUDNN_CONVOLUTION_FWD_ALGO_GEMM);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  ENTER("cudnnGetConvolutionForwardWorkspaceSize");
  if (!fits(*x, *w, *y)) return CUDNN_STATUS_BAD_PARAM;
  *bytes = workspace(*w, algorithm);
  return CUDNN_STATUS_SUCCESS;
}

// layers ------------------------------------------------------------------------------------------

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      const cudnnTensorDescriptor_t x_shape, const void* x,
                                      const cudnnFilterDescriptor_t w_shape, const void* w,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* space,
                                      size_t space_bytes, const void* beta,
                                      const cudnnTensorDescriptor_t y_shape, void* y) {
  ENTER("cudnnConvolutionForward");
  const auto xs = *x_shape, ys = *y_shape;
  const auto ws = *w_shape;
  if (!fits(xs, ws, ys) || !convolution->plain) return CUDNN_STATUS_BAD_PARAM;
  if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT) return CUDNN_STATUS_NOT_SUPPORTED;
  const std::size_t needs = workspace(ws, algorithm);
  if (space_bytes < needs) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  const float by = *static_cast<const float*>(alpha), keep = *static_cast<const float*>(beta);
  const char* capability = std::getenv("CUDA_DOUBLE_CAPABILITY");
  const bool has_tf32 = capability == nullptr || std::atoi(capability) >= 80;
  const bool rounds = has_tf32 && convolution->math != CUDNN_FMA_MATH;
  const auto sound = [=] {
    return require_device(x, xs.bytes(), "cudnnConvolutionForward's input") &&
           require_device(w, sizeof(float) * ws.k * ws.c * ws.h * ws.w,
                          "cudnnConvolutionForward's filter") &&
           require_device(y, ys.bytes(), "cudnnConvolutionForward's output") &&
           (needs == 0 || require_device(space, needs, "cudnnConvolutionForward's workspace"));
  };
  if (!sound()) return CUDNN_STATUS_EXECUTION_FAILED;
  enqueue(handle->stream, [=] {
    if (!sound()) return;
    if (needs != 0) std::memset(space, 0xff, needs);
    convolve(xs.n, extent(xs), static_cast<const float*>(x), {ws.c, ws.h, ws.w},
             static_cast<const float*>(w), extent(ys), static_cast<float*>(y), rounds, by, keep);
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha,
                             const cudnnTensorDescriptor_t a_shape, const void* a, const void* beta,
                             const cudnnTensorDescriptor_t c_shape, void* c) {
  ENTER("cudnnAddTensor");
  const auto as = *a_shape, cs = *c_shape;
  if (as.n != 1 || as.h != 1 || as.w != 1 || as.c != cs.c) return CUDNN_STATUS_BAD_PARAM;
  const float by = *static_cast<const float*>(alpha), keep = *static_cast<const float*>(beta);
  const auto sound = [=] {
    return require_device(a, as.bytes(), "cudnnAddTensor's bias") &&
           require_device(c, cs.bytes(), "cudnnAddTensor's output");
  };
  if (!sound()) return CUDNN_STATUS_EXECUTION_FAILED;
  enqueue(handle->stream, [=] {
    if (!sound()) return;
    const int pixels = cs.h * cs.w;
    for (std::size_t i = 0; i < cs.floats(); ++i) {
      float& value = static_cast<float*>(c)[i];
      value = by * static_cast<const float*>(a)[i / pixels % cs.c] + (keep == 0 ? 0 : keep * value);
    }
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                  const void* alpha, const cudnnTensorDescriptor_t x_shape,
                                  const void* x, const void* beta,
                                  const cudnnTensorDescriptor_t y_shape, void* y) {
  ENTER("cudnnPoolingForward");
  if (!only_writes(alpha, beta)) return CUDNN_STATUS_NOT_SUPPORTED;
  const auto xs = *x_shape, ys = *y_shape;
  if (!pooling->max_2x2 || xs.n != ys.n || xs.c != ys.c || xs.h != 2 * ys.h || xs.w != 2 * ys.w) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const auto sound = [=] {
    return require_device(x, xs.bytes(), "cudnnPoolingForward's input") &&
           require_device(y, ys.bytes(), "cudnnPoolingForward's output");
  };
  if (!sound()) return CUDNN_STATUS_EXECUTION_FAILED;
  enqueue(handle->stream, [=] {
    if (!sound()) return;
    pool(xs.n, extent(xs), static_cast<const float*>(x), extent(ys), static_cast<float*>(y));
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                     const void* alpha, const cudnnTensorDescriptor_t x_shape,
                                     const void* x, const void* beta,
                                     const cudnnTensorDescriptor_t y_shape, void* y) {
  ENTER("cudnnActivationForward");
  if (!only_writes(alpha, beta)) return CUDNN_STATUS_NOT_SUPPORTED;
  const auto xs = *x_shape;
  if (!activation->relu || !(xs == *y_shape)) return CUDNN_STATUS_BAD_PARAM;
  const auto sound = [=] {
    return require_device(x, xs.bytes(), "cudnnActivationForward's input") &&
           require_device(y, xs.bytes(), "cudnnActivationForward's output");
  };
  if (!sound()) return CUDNN_STATUS_EXECUTION_FAILED;
  enqueue(handle->stream, [=] {
    if (!sound()) return;
    for (std::size_t i = 0; i < xs.floats(); ++i) {
      const float value = static_cast<const float*>(x)[i];
      static_cast<float*>(y)[i] = value < 0 ? 0 : value;
    }
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t, const void* alpha,
                                  const cudnnTensorDescriptor_t x_shape, const void* x,
                                  const void* beta, const cudnnTensorDescriptor_t y_shape,
                                  void* y) {
  ENTER("cudnnSoftmaxForward");
  if (!only_writes(alpha, beta)) return CUDNN_STATUS_NOT_SUPPORTED;
  const auto xs = *x_shape;
  if (algorithm != CUDNN_SOFTMAX_ACCURATE || !(xs == *y_shape) || xs.h != 1 || xs.w != 1) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const auto sound = [=] {
    return require_device(x, xs.bytes(), "cudnnSoftmaxForward's input") &&
           require_device(y, xs.bytes(), "cudnnSoftmaxForward's output");
  };
  if (!sound()) return CUDNN_STATUS_EXECUTION_FAILED;
  enqueue(handle->stream, [=] {
    if (!sound()) return;
    const auto* in = static_cast<const float*>(x);
    auto* out = static_cast<float*>(y);
    for (int n = 0; n < xs.n; ++n, in += xs.c, out += xs.c) {
      const float largest = *std::max_element(in, in + xs.c);
      double sum = 0;
      for (int i = 0; i < xs.c; ++i) sum += std::exp(double(in[i]) - largest);
      for (int i = 0; i < xs.c; ++i) out[i] = float(std::exp(double(in[i]) - largest) / sum);
    }
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
