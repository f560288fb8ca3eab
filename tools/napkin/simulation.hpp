// napkin simulate: runs of a service, event by event, and what their requests experience.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <perfmodel/serving/disaggregated.hpp>
#include <perfmodel/simulate.hpp>
#include <string>
#include <vector>

#include "arrival_trend.hpp"
#include "io/figure.hpp"
#include "io/trace_files.hpp"
#include "query.hpp"

namespace napkin {

/// Requests of one simulated run: ten million take minutes, and hold a few GB.
inline constexpr double most_simulated_requests = 1e7;

/// Requests of a simulation: generated from a workload, or replayed from a trace. One source per
/// seed.
struct simulated_load {
  std::optional<perfmodel::workload> generated{};
  std::shared_ptr<const trace_file> trace{};
  perfmodel::replay_options replay{};
  std::string description{};            ///< "1000 requests at 4 req/s"
  double offered_requests_per_s = 0.0;  ///< arrival rate of an open loop; 0: no such rate
  double typical_tokens = 2048.0;       ///< mean length of a whole request

  std::unique_ptr<perfmodel::request_source> source(std::uint64_t seed) const;
};

/// A whole trace at its recorded times; `format` is one of trace_formats or "auto".
simulated_load load_of_trace(const std::string& path, const std::string& format = "auto");

/// A service to simulate: replicas of one deployment, or two pools.
struct simulated_service {
  perfmodel::deployment one{};  ///< with pools, the deployment of the decode pool
  std::optional<perfmodel::disaggregated> pools{};
  perfmodel::simulation_options options{};
  /// Calibration of a prefill pool on another accelerator; null: the same.
  const perfmodel::calibrated* prefill_policy = nullptr;
};

/// Runs a simulation under a calibration; null: at the bounds of the data sheets. `keeps` receives
/// each completed request.
perfmodel::simulation_result run_simulation(
    const simulated_service& s, const simulated_load& l, std::uint64_t seed,
    const perfmodel::calibrated* policy,
    std::function<void(const perfmodel::request_record&)> keeps = {});

/// One figure of a run, with its mean and standard error over seeds.
struct simulated_figure {
  const char* key = "";
  const char* label = "";
  perfmodel::unit_exponents unit{};
  double value = 0.0;
  double standard_error = 0.0;
};
/// Figures of one run: latencies, rates, makespan, counts.
std::vector<simulated_figure> figures_of(const simulated_service& s,
                                         const perfmodel::simulation_result& r);

/// Recorded latencies of the replayed requests of a trace, by the keys of the figures; empty where
/// the trace has none, or is replayed at other times.
std::vector<std::pair<std::string, double>> measured_figures_of(const simulated_load& l);

/// A simulated request of napkin: its figures, and what the first seed did.
struct simulation {
  outcome<> answer{};
  std::vector<simulated_figure> figures{};
  int seeds = 1;
  simulated_service service{};
  arrival_trend trend{};  ///< trend of an open loop with a rate
  simulated_load load{};
  perfmodel::simulation_result first{};
  std::vector<perfmodel::request_record> requests{};  ///< in the order of the workload, where kept
};

/// The service and the workload of a `simulate` request. Throws missing_key, inconsistent.
simulated_service simulated_service_of(inputs<double>& in);
simulated_load simulated_load_of(inputs<double>& in);

/// Simulates a checked request, under a calibration or, if null, at bounds.
simulation simulate_request(const request& r, const calibration* c, bool keeps_requests = false);
/// Checks and simulates an object with the keys of `simulate`.
simulation simulation_of(const json& object, const given_profile* profile = nullptr,
                         bool keeps_requests = false);

/// Conclusion, table of latencies, other figures, and the state over time.
std::string simulation_text(const simulation& s, const json& request);
/// A line per request, with its latencies.
std::string requests_csv(const simulation& s);
/// A line per interval of time, with the mean state of the service.
std::string timeline_csv(const simulation& s);
/// Timeline and distributions.
figure simulation_figure(const simulation& s, const json& request);

std::vector<key> simulation_keys();

}  // namespace napkin
