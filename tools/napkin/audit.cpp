#include "audit.hpp"

#include <algorithm>
#include <perfmodel/units/text.hpp>

#include "audit_errors.hpp"
#include "io/amount.hpp"
#include "io/text_style.hpp"
#include "output.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

// --- the claim ---------------------------------------------------------------------------

/// Words that people write for units, and for things that are counted.
struct unit_word {
  std::string_view text;
  unit_size size;
};
constexpr unit_size bytes_size{1.0, {{0, 1}}}, flop_size{1.0, {{0, 0, 1}}},
    token_size{1.0, {{0, 0, 0, 1}}}, request_size{1.0, {{0, 0, 0, 0, 1}}};
constexpr unit_word unit_words[] = {
    {"byte", bytes_size},      {"bytes", bytes_size},     {"bits", {0.125, {{0, 1}}}},
    {"b", {0.125, {{0, 1}}}},  {"flop", flop_size},       {"flops", flop_size},
    {"FLOPs", flop_size},      {"Flops", flop_size},      {"ops", flop_size},
    {"tok", token_size},       {"token", token_size},     {"tokens", token_size},
    {"toks", token_size},      {"req", request_size},     {"reqs", request_size},
    {"request", request_size}, {"requests", request_size}};
constexpr std::string_view counted_words[] = {
    "",         "1",         "ratio", "fraction", "x",      "count",   "times",      "times faster",
    "GPU",      "GPUs",      "gpu",   "gpus",     "device", "devices", "user",       "users",
    "sequence", "sequences", "seq",   "seqs",     "layer",  "layers",  "launch",     "launches",
    "kernel",   "kernels",   "block", "blocks",   "stream", "streams", "parameters", "params"};

/// GB, byte, tokens, Mtok, GFLOPs: a symbol, or a word with a prefix.
std::optional<unit_size> one_unit(std::string_view name) {
  if (std::ranges::find(counted_words, name) != std::end(counted_words)) return unit_size{};
  if (name == "%" || name == "percent") return unit_size{0.01, {}};
  if (name.size() > 3 && name.ends_with("bps")) {  // Gbps
    const auto rate = find_unit(cat(name.substr(0, name.size() - 3), "bit/s"));
    if (rate) return *rate;
  }
  const auto word = [](std::string_view text) -> const unit_word* {
    const auto at = std::ranges::find(unit_words, text, &unit_word::text);
    return at == std::end(unit_words) ? nullptr : &*at;
  };
  if (const unit_word* w = word(name)) return w->size;
  if (const auto u = find_unit(name)) return *u;
  constexpr std::string_view prefixes = "kKMGTP";
  constexpr double factors[] = {1e3, 1e3, 1e6, 1e9, 1e12, 1e15};
  const std::size_t at = name.empty() ? prefixes.npos : prefixes.find(name[0]);
  if (at == prefixes.npos) return {};
  const unit_word* w = word(name.substr(1));
  if (w == nullptr) return {};
  return unit_size{factors[at] * w->size.factor, w->size.unit};
}

/// Scale and dimensions of a unit: amounts, tokens and requests, counted things, or plain numbers:
/// GB/s, FLOP/byte, tok/s/GPU.
unit_size unit_of(const std::string& text) {
  unit_size all;
  if (const auto u = one_unit(text)) return *u;
  bool under = false;
  for (const std::string_view part : split(text, '/')) {
    const auto u = one_unit(detail::without_blanks(part));
    if (!u || (part.empty() && under)) {
      throw error(error_code::unknown_name,
                  cat("unit is ", in_quotes(text),
                      "; allowed: ratio, %, tok, req, s, B, byte, FLOP, J, W, Hz, USD with "
                      "prefixes, one over another: GB/s, FLOP/byte, tok/s"));
    }
    all.factor = under ? all.factor / u->factor : all.factor * u->factor;
    for (std::size_t i = 0; i < all.unit.power.size(); ++i) {
      const int power = under ? -u->unit.power[i] : u->unit.power[i];
      all.unit.power[i] = static_cast<signed char>(all.unit.power[i] + power);
    }
    under = true;
  }
  return all;
}

