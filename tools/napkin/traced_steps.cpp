// Steps over numbers that record their derivation.
#include <perfmodel/explain/predict.hpp>

#include "deployments.hpp"

namespace napkin {

template perfmodel::basic_estimate<perfmodel::traced> step_in(
    const bound_mode&, const perfmodel::basic_deployment<perfmodel::traced>&,
    const perfmodel::basic_iteration<perfmodel::traced>&);
template perfmodel::basic_estimate<perfmodel::traced> step_in(
    const perfmodel::basic_calibrated<perfmodel::traced>&,
    const perfmodel::basic_deployment<perfmodel::traced>&,
    const perfmodel::basic_iteration<perfmodel::traced>&);

}  // namespace napkin
