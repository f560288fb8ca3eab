// napkin plan: deployments that serve a load, the cheapest, and the Pareto front.
#pragma once

#include <functional>
#include <map>
#include <perfmodel/explain/plan_review.hpp>

#include "plan_keys.hpp"
#include "query.hpp"
#include "summary.hpp"

namespace napkin {

/// Accelerators of the prefill pool in a request; those that also decode have the same facts there.
std::vector<found_accelerator> prefill_accelerators_of(const request& r);
/// The request's search on these accelerators; `predicted`: default engines are those with a
/// calibration.
perfmodel::plan_request plan_request_of(const request& r, const std::vector<found_accelerator>& on,
                                        const std::vector<found_accelerator>& prefill_on,
                                        bool predicted);
/// Queue limits of a request without a TTFT target and without a longest wait.
struct plan_queue_limits {
  double share = 0.01;  ///< queued_limit of a plan
  perfmodel::duration<> wait =
      1.0 * perfmodel::second;  ///< mean wait, prefill interference included
};
/// Whether these limits apply: no TTFT target, and no longest wait from the request.
bool limits_queue(const request& r);
/// Precisions of other weight formats than the checkpoint's, for the alternatives; none where the
/// request names weight formats.
std::vector<perfmodel::plan_precision> other_precisions_of(const request& r,
                                                           const perfmodel::plan_request& q);
/// Whether prefill runs on another kind of accelerator than decode.
inline bool is_mixed(const perfmodel::plan_point& p) {
  return p.prefill && !(p.prefill->accelerator == p.accelerator);
}

/// Profiles of one accelerator under one engine.
struct plan_calibration {
  perfmodel::engine serving_engine = perfmodel::engine::none;
  calibration profiles{};
  const given_profile* own_service = nullptr;  ///< profile of this service, if given
};

/// The cheapest point within the targets with another engine or format; without one, the factor by
/// which the nearest misses them. `by`: engine, weight_format, kv_format.
struct plan_alternative {
  std::string choice{};
  const char* by = "";
  std::optional<perfmodel::plan_point> point{};
  std::optional<double> miss{};
  std::string reason{};  ///< why nothing is feasible; "" where something is
};
/// A search for the number of GPUs.
struct plan_gpu_search {
  std::vector<int> limits{};  ///< limits tried
  int ceiling = 1024;
};
/// Requests of a point that queue for KV memory or a running-request slot.
struct plan_queue {
  double requests = 0.0;  ///< queued at any time, whole service
  double share = 0.0;     ///< share of the requests in the system; open loop: of the arrivals
  double wait_s = 0.0;    ///< mean wait of queued requests
};
/// Load factor that the first point serves within the targets, and the target missed beyond it.
struct plan_headroom {
  double factor = 1.0;
  std::string beyond{};
};

/// The target that a service misses by the largest factor: measured over limit.
struct plan_miss {
  std::string target{};  ///< "p99 ITL", "TTFT", "longest wait"
  double factor = 1.0;
};
plan_miss worst_miss_of(const perfmodel::plan_request& q, const perfmodel::serving_estimate& s);
/// A percentile with a target in the request.
struct target_percentile {
  const char* key = "";  ///< ttft, itl, e2e
  std::string name{};    ///< "p99 ITL"
  perfmodel::duration<> time{};
};
std::vector<target_percentile> percentiles_of(const perfmodel::plan_request& q,
                                              const perfmodel::serving_estimate& s);
/// ", p99 ITL 163 ms" for each; "" where targets apply to means.
std::string percentiles_text(const perfmodel::plan_request& q,
                             const perfmodel::serving_estimate& s);

/// The best deployment of one accelerator: the cheapest within the targets, else the nearest to
/// them, else the reason why there is none.
struct accelerator_best {
  found_accelerator on{};
  std::optional<perfmodel::plan_point> point{};
  bool meets_targets = false;
  plan_miss miss{};
  std::string reason{};
  std::optional<calibrated_note> note{};  ///< intervals of a prediction
};

/// The cheapest deployment with disaggregated prefill, on the accelerator, the engine and the
/// weight format of row 1.
struct plan_disaggregation {
  perfmodel::plan_point beside{};                  ///< row 1
  std::optional<perfmodel::plan_point> cheaper{};  ///< empty: no gain
  std::optional<calibrated_note> note{};
};

/// Simulation of the cheapest deployment, where the plan has predictions.
struct plan_simulation {
  std::string description{};  ///< "1 of 4 replicas, 5000 requests in steady state"
  std::string reason{};       ///< why there is no simulation; else ""
  perfmodel::duration<> ttft{}, itl{}, e2e{};
  perfmodel::feasibility missed{};  ///< the target that is missed most
  std::size_t refused = 0;          ///< other deployments that miss a target when simulated
  double output_tokens = 0.0;       ///< output tokens of the simulated requests
};

struct planned {
  std::vector<found_accelerator> accelerators{};  ///< owner of the sources that the rest refers to
  perfmodel::plan_request request{};
  perfmodel::plan_result result{};
  std::vector<plan_calibration> calibrations{};  ///< empty in bound mode
  std::vector<std::string> hints{};      ///< how to get predictions, below bounds by default
  std::vector<std::string> left_out{};   ///< given keys that bounds do not use
  std::vector<std::string> not_read{};   ///< fields of the model's file that were not used
  std::vector<calibrated_note> notes{};  ///< note of each Pareto point; empty in bound mode
  std::map<std::size_t, profile_note>
      of_prefills{};  ///< prefill profiles of points with two kinds of accelerator
  std::vector<perfmodel::plan_review> reviews{};    ///< review of each Pareto point
  std::vector<perfmodel::plan_precision> others{};  ///< precisions of the alternatives
  std::optional<plan_gpu_search> search{};  ///< empty where the request states the number of GPUs
  std::optional<plan_queue_limits> headroom_limits{};  ///< in addition to the targets
  std::vector<plan_alternative> alternatives{};
  std::optional<plan_simulation> simulated{};
  /// Simulation of the deployment with fewest GPUs, where it has fewer than the cheapest.
  std::optional<plan_simulation> fewest_simulated{};
  std::optional<plan_headroom>
      headroom{};  ///< none with pools, or where 1024 times the load is served
  std::vector<accelerator_best> best_of_each{};  ///< in the order of the request
  std::optional<plan_disaggregation> disaggregation{};
  /// Bounds of accelerators without predictions, where others have one; one plan or none.
  std::vector<planned> bounds_only{};
};

/// Runs the plan. With `shows_progress` it reports on stderr once it takes longer than a second.
planned plan_of(const json& object, const given_profile* profile = nullptr,
                bool shows_progress = true);

/// Derivation of row 1 with one pool and no speculation; empty where there is none.
perfmodel::derivation derivation_of_plan(const planned& p);

json plan_json(const planned& p, const json& object);
/// Conclusion, table and comparisons; `wide`: all columns, memory, formats and sources too.
std::string plan_text(const planned& p, bool wide);
/// Columns of a point in plan_text's table: head and value.
std::vector<std::pair<std::string, std::string>> columns_of(const planned& p, std::size_t at);
/// Effects of one per cent more of each resource; "" where none has an effect.
std::string elasticities_text(const std::array<perfmodel::elasticity, 7>& all);

/// Breakdown of the TTFT and ITL of a point; its sources are those of facts and of the model.
summary summary_of_row(const planned& p, std::size_t at, const json& object);
/// Price of all devices of a point; none where one has no price.
std::optional<double> usd_per_hour_of(const perfmodel::plan_point& p);
/// Pareto rows without those within 1 % of the ITL and cost of the previous row. Of two such rows
/// the simpler stays (without pools, speculation, a token budget); row 1 always stays.
std::vector<std::size_t> distinct_rows(const planned& p);
/// Rows of the table, of the picture and of the page: the distinct ones, of more than 24 an even
/// selection with both ends.
inline constexpr std::size_t most_rows_shown = 24;
std::vector<std::size_t> rows_shown(const planned& p, std::size_t most = most_rows_shown);
/// Plan of another request with the same calibrations.
using plan_again = std::function<perfmodel::plan_result(const perfmodel::plan_request&)>;
/// The plan of the request, with the number of GPUs searched where the request has none.
void set_result(planned& p, const plan_again& again);
/// The clients or the arrivals of a load, times a factor.
perfmodel::service_load load_times(perfmodel::service_load l, double factor);
/// Simulates the cheapest deployment, and that with fewest GPUs. Where a target is missed, the
/// deployment is refused and `plan_anew` sets the result again, until simulations meet the targets.
void confirm_by_simulation(planned& p, const std::function<void()>& plan_anew);
/// Whether two points of one request are the same deployment.
bool is_same(const perfmodel::plan_point& a, const perfmodel::plan_point& b);
void add_alternatives(planned& p, const plan_again& again);
/// Moves the deployment nearest to the targets into row 1, where none meets them.
void lead_with_nearest(planned& p);
/// Cost of a point: its price where all accelerators have one, else its device time.
double cost_of(const planned& p, const perfmodel::plan_point& point);
/// "1.15 USD/Mtok"; without prices "0.3 GPU-h/Mtok".
std::string cost_text(const planned& p, const perfmodel::plan_point& point);
/// Best deployment of each accelerator; `note` returns the intervals of a point, none for a bound.
using note_of_point = std::function<std::optional<calibrated_note>(const perfmodel::plan_request&,
                                                                   const perfmodel::plan_point&)>;
void add_best_of_each(planned& p, const std::vector<found_accelerator>& on, const plan_again& again,
                      const note_of_point& note);
/// GPUs of the cheapest listed engine or accelerator, where it is cheaper than the best point of a
/// searched plan; else 0.
int gpus_of_cheaper(const planned& p);
/// Tries disaggregated prefill where the request does not.
void add_disaggregation(planned& p, const plan_again& again, const note_of_point& note);
/// One line per accelerator, where there are several.
std::string best_of_each_text(const planned& p);
std::string disaggregation_text(const planned& p);
/// "misses ITL by 2.97x".
std::string miss_text(const plan_miss& m);
/// The point that misses the targets by the smallest factor, in a sentence.
std::string nearest_text(const planned& p);
/// One row for each reason on each accelerator: the deployment nearest to being feasible.
std::string rejected_text(const planned& p);

/// Reason why no deployment serves the load: that of the rejection nearest to being feasible.
std::string nearest_reason(const perfmodel::plan_request& q, const perfmodel::plan_result& r);
/// Reason of a rejection, with the amount needed and its limit; memory as a share of the capacity.
std::string why(const perfmodel::plan_request& q, const perfmodel::plan_rejection& r);
/// "TP2 PP4".
std::string layout_text(const perfmodel::parallel_layout& l);
/// Pools and speculation of a point; "-" where it has neither.
std::string choices_text(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// An amount with two decimals, four below a cent.
std::string money(double usd);
/// "35 ms (30-41)", with the interval in the unit of the time.
std::string with_interval(const perfmodel::duration<>& t, const perfmodel::time_range& r);
plan_queue queue_of(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// Whether half a request queues, or 0.1 % of the arrivals of an open loop.
bool has_queue(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// Requests queued at any time: "72"; in an open loop the share of arrivals that queue: "3.1 %".
std::string queue_column(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// A clause of a sentence: "72 of 200 requests queue for 5.02 s on average".
std::string queue_clause(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// Adds queued_requests, queued_share, queue_wait_s.
void add_queue(json& out, const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// Conclusion: the cheapest deployment, its queue, the fewest GPUs, formats where nothing fits.
std::string conclusion_text(const planned& p);
/// The limits of a search and the fewest GPUs; empty where the request says how many.
json search_json(const planned& p);
/// "12 x h100_sxm (6 replicas of TP2, trtllm, fp8)".
std::string deployment_text(const perfmodel::plan_point& p);
/// Headroom of row 1, predicted with `c`; null: at its bound.
void add_headroom(planned& p, const calibration* c);
/// JSON of prices, alternatives and headroom.
json money_json(const planned& p);
/// Alternatives and disaggregation, as text below the table.
std::string money_text(const planned& p);
/// The load up to which row 1 meets the targets; "" where that is unknown.
std::string headroom_text(const planned& p);
/// The p99 of row 1, where targets apply to means.
std::string tails_text(const planned& p);
/// The simulated latencies of the cheapest deployment, and how many cheaper ones were refused.
std::string simulated_text(const planned& p);
/// A simulation as a value of a plan in JSON.
json simulated_json(const plan_simulation& s);
/// Whether a deployment meets the targets, simulated too where the plan simulates.
bool meets_targets(const planned& p);
std::string prices_text(const planned& p, bool with_sources);
/// The alternatives alone; "" where there are none.
std::string alternatives_text(const planned& p);

/// One page for row `row` of the Pareto front, from 1, cheapest first: binding constraint, cost
/// sensitivity, and breakdown of TTFT and ITL. Throws out_of_range.
std::string plan_row_text(const json& object, const given_profile* profile, double row,
                          bool as_markdown);
json plan_row_json(const json& object, const given_profile* profile, double row,
                   bool shows_progress = true);

}  // namespace napkin
