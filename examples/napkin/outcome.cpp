#include "outcome.hpp"

#include <perfmodel/error.hpp>
#include <perfmodel/units/text.hpp>

namespace napkin {

namespace {

std::string amount(double x, std::string_view unit) {
  if (unit == "B") return perfmodel::to_string(x, {{0, 1, 0, 0, 0, 0, 0}});
  if (unit == "s") return perfmodel::to_string(x, {{1, 0, 0, 0, 0, 0, 0}});
  return perfmodel::detail::number_text(x) + (unit.empty() ? "" : " ") + std::string(unit);
}

}  // namespace

std::string sentence(const perfmodel::feasibility& f) {
  if (f.feasible) return {};
  return std::string(f.reason) + ": " + amount(f.needed, f.unit) + " needed, " +
         amount(f.available, f.unit) + " available";
}

}  // namespace napkin
