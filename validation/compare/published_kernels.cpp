#include <perfmodel/hardware/catalog/all.hpp>

#include "../calibrate/scored_rows.hpp"
#include "published.hpp"

namespace perfmodel::validation {

namespace {

comparison from_row(const published::scored_row& r) {
  comparison c;
  c.table = r.source;
  c.quantity = r.operation;
  c.device = r.gpu;
  c.format = r.format == "bfloat16" ? "bf16" : r.format;
  c.engine = r.engine;
  c.regime = r.regime;
  c.shape = r.shape;
  c.unit = "s";
  c.measured = r.measured;
  c.predicted = r.predicted;
  c.bound = r.bound;
  c.warm = r.l2_warm;
  c.held_to = r.l2_warm ? 0.0 : r.bound;
  c.fitted = r.fitted;
  c.log_sigma = r.log_sigma;
  // Products and prompts are drawn over their arithmetic, the rest over what they move.
  const bool arithmetic = r.operation == "gemm" || r.operation == "attention prefill";
  c.size = arithmetic ? r.flop : r.bytes;
  c.by = "the shipped profile";
  return c;
}

comparison product(const accelerator& a, const gemm& g, double seconds, const char* table,
                   const char* engine) {
  const machine_profile profile = catalog::machine_profile_of(a);
  const estimate e = calibrated_estimate(a, g, {profile.value});
  comparison c;
  c.table = table;
  c.quantity = "gemm";
  c.device = a.name.view();
  c.format = name_of(g.format);
  c.engine = engine;
  c.regime = published::regime_of(e);
  c.shape = published::detail::shape_of(g.m, g.n, g.k);
  c.unit = "s";
  c.measured = seconds;
  c.predicted = e.time.value();
  c.bound = roofline(a, g).time.value();
  c.held_to = c.bound;
  c.log_sigma = profile.log_sigma;
  c.size = demand_of(g).flop().value();
  c.by = "the shipped profile";
  return c;
}

/// Matrix products called from PyTorch on A100, whose host takes some 10 us of each: those that
/// outlast it.
void add_framework_products(const std::string& folder, std::vector<comparison>& out) {
  for (const auto& c : published::rows_of(folder + "/llmcompass_ops.csv")) {
    if (c[0] != "A100" || c[1] != "matmul") continue;
    const double seconds = std::stod(c[6]) * 1e-6;
    if (seconds < 50e-6) continue;
    const gemm g{.m = std::stod(c[3]), .n = std::stod(c[4]), .k = std::stod(c[5]), .format = fp16};
    out.push_back(product(catalog::a100_sxm_80gb, g, seconds, "LLMCompass", "PyTorch"));
  }
}

const accelerator* best_shape_accelerator(const std::string& name) {
  if (name == "NVIDIA A100 SXM") return &catalog::a100_sxm_80gb;
  if (name == "NVIDIA H100 SXM") return &catalog::h100_sxm;
  if (name == "NVIDIA H200 SXM") return &catalog::h200_sxm;
  if (name == "NVIDIA B200 SXM") return &catalog::b200_sxm;
  if (name == "NVIDIA B300 SXM") return &catalog::b300_sxm;
  if (name == "NVIDIA GB200 SXM") return &catalog::gb200;
  if (name == "AMD MI300X") return &catalog::mi300x;
  return nullptr;
}

/// The best of thousands of shapes on each device.
void add_best_shapes(const std::string& folder, std::vector<comparison>& out) {
  for (const auto& c : published::rows_of(folder + "/mamf_matmul_peak.csv")) {
    const accelerator* a = best_shape_accelerator(c[0]);
    if (a == nullptr) continue;
    gemm g{.m = std::stod(c[5]), .n = std::stod(c[6]), .k = std::stod(c[7])};
    if (c[1] != "bf16") g.format = fp8;
    g.weights = g.format;
    g.output = bf16;
    const double seconds = 2.0 * g.m * g.n * g.k / (std::stod(c[2]) * 1e12);
    comparison row = product(*a, g, seconds, "ml-engineering", "PyTorch, best shape");
    out.push_back(std::move(row));
  }
}

}  // namespace

std::vector<comparison> published_kernels(const std::string& folder) {
  std::vector<comparison> out;
  for (const published::scored_row& r : published::scored_rows(folder)) out.push_back(from_row(r));
  add_framework_products(folder, out);
  add_best_shapes(folder, out);
  return out;
}

}  // namespace perfmodel::validation
