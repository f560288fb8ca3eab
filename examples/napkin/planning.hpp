// napkin plan: which deployments serve a load, and which of them are worth having.
#pragma once

#include <map>
#include <perfmodel/analysis/plan_review.hpp>

#include "query.hpp"

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

struct planned {
  std::vector<found_accelerator> accelerators{};  ///< whose sources the rest refers to
  perfmodel::plan_request request{};
  perfmodel::plan_result result{};
  std::optional<std::size_t> derived{};  ///< the first point of one pool without drafts
  perfmodel::derivation best{};          ///< of that
  std::vector<std::string> operators{};  ///< names of what a pass computes; none in bound mode
  std::vector<plan_calibration> calibrations{};  ///< none in bound mode
  std::vector<std::string> hints{};      ///< where nobody asked for bounds: how predictions are had
  std::vector<calibrated_note> notes{};  ///< of each point of the frontier; none in bound mode
  std::map<std::size_t, profile_note> of_prompts{};  ///< of points that are mixed
  std::vector<perfmodel::plan_review> reviews{};     ///< of each point of the frontier
};

/// Reports its progress on stderr once it takes longer than a second.
planned plan_of(const json& object, const given_profile* profile = nullptr);

json plan_json(const planned& p, const json& object);
std::string plan_text(const planned& p, const json& object);
/// What the table of plan_text says of one point, as words: each column's head and value.
std::vector<std::pair<std::string, std::string>> columns_of(const planned& p, std::size_t at);
/// What one per cent more of each resource does to a number of a point; "" where nothing does anything.
std::string elasticities_text(const std::array<perfmodel::elasticity, 7>& all);

/// One screen for point `row` of the frontier, from 1, cheapest first: what holds it, what its cost depends
/// on, and what its two times are spent on. Throws out_of_range.
std::string plan_row_text(const json& object, const given_profile* profile, double row,
                          bool as_markdown);
json plan_row_json(const json& object, const given_profile* profile, double row);

}  // namespace napkin
