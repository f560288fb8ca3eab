#include <perfmodel/hardware/catalog/all.hpp>

#include <fit/scored_rows.hpp>
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
  const estimate bound = roofline(a, g);
  comparison c;
  c.table = table;
  c.quantity = "gemm";
  c.device = a.name.view();
  c.format = name_of(g.format);
  c.engine = engine;
  c.regime = published::regime_of(bound);
  c.shape = published::detail::shape_of(g.m, g.n, g.k);
  c.unit = "s";
  c.measured = seconds;
  c.bound = bound.time.value();
  c.held_to = c.bound;
  c.size = demand_of(g).flop().value();
  c.by = "the shipped profile";
  if (catalog::can_be_calibrated(a)) {
    const machine_profile profile = catalog::machine_profile_of(a);
    const estimate e = calibrated_estimate(a, g, {profile.value});
    c.regime = published::regime_of(e);
    c.predicted = e.time.value();
    c.log_sigma = profile.log_sigma;
  }
  return c;
}

/// Matrix products called from PyTorch on A100, with some 10 us of CPU time each: those that
/// outlast it.
void add_framework_products(const std::string& folder, std::vector<comparison>& out) {
  for (const auto& c : published::rows_of(folder, "llmcompass_ops.csv")) {
    if (c.text("gpu") != "A100" || c.text("op") != "matmul" || c.seconds() < 50e-6) continue;
    const gemm g{.m = c.count("m"), .n = c.count("n"), .k = c.count("k"), .format = fp16};
    out.push_back(product(catalog::a100_sxm_80gb, g, c.seconds(), "LLMCompass", "PyTorch"));
  }
}

/// The best of thousands of shapes on each device.
void add_best_shapes(const std::string& folder, std::vector<comparison>& out) {
  for (const auto& c : published::rows_of(folder, "mamf_matmul_peak.csv")) {
    const accelerator* a = published::device_named(c.text("accelerator"));
    if (a == nullptr) continue;
    gemm g{.m = c.count("m"), .n = c.count("n"), .k = c.count("k")};
    if (c.text("dtype") != "bf16") g.format = fp8;
    g.weights = g.format;
    g.output = bf16;
    const double seconds = 2.0 * g.m * g.n * g.k / (c.number("mamf_tflops") * 1e12);
    out.push_back(product(*a, g, seconds, "ml-engineering", "PyTorch, best shape"));
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
