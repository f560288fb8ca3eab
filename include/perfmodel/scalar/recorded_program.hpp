// A recorded law as a list of operations on doubles.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <perfmodel/scalar/recorded.hpp>
#include <span>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// A recording as a list of operations on doubles.
/// Tests: tests/property/prepared.cpp, against the law itself.
template <Scalar T>
class recorded_program {
 public:
  static constexpr std::size_t most_instructions = 512;
  static constexpr std::size_t most_numbers = most_instructions + 8;  ///< the inputs and 1 too
  static constexpr std::size_t block = 32;  ///< points that are evaluated side by side
  using numbers = std::array<double, most_numbers>;
  using column = std::array<double, block>;
  using columns = std::vector<column>;  ///< most_numbers columns

  /// The first `head` results need no operation of the others: run() evaluates them alone.
  recorded_program(const recording<T>& r, const std::vector<recorded<T>>& results, std::size_t head)
      : r_(&r) {
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
    for (std::size_t i = 0; i < results.size(); ++i) {
      results_.push_back(place_of(results[i].terms()));
      if (i + 1 == head) head_code_ = code_.size();
    }
    usable_ = !r.is_pinned() && one_ + 1 + code_.size() <= most_numbers &&
              code_.size() <= most_instructions;
    if (usable_) put_in_runs();
    r_ = nullptr;
  }
  bool is_usable() const { return usable_; }
  const double& result(const numbers& x, std::size_t i) const { return x[at(results_[i])]; }
  const column& result(const columns& x, std::size_t i) const { return x[at(results_[i])]; }

  /// Evaluates the first results for the inputs at the front of x; false where a guard fails.
  bool run(numbers& x) const {
    x[one_] = 1.0;
    const std::span head(runs_.data(), head_runs_);
    return calls_ ? execute<true>(x.data(), head, 0) : execute<false>(x.data(), head, 0);
  }
  /// Evaluates the other results, after run(x).
  bool run_rest(numbers& x) const {
    return execute<true>(x.data(), std::span(runs_).subspan(head_runs_), head_code_);
  }
  /// Evaluates a block of points. `holds` is below 0 for each point of which a guard fails.
  void run(columns& x, column& holds) const {
    x[one_].fill(1.0);
    holds.fill(1.0);
    for (const instruction& i : std::span(code_).first(head_code_)) {
      const auto each = [&](const auto& f) {
        each_of(x[i.to].data(), x[i.a].data(), x[i.b].data(), x[i.c].data(), f);
      };
      switch (i.op) {
        case code::scale: {
          const double f = i.factor[0];
          each([f](double a, double, double) { return f * a; });
          break;
        }
        case code::sum_of_two: {
          const std::array<double, 3> f = i.factor;
          each([f](double a, double b, double) { return f[0] * a + f[1] * b; });
          break;
        }
        case code::sum: {
          const std::array<double, 3> f = i.factor;
          each([f](double a, double b, double c) { return f[0] * a + f[1] * b + f[2] * c; });
          break;
        }
        case code::multiply: each([](double a, double b, double) { return a * b; }); break;
        case code::divide: each([](double a, double b, double) { return a / b; }); break;
        case code::maximum: each([](double a, double b, double) { return a < b ? b : a; }); break;
        case code::minimum: each([](double a, double b, double) { return b < a ? b : a; }); break;
        case code::ceil: round_each(x[i.to].data(), x[i.a].data(), 1.0, holds.data()); break;
        case code::floor: round_each(x[i.to].data(), x[i.a].data(), -1.0, holds.data()); break;
        default:
          for (std::size_t k = 0; k < block; ++k)
            evaluate(i, x[i.to][k], x[i.a][k], x[i.b][k], holds[k]);
      }
    }
  }

