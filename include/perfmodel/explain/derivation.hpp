// Derivation of a result, step by step, from the trace of its evaluation.
#pragma once

#include <algorithm>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/explain/step_names.hpp>
#include <perfmodel/explain/traced.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/units/text.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace perfmodel::inline v0_3 {

/// One line of a derivation: `name = formula = numbers = value`, or an input with its source.
struct derivation_step {
  std::string name{};     ///< unique: "flop of attention" if several steps are called flop;
                          ///< "part 3" of a formula that is too long for one line
  std::string formula{};  ///< over the names of earlier steps; empty for an input
  std::string numbers{};  ///< the formula with values
  std::string value{};
  std::string source{};             ///< source of an input
  std::string symbol{};             ///< name in the law: "flop"
  std::vector<std::size_t> uses{};  ///< earlier steps in the formula
};
struct derivation {
  std::vector<derivation_step> inputs;
  std::vector<derivation_step> steps;  ///< in the order of evaluation, the result last
};

/// Converts a spec to `traced`: each number becomes an input named prefix.field, with the source of
/// its fact. A zero stays a constant.
template <class S>
auto trace_inputs(const S& spec, trace& t, const std::string& prefix = {}) {
  return map_scalars<traced>(
      spec, [&](const field_path& path, double x, const source* from, unit_exponents unit) {
        if (x == 0.0) return traced(x);
        std::string where;
        if (from != nullptr) where = std::string(name_of(from->how)) + ": " + from->text;
        return traced::input(t, x, prefix.empty() ? path.text() : prefix + "." + path.text(), where,
                             unit);
      });
}

namespace detail {

class derivation_writer {
 public:
  explicit derivation_writer(const trace& t)
      : t_(t),
        representatives_(find_representatives(t)),
        positions_(t.size(), -1),
        sizes_(t.size(), 0),
        parts_(t.size(), false) {}

  derivation write(int root) {
    if (root >= 0) {
      const int first = representatives_[static_cast<std::size_t>(root)];
      visit(first, &derivation_writer::measure);
      visit(first, &derivation_writer::add_step);
    }
    for (const int i : order_)
      operands_.push_back(find_operands(body(i), &derivation_writer::is_step));
    set_names();
    step_at_.resize(order_.size());
    for (const int i : order_) write_step(i);
    return std::move(out_);
  }

 private:
  using op = trace::operation;
  struct expression {
    std::string names, numbers;
    int binding;  // 3 atom, 2 product, 1 sum
  };

  int representative(int i) const {
    return i < 0 ? i : representatives_[static_cast<std::size_t>(i)];
  }
  int left(int i) const { return representative(t_[i].left); }
  int right(int i) const { return representative(t_[i].right); }
  bool is_named(int i) const { return t_[i].op == op::step || t_[i].op == op::input; }
  bool is_part(int i) const { return parts_[static_cast<std::size_t>(i)]; }
  bool is_step(int i) const { return is_named(i) || is_part(i); }  // a line of its own
  /// What the formula of a step begins with.
  int body(int i) const { return is_part(i) ? i : left(i); }
  std::size_t position(int i) const {
    return static_cast<std::size_t>(positions_[static_cast<std::size_t>(i)]);
  }
  const std::string& name_of(int i) const { return names_[position(i)]; }
  std::string value_text(int i) const { return to_string(t_[i].value, t_[i].unit, 4, t_[i].name); }

  /// Calls an action for each node below a root, operands first.
  void visit(int root, void (derivation_writer::*action)(int)) {
    struct frame {
      int node;
      bool expanded;
    };
    std::vector<bool> seen(t_.size(), false);
    std::vector<frame> stack{{root, false}};
    while (!stack.empty()) {
      const frame f = stack.back();
      stack.pop_back();
      if (f.node < 0) continue;
      const auto at = static_cast<std::size_t>(f.node);
      if (f.expanded) {
        (this->*action)(f.node);
        continue;
      }
      if (seen[at]) continue;
      seen[at] = true;
      stack.push_back({f.node, true});
      stack.push_back({right(f.node), false});
      stack.push_back({left(f.node), false});
    }
  }
  /// Counts the operands of a printed formula. Where it has too many, its largest terms become
  /// steps of their own.
  void measure(int i) {
    std::size_t& size = sizes_[static_cast<std::size_t>(i)];
    size = 1;
    if (is_named(i) || t_[i].op == op::constant) return;
    const std::vector<int> terms = operands(i);
    const auto size_of = [this](int j) {
      return is_step(j) ? std::size_t{1} : sizes_[static_cast<std::size_t>(j)];
    };
    for (;;) {
      size = 0;
      for (const int j : terms) size += size_of(j);
      const int largest = *std::max_element(terms.begin(), terms.end(),
                                            [&](int a, int b) { return size_of(a) < size_of(b); });
      if (size <= longest_formula || size_of(largest) < 2) return;
      parts_[static_cast<std::size_t>(largest)] = true;
    }
  }
  void add_step(int i) {
    if (!is_step(i)) return;
    const int operand = left(i);
    const bool is_renamed =
        t_[i].op == op::step && is_named(operand) && t_[operand].name == t_[i].name;
    int& at = positions_[static_cast<std::size_t>(i)];
    if (is_renamed) {  // one step named twice
      at = positions_[static_cast<std::size_t>(operand)];
      return;
    }
    at = static_cast<int>(order_.size());
    order_.push_back(i);
  }

