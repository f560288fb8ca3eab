// Parameters fitted to measurements, and how far to trust what they predict.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel {

/// Parameters fitted to measurements of one machine, each with its standard error (0: derived or
/// assumed, see `from`). `log_sigma` says how far measurements are from predictions: 80 % of
/// |ln(measured / predicted)| of rows held out are below z90 log_sigma, as of a normal error of that
/// standard deviation. Profiles of different parameters are different types.
template <class Parameters>
struct fitted_profile;

template <template <class> class Parameters, class T>
struct fitted_profile<Parameters<T>> {
  label name{};                ///< whose it is: an accelerator, or a kind of fabric
  const accelerator* donor{};  ///< the machine that was measured; null: see `from`
  Parameters<T> value{};
  Parameters<T> standard_error{};
  T log_sigma{};
  const source* from = &given_by_caller;

  /// Whether the parameters were fitted to another machine than they are for.
  constexpr bool transferred() const { return donor != nullptr && !(donor->name == name); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("donor", s.donor...);
    f("value", s.value...);
    f("standard_error", s.standard_error...);
    f(field::within("log_sigma", 0.0, 100.0, "0 to 100"), s.log_sigma...);
    f("from", s.from...);
  }
};

namespace detail {
template <class To, template <class> class Parameters, class From>
struct rebind<To, fitted_profile<Parameters<From>>> {
  using type = fitted_profile<Parameters<To>>;
};
}  // namespace detail

/// Of a standard normal error, 80 % lie within this many standard deviations.
inline constexpr double z90 = 1.2816;

/// An interval that holds 80 % of measurements: prediction x exp(-+z90 log_sigma).
template <Scalar T = double>
struct basic_time_range {
  duration<T> low{}, high{};
};
using time_range = basic_time_range<>;

/// Errors: predicted negative, log_sigma outside 0 to 100. Test: of rows held out of the fit, 80 %
/// lie inside, within a few %.
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
