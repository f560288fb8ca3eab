// napkin plan: which deployments serve a load, and which of them are worth having.
#pragma once

#include <functional>
#include <map>
#include <perfmodel/explain/plan_review.hpp>

#include "query.hpp"
#include "summary.hpp"

namespace napkin {

/// The keys of `plan`; it is no query, since it answers with many points.
const query& plan_keys();

/// The kinds of chip that a request names for prompts; those that it decodes on too, as it has them there.
std::vector<found_accelerator> prefill_accelerators_of(const request& r);
/// What a request asks on these accelerators; `predicted`: of engines, where it names none.
perfmodel::plan_request plan_request_of(const request& r, const std::vector<found_accelerator>& on,
                                        const std::vector<found_accelerator>& prefill_on,
                                        bool predicted);
/// Limits of the queue where a request has neither a TTFT target nor a longest wait.
struct plan_queue_limits {
  double share = 0.01;  ///< queued_limit of a plan
  perfmodel::duration<> wait =
      1.0 * perfmodel::second;  ///< mean wait, prefill interference included
};
/// Whether these limits hold: no TTFT target, and no longest wait from the request.
bool limits_queue(const request& r);
/// Precisions of other weight formats than the checkpoint's, for the alternatives; none where the
/// request asks for formats of the weights.
std::vector<perfmodel::plan_precision> other_precisions_of(const request& r,
                                                           const perfmodel::plan_request& q);
/// Whether prompts run on another kind of chip than answers.
inline bool is_mixed(const perfmodel::plan_point& p) {
  return p.prefill && !(p.prefill->accelerator == p.accelerator);
}

/// The profiles of one accelerator under one engine.
struct plan_calibration {
  perfmodel::engine serving_engine = perfmodel::engine::none;
  calibration profiles{};
};

/// The cheapest point within the targets with another engine or format; without one, the factor by
/// which the nearest misses them. `by`: engine, weight_format, kv_format.
struct plan_alternative {
  std::string choice{};
  const char* by = "";
  std::optional<perfmodel::plan_point> point{};
  std::optional<double> miss{};
};
/// A search for the number of GPUs.
struct plan_gpu_search {
  std::vector<int> limits{};  ///< limits tried
  int ceiling = 1024;
};
/// Requests of a point that queue for KV memory or a running-request slot.
struct plan_queue {
  double requests = 0.0;  ///< at any time, of the whole service
  double share = 0.0;     ///< share of the requests in the system; in an open loop of the arrivals
  double wait_s = 0.0;    ///< mean, of those that queue
};
/// How many times its load the first point serves within the targets, and what is missed beyond.
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
/// A percentile that a request has a target on.
struct target_percentile {
  const char* key = "";  ///< ttft, itl, e2e
  std::string name{};    ///< "p99 ITL"
  perfmodel::duration<> time{};
};
std::vector<target_percentile> percentiles_of(const perfmodel::plan_request& q,
                                              const perfmodel::serving_estimate& s);
/// ", p99 ITL 163 ms" for each; "" where targets are of means.
std::string percentiles_text(const perfmodel::plan_request& q,
                             const perfmodel::serving_estimate& s);

/// The best deployment of one accelerator: the cheapest within the targets, else the nearest to
/// them, else none and the reason.
struct accelerator_best {
  found_accelerator on{};
  std::optional<perfmodel::plan_point> point{};
  bool meets_targets = false;
  plan_miss miss{};
  std::string reason{};
  std::optional<calibrated_note> note{};  ///< none of a bound
};

/// The cheapest deployment with disaggregated prefill, on the accelerator, the engine and the
/// weights' format of the first row.
struct plan_disaggregation {
  perfmodel::plan_point beside{};                  ///< the first row
  std::optional<perfmodel::plan_point> cheaper{};  ///< none: no gain
  std::optional<calibrated_note> note{};
};

struct planned {
  std::vector<found_accelerator> accelerators{};  ///< whose sources the rest refers to
  perfmodel::plan_request request{};
  perfmodel::plan_result result{};
  std::vector<plan_calibration> calibrations{};  ///< none in bound mode
  std::vector<std::string> hints{};      ///< where nobody asked for bounds: how predictions are had
  std::vector<std::string> left_out{};   ///< of a bound: keys that were given and say nothing of it
  std::vector<calibrated_note> notes{};  ///< of each point of the frontier; none in bound mode
  std::map<std::size_t, profile_note> of_prefills{};  ///< of points that are mixed
  std::vector<perfmodel::plan_review> reviews{};      ///< of each point of the frontier
  std::vector<perfmodel::plan_precision> others{};    ///< precisions of the alternatives
  std::optional<plan_gpu_search> search{};            ///< none where the request says how many GPUs
  std::optional<plan_queue_limits> headroom_limits{};  ///< in addition to the targets
  std::vector<plan_alternative> alternatives{};
  std::optional<plan_headroom>
      headroom{};  ///< none of pools, nor where 1024 times as much is served
  std::vector<accelerator_best> best_of_each{};  ///< in the order of the request
  std::optional<plan_disaggregation> disaggregation{};
  /// The bounds of accelerators without predictions, where others have one; one plan or none.
  std::vector<planned> bounds_only{};
};

/// Reports its progress on stderr once it takes longer than a second.
planned plan_of(const json& object, const given_profile* profile = nullptr);

/// Of the first point of one pool without drafts; empty where there is none.
perfmodel::derivation derivation_of_plan(const planned& p);

json plan_json(const planned& p, const json& object);
std::string plan_text(const planned& p, const json& object);
/// What the table of plan_text says of one point, as words: each column's head and value.
std::vector<std::pair<std::string, std::string>> columns_of(const planned& p, std::size_t at);
/// What one per cent more of each resource does to a number of a point; "" where nothing does anything.
std::string elasticities_text(const std::array<perfmodel::elasticity, 7>& all);

/// What the two times of a point of the frontier are spent on; its sources are those of facts and of the model.
summary summary_of_row(const planned& p, std::size_t at, const json& object);
/// Of all devices of a point; none where one has no price.
std::optional<double> usd_per_hour_of(const perfmodel::plan_point& p);
/// Rows of the frontier without those whose ITL and cost are within 1 % of the row before; of two such the one with
/// less to set up (pools, drafts, a budget), and the first row whatever it has.
std::vector<std::size_t> distinct_rows(const planned& p);
/// The same plan of another request.
using plan_again = std::function<perfmodel::plan_result(const perfmodel::plan_request&)>;
/// The plan of the request, with the number of GPUs searched where the request has none.
void set_result(planned& p, const plan_again& again);
void add_alternatives(planned& p, const plan_again& again);
/// Puts the deployment nearest to the targets into the first row, where none meets them.
void lead_with_nearest(planned& p);
/// Cost of a point: its price where all accelerators have one, else its device time.
double cost_of(const planned& p, const perfmodel::plan_point& point);
/// "1.15 USD/Mtok"; without prices "0.3 GPU-h/Mtok".
std::string cost_text(const planned& p, const perfmodel::plan_point& point);
/// `note` says of a point what its profile gives; none of a bound.
using note_of_point = std::function<std::optional<calibrated_note>(const perfmodel::plan_request&,
                                                                   const perfmodel::plan_point&)>;
void add_best_of_each(planned& p, const std::vector<found_accelerator>& on, const plan_again& again,
                      const note_of_point& note);
/// The GPUs of the cheapest engine or accelerator that is listed, where it is cheaper than the best
/// point of a searched plan; else 0.
int gpus_of_cheaper(const planned& p);
/// Tries disaggregated prefill where the request does not.
void add_disaggregation(planned& p, const plan_again& again, const note_of_point& note);
/// One line for each accelerator, where there are several.
std::string best_of_each_text(const planned& p);
std::string disaggregation_text(const planned& p);
/// "misses ITL by 2.97x".
std::string miss_text(const plan_miss& m);
/// The point that misses the targets by the smallest factor.
std::string nearest_text(const planned& p);
/// One row for each reason on each accelerator: the deployment nearest to being feasible.
std::string rejected_text(const planned& p);

/// The infeasibility of a rejection, in words.
std::string why(const perfmodel::plan_rejection& r);
/// "TP2 PP4".
std::string layout_text(const perfmodel::parallel_layout& l);
/// Pools, drafts and token budgets of a point; "-" where it has none.
std::string choices_text(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// An amount with two decimals, four below a cent.
std::string money(double usd);
/// "35 ms (30-41)", with the interval in the unit of the time.
std::string with_interval(const perfmodel::duration<>& t, const perfmodel::time_range& r);
plan_queue queue_of(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// Whether half a request queues, or 0.1 % of the arrivals of an open loop.
bool has_queue(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// "72 of 200: 5.02 s"; of an open loop "3.1 %: 800 ms"; "-" without a queue.
std::string queue_column(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// A clause of a sentence: "72 of 200 requests queue for 5.02 s on average".
std::string queue_clause(const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// queued_requests, queued_share, queue_wait_s.
void add_queue(json& out, const perfmodel::plan_request& q, const perfmodel::plan_point& p);
/// The conclusion: how many GPUs where they were searched, the queue, formats where nothing fits.
std::string conclusion_text(const planned& p);
/// The limits of a search and the fewest GPUs; empty where the request says how many.
json search_json(const planned& p);
/// "12 x h100_sxm (6 replicas of TP2, trtllm, fp8)".
std::string deployment_text(const perfmodel::plan_point& p);
/// `c` predicts the first point; null: at its bound.
void add_headroom(planned& p, const calibration* c);
/// prices, alternatives and headroom.
json money_json(const planned& p);
/// What of this stands below the table, and the first row's p99 where targets are of means.
std::string money_text(const planned& p);
/// The alternatives alone; "" where there are none.
std::string alternatives_text(const planned& p);

/// One screen for point `row` of the frontier, from 1, cheapest first: what holds it, what its cost depends
/// on, and what its two times are spent on. Throws out_of_range.
std::string plan_row_text(const json& object, const given_profile* profile, double row,
                          bool as_markdown);
json plan_row_json(const json& object, const given_profile* profile, double row);

}  // namespace napkin
