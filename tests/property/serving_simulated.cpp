// The laws of a service under load against long simulations of it, request by request.
// tests/data/service_simulated.tsv has what was simulated, and simulator/record.cpp writes it.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <perfmodel/serving.hpp>
#include <simulator/cases.hpp>
#include <sstream>
#include <stdexcept>

#include "support/near.hpp"
#include "support/tables.hpp"

namespace property_serving_simulated {

namespace pm = perfmodel;
namespace sim = perfmodel_test::simulator;
using perfmodel_test::near;

namespace {

template <class Entries>
const auto& entry_of(const Entries& entries, const std::string& name) {
  for (const auto& e : entries) {
    if (e.name == name) return e;
  }
  throw std::runtime_error("unknown: " + name);
}

struct simulated_row {
  const sim::service& service;
  const sim::workload& workload;
  sim::arrival_case arrivals;
  sim::figures simulated;

  std::string name() const {
    std::ostringstream out;
    out << service.name << ", " << workload.name << ", " << arrivals.name;
    if (arrivals.concurrency > 0) out << " " << arrivals.concurrency;
    return out.str();
  }
};

simulated_row read_row(const common::table_row& r) {
  const auto both = [&](const std::string& q) {
    return std::array{r.number(q + "_low"), r.number(q + "_high")};
  };
  return {
      entry_of(sim::services(), r.text("service")),
      entry_of(sim::workloads, r.text("workload")),
      {r.text("load"), r.whole("concurrency"), r.whole("requests"), r.number("rate"),
       r.number("variation"), r.whole("together")},
      {r.number("ttft"), r.number("itl"), r.number("e2e"), r.number("throughput"), both("ttft90"),
       both("ttft99"), both("itl90"), both("itl99"), both("e2e90"), both("e2e99")}};
}
std::vector<simulated_row> simulated_rows() {
  std::vector<simulated_row> rows;
  for (const auto& r : perfmodel_test::test_data("service_simulated.tsv")) {
    rows.push_back(read_row(r));
  }
  return rows;
}

pm::service_load load_of(const sim::workload& w, const sim::arrival_case& a) {
  pm::service_load l{.input_tokens = w.input, .output_tokens = w.output};
  l.chunk_tokens = w.budget;
  l.batch_limit = w.places;
  l.input_cv = l.output_cv = w.spread;
  l.prefix_hit = w.cached;
  l.scheduler = w.kind == sim::scheduling::mixed           ? pm::scheduling::mixed_chunks
                : w.kind == sim::scheduling::prefill_first ? pm::scheduling::prefill_first
                                                           : pm::scheduling::static_batches;
  if (a.concurrency == 0) {
    l.arrivals =
        pm::open_loop{a.rate * pm::request_per_s, a.variation, static_cast<double>(a.together)};
  } else {
    pm::closed_loop loop{static_cast<double>(a.concurrency)};
    if (a.requests > 0) loop.requests = a.requests;
    l.arrivals = loop;
  }
  return l;
}

/// How far a law's quantile lies outside of those at about its share.
double outside(double law, const std::array<double, 2>& simulated) {
  return law < simulated[0] ? law / simulated[0] - 1 : std::max(0.0, law / simulated[1] - 1);
}

/// What is compared, and what the laws should keep to.
constexpr std::array quantities{"mean TTFT",      "mean ITL",      "mean end to end", "throughput",
                                "p90 TTFT",       "p99 TTFT",      "p90 ITL",         "p99 ITL",
                                "p90 end to end", "p99 end to end"};
constexpr std::array limits{0.05, 0.05, 0.05, 0.05, 0.15, 0.25, 0.15, 0.25, 0.15, 0.25};
using numbers = std::array<double, quantities.size()>;

numbers errors_of(const simulated_row& r) {
  const sim::figures& s = r.simulated;
  const pm::serving_estimate e =
      pm::serving(r.service.deployment, load_of(r.workload, r.arrivals), sim::measured_like);
  return {e.ttft.value() / s.ttft - 1,
          e.itl.value() / s.itl - 1,
          e.e2e.value() / s.e2e - 1,
          e.throughput.value() / s.throughput - 1,
          outside(e.ttft_distribution.quantile(0.9).value(), s.ttft90),
          outside(e.ttft_distribution.quantile(0.99).value(), s.ttft99),
          outside(e.itl_distribution.quantile(0.9).value(), s.itl90),
          outside(e.itl_distribution.quantile(0.99).value(), s.itl99),
          outside(e.e2e_quantile(0.9).value(), s.e2e90),
          outside(e.e2e_quantile(0.99).value(), s.e2e99)};
}

/// Errors of the rows of a kind: how many are within the limit, and the worst.
struct scores {
  int rows = 0;
  std::array<int, quantities.size()> within{};
  numbers worst{};
  std::array<std::string, quantities.size()> where{};