/// Factor of a word for a number of things (671B parameters); none for other words.
std::optional<double> factor_of_count(std::string_view text) {
  constexpr std::pair<std::string_view, double> words[] = {
      {"k", 1e3},  {"K", 1e3},       {"thousand", 1e3}, {"M", 1e6},  {"million", 1e6},  {"B", 1e9},
      {"bn", 1e9}, {"billion", 1e9}, {"billions", 1e9}, {"T", 1e12}, {"trillion", 1e12}};
  const std::size_t end = text.find(' ');  // 671 B parameters
  const std::string_view first = text.substr(0, end);
  if (end != text.npos && !one_unit(text.substr(end + 1))) return {};
  for (const auto& [word, factor] : words) {
    if (first == word) return factor;
  }
  return {};
}

/// Words before a number that make a claim an inequality, or say that it is rounded.
constexpr std::pair<std::string_view, pm::claim_relation> relation_words[] = {
    {">=", pm::claim_relation::at_least},       {">", pm::claim_relation::at_least},
    {"at least", pm::claim_relation::at_least}, {"more than", pm::claim_relation::at_least},
    {"over", pm::claim_relation::at_least},     {"<=", pm::claim_relation::at_most},
    {"<", pm::claim_relation::at_most},         {"at most", pm::claim_relation::at_most},
    {"less than", pm::claim_relation::at_most}, {"up to", pm::claim_relation::at_most},
    {"under", pm::claim_relation::at_most},     {"~", pm::claim_relation::equal},
    {"about", pm::claim_relation::equal},       {"around", pm::claim_relation::equal},
    {"roughly", pm::claim_relation::equal}};

/// A number of a claim as it is printed, without a relation in front.
struct printed_number {
  double value = 0.0;
  std::string text{};
  std::optional<pm::claim_relation> relation{};
  std::string unit{};  ///< what follows it
};
std::optional<printed_number> printed_in(const json& x, bool with_unit = false) {
  if (x.is_number()) return printed_number{x.get<double>(), cat(x.get<double>()), {}, {}};
  if (!x.is_string()) return {};
  printed_number n;
  std::string_view text = detail::without_blanks(x.get_ref<const std::string&>());
  for (const auto& [word, relation] : relation_words) {
    if (!text.starts_with(word)) continue;
    n.relation = relation;
    text = detail::without_blanks(text.substr(word.size()));
    break;
  }
  std::string_view rest;
  const auto value = parse_number(text, rest);
  if (!value || (!rest.empty() && !with_unit)) return {};
  n.value = *value;
  n.text = std::string(text.substr(0, text.size() - rest.size()));
  n.unit = std::string(detail::without_blanks(rest));
  return n;
}

/// The relation of a claim: its key, or the words before its value.
pm::claim_relation relation_of(const json& claim, const printed_number& n) {
  const auto at = claim.find("relation");
  if (at == claim.end()) return n.relation.value_or(pm::claim_relation::equal);
  if (*at == "equal") return pm::claim_relation::equal;
  if (*at == "at_least") return pm::claim_relation::at_least;
  if (*at == "at_most") return pm::claim_relation::at_most;
  throw error(error_code::unknown_name,
              cat("relation is ", brief(*at), "; allowed: equal, at_least, at_most"));
}

pm::claimed_value claimed(const json& claim, const unit_size& unit) {
  const auto at = claim.find("value");
  if (at == claim.end())
    throw error(code::missing_key, "value is missing; a claim states a number");
  const bool range = at->is_array() && at->size() == 2;
  const auto low = printed_in(range ? (*at)[0] : *at), high = printed_in(range ? (*at)[1] : *at);
  if (!low || !high) {
    throw error(code::wrong_type,
                cat("value is ", brief(*at),
                    "; allowed: a number, an array of two, a range, or \">= 15\""));
  }
  int digits = 0;
  if (const auto d = claim.find("digits"); d != claim.end()) {
    if (!d->is_number_integer() || *d < 1 || *d > 15)
      throw error(code::wrong_type, cat("digits is ", brief(*d), "; allowed: 1 to 15"));
    digits = d->get<int>();
  }
  pm::claimed_value c;
  c.low = low->value * unit.factor;
  c.high = high->value * unit.factor;
  if (c.low > c.high) throw error(error_code::inconsistent, "value begins above its end");
  c.half_digit_low = pm::half_digit(low->text, digits) * unit.factor;
  c.half_digit_high = pm::half_digit(high->text, digits) * unit.factor;
  c.few_digits = digits > 0;
  c.relation = relation_of(claim, *low);
  if (range && c.relation != pm::claim_relation::equal)
    throw error(error_code::inconsistent, "a range has no relation; allowed: one number");
  return c;
}

