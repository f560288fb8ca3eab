#include "audit.hpp"

#include <algorithm>
#include <perfmodel/units/text.hpp>

#include "audit_slips.hpp"
#include "io/amount.hpp"
#include "output.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

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

/// The verdict, and what it is for in words.
std::string judge(answered_claim& c, const unit_size& u, const std::string& unit) {
  const query& asked = quantity_of(c.claim);
  c.found = pm::verdict_of(c.said, c.law.value, c.law.kind, c.law.feasible);
  if (c.found == pm::verdict::impossible && c.law.feasible) {
    if (std::string needed = unstated_input(asked, c.question, c.law); !needed.empty()) {
      c.found = pm::verdict::needs;
      return needed;
    }
  }
  return reason_of(c.found, asked, c.law, u, unit);
}
void add_slips(json& out, answered_claim& c, const earlier_claims* before,
               const given_profile* profile) {
  constexpr std::size_t most = 4;
  std::vector<std::string> misprints = slips_of(c, before, profile);
  if (misprints.size() > most) misprints.resize(most);
  if (!misprints.empty()) out["slip"] = misprints.front();
  if (misprints.size() > 1)
    out["or_slips"] = json(std::vector(misprints.begin() + 1, misprints.end()));
  if (!c.law.feasible) return;
  c.needed = needed_of(c, profile);
  if (!c.needed.empty()) out["would_take"] = c.needed;
}

}  // namespace

json audit_json(const json& claim, const given_profile* profile, earlier_claims* before) {
  if (!claim.is_object()) throw error(code::malformed_request, "a claim is an object");
  quantity_of(claim);
  const std::string unit = claim.value("unit", "");
  const unit_size u = unit_of(unit);
  answered_claim c{.claim = claim, .said = claimed(claim, u)};
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
  check_unit(c.law, u, unit);
  const std::string reason = judge(c, u, unit);
  out["verdict"] = pm::name_of(c.found);
  out["key"] = c.law.key;
  out["value"] = number_json("value", c.law.value / u.factor);
  if (!unit.empty()) out["unit"] = unit;
  out["reason"] = reason;
  if (c.found == pm::verdict::wrong || c.found == pm::verdict::impossible)
    add_slips(out, c, before, profile);
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
    const std::string name = said == "gpu" ? "accelerator" : said;
    const key* k = asked.find(name);
    const bool words_only = k == nullptr && name != "value" && name != "digits";
    claim[name] = words_only ? json(text) : from_command_line(k, text, cat("--", said));
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
  if (found.contains("or_slips")) {
    for (const json& other : found["or_slips"])
      s += cat("  or as if: ", other.get<std::string>(), "\n");
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
