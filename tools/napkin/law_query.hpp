// Queries of single laws: their keys are the law's arguments, in the law's units.
#pragma once

#include "query.hpp"

namespace napkin {

/// Quantity of 0 or more, or of more than 0: bytes, s, FLOP/s. The command line accepts its unit.
template <perfmodel::Quantity Q>
key amount(const char* name, const char* help) {
  key k = number(name, help, 0.0, 1e30);
  k.unit = perfmodel::exponents_of<Q>();
  return k;
}
template <perfmodel::Quantity Q>
key positive_amount(const char* name, const char* help) {
  return amount<Q>(name, help).above_zero();
}
/// Share from 0 to 1.
inline key share(const char* name, const char* help) {
  return number(name, help, 0.0, 1.0);
}
/// One number or several.
inline key list_of(key k) {
  k.kind = key_kind::numbers;
  return k;
}
/// Values of a key that accepts one number or several.
template <perfmodel::Scalar T>
std::vector<T> all_of(inputs<T>& in, const char* name) {
  std::vector<T> all = in.numbers(name);
  if (all.empty()) all.push_back(in.number(name));
  return all;
}

/// Result that a measurement is compared with: a time or a rate.
template <perfmodel::Quantity Q>
constexpr measurable_result result_measured(const char* result, const char* measurement,
                                            comparison_kind as) {
  return {result, measurement, as, perfmodel::exponents_of<Q>()};
}
constexpr measurable_result time_measured(const char* result, comparison_kind as) {
  return result_measured<perfmodel::duration<>>(result, "measured_s", as);
}

/// Properties of every law query: no accelerator is calibrated for it.
struct law_query {
  static constexpr profile_part part = profile_part::none;
};

}  // namespace napkin
