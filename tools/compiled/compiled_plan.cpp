#include <perfmodel/compiled_plan.hpp>
#include <perfmodel/plan/plan.hpp>

namespace perfmodel::inline v0_3::compiled {

plan_result plan(const plan_request& q, const calibrated& policy) {
  return perfmodel::plan(q, policy);
}
plan_result plan(const plan_request& q, calibrated (*policy)(const accelerator&, engine)) {
  return perfmodel::plan(q, policy);
}
plan_result plan_bound(const plan_request& q) {
  return perfmodel::plan_bound(q);
}

}  // namespace perfmodel::inline v0_3::compiled
