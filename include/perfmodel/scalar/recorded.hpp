// Scalar that records a law once as polynomials, to evaluate it again in a few operations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <perfmodel/scalar/math.hpp>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Record of one evaluation over `recorded`. Numbers are polynomials in atoms: inputs, and results
/// of operations that are no polynomials (minima, powers). Comparisons that the bounds of the
/// inputs do not decide are guards: the record holds where each has the same outcome.
/// Leaves out: numbers that leave the record as a double through a conversion; it is then void.
template <Scalar T>
class recording {
 public:
  enum class operation : std::uint8_t {
    input,
    sum,
    minimum,
    maximum,
    pow,
    exp,
    log,
    sqrt,
    ceil,
    floor
  };
  using monomial = std::vector<std::pair<int, int>>;       ///< atoms and their exponents
  using polynomial = std::vector<std::pair<int, double>>;  ///< monomials and coefficients
  struct atom {
    operation op = operation::input;
    polynomial a{}, b{};
    double least = 0.0, most = infinity;
  };
  struct guard {
    polynomial difference{};
    bool strict = false;  ///< difference > 0, else difference >= 0
    bool holds = false;
    friend bool operator==(const guard&, const guard&) = default;
  };

  recording() { monomials_.push_back({}); }  // monomial 0 is 1

  static polynomial constant(double x) { return x == 0.0 ? polynomial{} : polynomial{{0, x}}; }
  polynomial add_atom(operation op, polynomial a = {}, polynomial b = {}, double least = 0.0,
                      double most = infinity) {
    int at = 0;
    for (; at < static_cast<int>(atoms_.size()); ++at) {
      const atom& x = atoms_[static_cast<std::size_t>(at)];
      if (op != operation::input && x.op == op && x.a == a && x.b == b) break;
    }
    if (at == static_cast<int>(atoms_.size()))
      atoms_.push_back({op, std::move(a), std::move(b), least, most});
    return {{monomial_of({{at, 1}}), 1.0}};
  }
  static polynomial sum(const polynomial& a, const polynomial& b, double sign) {
    std::map<int, double> all(a.begin(), a.end());
    for (const auto& [m, x] : b) all[m] += sign * x;
    std::erase_if(all, [](const auto& t) { return t.second == 0.0; });
    return {all.begin(), all.end()};
  }
  polynomial product(polynomial a, polynomial b) {
    constexpr std::size_t most = 16;
    if (a.size() * b.size() > most && a.size() > 1) a = whole(std::move(a));
    if (a.size() * b.size() > most && b.size() > 1) b = whole(std::move(b));
    std::map<int, double> all;
    for (const auto& [m, x] : a) {
      for (const auto& [n, y] : b) all[times(m, n)] += x * y;
    }
    std::erase_if(all, [](const auto& t) { return t.second == 0.0; });
    return {all.begin(), all.end()};
  }
  polynomial inverse(polynomial a) {
    if (a.size() != 1) a = whole(std::move(a));
    monomial m = monomials_[static_cast<std::size_t>(a[0].first)];
    for (auto& [factor, exponent] : m) exponent = -exponent;
    return {{monomial_of(std::move(m)), 1.0 / a[0].second}};
  }
  /// Lower and upper bound of a polynomial; infinite or no number where none is known.
  double least(const polynomial& p) const {
    double sum = 0.0;
    for (const auto& [m, x] : p) sum += x * extreme(m, x < 0.0);
    return sum;
  }
  double most(const polynomial& p) const {
    double sum = 0.0;
    for (const auto& [m, x] : p) sum += x * extreme(m, x > 0.0);
    return sum;
  }
  /// Outcome of a > b, or of a >= b; recorded where it depends on the inputs.
  bool compare(const polynomial& a, const polynomial& b, bool strict, bool holds) {
    polynomial d = sum(a, b, -1.0);
    const double low = least(d), high = most(d);
    if (strict ? low > 0.0 : low >= 0.0) return true;
    if (strict ? high <= 0.0 : high < 0.0) return false;
    guard g{std::move(d), strict, holds};
    if (std::find(guards_.begin(), guards_.end(), g) == guards_.end())
      guards_.push_back(std::move(g));
    return holds;
  }
  /// Stores a polynomial for numbers that refer to it.
  int keep(polynomial p) {
    stored_.push_back(std::move(p));
    return static_cast<int>(stored_.size()) - 1;
  }
  const polynomial& stored(int i) const { return stored_[static_cast<std::size_t>(i)]; }
  void pin() { pinned_ = true; }
  bool is_pinned() const { return pinned_; }
  const std::vector<atom>& atoms() const { return atoms_; }
  const std::vector<monomial>& monomials() const { return monomials_; }
  const std::vector<guard>& guards() const { return guards_; }

