// A prediction beside its bound: the interval around it, and what it stands on.
#pragma once

#include <array>
#include <cstddef>
#include <perfmodel/calibrated/fitted_profile.hpp>
#include <perfmodel/core/entry_of.hpp>
#include <perfmodel/core/estimate.hpp>

namespace perfmodel {

/// The profiles that a calibrated time may stand on.
enum class profile_part { products, quantisation, attention, experts, links, network };

constexpr const char* name_of(profile_part p) {
  constexpr const char* names[] = {"GEMM",   "engine",     "attention",
                                   "expert", "collective", "network"};
  return detail::entry_of(names, p, "profile_part");
}

/// log_sigma of each kind of an operator under one profile, see interval.hpp; 0: nobody measured it.
using kind_widths = std::array<double, 6>;

/// What one profile is worth. `donor` is the machine it was fitted to where that is another.
struct profile_note {
  profile_part part = profile_part::products;
  const accelerator* donor = nullptr;
  const source* from = &given_by_caller;
  double log_sigma = 0.0;
  kind_widths by_kind{};
  const source* widening =
      nullptr;  ///< of products of narrow weights, where they were not measured

  /// Of one kind of operators: its own where it was measured.
  template <class Kind>
  constexpr double width_of(Kind k) const {
    const double own = detail::entry_of(by_kind, k, "kind of operators");
    return own > 0.0 ? own : log_sigma;
  }
};

/// What a sum of times stands on. Its log_sigma is the mean of its parts', weighted by time, as
/// though all erred the same way, which is assumed.
/// Test: of 3 ms at 0.1 and 1 ms at 0.5 it is 0.2.
class evidence {
 public:
  /// `time`: of the part; one without time is left out.
  constexpr void add(const profile_note& note, const duration<>& time) {
    if (!(time.value() > 0.0)) return;
    time_ += time.value();
    weighted_ += time.value() * note.log_sigma;
    cite(note);
  }
  /// Names a profile that has a share in a part already added.
  constexpr void cite(const profile_note& note) {
    for (const profile_note& known : *this) {
      if (known.part == note.part) return;
    }
    notes_[count_++] = note;
  }

  constexpr double log_sigma() const { return time_ > 0.0 ? weighted_ / time_ : 0.0; }
  constexpr const profile_note* begin() const { return notes_.data(); }
  constexpr const profile_note* end() const { return notes_.data() + count_; }
  /// The weakest basis of all profiles; derived where nothing takes time.
  constexpr basis weakest() const {
    constexpr basis from_weakest[] = {basis::assumed,  basis::transferred, basis::announced,
                                      basis::derived,  basis::given,       basis::copied,
                                      basis::measured, basis::vendor};
    for (const basis b : from_weakest) {
      for (const profile_note& n : *this) {
        if (n.from->how == b) return b;
      }
    }
    return basis::derived;
  }

 private:
  std::array<profile_note, 6> notes_{};  // one of each part
  std::size_t count_ = 0;
  double time_ = 0.0, weighted_ = 0.0;
};

/// An estimate, its bound (no operator and no step is faster), and the interval that holds 80 % of
/// measurements. `stands_on` names the profiles behind it.
template <class Estimate>
struct prediction {
  Estimate estimate{};
  Estimate bound{};
  decltype(Estimate::time) low{}, high{};
  evidence stands_on{};
};

/// Test: low x high = time^2; a prediction that stands on nothing has no width.
template <class Estimate>
constexpr prediction<Estimate> prediction_of(const Estimate& e, const Estimate& bound,
                                             const evidence& stands_on) {
  const auto range = range_of(e.time, stands_on.log_sigma());
  return {e, bound, range.low, range.high, stands_on};
}

}  // namespace perfmodel
