#include "audit.hpp"

#include <perfmodel/audit.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/units/text.hpp>

#include "../common/amount.hpp"
#include "output.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Keys that say something of a claim, and are none of its question.
constexpr std::string_view claim_keys[] = {
    "query",  "id",   "statement", "source", "quantity",   "key",      "value",        "unit",
    "digits", "over", "minus",     "mode",   "conditions", "expected", "expected_slip"};

bool is_claim_key(std::string_view name) {
  return std::ranges::find(claim_keys, name) != std::end(claim_keys);
}

// --- what was claimed ------------------------------------------------------------------------------

/// How large a unit is and what it counts: those of amounts, tokens and requests, and bare numbers.
unit_size unit_of(const std::string& text) {
  constexpr std::string_view bare[] = {"", "1", "ratio", "fraction", "x", "count"};
  if (std::ranges::find(bare, text) != std::end(bare)) return {};
  if (text == "%") return {0.01, {}};
  const auto part = [&](const std::string& name) -> unit_size {
    if (name == "tok" || name == "token" || name == "tokens") return {1.0, {{0, 0, 0, 1}}};
    if (name == "req" || name == "request" || name == "requests") return {1.0, {{0, 0, 0, 0, 1}}};
    if (name == "1") return {};
    if (const auto u = find_unit(name)) return *u;
    throw error(error_code::unknown_name, cat("unit is ", in_quotes(text),
                                              "; allowed: ratio, %, tok, req, s, B, FLOP, J, W, "
                                              "Hz, USD with prefixes, one over another"));
  };
  const std::size_t slash = text.find('/');
  unit_size u = part(text.substr(0, slash));
  if (slash == text.npos) return u;
  const unit_size under = part(text.substr(slash + 1));
  u.factor /= under.factor;
  for (std::size_t i = 0; i < u.unit.power.size(); ++i) {
    u.unit.power[i] = static_cast<signed char>(u.unit.power[i] - under.unit.power[i]);
  }
  return u;
}

pm::claimed_value claimed(const json& claim, const unit_size& unit) {
  const auto at = claim.find("value");
  if (at == claim.end()) throw error(code::missing_key, "value is missing; a claim is a number");
  const bool range = at->is_array() && at->size() == 2;
  const json& low = range ? (*at)[0] : *at;
  const json& high = range ? (*at)[1] : *at;
  if (!low.is_number() || !high.is_number()) {
    throw error(code::wrong_type,
                cat("value is ", brief(*at), "; allowed: a number, or an array of two, a range"));
  }
  int digits = 0;
  if (const auto d = claim.find("digits"); d != claim.end()) {
    if (!d->is_number_integer() || *d < 1 || *d > 15)
      throw error(code::wrong_type, cat("digits is ", brief(*d), "; allowed: 1 to 15"));
    digits = d->get<int>();
  }
  const auto printed = [](const json& x) { return cat(x.get<double>()); };
  pm::claimed_value c;
  c.low = low.get<double>() * unit.factor;
  c.high = high.get<double>() * unit.factor;
  if (c.low > c.high) throw error(error_code::inconsistent, "value begins above its end");
  c.half_digit_low = pm::half_digit(printed(low), digits) * unit.factor;
  c.half_digit_high = pm::half_digit(printed(high), digits) * unit.factor;
  return c;
}

// --- what the law says -----------------------------------------------------------------------------

/// One number of an answer, or a quotient or difference of two.
struct law_answer {
  double value = 0.0;
  pm::unit_exponents unit{};
  pm::answer_is kind = pm::answer_is::exact;
  bool feasible = true;
  std::string key{}, reason{};
  pm::limiter limiter = pm::limiter::none;
  double bytes = 0.0;
};

/// Answers that are bounds though no query of a machine gives them.
struct bounded_key {
  std::string_view query, key;
  pm::answer_is kind;
};
constexpr bounded_key bounded_keys[] = {
    {"iron_law", "time_s", pm::answer_is::at_least},
    {"iron_law", "per_s", pm::answer_is::at_most},
    {"tensor_parallel", "time_s", pm::answer_is::at_least},
    {"tensor_parallel", "one_s", pm::answer_is::at_least},
    {"collective", "algbw_bytes_per_s", pm::answer_is::at_most},
    {"collective", "busbw_bytes_per_s", pm::answer_is::at_most},
    {"serving", "output_tokens_per_s", pm::answer_is::at_most},
    {"serving", "requests_per_s", pm::answer_is::at_most},
    {"littles_law", "accesses_per_s", pm::answer_is::at_most},
    {"serving", "ttft_s", pm::answer_is::at_least},
    {"serving", "itl_s", pm::answer_is::at_least},
};

