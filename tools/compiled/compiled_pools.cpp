#include <perfmodel/compiled.hpp>
#include <perfmodel/serving/serving.hpp>

namespace perfmodel::inline v0_3::compiled {

disaggregated_estimate serving(const disaggregated& d, const service_load& l,
                               const calibrated& policy) {
  return perfmodel::serving(d, l, policy);
}
disaggregated_estimate serving_bound(const disaggregated& d, const service_load& l) {
  return perfmodel::serving_bound(d, l);
}

}  // namespace perfmodel::inline v0_3::compiled
