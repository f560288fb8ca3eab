// Rows of the published latencies of element-wise operators, normalisations and look-ups.
#pragma once

#include <perfmodel/calibrated/elementwise.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <string>
#include <variant>
#include <vector>

#include "csv.hpp"

namespace published {

namespace pm = perfmodel;

/// vLLM's kernels of 2023, which load one element at a time: fitted to Vidur's rows of A100 and
/// H100 by validation/calibrate/fit_elementwise.cpp.
inline constexpr pm::memory_bound_kernels scalar_kernels{.name = "vllm_2023",
                                                         .kernel_time = 3.87 * pm::us,
                                                         .element_cycles = 0.634,
                                                         .lookup_cycles = 1.82};

struct elementwise_row {
  std::string gpu, op, source;
  std::variant<pm::elementwise, pm::norm, pm::embedding> workload;
  pm::memory_bound_kernels kernels;
  const pm::accelerator* device = nullptr;
  double seconds = 0.0;

  pm::demand demand() const {
    return std::visit([](const auto& w) { return demand_of(w); }, workload);
  }
  template <class T>
  pm::basic_estimate<T> estimate(const pm::basic_accelerator<T>& a,
                                 const pm::basic_machine_parameters<T>& p,
                                 const pm::basic_memory_bound_kernels<T>& k) const {
    return std::visit(
        [&](const auto& w) {
          return pm::calibrated_estimate(a, pm::lift<T>(w), {p, k},
                                         {.cache = pm::cache_state::warm});
        },
        workload);
  }
  bool is_lookup() const { return std::holds_alternative<pm::embedding>(workload); }
  /// Whether a number that predicts this row comes from its table: the costs of kernels that load
  /// one element at a time, or the launch and the L2 of the small kernels.
  bool fitted() const { return kernels.element_cycles > 0.0 || source == "gpu-benches"; }
  /// Calls were repeated over the same tensors, so those below the L2's size are found there.
  bool may_be_warm() const {
    return demand().dram.total().value() <= 2.0 * device->l2.capacity.value();
  }
};

inline const pm::accelerator* elementwise_accelerator(const std::string& name) {
  if (name == "a100" || name == "A100" || name == "a100_80") return &pm::catalog::a100_sxm_80gb;
  if (name == "h100") return &pm::catalog::h100_sxm;
  if (name == "h200") return &pm::catalog::h200_sxm;
  return nullptr;
}

/// What rotary embedding turns of a token, in elements: its queries and keys.
inline double rotated_width(const std::string& model, double tensor_parallel) {
  if (model == "Llama-2-7b-hf") return (32.0 + 32.0) * 128.0 / tensor_parallel;
  if (model == "Meta-Llama-3-8B") return (32.0 + 8.0) * 128.0 / tensor_parallel;
  if (model == "Meta-Llama-3-70B") return (64.0 + 8.0) * 128.0 / tensor_parallel;
  return 0.0;
}

/// vidur_linear_ops: operators of vllm in 2023. Times are whole microseconds, so rows below 4 us
/// are left out.
inline std::vector<elementwise_row> layer_operators(const std::string& folder) {
  std::vector<elementwise_row> rows;
  for (const auto& c : rows_of(folder + "/vidur_linear_ops_public.csv")) {
    if (!c[7].empty()) continue;
    elementwise_row r;
    r.op = c[3];
    r.kernels = scalar_kernels;
    r.source = "vidur";
    r.device = elementwise_accelerator(c[0]);
    r.seconds = std::stod(c[9]) * 1e-6;
    if (r.device == nullptr || r.seconds < 4e-6) continue;
    r.gpu = r.device->name.view();
    const double tokens = std::stod(c[5]);
    const double width = std::stod(c[6]);
    if (r.op == "add") {
      r.workload = pm::elementwise{.elements = tokens * width, .inputs = 2.0};
      r.kernels = {.name = "PyTorch", .kernel_time = pm::stream_kernel_time};
    } else if (r.op == "mlp_act") {
      r.workload =
          pm::elementwise{.elements = tokens * width, .inputs = 2.0, .flop_per_element = 5.0};
    } else if (r.op == "input_layernorm") {
      r.workload = pm::norm{.rows = tokens, .width = width};
    } else if (r.op == "emb") {
      r.workload = pm::embedding{.tokens = tokens, .vocabulary = 128256.0, .hidden = width};
    } else if (r.op == "attn_rope") {
      const double turned = rotated_width(c[1], std::stod(c[2]));
      if (turned == 0.0) continue;
      r.workload = pm::elementwise{.elements = tokens * turned, .flop_per_element = 3.0};
    } else {
      continue;
    }
    rows.push_back(r);
  }
  return rows;
}

/// gpubench_small_kernels: one kernel that reads and writes doubles, launched again and again.
inline std::vector<elementwise_row> small_kernels(const std::string& folder) {
  std::vector<elementwise_row> rows;
  for (const auto& c : rows_of(folder + "/gpubench_small_kernels.csv")) {
    elementwise_row r;
    r.op = "small kernel";
    r.source = "gpu-benches";
    r.device = elementwise_accelerator(c[0]);
    if (r.device == nullptr || (c[1] != "graph" && c[1] != "stream")) continue;
    r.gpu = r.device->name.view();
    // 16 bytes an element, whose arithmetic is none to speak of.
    r.workload = pm::elementwise{
        .elements = std::stod(c[2]) / 8.0, .flop_per_element = 0.0, .format = pm::fp32};
    r.kernels = {.name = "vectorised",
                 .kernel_time = c[1] == "graph" ? pm::graph_kernel_time : pm::stream_kernel_time};
    r.seconds = std::stod(c[4]) * 1e-6;
    rows.push_back(r);
  }
  return rows;
}

/// llmcompass_ops: PyTorch's operators on A100, called from Python, which takes 13 to 53 us a call:
/// only what streams more than twice the L2 tells something about the device.
inline std::vector<elementwise_row> framework_operators(const std::string& folder) {
  std::vector<elementwise_row> rows;
  for (const auto& c : rows_of(folder + "/llmcompass_ops.csv")) {
    elementwise_row r;
    r.op = c[1];
    r.kernels = {.name = "PyTorch", .kernel_time = pm::stream_kernel_time};
    r.source = "LLMCompass";
    r.device = elementwise_accelerator(c[0]);
    if (r.device == nullptr || r.op == "matmul") continue;
    r.gpu = r.device->name.view();
    const double m = std::stod(c[3]);
    const double n = c[4].empty() ? 1.0 : std::stod(c[4]);
    if (r.op == "layernorm") {
      r.workload = pm::norm{.rows = m, .width = n, .kind = pm::norm_kind::layer};
    } else {
      r.workload = pm::elementwise{.elements = m * n, .flop_per_element = 5.0};
    }
    r.seconds = std::stod(c[6]) * 1e-6;
    if (!r.may_be_warm()) rows.push_back(r);
  }
  return rows;
}

inline std::vector<elementwise_row> elementwise_rows(const std::string& folder) {
  std::vector<elementwise_row> rows = layer_operators(folder);
  for (auto& r : small_kernels(folder)) rows.push_back(std::move(r));
  for (auto& r : framework_operators(folder)) rows.push_back(std::move(r));
  return rows;
}

}  // namespace published
