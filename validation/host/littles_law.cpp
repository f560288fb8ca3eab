// Little's law on one core: 1 to 8 walks through memory at once, none waiting for another.
// Tests: bandwidth = bytes in flight / latency, a line of 64 bytes a walk.
#include <array>
#include <memory>

#include "../kernels/algorithms/random_cycle.hpp"
#include "chain.hpp"
#include "machine.hpp"
#include "measure.hpp"

namespace perfmodel::validation {
namespace {

template <std::size_t Chains>
void walk_together(std::array<const chain_place*, 8>& at, std::size_t hops) {
  std::array<const chain_place*, Chains> p{};
  for (std::size_t c = 0; c < Chains; ++c) p[c] = at[c];
  for (std::size_t i = 0; i < hops; ++i) {
    for (std::size_t c = 0; c < Chains; ++c) p[c] = p[c]->next;
  }
  for (std::size_t c = 0; c < Chains; ++c) at[c] = p[c];
  keep(at);
}

using walker = void (*)(std::array<const chain_place*, 8>&, std::size_t);
constexpr walker walkers[] = {walk_together<1>, walk_together<2>, walk_together<3>,
                              walk_together<4>, walk_together<5>, walk_together<6>,
                              walk_together<7>, walk_together<8>};

}  // namespace

void measure_littles_law(const host_session& s, recording& r) {
  const double bytes =
      s.reduced ? 1e6 : (std::min)(8.0 * last_cache_bytes(s.device), s.device.memory_bytes / 16.0);
  const auto nodes = static_cast<std::size_t>(bytes) / line_bytes;
  const auto next = random_cycle(nodes, 77);
  const auto chain = lay_out(next);
  const std::size_t hops = s.reduced ? 500 : 20000;
  std::vector<timed_case> cases;
  for (std::size_t chains = 1; chains <= 8; ++chains) {
    std::array<const chain_place*, 8> at{};
    std::array<std::size_t, 8> place{};
    for (std::size_t c = 0; c < 8; ++c) at[c] = &(*chain)[place[c] = c * nodes / 8];
    walkers[chains - 1](at, s.breaks("drop_hop") ? 99 : 100);
    double wrong = 0;
    for (std::size_t c = 0; c < chains; ++c) {
      for (int i = 0; i < 100; ++i) place[c] = next[place[c]];
      if (at[c] != &(*chain)[place[c]]) ++wrong;
    }
    r.check("where " + std::to_string(chains) + " walks end", wrong, 0.0);
    point p{"bytes_in_flight_time",
            "s",
            {{"chains", static_cast<double>(chains)},
             {"threads", 1},
             {"cache", "cold"},
             {"bytes_read", static_cast<double>(chains * hops * line_bytes)},
             {"bytes_written", 0.0},
             {"flop", 0.0}},
            {}};
    cases.push_back(
        {std::move(p), [=, walks = at](int) mutable { walkers[chains - 1](walks, hops); }});
  }
  measure_all(s, r, cases);
}

}  // namespace perfmodel::validation
