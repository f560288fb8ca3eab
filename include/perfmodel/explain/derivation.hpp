// The derivation of an answer, step by step, read off the evaluation that gave it.
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

namespace perfmodel {

/// One line of a derivation: `name = formula = numbers = value`, or an input with its source.
struct derivation_step {
  std::string name{};     ///< of no other: "flop of attention" where several are called flop
  std::string formula{};  ///< over the names of earlier steps; empty for an input
  std::string numbers{};  ///< the same with the values put in
  std::string value{};
  std::string source{};             ///< of inputs
  std::string symbol{};             ///< what the law calls it: "flop"
  std::vector<std::size_t> uses{};  ///< which earlier steps are in the formula
};
struct derivation {
  std::vector<derivation_step> inputs;
  std::vector<derivation_step> steps;  ///< in the order of evaluation, the result last
};

/// A spec over `traced`, each number an input named prefix.field with the source of its fact.
/// Zeros are constants: a field left out is no input.
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
      : t_(t), first_(first_of_each(t)), place_(t.size(), -1) {}

  derivation write(int root) {
    if (root >= 0) visit(first_[static_cast<std::size_t>(root)]);
    std::vector<named_node> nodes = named_nodes();
    for (const named_node& n : nodes) uses_.push_back(n.uses);
    names_ = step_names(std::move(nodes)).give();
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

  int same(int i) const { return i < 0 ? i : first_[static_cast<std::size_t>(i)]; }
  int left(int i) const { return same(t_[i].left); }
  int right(int i) const { return same(t_[i].right); }
  bool is_named(int i) const { return t_[i].op == op::step || t_[i].op == op::input; }
  std::size_t place(int i) const {
    return static_cast<std::size_t>(place_[static_cast<std::size_t>(i)]);
  }
  const std::string& name_at(int i) const { return names_[place(i)]; }
  std::string value_text(int i) const { return to_string(t_[i].value, t_[i].unit, 4, t_[i].name); }

  /// The named nodes below a root, each after what it uses.
  void visit(int root) {
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
        take(f.node);
        continue;
      }
      if (seen[at]) continue;
      seen[at] = true;
      stack.push_back({f.node, true});
      stack.push_back({right(f.node), false});
      stack.push_back({left(f.node), false});
    }
  }
  void take(int i) {
    if (!is_named(i)) return;
    const int of = left(i);
    const bool twice = t_[i].op == op::step && is_named(of) && t_[of].name == t_[i].name;
    int& at = place_[static_cast<std::size_t>(i)];
    if (twice) {  // named twice on its way
      at = place_[static_cast<std::size_t>(of)];
      return;
    }
    at = static_cast<int>(order_.size());
    order_.push_back(i);
  }

  std::vector<named_node> named_nodes() const {
    std::vector<named_node> nodes;
    for (const int i : order_) {
      named_node n{.name = t_[i].name, .value = value_text(i), .is_input = t_[i].op == op::input};
      if (!n.is_input) n.uses = named_below(left(i));
      for (const std::size_t j : n.uses) nodes[j].users.push_back(nodes.size());
      nodes.push_back(std::move(n));
    }
    return nodes;
  }
  /// The places of what the formula of a node is written over, each once.
  std::vector<std::size_t> named_below(int root) const {
    std::vector<std::size_t> found;
    std::set<int> seen;
    std::vector<int> todo{root};
    while (!todo.empty()) {
      const int i = todo.back();
      todo.pop_back();
      if (i < 0 || !seen.insert(i).second) continue;
      if (!is_named(i)) {
        todo.push_back(right(i));
        todo.push_back(left(i));
      } else if (std::find(found.begin(), found.end(), place(i)) == found.end()) {
        found.push_back(place(i));
      }
    }
    return found;
  }

  void write_step(int i) {
    const trace::node& n = t_[i];
    derivation_step s{.name = name_at(i), .value = value_text(i), .symbol = n.name};
    if (n.op == op::input) {
      s.source = n.source;
      out_.inputs.push_back(std::move(s));
      return;
    }
    expression e = express(left(i), &n.unit);
    s.formula = std::move(e.names);
    s.numbers = std::move(e.numbers);
    for (const std::size_t j : uses_[place(i)]) {
      if (t_[order_[j]].op == op::step) s.uses.push_back(step_at_[j]);
    }
    step_at_[place(i)] = out_.steps.size();
    out_.steps.push_back(std::move(s));
  }

  static std::string wrap(const std::string& s, bool needed) {
    return needed ? std::string("(") + s + ")" : s;
  }

  static bool flattens(op o) { return o == op::minimum || o == op::maximum; }

  /// What a node is written over: its sides; min(min(a, b), c) is written min(a, b, c).
  std::vector<int> operands(int i) const {
    const op outer = t_[i].op;
    std::vector<int> todo{right(i), left(i)}, out;
    while (!todo.empty()) {
      const int j = todo.back();
      todo.pop_back();
      if (j < 0) continue;
      if (flattens(outer) && t_[j].op == outer) {
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
  /// A constant has the unit of the sum that it is in, where that is known.
  expression atom(int i, const unit_exponents* unit) const {
    if (t_[i].op != op::constant) return {name_at(i), value_text(i), 3};
    const std::string s = unit != nullptr && t_[i].value != 0.0 ? to_string(t_[i].value, *unit, 4)
                                                                : significant(t_[i].value, 4);
    return {s, s, 3};
  }
  static bool is_sum(op o) { return o == op::add || o == op::subtract || flattens(o); }
  /// The unit of what a sum of these is, by one of them that has a name, or by the step that it makes.
  const unit_exponents* unit_of_sum(const std::vector<int>& below,
                                    const unit_exponents* whole) const {
    for (const int i : below) {
      if (is_named(i)) return &t_[i].unit;
    }
    return whole;
  }
  static expression written(op o, const parts& p) {
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

  /// The formula of a node down to named steps and inputs. Input may make it as deep as it likes, hence a
  /// stack of its own.
  expression express(int root, const unit_exponents* whole) const {
    struct frame {
      int node;
      std::size_t operands;        // that are written; 0: not yet
      const unit_exponents* unit;  // where it is known
    };
    std::vector<frame> todo{{root, 0, whole}};
    std::vector<expression> done;
    while (!todo.empty()) {
      const frame f = todo.back();
      todo.pop_back();
      const op o = t_[f.node].op;
      if (o == op::constant || o == op::input || o == op::step) {
        done.push_back(atom(f.node, f.unit));
      } else if (f.operands == 0) {
        const std::vector<int> below = operands(f.node);
        const unit_exponents* unit = is_sum(o) ? unit_of_sum(below, f.unit) : nullptr;
        todo.push_back({f.node, below.size(), nullptr});
        for (auto i = below.rbegin(); i != below.rend(); ++i) todo.push_back({*i, 0, unit});
      } else {
        expression e = written(o, parts(done).last(f.operands));
        done.resize(done.size() - f.operands);
        done.push_back(std::move(e));
      }
    }
    return std::move(done.back());
  }

  const trace& t_;
  std::vector<int> first_;  // of each node the one that stands for it
  std::vector<int> place_;  // of named nodes, in order_ and names_
  std::vector<int> order_;
  std::vector<std::vector<std::size_t>> uses_;
  std::vector<std::string> names_;
  std::vector<std::size_t> step_at_;  // by place
  derivation out_;
};

}  // namespace detail

/// The derivation of a traced result: its inputs with their sources, and every named step.
/// Postcondition: the last step's value is the result's, since both are one evaluation.
template <class U>
derivation derivation_of(const bu::quantity<U, traced>& result) {
  if (result.value().tape() == nullptr) return {};
  return detail::derivation_writer(*result.value().tape()).write(result.value().node());
}
inline derivation derivation_of(const traced& result) {
  if (result.tape() == nullptr) return {};
  return detail::derivation_writer(*result.tape()).write(result.node());
}

/// The derivation as lines of text, inputs first; `with_numbers` shows each formula with its values.
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

}  // namespace perfmodel
