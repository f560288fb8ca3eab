// Declarations of plans. Link perfmodel::compiled, which defines them.
#pragma once

#include <perfmodel/compiled.hpp>
#include <perfmodel/plan/request.hpp>
#include <perfmodel/plan/result.hpp>

namespace perfmodel::inline v0_3::compiled {

/// plan(q, policy), with one policy or with that of each accelerator and engine:
/// `compiled::plan(q, compiled::calibrated_for)`.
/// Test: results equal bit by bit (tests/consumer/compiled).
plan_result plan(const plan_request& q, const calibrated& policy);
plan_result plan(const plan_request& q, calibrated (*policy)(const accelerator&, engine));
plan_result plan_bound(const plan_request& q);

}  // namespace perfmodel::inline v0_3::compiled
