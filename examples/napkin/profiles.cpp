#include "profiles.hpp"

#include <perfmodel/calibrated/for_accelerator.hpp>
#include <perfmodel/deployment/operators.hpp>

namespace napkin {

namespace {

namespace pm = perfmodel;
namespace catalog = pm::catalog;

bool is_of(const given_profile* given, const pm::accelerator& a) {
  return given != nullptr && given->machine.name == a.name;
}

void check_stated(const pm::accelerator& a, profile_part part) {
  const auto needs = [&a](const char* what, double x) {
    if (x > 0.0) return;
    throw pm::error(pm::error_code::unknown_name,
                    std::string("mode is \"calibrated\", and the catalogue does not state the ") +
                        what + " of " + a.name.c_str() + "; allowed: bound");
  };
  if (part == profile_part::links || part == profile_part::none) return;
  needs("SMs", a.sms.value());
  if (part == profile_part::attention || part == profile_part::all) {
    needs("clock", a.vector.clock.value());
    needs("L2 capacity", a.l2.capacity.value());
  }
}

}  // namespace

bool has_profile(const pm::accelerator& a, profile_part part, const given_profile* given) {
  if (part == profile_part::none) return false;
  if (is_of(given, a) || catalog::measured_as(a) != nullptr) return true;
  return part == profile_part::links && catalog::measured_collectives(a) != nullptr;
}

calibration calibration_of(const pm::accelerator& a, profile_part part, std::string_view engine,
                           const given_profile* given) {
  catalog::require_calibrated_kind(a);
  check_stated(a, part);
  calibration c;
  c.accelerator = a.name;
  c.silicon = pm::calibrated_for(a, pm::find_engine(engine).value_or(pm::engine::none));
  if (is_of(given, a)) {
    c.silicon.machine = given->machine.value;
    c.silicon.notes[0] = {pm::profile_part::products, nullptr, given->machine.from,
                          given->machine.log_sigma};
  }
  return c;
}

pm::evidence evidence_of(const calibration& c, profile_part part,
                         const pm::basic_terms<double>& terms) {
  const auto time = [&](pm::operator_class k) { return terms.time_of(pm::name_of(k)); };
  using pm::operator_class;
  pm::time_by_profile t;
  switch (part) {
    case profile_part::none: break;
    case profile_part::matrix:
      t.products = 1.0 * pm::second;
      t.quantises = terms.time_of("quantise").value() > 0.0;
      break;
    case profile_part::attention: t.attention = 1.0 * pm::second; break;
    case profile_part::experts: t.experts = 1.0 * pm::second; break;
    case profile_part::links:
      t.network = terms.time_of("between");
      t.links = t.network.value() > 0.0 ? terms.time_of("inside") : 1.0 * pm::second;
      break;
    case profile_part::all:
      t.products = time(operator_class::linear) + time(operator_class::other);
      t.attention = time(operator_class::attention);
      t.experts = time(operator_class::experts);
      t.links = terms.time_of("communication");
      t.quantises = c.narrow_products;
  }
  return evidence_of(c.silicon, t);
}

profile_note note_of(const calibration& c, const pm::evidence& stands_on) {
  profile_note note{c.accelerator.c_str(), stands_on.weakest(), {}};
  for (const pm::profile_note& p : stands_on) {
    const std::string text = p.donor == nullptr
                                 ? p.from->text
                                 : std::string("the ") + pm::name_of(p.part) + " profile of " +
                                       p.donor->name.c_str() +
                                       ", the nearest measured accelerator by architecture";
    if (note.source.find(text) == std::string::npos)
      note.source += (note.source.empty() ? "" : "; ") + text;
  }
  return note;
}

std::string text_of(const profile_note& note) {
  std::string text = note.name + " (" + pm::name_of(note.basis);
  if (!note.source.empty()) text += ": " + note.source;
  return text + ")";
}

}  // namespace napkin