 private:
  polynomial whole(polynomial a) {
    const double low = least(a), high = most(a);
    return add_atom(operation::sum, std::move(a), {}, low, high);
  }
  /// Largest or least value of a monomial.
  double extreme(int m, bool largest) const {
    double x = 1.0;
    const monomial& factors = monomials_[static_cast<std::size_t>(m)];
    if (factors.size() == 1 && factors[0].second == 1) {
      const atom& a = atoms_[static_cast<std::size_t>(factors[0].first)];
      return largest ? a.most : a.least;
    }
    for (const auto& [factor, exponent] : factors) {
      const atom& a = atoms_[static_cast<std::size_t>(factor)];
      if (!(a.least >= 0.0)) return not_a_number;  // no bound is known
      const bool up = largest == (exponent > 0);
      for (int e = 0; e != exponent; e += exponent > 0 ? 1 : -1)
        x = exponent > 0 ? x * (up ? a.most : a.least) : x / (up ? a.most : a.least);
    }
    return x;
  }
  int monomial_of(monomial m) {
    const auto at = std::find(monomials_.begin(), monomials_.end(), m);
    if (at != monomials_.end()) return static_cast<int>(at - monomials_.begin());
    monomials_.push_back(std::move(m));
    return static_cast<int>(monomials_.size()) - 1;
  }
  int times(int m, int n) {
    const monomial& b = monomials_[static_cast<std::size_t>(n)];
    std::map<int, int> all(monomials_[static_cast<std::size_t>(m)].begin(),
                           monomials_[static_cast<std::size_t>(m)].end());
    for (const auto& [factor, exponent] : b) all[factor] += exponent;
    std::erase_if(all, [](const auto& t) { return t.second == 0; });
    return monomial_of({all.begin(), all.end()});
  }

  std::deque<polynomial> stored_{};
  std::vector<atom> atoms_{};
  std::vector<monomial> monomials_{};
  std::vector<guard> guards_{};
  bool pinned_ = false;
};

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
    return r == nullptr ? holds : r->compare(a.terms(), b.terms(), strict, holds);
  }
  polynomial terms() const { return r_ == nullptr ? recording<T>::constant(v_) : r_->stored(p_); }

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
  polynomial terms() const { return r_ == nullptr ? recording<T>::constant(v_) : r_->stored(p_); }

  [[gnu::noinline]] friend recorded operator+(const recorded& a, const recorded& b) {
    return of(a, b, a.v_ + b.v_,
              [&](recording<T>&) { return recording<T>::sum(a.terms(), b.terms(), 1.0); });
  }
  [[gnu::noinline]] friend recorded operator-(const recorded& a, const recorded& b) {
    return of(a, b, a.v_ - b.v_,
              [&](recording<T>&) { return recording<T>::sum(a.terms(), b.terms(), -1.0); });
  }
  [[gnu::noinline]] friend recorded operator*(const recorded& a, const recorded& b) {
    return of(a, b, a.v_ * b.v_, [&](recording<T>& r) { return r.product(a.terms(), b.terms()); });
  }
  [[gnu::noinline]] friend recorded operator/(const recorded& a, const recorded& b) {
    recorded q = of(a, b, a.v_ / b.v_, [&](recording<T>& r) {
      return r.product(a.terms(),
                       b.r_ == nullptr ? recording<T>::constant(1.0 / b.v_) : r.inverse(b.terms()));
    });
    if (q.r_ != nullptr) {
      q.dividend_ = q.r_->keep(a.terms());
      q.divisor_ = q.r_->keep(b.terms());
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
              [&](recording<T>& r) { return r.add_atom(operation::pow, a.terms(), b.terms()); });
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
    return r == nullptr ? recorded(value) : recorded(value, r, make(*r));
  }
  checked_number<T> number() const { return {v_, r_, p_}; }
  static recorded extreme(operation op, const recorded& a, const recorded& b, double value) {
    return of(a, b, value, [&](recording<T>& r) {
      const polynomial x = a.terms(), y = b.terms();
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
    return of(x, x, value, [&](recording<T>& r) {
      const polynomial p = x.terms();
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
/// For labels and breakdowns, such as the algorithm of least cost: not recorded.
template <class T>
struct lanes_of<detail::recorded<T>> {
  static constexpr std::size_t count = 1;
  static double lane(const detail::recorded<T>& x, std::size_t) { return x.value(); }
};
}  // namespace perfmodel::inline v0_3
