// All of the library in one unit, at compile time and at run time: the same numbers by each
// compiler.
#include <cmath>
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/perfmodel.hpp>

namespace pm = perfmodel;

namespace {

// 2 x 4096^3 FLOP at 989.4 TFLOP/s: by hand, 138.9 us.
constexpr pm::gemm product{.m = 4096, .n = 4096, .k = 4096};
static_assert(pm::roofline(pm::catalog::h100_sxm, product).time > 138.8 * pm::us);
static_assert(pm::roofline(pm::catalog::h100_sxm, product).time < 139.0 * pm::us);

}  // namespace

int main() {
  volatile double size = 4096;
  const pm::gemm g{.m = size, .n = size, .k = size};
  const double bound = pm::roofline(pm::catalog::h100_sxm, g).time.value();
  const pm::deployment d{.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_8b};
  const pm::iteration i{.batch = size / 64.0, .context = size};
  const auto calibration = pm::calibrated_for(pm::catalog::h100_sxm, pm::engine::vllm);
  const double step_bound = pm::step_bound(d, i).time.value();
  const double step = pm::step(d, i, calibration).time.value();
  std::printf("%.6e %.6e %.6e\n", bound, step_bound, step);
  bool refused = false;
  try {
    volatile double nothing = 0.0;
    (void)pm::roofline(pm::catalog::h100_sxm, pm::gemm{.m = nothing, .n = 1, .k = 1});
  } catch (const pm::error&) {
    refused = true;
  }
  // Weights of 15 GB and a cache of 34 GB at 3.35 TB/s: by hand, 14.7 ms.
  const bool right = std::abs(bound / 138.9e-6 - 1.0) < 1e-3 &&
                     std::abs(step_bound / 14.7e-3 - 1.0) < 0.02 && step > step_bound && refused;
  return right ? 0 : 1;
}
