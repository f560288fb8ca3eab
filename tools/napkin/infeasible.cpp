#include "infeasible.hpp"

#include <cmath>
#include <cstdlib>
#include <perfmodel/units/text.hpp>
#include <string_view>

#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr double near_full = 0.9;  ///< share of the sustainable rate at which latencies are shown

std::string number_text(double x) {
  return pm::detail::significant(x, 4);
}
std::string seconds_text(const json& x) {
  return pm::to_string(x.get<double>() * pm::second, 4);
}

bool begins_with(std::string_view key, std::initializer_list<std::string_view> stems) {
  for (const std::string_view stem : stems) {
    if (key.starts_with(stem)) return true;
  }
  return false;
}
/// Whether a result is a time that only a feasible result has.
bool is_time_of_result(std::string_view key) {
  return begins_with(key, {"time_s", "ttft_", "itl_", "e2e_"});
}

/// A share of the sustainable rate in two digits: 2.7 of 2.97.
double rate_near(double sustainable) {
  return std::strtod(pm::detail::significant(near_full * sustainable, 2).c_str(), nullptr);
}

json latencies_at(double rate, double replicas, pm::service_load share, const service_at& serve) {
  std::get<pm::open_loop>(share.arrivals).rate = rate / replicas * pm::request / pm::second;
  const pm::serving_estimate s = serve(share);
  json out = json::object();
  const auto add = [&out](const char* key, double x) { out[key] = number_json(key, x); };
  add("requests_per_s", rate);
  add("ttft_s", s.ttft.value());
  if (s.ttft_distribution.size() > 0) add("ttft_p99_s", s.ttft_distribution.quantile(0.99).value());
  add("itl_s", s.itl.value());
  if (s.ttft_distribution.size() > 0) add("itl_p99_s", s.itl_distribution.quantile(0.99).value());
  add("e2e_s", s.e2e.value());
  add("output_tokens_per_s", rate * share.output_tokens);
  return out;
}

/// Whether the accelerator multiplies in fp8, and the request did not set its 16-bit weight format.
bool can_narrow(const outcome<>& answer, const query& asked, const request& r) {
  if (asked.find("weight_format") == nullptr || r.at("weight_format").given) return false;
  if (asked.find("accelerator") == nullptr || !r.has("accelerator")) return false;
  const auto formats = answer.facts.find("formats");
  if (formats == answer.facts.end() || !formats->contains("layers")) return false;
  const json& stored = (*formats)["layers"]["weights"];
  return (stored == "bf16" || stored == "fp16") && supports(r.accelerator(), pm::fp8);
}

/// "tensor_parallel 2, or fp8 weights".
std::string changes_text(const json& changes) {
  std::string s;
  for (const json& change : changes) {
    for (const auto& [key, x] : change.items()) {
      s += cat(s.empty() ? "" : ", or ", key == "weight_format"
                                             ? cat(x.get<std::string>(), " weights")
                                             : cat(key, " ", x.get<int>()));
    }
  }
  return s;
}

std::string overload_text(const json& facts) {
  const double offered = facts["offered_requests_per_s"].get<double>();
  const double most = facts["sustainable_requests_per_s"].get<double>();
  std::string s = wrapped(
      cat("Overloaded: ", number_text(offered), " req/s offered, ", number_text(most),
          " req/s sustainable", most > 0.0 ? cat(" (", whole_percent(offered / most), ")") : "",
          ". Latencies grow without bound."),
      0);
  if (!facts.contains("near_saturation")) return s;
  const json& at = facts["near_saturation"];
  const auto both = [&at](const char* mean, const char* tail) {
    const std::string m = seconds_text(at[mean]);
    return at.contains(tail) ? cat("mean ", m, ", p99 ", seconds_text(at[tail])) : m;
  };
  const double rate = at["requests_per_s"].get<double>();
  s += wrapped(
      cat("At ", number_text(rate), " req/s (", whole_percent(rate / most), " of capacity, ",
          at.value("method", "") == "simulation" ? "simulated" : "closed form", "): TTFT ",
          both("ttft_s", "ttft_p99_s"), "; ITL ", both("itl_s", "itl_p99_s"), "."),
      0);
  const double replicas = facts["replicas_to_sustain"].get<double>();
  std::string more =
      cat("To sustain ", number_text(offered), " req/s: ", number_text(replicas),
          " replicas of this deployment (", number_text(facts["gpus_to_sustain"].get<double>()),
          " GPUs), each at ", whole_percent(offered / most / replicas), " of its sustainable rate");
  if (facts.contains("feasible_with")) more += cat("; or ", changes_text(facts["feasible_with"]));
  return s + wrapped(more + ".", 0);
}

}  // namespace

