// The list of queries, and the evaluation of requests.
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include <perfmodel/kernels/catalog/collectives.hpp>

#include "engine_settings.hpp"
#include "infeasible.hpp"
#include "io/amount.hpp"
#include "measured.hpp"
#include "planning.hpp"
#include "query.hpp"
#include "service_check.hpp"

#include <algorithm>
#include "summary.hpp"

namespace napkin {

namespace {

using query_list = std::vector<query> (*)();

#ifdef NAPKIN_PAGE_MODULE
constexpr query_list query_lists[] = {step_queries, serving_queries, roofline_queries};
#else
constexpr query_list query_lists[] = {
    kernel_queries,   attention_queries, collective_queries, memory_queries,
    step_queries,     serving_queries,   simulation_queries, speculation_queries,
    model_queries,    advise_queries,    trust_queries,      machine_queries,
    roofline_queries, time_queries,      path_queries,       capacity_queries};
#endif

std::vector<query> collect() {
  std::vector<query> all;
  for (const query_list part : query_lists) {
    for (query& q : part()) {
      q.index_keys();
      all.push_back(std::move(q));
    }
  }
  return all;
}

}  // namespace

std::span<const query> all_queries() {
  static const std::vector<query> all = collect();
  return all;
}

namespace {

double default_of(const key& k) {
  std::string_view rest;
  return parse_number(k.fallback, rest).value_or(0.0);
}

}  // namespace

void query::index_keys() {
  if (keys.size() > 255) throw std::logic_error(std::string("too many keys in ") + name);
  by_name_ = {};
  names_.clear();
  hashes_.clear();
  default_numbers_.clear();
  for (const key& k : keys) {
    default_numbers_.push_back(default_of(k));
    const bool known = !names_.empty() && find(k.name) != nullptr;
    names_.emplace_back(k.name);
    hashes_.push_back(key_name::hash_of(k.name));
    if (known) continue;  // the first key of a name
    std::size_t at = key_name::slot_of(k.name);
    while (by_name_[at] != 0) at = (at + 1) % key_name::slots;
    by_name_[at] = static_cast<std::uint8_t>(names_.size());
  }
}
const key* query::find_in_turn(std::string_view name_of_key) const {
  for (const key& k : keys) {
    if (name_of_key == k.name) return &k;
  }
  return nullptr;
}
double query::default_number(std::size_t i) const {
  return names_.empty() ? default_of(keys[i]) : default_numbers_[i];
}

const key* query::find_spelled(std::string_view spelled) const {
  if (const key* k = find(spelled)) return k;
  for (const key& k : keys) {
    if (k.alias[0] != '\0' && spelled == k.alias) return &k;
  }
  for (const std::span<const key_alias> all :
       {std::span<const key_alias>(key_aliases), std::span<const key_alias>(engine_aliases)}) {
    for (const key_alias& a : all) {
      if (a.spelled != spelled) continue;
      if (const key* k = find(a.name)) return k;
    }
  }
  const key* found = nullptr;
  for (const key& k : keys) {
    if (spelled.empty() || without_unit(k.name) != spelled) continue;
    if (found != nullptr) return nullptr;  // dram_bytes and dram_bytes_per_s: which?
    found = &k;
  }
  return found;
}

namespace {

/// Whether each key is spelled by its name, or has no other spelling.
bool has_key_names(const query& asked, const json& object) {
  for (const auto& [spelled, v] : object.get_ref<const json::object_t&>()) {
    const bool common =
        std::find(std::begin(common_keys), std::end(common_keys), spelled) != std::end(common_keys);
    if (common || asked.find(spelled) != nullptr) continue;
    if (asked.find_spelled(spelled) != nullptr) return false;
  }
  return true;
}

json with_names(const query& asked, const json& object) {
  json out = json::object();
  for (const auto& [spelled, v] : object.items()) {
    const key* k = asked.find_spelled(spelled);
    const std::string name = k == nullptr ? spelled : k->name;
    if (out.contains(name)) {
      throw error(error_code::inconsistent, cat(in_quotes(spelled), " is another spelling of ",
                                                in_quotes(name), ", which is given too; give one"));
    }
    out[name] = v;
  }
  return out;
}

/// The query that an object names; null where it names none.
const query* named_query(const json& object, const char* name) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_string()) return nullptr;
  if (at->get_ref<const std::string&>() == plan_keys().name) return &plan_keys();
  const auto& all = all_queries();
  const auto found = std::find_if(all.begin(), all.end(), [&](const query& q) {
    return at->get_ref<const std::string&>() == q.name;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

json with_key_names(json object) {
  if (!object.is_object()) return object;
  const query* asked = named_query(object, "query");
  if (const auto of = object.find("of"); of != object.end() && of->is_object()) {
    asked = named_query(*of, "query");
    *of = with_key_names(*of);
    if (asked == nullptr) return object;
    for (const char* part : {"against", "crossover", "what_if"}) {
      const auto at = object.find(part);
      if (at != object.end() && at->is_object()) *at = with_names(*asked, *at);
    }
    return object;
  }
  if (asked != nullptr && !has_key_names(*asked, object)) return with_names(*asked, object);
  return object;
}
void put_request(json& object, json request) {
  if (const auto id = request.find("id"); id != request.end()) {
    object["id"] = *id;
    request.erase(id);
  }
  object["of"] = std::move(request);
}

const query& find_query(std::string_view name) {
  std::vector<std::string_view> names;
  for (const query& q : all_queries()) {
    if (name == q.name) return q;
  }
  for (const query& q : all_queries()) names.push_back(q.name);
  throw error(code::unknown_query, in_quotes(name) + " is not a query; did you mean " +
                                       nearest(name, names) + "? napkin --help lists them");
}

std::optional<mode> mode_in(const json& object) {
  const auto at = object.find("mode");
  if (at == object.end()) return {};
  if (!at->is_string()) {
    throw error(code::wrong_type, "mode is " + brief(*at) + "; allowed: \"bound\", \"calibrated\"");
  }
  const auto& word = at->get_ref<const std::string&>();
  if (word == "bound") return mode::bound;
  if (word == "calibrated") return mode::calibrated;
  throw error(error_code::unknown_name,
              "mode is " + in_quotes(word) + "; allowed: bound, calibrated");
}

const query& query_of(const json& object) {
  if (!object.is_object()) {
    throw error(code::malformed_request, "a request is a JSON object, not " + brief(object));
  }
  const auto at = object.find("query");
  if (at == object.end()) {
    throw error(code::missing_key, "query is missing; it is the name of a query, such as \"gemm\"");
  }
  if (!at->is_string()) {
    throw error(code::wrong_type,
                "query is " + brief(*at) + "; allowed: a string, such as \"gemm\"");
  }
  return find_query(at->get_ref<const std::string&>());
}

bool takes_services(const query& asked) {
  if (&asked == &plan_keys()) return true;
  return asked.part == profile_part::all && asked.find("model") != nullptr &&
         asked.find("engine") != nullptr && !asked.find("model")->several;
}

bool changes_calibration(const key& k) {
  const std::string_view name = k.name;
  if (k.kind != key_kind::number && k.kind != key_kind::numbers) return true;
  return name.ends_with("_parallel") || name == "link_bytes_per_s";
}

std::optional<calibration> calibration_of_request(const query& asked, const request& r,
                                                  std::optional<mode> wanted) {
  if (asked.part == profile_part::none || wanted == mode::bound) return {};
  const perfmodel::accelerator& a = r.accelerator();
  const bool own_link = asked.find("link_bytes_per_s") == nullptr || !r.has("link_bytes_per_s");
  const bool calibrated = default_mode(a, asked.part, r.profile()) == mode::calibrated;
  if (!wanted && !(own_link && calibrated)) return {};
  const key* engine = asked.find("engine");
  calibration c =
      calibration_of(a, asked.part, engine == nullptr ? "none" : r.text("engine"), r.profile());
  if (asked.find("engine_version") != nullptr && r.has("engine_version")) {
    c.calibration.links.kernels = perfmodel::catalog::all_reduce_kernels_of(
        c.calibration.target.serving_engine, release_of(r.text("engine_version")));
    c.asked_version = r.at("engine_version").spelling;
  }
  if (asked.find("activation_format") != nullptr && asked.find("model") != nullptr &&
      r.has("model")) {
    const inputs<double> in(r);
    const perfmodel::engine_formats f = in.formats();
    const bool spread = asked.find("expert_parallel") != nullptr && r.whole("expert_parallel") > 1;
    c.runs(f.weights, f.linear.format, f.experts.format, f.kv, spread);
  }
  if (r.profile() != nullptr && takes_services(asked) && r.has("model")) {
    bool as_run = true;  // one pool, no speculation
    for (const char* key : {"prefill_tensor_parallel", "decode_tensor_parallel", "mtp",
                            "draft_length", "drafter", "draft_model"}) {
      if (asked.find(key) != nullptr && r.at(key).given) as_run = false;
    }
    const auto degree = [&](const char* key) { return asked.find(key) ? r.whole(key) : 1; };
    put_own_service(
        c, *r.profile(),
        {find_model(r.text("model")).model.name.view(), *perfmodel::find_engine(r.text("engine")),
         degree("tensor_parallel"), degree("pipeline_parallel"), degree("expert_parallel"),
         degree("data_parallel")});
    if (!as_run) c.widths.reset();
  }
  return c;
}

similar_requests::similar_requests(const query& asked, const json& object,
                                   const given_profile* profile)
    : asked_(asked),
      object_(object),
      base_(asked, object_, profile),
      calibration_(calibration_of_request(asked, base_, mode_in(object))),
      profile_(profile) {
  // A changed accelerator has another name, and keeps the efficiencies of the original.
  if (calibration_) calibration_->calibration.target = {};
}
outcome<> similar_requests::operator()(const json& object) const {
  const request r(asked_, object, profile_);
  if (!calibration_ || profile_ != nullptr)
    return asked_.answer(r, calibration_ ? &*calibration_ : nullptr);
  // The profile scales with the facts, as it does for --set.
  const auto scaled = calibration_of_request(asked_, r, mode::calibrated);
  return asked_.answer(r, scaled ? &*scaled : nullptr);
}

namespace {

outcome<> closed_form_of(const request& r, const json& object, std::optional<mode> wanted,
                         const std::optional<calibration>& c) {
  const query& asked = r.asked();
  const given_profile* profile = r.profile();
  outcome<> answer = asked.answer(r, c ? &*c : nullptr);
  if (!c && !wanted && asked.part != profile_part::none) {
    answer.hint = prediction_hint(r.accelerator(), asked.part);
  }
  if (asked.part != profile_part::none && asked.find("measured_s") != nullptr)
    add_assumptions(answer, asked, object, profile);
  if (asked.part == profile_part::none) add_law_assumptions(answer, asked, object);
  if (r.texts() == nullptr) add_remedies(answer, asked, object, profile);
  return answer;
}
outcome<> closed_form_of(const request& r, const json& object, std::optional<mode> wanted) {
  return closed_form_of(r, object, wanted, calibration_of_request(r.asked(), r, wanted));
}

}  // namespace

outcome<> evaluate_closed_form(const query& asked, const json& object,
                               const given_profile* profile) {
  const std::optional<mode> wanted = mode_in(object);
  return closed_form_of(request(asked, object, profile), object, wanted);
}
outcome<> evaluate(const query& asked, const json& object, const given_profile* profile) {
  const std::optional<mode> wanted = mode_in(object);
  const request r(asked, object, profile);
  return evaluate(r, object, wanted, calibration_of_request(asked, r, wanted));
}
outcome<> evaluate(const request& r, const json& object, std::optional<mode> wanted,
                   const std::optional<calibration>& c) {
  const query& asked = r.asked();
  outcome<> answer = closed_form_of(r, object, wanted, c);
  if (asked.name != std::string_view("serving")) return answer;
  simulate_instead(answer, r, object);
  // Latencies near saturation by the method that the service has at that rate.
  const auto near = answer.facts.find("near_saturation");
  if (near == answer.facts.end() || r.text("method") == "closed_form") return answer;
  json there = object;
  there["requests_per_s"] = (*near)["requests_per_s"];
  const request below(asked, there, r.profile());
  outcome<> at = closed_form_of(below, there, wanted);
  simulate_instead(at, below, there);
  if (!at.feasible || !at.facts.contains("method") || at.facts["method"] != "simulation")
    return answer;
  for (const auto& x : at.results) {
    const std::string_view key = x.key;
    if (key != "requests_per_s" && near->contains(key)) (*near)[x.key] = value_json(at, x);
  }
  (*near)["method"] = "simulation";
  return answer;
}
outcome<> evaluate_numbers(const request& r, const calibration* c, const json& object) {
  outcome<> answer = r.asked().answer(r, c);
  if (r.asked().name == std::string_view("serving")) simulate_instead(answer, r, object);
  return answer;
}
explanation explanation_of(const query& asked, const json& object, const given_profile* profile) {
  const std::optional<mode> wanted = mode_in(object);
  const request r(asked, object, profile);
  const std::optional<calibration> c = calibration_of_request(asked, r, wanted);
  return asked.explain(r, c ? &*c : nullptr);
}

perfmodel::derivation derivation_of(const outcome<perfmodel::traced>& answer) {
  perfmodel::traced all;  // an unnamed sum: its steps are the steps of all results, each once
  for (const auto& r : answer.results) all += r.value;
  return perfmodel::derivation_of(all);
}

explanation explained(outcome<> answer, const outcome<perfmodel::traced>& derived) {
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    const double given = answer.results[i].value, other = derived.results[i].value.value();
    if (std::fabs(given - other) > 1e-12 * std::fabs(given)) {
      throw std::logic_error(std::string("the derivation of ") + answer.results[i].key +
                             " gives another number");
    }
  }
  return {std::move(answer), derivation_of(derived)};
}

}  // namespace napkin
