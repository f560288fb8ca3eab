#include "outcome.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <perfmodel/core/error.hpp>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/units/text.hpp>
#include <stdexcept>
#include <utility>

namespace napkin {

namespace {

std::string with_its_unit(double x, std::string_view unit) {
  if (unit == "B") return perfmodel::to_string(x, {{0, 1, 0, 0, 0, 0, 0}});
  if (unit == "s") return perfmodel::to_string(x, {{1, 0, 0, 0, 0, 0, 0}});
  return perfmodel::detail::number_text(x) + (unit.empty() ? "" : " ") + std::string(unit);
}

}  // namespace

bool is_usable_memory(std::string_view reason) {
  return reason.find("usable memory") != reason.npos;
}

std::string with_request_keys(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> keys[] = {
      {"shared.tokens", "shared_tokens"},
      {"host.hit", "host_hit"},
      {"host.bandwidth_per_device", "host_link_bytes_per_s"},
      {"batching_wait_iterations", "held_iterations"},
      {"preemption_mode", "preemption"},
      {"layout.tensor", "tensor_parallel"},
      {"layout.pipeline", "pipeline_parallel"},
      {"layout.expert", "expert_parallel"},
      {"layout.data", "data_parallel"}};
  std::string out(text);
  for (const auto& [field, key] : keys) {
    const std::size_t at = out.find(field);
    if (at == 0 || (at != out.npos && field.starts_with("layout.")))
      out.replace(at, field.size(), key);
  }
  return out;
}

std::string sentence(const perfmodel::feasibility& f) {
  if (f.feasible) return {};
  const std::string reason = with_request_keys(f.reason);
  return reason + ": " + with_its_unit(f.needed, f.unit) + " needed, " +
         with_its_unit(f.available, f.unit) +
         (is_usable_memory(f.reason) ? " usable" : " available");
}

namespace {

/// note_of, from the texts of an earlier result with the same profiles.
std::shared_ptr<const profile_note> note_in(shared_texts& shared, const calibration& c,
                                            const perfmodel::evidence& e, profile_part part) {
  const auto is_of = [&e](const shared_texts::profile& p) {
    return std::equal(
        p.of.begin(), p.of.end(), e.begin(), e.end(),
        [](const auto& x, const auto& n) { return x.first == n.from && x.second == n.donor; });
  };
  const auto known = std::find_if(shared.profiles.begin(), shared.profiles.end(), is_of);
  if (known != shared.profiles.end()) return known->note;
  auto note = std::make_shared<profile_note>(note_of(c, e, part));
  note->json_text = write_json(profile_json(*note));
  shared_texts::profile made{.note = std::move(note)};
  for (const perfmodel::profile_note& n : e) made.of.emplace_back(n.from, n.donor);
  return shared.profiles.emplace_back(std::move(made)).note;
}

}  // namespace

void note_calibration(outcome<>& answer, const outcome<>& bound, const calibration& c,
                      profile_part part, bool with_texts, shared_texts* shared) {
  perfmodel::time_by_profile kinds = c.kinds;
  kinds.kind_of_all_reduces = answer.sums;
  if (answer.dequantises) kinds.kind_of_gemms = perfmodel::gemm_kind::dequantised;
  calibrated_note note;
  note.bounds.reserve(3);
  const perfmodel::evidence stands_on = evidence_of(c, kinds, part, answer.terms);
  if (with_texts)
    note.profile = shared == nullptr
                       ? std::make_shared<const profile_note>(note_of(c, stands_on, part))
                       : note_in(*shared, c, stands_on, part);
  const auto bound_of = [&bound](const char* key, const result<double>& r) -> result<double> {
    for (const auto& b : bound.results) {
      if (std::string_view(b.key) == r.key) return {key, "bound", b.value, b.unit};
    }
    throw std::logic_error(std::string("no bound of ") + r.key);
  };
  for (const auto& r : answer.results) {
    const std::string_view key = r.key;
    const auto time = perfmodel::duration<>::from_value(r.value);
    if (key == "ttft_s") {
      note.bounds.push_back(bound_of("bound_ttft_s", r));
      if (bound.least_ttft) note.bounds.back().value = *bound.least_ttft;
      perfmodel::time_by_profile of_prefills = kinds;
      of_prefills.kind_of_all_reduces = answer.prefill_collectives;
      of_prefills.kind_of_attention =
          kinds.kind_of_attention == perfmodel::attention_kind::low_precision_decode
              ? perfmodel::attention_kind::low_precision_prefill
              : perfmodel::attention_kind::prefill;
      const perfmodel::evidence prompt = evidence_of(c, of_prefills, part, answer.prefill_terms);
      const service_uncertainty widths =
          widths_of(c, kinds, 0.0, prompt.log_sigma(), answer.pools, answer.terms);
      note.first_token = perfmodel::range_of(time, widths.first_token);
    } else if (key == "time_s" || key == "itl_s") {
      note.bounds.push_back(bound_of("bound_time_s", r));
      if (key == "itl_s" && bound.least_itl) note.bounds.back().value = *bound.least_itl;
      const double kernels = answer.log_sigma.value_or(stands_on.log_sigma());
      const double tokens = widths_of(c, kinds, kernels, 0.0, answer.pools, answer.terms).token;
      note.range = perfmodel::range_of(time, key == "itl_s" ? tokens : kernels);
    }
  }
  if (bound.least_e2e)
    note.bounds.push_back({"bound_e2e_s", "bound", *bound.least_e2e,
                           perfmodel::exponents_of<perfmodel::duration<>>()});
  answer.calibrated = std::move(note);
}

void note_measured(outcome<>& answer, const measurable_result& of, double measured) {
  const auto at = std::find_if(answer.results.begin(), answer.results.end(),
                               [&](const auto& r) { return std::string_view(of.result) == r.key; });
  if (at == answer.results.end()) {
    throw error(code::missing_key,
                std::string(of.measurement) + " is compared with " + of.result +
                    ", which these keys do not give; allowed: with the keys of that result");
  }
  if (!(at->value > 0.0)) return;
  const double over = measured / at->value;
  const bool bound = of.as != comparison_kind::expected;
  const bool possible = of.as == comparison_kind::at_least ? over >= 1.0 : over <= 1.0;
  const std::string name = bound ? "bound" : "predicted";
  answer.facts["measured_over_" + name] = number_json(of.measurement, over);
  if (bound) answer.facts["possible"] = possible;
  answer.notes.push_back({"measured over " + name,
                          perfmodel::detail::significant(over, 4) +
                              (!bound || possible ? "" : ": impossible, below a hard bound")});
}

namespace {

/// The result that a measured time is compared with.
const result<double>& measured_result(const outcome<>& of) {
  for (const auto& r : of.results) {
    if (std::string_view(r.key) == "time_s" || std::string_view(r.key) == "itl_s") return r;
  }
  throw std::logic_error("no time to compare a measurement with");
}

std::string short_time(double seconds) {
  return perfmodel::to_string(seconds, perfmodel::exponents_of<perfmodel::duration<>>());
}
std::string share_words(double share) {
  return perfmodel::detail::significant(100.0 * share, 3) + " %";
}
/// ", MFU 82.3 %", with MBU where nothing is multiplied; "" where the result has neither.
std::string use_text(const outcome<>& of) {
  if (of.mfu > 0.0) return ", MFU " + share_words(of.mfu);
  return of.mbu > 0.0 ? ", MBU " + share_words(of.mbu) : "";
}

/// Adds the rates and shares of peak of the work in the measured time. Returns them in words.
std::string note_rates(outcome<>& answer, const perfmodel::achieved_rates& work,
                       double measured_s) {
  std::string stated;
  const auto rate = [&](const char* key, const char* label, double one, const auto& unit) {
    if (!(one > 0.0) || !std::isfinite(one / measured_s)) return;
    answer.facts[key] = number_json(key, one / measured_s);
    const std::string text = perfmodel::to_string(one / measured_s, unit);
    answer.notes.push_back({label, text});
    stated += (stated.empty() ? "" : ", ") + text;
  };
  const auto share = [&](const char* key, const char* label, double one, double of_answer) {
    if (!(one > 0.0) || !std::isfinite(one / measured_s)) return;
    const std::string name(label), text = share_words(one / measured_s);
    answer.facts[cat("measured_", key)] = number_json(key, one / measured_s);
    answer.facts[key] = number_json(key, of_answer);
    answer.notes.push_back({"  " + name + " of the measurement", text});
    stated += " (" + name + " " + text + ")";
  };
  using perfmodel::exponents_of;
  rate("measured_flop_per_s", "measured rate", work.flop.value(),
       exponents_of<perfmodel::flop_rate<>>());
  share("mfu", "MFU", work.mfu, answer.mfu);
  rate("measured_bytes_per_s", "measured bandwidth", work.dram.value(),
       exponents_of<perfmodel::bandwidth<>>());
  share("mbu", "MBU", work.mbu, answer.mbu);
  return stated;
}

/// Two lines: "Measured 310 us: 443 TFLOP/s (MFU 44.8 %), 325 GB/s (MBU 9.69 %)." and "Predicted
/// 169 us (80 %: 153 us to 186 us), MFU 82.3 %; the bound is 139 us."
std::string conclusion_of(const outcome<>& answer, const outcome<>& bound, double measured_s,
                          const std::string& rates) {
  const result<double>& of = measured_result(answer);
  const double limit = bound.least_itl.value_or(measured_result(bound).value);
  const std::string what = std::string_view(of.key) == "itl_s" ? "Measured ITL " : "Measured ";
  std::string s = what + short_time(measured_s) + (rates.empty() ? "" : ": ") + rates;
  if (measured_s < limit) s += ", impossible: below the bound of " + short_time(limit);
  s += ".\n";
  if (answer.calibrated) {
    const perfmodel::time_range& r = answer.calibrated->range;
    s += cat("Predicted ", short_time(of.value), " (80 %: ", short_time(r.low.value()), " to ",
             short_time(r.high.value()), ")", use_text(answer), "; the bound is ",
             short_time(limit), ".\n");
  } else {
    s += cat("The bound is ", short_time(limit), use_text(bound), ".\n");
  }
  return s;
}

}  // namespace

void note_measured(outcome<>& answer, const outcome<>& bound, double measured_s) {
  const auto ratio_to = [&](const outcome<>& of) { return measured_s / measured_result(of).value; };
  const auto text = [](double x) { return perfmodel::detail::significant(x, 4); };
  if (!answer.feasible || !bound.feasible) {
    if (answer.calibrated) answer.facts["measured_over_predicted"] = nullptr;
    answer.facts["measured_over_bound"] = nullptr;
    answer.facts["possible"] = nullptr;
    answer.notes.push_back({answer.calibrated ? "measured over predicted" : "measured over bound",
                            "none: an infeasible result has no time to compare with"});
    return;
  }
  if (answer.calibrated) {
    answer.facts["measured_over_predicted"] = number_json("measured_s", ratio_to(answer));
    answer.notes.push_back({"measured over predicted", text(ratio_to(answer))});
  }
  const double over = bound.least_itl ? measured_s / *bound.least_itl : ratio_to(bound);
  answer.facts["measured_over_bound"] = number_json("measured_s", over);
  const bool possible = over >= 1.0;
  answer.facts["possible"] = possible;
  answer.notes.push_back(
      {"measured over bound", cat(text(over), possible ? "" : ": impossible, below a hard bound")});
  const std::string rates = bound.work ? note_rates(answer, *bound.work, measured_s) : "";
  answer.conclusion = conclusion_of(answer, bound, measured_s, rates);
}

}  // namespace napkin
