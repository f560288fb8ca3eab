#include <perfmodel/compiled.hpp>
#include <perfmodel/serving/serving.hpp>

namespace perfmodel::inline v0_3::compiled {

serving_estimate serving(const deployment& d, const service_load& l, const calibrated& policy) {
  return perfmodel::serving(d, l, policy);
}
serving_estimate serving_bound(const deployment& d, const service_load& l) {
  return perfmodel::serving_bound(d, l);
}

}  // namespace perfmodel::inline v0_3::compiled
