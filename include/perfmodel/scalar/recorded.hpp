// Scalar that records a law once as polynomials, to evaluate it again in a few operations.
#pragma once

#include <perfmodel/scalar/math.hpp>
#include <perfmodel/scalar/recording.hpp>
#include <utility>

namespace perfmodel::inline v0_3::detail {

/// The number of a check: its comparisons are recorded, and a conversion to a double voids the
/// record.
template <Scalar T>
class checked_number {
  using polynomial = typename recording<T>::polynomial;

 public:
  checked_number(double value, recording<T>* r, int p) : v_(value), r_(r), p_(p) {}
  explicit checked_number(double value) : v_(value) {}
  operator double() const {
    if (r_ != nullptr) r_->pin();
    return v_;
  }
  friend bool operator>(const checked_number& a, const checked_number& b) {
    return compare(a, b, true);
  }
  friend bool operator>=(const checked_number& a, const checked_number& b) {
    return compare(a, b, false);
  }
  friend bool operator<(const checked_number& a, const checked_number& b) {
    return compare(b, a, true);
  }
  friend bool operator<=(const checked_number& a, const checked_number& b) {
    return compare(b, a, false);
  }
  friend bool operator>(const checked_number& a, double b) { return a > checked_number(b); }
  friend bool operator>=(const checked_number& a, double b) { return a >= checked_number(b); }
  friend bool operator<(const checked_number& a, double b) { return a < checked_number(b); }
  friend bool operator<=(const checked_number& a, double b) { return a <= checked_number(b); }

 private:
  static bool compare(const checked_number& a, const checked_number& b, bool strict) {
    const bool holds = strict ? a.v_ > b.v_ : a.v_ >= b.v_;
    recording<T>* r = a.r_ != nullptr ? a.r_ : b.r_;
    if (r == nullptr) return holds;
    polynomial i, j;
    return r->compare(a.terms(i), b.terms(j), strict, holds);
  }
  /// The polynomial, which of a constant is put into `constant`.
  const polynomial& terms(polynomial& constant) const {
    return r_ != nullptr ? r_->stored(p_) : constant = recording<T>::constant(v_);
  }

  double v_;
  recording<T>* r_ = nullptr;
  int p_ = -1;
};

/// A double with a polynomial in a recording. A constant has no recording.
template <Scalar T>
class recorded {
  using polynomial = typename recording<T>::polynomial;
  using operation = typename recording<T>::operation;

 public:
  recorded() = default;
  recorded(double value) : v_(value) {}
  /// Input of a recording, which is within these bounds whenever the record is used.
  static recorded input(recording<T>& r, double value, double least, double most) {
    return {value, &r, r.add_atom(operation::input, {}, {}, least, most)};
  }
  double value() const { return v_; }
  polynomial terms() const {
    polynomial constant;
    return terms(constant);
  }

  [[gnu::noinline]] friend recorded operator+(const recorded& a, const recorded& b) {
    return of(a, b, a.v_ + b.v_, [](recording<T>&, const polynomial& x, const polynomial& y) {
      return recording<T>::sum(x, y, 1.0);
    });
  }
  [[gnu::noinline]] friend recorded operator-(const recorded& a, const recorded& b) {
    return of(a, b, a.v_ - b.v_, [](recording<T>&, const polynomial& x, const polynomial& y) {
      return recording<T>::sum(x, y, -1.0);
    });
  }
  [[gnu::noinline]] friend recorded operator*(const recorded& a, const recorded& b) {
    return of(a, b, a.v_ * b.v_, [](recording<T>& r, const polynomial& x, const polynomial& y) {
      return r.product(x, y);
    });
  }
  [[gnu::noinline]] friend recorded operator/(const recorded& a, const recorded& b) {
    recorded q =
        of(a, b, a.v_ / b.v_, [&b](recording<T>& r, const polynomial& x, const polynomial& y) {
          return r.product(x, b.r_ == nullptr ? recording<T>::constant(1.0 / b.v_) : r.inverse(y));
        });
    if (q.r_ != nullptr) {
      q.dividend_ = a.place_in(*q.r_);
      q.divisor_ = b.place_in(*q.r_);
    }
    return q;
  }
  friend recorded operator-(const recorded& a) { return 0.0 - a; }
  recorded& operator+=(const recorded& b) { return *this = *this + b; }
  recorded& operator-=(const recorded& b) { return *this = *this - b; }
  recorded& operator*=(const recorded& b) { return *this = *this * b; }
  recorded& operator/=(const recorded& b) { return *this = *this / b; }

  friend bool operator>(const recorded& a, const recorded& b) { return a.number() > b.number(); }
  friend bool operator>=(const recorded& a, const recorded& b) { return a.number() >= b.number(); }
  friend bool operator<(const recorded& a, const recorded& b) { return a.number() < b.number(); }
  friend bool operator<=(const recorded& a, const recorded& b) { return a.number() <= b.number(); }
  friend bool operator==(const recorded& a, const recorded& b) {
    return a.number() >= b.number() && b.number() >= a.number();
  }

