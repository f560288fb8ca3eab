// One trick beside a service as it is: what it brings there, what it costs, and whether it harms.
#pragma once

#include <functional>
#include <optional>
#include <perfmodel/service/disaggregated.hpp>
#include <perfmodel/service/load.hpp>
#include <perfmodel/service/serving_estimate.hpp>
#include <perfmodel/service/speculation.hpp>
#include <perfmodel/units/text.hpp>
#include <string>

namespace perfmodel {

/// A service that is asked about: `copies` of a deployment share the load, or two pools have it.
struct advised_service {
  deployment runs{};
  service_load load{};
  double copies = 1.0;
  std::optional<speculation> drafts{};
  std::optional<disaggregated> pools{};

  constexpr double devices() const {
    return pools ? pools->devices() : copies * double(runs.layout.ranks());
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("runs", s.runs...);
    f("load", s.load...);
    f(field::count("copies"), s.copies...);
    f("drafts", s.drafts...);
    f("pools", s.pools...);
  }
};

/// What a service does, of one copy where it has several; a prediction or a bound.
using service_answer = std::function<serving_estimate(const advised_service&)>;

/// `gain`: the mean time of a whole request without the trick over that with it; 1 is nothing, below 1
/// a loss. An overloaded open loop has no such time: its gain is of the largest sustainable rate.
/// One that is `in_use` has its gain over doing without; of one that is not, `apply` puts it to a
/// service, where the service can express it.
struct trick {
  const char* name = "";
  const char* family = "";
  bool applies = false;
  bool in_use = false;
  bool enables = false;   ///< infeasible without it, feasible with it
  bool has_ratio = true;  ///< false: infeasible without it, so that there is no time to compare
  double gain = 1.0;      ///< 1 where there is no ratio
  duration<> e2e{};       ///< mean time of a whole request with it, where it enables
  double devices = 1.0;   ///< with it, over those without
  const char* costs = "";
  const char* harmful_when = "";
  bool harmful = false;
  std::string why{};
  std::function<void(advised_service&)> apply{};
  const char* sets = name;  ///< what it decides: of tricks that decide the same, one is taken
};

/// What a trick is called and what holds of it anywhere.
struct trick_words {
  const char* name = "";
  const char* family = "";
  const char* costs = "";
  const char* harmful_when = "";
  const char* sets = name;
};

namespace detail {

/// Whether `x` is the better choice of two: by feasibility, then by gain, then by time.
inline bool outranks(const trick& x, const trick& y) {
  if (x.applies != y.applies) return x.applies;
  if (x.enables != y.enables) return x.enables;
  return x.gain != y.gain ? x.gain > y.gain : x.e2e < y.e2e;
}

inline trick named_trick(const trick_words& w) {
  trick t;
  t.name = w.name;
  t.family = w.family;
  t.costs = w.costs;
  t.harmful_when = w.harmful_when;
  t.sets = w.sets;
  return t;
}

inline void say_to(std::string& s, double x) {
  s += significant(x, 3);
}
inline void say_to(std::string& s, const char* x) {
  s += x;
}
inline void say_to(std::string& s, const std::string& x) {
  s += x;
}
inline void say_to(std::string& s, const duration<>& x) {
  s += to_string(x, 3);
}
inline void say_to(std::string& s, const request_rate<>& x) {
  s += to_string(x, 3);
}
inline void say_to(std::string& s, const bytes<>& x) {
  s += to_string(x, 3);
}
template <class... Parts>
std::string say(const Parts&... parts) {
  std::string s;
  (say_to(s, parts), ...);
  return s;
}

}  // namespace detail

}  // namespace perfmodel
