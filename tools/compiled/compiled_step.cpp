#include <perfmodel/compiled.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel::inline v0_3::compiled {

calibrated calibrated_for(const accelerator& a, engine e, engine_release r) {
  return perfmodel::calibrated_for(a, e, r);
}
estimate step(const deployment& d, const iteration& i, const calibrated& policy) {
  return perfmodel::step(d, i, policy);
}
estimate step_bound(const deployment& d, const iteration& i) {
  return perfmodel::step_bound(d, i);
}

}  // namespace perfmodel::inline v0_3::compiled
