// The derivation of an answer, step by step, read off the evaluation that gave it.
#pragma once

#include <map>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/scalar/traced.hpp>
#include <perfmodel/units/text.hpp>
#include <string>
#include <vector>

namespace perfmodel {

/// One line of a derivation: `name = formula = numbers = value`, or an input with its source.
struct derivation_step {
  std::string name;
  std::string formula;  ///< over the names of earlier steps; empty for an input
  std::string numbers;  ///< the same with the values put in
  std::string value;
  std::string source;  ///< of inputs
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
  explicit derivation_writer(const trace& t) : t_(t), seen_(t.size(), false), names_(t.size()) {}

  derivation write(int root) {
    visit(root);
    return std::move(out_);
  }

 private:
  using op = trace::operation;
  struct expression {
    std::string names, numbers;
    int binding;  // 3 atom, 2 product, 1 sum
  };

  const std::string& name_at(int i) const { return names_[static_cast<std::size_t>(i)]; }
  // A second step of the same name becomes "name (2)".
  std::string unique(const std::string& name) {
    const int n = ++used_[name];
    return n == 1 ? name : name + " (" + std::to_string(n) + ")";
  }

  std::string value_text(int i) const { return to_string(t_[i].value, t_[i].unit, 4); }

  // Writes the steps below node i, then i itself if it has a name.
  void visit(int root) {
    struct frame {
      int node;
      bool expanded;
    };
    std::vector<frame> stack{{root, false}};
    while (!stack.empty()) {
      const frame f = stack.back();
      stack.pop_back();
      if (f.node < 0) continue;
      const auto at = static_cast<std::size_t>(f.node);
      if (f.expanded) {
        emit(f.node);
        continue;
      }
      if (seen_[at]) continue;
      seen_[at] = true;
      stack.push_back({f.node, true});
      stack.push_back({t_[f.node].right, false});
      stack.push_back({t_[f.node].left, false});
    }
  }

  void emit(int i) {
    const trace::node& n = t_[i];
    if (n.op == op::input) {
      names_[static_cast<std::size_t>(i)] = unique(n.name);
      out_.inputs.push_back({name_at(i), {}, {}, value_text(i), n.source});
    } else if (n.op == op::step) {
      const expression e = express(n.left);
      const bool renames = t_[n.left].op == op::step || t_[n.left].op == op::input;
      const bool same = renames && t_[n.left].name == n.name;  // named twice on its way
      names_[static_cast<std::size_t>(i)] = same ? name_at(n.left) : unique(n.name);
      if (!same) out_.steps.push_back({name_at(i), e.names, e.numbers, value_text(i), {}});
    }
  }

  static std::string wrap(const std::string& s, bool needed) {
    return needed ? std::string("(") + s + ")" : s;
  }

  expression binary(const trace::node& n, const char* sign, int binding, bool right_strict) const {
    const expression a = express(n.left), b = express(n.right);
    const bool wrap_a = a.binding < binding;
    const bool wrap_b = right_strict ? b.binding <= binding : b.binding < binding;
    return {wrap(a.names, wrap_a) + sign + wrap(b.names, wrap_b),
            wrap(a.numbers, wrap_a) + sign + wrap(b.numbers, wrap_b), binding};
  }
  expression call(const char* name, const trace::node& n) const {
    std::string names, numbers;
    arguments(n, n.op == op::minimum || n.op == op::maximum ? n.op : op::constant, names, numbers);
    return {std::string(name) + "(" + names + ")", std::string(name) + "(" + numbers + ")", 3};
  }
  // min(min(a, b), c) is written min(a, b, c).
  void arguments(const trace::node& n, op flat, std::string& names, std::string& numbers) const {
    for (const int i : {n.left, n.right}) {
      if (i < 0) continue;
      if (t_[i].op == flat) {
        arguments(t_[i], flat, names, numbers);
        continue;
      }
      const expression e = express(i);
      names += (names.empty() ? "" : ", ") + e.names;
      numbers += (numbers.empty() ? "" : ", ") + e.numbers;
    }
  }
  expression express(int i) const {
    const trace::node& n = t_[i];
    switch (n.op) {
      case op::constant: {
        const std::string s = significant(n.value, 4);
        return {s, s, 3};
      }
      case op::input:
      case op::step: return {name_at(i), value_text(i), 3};
      case op::add: return binary(n, " + ", 1, false);
      case op::subtract: return binary(n, " - ", 1, true);
      case op::multiply: return binary(n, " x ", 2, false);
      case op::divide: return binary(n, " / ", 2, true);
      case op::negate: {
        const expression a = express(n.left);
        return {std::string("-") + wrap(a.names, a.binding < 3),
                std::string("-") + wrap(a.numbers, a.binding < 3), 2};
      }
      case op::minimum: return call("min", n);
      case op::maximum: return call("max", n);
      case op::ceil: return call("ceil", n);
      case op::floor: return call("floor", n);
      case op::log: return call("ln", n);
      case op::exp: return call("exp", n);
      case op::sqrt: return call("sqrt", n);
      case op::pow: return call("pow", n);
    }
    return {};
  }

  const trace& t_;
  std::vector<bool> seen_;
  std::vector<std::string> names_;
  std::map<std::string, int> used_;
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
