// Scalar that records its evaluation: the source of every printed derivation.
#pragma once

#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>
#include <string>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Record of an evaluation over `traced`: one node per operation, in order. A node refers to
/// earlier nodes by index; operand -1 is none. A trace must outlive its numbers.
class trace {
 public:
  enum class operation {
    constant,
    input,
    step,
    add,
    subtract,
    multiply,
    divide,
    negate,
    minimum,
    maximum,
    ceil,
    floor,
    log,
    exp,
    sqrt,
    pow
  };
  struct node {
    operation op = operation::constant;
    double value = 0;
    int left = -1;
    int right = -1;
    std::string name{};     ///< name of an input or step
    std::string source{};   ///< source of an input
    unit_exponents unit{};  ///< unit of an input or step
  };

  int add(node n) {
    nodes_.push_back(std::move(n));
    return static_cast<int>(nodes_.size()) - 1;
  }
  const node& operator[](int i) const { return nodes_[static_cast<std::size_t>(i)]; }
  node& operator[](int i) { return nodes_[static_cast<std::size_t>(i)]; }
  std::size_t size() const { return nodes_.size(); }

 private:
  std::vector<node> nodes_;
};

/// A double with a node in a trace. A constant has no node until an operation with one.
class traced {
 public:
  traced() = default;
  traced(double value) : v_(value) {}
  static traced input(trace& t, double value, std::string name, std::string source = {},
                      unit_exponents unit = {}) {
    return traced(
        value, &t,
        t.add({trace::operation::input, value, -1, -1, std::move(name), std::move(source), unit}));
  }

  double value() const { return v_; }
  const trace* tape() const { return t_; }
  int node() const { return n_; }

  /// Records a named step; called by named().
  traced name_step(const char* name, unit_exponents unit) const {
    return name_step(name, nullptr, unit);
  }
  traced name_step(const char* name, const char* part, unit_exponents unit) const {
    if (t_ == nullptr) return *this;
    std::string whole = name;
    if (part != nullptr) whole.append(" of ").append(part);
    return traced(v_, t_,
                  t_->add({trace::operation::step, v_, n_, -1, std::move(whole), {}, unit}));
  }

  friend traced operator+(const traced& a, const traced& b) {
    return apply(trace::operation::add, a.v_ + b.v_, a, b);
  }
  friend traced operator-(const traced& a, const traced& b) {
    return apply(trace::operation::subtract, a.v_ - b.v_, a, b);
  }
  friend traced operator*(const traced& a, const traced& b) {
    return apply(trace::operation::multiply, a.v_ * b.v_, a, b);
  }
  friend traced operator/(const traced& a, const traced& b) {
    return apply(trace::operation::divide, a.v_ / b.v_, a, b);
  }
  friend traced operator-(const traced& a) { return apply(trace::operation::negate, -a.v_, a); }
  traced& operator+=(const traced& b) { return *this = *this + b; }
  traced& operator-=(const traced& b) { return *this = *this - b; }
  traced& operator*=(const traced& b) { return *this = *this * b; }
  traced& operator/=(const traced& b) { return *this = *this / b; }
  friend bool operator==(const traced& a, const traced& b) { return a.v_ == b.v_; }
  friend auto operator<=>(const traced& a, const traced& b) { return a.v_ <=> b.v_; }

  friend double mid(const traced& x) { return x.v_; }
  friend double lower(const traced& x) { return x.v_; }
  friend double upper(const traced& x) { return x.v_; }
  friend traced scalar_min(const traced& a, const traced& b) {
    return apply(trace::operation::minimum, perfmodel::scalar_min(a.v_, b.v_), a, b);
  }
  friend traced scalar_max(const traced& a, const traced& b) {
    return apply(trace::operation::maximum, perfmodel::scalar_max(a.v_, b.v_), a, b);
  }
  friend traced ceil(const traced& x) { return apply(trace::operation::ceil, math::ceil(x.v_), x); }
  friend traced floor(const traced& x) {
    return apply(trace::operation::floor, math::floor(x.v_), x);
  }
  friend traced log(const traced& x) { return apply(trace::operation::log, math::log(x.v_), x); }
  friend traced exp(const traced& x) { return apply(trace::operation::exp, math::exp(x.v_), x); }
  friend traced sqrt(const traced& x) {
    if (const int side = find_square_root(x); side >= 0)
      return traced(math::sqrt(x.v_), x.t_, side);
    return apply(trace::operation::sqrt, math::sqrt(x.v_), x);
  }
  friend traced pow(const traced& base, const traced& exponent) {
    return apply(trace::operation::pow, math::pow(base.v_, exponent.v_), base, exponent);
  }

 private:
  traced(double value, trace* t, int n) : v_(value), t_(t), n_(n) {}

  int node_in(trace& t) const {
    return t_ != nullptr ? n_ : t.add({trace::operation::constant, v_, -1, -1, {}, {}, {}});
  }
  static traced apply(trace::operation op, double value, const traced& a) {
    if (a.t_ == nullptr) return traced(value);
    return traced(value, a.t_, a.t_->add({op, value, a.n_, -1, {}, {}, {}}));
  }
  bool is_constant(double x) const { return t_ == nullptr && v_ == x; }

  /// Node of a, if x = a a and a is not negative; else -1.
  static int find_square_root(const traced& x) {
    if (x.t_ == nullptr) return -1;
    const trace::node& n = (*x.t_)[x.n_];
    if (n.op != trace::operation::multiply || n.left != n.right) return -1;
    const double side = (*x.t_)[n.left].value;
    return side >= 0.0 && math::sqrt(x.v_) == side ? n.left : -1;
  }

  // Trivial operations are not recorded: x + 0, x 1, x 0, x - x, max(0, x), min(x, x), and sqrt(x
  // x) for x >= 0.
  static const traced* find_trivial(trace::operation op, const traced& a, const traced& b) {
    using enum trace::operation;
    const bool same = a.t_ != nullptr && a.t_ == b.t_ && a.n_ == b.n_;
    switch (op) {
      case add: return a.is_constant(0.0) ? &b : b.is_constant(0.0) ? &a : nullptr;
      case subtract: return b.is_constant(0.0) ? &a : nullptr;
      case multiply:
        if (a.is_constant(0.0) || b.is_constant(1.0)) return &a;
        return b.is_constant(0.0) || a.is_constant(1.0) ? &b : nullptr;
      case divide: return b.is_constant(1.0) || a.is_constant(0.0) ? &a : nullptr;
      case minimum: return same ? &a : nullptr;
      case maximum:
        if (same || (b.is_constant(0.0) && a.v_ >= 0.0)) return &a;
        return a.is_constant(0.0) && b.v_ >= 0.0 ? &b : nullptr;
      default: return nullptr;
    }
  }
  static traced apply(trace::operation op, double value, const traced& a, const traced& b) {
    if (const traced* same = find_trivial(op, a, b)) return *same;
    const bool is_zero = a.t_ != nullptr && a.t_ == b.t_ && a.n_ == b.n_ && value == 0.0;
    if (op == trace::operation::subtract && is_zero) return traced(0.0);
    trace* t = a.t_ != nullptr ? a.t_ : b.t_;
    if (t == nullptr) return traced(value);
    const int left = a.node_in(*t);
    const int right = b.node_in(*t);
    return traced(value, t, t->add({op, value, left, right, {}, {}, {}}));
  }

  double v_ = 0.0;
  trace* t_ = nullptr;
  int n_ = -1;
};

template <>
inline constexpr bool is_scalar<traced> = true;

}  // namespace perfmodel::inline v0_3
