// The double of libcublas: the handle, sgemv and sgemm (machine.hpp).
#include <cublas_v2.h>

#include <cstdint>
#include <vector>

#include "machine.hpp"

using namespace cuda_double;

struct cublasContext {
  cudaStream_t stream = nullptr;
  bool own_workspace = false;
  int device = current_device();
};

namespace {

cublasStatus_t entered(const char* call) {
  const int status = enter(call);
  if (status == 0) return CUBLAS_STATUS_SUCCESS;
  return status < 100 ? static_cast<cublasStatus_t>(status) : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace

#define ENTER(name) \
  if (const cublasStatus_t status = entered(name); status != CUBLAS_STATUS_SUCCESS) return status

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  ENTER("cublasCreate");
  forbidden_in_capture("cublasCreate");
  *handle = new cublasContext;
  born();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  enter("cublasDestroy");
  if (handle->device != current_device()) breach("cublasDestroy while another GPU is current");
  delete handle;
  died();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  ENTER("cublasSetStream");
  handle->stream = stream;
  handle->own_workspace = false;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  ENTER("cublasSetMathMode");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  ENTER("cublasSetWorkspace");
  require_device(workspace, bytes, "cublasSetWorkspace");
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  handle->own_workspace = true;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : CUBLAS_VER_MINOR;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                                  : "CUBLAS_STATUS_OF_THE_DOUBLE";
}

const char* cublasGetStatusString(cublasStatus_t) { return "the double says so"; }

cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t operation, int m, int n,
                              const float* alpha, const float* a, int lda, const float* x, int incx,
                              const float* beta, float* y, int incy) {
  ENTER("cublasSgemv");
  if (lda < m || m <= 0 || n <= 0 || incx != 1 || incy != 1) return CUBLAS_STATUS_INVALID_VALUE;
  if (!handle->own_workspace) forbidden_in_capture("cublasSgemv allocating its workspace");
  const bool transposed = operation == CUBLAS_OP_T;
  const int rows = transposed ? n : m, columns = transposed ? m : n;
  const auto matrix_floats = static_cast<std::size_t>(lda) * (n - 1) + m;
  const auto sound = [=] {
    return require_device(a, matrix_floats * sizeof(float), "cublasSgemv's matrix") &&
           require_device(x, columns * sizeof(float), "cublasSgemv's input") &&
           require_device(y, rows * sizeof(float), "cublasSgemv's output");
  };
  if (!sound()) return CUBLAS_STATUS_EXECUTION_FAILED;
  const float by = *alpha, keep = *beta;
  enqueue(handle->stream, [=] {
    if (!sound()) return;
    std::vector<float> result(rows);
    for (int row = 0; row < rows; ++row) {
      double sum = 0;
      for (int column = 0; column < columns; ++column) {
        sum += double(a[transposed ? row * lda + column : column * lda + row]) * x[column];
      }
      result[row] = float(by * sum) + (keep == 0 ? 0 : keep * y[row]);
    }
    for (int row = 0; row < rows; ++row) y[row] = result[row];
  });
  return CUBLAS_STATUS_SUCCESS;
}

/// Of row-major matrices the product of one with another's transposed: what LeNet asks for.
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b,
                              int m, int n, int k, const float* alpha, const float* a, int lda,
                              const float* b, int ldb, const float* beta, float* c, int ldc) {
  ENTER("cublasSgemm");
  if (of_a != CUBLAS_OP_T || of_b != CUBLAS_OP_N) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (m <= 0 || n <= 0 || k <= 0 || lda < k || ldb < k || ldc < m) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!handle->own_workspace) forbidden_in_capture("cublasSgemm allocating its workspace");
  const auto bytes = [](int leading, int count, int last) {
    return (static_cast<std::size_t>(leading) * (count - 1) + last) * sizeof(float);
  };
  const auto sound = [=] {
    return require_device(a, bytes(lda, m, k), "cublasSgemm's first matrix") &&
           require_device(b, bytes(ldb, n, k), "cublasSgemm's second matrix") &&
           require_device(c, bytes(ldc, n, m), "cublasSgemm's output");
  };
  if (!sound()) return CUBLAS_STATUS_EXECUTION_FAILED;
  const float by = *alpha, keep = *beta;
  enqueue(handle->stream, [=] {
    if (!sound()) return;
    for (int column = 0; column < n; ++column) {
      for (int row = 0; row < m; ++row) {
        double sum = 0;
        for (int i = 0; i < k; ++i) sum += double(a[row * lda + i]) * b[column * ldb + i];
        float& result = c[static_cast<std::size_t>(column) * ldc + row];
        result = float(by * sum) + (keep == 0 ? 0 : keep * result);
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
