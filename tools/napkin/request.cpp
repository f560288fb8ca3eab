#include "request.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "engine_settings.hpp"
#include "io/amount.hpp"
#include "io/formats.hpp"
#include "published_workloads.hpp"
#include "query.hpp"

namespace napkin {

namespace {

/// A percentage of a key with values up to 1: 0.9 of "90%".
std::optional<double> share_of(const key& k, std::string_view text) {
  if (k.range.most != 1.0 || k.range.whole || !text.ends_with('%')) return {};
  text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::string_view rest;
  const auto x = parse_number(text, rest);
  return x && rest.empty() ? std::optional(*x / 100.0) : std::nullopt;
}

/// Number of a command-line value. Throws wrong_type for a time without a unit, both after the
/// number and in the spelling of its key.
json scalar_value(const key* declared, std::string_view text, std::string_view spelled) {
  if (declared != nullptr && declared->is_time() && !names_seconds(spelled) && lacks_unit(text))
    throw error(code::wrong_type, cat(spelled, " is ", two_readings(text)));
  const unit_exponents unit = declared == nullptr ? unit_exponents{} : declared->unit;
  const bool counts = declared != nullptr && unit == unit_exponents{};
  if (const auto x = counts ? share_of(*declared, text) : std::nullopt)
    return number_json("the value", *x);
  if (const auto x = counts ? parse_count(text) : parse_amount(text, unit))
    return number_json("the value", *x);
  if (unit != unit_exponents{}) {
    throw error(code::wrong_type, cat(declared->name, " is ", in_quotes(text), "; allowed: ",
                                      declared->allowed(), declared->allowed_unit()));
  }
  if (text == "true") return true;
  if (text == "false") return false;
  return std::string(text);
}

double checked_number(const key& k, const json_field& v) {
  if (k.is_time() && v.raw().is_string() && lacks_unit(v.raw().get_ref<const std::string&>()))
    v.fail(json_fault::wrong_type,
           cat(k.name, " is \"", v.text(), "\", a text without a unit: ", v.text(), " ms or ",
               v.text(), " s? allowed: a number of seconds"));
  double x = v.raw().is_number() ? v.number() : 0.0;
  if (v.raw().is_string()) {
    const std::string& text = v.raw().get_ref<const std::string&>();
    std::optional<double> amount = share_of(k, text);
    if (!amount)
      amount = k.unit == unit_exponents{} ? parse_count(text) : parse_amount(text, k.unit);
    if (!amount || lacks_unit(text)) v.refuse(json_fault::wrong_type, k.allowed());
    x = *amount;
  } else if (!v.raw().is_number()) {
    v.refuse(json_fault::wrong_type, k.allowed());
  }
  if (!k.range.holds(x)) v.refuse(json_fault::not_allowed, k.allowed());
  return x;
}

/// Numbers of an object by name, in the order of the key's words; negative where one is absent.
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

/// The allowed word for another spelling of it: FP8, bfloat16, vLLM, TensorRT-LLM.
std::string_view word_of(const key& k, const std::string& given) {
  const auto allowed = [&k](std::string_view word) {
    const auto found = std::find(k.words.begin(), k.words.end(), word);
    return found == k.words.end() ? std::string_view() : *found;
  };
  const std::string small = lower_case(given);
  if (const auto word = allowed(given); !word.empty()) return word;
  if (const auto word = allowed(small); !word.empty()) return word;
  if (const auto f = find_format(small); f && !allowed(name_of(*f)).empty())
    return allowed(name_of(*f));
  if (std::string_view(k.name) == "engine_version") {
    if (const auto version = version_of_release(small)) return allowed(*version);
  }
  const bool trtllm = small == "tensorrt-llm" || small == "tensorrt_llm" || small == "trt-llm";
  return trtllm && !allowed("trtllm").empty() ? allowed("trtllm") : std::string_view(given);
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
  const std::string& text = given.get_ref<const std::string&>();
  out.spelling = text;
  out.text = k.kind == key_kind::word ? word_of(k, text) : std::string_view(text);
  if (k.kind == key_kind::word && !(k.gguf && gguf_storage(out.text)) &&
      std::find(k.words.begin(), k.words.end(), out.text) == k.words.end()) {
    v.refuse(json_fault::unknown_word, k.allowed());
  }
}

void assign_default(const key& k, double number, value& out) {
  const std::string_view text = k.fallback;
  if (text.empty()) return;
  out.present = true;
  switch (k.kind) {
    case key_kind::flag: out.flag = text == "true"; return;
    case key_kind::text:
    case key_kind::word: out.text = text; return;
    default: out.number = number;
  }
}

/// Member of an object, such as set or price; null where it is absent.
const json* member(const json& object, const char* name) {
  const auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}

/// The accelerators of a request, each once, as changed by set and price.
class named_chips {
 public:
  named_chips(const request& r, const key& own, const json& object)
      : set_(member(object, "set")), price_(member(object, "price")) {
    const auto add = [](std::string_view names, bool several, std::vector<chip>& to) {
      for (const auto name : several ? split(names, ',') : std::vector{names})
        to.push_back({named_accelerator(name), {}});
    };
    add(r.text(own.name), own.several, decode_chips_);
    const bool prompts = r.asked().find("prefill_accelerator") != nullptr;
    if (prompts && r.has("prefill_accelerator"))
      add(r.text("prefill_accelerator"), true, prefill_chips_);
    check();
    for (chip& c : decode_chips_) c.changed = change(c.named);
    for (chip& c : prefill_chips_) c.changed = change(c.named);
  }

