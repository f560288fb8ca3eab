// Errors on services with a held-out model or accelerator, and the uncertainty besides that of
// their kernels that would cover them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <perfmodel/explain/predict.hpp>
#include <set>

#include "published_disaggregated.hpp"
#include "published_engines.hpp"

namespace left_out_services {

namespace pm = perfmodel;
using published::engine_row;

/// One time of one run: ln(measured / predicted), the stated log_sigma of its kernels, and the
/// stated log_sigma besides.
struct scored {
  std::string service{};
  double residual = 0.0, kernels = 0.0, around = 0.0;

  bool inside() const {
    return std::abs(residual) <= pm::z90 * pm::service_log_sigma(kernels, around);
  }
  /// The least log_sigma besides the kernels' that covers the residual.
  double needed() const {
    const double of_kernels = pm::kernel_sigma_share * kernels, off = residual / pm::z90;
    return std::sqrt(std::max(off * off - of_kernels * of_kernels, 0.0));
  }
};
/// Scores by "vllm fitted model token" (engine, kind, part left out, quantity), and by the same
/// with the model and the accelerator appended.
using by_line = std::map<std::string, std::vector<scored>>;

inline double holds(const std::vector<scored>& rows, double share) {
  std::vector<double> needed;
  for (const scored& r : rows) needed.push_back(r.needed());
  return pm::detail::quantile(needed, share);
}
inline double inside(const std::vector<scored>& rows) {
  const auto n =
      std::count_if(rows.begin(), rows.end(), [](const scored& r) { return r.inside(); });
  return static_cast<double>(n) / static_cast<double>(rows.size());
}
inline std::size_t services_of(const std::vector<scored>& rows) {
  std::set<std::string> all;
  for (const scored& r : rows) all.insert(r.service);
  return all.size();
}

/// Scores a run; TTFT only where all requests are admitted at once and the server was warm.
inline void score(by_line& out, const engine_row& r, const pm::calibrated& calibration,
                  const std::string& kind, const std::string& left_out) {
  const pm::serving_estimate s = serving(r.deployment, r.load, calibration);
  const pm::service_uncertainty& w = calibration.services;
  const auto decode = pm::detail::profile_times_of_decode(r.deployment, s, calibration);
  const bool dequantised = pm::dequantises_experts(decode) && w.dequantised_experts > 0.0;
  const pm::parallel_layout& l = r.deployment.layout;
  const std::string service =
      common::cat(r.model, ' ', r.gpu, ' ', r.version, ' ', r.precision, ' ', l.tensor, ' ',
                  l.pipeline, ' ', l.expert, ' ', l.data);
  const std::string by = pm::name_of(r.deployment.serving_engine);
  const auto add = [&](const std::string& of, const char* quantity, const scored& found) {
    const std::string line =
        common::cat(kind == "elsewhere" ? "any" : by, ' ', of, ' ', left_out, ' ', quantity);
    out[line].push_back(found);
    out[common::cat(by, ' ', of, ' ', left_out, ' ', quantity, ' ', r.model, ' ', r.gpu)].push_back(
        found);
  };
  const double more = dequantised ? w.dequantised_experts : 0.0;
  add(dequantised ? "widened" : kind, "token",
      {service, std::log(r.seconds / s.itl.value()), evidence_of(calibration, decode).log_sigma(),
       std::sqrt(w.token * w.token + more * more)});
  if (r.started_cold || s.capacity < r.load.concurrency()) return;
  const double prompts =
      pm::detail::evidence_of_prefill(r.deployment, r.load, s, calibration).log_sigma();
  add(kind, "first", {service, std::log(r.first / s.ttft.value()), prompts, w.first_token});
}

/// The engine fitted to rows; parameters with too few rows are the shipped ones.
template <class Model, class Requests>
pm::engine_profile engine_by(pm::engine by, const std::vector<engine_row>& rows) {
  pm::engine_profile e = pm::catalog::engine_profile_of(by);
  const auto put = [&](auto model, const std::vector<engine_row>& seen) {
    using fitted = decltype(model);
    if (seen.size() > fitted::count)
      fitted::put(e, published::fit_engine<fitted>(seen, {}, false).value);
  };
  put(Model{}, rows);
  put(Requests{}, published::rows_of_requests(rows));
  return e;
}

/// Scores the shipped engine, and fits without each part of the rows.
template <class Model, class Requests>
void add_engine(by_line& out, const std::string& folder, pm::engine by) {
  const std::vector<engine_row> rows = published::engine_rows(folder, by);
  const auto add = [&](const engine_row& r, const pm::engine_profile* e, const char* left_out) {
    pm::calibrated calibration = pm::calibrated_for(r.deployment);
    if (e != nullptr) calibration.engine = *e;
    score(out, r, calibration, "fitted", left_out);
  };
  for (const engine_row& r : rows) add(r, nullptr, "nothing");
  const auto without = [&](const char* what,
                           const std::function<std::string(const engine_row&)>& part) {
    std::set<std::string> parts;
    for (const engine_row& r : rows) parts.insert(part(r));
    for (const std::string& p : parts) {
      std::vector<engine_row> seen;
      for (const engine_row& r : rows)
        if (part(r) != p) seen.push_back(r);
      const pm::engine_profile e = engine_by<Model, Requests>(by, seen);
      for (const engine_row& r : rows)
        if (part(r) == p) add(r, &e, what);
    }
  };
  without("model", [](const engine_row& r) { return r.model; });
  without("gpu", [](const engine_row& r) { return r.gpu; });
}

/// Scores services on AMD, to which no engine was fitted.
inline void add_elsewhere(by_line& out, const std::string& folder) {
  const auto rows = published::service_rows(
      folder,
      [](const published::service&, const pm::accelerator& a) { return !published::on_nvidia(a); });
  for (const engine_row& r : rows) {
    score(out, r, pm::calibrated_for(r.deployment), "elsewhere", "nothing");
  }
}

/// Scores disaggregated services, to which nothing was fitted.
inline void add_pools(by_line& out, const std::string& folder) {
  for (const published::disaggregated_service& s : published::disaggregated_services(folder)) {
    const pm::deployment &prefill = s.pools.prefill.deployment, &decode = s.pools.decode.deployment;
    const pm::calibrated calibration = pm::calibrated_for(decode);
    const auto e = serving(s.pools, s.load, calibration);
    const pm::service_uncertainty w = disaggregated_uncertainty(calibration.services);
    const std::string service = common::cat(
        s.model, ' ', s.precision, ' ', prefill.layout.ranks(), ' ', s.pools.prefill.replicas, ' ',
        decode.layout.ranks(), ' ', decode.layout.data, ' ', s.pools.decode.replicas);
    const auto add = [&](const char* quantity, const scored& found) {
      const std::string line = common::cat("any pools nothing ", quantity);
      out[line].push_back(found);
      out[common::cat(pm::name_of(decode.serving_engine), " pools nothing ", quantity, ' ',
                      decode.model.name.view(), ' ', s.precision)]
          .push_back(found);
    };
    add("token",
        {service, std::log(s.seconds / e.itl.value()),
         evidence_of(calibration, pm::detail::profile_times_of_decode(decode, e, calibration))
             .log_sigma(),
         w.token});
    add("first", {service, std::log(s.first / e.ttft.value()),
                  pm::detail::evidence_of_prefill(prefill, s.load, e, calibration).log_sigma(),
                  w.first_token});
  }
}

}  // namespace left_out_services