 private:
  enum class code : std::uint32_t {
    minimum,
    maximum,
    pow,
    exp,
    log,
    sqrt,
    multiply,
    divide,
    scale,
    sum_of_two,
    sum,
    ceil,
    floor,
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
  /// Columns of the operands and factors of all instructions.
  struct operands {
    std::array<std::uint32_t, most_instructions> a{}, b{}, c{};
    std::array<double, most_instructions> f{}, g{}, h{};
  };
  /// Instructions of one operation, up to the one numbered `end`.
  struct run_of_code {
    code op;
    std::size_t end;
  };
  /// Evaluates runs of instructions from number k on. `Calls`: some call the C library.
  template <bool Calls>
  bool execute(double* all, std::span<const run_of_code> runs, std::size_t k) const {
    double* const to = all + one_ + 1;
    const operands& o = operands_.front();
    double holds = 1.0;
    for (const run_of_code& r : runs) {
      const auto each = [&k, end = r.end](const auto& evaluate_one) {
        std::size_t i = k;
        do evaluate_one(i);
        while (++i != end);
        k = end;
      };
      using size = std::size_t;
      switch (r.op) {
        case code::scale: each([=, &o](size i) { to[i] = o.f[i] * all[o.a[i]]; }); break;
        case code::sum_of_two:
          each([=, &o](size i) { to[i] = o.f[i] * all[o.a[i]] + o.g[i] * all[o.b[i]]; });
          break;
        case code::sum:
          each([=, &o](size i) {
            to[i] = o.f[i] * all[o.a[i]] + o.g[i] * all[o.b[i]] + o.h[i] * all[o.c[i]];
          });
          break;
        case code::multiply: each([=, &o](size i) { to[i] = all[o.a[i]] * all[o.b[i]]; }); break;
        case code::divide: each([=, &o](size i) { to[i] = all[o.a[i]] / all[o.b[i]]; }); break;
        case code::maximum:
          each([=, &o](size i) { to[i] = perfmodel::scalar_max(all[o.a[i]], all[o.b[i]]); });
          break;
        case code::minimum:
          each([=, &o](size i) { to[i] = perfmodel::scalar_min(all[o.a[i]], all[o.b[i]]); });
          break;
        case code::ceil:
          each([=, &o, &holds](size i) { to[i] = rounded(all[o.a[i]], 1.0, holds); });
          break;
        case code::floor:
          each([=, &o, &holds](size i) { to[i] = rounded(all[o.a[i]], -1.0, holds); });
          break;
        case code::above:
          each([=, &o, &holds](size i) { holds = all[o.a[i]] > 0.0 ? holds : -1.0; });
          break;
        case code::not_above:
          each([=, &o, &holds](size i) { holds = all[o.a[i]] <= 0.0 ? holds : -1.0; });
          break;
        case code::below:
          each([=, &o, &holds](size i) { holds = all[o.a[i]] < 0.0 ? holds : -1.0; });
          break;
        case code::least:
          each([=, &o, &holds](size i) { holds = all[o.a[i]] >= 0.0 ? holds : -1.0; });
          break;
        default:
          if constexpr (!Calls) __builtin_unreachable();
          each([&, this](size i) { evaluate(code_[i], to[i], all[o.a[i]], all[o.b[i]], holds); });
      }
    }
    return holds >= 0.0;
  }
  // The result of an operation is no operand of it, so that compilers vectorise these loops.
  template <class F>
  static void each_of(double* __restrict to, const double* __restrict a, const double* __restrict b,
                      const double* __restrict c, const F& f) {
    for (std::size_t k = 0; k < block; ++k) to[k] = f(a[k], b[k], c[k]);
  }
  static void round_each(double* __restrict to, const double* __restrict a, double by,
                         double* __restrict holds) {
    for (std::size_t k = 0; k < block; ++k) to[k] = rounded(a[k], by, holds[k]);
  }
  /// Evaluates one of the operations that have no loop of their own in run().
  static void evaluate(const instruction& i, double& to, const double& a, const double& b,
                       double& holds) {
    switch (i.op) {
      case code::pow: to = math::pow(a, b); break;
      case code::exp: to = math::exp(a); break;
      case code::log: to = math::log(a); break;
      case code::sqrt: to = math::sqrt(a); break;
      case code::ceil: to = rounded(a, 1.0, holds); break;
      case code::floor: to = rounded(a, -1.0, holds); break;
      case code::above: holds = a > 0.0 ? holds : -1.0; break;
      case code::not_above: holds = a <= 0.0 ? holds : -1.0; break;
      case code::least: holds = a >= 0.0 ? holds : -1.0; break;
      case code::below: holds = a < 0.0 ? holds : -1.0; break;
      default: break;
    }
  }
  /// The whole number above x (by = 1) or below it (by = -1). It does not hold where x misses a
  /// whole number by so little that the law may not: both have few roundings, of 1e-16 each.
  static double rounded(double x, double by, double& holds) {
    constexpr double whole = 6755399441055744.0;  // 1.5 x 2^52: above it doubles are whole
    const double nearest = (x + whole) - whole, miss = by * (x - nearest);
    const double away = perfmodel::scalar_max(miss, -miss),
                 least = perfmodel::scalar_max(1e-13 * x, 1e-13);
    // Below 0 if away is more than 0 and less than `least`, or if x is too large for a count.
    const double sure = perfmodel::scalar_min(away * (away - least), 1e12 - x);
    holds = perfmodel::scalar_min(holds, sure);
    return nearest + (miss > 0.0 ? by : 0.0);
  }
  static std::uint32_t at(int i) { return static_cast<std::uint32_t>(i); }

  int append(code op, int a, int b, int c = 0, const std::array<double, 3>& factor = {}) {
    const bool makes = op < code::above;
    code_.push_back({op, at(makes ? next_ : a), at(a), at(b), at(c), factor});
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
      constexpr code sums[] = {code::scale, code::scale, code::sum_of_two, code::sum};
      const code op = sums[n];
      for (; n < 3; ++n) from[n] = from[0];
      const bool itself = p.size() == 1 && factors[0] == 1.0;
      place = itself ? from[0] : append(op, from[0], from[1], from[2], factors);
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
    int left = place_of(a.a);
    using operation = typename recording<T>::operation;
    switch (a.op) {
      case operation::minimum: return both(i, code::minimum, left);
      case operation::maximum: return both(i, code::maximum, left);
      case operation::pow: return both(i, code::pow, left);
      case operation::ceil:
      case operation::floor:
        if (!a.b.empty()) left = append(code::divide, left, place_of(a.b));
        return atoms_[at(i)] =
                   append(a.op == operation::ceil ? code::ceil : code::floor, left, left);
      case operation::exp: return atoms_[at(i)] = append(code::exp, left, left);
      case operation::log: return atoms_[at(i)] = append(code::log, left, left);
      case operation::sqrt: return atoms_[at(i)] = append(code::sqrt, left, left);
      default: return atoms_[at(i)] = left;
    }
  }
  static constexpr std::uint32_t nowhere = 0xffffffff;

