// Writes tests/data/service_simulated.tsv: what long simulations say of services under load, which
// takes minutes. Run it where a step's prediction or the simulator changes on purpose:
//
//   cmake --build . --target simulator_record && ./tests/simulator_record > tests/data/service_simulated.tsv
#include <algorithm>
#include <cstdio>

#include "simulator/cases.hpp"

namespace sim = perfmodel_test::simulator;

namespace {

void write(const sim::service& s, const sim::workload& w, const sim::arrival_case& a,
           const sim::figures& f) {
  std::printf("%s\t%s\t%s\t%d\t%d\t%.6g\t%.6g\t%d", s.name, w.name, a.name.c_str(), a.concurrency,
              a.requests, a.rate, a.variation, a.together);
  for (const double x : {f.ttft, f.itl, f.e2e, f.throughput}) std::printf("\t%.5g", x);
  for (const auto& q : {f.ttft90, f.ttft99, f.itl90, f.itl99, f.e2e90, f.e2e99}) {
    std::printf("\t%.4g\t%.4g", q[0], q[1]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main() {
  std::printf("service\tworkload\tload\tconcurrency\trequests\trate\tvariation\ttogether");
  for (const char* mean : {"ttft", "itl", "e2e", "throughput"}) std::printf("\t%s", mean);
  for (const char* q : {"ttft90", "ttft99", "itl90", "itl99", "e2e90", "e2e99"}) {
    std::printf("\t%s_low\t%s_high", q, q);
  }
  std::printf("\n");
  for (const sim::service& s : sim::services()) {
    const sim::step_time pass = sim::predicted_step(s.deployment, sim::measured_like);
    for (const sim::workload& w : sim::workloads) {
      if (!compared(s, w)) continue;
      const auto add = [&](const sim::arrival_case& a, int n) {
        const sim::figures f = sim::simulated(s, w, a, pass, n);
        write(s, w, a, f);
        return f.throughput;
      };
      double best = 0;
      for (const int c : {1, w.places / 16, w.places / 4, w.places, 2 * w.places}) {
        const double reached = add({.name = "closed", .concurrency = c}, std::max(2000, 50 * c));
        best = s.small ? reached : std::max(best, reached);  // evictions: more requests get less
      }
      if (w.kind == sim::scheduling::static_batch) continue;
      const int half = w.places / 2;
      add({.name = "run", .concurrency = half, .requests = 10 * half}, 0);
      for (const double share : {0.3, 0.6, 0.8, 0.9, 0.95}) {
        const int full = s.small ? 150000 : 200000, longest = s.small ? 300000 : 500000;
        const int n = share < 0.85 ? 50000 : share < 0.92 ? full : longest;
        char name[16];
        std::snprintf(name, sizeof name, "open %.2f", share);
        add({.name = name, .rate = share * best}, n);
      }
      if (&w != &sim::workloads[0] || s.small) continue;
      add({.name = "open 0.80, bursts", .rate = 0.8 * best, .variation = 2}, 100000);
      add({.name = "open 0.80, regular", .rate = 0.8 * best, .variation = 0.3}, 100000);
      add({.name = "open 0.60, four at once", .rate = 0.6 * best, .together = 4}, 100000);
    }
  }
}