  friend checked_number<T> mid(const recorded& x) { return x.number(); }
  friend double unrecorded_value(const recorded& x) { return x.v_; }
  friend checked_number<T> lower(const recorded& x) { return x.number(); }
  friend checked_number<T> upper(const recorded& x) { return x.number(); }
  friend recorded scalar_min(const recorded& a, const recorded& b) {
    return extreme(operation::minimum, a, b, perfmodel::scalar_min(a.v_, b.v_));
  }
  friend recorded scalar_max(const recorded& a, const recorded& b) {
    return extreme(operation::maximum, a, b, perfmodel::scalar_max(a.v_, b.v_));
  }
  friend recorded ceil(const recorded& x) { return function(operation::ceil, x, math::ceil(x.v_)); }
  friend recorded floor(const recorded& x) {
    return function(operation::floor, x, math::floor(x.v_));
  }
  friend recorded log(const recorded& x) { return function(operation::log, x, math::log(x.v_)); }
  friend recorded exp(const recorded& x) { return function(operation::exp, x, math::exp(x.v_)); }
  friend recorded sqrt(const recorded& x) { return function(operation::sqrt, x, math::sqrt(x.v_)); }
  friend recorded pow(const recorded& a, const recorded& b) {
    return of(a, b, math::pow(a.v_, b.v_),
              [](recording<T>& r, const polynomial& x, const polynomial& y) {
                return r.add_atom(operation::pow, x, y);
              });
  }

 private:
  recorded(double value, recording<T>* r, polynomial p) : v_(value) {
    if (p.empty() || (p.size() == 1 && p[0].first == 0)) {  // does not depend on the inputs
      v_ = p.empty() ? 0.0 : p[0].second;
      return;
    }
    r_ = r;
    p_ = r->keep(std::move(p));
  }
  template <class Make>
  static recorded of(const recorded& a, const recorded& b, double value, const Make& make) {
    recording<T>* r = a.r_ != nullptr ? a.r_ : b.r_;
    if (r == nullptr) return recorded(value);
    polynomial i, j;
    return recorded(value, r, make(*r, a.terms(i), b.terms(j)));
  }
  /// The polynomial, which of a constant is put into `constant`.
  const polynomial& terms(polynomial& constant) const {
    return r_ != nullptr ? r_->stored(p_) : constant = recording<T>::constant(v_);
  }
  int place_in(recording<T>& r) const {
    return r_ != nullptr ? p_ : r.keep(recording<T>::constant(v_));
  }
  checked_number<T> number() const { return {v_, r_, p_}; }
  static recorded extreme(operation op, const recorded& a, const recorded& b, double value) {
    return of(a, b, value, [op](recording<T>& r, const polynomial& x, const polynomial& y) {
      const polynomial difference = recording<T>::sum(x, y, -1.0);
      const bool above = r.least(difference) >= 0.0, below = r.most(difference) <= 0.0;
      const bool largest = op == operation::maximum;
      if (above) return largest ? x : y;
      if (below) return largest ? y : x;
      const double i = known(r.least(x), -1.0), j = known(r.least(y), -1.0);
      const double k = known(r.most(x), 1.0), l = known(r.most(y), 1.0);
      const double low = largest ? perfmodel::scalar_max(i, j) : perfmodel::scalar_min(i, j);
      const double high = largest ? perfmodel::scalar_max(k, l) : perfmodel::scalar_min(k, l);
      return r.add_atom(op, x, y, low, high);
    });
  }
  /// A function that does not fall: its bounds are those of x.
  static recorded function(operation op, const recorded& x, double value) {
    return of(x, x, value, [op, &x](recording<T>& r, const polynomial& p, const polynomial&) {
      const double low = of_double(op, known(r.least(p), -1.0));
      const double high = of_double(op, known(r.most(p), 1.0));
      if (low == high) return recording<T>::constant(low);
      const bool rounds = op == operation::ceil || op == operation::floor;
      // The law rounds a quotient, which a product with the inverse may miss by its last digit.
      if (rounds && x.divisor_ >= 0)
        return r.add_atom(op, r.stored(x.dividend_), r.stored(x.divisor_), low, high);
      return r.add_atom(op, p, {}, low, high);
    });
  }
  /// A bound, infinite on the side of `sign` where it is not known.
  static double known(double bound, double sign) {
    return bound == bound ? bound : sign * infinity;
  }
  static double of_double(operation op, double x) {
    switch (op) {
      case operation::ceil: return math::ceil(x);
      case operation::floor: return math::floor(x);
      case operation::exp: return math::exp(x);
      case operation::log: return x > 0.0 ? math::log(x) : -infinity;
      default: return x > 0.0 ? math::sqrt(x) : 0.0;
    }
  }

  double v_ = 0.0;
  recording<T>* r_ = nullptr;
  // Places of polynomials in the recording: a number is cheap to copy, and laws compile quickly.
  int p_ = -1, dividend_ = -1, divisor_ = -1;
};

}  // namespace perfmodel::inline v0_3::detail

namespace perfmodel::inline v0_3 {
template <class T>
inline constexpr bool is_scalar<detail::recorded<T>> = true;
}  // namespace perfmodel::inline v0_3
