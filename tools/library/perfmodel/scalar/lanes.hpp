// N evaluations in one call, on a fixed-size Eigen array; mostly slower than N calls over double
// (docs/benchmarks.md). Needs Eigen.
#pragma once

#include <Eigen/Core>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3 {

/// N doubles that pass through a law together. Every operation is evaluated at once, into a value:
/// no lazy Eigen expression ever escapes, so `auto` is safe. Lane i equals the law over double i.
template <std::size_t N>
class lanes {
 public:
  using array = Eigen::Array<double, static_cast<int>(N), 1>;

  lanes() : v_(array::Zero()) {}
  lanes(double x) : v_(array::Constant(x)) {}
  static lanes load(const double* p) { return lanes(array(Eigen::Map<const array>(p))); }
  void store(double* p) const { Eigen::Map<array>{p} = v_; }
  double operator[](std::size_t i) const { return v_[static_cast<Eigen::Index>(i)]; }

  friend lanes operator+(const lanes& a, const lanes& b) { return lanes(array(a.v_ + b.v_)); }
  friend lanes operator-(const lanes& a, const lanes& b) { return lanes(array(a.v_ - b.v_)); }
  friend lanes operator*(const lanes& a, const lanes& b) { return lanes(array(a.v_ * b.v_)); }
  friend lanes operator/(const lanes& a, const lanes& b) { return lanes(array(a.v_ / b.v_)); }
  friend lanes operator-(const lanes& a) { return lanes(array(-a.v_)); }
  lanes& operator+=(const lanes& b) {
    v_ += b.v_;
    return *this;
  }
  lanes& operator-=(const lanes& b) {
    v_ -= b.v_;
    return *this;
  }
  lanes& operator*=(const lanes& b) {
    v_ *= b.v_;
    return *this;
  }
  lanes& operator/=(const lanes& b) {
    v_ /= b.v_;
    return *this;
  }

  friend double lower(const lanes& x) { return x.v_.template minCoeff<Eigen::PropagateNaN>(); }
  friend double upper(const lanes& x) { return x.v_.template maxCoeff<Eigen::PropagateNaN>(); }
  friend lanes scalar_min(const lanes& a, const lanes& b) { return lanes(array((a.v_.min)(b.v_))); }
  friend lanes scalar_max(const lanes& a, const lanes& b) { return lanes(array((a.v_.max)(b.v_))); }
  friend lanes ceil(const lanes& x) { return lanes(array(x.v_.ceil())); }
  friend lanes floor(const lanes& x) { return lanes(array(x.v_.floor())); }
  // The transcendental functions go lane by lane through the same code as double, so that a lane
  // equals its scalar to the last bit.
  friend lanes log(const lanes& x) {
    return each(x, [](double a) { return math::log(a); });
  }
  friend lanes exp(const lanes& x) {
    return each(x, [](double a) { return math::exp(a); });
  }
  friend lanes sqrt(const lanes& x) {
    return each(x, [](double a) { return math::sqrt(a); });
  }
  friend lanes pow(const lanes& base, const lanes& exponent) {
    lanes r;
    for (Eigen::Index i = 0; i < r.v_.size(); ++i) r.v_[i] = math::pow(base.v_[i], exponent.v_[i]);
    return r;
  }

 private:
  explicit lanes(const array& v) : v_(v) {}
  template <class F>
  static lanes each(const lanes& x, F f) {
    lanes r;
    for (Eigen::Index i = 0; i < r.v_.size(); ++i) r.v_[i] = f(x.v_[i]);
    return r;
  }
  array v_;
};

template <std::size_t N>
inline constexpr bool is_scalar<lanes<N>> = true;

template <std::size_t N>
struct lanes_of<lanes<N>> {
  static constexpr std::size_t count = N;
  static double lane(const lanes<N>& x, std::size_t i) { return x[i]; }
};

}  // namespace perfmodel::inline v0_3
