// Rows of the published matrix-product latencies, as this project's workloads.
#pragma once

#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/tools/fit/calibration.hpp>
#include <string>
#include <vector>

#include "tables.hpp"

namespace published {

struct gemm_row {
  std::string gpu, engine = "none", dtype;
  pm::gemm workload;
  const pm::accelerator* device = nullptr;
  double copies = 0.0;  ///< 0: cold
  double seconds = 0.0;

  double weight_bytes() const {
    return workload.n * workload.k * bytes_of(workload.weights).value();
  }
  /// Bytes of weights that the run reads in turn, over the L2's. Below 1 they are found there.
  double l2_fill() const { return copies * weight_bytes() / device->l2.capacity.value(); }
  bool may_be_warm() const { return copies > 0.0 && l2_fill() < 1.5; }
  /// Weights in turn that fill the L2 to within 10 %: some ran from it and others did not.
  bool warmth_unknown() const {
    return copies > 0.0 && partitions() == 1.0 && l2_fill() > 0.9 && l2_fill() < 1.1;
  }
  double partitions() const { return pm::l2_partitions_of(*device); }
};

/// How the published data types store their operands; results are 16 bit.
inline bool set_formats(pm::gemm& g, const std::string& dtype) {
  g.format = pm::bf16;
  g.output = pm::bf16;
  if (dtype == "bfloat16" || dtype == "fp16") return g.weights = pm::bf16, true;
  if (dtype == "fp8") return g.format = pm::fp8, g.weights = pm::fp8, true;
  if (dtype == "fp8_block") {
    return g.format = pm::fp8, g.weights = pm::storage_format(pm::fp8, 128 * 128, 32), true;
  }
  if (dtype == "nvfp4") {
    return g.format = pm::fp4, g.weights = pm::storage_format(pm::fp4, 16, 8), true;
  }
  if (dtype == "sq") return g.format = pm::int8, g.weights = pm::int8, true;
  if (dtype == "int8_wo") return g.weights = pm::int8, true;
  if (dtype == "int4_wo") return g.weights = pm::storage_format(pm::int4, 128, 16), true;
  return false;
}

/// A row of aic_gemm_*; without a device, a format or an engine, nothing.
inline std::optional<gemm_row> graph_gemm(const common::table_row& c,
                                          const pm::accelerator* device) {
  gemm_row r;
  r.engine = common::split(c.text("backend"), '-').front();
  r.dtype = c.text("dtype");
  r.workload = {.m = c.count("m"), .n = c.count("n"), .k = c.count("k")};
  r.device = device;
  r.seconds = c.seconds();
  if (r.device == nullptr || !set_formats(r.workload, r.dtype)) return {};
  if (!pm::find_engine(r.engine)) return {};
  r.copies = pm::catalog::benchmark_weight_copies(
      *pm::find_engine(r.engine), r.weight_bytes() * pm::byte, r.workload.format, *r.device);
  r.gpu = r.device->name.view();
  return r;
}

/// aic_gemm_*: CUDA-graph replay with rotating weights.
inline std::vector<gemm_row> graph_gemms(const std::string& folder) {
  std::vector<gemm_row> rows;
  for (const char* file : {"aic_gemm_bf16_public.csv", "aic_gemm_lowp_public.csv"}) {
    for (const auto& c : rows_of(folder, file)) {
      if (const auto r = graph_gemm(c, device_named(c.text("gpu")))) rows.push_back(*r);
    }
  }
  return rows;
}

/// The bf16 rows of RTX PRO 6000, vLLM 0.24.
inline std::vector<gemm_row> workstation_graph_gemms(const std::string& folder) {
  std::vector<gemm_row> rows;
  for (const auto& c : rows_of(folder, "aic_gemm_new_public.csv")) {
    if (c.text("gpu") != "rtx_pro_6000_server" || c.text("dtype") != "bfloat16") continue;
    if (const auto r = graph_gemm(c, &pm::catalog::rtx_pro_6000)) rows.push_back(*r);
  }
  return rows;
}

/// Fitted parameters of an engine's kernels around low-precision GEMMs, of all machines at once.
/// vLLM quantises by rows and has no rows of blocks; TensorRT-LLM by tensors, and by blocks on Ada
/// too.
inline bool quantises_by_rows(std::string_view engine) {
  return engine == "vllm";
}
inline constexpr std::size_t low_precision_count = 7;
inline std::array<pm::fitted_parameter, low_precision_count> low_precision_parameters(
    std::string_view engine) {
  std::array<pm::fitted_parameter, low_precision_count> p{
      {{"tensor_scale_floor [us]", 4, 0.1, 30},
       {"quantise_bytes", 10, 0.0, 40},
       {"block_scale_share", 0.7, 0.2, 1.2},
       {"low_precision_step [ns]", 0.8, 0.01, 10},
       {"untuned_four_bit_step [ns]", 1, 0.01, 10},
       {"quantise_floor [us]", 4, 0.1, 30},
       {"mma_block_scale_share", 0.5, 0.1, 1.2}}};
  if (quantises_by_rows(engine)) {
    p[5] = {"quantise_row_cycles", 700, 0.0, 10000};
    p[6] = {"single_row_time [us]", 15, 0.0, 50};
    p[4].name = "four_bit_step [ns]";
  }
  return p;
}
template <class T>
pm::basic_engine_profile<T> low_precision_engine(std::string_view engine,
                                                 const std::array<T, low_precision_count>& v) {
  pm::basic_engine_profile<T> e{.tensor_scale_floor = v[0] * pm::us,
                                .quantise_floor = v[0] * pm::us,
                                .quantise_bytes = v[1],
                                .block_scale_share = v[2],
                                .low_precision_step = v[3] * pm::ns,
                                .untuned_four_bit_step = v[4] * pm::ns};
  if (quantises_by_rows(engine)) {
    e.quantise_row_cycles = v[5];
    e.single_row_time = v[6] * pm::us;
  } else {
    e.quantise_floor = v[5] * pm::us;
    e.mma_block_scale_share = v[6];
  }
  return e;
}
/// Its rows: both operands in 8 or 4 bits, except those that may have run from the L2.
inline std::vector<gemm_row> low_precision_rows(const std::vector<gemm_row>& all,
                                                std::string_view engine) {
  std::vector<gemm_row> rows;
  for (const gemm_row& r : all) {
    if (r.engine == engine && bits_of(r.workload.format) <= 8.0 && !r.warmth_unknown()) {
      rows.push_back(r);
    }
  }
  return rows;
}

/// Parameters of weights with fewer bits than their 16-bit activations.
inline constexpr std::array<pm::fitted_parameter, 2> of_widening{
    {{"dequantisation_floor [us]", 5, 0.0, 30}, {"dequantisation_cycles", 0.03, 0.0, 0.5}}};

/// Their rows: TensorRT-LLM's on A100, int8 with a scale for a column and int4 in groups.
inline std::vector<gemm_row> weight_only(const std::vector<gemm_row>& all) {
  std::vector<gemm_row> rows;
  for (const gemm_row& r : all) {
    if (r.dtype == "int8_wo" || r.dtype == "int4_wo") rows.push_back(r);
  }
  return rows;
}
template <class T>
T dequantised_time(const gemm_row& r, const pm::basic_accelerator<T>& device,
                   const pm::basic_machine_parameters<T>& machine, const std::array<T, 2>& v) {
  const pm::basic_engine_profile<T> e{.dequantisation_floor = v[0] * pm::us,
                                      .dequantisation_cycles = v[1]};
  return pm::calibrated_estimate(device, pm::lift<T>(r.workload), {machine, e},
                                 pm::replay_conditions(T(r.copies)))
      .time.value();
}

/// vidur_linear_ops: layers of real models, run one after the other, so their weights are cold.
inline std::vector<gemm_row> layer_gemms(const std::string& folder) {
  std::vector<gemm_row> rows;
  for (const auto& c : rows_of(folder, "vidur_linear_ops_public.csv")) {
    gemm_row r;
    r.device = device_named(c.text("gpu"));
    if (r.device == nullptr || !c.has("k") || !(c.number("latency_median_us") > 0.0)) continue;
    r.dtype = "fp16";
    r.workload = {.m = c.count("num_tokens_m"), .n = c.count("n"), .k = c.count("k")};
    r.seconds = c.seconds("latency_median_us");
    r.gpu = r.device->name.view();
    rows.push_back(r);
  }
  return rows;
}

}  // namespace published
