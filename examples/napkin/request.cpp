#include "request.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "../common/amount.hpp"
#include "query.hpp"

namespace napkin {

namespace {

json scalar_value(const key* declared, std::string_view text) {
  const unit_exponents unit = declared == nullptr ? unit_exponents{} : declared->unit;
  if (const auto x = parse_amount(text, unit)) return number_json("the value", *x);
  if (unit != unit_exponents{}) {
    throw error(code::wrong_type, cat(declared->name, " is ", in_quotes(text), "; allowed: ",
                                      declared->allowed(), declared->allowed_unit()));
  }
  if (text == "true") return true;
  if (text == "false") return false;
  return std::string(text);
}

double checked_number(const key& k, const json_field& v) {
  const double x = v.raw().is_number() ? v.number() : 0.0;
  if (!v.raw().is_number()) v.refuse(json_fault::wrong_type, k.allowed());
  if (!k.range.holds(x)) v.refuse(json_fault::not_allowed, k.allowed());
  return x;
}

/// Numbers of an object by name, in the order of the key's words; below 0 where one is not given.
void assign_named(const key& k, const json_field& given, value& out) {
  if (given.raw().empty()) given.refuse(json_fault::not_allowed, k.allowed());
  const key one = number(k.name, k.help, k.range);
  out.numbers.assign(k.words.size(), -1.0);
  for (const auto& [name, x] : given.raw().items()) {
    const auto at = std::find(k.words.begin(), k.words.end(), name);
    if (at == k.words.end()) {
      throw error(error_code::unknown_name,
                  cat(k.name, " has ", in_quotes(one_line(name)), "; allowed: ", listed(k.words)));
    }
    out.numbers[static_cast<std::size_t>(at - k.words.begin())] =
        checked_number(one, json_field(x, cat(k.name, ".", name)));
  }
}

void assign(const key& k, const json& given, value& out) {
  const json_field v(given, k.name);
  out.present = true;
  switch (k.kind) {
    case key_kind::number: out.number = checked_number(k, v); return;
    case key_kind::numbers:
      if (!given.is_array()) {
        out.number = checked_number(k, v);
        return;
      }
      if (given.empty() || given.size() > 4096) v.refuse(json_fault::not_allowed, k.allowed());
      for (const json_field& x : v.list()) out.numbers.push_back(checked_number(k, x));
      return;
    case key_kind::flag: out.flag = v.truth(); return;
    case key_kind::text:
    case key_kind::word: break;
  }
  if (k.kind == key_kind::text && !k.words.empty() && given.is_object()) {
    assign_named(k, v, out);
    return;
  }
  if (!given.is_string()) v.refuse(json_fault::wrong_type, k.allowed());
  out.text = given.get_ref<const std::string&>();
  if (k.kind == key_kind::word &&
      std::find(k.words.begin(), k.words.end(), out.text) == k.words.end()) {
    v.refuse(json_fault::unknown_word, k.allowed());
  }
}

void assign_default(const key& k, value& out) {
  const std::string_view text = k.fallback;
  if (text.empty()) return;
  out.present = true;
  std::string_view rest;
  switch (k.kind) {
    case key_kind::flag: out.flag = text == "true"; return;
    case key_kind::text:
    case key_kind::word: out.text = text; return;
    default: out.number = parse_number(text, rest).value_or(0.0);
  }
}

/// What a request asks of its accelerator beside the name; null where it does not.
const json* member(const json& object, const char* name) {
  const auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}

/// Those of the key accelerator: one, or with `several` a list with commas.
std::vector<found_accelerator> accelerators_of(std::string_view names, bool several,
                                               const json& object) {
  std::vector<found_accelerator> all;
  for (const auto name : several ? split(names, ',') : std::vector{names}) {
    found_accelerator a = changed_accelerator(named_accelerator(name), member(object, "set"),
                                              member(object, "price"));
    for (const found_accelerator& other : all) {
      if (!(other->name == a->name)) continue;
      throw error(error_code::inconsistent, cat("accelerator has two of the name ", a->name.view(),
                                                "; give one of them another name"));
    }
    all.push_back(std::move(a));
  }
  return all;
}

/// A profile that was given for a request is of one of its accelerators.
void check_profile(const query& asked, const given_profile* p,
                   const std::vector<found_accelerator>& accelerators) {
  if (p == nullptr || !p->must_match) return;
  if (p->service && !takes_services(asked)) {
    throw error(error_code::inconsistent, cat("the profile is of a service, which says nothing of ",
                                              asked.name, "; allowed: step, serving"));
  }
  for (const found_accelerator& a : accelerators) {
    if (a->name == p->machine.name) return;
  }
  throw error(error_code::inconsistent,
              cat("the profile is of ", p->machine.name.view(), ", and the accelerator is ",
                  listed(accelerators, [](const auto& a) { return a->name.view(); })));
}

}  // namespace

void missing_key(const query& asked, std::string_view name, const std::string& hint) {
  throw error(code::missing_key, std::string(name) + " is missing; " + asked.name + " needs it" +
                                     (hint.empty() ? "" : ": " + hint));
}

request::request(const query& asked, const json& object, const given_profile* profile)
    : asked_(asked), profile_(profile), values_(asked.keys.size()) {
  const key* chips = asked.find("accelerator");
  for (const auto& [name, v] : object.items()) {
    if (std::find(std::begin(common_keys), std::end(common_keys), name) != std::end(common_keys))
      continue;
    if (chips != nullptr && (name == "set" || name == "price")) continue;
    const key* k = asked.find(name);
    if (k == nullptr) {
      std::vector<std::string_view> names;
      for (const key& known : asked.keys) names.push_back(known.name);
      throw error(code::unknown_key,
                  cat(in_quotes(name), " is no key of ", asked.name, "; allowed: ", listed(names),
                      ", id, mode", chips == nullptr ? "" : ", set, price"));
    }
    value& slot = values_[static_cast<std::size_t>(k - asked.keys.data())];
    slot.given = true;
    assign(*k, v, slot);
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].given) continue;
    const key& k = asked.keys[i];
    if (k.required) missing_key(asked, k.name, k.help);
    assign_default(k, values_[i]);
  }
  if (chips == nullptr) return;
  if (has("accelerator")) {
    accelerators_ = accelerators_of(text("accelerator"), chips->several, object);
    check_profile(asked_, profile, accelerators_);
  } else if (member(object, "set") != nullptr || member(object, "price") != nullptr) {
    missing_key(asked, "accelerator", "set and price say something of it");
  }
}