bool is_overloaded(const outcome<>& answer) {
  return answer.has_feasibility && !answer.feasible &&
         answer.facts.contains("sustainable_requests_per_s");
}

void note_overload(outcome<>& answer, const pm::service_load& share, double replicas, double gpus,
                   const service_at& serve) {
  const pm::request_rate<> each = pm::sustainable_rate(share, serve);
  const double most = replicas * each.value();
  const auto add = [&answer](const char* key, double x) {
    answer.facts[key] = number_json(key, x);
  };
  add("offered_requests_per_s", replicas * share.rate().value());
  add("sustainable_requests_per_s", most);
  if (!(most > 0.0)) return;
  const double times = pm::replicas_to_sustain(share.rate(), each);
  add("replicas_to_sustain", times);
  add("gpus_to_sustain", times * gpus);
  answer.facts["near_saturation"] = latencies_at(rate_near(most), replicas, share, serve);
}

void add_remedies(outcome<>& answer, const query& asked, const json& object,
                  const given_profile* profile) {
  if (!answer.has_feasibility || answer.feasible || asked.find("model") == nullptr ||
      asked.name == std::string_view("advise"))  // its result is a list of changes
    return;
  const request r(asked, object, profile);
  json changes = json::array();
  const auto helps = [&](const char* key, const json& value) {
    json there = object;
    there[key] = value;
    try {
      const request changed(asked, there, profile);
      const auto c = calibration_of_request(asked, changed, mode_in(there));
      const outcome<> then = asked.answer(changed, c ? &*c : nullptr);
      const bool feasible = then.feasible || (!is_overloaded(answer) && is_overloaded(then));
      if (feasible) changes.push_back({{key, value}});
      return feasible;
    } catch (const error&) {
      return false;
    }
  };
  const bool one_pool =
      asked.find("tensor_parallel") != nullptr && !object.contains("prefill_tensor_parallel");
  if (!is_overloaded(answer) && one_pool) {
    for (const int more : {2, 4, 8}) {
      if (helps("tensor_parallel", more * r.whole("tensor_parallel"))) break;
    }
  }
  if (can_narrow(answer, asked, r)) (void)helps("weight_format", "fp8");
  if (!changes.empty()) answer.facts["feasible_with"] = std::move(changes);
}

std::optional<double> value_in(const outcome<>& answer, const result<double>& r) {
  const std::string_view key = r.key;
  if (!answer.has_itl && begins_with(key, {"itl_", "tpot_"})) return {};
  if (!answer.has_feasibility || answer.feasible) return r.value;
  if (is_time_of_result(key)) return {};
  if (key == "combined_e2e_s" && answer.facts.contains("combined_feasible")) return {};
  const bool rate =
      key == "requests_per_s" || key == "goodput_requests_per_s" || key == "output_tokens_per_s";
  if (!is_overloaded(answer)) {  // without times there are no rates either
    if (rate || key == "batch" || key == "combined_gain") return {};
    return r.value;
  }
  if (key == "batch") return {};
  if (!rate) return r.value;
  return r.value * answer.facts["sustainable_requests_per_s"].get<double>() /
         answer.facts["offered_requests_per_s"].get<double>();
}

json value_json(const outcome<>& answer, const result<double>& r) {
  const json written = number_json(r.key, r.value);
  const std::optional<double> x = value_in(answer, r);
  return !x ? json() : *x == r.value ? written : number_json(r.key, *x);
}

std::string no_value_text(const outcome<>& answer, const result<double>& r) {
  if (!answer.has_itl && std::string_view(r.key) == "itl_s") return "none: one output token";
  if (!is_overloaded(answer)) return "infeasible";
  return std::string_view(r.key).starts_with("itl_") ? "no steady state" : "unbounded";
}

std::string conclusion_text(const outcome<>& answer) {
  if (!answer.has_feasibility || answer.feasible) return {};
  if (is_overloaded(answer)) return overload_text(answer.facts);
  const bool memory = answer.reason.ends_with("B available") || answer.reason.ends_with("B usable");
  std::string s = wrapped(cat(memory ? "Does not fit: " : "Infeasible: ", answer.reason, "."), 0);
  if (answer.facts.contains("feasible_with"))
    s += wrapped(cat(memory ? "It fits with " : "It is feasible with ",
                     changes_text(answer.facts["feasible_with"]), "."),
                 0);
  return s;
}

}  // namespace napkin