/// The unit of a claim may omit the tokens and requests that a result counts.
void check_unit(const law_value& a, const unit_size& u, const std::string& text) {
  constexpr std::size_t token = 3, request = 4;
  // TFLOPs are FLOP, and FLOP/s where the result is a rate.
  if (text.ends_with("FLOPs") && a.unit == pm::exponents_of<pm::flop_rate<>>()) return;
  for (std::size_t i = 0; i < a.unit.power.size(); ++i) {
    if (i == token || i == request || a.unit.power[i] == u.unit.power[i]) continue;
    throw error(error_code::inconsistent,
                cat("unit is ", in_quotes(text), ", and ", a.key, " is in ",
                    a.unit == pm::unit_exponents{} ? "bare numbers" : unit_text(a.unit)));
  }
}

/// Operands in L2 are faster than DRAM: whether a call that a benchmark repeats, and finds them
/// there, may take as long as a claim that is below the bound of a cold cache.
bool is_possible_when_warm(const checked_claim& c, const query& asked,
                           const given_profile* profile) {
  if (asked.find("weight_copies") == nullptr || c.question.contains("weight_copies")) return false;
  if (c.law.limiter != pm::limiter::memory || !(c.law.bytes > 0.0) || c.claim.contains("over") ||
      c.claim.contains("minus") || c.question.value("mode", "bound") != "bound")
    return false;
  json warm = c.question;
  warm["weight_copies"] = 1;
  const double bound = answer_to(c.claim, warm, profile).value;
  return bound < c.law.value && c.said.high >= bound;
}
std::string warm_text(const checked_claim& c) {
  return cat("weight_copies: a warm L2 cache (the operands, ",
             pm::to_string(c.law.bytes * pm::byte),
             ", fit the L2, where a benchmark that repeats one call finds them); weight_copies 1 "
             "judges it so, 0 by DRAM");
}

std::string amount_of(double x, const unit_size& u, const std::string& text) {
  return cat(pm::detail::significant(x / u.factor, 4), text.empty() ? "" : " ", text);
}

std::string reason_of(pm::verdict v, const query& asked, const law_value& a, const unit_size& u,
                      const std::string& unit) {
  if (!a.feasible) return a.reason;
  if (a.predicted) {
    const pm::prediction_range& p = *a.predicted;
    std::string s =
        cat(asked.name, " predicts ", amount_of(a.value, u, unit), " for ", a.key,
            " (80 %: ", amount_of(p.low, u, ""), " to ", amount_of(p.high, u, unit), ")");
    if (p.least) s += cat("; the bound is ", amount_of(*p.least, u, unit));
    if (p.most) s += cat("; at most ", amount_of(*p.most, u, unit));
    return s;
  }
  const std::string law = cat(asked.name, " gives ", amount_of(a.value, u, unit), " for ", a.key);
  if (a.kind == pm::result_kind::at_least && a.bound && *a.bound != a.value)
    return cat(law, "; nothing is quicker than ", amount_of(*a.bound, u, unit));
  if (a.kind == pm::result_kind::at_most && a.bound)
    return cat(law, ", with estimated reserves; nothing exceeds ", amount_of(*a.bound, u, unit));
  if (v == pm::verdict::impossible || v == pm::verdict::possible) {
    return cat(law, ", which nothing ",
               a.kind == pm::result_kind::at_least ? "is quicker than" : "exceeds");
  }
  return law;
}

}  // namespace

bool is_claim(const json& object) {
  const auto at = object.is_object() ? object.find("query") : object.end();
  return object.is_object() && at != object.end() && *at == "audit";
}

