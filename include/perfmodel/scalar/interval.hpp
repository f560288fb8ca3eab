// Uncertain numbers: every law evaluated over [lo, hi] returns a range that holds every answer.
#pragma once

#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3 {

/// A closed interval. Operations keep the promise "x in X and y in Y implies x op y in X op Y" up
/// to the rounding of a double (no directed rounding: a model's uncertainty is far above one ulp).
/// An input that stands twice in a formula is treated as two independent ones, so ranges may be
/// wider than they need be, never too small. A divisor must not contain 0.
class interval {
 public:
  constexpr interval() = default;
  constexpr interval(double x) : lo_(x), hi_(x) {}
  constexpr interval(double lo, double hi) : lo_(lo), hi_(hi) {}
  /// x (1 - r) .. x (1 + r), for x >= 0
  static constexpr interval around(double x, double r) { return {x * (1.0 - r), x * (1.0 + r)}; }

  constexpr double lo() const { return lo_; }
  constexpr double hi() const { return hi_; }
  constexpr bool contains(double x) const { return lo_ <= x && x <= hi_; }

  friend constexpr interval operator+(const interval& a, const interval& b) {
    return {a.lo_ + b.lo_, a.hi_ + b.hi_};
  }
  friend constexpr interval operator-(const interval& a, const interval& b) {
    return {a.lo_ - b.hi_, a.hi_ - b.lo_};
  }
  friend constexpr interval operator*(const interval& a, const interval& b) {
    return hull(a.lo_ * b.lo_, a.lo_ * b.hi_, a.hi_ * b.lo_, a.hi_ * b.hi_);
  }
  friend constexpr interval operator/(const interval& a, const interval& b) {
    return hull(a.lo_ / b.lo_, a.lo_ / b.hi_, a.hi_ / b.lo_, a.hi_ / b.hi_);
  }
  friend constexpr interval operator-(const interval& a) { return {-a.hi_, -a.lo_}; }
  constexpr interval& operator+=(const interval& b) { return *this = *this + b; }
  constexpr interval& operator-=(const interval& b) { return *this = *this - b; }
  constexpr interval& operator*=(const interval& b) { return *this = *this * b; }
  constexpr interval& operator/=(const interval& b) { return *this = *this / b; }
  friend constexpr bool operator==(const interval& a, const interval& b) = default;

  friend constexpr double mid(const interval& x) { return 0.5 * (x.lo_ + x.hi_); }
  friend constexpr double lower(const interval& x) { return x.lo_; }
  friend constexpr double upper(const interval& x) { return x.hi_; }
  friend constexpr interval scalar_min(const interval& a, const interval& b) {
    return {perfmodel::scalar_min(a.lo_, b.lo_), perfmodel::scalar_min(a.hi_, b.hi_)};
  }
  friend constexpr interval scalar_max(const interval& a, const interval& b) {
    return {perfmodel::scalar_max(a.lo_, b.lo_), perfmodel::scalar_max(a.hi_, b.hi_)};
  }
  friend constexpr interval ceil(const interval& x) {
    return {math::ceil(x.lo_), math::ceil(x.hi_)};
  }
  friend constexpr interval floor(const interval& x) {
    return {math::floor(x.lo_), math::floor(x.hi_)};
  }
  friend constexpr interval log(const interval& x) { return {math::log(x.lo_), math::log(x.hi_)}; }
  friend constexpr interval exp(const interval& x) { return {math::exp(x.lo_), math::exp(x.hi_)}; }
  friend constexpr interval sqrt(const interval& x) {
    return {math::sqrt(x.lo_), math::sqrt(x.hi_)};
  }
  friend constexpr interval pow(const interval& base, const interval& exponent) {
    return hull(math::pow(base.lo_, exponent.lo_), math::pow(base.lo_, exponent.hi_),
                math::pow(base.hi_, exponent.lo_), math::pow(base.hi_, exponent.hi_));
  }

 private:
  static constexpr interval hull(double a, double b, double c, double d) {
    using perfmodel::scalar_max;
    using perfmodel::scalar_min;
    return {scalar_min(scalar_min(a, b), scalar_min(c, d)),
            scalar_max(scalar_max(a, b), scalar_max(c, d))};
  }
  double lo_ = 0.0;
  double hi_ = 0.0;
};

template <>
inline constexpr bool is_scalar<interval> = true;

}  // namespace perfmodel::inline v0_3
