// The derivation of an answer, step by step, read off the evaluation that gave it.
#pragma once

#include <map>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/scalar/traced.hpp>
#include <perfmodel/units/text.hpp>
#include <span>
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
        write_step(f.node);
        continue;
      }
      if (seen_[at]) continue;
      seen_[at] = true;
      stack.push_back({f.node, true});
      stack.push_back({t_[f.node].right, false});
      stack.push_back({t_[f.node].left, false});
    }
  }

  void write_step(int i) {
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

  static bool flattens(op o) { return o == op::minimum || o == op::maximum; }

  /// What a node is written over: its sides; min(min(a, b), c) is written min(a, b, c).
  std::vector<int> operands(int i) const {
    const op outer = t_[i].op;
    std::vector<int> todo{t_[i].right, t_[i].left}, out;
    while (!todo.empty()) {
      const int j = todo.back();
      todo.pop_back();
      if (j < 0) continue;
      if (flattens(outer) && t_[j].op == outer) {
        todo.push_back(t_[j].right);
        todo.push_back(t_[j].left);
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
  expression atom(int i) const {
    if (t_[i].op != op::constant) return {name_at(i), value_text(i), 3};
    const std::string s = significant(t_[i].value, 4);
    return {s, s, 3};
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
  expression express(int root) const {
    struct frame {
      int node;
      std::size_t operands;  // that are written; 0: not yet
    };
    std::vector<frame> todo{{root, 0}};
    std::vector<expression> done;
    while (!todo.empty()) {
      const frame f = todo.back();
      todo.pop_back();
      const op o = t_[f.node].op;
      if (o == op::constant || o == op::input || o == op::step) {
        done.push_back(atom(f.node));
      } else if (f.operands == 0) {
        const std::vector<int> below = operands(f.node);
        todo.push_back({f.node, below.size()});
        for (auto i = below.rbegin(); i != below.rend(); ++i) todo.push_back({*i, 0});
      } else {
        expression e = written(o, parts(done).last(f.operands));
        done.resize(done.size() - f.operands);
        done.push_back(std::move(e));
      }
    }
    return std::move(done.back());
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
