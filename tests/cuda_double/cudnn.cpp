// The double of libcudnn: what our builders need of the classic API (machine.hpp).
#include "cudnn.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
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
  int pad = 0, stride = 0;  // 0 until it is set
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnPoolingStruct {
  Window window;
  bool set = false;
};
struct cudnnActivationStruct {
  bool relu = false, identity = false;
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

std::int64_t places(std::int64_t length, std::int64_t window, std::int64_t pad,
                    std::int64_t stride) {
  return (length + 2 * pad - window) / stride + 1;
}

bool fits(const cudnnTensorStruct& x, const cudnnFilterStruct& w, const cudnnConvolutionStruct& c,
          const cudnnTensorStruct& y) {
  return c.stride > 0 && x.n == y.n && x.c == w.c && y.c == w.k &&
         y.h == places(x.h, w.h, c.pad, c.stride) && y.w == places(x.w, w.w, c.pad, c.stride);
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

/// y = act(by * convolution(x, w) + keep * z + bias), without a bias where that is null.
cudnnStatus_t convolution(cudnnHandle_t handle, const std::string& call, float by,
                          const cudnnTensorStruct& xs, const void* x, const cudnnFilterStruct& ws,
                          const void* w, const cudnnConvolutionStruct& c,
                          cudnnConvolutionFwdAlgo_t algorithm, void* space, std::size_t space_bytes,
                          float keep, const void* z, const void* bias, const cudnnTensorStruct& ys,
                          void* y, bool relu) {
  if (!fits(xs, ws, c, ys)) return CUDNN_STATUS_BAD_PARAM;
  if (algorithm == CUDNN_CONVOLUTION_FWD_ALGO_FFT) return CUDNN_STATUS_NOT_SUPPORTED;
  const std::size_t needs = workspace(ws, algorithm);
  if (space_bytes < needs) return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  const char* capability = std::getenv("CUDA_DOUBLE_CAPABILITY");
  const bool has_tf32 = capability == nullptr || std::atoi(capability) >= 80;
  const bool rounds = has_tf32 && c.math != CUDNN_FMA_MATH;
  const auto sound = [=] {
    const auto has = [&](const void* memory, std::size_t bytes, const char* what) {
      return require_device(memory, bytes, (call + "'s " + what).c_str());
    };
    return has(x, xs.bytes(), "input") && has(y, ys.bytes(), "output") &&
           has(w, sizeof(float) * ws.k * ws.c * ws.h * ws.w, "filter") &&
           (needs == 0 || has(space, needs, "workspace")) &&
           (keep == 0 || has(z, ys.bytes(), "addition")) &&
           (bias == nullptr || has(bias, sizeof(float) * ys.c, "bias"));
  };
  if (!sound()) return CUDNN_STATUS_EXECUTION_FAILED;
  enqueue(handle->stream, [=] {
    if (!sound()) return;
    if (needs != 0) std::memset(space, 0xff, needs);
    auto* out = static_cast<float*>(y);
    const auto* also = static_cast<const float*>(z);
    const auto* biases = static_cast<const float*>(bias);
    if (keep != 0 && z != y) std::copy_n(also, ys.floats(), out);
    convolve(xs.n, extent(xs), static_cast<const float*>(x), {ws.c, ws.h, ws.w},
             static_cast<const float*>(w), extent(ys), out, rounds, by, keep, c.pad, c.stride);
    for (std::size_t i = 0; bias != nullptr && i < ys.floats(); ++i) {
      out[i] += biases[i / (ys.h * ys.w) % ys.c];
      if (relu && out[i] < 0) out[i] = 0;
    }
  });
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
  const bool known = pad_h == pad_w && pad_h >= 0 && u == v && u > 0 && dilation_h == 1 &&
                     dilation_w == 1 && mode == CUDNN_CROSS_CORRELATION && type == CUDNN_DATA_FLOAT;
  if (!known) return CUDNN_STATUS_NOT_SUPPORTED;
  d->pad = pad_h;
  d->stride = u;
  return CUDNN_STATUS_SUCCESS;
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
  const bool mean = mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
  d->set = (mean || mode == CUDNN_POOLING_MAX) && pad_h == pad_w && stride_h == stride_w;
  d->window = {mean, h, w, pad_h, stride_h};
  return d->set ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
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
  d->identity = mode == CUDNN_ACTIVATION_IDENTITY;
  return d->relu || d->identity ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

// algorithms --------------------------------------------------------------------------------------

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t, int* count) {
  ENTER("cudnnGetConvolutionForwardAlgorithmMaxCount");
  *count = 4;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                   const cudnnFilterDescriptor_t w,
                                                   const cudnnConvolutionDescriptor_t c,
                                                   const cudnnTensorDescriptor_t y, const int room,
                                                   int* count,
                                                   cudnnConvolutionFwdAlgoPerf_t* found) {
  ENTER("cudnnFindConvolutionForwardAlgorithm");
  forbidden_in_capture("cudnnFindConvolutionForwardAlgorithm");
  if (!fits(*x, *w, *c, *y)) return CUDNN_STATUS_BAD_PARAM;
  // Measured for the first time, each also loads its kernels, and another one seems to be the best.
  static std::set<int> warm;
  const bool cold = warm.insert(w->k).second;
  return candidates(
      room, count, found,
      cold ? CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM : CUDNN_CONVOLUTION_FWD_ALGO_GEMM);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t c, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  ENTER("cudnnGetConvolutionForwardWorkspaceSize");
  if (!fits(*x, *w, *c, *y)) return CUDNN_STATUS_BAD_PARAM;
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
  return ::convolution(handle, "cudnnConvolutionForward", *static_cast<const float*>(alpha),
                       *x_shape, x, *w_shape, w, *convolution, algorithm, space, space_bytes,
                       *static_cast<const float*>(beta), y, nullptr, *y_shape, y, false);
}

/// cuDNN computes nothing with another activation, but with the identity for one algorithm.
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha1, const cudnnTensorDescriptor_t x_shape, const void* x,
    const cudnnFilterDescriptor_t w_shape, const void* w,
    const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
    void* space, size_t space_bytes, const void* alpha2, const cudnnTensorDescriptor_t z_shape,
    const void* z, const cudnnTensorDescriptor_t bias_shape, const void* bias,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_shape, void* y) {
  ENTER("cudnnConvolutionBiasActivationForward");
  const cudnnTensorStruct biases{1, y_shape->c, 1, 1};
  const bool known =
      activation->relu ||
      (activation->identity && algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
  const char* only = std::getenv("CUDA_DOUBLE_FUSES_ONLY");
  if (only != nullptr && algorithm != std::atoi(only)) {
    told(cudaErrorLaunchOutOfResources);
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  if (!known || !(*z_shape == *y_shape) || !(*bias_shape == biases)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  return ::convolution(handle, "cudnnConvolutionBiasActivationForward",
                       *static_cast<const float*>(alpha1), *x_shape, x, *w_shape, w, *convolution,
                       algorithm, space, space_bytes, *static_cast<const float*>(alpha2), z, bias,
                       *y_shape, y, activation->relu);
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha,
                             const cudnnTensorDescriptor_t a_shape, const void* a, const void* beta,
                             const cudnnTensorDescriptor_t c_shape, void* c) {
  ENTER("cudnnAddTensor");
  const auto as = *a_shape, cs = *c_shape;
  const bool whole = as == cs;
  if (!whole && (as.n != 1 || as.h != 1 || as.w != 1 || as.c != cs.c))
    return CUDNN_STATUS_BAD_PARAM;
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
      const float added = static_cast<const float*>(a)[whole ? i : i / pixels % cs.c];
      value = by * added + (keep == 0 ? 0 : keep * value);
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
  const Window window = pooling->window;
  if (!pooling->set || xs.n != ys.n || xs.c != ys.c ||
      ys.h != places(xs.h, window.rows, window.pad, window.stride) ||
      ys.w != places(xs.w, window.columns, window.pad, window.stride)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const auto sound = [=] {
    return require_device(x, xs.bytes(), "cudnnPoolingForward's input") &&
           require_device(y, ys.bytes(), "cudnnPoolingForward's output");
  };
  if (!sound()) return CUDNN_STATUS_EXECUTION_FAILED;
  enqueue(handle->stream, [=] {
    if (!sound()) return;
    pool(xs.n, extent(xs), static_cast<const float*>(x), extent(ys), static_cast<float*>(y),
         window);
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