  std::vector<found_accelerator> answers() const { return changed(decode_chips_); }
  std::vector<found_accelerator> prompts() const { return changed(prefill_chips_); }

 private:
  struct chip {
    found_accelerator named{}, changed{};
  };
  static const chip* find(const std::vector<chip>& all, std::string_view name) {
    const auto at =
        std::ranges::find_if(all, [&](const chip& c) { return c.named->name.view() == name; });
    return at == all.end() ? nullptr : &*at;
  }
  static std::vector<found_accelerator> changed(const std::vector<chip>& all) {
    std::vector<found_accelerator> out;
    for (const chip& c : all) out.push_back(c.changed);
    return out;
  }

  /// Accelerators of both keys.
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> all;
    for (const chip& c : decode_chips_) all.push_back(c.named->name.view());
    for (const chip& c : prefill_chips_) {
      if (find(decode_chips_, c.named->name.view()) == nullptr) all.push_back(c.named->name.view());
    }
    return all;
  }
  bool is_named(std::string_view name) const {
    return find(decode_chips_, name) != nullptr || find(prefill_chips_, name) != nullptr;
  }
  /// The accelerator that prefixes a fact: h100_sxm.dram.bandwidth; "" where it names none.
  std::string_view chip_of(std::string_view fact) const {
    for (const std::string_view name : names()) {
      if (fact.size() > name.size() && fact.starts_with(name) && fact[name.size()] == '.')
        return name;
    }
    return {};
  }

  void check() const {
    each_once(decode_chips_, "accelerator", "; give one of them another name");
    each_once(prefill_chips_, "prefill_accelerator", "; allowed: each once");
    if (names().size() > decode_chips_.size()) check_apart();
    if (price_ == nullptr || !price_->is_object()) return;
    for (const auto& [name, p] : price_->items()) {
      if (!is_named(name))
        throw error(error_code::unknown_name,
                    cat("price has ", in_quotes(one_line(name)), "; allowed: ", listed(names())));
    }
  }
  static void each_once(const std::vector<chip>& all, const char* what, const char* allowed) {
    for (const chip& c : all) {
      if (find(all, c.named->name.view()) != &c)
        throw error(error_code::inconsistent,
                    cat(what, " has two of the name ", c.named->name.view(), allowed));
    }
  }
  /// With a separate prefill accelerator, a change must name its accelerator.
  void check_apart() const {
    const auto refuse = [this](const char* what, const std::string& is,
                               const std::string& instead) {
      throw error(error_code::inconsistent, cat(what, " is ", is, " and the chips are ",
                                                listed(names()), "; allowed: by name, ", instead));
    };
    if (price_ != nullptr && !price_->is_object())
      refuse("price", brief(*price_), cat(names().back(), "=2.5"));
    if (set_ == nullptr || !set_->is_object()) return;
    for (const auto& [fact, x] : set_->items()) {
      if (chip_of(fact).empty())
        refuse("set", one_line(fact), cat(names().back(), '.', one_line(fact)));
    }
  }

