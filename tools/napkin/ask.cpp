#include "ask.hpp"

#include <initializer_list>

#include <perfmodel/units/text.hpp>

#include "audit.hpp"
#include "listing.hpp"
#include "output.hpp"
#include "planning.hpp"
#include "require.hpp"
#include "sensitivity.hpp"
#include "service_check.hpp"
#include "thresholds.hpp"

namespace napkin {

namespace {

/// The query that a request names; "" where it names none.
std::string_view name_in(const json& object) {
  if (!object.is_object()) return {};
  const auto at = object.find("query");
  if (at == object.end() || !at->is_string()) return {};
  return at->get_ref<const std::string&>();
}

void only_keys(const json& object, std::string_view of,
               std::initializer_list<std::string_view> allowed) {
  for (const auto& item : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), item.key()) != allowed.end()) continue;
    throw error(code::unknown_key, cat("unknown key ", in_quotes(one_line(item.key())), " of ", of,
                                       "; allowed: ", listed(allowed)));
  }
}

json plan_answer(json object, const given_profile* profile) {
  const bool checks = take_check(object);
  const planned p = plan_of(object, profile, false);
  json out = plan_json(p, object);
  if constexpr (!is_page_module) {
    if (checks) out["checks"] = plan_checks_json(checks_of_plan(p));
  }
  return out;
}

/// The result of a query; of a service with `check` that of its simulation too.
json query_answer(json object, const given_profile* profile) {
  const query& asked = query_of(object);
  if constexpr (!is_page_module) {
    if (asked.name == std::string_view("serving") && take_check(object))
      return checked_service_json(checked_service_of(object, profile), object);
  }
  return outcome_json(evaluate(asked, object, profile), object);
}

/// With the id of the request in front.
json with_id(const json& object, json answer) {
  const auto id = object.find("id");
  if (id == object.end()) return answer;
  json out = {{"id", *id}};
  out.update(answer);
  return out;
}

json explain_answer(const json& object, const given_profile* profile) {
  only_keys(object, "explain", {"query", "id", "of", "row"});
  const auto of = object.find("of");
  if (of == object.end())
    throw error(code::missing_key, "of is missing; explain needs it: the request to explain");
  if (!of->is_object())
    throw error(code::wrong_type, cat("of is ", brief(*of), "; allowed: a request, an object"));
  if (name_in(*of) == plan_keys().name) {
    const double row = object.contains("row") ? json_field(object["row"], "row").number() : 1.0;
    return with_id(object, plan_row_json(*of, profile, row, false));
  }
  only_keys(object, "explain", {"query", "id", "of"});
  return with_id(object, explain_json(query_of(*of), *of, profile));
}

json catalogue_answer(const json& object) {
  const std::string_view asked = name_in(object);
  only_keys(object, asked, {"query", "id", "name"});
  const std::string name =
      object.contains("name") ? json_field(object["name"], "name").some_text() : "";
  return with_id(object, asked == "gpus" ? accelerators_json(name) : models_json(name));
}

/// Adds notes on targets of more than 10 s without a unit, which may be meant in milliseconds: "itl
/// is 20 s".
void note_long_targets(const json& object, json& out) {
  if (!object.is_object()) return;
  for (const auto& [name, x] : object.items()) {
    if (x.is_number()) {
      if (is_long_target(name, x.get<double>()))
        out["notes"].push_back(
            cat(name, " is ", perfmodel::to_string(x.get<double>() * perfmodel::second)));
    } else if (name == "targets" || name == "of") {
      note_long_targets(x, out);
    }
  }
}

json evaluated(std::string_view line, json& object, const ask_context& context) {
  if (line.find_first_not_of(" \t\r\n") == line.npos)
    throw error(code::malformed_request, "the line is empty; a request is an object");
  read_json(line, object);
  object = with_key_names(std::move(object));
  const std::string_view asked = name_in(object);
  if constexpr (!is_page_module) {
    if (context.what == batch_of::claims || is_claim(object)) {
      keep_digits(object, line);
      return audit_json(object, context.profile, context.before);
    }
  }
  if (asked == "explain") return explain_answer(object, context.profile);
  if constexpr (!is_page_module) {
    if (asked == "sensitivity") return sensitivity_json(object, context.profile);
    if (asked == "require") return require_json(object, context.profile);
    if (asked == "thresholds") return thresholds_json(object, context.profile);
  }
  if (asked == plan_keys().name) return plan_answer(object, context.profile);
  if (asked == "gpus" || asked == "models") return catalogue_answer(object);
  return query_answer(object, context.profile);
}

/// The id of a request, as far as it was read.
json id_of(const json& object) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find("id");
  return at == object.end() ? json(nullptr) : *at;
}

}  // namespace

bool is_latency_target(std::string_view name) {
  constexpr std::string_view names[] = {"itl",    "tpot",   "itl_s",       "ttft",
                                        "ttft_s", "tpot_s", "itl_limit_s", "ttft_limit_s"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

json answer_line(std::string_view line, const ask_context& context) {
  json object;
  try {
    json out = evaluated(line, object, context);
    note_long_targets(object, out);
    return out;
  } catch (const perfmodel::error& e) {
    return error_json(e, id_of(object), context.line);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {  // an error in one request does not affect the others
    const perfmodel::error unforeseen(code::malformed_request, e.what());
    return error_json(unforeseen, id_of(object), context.line);
  }
}

}  // namespace napkin
