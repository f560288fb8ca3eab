// Rows of the tuned GEMMs and experts that AMD publishes with AITER, as workloads of this library.
#pragma once

#include <cmath>
#include <map>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/kernels/moe.hpp>
#include <perfmodel/model/catalog/gpt_oss.hpp>
#include <string>
#include <vector>

#include "tables.hpp"

namespace published {

/// The tables name a pair of chips by its compute units. The rows are attributed to the more common
/// one: MI300X rather than MI325X, MI355X rather than MI350X.
inline const pm::accelerator* amd_chip(const common::table_row& c) {
  return c.count("compute_units") > 300.0 ? &pm::catalog::mi300x : &pm::catalog::mi355x;
}

/// The latency of the quickest kernel that a sweep found for one product; operands are cold.
struct amd_gemm_row {
  std::string gpu, scheme, shape;
  pm::gemm workload;
  const pm::accelerator* device = nullptr;
  double seconds = 0.0;

  template <class T>
  pm::basic_estimate<T> estimate(const pm::basic_accelerator<T>& a,
                                 const pm::basic_gemm_calibration<T>& c) const {
    return pm::calibrated_estimate(a, pm::lift<T>(workload), c);
  }
};

/// Schemes: fp8 with scales of 128 values (weights: of 128 x 128), 8 bits with a scale for each
/// row, and bf16.
inline std::vector<amd_gemm_row> amd_gemms(const std::string& folder) {
  std::vector<amd_gemm_row> out;
  for (const auto& c : rows_of(folder, "amd_gemm_public.csv")) {
    amd_gemm_row r;
    r.scheme = c.text("scheme");
    r.device = amd_chip(c);
    r.seconds = c.seconds();
    r.gpu = r.device->name.view();
    r.shape = common::cat(c.text("n"), 'x', c.text("k"));
    r.workload = {.m = c.count("m"),
                  .n = c.count("n"),
                  .k = c.count("k"),
                  .format = pm::bf16,
                  .weights = pm::bf16,
                  .output = pm::bf16};
    if (r.scheme == "fp8_block128") {
      r.workload.format = pm::fp8;
      r.workload.weights = pm::storage_format(pm::fp8, 128 * 128, 32);
    } else if (r.scheme == "w8a8_per_row") {
      const bool integer = c.text("weight_dtype") == "int8";
      r.workload.format = integer ? pm::int8 : pm::fp8;
      r.workload.weights = r.workload.format;
      if (integer) r.scheme = "int8_per_row";
    }
    out.push_back(r);
  }
  return out;
}

/// At most `most` rows of each chip, scheme, (n, k) and octave of m, in the order of the table:
/// half of all rows are of six shapes, and of more than 16384 rows.
inline std::vector<amd_gemm_row> thinned(const std::vector<amd_gemm_row>& rows, int most = 3) {
  std::map<std::string, int> seen;
  std::vector<amd_gemm_row> out;
  for (const amd_gemm_row& r : rows) {
    const int octave = static_cast<int>(std::log2(r.workload.m));
    if (seen[common::cat(r.gpu, r.scheme, r.shape, ' ', octave)]++ < most) out.push_back(r);
  }
  return out;
}

/// The latency of a block of experts in AITER's fused kernels.
struct amd_moe_row {
  std::string gpu, scheme, group;  ///< group: the model's shape, "4096x192x128"
  pm::moe_ffn workload;
  const pm::accelerator* device = nullptr;
  pm::expert_routing routing = pm::expert_routing::random;
  double seconds = 0.0;

  template <class T>
  pm::basic_estimate<T> estimate(const pm::basic_accelerator<T>& a,
                                 const pm::basic_moe_calibration<T>& c) const {
    return pm::calibrated_estimate(a, pm::lift<T>(workload), c, {.routing = routing});
  }
};

/// Rows of MXFP4 kernels with fp8 activations, and of fp8 in groups of 32, that assign tokens to
/// experts in turn: the time doubles with the tokens up to experts / top_k, and is then constant.
/// All others follow the number of distinct experts of a random choice.
inline bool routed_in_turn(const common::table_row& c) {
  const std::string& hidden = c.text("model_dim");
  const std::string& acts = c.text("act_dtype");
  if (!acts.starts_with("float8")) return false;
  if (c.text("weight_dtype").starts_with("float4")) return hidden == "7168";
  return c.text("quant_type") == "per_1x32" && c.text("experts") == "129";
}

/// Rows of one scheme: "bf16", "fp8_block128", "fp8_rest" (a scale for each token or for 32
/// values), "mxfp4" with fp8 or MXFP4 activations, "w4a16" (4-bit weights, bf16 activations).
inline std::string amd_expert_scheme(const common::table_row& c) {
  const bool four_bit = c.text("weight_dtype").find('4') != std::string::npos &&
                        !c.text("weight_dtype").starts_with("float8");
  if (c.text("act_dtype") == "bfloat16") return four_bit ? "w4a16" : "bf16";
  if (four_bit) return "mxfp4";
  return c.text("quant_type") == "per_1x128" ? "fp8_block128" : "fp8_rest";
}

inline std::vector<amd_moe_row> amd_moes(const std::string& folder) {
  std::vector<amd_moe_row> out;
  for (const auto& c : rows_of(folder, "amd_moe_public.csv")) {
    amd_moe_row r;
    r.scheme = amd_expert_scheme(c);
    r.device = amd_chip(c);
    r.seconds = c.seconds();
    r.gpu = r.device->name.view();
    r.group = common::cat(c.text("model_dim"), 'x', c.text("inter_dim"), 'x', c.text("experts"));
    if (routed_in_turn(c)) r.routing = pm::expert_routing::balanced;
    r.workload = {.tokens = c.count("tokens"),
                  .hidden = c.count("model_dim"),
                  .intermediate = c.count("inter_dim"),
                  .experts = c.count("experts"),
                  .top_k = c.count("top_k"),
                  .format = pm::bf16,
                  .weights = pm::bf16};
    if (r.scheme.starts_with("fp8")) {
      r.workload.format = pm::fp8;
      r.workload.weights = pm::storage_format(pm::fp8, 128 * 128, 32);
    } else if (r.scheme != "bf16") {
      const std::string& acts = c.text("act_dtype");
      r.workload.format = acts.starts_with("float8") ? pm::fp8
                          : acts == "bfloat16"       ? pm::bf16
                                                     : pm::fp4;
      r.workload.weights = c.text("weight_dtype") == "int4" ? pm::storage_format(pm::int4, 32, 16)
                                                            : pm::catalog::mxfp4;
    }
    out.push_back(r);
  }
  return out;
}

}  // namespace published
