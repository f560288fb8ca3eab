// What the screens of steps and services are made of.
#pragma once

#include <functional>
#include <optional>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/text.hpp>
#include <string>
#include <vector>

#include "summary.hpp"

namespace napkin {

/// Whose terms a prediction takes; none of a bound.
using terms_of_screen = std::optional<perfmodel::calibrated>;
terms_of_screen policy_of(const calibration* c);

/// What limits steps, as a screen names it. Any other name is a wait.
inline constexpr const char* by_dram = "DRAM bandwidth";
inline constexpr const char* by_flop = "FLOP rate";
inline constexpr const char* by_links = "links";
inline constexpr const char* by_host = "host";
inline constexpr const char* by_launches = "launches and latency";
inline constexpr const char* other = "other";

/// Numbers of four digits.
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
                                 const terms_of_screen& policy);
/// The operators of `times` such passes; the steps add up to the time.
summary_part pass_of(const perfmodel::deployment& d, const perfmodel::iteration& i,
                     const terms_of_screen& policy, double times = 1.0);
/// "a pass of 64 sequences at 4096 tokens and 2048 prompt tokens".
std::string pass_text(const perfmodel::iteration& i);
/// The terms of a bound: "bound: weights 5.188 ms + cache 3.205 ms + ...".
std::string bound_text(const perfmodel::estimate& bound);
/// Adds a step, where it takes any time, and that to the part's.
void add_step(summary_part& part, const summary_step& step);
/// Largest first.
void sort_steps(summary_part& part);

/// Resources that are lifted: a million times as quick, or a millionth of their cost.
struct lifted {
  std::vector<std::string> resources{};

  bool has(std::string_view name) const;
  perfmodel::accelerator on(const perfmodel::accelerator& a) const;
  perfmodel::deployment on(perfmodel::deployment d) const;
  served_load on(served_load x) const;
  terms_of_screen of(const terms_of_screen& policy) const;
};
using asked_again = std::function<std::vector<summary_part>(const lifted&)>;
/// What limits each part, and what is left without it: `again` gives the parts of the same question with
/// resources lifted. A wait, which no resource limits, is taken away. A bound has no host and no launches.
void add_limits(std::vector<summary_part>& parts, bool predicted, const asked_again& again);

}  // namespace napkin