  /// For each of the instructions up to `end`, the most runs that follow those from `begin` on.
  std::vector<int> heights(std::size_t begin, std::size_t end) const {
    std::vector<std::size_t> maker(at(next_), end);
    for (std::size_t i = begin; i < end; ++i) {
      if (code_[i].op < code::above) maker[code_[i].to] = i;
    }
    std::vector<int> height(end, 0);
    for (std::size_t i = end; i-- > begin;) {
      for (const std::uint32_t from : {code_[i].a, code_[i].b, code_[i].c}) {
        if (maker[from] == end) continue;
        int& before = height[maker[from]];
        before = (std::max)(before, height[i] + (code_[maker[from]].op == code_[i].op ? 0 : 1));
      }
    }
    return height;
  }
  /// Reorders the operations from `begin` to `end` into few runs of one operation, and their
  /// results one behind the other. A run begins at the operation from which the most runs follow
  /// (list scheduling by height). Guards come last; their places stay empty.
  void reorder(std::size_t begin, std::size_t end, std::vector<std::uint32_t>& places,
               std::vector<instruction>& ordered) const {
    const std::vector<int> height = heights(begin, end);
    const auto is_ready = [&](const instruction& i) {
      return places[i.a] != nowhere && places[i.b] != nowhere && places[i.c] != nowhere;
    };
    std::vector<std::size_t> rest, left;
    for (std::size_t i = begin; i < end; ++i) rest.push_back(i);
    while (!rest.empty()) {
      std::size_t chosen = end;
      for (const std::size_t i : rest) {
        if (!is_ready(code_[i])) continue;
        const auto rank = [&](std::size_t x) {
          return std::pair(code_[x].op < code::above, height[x]);
        };
        if (chosen == end || rank(i) > rank(chosen)) chosen = i;
      }
      const code op = code_[chosen].op;
      left.clear();
      for (const std::size_t i : rest) {
        const instruction& x = code_[i];
        if (x.op != op || !is_ready(x)) {
          left.push_back(i);
          continue;
        }
        const auto next = at(static_cast<int>(one_ + 1 + ordered.size()));
        if (op < code::above) places[x.to] = next;
        ordered.push_back({op, places[x.to], places[x.a], places[x.b], places[x.c], x.factor});
      }
      rest.swap(left);
    }
  }
  void put_in_runs() {
    std::vector<std::uint32_t> places(at(next_), nowhere);
    for (std::uint32_t i = 0; i <= one_; ++i) places[i] = i;
    std::vector<instruction> ordered;
    reorder(0, head_code_, places, ordered);
    reorder(head_code_, code_.size(), places, ordered);
    code_ = std::move(ordered);
    operands_.resize(1);
    for (std::size_t i = 0; i < code_.size(); ++i) add_to_runs(i);
    const auto calls = [](code op) { return op >= code::pow && op <= code::sqrt; };
    for (const instruction& i : code_) calls_ = calls_ || calls(i.op);
    if (head_code_ == code_.size()) head_runs_ = runs_.size();
    for (int& i : results_) i = static_cast<int>(places[at(i)]);
  }

  void add_to_runs(std::size_t k) {
    const instruction& i = code_[k];
    if (k == head_code_) head_runs_ = runs_.size();
    if (k == 0 || k == head_code_ || runs_.back().op != i.op) runs_.push_back({i.op, k});
    ++runs_.back().end;
    operands& o = operands_.front();
    o.a[k] = i.a;
    o.b[k] = i.b;
    o.c[k] = i.c;
    o.f[k] = i.factor[0];
    o.g[k] = i.factor[1];
    o.h[k] = i.factor[2];
  }

  int both(int i, code op, int left) {
    const int right = place_of(r_->atoms()[at(i)].b);
    return atoms_[at(i)] = append(op, left, right);
  }

  const recording<T>* r_;
  std::vector<instruction> code_{};
  std::vector<run_of_code> runs_{};   ///< operations of code_
  std::vector<operands> operands_{};  ///< columns of code_; empty if it is not usable
  std::vector<int> results_{}, atoms_{}, monomials_{};
  std::vector<std::pair<typename recording<T>::polynomial, int>> sums_{};
  int next_ = 0;
  std::uint32_t one_ = 0;
  std::size_t head_code_ = 0, head_runs_ = 0;  ///< code and runs of the first results
  bool usable_ = false, calls_ = false;
};

}  // namespace perfmodel::inline v0_3::detail
