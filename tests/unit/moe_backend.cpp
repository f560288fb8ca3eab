// TensorRT-LLM's libraries of expert kernels: its own choice, and what they do to a step.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/engine/moe_backend.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/gpt_oss.hpp>
#include <perfmodel/perfmodel.hpp>

namespace unit_moe_backend {

namespace pm = perfmodel;
using pm::chip_architecture, pm::engine, pm::moe_backend, pm::number_format;

TEST_CASE("moe backend: TensorRT-LLM's choice, and that of its configuration files") {
  const auto chosen = [](chip_architecture a, number_format operands, int tensor = 1) {
    return pm::default_moe_backend(engine::trtllm, a, operands, tensor);
  };
  // examples/configs/database, DeepSeek-R1-0528-FP4-v2/B200: 1k1k_tp8_conc4 (tensor parallel), and
  // 1k1k_tp8_conc512 (data-parallel attention).
  CHECK(chosen(chip_architecture::blackwell, number_format::fp4, 8) == moe_backend::trtllm);
  CHECK(chosen(chip_architecture::hopper, number_format::fp8, 8) == moe_backend::cutlass);
  CHECK(chosen(chip_architecture::blackwell, number_format::bf16, 8) == moe_backend::cutlass);
  CHECK(chosen(chip_architecture::blackwell, number_format::fp4) == moe_backend::cutlass);
  CHECK(chosen(chip_architecture::blackwell, number_format::bf16) == moe_backend::cutlass);
  CHECK(chosen(chip_architecture::blackwell, number_format::fp8) == moe_backend::trtllm);
  CHECK(chosen(chip_architecture::blackwell_ultra, number_format::fp8) == moe_backend::trtllm);
  CHECK(chosen(chip_architecture::blackwell_rtx, number_format::fp8) == moe_backend::cutlass);
  CHECK(chosen(chip_architecture::hopper, number_format::fp8) == moe_backend::cutlass);
  CHECK(pm::default_moe_backend(engine::vllm, chip_architecture::blackwell, number_format::fp4,
                                1) == moe_backend::automatic);
  for (const moe_backend b : {moe_backend::automatic, moe_backend::cutlass, moe_backend::trtllm})
    CHECK(pm::find_moe_backend(pm::name_of(b)) == b);
  CHECK(!pm::find_moe_backend("triton"));
}

pm::deployment deepseek_in_nvfp4(int groups) {
  pm::deployment d{.device = pm::catalog::b200_sxm,
                   .model = pm::catalog::deepseek_r1,
                   .layout = {.tensor = groups > 1 ? 1 : 8, .expert = 8, .data = groups},
                   .serving_engine = engine::trtllm};
  d.weights = pm::weight_storage(pm::storage_format(number_format::fp4, 16.0, 8.0));
  d.weights.attention = number_format::bf16;
  d.kv = pm::storage_format(number_format::fp8);
  return d;
}

TEST_CASE("moe backend: NVFP4 experts on B200 by either library") {
  const pm::iteration one{.batch = 8.0, .context = 1024.0};
  const auto seconds = [&](pm::deployment d, moe_backend b) {
    d.moe_backend = b;
    const auto policy = pm::calibrated_for(d);
    const double t = pm::step(d, one, policy).time.value();
    CHECK(std::abs(pm::prepare(d, policy).step_time(one).value() / t - 1.0) < 1e-12);
    return t;
  };
  const pm::deployment by_tensor = deepseek_in_nvfp4(1), by_data = deepseek_in_nvfp4(8);
  const double generated = seconds(by_tensor, moe_backend::trtllm);
  const double cutlass = seconds(by_tensor, moe_backend::cutlass);
  CHECK(generated < 0.9 * cutlass);  // tiles of 8 rows, not of 128
  CHECK(seconds(by_tensor, moe_backend::automatic) == generated);
  CHECK(seconds(by_data, moe_backend::automatic) == seconds(by_data, moe_backend::cutlass));
  CHECK(seconds(by_data, moe_backend::trtllm) < seconds(by_data, moe_backend::cutlass));
  const auto p = pm::predict(by_data, one, pm::calibrated_for(by_data));
  CHECK(p.stands_on.weakest() == pm::basis::transferred);
}

TEST_CASE("moe backend: MXFP4 experts, and other engines, have one library") {
  const pm::iteration one{.batch = 8.0, .context = 1024.0};
  pm::deployment d{.device = pm::catalog::b200_sxm,
                   .model = pm::catalog::gpt_oss_120b,
                   .serving_engine = engine::trtllm};
  const auto seconds = [&] { return pm::step(d, one, pm::calibrated_for(d)).time.value(); };
  const double by_engine = seconds();
  d.moe_backend = moe_backend::trtllm;
  CHECK(seconds() == by_engine);
  d = deepseek_in_nvfp4(1);
  d.serving_engine = engine::sglang;
  const double sglang = seconds();
  d.moe_backend = moe_backend::cutlass;
  CHECK(seconds() == sglang);
  CHECK(!pm::calibrated_for(pm::catalog::h200_sxm, engine::trtllm).nvfp4_moe_kernels);
}

}  // namespace unit_moe_backend
