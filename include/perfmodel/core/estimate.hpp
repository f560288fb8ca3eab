// Result of a law: a time, its limiter, named terms and feasibility.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/units/named.hpp>
#include <string>
#include <string_view>

namespace perfmodel::inline v0_3 {

/// What a time is spent on. The first term listed wins a tie.
enum class limiter { none, compute, vector_compute, memory, l2, shared, link, latency, launch };

/// Name of a limiter, as in messages and JSON.
constexpr const char* name_of(limiter l) {
  constexpr const char* names[] = {"none",   "compute", "vector_compute", "memory", "l2",
                                   "shared", "link",    "latency",        "launch"};
  return detail::entry_of(names, l, "limiter");
}

/// Why something cannot be. `needed` and `available` are in `unit`.
struct feasibility {
  bool feasible = true;
  const char* reason = "";  ///< a sentence without numbers: "weights and KV cache exceed memory"
  const char* unit = "";
  double needed = 0;
  double available = 0;

  constexpr explicit operator bool() const { return feasible; }
};
/// An infeasibility: its reason, and the needed and available amounts in `unit`.
constexpr feasibility infeasible(const char* reason, const char* unit, double needed,
                                 double available) {
  return {false, reason, unit, needed, available};
}

/// Throws the reason of an infeasible result. Errors: infeasible.
constexpr void require_feasible(const feasibility& f) {
  if (!f.feasible) detail::infeasible_result(f.reason, f.unit, f.needed, f.available);
}

template <Scalar T = double>
struct basic_term {
  perfmodel::limiter kind = limiter::none;
  const char* name = "";
  duration<T> time{};
};
using term = basic_term<>;

/// Up to 12 named terms, without allocation.
template <Scalar T = double>
class basic_terms {
 public:
  /// Adds a term and returns its time, named for the derivation. Errors: a 13th term.
  constexpr duration<T> add(perfmodel::limiter kind, const char* name, const duration<T>& time) {
    if (count_ == items_.size()) detail::fail(error_code::inconsistent, "more than 12 terms");
    const duration<T> t = named(name, time);
    items_[count_++] = basic_term<T>{kind, name, t};
    return t;
  }
  constexpr std::size_t size() const { return count_; }
  constexpr bool empty() const { return count_ == 0; }
  constexpr const basic_term<T>* begin() const { return items_.data(); }
  constexpr const basic_term<T>* end() const { return items_.data() + count_; }
  constexpr const basic_term<T>& operator[](std::size_t i) const { return items_[i]; }

  /// The term of that name; null where there is none.
  constexpr const basic_term<T>* find(std::string_view name) const {
    for (const auto& t : *this) {
      if (name == t.name) return &t;
    }
    return nullptr;
  }
  /// Time of the term of that name, 0 where there is none: for terms that only some answers have.
  constexpr duration<T> time_of(std::string_view name) const {
    for (const auto& t : *this) {
      if (name == t.name) return t.time;
    }
    return {};
  }
  /// Time of the term of that name. Errors: unknown_name where there is none, with those there are.
  constexpr duration<T> operator[](std::string_view name) const {
    for (const auto& t : *this) {
      if (name == t.name) return t.time;
    }
    no_such_term(name);
  }
  /// Sum and maximum of all terms, in the order they were added.
  constexpr duration<T> sum() const {
    duration<T> s{};
    for (const auto& t : *this) s += t.time;
    return s;
  }
  constexpr duration<T> largest() const {
    duration<T> s{};
    for (const auto& t : *this) s = max(s, t.time);
    return s;
  }
  /// Kind of the largest among the first `of` terms.
  constexpr perfmodel::limiter limiting(std::size_t of = 12) const {
    double largest = 0.0;
    perfmodel::limiter kind = limiter::none;
    for (std::size_t i = 0; i < count_ && i < of; ++i) {
      const double x = unrecorded_value(items_[i].time.value());
      if (x > largest) {
        largest = x;
        kind = items_[i].kind;
      }
    }
    return kind;
  }

 private:
  [[noreturn]] void no_such_term(std::string_view name) const {
    std::string there;
    for (const auto& t : *this) there += (there.empty() ? "" : ", ") + std::string(t.name);
    throw error(error_code::unknown_name,
                "no term is called \"" + std::string(name) + "\"; there are: " + there);
  }

  std::array<basic_term<T>, 12> items_{};
  std::size_t count_ = 0;
};

namespace detail {

/// In place of terms, where only the time is asked for: names each part for the derivation.
struct no_terms {
  template <Scalar T>
  constexpr duration<T> add(perfmodel::limiter, const char* name, const duration<T>& time) const {
    return named(name, time);
  }
};

}  // namespace detail

/// time, limiter, terms; mfu and mbu are the shares of peak compute and DRAM bandwidth in use.
/// Test: a bound's mfu and mbu never exceed 1.
template <Scalar T = double>
struct basic_estimate {
  duration<T> time{};
  perfmodel::limiter limiter{};
  basic_terms<T> terms{};
  T mfu{};
  T mbu{};
  perfmodel::feasibility feasible{};

  /// The time, of a feasible estimate; `time` of an infeasible one is the time if memory sufficed.
  /// Errors: infeasible, with the reason.
  constexpr const duration<T>& value() const {
    require_feasible(feasible);
    return time;
  }
};
using estimate = basic_estimate<>;

}  // namespace perfmodel::inline v0_3
