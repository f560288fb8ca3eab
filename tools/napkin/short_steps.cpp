#include "short_steps.hpp"

#include <algorithm>
#include <string_view>

namespace napkin {

namespace {

constexpr std::string_view belongs = " of ";

/// Whether a name ends at this position of a formula, and not inside a longer name.
bool is_whole(const std::string& formula, std::size_t at, std::size_t size) {
  const auto is_edge = [](char c) {
    return c == ' ' || c == '(' || c == ')' || c == ',' || c == '-';
  };
  const std::size_t end = at + size;
  if (at > 0 && !is_edge(formula[at - 1])) return false;
  if (end < formula.size() && !is_edge(formula[end])) return false;
  return formula.compare(end, belongs.size(), belongs) != 0;
}
void replace_all(std::string& formula, const std::string& name, const std::string& with) {
  for (std::size_t at = formula.find(name); at != formula.npos; at = formula.find(name, at)) {
    if (is_whole(formula, at, name.size())) {
      formula.replace(at, name.size(), with);
      at += with.size();
    } else {
      at += name.size();
    }
  }
}

}  // namespace

short_steps::short_steps(const perfmodel::derivation& d) : d_(d) {
  for (const auto& i : d.inputs) names_.insert(i.name);
  for (const auto& s : d.steps) names_.insert(s.name);
  for (const auto& s : d.steps) {
    const std::size_t at = s.name.find(belongs, s.symbol.size());
    const bool called_after = s.name.starts_with(s.symbol) && at != s.name.npos;
    parts_.push_back(called_after ? s.name.substr(at + belongs.size()) : std::string());
  }
}

/// Removes the longest common ending with " of " and the part, where the short name is unique.
std::string short_steps::shorter(const std::string& name, const std::string& part) const {
  std::vector<std::string> ends;
  for (std::string_view rest = part; !rest.empty();) {
    ends.push_back(std::string(belongs) + std::string(rest));
    const std::string& end = ends.back();
    if (name.size() > end.size() && name.ends_with(end)) {
      const std::string left = name.substr(0, name.size() - end.size());
      const auto is_other = [&](const std::string& longer) {
        return longer != end && names_.contains(left + longer);
      };
      return names_.contains(left) || std::ranges::any_of(ends, is_other) ? name : left;
    }
    const std::size_t next = rest.find(belongs);
    rest = next == rest.npos ? std::string_view() : rest.substr(next + belongs.size());
  }
  return name;
}

std::string short_steps::name_of(std::size_t step) const {
  return shorter(d_.steps[step].name, parts_[step]);
}

std::string short_steps::formula_of(std::size_t step) const {
  const auto& s = d_.steps[step];
  std::vector<std::string> used;
  for (const std::size_t j : s.uses) used.push_back(d_.steps[j].name);
  std::ranges::stable_sort(used, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::string formula = s.formula;
  for (const std::string& name : used) {
    const std::string shortened = shorter(name, parts_[step]);
    if (shortened != name) replace_all(formula, name, shortened);
  }
  return formula;
}

}  // namespace napkin
