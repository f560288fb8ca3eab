// Whole services: the time per output token of a closed loop, by the laws of serving and of a step.
#include <cmath>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>

#include <fit/published_services.hpp>
#include "published.hpp"

namespace perfmodel::validation {

namespace {

/// Measurement with its bound and, where kernels of the accelerator were measured, its prediction.
std::optional<comparison> compared(const published::service& s) {
  const published::published_model* m = published::model_of(s.model);
  const accelerator* a = catalog::find_accelerator(s.gpu);
  if (m == nullptr || a == nullptr) return {};
  const deployment d = deployment_of(s, *m, *a);
  if (!layout_feasible(d.layout, sharded_dims_of(d.model))) return {};
  comparison r;
  r.table = s.table;
  r.quantity = "time per output token";
  r.device = a->name.c_str();
  r.format = s.precision;
  r.engine = s.may_speculate ? cat(s.engine, ", with MTP or without") : s.engine;
  r.shape = m->called;
  r.size = s.load.concurrency();
  r.regime = r.size <= 16.0 ? "<=16" : ">16";
  r.unit = "s";
  r.measured = s.seconds;
  r.bound = serving_bound(d, s.load).itl.value();
  if (!s.may_speculate) r.held_to = r.bound;
  r.by = "serving, calibrated operators and collectives";
  if (catalog::can_be_calibrated(*a)) {
    const bool nvidia = facts_of(a->architecture).kind == machine_kind::gpu_nvidia;
    r.fitted = nvidia && tells_of_engine(s, d.serving_engine);
    const service_prediction p = predict(d, s.load, calibrated_for(d));
    r.predicted = p.estimate.itl.value();
    r.log_sigma = std::log(p.high / p.estimate.itl) / z90;
  }
  return r;
}

}  // namespace

std::vector<comparison> published_serving(const std::string& folder) {
  std::vector<comparison> out;
  for (const published::service& s : published::services(folder)) {
    if (auto c = compared(s)) out.push_back(std::move(*c));
  }
  return out;
}

}  // namespace perfmodel::validation
