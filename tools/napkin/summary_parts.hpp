// Parts of the breakdown of steps and services.
#pragma once

#include <functional>
#include <optional>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/text.hpp>
#include <string>
#include <vector>

#include "summary.hpp"

namespace napkin {

/// The calibrated terms of a prediction; none of a bound.
using screen_calibration = std::optional<perfmodel::calibrated>;
screen_calibration policy_of(const calibration* c);

/// Limits of steps in text. Any other name is a wait.
inline constexpr const char* by_dram = "DRAM bandwidth";
inline constexpr const char* by_flop = "compute";
inline constexpr const char* by_links = "interconnect";
inline constexpr const char* by_host = "CPU time";
inline constexpr const char* by_launches = "launches and latency";
inline constexpr const char* other = "other";

/// Number with four digits.
inline std::string digits(double x) {
  return perfmodel::detail::significant(x, 4);
}
template <class Q>
std::string with_unit(const Q& x) {
  return perfmodel::to_string(x.value(), perfmodel::exponents_of<Q>(), 4);
}
inline std::string time_text(double seconds) {
  return with_unit(perfmodel::duration<>::from_value(seconds));
}

perfmodel::estimate time_of_step(const perfmodel::deployment& d, const perfmodel::iteration& i,
                                 const screen_calibration& policy);
/// Operators of `times` engine steps; the summary steps add up to the time.
summary_part step_part(const perfmodel::deployment& d, const perfmodel::iteration& i,
                       const screen_calibration& policy, double times = 1.0);
/// "engine step: 64 sequences at 4096 tokens and 2048 prefill tokens".
std::string iteration_text(const perfmodel::iteration& i);
/// The terms of a bound: "bound: weights 5.188 ms + cache 3.205 ms + ...".
std::string bound_text(const perfmodel::estimate& bound);
/// Adds a step with a nonzero time, and its time to the part's.
void add_step(summary_part& part, const summary_step& step);
/// Sorts the steps, largest first.
void sort_steps(summary_part& part);

/// Lifted resources: a million times as fast, or a millionth of their cost.
struct lifted {
  std::vector<std::string> resources{};

  bool has(std::string_view name) const;
  perfmodel::accelerator on(const perfmodel::accelerator& a) const;
  perfmodel::deployment on(perfmodel::deployment d) const;
  served_load on(served_load x) const;
  screen_calibration of(const screen_calibration& policy) const;
};
using evaluate_again = std::function<std::vector<summary_part>(const lifted&)>;
/// Limits of each part and the time without them. `again` gives the parts of the same query with
/// resources lifted; a wait is removed instead. A bound has no CPU time and no launches.
void add_limits(std::vector<summary_part>& parts, bool predicted, const evaluate_again& again);

}  // namespace napkin
