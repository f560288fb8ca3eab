// cuBLASLt where a CPU plays the device: the functions that common/cublaslt.cuh calls, column-major
// and in double precision, as NVIDIA's cuBLAS documentation defines cublasLtMatmul.
#include <cublasLt.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>

#include "emulator.hpp"

namespace {

struct operation {
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
};
struct layout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  int batches = 1;
  std::int64_t stride = 0;
};

// The handles are the opaque structures' addresses; what they stand for is here.
std::map<const void*, operation> operations;
std::map<const void*, layout> layouts;

double at(const void* p, cudaDataType_t type, std::int64_t i) {
  switch (type) {
    case CUDA_R_32F: return static_cast<const float*>(p)[i];
    case CUDA_R_16BF:
      return static_cast<double>(static_cast<float>(static_cast<const __nv_bfloat16*>(p)[i]));
    case CUDA_R_16F:
      return static_cast<double>(static_cast<float>(static_cast<const __half*>(p)[i]));
    case CUDA_R_8F_E4M3:
      return static_cast<double>(static_cast<float>(static_cast<const __nv_fp8_e4m3*>(p)[i]));
    default: return std::nan("");
  }
}
void put(void* p, cudaDataType_t type, std::int64_t i, double v) {
  switch (type) {
    case CUDA_R_32F: static_cast<float*>(p)[i] = static_cast<float>(v); break;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(p)[i] = __float2bfloat16(static_cast<float>(v));
      break;
    case CUDA_R_16F: static_cast<__half*>(p)[i] = __float2half(static_cast<float>(v)); break;
    default: break;
  }
}

/// Does op(a) op(b) = d fit together, and is it a case that cuBLASLt has?
bool fits(const operation& o, const layout& a, const layout& b, const layout& d) {
  const bool ta = o.a == CUBLAS_OP_T, tb = o.b == CUBLAS_OP_T;
  const std::uint64_t m = ta ? a.columns : a.rows, k = ta ? a.rows : a.columns;
  const std::uint64_t kb = tb ? b.columns : b.rows, n = tb ? b.rows : b.columns;
  if (m != d.rows || n != d.columns || k != kb) return false;
  for (const layout& l : {a, b, d}) {
    if (l.leading < static_cast<std::int64_t>(l.rows)) return false;
  }
  if (a.type == CUDA_R_8F_E4M3) return ta && !tb && m % 16 == 0 && k % 16 == 0;
  return true;
}

}  // namespace

#define EMULATED extern "C" cublasStatus_t CUBLASWINAPI

EMULATED cublasLtCreate(cublasLtHandle_t* h) {
  *h = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtDestroy(cublasLtHandle_t h) {
  delete reinterpret_cast<int*>(h);
  return CUBLAS_STATUS_SUCCESS;
}
extern "C" const char* CUBLASWINAPI cublasLtGetStatusString(cublasStatus_t) {
  return "emulated cuBLASLt refuses";
}
EMULATED cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t, cudaDataType_t) {
  *d = new cublasLtMatmulDescOpaque_t{};
  operations[*d] = {};
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  operations.erase(d);
  delete d;
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                        cublasLtMatmulDescAttributes_t which, const void* v,
                                        std::size_t n) {
  operation& o = operations.at(d);
  switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA: std::memcpy(&o.a, v, n); break;
    case CUBLASLT_MATMUL_DESC_TRANSB: std::memcpy(&o.b, v, n); break;
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: std::memcpy(&o.scale_a, v, n); break;
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: std::memcpy(&o.scale_b, v, n); break;
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* l, cudaDataType_t type,
                                    std::uint64_t rows, std::uint64_t columns,
                                    std::int64_t leading) {
  *l = new cublasLtMatrixLayoutOpaque_t{};
  layouts[*l] = {type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
  layouts.erase(l);
  delete l;
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                          cublasLtMatrixLayoutAttribute_t which, const void* v,
                                          std::size_t n) {
  layout& is = layouts.at(l);
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: std::memcpy(&is.batches, v, n); break;
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: std::memcpy(&is.stride, v, n); break;
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) {
  *p = new cublasLtMatmulPreferenceOpaque_t{};
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  delete p;
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                              cublasLtMatmulPreferenceAttributes_t, const void*,
                                              std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t o,
                                        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                        cublasLtMatmulPreference_t, int wanted,
                                        cublasLtMatmulHeuristicResult_t* out, int* found) {
  *found = 0;
  if (wanted < 1 || !fits(operations.at(o), layouts.at(a), layouts.at(b), layouts.at(d))) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  out[0] = {};
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
EMULATED cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t of, const void* alpha, const void* A,
                        cublasLtMatrixLayout_t la, const void* B, cublasLtMatrixLayout_t lb,
                        const void* beta, const void* C, cublasLtMatrixLayout_t, void* D,
                        cublasLtMatrixLayout_t ld, const cublasLtMatmulAlgo_t*, void*, std::size_t,
                        cudaStream_t stream) {
  const operation o = operations.at(of);
  const layout a = layouts.at(la), b = layouts.at(lb), d = layouts.at(ld);
  if (!fits(o, a, b, d)) return CUBLAS_STATUS_INVALID_VALUE;
  const double scale = *static_cast<const float*>(alpha), keep = *static_cast<const float*>(beta);
  // The stream's order: through the runtime, so that a capture records it.
  emulator::enqueue(stream, [=] {
    const double by = scale * (o.scale_a == nullptr ? 1.0 : *o.scale_a) *
                      (o.scale_b == nullptr ? 1.0 : *o.scale_b);
    const bool ta = o.a == CUBLAS_OP_T, tb = o.b == CUBLAS_OP_T;
    const auto m = static_cast<std::int64_t>(d.rows), n = static_cast<std::int64_t>(d.columns);
    const auto k = static_cast<std::int64_t>(ta ? a.rows : a.columns);
    std::vector<double> column(static_cast<std::size_t>(k)), row(static_cast<std::size_t>(m * k));
    for (int batch = 0; batch < d.batches; ++batch) {
      const std::int64_t oa = batch * a.stride, ob = batch * b.stride, od = batch * d.stride;
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t l = 0; l < k; ++l) {
          row[static_cast<std::size_t>(i * k + l)] =
              at(A, a.type, oa + (ta ? l + i * a.leading : i + l * a.leading));
        }
      }
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t l = 0; l < k; ++l) {
          column[static_cast<std::size_t>(l)] =
              at(B, b.type, ob + (tb ? j + l * b.leading : l + j * b.leading));
        }
        for (std::int64_t i = 0; i < m; ++i) {
          double sum = 0;
          const double* x = row.data() + i * k;
          for (std::int64_t l = 0; l < k; ++l) sum += x[l] * column[static_cast<std::size_t>(l)];
          const std::int64_t to = od + i + j * d.leading;
          put(D, d.type, to, by * sum + (keep == 0.0 ? 0.0 : keep * at(C, d.type, to)));
        }
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}
