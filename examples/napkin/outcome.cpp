#include "outcome.hpp"

#include <perfmodel/core/error.hpp>
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

void note_calibration(outcome<>& answer, const outcome<>& bound, const calibration& c,
                      profile_part part) {
  calibrated_note note;
  const perfmodel::evidence stands_on = evidence_of(c, part, answer.terms);
  note.profile = note_of(c, stands_on);
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    const std::string_view key = answer.results[i].key;
    const result<double>& least = bound.results[i];
    if (key == "ttft_s") note.bounds.push_back({"bound_ttft_s", "bound", least.value, least.unit});
    if (key != "time_s" && key != "itl_s") continue;
    note.bounds.push_back({"bound_time_s", "bound", least.value, least.unit});
    const auto range = perfmodel::range_of(
        perfmodel::duration<>::from_value(answer.results[i].value), stands_on.log_sigma());
    note.low = range.low.value();
    note.high = range.high.value();
  }
  answer.calibrated = std::move(note);
}

}  // namespace napkin
