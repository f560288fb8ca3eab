// A recorded law as a list of operations on doubles.
#pragma once

#include <array>
#include <cstdint>
#include <perfmodel/scalar/recorded.hpp>

namespace perfmodel::inline v0_3::detail {

/// A recording as a list of operations on doubles.
/// Tests: tests/property/prepared.cpp, against the law itself.
template <Scalar T>
class recorded_program {
 public:
  using numbers = std::array<double, 192>;

  recorded_program(const recording<T>& r, const std::vector<recorded<T>>& results) : r_(&r) {
    for (const typename recording<T>::atom& a : r.atoms())
      atoms_.push_back(a.op == recording<T>::operation::input ? next_++ : -1);
    one_ = at(next_++);
    monomials_.assign(r.monomials().size(), -1);
    for (const typename recording<T>::guard& g : r.guards()) {
      const int at = place_of(g.difference);
      append(g.strict ? (g.holds ? code::above : code::not_above)
                      : (g.holds ? code::least : code::below),
             at, at);
    }
    for (const recorded<T>& x : results) results_.push_back(place_of(x.terms()));
    usable_ = !r.is_pinned() && next_ <= static_cast<int>(numbers().size());
    r_ = nullptr;
  }
  bool is_usable() const { return usable_; }
  double result(const numbers& x, std::size_t i) const { return x[at(results_[i])]; }

  /// Evaluates for the inputs at the front of x; false where a guard fails.
  bool run(numbers& x) const {
    x[one_] = 1.0;
    for (const instruction& i : code_) {
      switch (i.op) {
        case code::sum:
          x[i.to] = i.factor[0] * x[i.a] + i.factor[1] * x[i.b] + i.factor[2] * x[i.c];
          break;
        case code::multiply: x[i.to] = x[i.a] * x[i.b]; break;
        case code::maximum: x[i.to] = perfmodel::scalar_max(x[i.a], x[i.b]); break;
        case code::minimum: x[i.to] = perfmodel::scalar_min(x[i.a], x[i.b]); break;
        case code::divide: x[i.to] = x[i.a] / x[i.b]; break;
        case code::pow: x[i.to] = math::pow(x[i.a], x[i.b]); break;
        case code::exp: x[i.to] = math::exp(x[i.a]); break;
        case code::log: x[i.to] = math::log(x[i.a]); break;
        case code::sqrt: x[i.to] = math::sqrt(x[i.a]); break;
        case code::ceil: x[i.to] = math::ceil(x[i.a]); break;
        case code::floor: x[i.to] = math::floor(x[i.a]); break;
        case code::above:
          if (!(x[i.a] > 0.0)) return false;
          break;
        case code::not_above:
          if (!(x[i.a] <= 0.0)) return false;
          break;
        case code::least:
          if (!(x[i.a] >= 0.0)) return false;
          break;
        case code::below:
          if (!(x[i.a] < 0.0)) return false;
          break;
      }
    }
    return true;
  }

 private:
  enum class code : std::uint32_t {
    minimum,
    maximum,
    pow,
    exp,
    log,
    sqrt,
    ceil,
    floor,
    multiply,
    divide,
    sum,
    above,
    not_above,
    least,
    below
  };
  struct instruction {
    code op;
    std::uint32_t to, a, b, c;
    std::array<double, 3> factor;
  };
  static std::uint32_t at(int i) { return static_cast<std::uint32_t>(i); }

  int append(code op, int a, int b, int c = 0, const std::array<double, 3>& factor = {}) {
    const bool makes = op < code::above;
    code_.push_back({op, at(next_), at(a), at(b), at(c), factor});
    return makes ? next_++ : a;
  }
  int place_of(const typename recording<T>::polynomial& p) {
    for (const auto& [known, place] : sums_) {
      if (known == p) return place;
    }
    int place = static_cast<int>(one_);
    double factor = 0.0;  // of what is summed so far
    for (std::size_t i = 0; i < p.size() || factor == 0.0;) {
      std::array<int, 3> from{place, place, place};
      std::array<double, 3> factors{factor};
      std::size_t n = i == 0 ? 0 : 1;
      for (; n < 3 && i < p.size(); ++n, ++i) {
        from[n] = place_of_monomial(p[i].first);
        factors[n] = p[i].second;
      }
      for (; n < 3; ++n) from[n] = from[0];
      const bool itself = p.size() == 1 && factors[0] == 1.0;
      place = itself ? from[0] : append(code::sum, from[0], from[1], from[2], factors);
      factor = 1.0;
    }
    sums_.emplace_back(p, place);
    return place;
  }
  int place_of_monomial(int m) {
    if (m == 0) return static_cast<int>(one_);
    if (monomials_[at(m)] >= 0) return monomials_[at(m)];
    int place = -1;
    for (const auto& [factor, exponent] : r_->monomials()[at(m)]) {
      for (int e = 0; e < exponent; ++e) {
        const int x = place_of_atom(factor);
        place = place < 0 ? x : append(code::multiply, place, x);
      }
    }
    for (const auto& [factor, exponent] : r_->monomials()[at(m)]) {
      for (int e = 0; e > exponent; --e) {
        const int x = place_of_atom(factor);
        place = append(code::divide, place < 0 ? static_cast<int>(one_) : place, x);
      }
    }
    return monomials_[at(m)] = place;
  }
  int place_of_atom(int i) {
    if (atoms_[at(i)] >= 0) return atoms_[at(i)];
    const typename recording<T>::atom& a = r_->atoms()[at(i)];
    const int left = place_of(a.a);
    if (a.op == recording<T>::operation::sum) return atoms_[at(i)] = left;
    const bool two = a.op <= recording<T>::operation::pow;
    const int right = two ? place_of(a.b) : left;
    return atoms_[at(i)] = append(static_cast<code>(static_cast<int>(a.op) - 2), left, right);
  }

  const recording<T>* r_;
  std::vector<instruction> code_{};
  std::vector<int> results_{}, atoms_{}, monomials_{};
  std::vector<std::pair<typename recording<T>::polynomial, int>> sums_{};
  int next_ = 0;
  std::uint32_t one_ = 0;
  bool usable_ = false;
};

}  // namespace perfmodel::inline v0_3::detail