namespace {

/// Verdict in bound mode: a number that the law gives, else by the bound.
pm::verdict verdict_by_law(const checked_claim& c) {
  const auto by = [&c](double x) { return pm::verdict_of(c.said, x, c.law.kind, c.law.feasible); };
  const pm::verdict found = by(c.law.value);
  if (!c.law.bound || (found != pm::verdict::impossible && found != pm::verdict::possible))
    return found;
  return by(*c.law.bound);
}

/// Bound of a rate of a service, which a prediction does not carry.
void add_bound_of_rate(checked_claim& c, const given_profile* profile) {
  pm::prediction_range& p = *c.law.predicted;
  const std::string_view key = c.law.key;
  if (p.most || p.least || (key != "requests_per_s" && key != "output_tokens_per_s")) return;
  json question = c.question;
  question["mode"] = "bound";
  const law_value bound = answer_to(c.claim, question, profile);
  if (bound.feasible) p.most = std::max(bound.value, p.value);
}

/// Verdict on a figure of a service that the law calls overloaded. Engines batch prefills, which
/// the queue of a bound does not: only one engine step is a bound. A prediction says unusual.
std::string judge_overload(checked_claim& c, const unit_size& u, const std::string& unit) {
  const bool is_bound = c.question.value("mode", "bound") == "bound";
  const bool beyond = c.law.bound && c.said.high < *c.law.bound;
  c.found = beyond     ? pm::verdict::impossible
            : is_bound ? pm::verdict::possible
                       : pm::verdict::unusual;
  if (c.law.bound) {
    c.law.feasible = true;
    c.law.value = *c.law.bound;
    return cat("nothing is quicker than ", amount_of(*c.law.bound, u, unit), " for ", c.law.key,
               "; ", c.law.reason);
  }
  return c.law.reason;
}

/// The verdict and its reason in words.
std::string judge(checked_claim& c, const unit_size& u, const std::string& unit,
                  const given_profile* profile) {
  const query& asked = quantity_of(c.claim);
  if (c.law.predicted && c.law.feasible) {
    add_bound_of_rate(c, profile);
    c.found = pm::verdict_of_measurement(c.said, *c.law.predicted);
    return reason_of(c.found, asked, c.law, u, unit);
  }
  if (c.law.overloaded) return judge_overload(c, u, unit);
  c.found = verdict_by_law(c);
  if (c.found == pm::verdict::impossible && c.law.feasible &&
      is_possible_when_warm(c, asked, profile)) {
    c.found = pm::verdict::needs;
    return warm_text(c);
  }
  return reason_of(c.found, asked, c.law, u, unit);
}
void add_errors(json& out, checked_claim& c, const earlier_claims* before,
                const given_profile* profile) {
  constexpr std::size_t most = 4;
  std::vector<std::string> misprints;
  // An inequality is explained by any number on its side, so that none explains it.
  if (c.said.relation == pm::claim_relation::equal)
    misprints = likely_errors_of(c, before, profile);
  if (misprints.size() > most) misprints.resize(most);
  if (!misprints.empty()) out["slip"] = misprints.front();
  if (misprints.size() > 1)
    out["or_slips"] = json(std::vector(misprints.begin() + 1, misprints.end()));
  if (!c.law.feasible) return;
  c.needed = needed_of(c, profile);
  if (!c.needed.empty()) out["would_take"] = c.needed;
  if (c.found != pm::verdict::impossible) return;
  if (json settings = possible_with(c, profile); !settings.empty())
    out["possible_with"] = std::move(settings);
}

/// The text of a number in the JSON of a claim, at the key `value`; "" where it is none. JSON
/// readers lose its last zeros: 2.00 has three digits.
std::vector<std::string> printed_values(std::string_view line) {
  const std::size_t key = line.find("\"value\"");
  if (key == line.npos || line.find("\"value\"", key + 1) != line.npos) return {};
  const std::size_t colon = line.find_first_not_of(" \t", key + 7);
  if (colon == line.npos || line[colon] != ':') return {};
  std::size_t at = line.find_first_not_of(" \t[", colon + 1);
  std::vector<std::string> all;
  while (at != line.npos && all.size() < 2) {
    const std::size_t end = line.find_first_not_of("0123456789+-.eE", at);
    if (end == at || end == line.npos) break;
    all.emplace_back(line.substr(at, end - at));
    const std::size_t next = line.find_first_not_of(" \t", end);
    if (next == line.npos || line[next] != ',') break;
    at = line.find_first_not_of(" \t", next + 1);
  }
  return all;
}

}  // namespace

void keep_digits(json& claim, std::string_view line) {
  const auto at = claim.is_object() ? claim.find("value") : claim.end();
  if (at == claim.end()) return;
  const std::vector<std::string> printed = printed_values(line);
  const auto keep = [&](json& x, std::size_t i) {
    if (!x.is_number() || i >= printed.size()) return;
    const auto n = printed_in(json(printed[i]));
    if (n && n->value == x.get<double>()) x = printed[i];
  };
  if (at->is_array()) {
    for (std::size_t i = 0; i < at->size(); ++i) keep((*at)[i], i);
  } else {
    keep(*at, 0);
  }
}

