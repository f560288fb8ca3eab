// Declarations of plans. Link perfmodel::compiled, which defines them.
#pragma once

#include <perfmodel/compiled.hpp>
#include <perfmodel/plan/request.hpp>
#include <perfmodel/plan/result.hpp>

namespace perfmodel::inline v0_3::compiled {

/// perfmodel::plan(q, policy), with one policy for all deployments.
plan_result plan(const plan_request& q, const calibrated& policy);
/// perfmodel::plan(q, policy), with the policy of each accelerator and engine:
/// `compiled::plan(q, compiled::calibrated_for)`.
plan_result plan(const plan_request& q, calibrated (*policy)(const accelerator&, engine));
/// perfmodel::plan_bound(q).
plan_result plan_bound(const plan_request& q);

}  // namespace perfmodel::inline v0_3::compiled