  found_accelerator change(const found_accelerator& a) const {
    const std::string_view name = a->name.view();
    const json* price = price_;
    if (price != nullptr && price->is_object()) price = member(*price_, std::string(name).c_str());
    if (set_ == nullptr || !set_->is_object()) return changed_accelerator(a, set_, price);
    json facts = json::object();
    for (const auto& [fact, x] : set_->items()) {
      const std::string_view of = chip_of(fact);
      if (of.empty()) {
        facts[fact] = x;
      } else if (of == name) {
        facts[fact.substr(of.size() + 1)] = x;
      }
    }
    const bool none = facts.empty() && !set_->empty();
    return changed_accelerator(a, none ? nullptr : &facts, price);
  }

  const json* set_;
  const json* price_;
  std::vector<chip> decode_chips_{}, prefill_chips_{};
};

/// Checks that a given profile belongs to one of the request's accelerators.
void check_profile(const query& asked, const given_profile* p,
                   std::vector<found_accelerator> accelerators,
                   const std::vector<found_accelerator>& of_prefills) {
  if (p == nullptr || !p->must_match) return;
  if (p->service && !takes_services(asked)) {
    throw error(error_code::inconsistent, cat("the profile is of a service and does not apply to ",
                                              asked.name, "; allowed: step, serving, plan"));
  }
  accelerators.insert(accelerators.end(), of_prefills.begin(), of_prefills.end());
  for (const found_accelerator& a : accelerators) {
    if (a->name == p->machine.name) return;
  }
  throw error(error_code::inconsistent,
              cat("the profile is of ", p->machine.name.view(), ", and the accelerator is ",
                  listed(accelerators, [](const auto& a) { return a->name.view(); })));
}

/// Throws inconsistent for TensorRT-LLM on accelerators that it does not run on.
void require_engine(const request& r) {
  if (r.asked().find("engine") == nullptr || !r.has("engine")) return;
  const auto engines = split(r.text("engine"), ',');
  if (std::find(engines.begin(), engines.end(), "trtllm") == engines.end()) return;
  for (const auto& all : {r.accelerators(), r.prefill_accelerators()}) {
    for (const found_accelerator& a : all) {
      if (engine_runs_on(perfmodel::engine::trtllm, *a)) continue;
      const auto kind = perfmodel::facts_of(a->architecture).kind;
      throw error(error_code::inconsistent,
                  cat("engine is trtllm, and TensorRT-LLM does not run on ", a->name.view(), " (",
                      name_of(kind), "); allowed: an NVIDIA GPU, or none, vllm or sglang"));
    }
  }
}

}  // namespace

void missing_key(const query& asked, std::string_view name, const std::string& hint) {
  throw error(code::missing_key, std::string(name) + " is missing; " + asked.name + " needs it" +
                                     (hint.empty() ? "" : ": " + hint));
}

bool has_prices(const query& asked) {
  return asked.find("gpus") != nullptr && asked.find("accelerator") != nullptr;
}

