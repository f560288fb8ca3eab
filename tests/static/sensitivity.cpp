// Elasticities at compile time. A function object, since Clang 14 takes no lambda here.
#include <perfmodel/explain/sensitivity.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <support/near.hpp>

namespace static_sensitivity {

namespace pm = perfmodel;
using perfmodel_test::near;

namespace {

struct gemm_time {
  double m;
  template <class T>
  constexpr pm::duration<T> operator()(const pm::basic_accelerator<T>& a) const {
    return roofline(a, pm::basic_gemm<T>{.m = m, .n = 8192, .k = 8192}).time;
  }
};
constexpr auto vector_product = pm::elasticities(pm::catalog::h100_sxm, gemm_time{1});
static_assert(near(vector_product[2].value, -1.0));
static_assert(vector_product[0].value == 0.0 && vector_product[1].value == 0.0 &&
              vector_product[3].value == 0.0);
constexpr auto matrix_product = pm::elasticities(pm::catalog::h100_sxm, gemm_time{8192});
static_assert(near(matrix_product[0].value, -1.0));
static_assert(matrix_product[2].value == 0.0);

}  // namespace

}  // namespace static_sensitivity
