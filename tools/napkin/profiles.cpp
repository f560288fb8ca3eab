#include "profiles.hpp"

#include <algorithm>
#include <deque>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/step/operators.hpp>

#include "io/text.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;
namespace catalog = pm::catalog;

bool is_of(const given_profile* given, const pm::accelerator& a) {
  return given != nullptr && !given->service && given->machine.name == a.name;
}

}  // namespace

bool has_profile(const pm::accelerator& a, profile_part part, const given_profile* given) {
  if (part == profile_part::none) return false;
  if (is_of(given, a)) return true;
  if (const auto* own = catalog::original_of(a); own != nullptr) {
    // A transferred attention profile is not the accelerator's own.
    if (!own->attention->transferred() || part == profile_part::matrix) return true;
    if (part == profile_part::experts) return catalog::is_measured_amd(a);
  }
  return part == profile_part::links && catalog::original_collectives(a) != nullptr;
}

std::string needed_for_prediction(const pm::accelerator& a, profile_part part) {
  std::vector<std::string_view> missing;
  const auto needs = [&](const char* what, bool stated) {
    if (!stated) missing.push_back(what);
  };
  const bool unknown = a.architecture == pm::chip_architecture::unknown;
  needs("architecture", !unknown);
  if (part != profile_part::links && (unknown || catalog::can_be_calibrated(a))) {
    needs("sms", a.sms.is_stated());
    if (part == profile_part::attention || part == profile_part::all) {
      needs("vector.clock", a.vector.clock.is_stated());
      needs("l2.capacity", a.l2.capacity.is_stated());
    }
  }
  return common::listed(missing);
}

bool can_be_predicted(const pm::accelerator& a, profile_part part) {
  return needed_for_prediction(a, part).empty() && catalog::can_be_calibrated(a);
}

mode default_mode(const pm::accelerator& a, profile_part part, const given_profile* given) {
  if (has_profile(a, part, given)) return mode::calibrated;
  const bool whole_model = part == profile_part::all;
  return whole_model && can_be_predicted(a, part) ? mode::calibrated : mode::bound;
}

std::string prediction_hint(const pm::accelerator& a, profile_part part) {
  const std::string needed = needed_for_prediction(a, part);
  const std::string of_it = common::cat(" for ", a.name.view(), ": ");
  if (!needed.empty()) return common::cat("No prediction", of_it, "missing facts: ", needed);
  if (!catalog::can_be_calibrated(a)) {
    return common::cat("No prediction", of_it, "no profile of this kind of machine, ",
                       pm::name_of(pm::facts_of(a.architecture).kind));
  }
  const std::string by = part == profile_part::links
                             ? std::string("by link profiles of the same kind")
                         : catalog::is_measured_amd(a) && catalog::original_of(a) != nullptr
                             ? std::string("by transferred attention and link profiles")
                             : common::cat("by a transferred profile, source GPU ",
                                           catalog::gemm_donor_of(a).device().name.view(), ",");
  return common::cat("A prediction", of_it, "--mode calibrated, ", by, ", with a wider interval");
}

namespace {

calibration shipped_calibration(const pm::accelerator& a, profile_part part, pm::engine by) {
  const std::string needed = needed_for_prediction(a, part);
  if (!needed.empty()) {
    throw pm::error(pm::error_code::unknown_name,
                    common::cat("mode is \"calibrated\", and these facts are missing: ", needed,
                                " of ", a.name.view(), "; allowed: bound"));
  }
  catalog::require_calibrated_kind(a);
  calibration c;
  c.accelerator = a.name;
  c.calibration = pm::calibrated_for(a, by);
  return c;
}

/// The calibration of a catalogue accelerator, memoised per thread; null for another accelerator.
const calibration* remembered_calibration(const pm::accelerator& a, profile_part part,
                                          pm::engine by) {
  struct entry {
    const pm::accelerator* machine;
    profile_part part;
    pm::engine by;
    calibration made;
  };
  constexpr std::size_t most = 16;
  static thread_local std::deque<entry> all;
  for (const entry& e : all) {
    if (e.machine == &a && e.part == part && e.by == by) return &e.made;
  }
  const bool in_catalogue = std::any_of(catalog::accelerators.begin(), catalog::accelerators.end(),
                                        [&a](const auto& e) { return e.spec == &a; });
  if (!in_catalogue) return nullptr;
  if (all.size() >= most) all.clear();
  return &all.emplace_back(entry{&a, part, by, shipped_calibration(a, part, by)}).made;
}

}  // namespace

calibration calibration_of(const pm::accelerator& a, profile_part part, std::string_view engine,
                           const given_profile* given) {
  const pm::engine by = pm::find_engine(engine).value_or(pm::engine::none);
  const calibration* known = remembered_calibration(a, part, by);
  calibration c = known != nullptr ? *known : shipped_calibration(a, part, by);
  if (is_of(given, a)) {
    c.calibration.machine = given->machine.value;
    c.calibration.notes[0] = {pm::profile_part::gemms, nullptr, given->machine.from,
                              given->machine.log_sigma};
  }
  return c;
}

