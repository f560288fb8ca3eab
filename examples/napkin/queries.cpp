// The list of queries, and the one way from a request to its answer.
#include <cmath>
#include <stdexcept>

#include "query.hpp"

namespace napkin {

namespace {

using perfmodel::error;
using perfmodel::error_code;

std::vector<query> collect() {
  std::vector<query> all;
  for (auto* part : {kernel_queries, attention_queries, collective_queries, memory_queries, step_queries,
                     serving_queries, speculation_queries}) {
    for (query& q : part()) all.push_back(std::move(q));
  }
  return all;
}

}  // namespace

std::span<const query> all_queries() {
  static const std::vector<query> all = collect();
  return all;
}

const query& find_query(std::string_view name) {
  std::vector<std::string_view> names;
  for (const query& q : all_queries()) {
    if (name == q.name) return q;
  }
  for (const query& q : all_queries()) names.push_back(q.name);
  throw error(error_code::unknown_query, in_quotes(name) + " is no query; did you mean " + nearest(name, names) +
                                             "? napkin --help lists them");
}

/// No accelerator has a profile yet, so that only the bound can be had.
void check_mode(const json& object) {
  const auto at = object.find("mode");
  if (at == object.end()) return;
  if (!at->is_string()) {
    throw error(error_code::wrong_type, "mode is " + brief(*at) + "; allowed: \"bound\", \"calibrated\"");
  }
  const auto& mode = at->get_ref<const std::string&>();
  if (mode == "bound") return;
  if (mode == "calibrated") {
    throw error(error_code::unknown_name,
                "mode is \"calibrated\", and there is no profile of this accelerator yet; allowed: bound");
  }
  throw error(error_code::unknown_name, "mode is " + in_quotes(mode) + "; allowed: bound, calibrated");
}

const query& query_of(const json& object) {
  if (!object.is_object()) {
    throw error(error_code::malformed_request, "a request is an object, not " + brief(object));
  }
  const auto at = object.find("query");
  if (at == object.end()) {
    throw error(error_code::missing_key, "query is missing; it names what to answer, such as \"gemm\"");
  }
  if (!at->is_string()) {
    throw error(error_code::wrong_type, "query is " + brief(*at) + "; allowed: a string, such as \"gemm\"");
  }
  return find_query(at->get_ref<const std::string&>());
}

outcome<> answer_of(const query& asked, const json& object) {
  check_mode(object);
  return asked.answer(request(asked, object));
}
explanation explanation_of(const query& asked, const json& object) {
  check_mode(object);
  return asked.explain(request(asked, object));
}

perfmodel::derivation derivation_of(const outcome<perfmodel::traced>& answer) {
  perfmodel::traced all;  // a sum without a name: below it stand the steps of every result, each once
  for (const auto& r : answer.results) all += r.value;
  return perfmodel::derivation_of(all);
}

explanation explained(outcome<> answer, const outcome<perfmodel::traced>& derived) {
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    const double given = answer.results[i].value, other = derived.results[i].value.value();
    if (std::fabs(given - other) > 1e-12 * std::fabs(given)) {
      throw std::logic_error(std::string("the derivation of ") + answer.results[i].key + " gives another number");
    }
  }
  return {std::move(answer), derivation_of(derived)};
}

}  // namespace napkin