namespace {

/// Words of a name that tell keys apart: of, per and units do not.
std::vector<std::string_view> words_of_name(std::string_view name) {
  std::vector<std::string_view> all = split(name, '_');
  std::erase_if(all, [](std::string_view w) { return w.size() < 3 || w == "per" || w == "max"; });
  return all;
}

/// The keys with the most words of a name, plural or not; at most three.
std::vector<std::string_view> with_words_of(std::string_view name,
                                            const std::vector<std::string_view>& names) {
  std::vector<std::string_view> found;
  std::size_t most = 1;
  const auto same = [](std::string_view a, std::string_view b) {
    return a == b || (a.size() > 3 && b.starts_with(a)) || (b.size() > 3 && a.starts_with(b));
  };
  const std::vector<std::string_view> wanted = words_of_name(name);
  for (const std::string_view known : names) {
    std::size_t shared = 0;
    for (const std::string_view w : words_of_name(known))
      shared += std::any_of(wanted.begin(), wanted.end(), [&](auto x) { return same(w, x); });
    if (shared > most) found.clear();
    if (shared >= most) found.push_back(known);
    most = std::max(most, shared);
  }
  return found.size() > 3 ? std::vector<std::string_view>() : found;
}

/// What is allowed in place of an unknown key: similar keys, all of few, or where they are listed.
std::string instead_of(const query& asked, std::string_view name) {
  std::vector<std::string_view> names;
  for (const key& known : asked.keys) names.push_back(known.name);
  names.insert(names.end(), {"id", "mode"});
  if (asked.find("accelerator") != nullptr) names.push_back("set");
  if (has_prices(asked)) names.push_back("price");
  if (asked.name == std::string_view("diagnose")) names.push_back("runs");  // on the command line
  constexpr std::size_t few = 24;
  const bool is_plan = asked.name == std::string_view("plan");
  if (name == "check")
    return "; allowed: in a request of serving or plan that stands alone, on the command line and "
           "in "
           "JSON";
  const key* layout = is_plan ? find_query("serving").find_spelled(name) : nullptr;
  if (layout != nullptr && (std::string_view(layout->name).ends_with("_parallel") ||
                            std::string_view(layout->name) == "replicas"))
    return cat(", which searches layouts; napkin serving takes ", layout->name);
  std::vector<std::string_view> near{};
  const std::string nearest_name = suggested(name, names);
  if (!nearest_name.empty()) near = {nearest_name};
  if (near.empty()) near = with_words_of(name, names);
  const std::string help = cat("napkin ", asked.name, " --help lists ");
  if (near.size() > 1) return cat("; similar: ", listed(near), "; ", help, "all");
  if (!near.empty()) return cat("; did you mean ", near.front(), "? ", help, "them");
  return names.size() <= few ? cat("; allowed: ", listed(names))
                             : cat("; ", help, "the ", names.size(), " keys");
}

[[noreturn]] void unknown_key(const query& asked, std::string_view name) {
  if (const auto reason = reason_without_key(name); !reason.empty())
    throw error(code::unknown_key,
                cat(in_quotes(name), " is no key of ", asked.name, ": ", reason));
  throw error(code::unknown_key,
              cat("unknown key ", in_quotes(name), " of ", asked.name, instead_of(asked, name)));
}
}  // namespace

request::request(const query& asked, const json& object, const given_profile* profile)
    : asked_(asked), profile_(profile), values_(asked.keys.size()) {
  const key* chips = asked.find("accelerator");
  for (const auto& [name, v] : object.items()) {
    if (std::find(std::begin(common_keys), std::end(common_keys), name) != std::end(common_keys))
      continue;
    if (chips != nullptr && (name == "set" || (name == "price" && has_prices(asked)))) continue;
    const key* k = asked.find(name);
    if (k == nullptr) unknown_key(asked, name);
    value& slot = values_[static_cast<std::size_t>(k - asked.keys.data())];
    slot.given = true;
    assign(*k, v, slot);
  }
  take_workload();
  std::vector<const key*> missing;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].present) continue;
    const key& k = asked.keys[i];
    if (k.required) missing.push_back(&k);
    assign_default(k, asked.default_number(i), values_[i]);
  }
  if (missing.size() == 1) missing_key(asked, missing.front()->name, missing.front()->help);
  if (!missing.empty())
    throw error(code::missing_key,
                cat(listed(missing, [](const key* k) { return k->name; }), " are missing; ",
                    asked.name, " needs them; napkin ", asked.name, " --help has their meaning"));
  if (chips == nullptr) return;
  if (has("accelerator")) {
    const named_chips all(*this, *chips, object);
    accelerators_ = all.answers();
    prefill_accelerators_ = all.prompts();
    check_profile(asked_, profile, accelerators_, prefill_accelerators_);
    require_engine(*this);
  } else if (member(object, "set") != nullptr) {
    missing_key(asked, "accelerator", "set changes its facts");
  }
}