const perfmodel::accelerator& request::accelerator() const {
  if (accelerators_.empty()) throw std::logic_error("a request without an accelerator");
  return *accelerators_.front();
}

const value& request::at(std::string_view name) const {
  const key* k = asked_.find(name);
  if (k == nullptr) throw std::logic_error("no key " + std::string(name) + " in " + asked_.name);
  return values_[static_cast<std::size_t>(k - asked_.keys.data())];
}

json from_command_line(const key* declared, const std::string& text) {
  if (declared != nullptr &&
      (declared->kind == key_kind::text || declared->kind == key_kind::word)) {
    return text;
  }
  const auto items = split(text, ',');
  if (items.size() == 1) return scalar_value(declared, text);
  json list = json::array();
  for (const std::string_view item : items) list.push_back(scalar_value(declared, item));
  return list;
}

void add_set(json& request, std::string_view fact) {
  const std::size_t equals = fact.find('=');
  if (equals == fact.npos || equals == 0 || equals + 1 == fact.size()) {
    throw error(code::wrong_type, cat("set is ", in_quotes(fact),
                                      "; allowed: fact=value, such as dram.bandwidth=6TB/s"));
  }
  const std::string name(fact.substr(0, equals));
  json& set = request["set"];
  if (set.contains(name)) {
    throw error(error_code::inconsistent, cat("set has ", in_quotes(name), " twice"));
  }
  set[name] = fact.substr(equals + 1);
}

json id_from_command_line(const std::string& text) {
  json id = from_command_line(nullptr, text), sent;
  if (!id.is_number()) return id;
  try {
    read_json(cat("{\"id\":", text, '}'), sent);
    return sent["id"];
  } catch (const error&) {
    return id;  // +1 and .5 are no JSON
  }
}

}  // namespace napkin
