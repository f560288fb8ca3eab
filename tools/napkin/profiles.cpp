#include "profiles.hpp"

#include <algorithm>
#include <deque>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/step/operators.hpp>

#include "engine_settings.hpp"
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
                                           catalog::gemm_donor_of(a).device().name.view());
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

service_uncertainty widths_of(const calibration& c, const pm::time_by_profile& kinds,
                              double kernels, double prefill_kernels, bool pools,
                              const pm::basic_terms<double>& terms) {
  if (c.widths) return *c.widths;
  const pm::service_uncertainty& shipped = c.calibration.services;
  const pm::service_uncertainty around = pools ? pm::disaggregated_uncertainty(shipped) : shipped;
  pm::time_by_profile t = kinds;
  t.experts = terms.time_of(pm::name_of(pm::operator_class::experts));
  t.launches = terms.time_of("launches");
  return {pm::token_log_sigma(kernels, around, pm::dequantises_experts(t), pm::is_launch_bound(t)),
          pm::first_token_log_sigma(prefill_kernels, around)};
}

pm::evidence evidence_of(const calibration& c, const pm::time_by_profile& kinds, profile_part part,
                         const pm::basic_terms<double>& terms) {
  const auto time = [&](pm::operator_class k) { return terms.time_of(pm::name_of(k)); };
  using pm::operator_class;
  pm::time_by_profile t = kinds;
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

namespace {

/// "vLLM 0.11 to 0.18, until 2026-04".
std::string text_of(const pm::measured_releases& r) {
  if (r.until.year == 0) return r.software;
  return common::cat(r.software, ", until ", std::to_string(r.until.year),
                     r.until.month < 10 ? "-0" : "-", std::to_string(r.until.month));
}
std::string text_of(const pm::release_number& r) {
  return common::cat(std::to_string(r.major), ".", std::to_string(r.minor),
                     r.patch > 0 ? common::cat(".", std::to_string(r.patch)) : "");
}

/// Number of releases from one to the other: patches of SGLang, which counts so, minors of others.
std::optional<int> releases_between(const pm::release_number& a, const pm::release_number& b,
                                    bool counts_patches) {
  if (a.major != b.major || (counts_patches && a.minor != b.minor)) return {};
  return counts_patches ? b.patch - a.patch : b.minor - a.minor;
}

std::optional<unmeasured_release> unmeasured(std::string_view asked,
                                             const pm::measured_releases& known) {
  auto version = release_number_of(asked);
  if (!version) return {};
  const bool counts_patches = known.newest.patch > 0;
  if (!counts_patches) version->patch = 0;
  if (*version >= known.oldest && *version <= known.newest) return {};
  const bool is_newer = *version > known.newest;
  const pm::release_number& nearest = is_newer ? known.newest : known.oldest;
  return unmeasured_release{std::string(asked), text_of(nearest), is_newer,
                            is_newer ? releases_between(nearest, *version, counts_patches)
                                     : releases_between(*version, nearest, counts_patches)};
}

void add_releases(profile_note& note, const calibration& c, const pm::evidence& stands_on,
                  profile_part part) {
  for (const pm::profile_note& p : stands_on) {
    if (p.releases != nullptr && p.part != pm::profile_part::quantisation)
      note.releases.push_back({pm::name_of(p.part), text_of(*p.releases)});
  }
  const pm::measured_releases* engine = c.calibration.engine.releases;
  if (engine == nullptr || part != profile_part::all) return;
  note.releases.push_back({"services", text_of(*engine)});
  note.asked_release = unmeasured(c.asked_version, *engine);
}

}  // namespace

profile_note note_of(const calibration& c, const pm::evidence& stands_on, profile_part part) {
  profile_note note{.name = c.accelerator.c_str(), .basis = stands_on.weakest()};
  add_releases(note, c, stands_on, part);
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

namespace {

/// Parts with equal texts, each text once: "GEMM, attention: source GPU h100_sxm".
class parts_by_text {
 public:
  void add(const std::string& part, const std::string& text) {
    const auto same =
        std::find_if(all_.begin(), all_.end(), [&](const auto& g) { return g.first == text; });
    if (same == all_.end()) {
      all_.emplace_back(text, part);
    } else {
      same->second += ", " + part;
    }
  }
  std::string text(std::string_view before) const {
    std::string s;
    for (const auto& [text, parts] : all_)
      s += common::cat(s.empty() ? "" : "; ", parts, ": ", before, text);
    return s;
  }

 private:
  std::vector<std::pair<std::string, std::string>> all_{};
};

}  // namespace

std::string transfers_text(const profile_note& note) {
  parts_by_text by_gpu;
  for (const profile_transfer& t : note.transfers) by_gpu.add(t.part, t.source_gpu);
  return by_gpu.text("source GPU ");
}

std::string releases_text(const profile_note& note) {
  parts_by_text by_software;
  for (const profile_release& r : note.releases) by_software.add(r.part, r.software);
  return by_software.text("");
}

std::string text_of(const unmeasured_release& r) {
  const std::string count = r.releases ? common::cat(std::to_string(*r.releases),
                                                     *r.releases == 1 ? " release " : " releases ")
                                       : "";
  return common::cat(count, r.is_newer ? "after " : "before ", r.nearest, ", the ",
                     r.is_newer ? "newest" : "oldest",
                     " with fitted services; how its times differ is not known");
}

}  // namespace napkin
