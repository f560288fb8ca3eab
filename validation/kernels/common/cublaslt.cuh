// Matrix products by cuBLASLt, where the toolkit has it (PERFMODEL_HAS_CUBLASLT).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <string>

#include "buffer.cuh"

#ifndef PERFMODEL_HAS_CUBLASLT  // the build may say that there is no library to the header
#if __has_include(<cublasLt.h>)
#define PERFMODEL_HAS_CUBLASLT 1
#else
#define PERFMODEL_HAS_CUBLASLT 0
#endif
#endif
#if PERFMODEL_HAS_CUBLASLT
#include <cublasLt.h>
#endif

namespace perfmodel::validation {

inline constexpr bool has_cublaslt = PERFMODEL_HAS_CUBLASLT == 1;
inline constexpr const char* no_cublaslt = "the toolkit has no cublasLt.h";

#if PERFMODEL_HAS_CUBLASLT

inline void check_cublas(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status != CUBLAS_STATUS_SUCCESS) fail_call(call, cublasLtGetStatusString(status), file, line);
}
#define PERFMODEL_CUBLAS(call) \
  ::perfmodel::validation::check_cublas((call), #call, __FILE__, __LINE__)

/// The library has no algorithm for the shape, its formats or the device.
class no_algorithm : public not_available {
 public:
  using not_available::not_available;
};

template <class T>
inline constexpr cudaDataType_t cublas_type = CUDA_R_32F;
template <>
inline constexpr cudaDataType_t cublas_type<__nv_bfloat16> = CUDA_R_16BF;
template <>
inline constexpr cudaDataType_t cublas_type<__nv_fp8_e4m3> = CUDA_R_8F_E4M3;

/// y[m][n] = sum over k of x[m][k] w[n][k], all row-major, x and w of type T, y in bf16, sums in
/// fp32: the layout of linear layers' weights, and the one layout in which fp8 runs everywhere. The
/// algorithm is the first that cuBLASLt's heuristic proposes with 32 MiB of workspace, as in the
/// frameworks. cuBLASLt is column-major: it sees y^T[n][m] = w[k][n]^T x[k][m]. `batches`: a
/// strided batch of such GEMMs, with x, w and y contiguous from one to the next.
/// The heuristic assumes x, w and y aligned to 256 bytes (its default). fp8 needs n and k that are
/// multiples of 16, and runs without fast accumulation. Errors: no_algorithm; measurement_error for
/// all else.
template <class T>
class matrix_product {
 public:
  matrix_product(int m, int n, int k, int batches = 1)
      : m_(m), n_(n), k_(k), batches_(batches), workspace_(workspace_bytes) {
    try {
      PERFMODEL_CUBLAS(cublasLtCreate(&handle_));
      PERFMODEL_CUBLAS(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
      const cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
      set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
      set(CUBLASLT_MATMUL_DESC_TRANSB, plain);
      layout(&w_, cublas_type<T>, k, n, k);
      layout(&x_, cublas_type<T>, k, m, k);
      layout(&y_, CUDA_R_16BF, n, m, n);
      if (sizeof(T) == 1) {
        const float one = 1.0F;
        scales_ = device_buffer<float>(std::span<const float>(&one, 1));
        const void* scale = scales_.data();
        set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale);
        set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale);
      }
      choose();
    } catch (...) {
      release();
      throw;
    }
  }
  matrix_product(const matrix_product&) = delete;
  matrix_product& operator=(const matrix_product&) = delete;
  ~matrix_product() { release(); }

  void launch(const T* x, const T* w, __nv_bfloat16* y, cudaStream_t stream) const {
    const float one = 1.0F, zero = 0.0F;
    PERFMODEL_CUBLAS(cublasLtMatmul(handle_, operation_, &one, w, w_, x, x_, &zero, y, y_, y, y_,
                                    &chosen_.algo, workspace_.data(), workspace_bytes, stream));
  }

  double flop() const { return 2.0 * m_ * n_ * k_ * batches_; }
  double bytes_read() const {
    return static_cast<double>(sizeof(T)) * batches_ *
           (static_cast<double>(m_) * k_ + static_cast<double>(n_) * k_);
  }
  double bytes_written() const { return 2.0 * m_ * n_ * batches_; }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20U;

  template <class Attribute>
  void set(cublasLtMatmulDescAttributes_t name, const Attribute& is) {
    PERFMODEL_CUBLAS(cublasLtMatmulDescSetAttribute(operation_, name, &is, sizeof(is)));
  }

  void layout(cublasLtMatrixLayout_t* out, cudaDataType_t type, int rows, int columns,
              int leading) const {
    PERFMODEL_CUBLAS(cublasLtMatrixLayoutCreate(out, type, static_cast<std::uint64_t>(rows),
                                                static_cast<std::uint64_t>(columns), leading));
    if (batches_ == 1) return;
    const std::int32_t batches = batches_;
    const std::int64_t apart = static_cast<std::int64_t>(leading) * columns;
    PERFMODEL_CUBLAS(cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                      &batches, sizeof(batches)));
    PERFMODEL_CUBLAS(cublasLtMatrixLayoutSetAttribute(
        *out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart, sizeof(apart)));
  }

  void choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    PERFMODEL_CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t most = workspace_bytes;
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most));
    int found = 0;
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = cublasLtMatmulAlgoGetHeuristic(handle_, operation_, w_, x_, y_, y_, preference, 1,
                                              &chosen_, &found);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    const bool none = status == CUBLAS_STATUS_NOT_SUPPORTED;
    if (!none) check_cublas(status, "cublasLtMatmulAlgoGetHeuristic", __FILE__, __LINE__);
    if (none || found == 0) {
      std::string text = "cuBLASLt has no algorithm for m, n, k = " + std::to_string(m_);
      throw no_algorithm(
          text.append(", ").append(std::to_string(n_)).append(", ").append(std::to_string(k_)));
    }
  }

  void release() {
    if (y_ != nullptr) cublasLtMatrixLayoutDestroy(y_);
    if (x_ != nullptr) cublasLtMatrixLayoutDestroy(x_);
    if (w_ != nullptr) cublasLtMatrixLayoutDestroy(w_);
    if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
    if (handle_ != nullptr) cublasLtDestroy(handle_);
  }

  int m_, n_, k_, batches_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t w_ = nullptr, x_ = nullptr, y_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
  device_buffer<float> scales_;
  device_buffer<unsigned char> workspace_;
};

#endif

}  // namespace perfmodel::validation
