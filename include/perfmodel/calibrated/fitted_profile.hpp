// Parameters fitted to measurements, and how far to trust what they predict.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel {

/// The 90th percentile of a standard normal deviate: 80 % of all lie between -z90 and z90.
inline constexpr double z90 = 1.2816;

/// The parameters, the standard error of each (0: derived or assumed, see `from`), and how far
/// predictions stray: 80 % of |ln(measured / predicted)| on rows held out lie within z90 log_sigma,
/// as for a normal error of that deviation. `from` names the measurements, or says that this is a
/// default. Profiles of different parameters are different types.
template <class Parameters>
struct fitted_profile;

template <template <class> class Parameters, class T>
struct fitted_profile<Parameters<T>> {
  label name{};  ///< of the accelerator, or of the kind of fabric
  Parameters<T> value{};
  Parameters<T> standard_error{};
  T log_sigma{};
  const source* from = &given_by_caller;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("value", s.value...);
    f("standard_error", s.standard_error...);
    f("log_sigma", s.log_sigma...);
    f("from", s.from...);
  }
};

namespace detail {
template <class To, template <class> class Parameters, class From>
struct rebind<To, fitted_profile<Parameters<From>>> {
  using type = fitted_profile<Parameters<To>>;
};
}  // namespace detail

/// An interval that holds 80 % of measurements: prediction x exp(-+z90 log_sigma).
template <Scalar T = double>
struct basic_time_range {
  duration<T> low{}, high{};
};
using time_range = basic_time_range<>;

/// Errors: predicted negative, log_sigma outside 0 to 100. Test: of rows held out of the fit, 80 % lie
/// inside, within a few %.
template <Scalar T>
constexpr basic_time_range<T> range_of(const duration<T>& predicted,
                                       const std::type_identity_t<T>& log_sigma) {
  using math::exp;
  detail::not_negative("predicted", predicted);
  detail::not_negative("log_sigma", log_sigma);
  const T factor = exp(z90 * detail::within("log_sigma", log_sigma, 0.0, 100.0, "0 to 100"));
  return {predicted / factor, predicted * factor};
}

}  // namespace perfmodel
