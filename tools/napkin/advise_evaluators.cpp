// Latencies of the services that `advise` compares.
#include "advise_evaluators.hpp"

#include <cmath>
#include <perfmodel/serving.hpp>

namespace napkin {

namespace {

namespace pm = perfmodel;

/// The latencies of a service; evaluate(service, load...) returns those of one replica or of pools.
template <class Evaluate>
pm::service_evaluator evaluator_by(const Evaluate& evaluate) {
  return [evaluate](const pm::advised_service& s) -> pm::serving_estimate {
    if (s.pools) return evaluate(*s.pools, s.load);
    double replicas = s.replicas;
    if (s.load.is_closed()) replicas = std::fmin(replicas, s.load.concurrency());
    const pm::service_load share = pm::per_replica(s.load, replicas);
    return s.speculation ? evaluate(s.deployment, share, *s.speculation)
                         : evaluate(s.deployment, share);
  };
}

}  // namespace

perfmodel::service_evaluator bound_evaluator() {
  return evaluator_by(
      [](const auto&... what) -> pm::serving_estimate { return pm::serving_bound(what...); });
}
perfmodel::service_evaluator calibrated_evaluator(const perfmodel::calibrated& policy) {
  return evaluator_by([&policy](const auto&... what) -> pm::serving_estimate {
    return pm::serving(what..., policy);
  });
}

}  // namespace napkin