  /// Names of the steps: those of the law, made unique, and of the parts by number.
  void set_names() {
    std::vector<named_node> nodes;
    std::vector<std::size_t> node_at(order_.size(), 0);
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const int i = order_[at];
      if (is_part(i)) continue;
      node_at[at] = nodes.size();
      named_node n{.name = t_[i].name, .value = value_text(i), .is_input = t_[i].op == op::input};
      if (!n.is_input) n.operands = find_operands(left(i), &derivation_writer::is_named);
      for (std::size_t& j : n.operands) {
        j = node_at[j];
        nodes[j].users.push_back(nodes.size());
      }
      nodes.push_back(std::move(n));
    }
    const std::vector<std::string> unique = step_names(std::move(nodes)).make_unique();
    for (std::size_t at = 0, number = 0; at < order_.size(); ++at) {
      names_.push_back(is_part(order_[at]) ? "part " + std::to_string(++number)
                                           : unique[node_at[at]]);
    }
  }
  /// Positions of the nodes that stop the search below a node, each once.
  std::vector<std::size_t> find_operands(int root,
                                         bool (derivation_writer::*stops)(int) const) const {
    std::vector<std::size_t> found;
    std::set<int> seen;
    std::vector<int> todo{root};
    while (!todo.empty()) {
      const int i = todo.back();
      todo.pop_back();
      if (i < 0 || !seen.insert(i).second) continue;
      if (!(this->*stops)(i) || (i == root && is_part(i))) {
        todo.push_back(right(i));
        todo.push_back(left(i));
      } else if (std::find(found.begin(), found.end(), position(i)) == found.end()) {
        found.push_back(position(i));
      }
    }
    return found;
  }

  void write_step(int i) {
    const trace::node& n = t_[i];
    derivation_step s{.name = name_of(i), .value = value_text(i), .symbol = n.name};
    if (is_part(i)) s.symbol = "part";
    if (n.op == op::input) {
      s.source = n.source;
      out_.inputs.push_back(std::move(s));
      return;
    }
    expression e = express(body(i), is_part(i) ? nullptr : &n.unit);
    s.formula = std::move(e.names);
    s.numbers = std::move(e.numbers);
    for (const std::size_t j : operands_[position(i)]) {
      if (t_[order_[j]].op != op::input) s.uses.push_back(step_at_[j]);
    }
    step_at_[position(i)] = out_.steps.size();
    out_.steps.push_back(std::move(s));
  }

  static std::string wrap(const std::string& s, bool needed) {
    return needed ? std::string("(") + s + ")" : s;
  }

  static bool flattens(op o) { return o == op::minimum || o == op::maximum; }

  /// Operands of a node as printed: min(min(a, b), c) becomes min(a, b, c).
  std::vector<int> operands(int i) const {
    const op outer = t_[i].op;
    std::vector<int> todo{right(i), left(i)}, out;
    while (!todo.empty()) {
      const int j = todo.back();
      todo.pop_back();
      if (j < 0) continue;
      if (flattens(outer) && t_[j].op == outer && !is_part(j)) {
        todo.push_back(right(j));
        todo.push_back(left(j));
      } else {
        out.push_back(j);
      }
    }
    return out;
  }

  using parts = std::span<const expression>;
  static expression binary(const parts& p, const char* sign, int binding, bool right_strict) {
    const bool wrap_a = p[0].binding < binding;
    const bool wrap_b = right_strict ? p[1].binding <= binding : p[1].binding < binding;
    return {wrap(p[0].names, wrap_a) + sign + wrap(p[1].names, wrap_b),
            wrap(p[0].numbers, wrap_a) + sign + wrap(p[1].numbers, wrap_b), binding};
  }
  static expression call(const char* name, const parts& p) {
    std::string names, numbers;
    for (const expression& e : p) {
      names += (names.empty() ? "" : ", ") + e.names;
      numbers += (numbers.empty() ? "" : ", ") + e.numbers;
    }
    return {std::string(name) + "(" + names + ")", std::string(name) + "(" + numbers + ")", 3};
  }
  /// Name of a node; a constant has the unit of its sum, if known.
  expression atom(int i, const unit_exponents* unit) const {
    if (t_[i].op != op::constant) return {name_of(i), value_text(i), 3};
    const std::string s = unit != nullptr && t_[i].value != 0.0 ? to_string(t_[i].value, *unit, 4)
                                                                : significant(t_[i].value, 4);
    return {s, s, 3};
  }
  static bool is_sum(op o) { return o == op::add || o == op::subtract || flattens(o); }
  /// Unit of a sum: that of a named operand, else that of the step.
  const unit_exponents* unit_of_sum(const std::vector<int>& operands,
                                    const unit_exponents* whole) const {
    for (const int i : operands) {
      if (is_named(i)) return &t_[i].unit;
    }
    return whole;
  }
  static expression print(op o, const parts& p) {
    switch (o) {
      case op::constant:
      case op::input:
      case op::step: break;
      case op::add: return binary(p, " + ", 1, false);
      case op::subtract: return binary(p, " - ", 1, true);
      case op::multiply: return binary(p, " x ", 2, false);
      case op::divide: return binary(p, " / ", 2, true);
      case op::negate:
        return {"-" + wrap(p[0].names, p[0].binding < 3),
                "-" + wrap(p[0].numbers, p[0].binding < 3), 2};
      case op::minimum: return call("min", p);
      case op::maximum: return call("max", p);
      case op::ceil: return call("ceil", p);
      case op::floor: return call("floor", p);
      case op::log: return call("ln", p);
      case op::exp: return call("exp", p);
      case op::sqrt: return call("sqrt", p);
      case op::pow: return call("pow", p);
    }
    return {};
  }

