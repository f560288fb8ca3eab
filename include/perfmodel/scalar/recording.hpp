// Record of a law as polynomials, of which `recorded` makes one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
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

  recording() { (void)monomial_of({}); }  // monomial 0 is 1

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
  /// a + sign b; both are sorted by monomial.
  static polynomial sum(const polynomial& a, const polynomial& b, double sign) {
    polynomial all;
    all.reserve(a.size() + b.size());
    auto i = a.begin(), j = b.begin();
    while (i != a.end() || j != b.end()) {
      const bool left = j == b.end() || (i != a.end() && i->first <= j->first);
      const bool both = left && j != b.end() && i != a.end() && i->first == j->first;
      const double x = both ? i->second + sign * j->second : left ? i->second : sign * j->second;
      if (x != 0.0) all.emplace_back(left ? i->first : j->first, x);
      if (left) ++i;
      if (both || !left) ++j;
    }
    return all;
  }
  polynomial product(const polynomial& a, const polynomial& b) {
    constexpr std::size_t most = 16;
    if (a.size() * b.size() > most && a.size() > 1) return product(whole(a), b);
    if (a.size() * b.size() > most && b.size() > 1) return product(a, whole(b));
    polynomial all;
    all.reserve(a.size() * b.size());
    for (const auto& [m, x] : a) {
      for (const auto& [n, y] : b) {
        const int both = times(m, n);
        const auto at = std::lower_bound(all.begin(), all.end(), both,
                                         [](const auto& t, int of) { return t.first < of; });
        if (at == all.end() || at->first != both) {
          all.emplace(at, both, x * y);
        } else {
          at->second += x * y;
        }
      }
    }
    std::erase_if(all, [](const auto& t) { return t.second == 0.0; });
    return all;
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
  static std::size_t hash_of(const monomial& m) {
    std::size_t h = m.size();
    for (const auto& [factor, exponent] : m)
      h = 31 * (31 * h + static_cast<std::size_t>(factor)) + static_cast<std::size_t>(exponent);
    return h;
  }
  int monomial_of(monomial m) {
    const std::size_t hash = hash_of(m);
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
      if (hashes_[i] == hash && monomials_[i] == m) return static_cast<int>(i);
    }
    monomials_.push_back(std::move(m));
    hashes_.push_back(hash);
    return static_cast<int>(monomials_.size()) - 1;
  }
  int times(int m, int n) {
    if (m == 0 || n == 0) return m + n;  // monomial 0 is 1
    const monomial& a = monomials_[static_cast<std::size_t>(m)];
    const monomial& b = monomials_[static_cast<std::size_t>(n)];
    monomial all;
    all.reserve(a.size() + b.size());
    auto i = a.begin(), j = b.begin();
    while (i != a.end() || j != b.end()) {
      if (j == b.end() || (i != a.end() && i->first < j->first)) {
        all.push_back(*i++);
      } else if (i == a.end() || j->first < i->first) {
        all.push_back(*j++);
      } else {
        if (i->second + j->second != 0) all.emplace_back(i->first, i->second + j->second);
        ++i, ++j;
      }
    }
    return monomial_of(std::move(all));
  }

  std::deque<polynomial> stored_{};
  std::vector<atom> atoms_{};
  std::vector<monomial> monomials_{};
  std::vector<std::size_t> hashes_{};  ///< a hash for each of monomials_
  std::vector<guard> guards_{};
  bool pinned_ = false;
};

}  // namespace perfmodel::inline v0_3::detail
