// napkin plan: which deployments serve a load, and which of them are worth having.
#pragma once

#include <perfmodel/plan.hpp>

#include "query.hpp"

namespace napkin {

/// The keys of `plan`; it is no query, since it answers with many points.
const query& plan_keys();

struct planned {
  std::vector<found_accelerator> accelerators{};  ///< whose sources the rest refers to
  perfmodel::plan_request request{};
  perfmodel::plan_result result{};
  perfmodel::derivation
      best{};  ///< of the best point, or of the cheapest where none meets the targets
  std::vector<std::string> operators{};     ///< names of what a pass computes; none in bound mode
  std::vector<calibration> calibrations{};  ///< of each accelerator; none in bound mode
  std::vector<std::string> hints{};      ///< where nobody asked for bounds: how predictions are had
  std::vector<calibrated_note> notes{};  ///< of each point of the frontier; none in bound mode
};

/// Reports its progress on stderr once it takes longer than a second.
planned plan_of(const json& object, const given_profile* profile = nullptr);

json plan_json(const planned& p, const json& object);
std::string plan_text(const planned& p, const json& object);

}  // namespace napkin
