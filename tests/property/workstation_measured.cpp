// RTX PRO 6000's profile against the kernels of vLLM that others measured on it, and what GeForce
// takes of it. The limits are a little above what docs/laws/calibrated_workstation.md says.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <map>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_rtx.hpp>
#include <perfmodel/kernels/catalog/experts.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>

#include <fit/published.hpp>
#include <fit/published_gemm.hpp>
#include <fit/published_workstation.hpp>
#include "support/shared.hpp"

namespace property_workstation_measured {

namespace pm = perfmodel;
namespace catalog = pm::catalog;
using Catch::Matchers::WithinRel;

namespace {

double predicted(const published::workstation_row& r, const pm::machine_parameters& p) {
  return calibrated_estimate(*r.device, r.product(), {p}, pm::replay_conditions(r.copies))
      .time.value();
}

}  // namespace

TEST_CASE("GEMMs of vLLM's layers on RTX PRO 6000", "[calibrated][shared]") {
  const auto rows = published::workstation_rows(perfmodel_test::measured_folder());
  const pm::machine_profile& own = catalog::profile_rtx_pro_6000;
  std::vector<double> residual;
  int faster = 0;
  for (const auto& r : rows) {
    if (!r.is_gemm()) continue;
    residual.push_back(std::log(r.seconds / predicted(r, own.value)));
    // Llama's layer is 436 MB or half of it, more than the 128 MiB of L2; Qwen's is less.
    const double layer = r.copies * r.product().n * r.product().k * 2.0;
    const bool cold = r.copies == 0.0 || layer > 1.5 * r.device->l2.capacity.value();
    if (cold && r.seconds < r.bound().value()) ++faster;
  }
  CHECK(residual.size() == 1536);
  // Only the shares of the peaks are fitted to these; by a fit of all parameters 6.1 %.
  CHECK(pm::score_of(residual).mean < 0.09);
  CHECK(faster == 0);
}

TEST_CASE("GEMMs in CUDA graphs on RTX PRO 6000", "[calibrated][shared]") {
  const pm::machine_profile& own = catalog::profile_rtx_pro_6000;
  std::vector<double> residual;
  for (const auto& r : published::workstation_graph_gemms(perfmodel_test::measured_folder())) {
    const auto t =
        calibrated_estimate(*r.device, r.workload, {own.value}, pm::replay_conditions(r.copies));
    residual.push_back(std::log(r.seconds / t.time.value()));
  }
  CHECK(residual.size() == 700);
  CHECK(pm::score_of(residual).mean < 0.125);  // 0.35 by LLMServingSim's floor
  CHECK(pm::coverage_of(residual, own.log_sigma) > 0.75);
  CHECK(pm::coverage_of(residual, own.log_sigma) < 0.90);
}

TEST_CASE("attention on RTX PRO 6000", "[calibrated][shared]") {
  const pm::attention_profile& own = catalog::attention_rtx_pro_6000;
  std::vector<double> residual, as_l40s;
  for (const auto& r : published::workstation_attention_rows(perfmodel_test::measured_folder())) {
    const auto of = [&](const pm::attention_profile& p) {
      return std::log(r.seconds / r.estimate(catalog::profile_rtx_pro_6000, p).time.value());
    };
    residual.push_back(of(own));
    pm::attention_profile other = catalog::attention_l40s;
    other.value.l2_bandwidth = {};
    as_l40s.push_back(of(other));
  }
  CHECK(residual.size() == 1016);
  CHECK(pm::score_of(residual).mean < 0.145);
  CHECK(pm::score_of(residual).mean < pm::score_of(as_l40s).mean);
  CHECK(pm::coverage_of(residual, own.log_sigma) > 0.75);
}

TEST_CASE("element-wise kernels of vLLM's layers on RTX PRO 6000", "[calibrated][shared]") {
  const auto rows = published::workstation_rows(perfmodel_test::measured_folder());
  const pm::memory_bound_kernels& eager = catalog::memory_bound_kernels_rtx_pro_6000;
  std::vector<double> norms, look_ups, all;
  for (const auto& r : rows) {
    if (r.is_gemm()) continue;
    const auto e = r.streamed(*r.device, catalog::profile_rtx_pro_6000.value, eager);
    all.push_back(std::log(r.seconds / e.time.value()));
    if (r.layer.ends_with("layernorm")) norms.push_back(all.back());
    if (r.layer == "embedding") look_ups.push_back(all.back());
  }
  CHECK(all.size() == 2101);
  CHECK(pm::score_of(all).mean < 0.155);
  CHECK(pm::score_of(look_ups).mean < 0.14);
  CHECK(pm::score_of(norms).mean < 0.13);
}

TEST_CASE("element-wise kernels of a step on RTX PRO 6000, as a step counts them",
          "[calibrated][shared]") {
  std::map<std::string, std::vector<double>> residual;
  for (const auto& r : published::small_kernel_rows(perfmodel_test::measured_folder())) {
    const double t = r.predicted(catalog::rtx_pro_6000, catalog::profile_rtx_pro_6000.value,
                                 catalog::elementwise_kernels_rtx_pro_6000);
    residual[r.layer].push_back(std::log(r.seconds / t));
  }
  const auto mean = [&](const char* layer) { return pm::score_of(residual[layer]).mean; };
  CHECK(mean("final_layernorm") < 0.13);
  CHECK(mean("rotary_emb") < 0.115);
  CHECK(mean("act_fn") < 0.405);
  CHECK(mean("qk_norm") < 0.065);
  CHECK(mean("sampler") < 0.26);
}

TEST_CASE("Triton's experts on RTX PRO 6000, with buffers resident in its L2",
          "[calibrated][shared]") {
  std::vector<double> own, as_hopper;
  for (const auto& r : published::expert_rows(perfmodel_test::measured_folder())) {
    const auto residual = [&](const pm::moe_kernels& k) {
      const auto& machine = catalog::profile_rtx_pro_6000.value;
      return std::log(r.seconds / r.predicted(catalog::rtx_pro_6000, machine, k));
    };
    own.push_back(residual(catalog::triton_experts_rtx_pro_6000));
    as_hopper.push_back(residual(catalog::triton_experts));
  }
  CHECK(own.size() == 28);
  CHECK(pm::score_of(own).mean < 0.025);
  CHECK(pm::score_of(as_hopper).mean > 0.08);
}

TEST_CASE("GeForce takes RTX PRO 6000's products, workstation cards of Ada L40S's",
          "[calibrated]") {
  for (const pm::accelerator* a : {&catalog::rtx_4090, &catalog::rtx_5090, &catalog::rtx_5080,
                                   &catalog::rtx_3090, &catalog::rtx_pro_6000_max_q}) {
    INFO(a->name.c_str());
    CHECK(&catalog::gemm_donor_of(*a) == &catalog::measured_rtx_pro_6000);
    CHECK(catalog::machine_profile_of(*a).log_sigma >= catalog::profile_rtx_pro_6000.log_sigma);
  }
  for (const pm::accelerator* a : {&catalog::l4, &catalog::rtx_pro_6000, &catalog::a40}) {
    INFO(a->name.c_str());
    CHECK(&catalog::gemm_donor_of(*a) == &catalog::measured_l40s);
  }
  CHECK(catalog::measured_machine_of(catalog::rtx_pro_6000) == &catalog::measured_rtx_pro_6000);
  // Attention stays L40S's.
  CHECK(catalog::attention_profile_of(catalog::rtx_4090).donor == &catalog::l40s);
  CHECK(!catalog::attention_profile_of(catalog::rtx_pro_6000).transferred());
  CHECK(catalog::attention_profile_of(catalog::rtx_5090).donor == &catalog::rtx_pro_6000);
  // 600 W for 467.8 TFLOP/s are less a FLOP than a 4090's 450 W for 165.2: nothing slows down.
  const pm::machine_profile p = catalog::machine_profile_of(catalog::rtx_4090);
  CHECK(p.value.power_slowdown == 0.0);
  CHECK_THAT(p.value.operand_bandwidth.value(),
             WithinRel(11.77e12 * (128.0 * 2.52) / (188.0 * 2.43), 1e-9));
}

TEST_CASE("a prefill chunk in a decode batch on RTX PRO 6000", "[calibrated][shared]") {
  const auto rows = published::mixed_attention_rows(perfmodel_test::measured_folder());
  const pm::mixed_attention_calibration c{catalog::profile_rtx_pro_6000.value,
                                          catalog::mixed_attention_rtx_pro_6000};
  std::vector<double> residual;
  int faster = 0;
  for (const auto& r : rows) {
    const auto e = calibrated_estimate(catalog::rtx_pro_6000, r.prompt, r.decodes, c);
    residual.push_back(std::log(r.seconds / e.time.value()));
    if (r.seconds < r.bound(catalog::rtx_pro_6000)) ++faster;
    if (e.time.value() < r.bound(catalog::rtx_pro_6000)) ++faster;
  }
  CHECK(residual.size() == 4814);
  CHECK(pm::score_of(residual).mean < 0.070);
  CHECK(faster == 0);
  CHECK(pm::coverage_of(residual, catalog::mixed_attention_log_sigma) > 0.78);
  CHECK(pm::coverage_of(residual, catalog::mixed_attention_log_sigma) < 0.84);
}

TEST_CASE("tiles of a prefill chunk in a decode batch by hand", "[calibrated]") {
  // 188 SMs: 64 rows of one head are one tile of two blocks of keys; four decodes of 128 keys and
  // one head are four tiles of two steps. All run at once, and the prompt's half block more is the
  // longest.
  const auto& p = catalog::mixed_attention_rtx_pro_6000;
  const pm::attention_prefill x{
      .batch = 1, .tokens = 64, .query_heads = 1, .kv_heads = 1, .head_dim = 128, .past = 192};
  const pm::attention_decode y{
      .batch = 4, .context = 128, .query_heads = 1, .kv_heads = 1, .head_dim = 128};
  const auto e =
      calibrated_estimate(catalog::rtx_pro_6000, x, y, {catalog::profile_rtx_pro_6000.value, p});
  const double step = 2.0 * 64 * 128 * 256 / (0.6217 * 467.8e12 / 188.0);
  CHECK_THAT(e.terms["tiles"].value(), WithinRel(1.741e-6 + 2.5 * step, 1e-9));
  const double bytes = 2.0 * 128 * (2 * 64 + 2 * 256) + 4 * 2.0 * 128 * (2 + 2 * 128);
  CHECK_THAT(e.terms["memory"].value(), WithinRel(bytes / (0.9303 * 1597e9), 1e-2));
  // 128 contexts of 16,384 tokens fill the SMs with one head: four heads of a group read their keys
  // 4 x 128 / 188 times.
  pm::attention_decode large{
      .batch = 128, .context = 16384, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
  CHECK_THAT(pm::detail::key_reads(catalog::rtx_pro_6000, large),
             WithinRel(4.0 * 128.0 / 188.0, 1e-3));
  large.batch = 16;
  CHECK(pm::detail::key_reads(catalog::rtx_pro_6000, large) == 1.0);
}

// Nothing was fitted to a 4090. llama.cpp reads 15 GB of 16-bit weights for each token and computes
// little: 54.84 tokens a second are 82 % of the memory's data sheet, more than L40S's share.
TEST_CASE("a 4090 reads weights as fast as RTX PRO 6000's share says", "[calibrated][shared]") {
  const auto table = perfmodel_test::measured_table("llamacpp_xiongjiedai_public.csv");
  int rows = 0;
  for (const auto& row : table) {
    if (row.text("device") != "4090 24GB" || row.text("model_quant") != "8B F16" ||
        row.text("test") != "tg" || row.count("n_tokens") > 1024.0) {
      continue;
    }
    ++rows;
    const double seconds = 1.0 / row.number("tokens_per_s");
    const double weights =
        2.0 * 7.50e9;  // 8.03e9 but for the embedding, of which a token reads one row
    const auto reading = [&](const pm::machine_profile& p) {
      return weights / (p.value.dram_share * catalog::rtx_4090.dram.bandwidth.value());
    };
    CHECK(reading(catalog::machine_profile_of(catalog::rtx_4090)) < seconds);
    CHECK(reading(catalog::machine_profile_of(catalog::rtx_4090)) > 0.85 * seconds);
    CHECK(reading(catalog::profile_l40s) > seconds);
  }
  CHECK(rows == 2);
}

}  // namespace property_workstation_measured
