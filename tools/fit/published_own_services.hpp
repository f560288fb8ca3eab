// Published runs by service: what one user would have run of his own.
#pragma once

#include <cmath>
#include <map>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/tools/fit/calibrate_service.hpp>
#include <random>

#include "published_services.hpp"

namespace published {

/// Runs of one model in one precision on one layout by one version of an engine.
struct own_service {
  std::string name{}, model{};
  std::vector<pm::service_run> runs{};
};

/// Services with at least a number of runs, by name.
inline std::vector<own_service> own_services(const std::string& folder, std::size_t least) {
  std::map<std::string, own_service> by;
  for (const service& s : services(folder)) {
    const published_model* m = model_of(s.model);
    const pm::accelerator* a = pm::catalog::find_accelerator(s.gpu);
    const auto engine = pm::find_engine(s.engine);
    if (m == nullptr || a == nullptr || !engine) continue;
    if (pm::facts_of(a->architecture).kind != pm::machine_kind::gpu_nvidia) continue;
    if (!tells_of_engine(s, *engine) || s.started_cold) continue;
    const pm::deployment d = deployment_of(s, *m, *a);
    if (!layout_feasible(d.layout, sharded_dims_of(d.model))) continue;
    std::string name = common::cat(m->called, ' ', s.gpu, ' ', s.engine, ' ', s.version, ' ',
                                   s.precision, ' ', d.layout.tensor, ' ', d.layout.pipeline, ' ',
                                   d.layout.expert, ' ', d.layout.data);
    own_service& own = by[name];
    own.name = std::move(name);
    own.model = m->called;
    own.runs.push_back({d, s.load, s.seconds * pm::second, s.first * pm::second});
  }
  std::vector<own_service> out;
  for (auto& [name, own] : by) {
    if (own.runs.size() >= least) out.push_back(std::move(own));
  }
  return out;
}

/// The runs of a service in an order that a seed draws.
inline std::vector<pm::service_run> shuffled(std::vector<pm::service_run> runs, unsigned seed) {
  std::mt19937 random(seed);
  for (std::size_t i = runs.size(); i > 1; --i) std::swap(runs[i - 1], runs[random() % i]);
  return runs;
}

/// Residuals of the runs that a calibration has not seen, and the widths that it states.
struct own_score {
  std::vector<double> token{}, first{};
  double token_sigma = 0.0, first_sigma = 0.0;
};

/// Errors after a calibration to a number of runs, drawn by a seed; with 0, of the shipped profile.
inline own_score score_after(const own_service& s, std::size_t seen, unsigned seed,
                             const pm::service_residual_sigma& prior) {
  const std::vector<pm::service_run> runs = shuffled(s.runs, seed);
  const pm::deployment& d = runs.front().deployment;
  pm::calibrated calibration = pm::calibrated_for(d);
  const std::span<const pm::service_run> all(runs);
  own_score out;
  if (seen > 0) {
    const auto found = pm::calibrate_service(all.first(seen), calibration, prior, false);
    calibration.engine = found.posterior.engine;
    out.token_sigma = found.posterior.token_log_sigma;
    out.first_sigma = found.posterior.first_token_log_sigma;
  }
  for (const pm::service_run& r : all.subspan(seen)) {
    const pm::serving_estimate e = serving(r.deployment, r.load, calibration);
    out.token.push_back(std::log(*r.itl / e.itl));
    out.first.push_back(std::log(*r.ttft / e.ttft));
  }
  return out;
}

}  // namespace published