void request::share_texts() {
  texts_ = std::make_shared<shared_texts>();
}

void request::take_workload() {
  if (asked_.find("workload") == nullptr || !has("workload")) return;
  const published_workload& w = find_workload(text("workload"));
  const auto fill = [this](const char* name, double x) {
    const key* k = asked_.find(name);
    if (k == nullptr || !(x > 0.0)) return;
    value& slot = values_[static_cast<std::size_t>(k - asked_.keys.data())];
    if (slot.given) return;
    slot.present = true;
    slot.number = x;
  };
  fill("input_tokens", w.input_tokens);
  fill("input_cv", w.input_cv);
  fill("output_tokens", w.output_tokens);
  fill("output_cv", w.output_cv);
}

const perfmodel::accelerator& request::accelerator() const {
  if (accelerators_.empty()) throw std::logic_error("a request without an accelerator");
  return *accelerators_.front();
}

const value* request::find(const key_name& name) const {
  const key* k = asked_.find(name);
  return k == nullptr ? nullptr : &values_[static_cast<std::size_t>(k - asked_.keys.data())];
}

const value& request::at(const key_name& name) const {
  if (const value* found = find(name)) return *found;
  throw std::logic_error("no key " + std::string(name.text) + " in " + asked_.name);
}

int request::whole(const key_name& name) const {
  const double x = at(name).number;
  constexpr int most = std::numeric_limits<int>::max();
  if (!(x <= most)) {
    throw error(
        error_code::out_of_range,
        cat(name.text, " is ", perfmodel::detail::significant(x, 6), "; allowed: at most ", most));
  }
  return static_cast<int>(x);
}

json from_command_line(const key* declared, const std::string& text, std::string_view spelled) {
  if (declared != nullptr && spelled.empty()) spelled = declared->name;
  if (declared != nullptr &&
      (declared->kind == key_kind::text || declared->kind == key_kind::word)) {
    return text;
  }
  const auto items = split(text, ',');
  const bool is_one = declared != nullptr && declared->kind == key_kind::number;
  if (is_one && items.size() > 1) return text;  // 4,096: refused with its text
  if (items.size() == 1) return scalar_value(declared, text, spelled);
  json list = json::array();
  for (const std::string_view item : items) list.push_back(scalar_value(declared, item, spelled));
  return list;
}

void check_value(const key& k, const json& v) {
  value checked;
  assign(k, v, checked);
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

json price_from_command_line(const std::string& text) {
  if (text.find('=') == text.npos) return from_command_line(nullptr, text);
  json of = json::object();
  for (const std::string_view item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == item.npos || equals == 0 || equals + 1 == item.size())
      throw error(code::wrong_type, cat("price is ", in_quotes(text),
                                        "; allowed: a number, or accelerator=number for each"));
    const std::string name(item.substr(0, equals));
    if (of.contains(name))
      throw error(error_code::inconsistent, cat("price has ", in_quotes(name), " twice"));
    of[name] = from_command_line(nullptr, std::string(item.substr(equals + 1)));
  }
  return of;
}

json id_from_command_line(const std::string& text) {
  json id = from_command_line(nullptr, text), sent;
  if (!id.is_number()) return id;
  try {
    read_json(cat("{\"id\":", text, '}'), sent);
    return sent["id"];
  } catch (const error&) {
    return id;  // +1 and .5 are not JSON
  }
}

}  // namespace napkin