pm::answer_is kind_of(const query& asked, const outcome<>& answer, std::string_view key) {
  for (const bounded_key& b : bounded_keys) {
    if (b.query == asked.name && b.key == key) return b.kind;
  }
  const bool of_a_machine = asked.part != profile_part::none;
  return of_a_machine && answer.is_time && key == "time_s" ? pm::answer_is::at_least
                                                           : pm::answer_is::exact;
}

const query& quantity_of(const json& claim) {
  const auto at = claim.find("quantity");
  if (at == claim.end() || !at->is_string()) {
    throw error(code::missing_key, "quantity is missing; it names a query, such as \"gemm\"");
  }
  return find_query(at->get_ref<const std::string&>());
}

/// The keys of the question: those beside the claim's own, and those of `conditions`.
json question_of(const json& claim) {
  json q = json::object();
  if (const auto more = claim.find("conditions"); more != claim.end()) {
    if (!more->is_object())
      throw error(code::wrong_type, cat("conditions is ", brief(*more), "; allowed: an object"));
    q = *more;
  }
  const query& asked = quantity_of(claim);
  for (const auto& [name, v] : claim.items()) {
    if (is_claim_key(name) && asked.find(name) == nullptr) continue;
    if (name == "conditions") continue;
    q[name] = v;
  }
  q["query"] = asked.name;
  q["mode"] = claim.value("mode", "bound");
  return q;
}

law_answer pick(const query& asked, const outcome<>& answer, const std::string& wanted) {
  law_answer a;
  a.feasible = !answer.has_feasibility || answer.feasible;
  a.reason = answer.reason;
  a.limiter = answer.limiter;
  for (const auto& r : answer.results) {
    if (std::string_view(r.key) == "bytes") a.bytes = r.value;
  }
  if (wanted == "feasible") {
    a.value = a.feasible ? 1.0 : 0.0;
    a.feasible = true;
    a.key = wanted;
    return a;
  }
  const result<double>* found = nullptr;
  for (const auto& r : answer.results) {
    if (wanted.empty() ? std::string_view(r.key) == "time_s" : wanted == r.key) found = &r;
  }
  if (found == nullptr && wanted.empty() && !answer.results.empty())
    found = &answer.results.front();
  if (found == nullptr) {
    throw error(
        code::unknown_key,
        cat("key is ", in_quotes(wanted), ", which ", asked.name, " does not answer; allowed: ",
            listed(answer.results, [](const auto& r) { return r.key; }), ", feasible"));
  }
  a.value = found->value;
  a.unit = found->unit;
  a.key = found->key;
  a.kind = kind_of(asked, answer, found->key);
  return a;
}

law_answer one_answer(const json& claim, const json& question, const given_profile* profile) {
  const query& asked = quantity_of(claim);
  std::string wanted;
  if (const auto k = claim.find("key"); k != claim.end()) {
    if (!k->is_string())
      throw error(code::wrong_type, "key is no text; allowed: a name of an answer");
    wanted = k->get<std::string>();
  }
  return pick(asked, answer_of(asked, question, profile), wanted);
}

/// With `over` a quotient and with `minus` a difference of two answers.
law_answer answer_to(const json& claim, const json& question, const given_profile* profile) {
  law_answer a = one_answer(claim, question, profile);
  for (const char* how : {"over", "minus"}) {
    const auto at = claim.find(how);
    if (at == claim.end()) continue;
    if (!at->is_object()) {
      throw error(code::wrong_type, cat(how, " is ", brief(*at),
                                        "; allowed: an object with quantity, key and its keys"));
    }
    const law_answer b = one_answer(*at, question_of(*at), profile);
    a.kind = pm::answer_is::exact;
    if (std::string_view(how) == "minus") {
      a.value -= b.value;
      continue;
    }
    if (b.value == 0.0) throw error(error_code::out_of_range, "over is 0; allowed: not 0");
    a.value /= b.value;
    for (std::size_t i = 0; i < a.unit.power.size(); ++i) {
      a.unit.power[i] = static_cast<signed char>(a.unit.power[i] - b.unit.power[i]);
    }
  }
  return a;
}

/// A unit may leave out the tokens and requests that an answer counts.
void check_unit(const law_answer& a, const unit_size& u, const std::string& text) {
  constexpr std::size_t token = 3, request = 4;
  for (std::size_t i = 0; i < a.unit.power.size(); ++i) {
    if (i == token || i == request || a.unit.power[i] == u.unit.power[i]) continue;
    throw error(error_code::inconsistent,
                cat("unit is ", in_quotes(text), ", and ", a.key, " is in ",
                    a.unit == pm::unit_exponents{} ? "bare numbers" : unit_text(a.unit)));
  }
}

