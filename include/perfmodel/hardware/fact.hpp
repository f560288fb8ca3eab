// A hardware value that knows where it comes from.
#pragma once

#include <compare>
#include <concepts>
#include <perfmodel/core/error.hpp>
#include <perfmodel/units/constants.hpp>
#include <type_traits>

namespace perfmodel::inline v0_3 {

/// How a value came to be known.
enum class basis {
  vendor,       ///< the maker's data sheet, manual or page
  copied,       ///< the maker's figure (of a price: the seller's), read in a copy by others
  derived,      ///< computed from other facts, by an identity the source text states
  measured,     ///< a published measurement
  transferred,  ///< a profile fitted to measurements of other accelerators
  announced,    ///< said by the maker of a part not yet shipping
  assumed,      ///< a guess without any source, and stated as one
  given,        ///< set by the caller
  not_stated,   ///< nothing is known
};

/// Name of a basis of a value, as in messages and JSON.
constexpr const char* name_of(basis b) {
  constexpr const char* names[] = {"vendor",      "vendor (secondary source)",
                                   "derived",     "measured",
                                   "transferred", "announced",
                                   "assumed",     "given",
                                   "not stated"};
  return detail::entry_of(names, b, "basis");
}

/// Source of a value: the document, and its address or the identity it follows from.
struct source {
  basis how = basis::given;
  const char* text = "given by the caller";
};

/// Release of a program: major.minor.patch.
struct release_number {
  int major = 0, minor = 0, patch = 0;
  friend constexpr auto operator<=>(const release_number&, const release_number&) = default;
};
/// Month of a calendar; year 0: not known.
struct calendar_month {
  int year = 0, month = 0;
};
/// Software that the measurements behind a profile were made with, and the month of the latest one
/// where their tables state it. A serving engine has also its oldest and its newest release.
struct measured_releases {
  const char* software = "";
  calendar_month until{};
  release_number oldest{}, newest{};
};

inline constexpr source given_by_caller{};
inline constexpr source not_stated{basis::not_stated, "not stated"};

/// A quantity with its source. Laws use it as the quantity, and a bare quantity assigned to it
/// becomes the caller's own value.
/// A fact left out, or set to {}, is not stated. A fact of 0 is stated, and refused where 0 makes
/// no sense.
/// Test: after h.dram.bandwidth = 4 * TB_per_s, h.dram.bandwidth.from().how == basis::given.
template <Quantity Q>
class fact : public Q {
 public:
  using quantity_type = Q;
  constexpr fact() = default;
  constexpr fact(const Q& q) : fact(q, given_by_caller) {}
  /// A plain number, for facts without a unit: `.sms = 64`.
  template <class N>
    requires(std::is_arithmetic_v<N> && !std::same_as<N, bool> &&
             std::same_as<Q, number<typename Q::value_type>>)
  constexpr fact(N n) : fact(Q(static_cast<typename Q::value_type>(n))) {}
  constexpr fact(const Q& q, const source& s) : Q(q), from_(&s) {}
  /// Deleted: a fact keeps the address of its source, so a temporary would dangle.
  fact(const Q& q, const source&& temporary) = delete;
  constexpr const source& from() const { return *from_; }
  constexpr const Q& quantity() const { return *this; }
  constexpr bool is_stated() const { return from_->how != basis::not_stated; }

 private:
  const source* from_ = &not_stated;
};

/// A fact over another scalar, with its source.
template <Scalar To, Quantity Q>
constexpr auto lift(const fact<Q>& f) {
  using lifted = decltype(perfmodel::lift<To>(static_cast<const Q&>(f)));
  if (!f.is_stated()) return fact<lifted>();
  return fact<lifted>(perfmodel::lift<To>(static_cast<const Q&>(f)), f.from());
}

}  // namespace perfmodel::inline v0_3
