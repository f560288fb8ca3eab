// Forward-mode derivatives: a value and its partials with respect to N inputs, constexpr.
#pragma once

#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3 {

/// A number with N partial derivatives. Seed input i with variable(x, i), evaluate any law, and
/// partial(i) is d(result)/d(input i). Seeded with log_variable(x, i), partial(i) / value() is the
/// elasticity d ln(result) / d ln(input i), and the partial keeps the unit of the value.
/// At a kink (min, max, ceil) the derivative is that of the branch taken; ties take the first. An
/// infinite slope (sqrt and pow at 0) counts as 0, so that no NaN arises.
template <std::size_t N>
class dual {
 public:
  constexpr dual() = default;
  constexpr dual(double value) : v_(value) {}  // a constant

  static constexpr dual variable(double value, std::size_t i) { return seeded(value, i, 1.0); }
  static constexpr dual log_variable(double value, std::size_t i) {
    return seeded(value, i, value);
  }

  constexpr double value() const { return v_; }
  constexpr double partial(std::size_t i) const { return d_[i]; }

  friend constexpr dual operator+(const dual& a, const dual& b) {
    return chain(a.v_ + b.v_, a, 1.0, b, 1.0);
  }
  friend constexpr dual operator-(const dual& a, const dual& b) {
    return chain(a.v_ - b.v_, a, 1.0, b, -1.0);
  }
  friend constexpr dual operator*(const dual& a, const dual& b) {
    return chain(a.v_ * b.v_, a, b.v_, b, a.v_);
  }
  friend constexpr dual operator/(const dual& a, const dual& b) {
    const double q = a.v_ / b.v_;
    return chain(q, a, 1.0 / b.v_, b, -q / b.v_);
  }
  friend constexpr dual operator-(const dual& a) { return chain(-a.v_, a, -1.0); }
  constexpr dual& operator+=(const dual& b) { return *this = *this + b; }
  constexpr dual& operator-=(const dual& b) { return *this = *this - b; }
  constexpr dual& operator*=(const dual& b) { return *this = *this * b; }
  constexpr dual& operator/=(const dual& b) { return *this = *this / b; }

  friend constexpr bool operator==(const dual& a, const dual& b) { return a.v_ == b.v_; }
  friend constexpr auto operator<=>(const dual& a, const dual& b) { return a.v_ <=> b.v_; }

  friend constexpr double mid(const dual& x) { return x.v_; }
  friend constexpr double lower(const dual& x) { return x.v_; }
  friend constexpr double upper(const dual& x) { return x.v_; }
  friend constexpr dual scalar_min(const dual& a, const dual& b) { return b.v_ < a.v_ ? b : a; }
  friend constexpr dual scalar_max(const dual& a, const dual& b) { return a.v_ < b.v_ ? b : a; }
  friend constexpr dual ceil(const dual& x) { return dual(math::ceil(x.v_)); }
  friend constexpr dual floor(const dual& x) { return dual(math::floor(x.v_)); }
  friend constexpr dual log(const dual& x) { return chain(math::log(x.v_), x, 1.0 / x.v_); }
  friend constexpr dual exp(const dual& x) {
    const double e = math::exp(x.v_);
    return chain(e, x, e);
  }
  friend constexpr dual sqrt(const dual& x) {
    const double r = math::sqrt(x.v_);
    if (r == 0.0) return dual(r);
    return chain(r, x, 0.5 / r);
  }
  friend constexpr dual pow(const dual& base, const dual& exponent) {
    const double p = math::pow(base.v_, exponent.v_);
    if (base.v_ == 0.0) return chain(p, base, exponent.v_ == 1.0 ? 1.0 : 0.0);
    return chain(p, base, exponent.v_ * p / base.v_, exponent, p * math::log(base.v_));
  }

 private:
  static constexpr dual seeded(double value, std::size_t i, double derivative) {
    dual r(value);
    r.d_[i] = derivative;
    return r;
  }
  static constexpr dual chain(double value, const dual& a, double da) {
    dual r(value);
    for (std::size_t i = 0; i < N; ++i) r.d_[i] = da * a.d_[i];
    return r;
  }
  static constexpr dual chain(double value, const dual& a, double da, const dual& b, double db) {
    dual r(value);
    for (std::size_t i = 0; i < N; ++i) r.d_[i] = da * a.d_[i] + db * b.d_[i];
    return r;
  }

  double v_ = 0.0;
  std::array<double, N> d_{};
};

template <std::size_t N>
inline constexpr bool is_scalar<dual<N>> = true;

}  // namespace perfmodel::inline v0_3
