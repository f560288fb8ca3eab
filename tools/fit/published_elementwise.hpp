// Rows of the published latencies of element-wise operators, normalisations and look-ups.
#pragma once

#include <perfmodel/kernels/elementwise.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tables.hpp"

namespace published {

/// vLLM's kernels of 2023, which load one element at a time: fitted to Vidur's rows of A100 and
/// H100 by tools/fit/fit_elementwise.cpp.
inline constexpr pm::memory_bound_kernels scalar_kernels{.name = "vllm_2023",
                                                         .kernel_time = 2.10 * pm::us,
                                                         .element_cycles = 0.790,
                                                         .lookup_cycles = 1.94,
                                                         .serial_lookup_time = 0.652 * pm::us};

/// Memory accesses for each element. A rotary embedding loads and stores three for each that it
/// turns (two, sine and cosine, two again); a normalisation four (a value twice, its weight, the
/// result); SiLU-and-multiply three, with arithmetic.
inline constexpr double rotary_cycles_share = 0.75;

struct elementwise_row {
  std::string gpu, op, source, model;
  std::variant<pm::elementwise, pm::norm, pm::embedding> workload;
  pm::memory_bound_kernels kernels;
  const pm::accelerator* device = nullptr;
  double seconds = 0.0;
  double cycles_share = 1.0;  ///< multiple of element_cycles

  pm::demand demand() const {
    return std::visit([](const auto& w) { return demand_of(w); }, workload);
  }
  template <class T>
  pm::basic_estimate<T> estimate(const pm::basic_accelerator<T>& a,
                                 const pm::basic_machine_parameters<T>& p,
                                 pm::basic_memory_bound_kernels<T> k) const {
    k.element_cycles *= cycles_share;
    return std::visit(
        [&](const auto& w) {
          return pm::calibrated_estimate(a, pm::lift<T>(w), {p, k},
                                         {.cache = pm::cache_state::warm});
        },
        workload);
  }
  bool is_lookup() const { return std::holds_alternative<pm::embedding>(workload); }
  /// Whether a number that predicts this row comes from its table: the costs of kernels that load
  /// one element at a time, or the launch and the L2 of the other element-wise kernels.
  bool fitted() const { return kernels.element_cycles > 0.0 || source == "gpu-benches"; }
  /// Calls were repeated over the same tensors, so those below the L2's size are found there.
  bool may_be_warm() const {
    return demand().dram.total().value() <= 2.0 * device->l2.capacity.value();
  }
};

/// What rotary embedding turns of a token, in elements: its queries and keys.
inline double rotated_dim(const std::string& model, double tensor_parallel) {
  if (model == "Llama-2-7b-hf") return (32.0 + 32.0) * 128.0 / tensor_parallel;
  if (model == "Meta-Llama-3-8B") return (32.0 + 8.0) * 128.0 / tensor_parallel;
  if (model == "Meta-Llama-3-70B") return (64.0 + 8.0) * 128.0 / tensor_parallel;
  return 0.0;
}

/// vidur_linear_ops: operators of vllm in 2023. Times are whole microseconds, so rows below 4 us
/// are left out.
inline std::vector<elementwise_row> layer_operators(const std::string& folder) {
  std::vector<elementwise_row> rows;
  for (const auto& c : rows_of(folder, "vidur_linear_ops_public.csv")) {
    if (c.has("k")) continue;
    elementwise_row r;
    r.op = c.text("op");
    r.model = c.text("model");
    r.kernels = scalar_kernels;
    r.source = "vidur";
    r.device = device_named(c.text("gpu"));
    r.seconds = c.seconds("latency_median_us");
    if (r.device == nullptr || r.seconds < 4e-6) continue;
    r.gpu = r.device->name.view();
    const double tokens = c.count("num_tokens_m");
    const double width = c.count("n");
    if (r.op == "add") {
      r.workload = pm::elementwise{.elements = tokens * width, .inputs = 2.0};
      r.kernels = {.name = "PyTorch", .kernel_time = pm::stream_kernel_time};
    } else if (r.op == "mlp_act") {
      r.workload = pm::elementwise{
          .elements = tokens * width, .inputs = 2.0, .flop_per_element = 5.0, .rows = tokens};
    } else if (r.op == "input_layernorm") {
      r.workload = pm::norm{.rows = tokens, .width = width};
    } else if (r.op == "emb") {
      r.workload = pm::embedding{.tokens = tokens, .vocabulary = 128256.0, .hidden = width};
    } else if (r.op == "attn_rope") {
      const double turned = rotated_dim(c.text("model"), c.count("tp"));
      if (turned == 0.0) continue;
      r.workload =
          pm::elementwise{.elements = tokens * turned, .flop_per_element = 3.0, .rows = tokens};
      r.cycles_share = rotary_cycles_share;
    } else {
      continue;
    }
    rows.push_back(r);
  }
  return rows;
}

/// gpubench_small_kernels: one kernel that reads and writes doubles, launched again and again.
inline std::vector<elementwise_row> elementwise_kernels(const std::string& folder) {
  std::vector<elementwise_row> rows;
  for (const auto& c : rows_of(folder, "gpubench_small_kernels.csv")) {
    elementwise_row r;
    r.op = "small kernel";
    r.source = "gpu-benches";
    r.device = gpu_benches_device(c.text("gpu"));
    const std::string& mode = c.text("launch_mode");
    // The profiles are of NVIDIA's.
    if (r.device == nullptr || r.device->vendor.view() == "AMD") continue;
    if (mode != "graph" && mode != "stream") continue;
    r.gpu = r.device->name.view();
    // 16 bytes an element, with negligible arithmetic.
    r.workload = pm::elementwise{
        .elements = c.number("bytes_moved") / 8.0, .flop_per_element = 0.0, .format = pm::fp32};
    r.kernels = {.name = "vectorised",
                 .kernel_time = mode == "graph" ? pm::graph_kernel_time : pm::stream_kernel_time};
    r.seconds = c.seconds("time_per_kernel_us");
    rows.push_back(r);
  }
  return rows;
}

/// llmcompass_ops: PyTorch's operators on A100, called from Python, which takes 13 to 53 us a call:
/// only what streams more than twice the L2 tells something about the device.
inline std::vector<elementwise_row> framework_operators(const std::string& folder) {
  std::vector<elementwise_row> rows;
  for (const auto& c : rows_of(folder, "llmcompass_ops.csv")) {
    elementwise_row r;
    r.op = c.text("op");
    r.kernels = {.name = "PyTorch", .kernel_time = pm::stream_kernel_time};
    r.source = "LLMCompass";
    r.device = device_named(c.text("gpu"));
    if (r.device == nullptr || r.op == "matmul") continue;
    r.gpu = r.device->name.view();
    const double m = c.count("m");
    const double n = c.has("n") ? c.count("n") : 1.0;
    if (r.op == "layernorm") {
      r.workload = pm::norm{.rows = m, .width = n, .kind = pm::norm_kind::layer};
    } else {
      r.workload = pm::elementwise{.elements = m * n, .flop_per_element = 5.0};
    }
    r.seconds = c.seconds();
    if (!r.may_be_warm()) rows.push_back(r);
  }
  return rows;
}

inline std::vector<elementwise_row> elementwise_rows(const std::string& folder) {
  std::vector<elementwise_row> rows = layer_operators(folder);
  for (auto& r : elementwise_kernels(folder)) rows.push_back(std::move(r));
  for (auto& r : framework_operators(folder)) rows.push_back(std::move(r));
  return rows;
}

}  // namespace published