  /// Formula of a node down to named steps and inputs. Uses an explicit stack, since inputs decide
  /// the depth.
  expression express(int root, const unit_exponents* whole) const {
    struct frame {
      int node;
      std::size_t operands;        // printed operands; 0: none yet
      const unit_exponents* unit;  // null: unknown
    };
    std::vector<frame> todo{{root, 0, whole}};
    std::vector<expression> done;
    while (!todo.empty()) {
      const frame f = todo.back();
      todo.pop_back();
      const op o = t_[f.node].op;
      if (o == op::constant || is_named(f.node) || (is_part(f.node) && f.node != root)) {
        done.push_back(atom(f.node, f.unit));
      } else if (f.operands == 0) {
        const std::vector<int> below = operands(f.node);
        const unit_exponents* unit = is_sum(o) ? unit_of_sum(below, f.unit) : nullptr;
        todo.push_back({f.node, below.size(), nullptr});
        for (auto i = below.rbegin(); i != below.rend(); ++i) todo.push_back({*i, 0, unit});
      } else {
        expression e = print(o, parts(done).last(f.operands));
        done.resize(done.size() - f.operands);
        done.push_back(std::move(e));
      }
    }
    return std::move(done.back());
  }

  static constexpr std::size_t longest_formula = 32;  // operands

  const trace& t_;
  std::vector<int> representatives_;
  std::vector<int> positions_;      // positions of steps in order_ and names_
  std::vector<std::size_t> sizes_;  // operands of the formula of a node
  std::vector<bool> parts_;         // of a longer formula
  std::vector<int> order_;
  std::vector<std::vector<std::size_t>> operands_;
  std::vector<std::string> names_;
  std::vector<std::size_t> step_at_;  // index in out_.steps by position
  derivation out_;
};

}  // namespace detail

/// Derivation of a traced result: its inputs with their sources, and every named step.
/// Postcondition: the last step has the value of the result, from the same evaluation.
template <class U>
derivation derivation_of(const bu::quantity<U, traced>& result) {
  if (result.value().tape() == nullptr) return {};
  return detail::derivation_writer(*result.value().tape()).write(result.value().node());
}
/// Derivation of a traced number without a unit; empty where it is a constant.
inline derivation derivation_of(const traced& result) {
  if (result.tape() == nullptr) return {};
  return detail::derivation_writer(*result.tape()).write(result.node());
}

namespace detail {

/// A spec as inputs of a trace; a policy or any other argument unchanged.
template <class X>
decltype(auto) trace_argument(const X& x, trace& t) {
  if constexpr (Spec<const X>) {
    return trace_inputs(x, t);
  } else {
    return (x);
  }
}

}  // namespace detail

/// Derivation of law(specs...), with every number of the specs as an input. `law` is generic over
/// the scalar and returns an estimate, a quantity or a number: explain([](const auto& d, const
/// auto& i) { return step_bound(d, i); }, d, i).
/// Errors: those of the law. Test: the last step is the law's result over double.
template <class Law, class... Specs>
derivation explain(const Law& law, const Specs&... specs) {
  trace t;
  const auto result = law(detail::trace_argument(specs, t)...);
  if constexpr (requires { result.time.value(); }) {
    return derivation_of(result.time);
  } else {
    return derivation_of(result);
  }
}

/// Derivation as lines of text, inputs first; `with_numbers` adds each formula with its values.
inline std::string to_string(const derivation& d, bool with_numbers = true) {
  std::string s;
  for (const auto& i : d.inputs) {
    s += "  " + i.name + " = " + i.value + (i.source.empty() ? "" : "   [" + i.source + "]") + "\n";
  }
  for (const auto& x : d.steps) {
    s += "  " + x.name + " = " + x.formula;
    if (with_numbers && x.numbers != x.formula && x.numbers != x.value) s += " = " + x.numbers;
    s += " = " + x.value + "\n";
  }
  return s;
}

}  // namespace perfmodel::inline v0_3