namespace {

/// A claim with the unit of its value, as "at least 5 ms", at its key.
json with_unit_apart(json claim) {
  if (claim.contains("unit") || !claim.contains("value") || !claim["value"].is_string())
    return claim;
  const auto n = printed_in(claim["value"], true);
  if (!n || n->unit.empty()) return claim;
  const std::string text = claim["value"].get<std::string>();
  claim["value"] = text.substr(0, text.find(n->text) + n->text.size());
  claim["unit"] = n->unit;
  return claim;
}

}  // namespace

json audit_json(const json& said, const given_profile* profile, earlier_claims* before) {
  if (!said.is_object()) throw error(code::malformed_request, "a claim is a JSON object");
  quantity_of(said);
  const json claim = with_unit_apart(said);
  const std::string unit = claim.value("unit", "");
  const auto things = factor_of_count(unit);
  unit_size u = things && unit != "B" ? unit_size{*things, {}} : unit_of(unit);
  checked_claim c{.claim = claim, .said = claimed(claim, u)};
  json out = json::object();
  if (const auto id = claim.find("id"); id != claim.end()) out["id"] = *id;
  c.question = question_of(claim);
  try {
    c.law = answer_to(claim, c.question, profile);
  } catch (const error& e) {
    if (e.code() != code::missing_key) throw;
    out["verdict"] = pm::name_of(pm::verdict::needs);
    out["reason"] = e.what();
    return out;
  }
  if (things && c.law.unit == pm::unit_exponents{}) {
    u = unit_size{*things, {}};
    c.said = claimed(claim, u);
  }
  check_unit(c.law, u, unit);
  const std::string reason = judge(c, u, unit, profile);
  out["verdict"] = pm::name_of(c.found);
  out["key"] = c.law.key;
  out["value"] = number_json("value", c.law.value / u.factor);
  if (!unit.empty()) out["unit"] = unit;
  if (const auto& p = c.law.predicted; p && c.law.feasible) {
    out["interval_80"] = {number_json("low", p->low / u.factor),
                          number_json("high", p->high / u.factor)};
    if (p->least) out["bound"] = number_json("bound", *p->least / u.factor);
    if (p->most) out["bound"] = number_json("bound", *p->most / u.factor);
  }
  out["reason"] = reason;
  if (c.found == pm::verdict::wrong || c.found == pm::verdict::impossible)
    add_errors(out, c, before, profile);
  if (before != nullptr) before->add(c);
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
  for (const auto& [said, text] : given) {
    if (said == "quantity") continue;
    const key* k = asked.find_spelled(said);
    const std::string name = k == nullptr ? said : k->name;
    const bool words_only = k == nullptr && name != "value" && name != "digits";
    const bool printed = k == nullptr && name == "value" && printed_in(json(text), true);
    claim[name] = words_only || printed ? json(text) : from_command_line(k, text, cat("--", said));
  }
  return claim;
}

std::string audit_text(const json& claim, const json& found) {
  std::string s =
      cat(found["verdict"].get<std::string>(), ": ", found["reason"].get<std::string>());
  if (const auto v = claim.find("value"); v != claim.end()) {
    const auto relation = claim.find("relation");
    const char* words = relation == claim.end()   ? ""
                        : *relation == "at_least" ? "at least "
                        : *relation == "at_most"  ? "at most "
                                                  : "";
    s += cat("; claimed ", words, v->is_string() ? v->get<std::string>() : write_json(*v));
  }
  if (const std::string unit = claim.value("unit", ""); !unit.empty()) s += cat(" ", unit);
  s = styled(found["verdict"] == "impossible" ? text_style::red : text_style::bold, s + "\n");
  if (found.contains("slip")) s += cat("  as if: ", found["slip"].get<std::string>(), "\n");
  if (found.contains("or_slips")) {
    for (const json& other : found["or_slips"])
      s += cat("  or as if: ", other.get<std::string>(), "\n");
  }
  if (found.contains("possible_with")) {
    const char* word = "  possible with ";
    for (const json& setting : found["possible_with"]) {
      const json& v = setting["value"];
      s += cat(word, setting["key"].get<std::string>(), " ",
               v.is_string() ? v.get<std::string>() : write_json(v));
      word = ", or with ";
    }
    s += "\n";
  }
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