// --- the mistake behind it -------------------------------------------------------------------------

std::vector<pm::slip_input> inputs_of(const query& asked, const json& question) {
  std::vector<pm::slip_input> all;
  for (const key& k : asked.keys) {
    const auto given = question.find(k.name);
    pm::slip_input i{k.name, {}, {}, {}, !k.required, k.range.whole};
    if (given != question.end() && given->is_number()) {
      i.number = given->get<double>();
    } else if (k.kind == key_kind::word) {
      i.word =
          given != question.end() && given->is_string() ? given->get<std::string>() : k.fallback;
      i.words.assign(k.words.begin(), k.words.end());
    } else if (std::string_view(k.name) == "accelerator" && given != question.end() &&
               given->is_string()) {
      i.word = given->get<std::string>();
      for (const auto& a : pm::catalog::accelerators) i.words.emplace_back(a.key);
      std::ranges::stable_sort(i.words, {}, [&](const std::string& w) { return edits(w, i.word); });
    } else {
      continue;
    }
    all.push_back(std::move(i));
  }
  return all;
}

std::string words_of(const pm::slip& kind, const std::string& input, const std::string& instead) {
  if (kind.change == pm::slip_change::left_out) return cat(input, " left out");
  if (input.empty()) return kind.name;
  return cat(kind.name, " (", input, instead.empty() ? "" : " ", instead, ")");
}
std::string words_of(const pm::found_slip& s) {
  std::string text = words_of(*s.kind, s.input, s.instead);
  if (s.second != nullptr)
    text += cat(", and ", words_of(*s.second, s.second_input, s.second_instead));
  return text;
}

/// The question of a claim asked again with some of it changed.
class asked_again {
 public:
  asked_again(const json& claim, const json& question, const law_answer& a,
              const given_profile* profile)
      : claim_(claim), question_(question), unit_(a.unit), profile_(profile) {}

  std::optional<double> operator()(std::span<const pm::slip_question> changes) const {
    json q = question_, asked_for = claim_;
    for (const pm::slip_question& changed : changes) {
      const std::string name(changed.input);
      if (name == "key") {
        asked_for[name] = std::string(*changed.word);
      } else if (changed.number) {
        q[name] = *changed.number;
      } else if (changed.word) {
        q[name] = std::string(*changed.word);
      } else {
        q.erase(name);
      }
    }
    try {
      const law_answer other = answer_to(asked_for, q, profile_);
      return other.unit == unit_ ? std::optional(other.value) : std::nullopt;
    } catch (const error&) {
      return {};
    }
  }

 private:
  const json& claim_;
  const json& question_;
  pm::unit_exponents unit_;
  const given_profile* profile_;
};

std::optional<pm::found_slip> slip_of(const json& claim, const pm::claimed_value& c,
                                      const law_answer& a, const json& question,
                                      const given_profile* profile) {
  const query& asked = quantity_of(claim);
  auto inputs = inputs_of(asked, question);
  pm::slip_input keys{"key", {}, a.key, {}, false};
  for (const auto& r : answer_of(asked, question, profile).results) keys.words.emplace_back(r.key);
  inputs.push_back(std::move(keys));
  return pm::slip_behind(c, a.value, a.unit, inputs, asked_again(claim, question, a, profile));
}

/// What each input would have to be, the three nearest. Of a range, for the end that is nearer.
json needed_of(const json& claim, const pm::claimed_value& c, const law_answer& a,
               const json& question, const given_profile* profile) {
  constexpr std::size_t most = 3;
  json out = json::array();
  const auto inputs = inputs_of(quantity_of(claim), question);
  const double value = a.value < c.low ? c.low : c.high;
  for (const auto& n : pm::needed_inputs(value, inputs, asked_again(claim, question, a, profile))) {
    if (out.size() == most) break;
    out.push_back({{"key", n.name},
                   {"said", number_json("said", n.said)},
                   {"needed", number_json("needed", n.needed)}});
  }
  return out;
}

/// Operands that were still in the L2 outrun DRAM: an input that a claim of a kernel has to state.
std::string unstated_input(const query& asked, const json& question, const law_answer& a) {
  if (asked.find("weight_copies") == nullptr || question.contains("weight_copies")) return {};
  if (a.limiter != pm::limiter::memory || !question.contains("accelerator")) return {};
  const auto chip = named_accelerator(question["accelerator"].get_ref<const std::string&>());
  if (!chip->l2.capacity.is_stated() || a.bytes > chip->l2.capacity.value()) return {};
  return cat("weight_copies: the operands, ", pm::to_string(a.bytes * pm::byte), ", fit the L2, ",
             pm::to_string(chip->l2.capacity.quantity()),
             "; a benchmark that repeats one call finds them there, and does not wait for DRAM");
}