void put_own_service(calibration& c, const given_profile& given, const service_identity& asked) {
  if (!given.service || !(given.machine.name == c.accelerator)) return;
  const own_service& own = *given.service;
  if (own.model != asked.model || own.by != asked.by) {
    if (!given.must_match) return;
    throw pm::error(
        pm::error_code::inconsistent,
        common::cat("the profile is of ", own.model, " on ", pm::name_of(own.by),
                    ", and the service is ", asked.model, " on ", pm::name_of(asked.by)));
  }
  for (std::size_t i = 0; i < pm::service_parameters; ++i) {
    set_value(c.calibration.engine, static_cast<pm::service_parameter>(i), own.value[i]);
  }
  c.calibration.notes[static_cast<std::size_t>(pm::profile_part::quantisation)].from = &given.from;
  c.own_service = given.text;
  if (own.tensor == asked.tensor && own.pipeline == asked.pipeline && own.expert == asked.expert &&
      own.data == asked.data) {
    c.widths = {own.token_log_sigma, own.first_token_log_sigma};
  }
}

service_uncertainty widths_of(const calibration& c, double kernels, double prefill_kernels,
                              bool pools, const pm::basic_terms<double>& terms) {
  if (c.widths) return *c.widths;
  const pm::service_uncertainty& shipped = c.calibration.services;
  const pm::service_uncertainty around = pools ? pm::disaggregated_uncertainty(shipped) : shipped;
  pm::time_by_profile t = c.kinds;
  t.experts = terms.time_of(pm::name_of(pm::operator_class::experts));
  t.launches = terms.time_of("launches");
  return {pm::token_log_sigma(kernels, around, pm::dequantises_experts(t), pm::is_launch_bound(t)),
          pm::first_token_log_sigma(prefill_kernels, around)};
}

pm::evidence evidence_of(const calibration& c, profile_part part,
                         const pm::basic_terms<double>& terms) {
  const auto time = [&](pm::operator_class k) { return terms.time_of(pm::name_of(k)); };
  using pm::operator_class;
  pm::time_by_profile t = c.kinds;
  switch (part) {
    case profile_part::none: break;
    case profile_part::matrix:
      t.gemms = 1.0 * pm::second;
      if (terms.time_of("quantise").value() > 0.0) t.kind_of_gemms = pm::gemm_kind::eight_bit;
      break;
    case profile_part::attention: t.attention = 1.0 * pm::second; break;
    case profile_part::experts: t.experts = 1.0 * pm::second; break;
    case profile_part::links:
      t.network = terms.time_of("between");
      t.links = t.network.value() > 0.0 ? terms.time_of("inside") : 1.0 * pm::second;
      break;
    case profile_part::all:
      t.gemms = time(operator_class::linear) + time(operator_class::other);
      t.attention = time(operator_class::attention);
      t.experts = time(operator_class::experts);
      t.links = terms.time_of("communication");
      t.launches = terms.time_of("launches");
  }
  return evidence_of(c.calibration, t);
}

profile_note note_of(const calibration& c, const pm::evidence& stands_on) {
  profile_note note{c.accelerator.c_str(), stands_on.weakest(), {}, {}};
  for (const pm::profile_note& p : stands_on) {
    std::string text = p.from->text;
    if (p.donor != nullptr) {
      text = common::cat("transferred ", pm::name_of(p.part), " profile, source GPU ",
                         p.donor->name.view(), ", the nearest measured GPU by architecture");
      note.transfers.push_back({pm::name_of(p.part), p.donor->name.c_str()});
    }
    if (note.source.find(text) == std::string::npos)
      note.source += (note.source.empty() ? "" : "; ") + text;
  }
  if (!c.own_service.empty() && note.source.find(c.own_service) == std::string::npos) {
    note.source += (note.source.empty() ? "" : "; ") + c.own_service;
  }
  return note;
}

std::string text_of(const profile_note& note) {
  std::string text = note.name + " (" + pm::name_of(note.basis);
  if (!note.source.empty()) text += ": " + note.source;
  return text + ")";
}

std::string transfers_text(const profile_note& note) {
  std::vector<std::pair<std::string, std::string>> by_gpu;
  for (const profile_transfer& t : note.transfers) {
    const auto same = std::find_if(by_gpu.begin(), by_gpu.end(),
                                   [&](const auto& g) { return g.first == t.source_gpu; });
    if (same == by_gpu.end()) {
      by_gpu.emplace_back(t.source_gpu, t.part);
    } else {
      same->second += ", " + t.part;
    }
  }
  std::string s;
  for (const auto& [gpu, parts] : by_gpu)
    s += common::cat(s.empty() ? "" : "; ", parts, ": source GPU ", gpu);
  return s;
}

}  // namespace napkin