  void add(const simulated_row& r) {
    const numbers e = errors_of(r);
    ++rows;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (std::abs(e[i]) <= limits[i]) ++within[i];
      if (std::abs(e[i]) <= std::abs(worst[i])) continue;
      worst[i] = e[i];
      where[i] = r.name();
    }
  }
  std::string report() const {
    std::ostringstream out;
    for (std::size_t i = 0; i < quantities.size(); ++i) {
      out << "  " << quantities[i] << ": " << within[i] << " of " << rows << " within "
          << 100 * limits[i] << " %, worst " << std::round(1000 * worst[i]) / 10 << " % ("
          << where[i] << ")\n";
    }
    return out.str();
  }
};

/// Small caches of any load, closed loops, runs, and open loops below and above 85 % of the best
/// rate.
std::string kind_of(const simulated_row& r) {
  if (r.service.small) return "small cache";
  if (r.arrivals.concurrency == 0) {
    return r.arrivals.name >= "open 0.85" ? "open, nearly full" : "open";
  }
  return r.arrivals.name;
}

}  // namespace

TEST_CASE("service: short simulations say what the long ones that were recorded do", "[long]") {
  std::map<std::string, sim::step_time> passes;
  for (const sim::service& s : sim::services()) {
    passes[s.name] = sim::predicted_step(s.deployment, sim::measured_like);
  }
  int checked = 0;
  for (const simulated_row& r : simulated_rows()) {
    if (r.arrivals.name >= "open 0.70" || r.arrivals.concurrency > r.workload.places / 4) continue;
    const bool even =
        r.workload.spread < 0.5 && r.workload.output < 300 && r.arrivals.together == 1;
    if (!even || r.service.small) continue;  // needs a long one
    ++checked;
    const sim::figures f =
        sim::simulated(r.service, r.workload, r.arrivals, passes.at(r.service.name), 400);
    CAPTURE(r.name());
    CHECK(near(f.itl, r.simulated.itl, 0.07));
    CHECK(near(f.ttft, r.simulated.ttft, 0.1));
    CHECK(near(f.e2e, r.simulated.e2e, 0.07));
  }
  CHECK(checked > 20);
}

TEST_CASE("service: the laws against simulations") {
  // Rows within the limits, at least, in the order of `quantities`. Raise these where a law
  // improves.
  const std::map<std::string, std::array<int, quantities.size()>> reached{
      {"closed", {85, 100, 98, 98, 86, 90, 98, 96, 100, 100}},
      {"run", {14, 14, 18, 13, 16, 18, 18, 18, 18, 18}},
      {"open", {40, 56, 55, 60, 48, 50, 48, 59, 57, 60}},
      {"open, nearly full", {3, 31, 28, 36, 13, 6, 35, 32, 32, 32}},
      {"small cache", {19, 33, 30, 35, 22, 25, 32, 43, 40, 44}},
  };
  std::map<std::string, scores> all;
  for (const simulated_row& r : simulated_rows()) all[kind_of(r)].add(r);
  CHECK(all.size() == reached.size());
  for (const auto& [kind, s] : all) {
    INFO(kind << "\n" << s.report());
    CHECK(s.rows > 15);
    for (std::size_t i = 0; i < quantities.size(); ++i) {
      CAPTURE(quantities[i]);
      CHECK(s.within[i] >= reached.at(kind)[i]);
    }
  }
}

}  // namespace property_serving_simulated
