// Pointer chase on one core: the latency of one load by working set.
// Tests: latency per cache level, against the sizes that the operating system reports.
#include "../kernels/algorithms/random_cycle.hpp"
#include "chain.hpp"
#include "machine.hpp"
#include "measure.hpp"

#include <memory>

namespace perfmodel::validation {
void measure_chase(const host_session& s, recording& r) {
  const double largest =
      s.reduced ? 1024.0 * 1024.0
                : (std::min)(4.0 * last_cache_bytes(s.device), s.device.memory_bytes / 16.0);
  std::vector<timed_case> cases;
  std::vector<double> steps;
  for (double bytes = 4096.0; bytes <= largest; bytes *= 2.0) {
    steps.push_back(bytes);
    // Between two powers of two as well, where a level ends; farther out a walk takes too long.
    if (bytes * 1.5 <= (std::min)(largest, 4.0 * 1024 * 1024)) steps.push_back(bytes * 1.5);
  }
  for (const double bytes : steps) {
    const auto nodes = static_cast<std::size_t>(bytes) / line_bytes;
    const auto next = random_cycle(nodes, 99);
    // All of a set that a cache may hold, so that the walk before a sample brings it there.
    const std::size_t hops =
        s.reduced ? 2000 : (std::clamp)(nodes, std::size_t{40000}, std::size_t{300000});
    const auto chain = lay_out(next);
    const auto go = [](const chain_place* from, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) from = from->next;
      keep(from);
      return from;
    };
    const chain_place* end = go(chain->data(), s.breaks("drop_hop") ? hops - 1 : hops);
    const auto at = static_cast<std::size_t>(end - chain->data());
    r.check("where the walk through " + std::to_string(nodes * line_bytes) + " bytes ends",
            at == walk(next, hops) ? 0.0 : 1.0, 0.0);
    point p{"load_latency",
            "s",
            {{"working_set_bytes", static_cast<double>(nodes * line_bytes)},
             {"stride_bytes", static_cast<double>(line_bytes)},
             {"hops", static_cast<double>(hops)},
             {"cache", "warm"}},
            {}};
    cases.push_back({std::move(p),
                     [chain, go, hops, where = static_cast<const chain_place*>(chain->data())](
                         int) mutable { where = go(where, hops); },
                     static_cast<double>(hops)});
  }
  measure_all(s, r, cases);
}

}  // namespace perfmodel::validation
