// The calibrated matrix product over the four scalars. Sizes lie between kinks: no tile, wave or
// split count changes within half a percent.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/kernels/policy.hpp>

#include "support/scalars.hpp"

namespace property_scalars_calibrated {

namespace pm = perfmodel;
using perfmodel_test::check_scalars;

namespace {
template <class T>
T gemm_time(const std::array<T, 3>& x, pm::number_format format, double copies) {
  const auto device = pm::lift<T>(pm::catalog::h100_sxm);
  const auto p = pm::lift<T>(pm::catalog::profile_h100_sxm);
  const auto engine = pm::lift<T>(pm::catalog::engine_trtllm);
  pm::basic_gemm<T> g{.m = x[0], .n = x[1], .k = x[2]};
  g.format = format;
  g.weights = format;
  g.output = pm::bf16;
  return calibrated_estimate(device, g, {p.value, engine}, pm::replay_conditions(T(copies)))
      .time.value();
}
}  // namespace

TEST_CASE("scalars: calibrated gemm", "[scalars][calibrated]") {
  const auto bf16 = []<class T>(const std::array<T, 3>& x) { return gemm_time(x, pm::bf16, 0.0); };
  const auto fp8 = []<class T>(const std::array<T, 3>& x) { return gemm_time(x, pm::fp8, 0.0); };
  const auto warm = []<class T>(const std::array<T, 3>& x) { return gemm_time(x, pm::bf16, 6.0); };
  check_scalars(bf16, 100.0, 1000.0, 5000.0);
  check_scalars(bf16, 20.0, 12000.0, 5000.0);
  check_scalars(bf16, 1000.0, 12010.0, 5000.0);
  check_scalars(fp8, 100.0, 1000.0, 5000.0);
  check_scalars(warm, 20.0, 1000.0, 4000.0);
}

TEST_CASE("scalars: parameters of a calibrated gemm", "[scalars][calibrated]") {
  const auto of_parameters = []<class T>(const std::array<T, 7>& v) {
    const pm::basic_machine_parameters<T> p{.matrix_floor = v[0] * pm::us,
                                            .matrix_share = v[1],
                                            .dram_share = v[2],
                                            .operand_bandwidth = v[3] * pm::TB_per_s,
                                            .tile_fill = v[4] * pm::us,
                                            .split_cost = v[5] * pm::us,
                                            .power_slowdown = v[6]};
    const pm::basic_gemm<T> g{.m = T(300.0), .n = T(3000.0), .k = T(5000.0)};
    return calibrated_estimate(pm::lift<T>(pm::catalog::h100_sxm), g, {p}).time.value();
  };
  check_scalars(of_parameters, 2.6, 0.89, 0.87, 22.0, 0.44, 3.9, 0.18);
}

TEST_CASE("scalars: calibrated policy over elementwise and norm", "[scalars][calibrated]") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        pm::basic_calibrated<T> c;
        c.machine = pm::lift<T>(pm::catalog::profile_h100_sxm.value);
        const auto device = pm::lift<T>(pm::catalog::h100_sxm);
        pm::basic_norm<T> n;
        n.rows = x[0];
        n.width = x[1];
        return T(roofline(device, n, c).time.value());
      },
      1000.0, 4096.0);
}

}  // namespace property_scalars_calibrated