std::string amount_of(double x, const unit_size& u, const std::string& text) {
  return cat(pm::detail::significant(x / u.factor, 4), text.empty() ? "" : " ", text);
}

std::string reason_of(pm::verdict v, const query& asked, const law_answer& a, const unit_size& u,
                      const std::string& unit) {
  const std::string law = cat(asked.name, " gives ", amount_of(a.value, u, unit), " for ", a.key);
  if (!a.feasible) return a.reason;
  if (v == pm::verdict::impossible || v == pm::verdict::possible) {
    return cat(law, ", which nothing ",
               a.kind == pm::answer_is::at_least ? "is quicker than" : "exceeds");
  }
  return law;
}

}  // namespace

bool is_claim(const json& object) {
  const auto at = object.is_object() ? object.find("query") : object.end();
  return object.is_object() && at != object.end() && *at == "audit";
}

json audit_json(const json& claim, const given_profile* profile) {
  if (!claim.is_object()) throw error(code::malformed_request, "a claim is an object");
  const query& asked = quantity_of(claim);
  const std::string unit = claim.value("unit", "");
  const unit_size u = unit_of(unit);
  const pm::claimed_value c = claimed(claim, u);
  json out = json::object();
  if (const auto id = claim.find("id"); id != claim.end()) out["id"] = *id;
  const json question = question_of(claim);
  law_answer a;
  try {
    a = answer_to(claim, question, profile);
  } catch (const error& e) {
    if (e.code() != code::missing_key) throw;
    out["verdict"] = pm::name_of(pm::verdict::needs);
    out["reason"] = e.what();
    return out;
  }
  check_unit(a, u, unit);
  pm::verdict v = pm::verdict_of(c, a.value, a.kind, a.feasible);
  std::string reason = reason_of(v, asked, a, u, unit);
  if (v == pm::verdict::impossible && a.feasible) {
    if (std::string needed = unstated_input(asked, question, a); !needed.empty()) {
      v = pm::verdict::needs;
      reason = std::move(needed);
    }
  }
  out["verdict"] = pm::name_of(v);
  out["key"] = a.key;
  out["value"] = number_json("value", a.value / u.factor);
  if (!unit.empty()) out["unit"] = unit;
  out["reason"] = reason;
  if (v == pm::verdict::wrong || (v == pm::verdict::impossible && a.feasible)) {
    if (const auto s = slip_of(claim, c, a, question, profile)) out["slip"] = words_of(*s);
    if (json needed = needed_of(claim, c, a, question, profile); !needed.empty())
      out["would_take"] = std::move(needed);
  }
  return out;
}

json claim_from_command_line(const std::vector<std::string>& words) {
  json claim = json::object();
  std::vector<std::pair<std::string, std::string>> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      throw error(code::unknown_key,
                  cat(in_quotes(words[i]), " is not expected; allowed: --key value"));
    }
    const std::size_t equals = words[i].find('=');
    std::string name = words[i].substr(2, equals == words[i].npos ? equals : equals - 2);
    std::replace(name.begin(), name.end(), '-', '_');
    if (equals == words[i].npos && i + 1 == words.size()) {
      throw error(code::missing_key, cat("--", name, " has no value"));
    }
    given.emplace_back(name, equals == words[i].npos ? words[++i] : words[i].substr(equals + 1));
  }
  for (const auto& [name, text] : given) {
    if (name == "quantity") claim[name] = text;
  }
  const query& asked = quantity_of(claim);
  for (const auto& [name, text] : given) {
    if (name == "quantity") continue;
    const key* k = asked.find(name);
    const bool words_only = k == nullptr && name != "value" && name != "digits";
    claim[name] = words_only ? json(text) : from_command_line(k, text);
  }
  return claim;
}

std::string audit_text(const json& claim, const json& found) {
  std::string s =
      cat(found["verdict"].get<std::string>(), ": ", found["reason"].get<std::string>());
  if (claim.contains("value")) s += cat("; said were ", write_json(claim["value"]));
  if (const std::string unit = claim.value("unit", ""); !unit.empty()) s += cat(" ", unit);
  s += "\n";
  if (found.contains("slip")) s += cat("  as if: ", found["slip"].get<std::string>(), "\n");
  if (found.contains("slip") || !found.contains("would_take")) return s;
  const char* before = "  it would take: ";
  for (const json& n : found["would_take"]) {
    s += cat(before, n["key"].get<std::string>(), " ",
             pm::detail::significant(n["needed"].get<double>(), 4), " for ",
             pm::detail::significant(n["said"].get<double>(), 4));
    before = ", or ";
  }
  return s + "\n";
}

}  // namespace napkin
