// napkin plan: which deployments serve a load, and which of them are worth having.
#pragma once

#include <functional>
#include <map>
#include <perfmodel/analysis/plan_review.hpp>

#include "query.hpp"
#include "summary.hpp"

namespace napkin {

/// The keys of `plan`; it is no query, since it answers with many points.
const query& plan_keys();

/// The kinds of chip that a request names for prompts; those that it decodes on too, as it has them there.
std::vector<found_accelerator> prefill_accelerators_of(const request& r);
/// What a request asks; `predicted`: of engines, where it names none.
perfmodel::plan_request plan_request_of(const request& r,
                                        const std::vector<found_accelerator>& prefill_on,
                                        bool predicted);
/// Whether prompts run on another kind of chip than answers.
inline bool is_mixed(const perfmodel::plan_point& p) {
  return p.prefill && !(p.prefill->accelerator == p.accelerator);
}

/// The profiles of one accelerator under one engine.
struct plan_calibration {
  perfmodel::engine served_by = perfmodel::engine::none;
  calibration profiles{};
};

/// The cheapest point within the targets where an engine or the weights' format is another; none where nothing
/// is within them. `by`: engine, weight_format.
struct plan_alternative {
  std::string choice{};
  const char* by = "";
  std::optional<perfmodel::plan_point> point{};
};
/// How many times its load the first point serves within the targets, and what is missed beyond.
struct plan_headroom {
  double factor = 1.0;
  std::string beyond{};
};

struct planned {
  std::vector<found_accelerator> accelerators{};  ///< whose sources the rest refers to
  perfmodel::plan_request request{};
  perfmodel::plan_result result{};
  std::vector<plan_calibration> calibrations{};  ///< none in bound mode
  std::vector<std::string> hints{};      ///< where nobody asked for bounds: how predictions are had
  std::vector<std::string> left_out{};   ///< of a bound: keys that were given and say nothing of it
  std::vector<calibrated_note> notes{};  ///< of each point of the frontier; none in bound mode
  std::map<std::size_t, profile_note> of_prompts{};  ///< of points that are mixed
  std::vector<perfmodel::plan_review> reviews{};     ///< of each point of the frontier
  std::vector<plan_alternative> alternatives{};
  std::optional<plan_headroom>
      headroom{};  ///< none of pools, nor where 1024 times as much is served
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
void add_alternatives(planned& p, const plan_again& again);
/// `c` predicts the first point; null: at its bound.
void add_headroom(planned& p, const calibration* c);
/// prices, alternatives and headroom.
json money_json(const planned& p);
/// What of this stands below the table, and the first row's p99 where targets are of means.
std::string money_text(const planned& p);

/// One screen for point `row` of the frontier, from 1, cheapest first: what holds it, what its cost depends
/// on, and what its two times are spent on. Throws out_of_range.
std::string plan_row_text(const json& object, const given_profile* profile, double row,
                          bool as_markdown);
json plan_row_json(const json& object, const given_profile* profile, double row);

}  // namespace napkin
