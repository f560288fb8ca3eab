// Bounds of the query `serving`.
#include "serving_query.hpp"

namespace napkin::queries {

template outcome<> serving::run(inputs<double>&, const bound_mode&);

std::optional<outcome<>> serving::stated_bounds(inputs<double>& in) {
  if (has_pools(in)) return {};
  const replica_count n = replicas_of(in);
  const pm::deployment d = replica_of(in, n);
  if (drafts_of(in, d)) return {};
  const pm::service_load all = service_load_of(in);
  const pm::service_load share = pm::per_replica(all, busy_replicas(n, all));
  pm::detail::check_deployment(d);
  const auto bound_of = [&d](const pm::iteration& i) {
    return pm::detail::bound_of_step(d, i, pm::full_link{});
  };
  outcome<> out;
  out.least_itl = bound_of(lone_decode(share)).time.value();
  out.least_ttft =
      pm::detail::least_prefill(d, pm::resolve_prefix_hit(d, share), bound_of).time.value();
  note_least_request(out, share);
  out.add("ttft_s", "TTFT (mean)", pm::duration<>::from_value(*out.least_ttft));
  out.add("itl_s", "ITL (mean)", pm::duration<>::from_value(*out.least_itl));
  return out;
}

}  // namespace napkin::queries
