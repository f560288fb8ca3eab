#include "audit_slips.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/hardware/catalog/alternatives.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/units/text.hpp>

#include "io/formats.hpp"
#include "output.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr const char* others_of_a_claim[] = {"over", "minus"};

// --- what stands in other places --------------------------------------------------------------------

/// Whether the other figure of a fact is somebody's: refuted ones are claims of the kind that is audited, but
/// for those of another memory's table.
bool is_in_print(const pm::catalog::alternative& a) {
  return std::string_view(a.status) != "refuted" ||
         std::string_view(a.from.text) == pm::catalog::claims::horowitz.text;
}
std::string words_of(const pm::catalog::alternative& a) {
  return cat(a.field, " ", pm::detail::significant(a.value, 4), " ", a.unit, ": ", a.why);
}
std::vector<std::string> figures_of(std::string_view accelerator) {
  std::vector<std::string> all;
  for (const auto& a : pm::catalog::alternatives) {
    if (accelerator == a.accelerator && is_in_print(a)) all.push_back(words_of(a));
  }
  return all;
}
void set_figure(json& question, std::string_view words) {
  for (const auto& a : pm::catalog::alternatives) {
    if (words == words_of(a) && question["accelerator"] == a.accelerator)
      question["set"][a.field] = a.value;
  }
}

/// A number of a machine: "dram.bandwidth", "h100_sxm", 3.35e12.
struct machine_figure {
  std::string fact{}, machine{}, vendor{};
  double value = 0.0;
  pm::unit_exponents unit{};
};
const std::vector<machine_figure>& machine_figures() {
  static const std::vector<machine_figure> all = [] {
    std::vector<machine_figure> found;
    for (const auto& a : pm::catalog::accelerators) {
      pm::map_scalars<double>(*a.spec, [&](const pm::field_path& path, double x, const pm::source*,
                                           pm::unit_exponents unit) {
        found.push_back({path.text(), a.key, std::string(a.spec->vendor.view()), x, unit});
        return x;
      });
    }
    for (const auto& a : pm::catalog::alternatives) {
      const auto* of = pm::catalog::find_accelerator(a.accelerator);
      if (is_in_print(a))
        found.push_back({a.field,
                         cat(a.accelerator, ", ", a.why),
                         std::string(of->vendor.view()),
                         a.value,
                         {}});
    }
    return found;
  }();
  return all;
}
/// Those of other machines of its maker, where a number is that of one.
void add_machines(pm::misprint_input& i, const pm::unit_exponents& unit) {
  constexpr double same = 0.01;
  std::vector<const machine_figure*> own;
  for (const machine_figure& f : machine_figures()) {
    if (f.unit == unit && std::abs(f.value - *i.number) <= same * *i.number) own.push_back(&f);
  }
  for (const machine_figure& f : machine_figures()) {
    const bool known = std::ranges::any_of(
        own, [&f](const machine_figure* o) { return o->fact == f.fact && o->vendor == f.vendor; });
    if (known && f.value > 0.0) i.others.push_back({cat(f.fact, " of ", f.machine), f.value});
  }
}
/// Those of models of nearly the size, the nearest first.
void add_models(pm::misprint_input& i) {
  constexpr double much = 1.3;
  for (const auto& m : pm::catalog::models) {
    const double ratio = m.published_parameters / *i.number;
    if (ratio < much && ratio > 1.0 / much)
      i.others.push_back({cat("of ", m.key), double(m.published_parameters)});
  }
}

// --- the inputs of a question -----------------------------------------------------------------------

/// Machines that a number may be of.
void add_machines_of_its_maker(pm::misprint_input& i) {
  const auto own = named_accelerator(i.word);
  for (const auto& a : pm::catalog::accelerators) {
    if (a.spec->vendor.view() == own->vendor.view()) i.words.emplace_back(a.key);
  }
}
void add_inputs(std::vector<pm::misprint_input>& all, const query& asked, const json& question,
                const std::string& prefix) {
  for (const key& k : asked.keys) {
    const auto given = question.find(k.name);
    pm::misprint_input i;
    i.name = prefix + k.name;
    i.optional = !k.required;
    i.whole = k.range.whole;
    if (given != question.end() && given->is_number()) {
      i.number = given->get<double>();
      const std::string_view name = k.name;
      if (name == "parameters" || name == "elements") add_models(i);
      if (*i.number > 0.0 && k.unit != pm::unit_exponents{}) add_machines(i, k.unit);
    } else if (k.kind == key_kind::word) {
      i.word =
          given != question.end() && given->is_string() ? given->get<std::string>() : k.fallback;
      i.words.assign(k.words.begin(), k.words.end());
      std::ranges::stable_sort(i.words, {}, [&](const std::string& w) { return edits(w, i.word); });
    } else if (std::string_view(k.name) == "accelerator" && given != question.end() &&
               given->is_string()) {
      i.word = given->get<std::string>();
      add_machines_of_its_maker(i);
      std::ranges::stable_sort(i.words, {}, [&](const std::string& w) { return edits(w, i.word); });
    } else {
      continue;
    }
    all.push_back(std::move(i));
  }
}
pm::misprint_input word_input(const char* name, std::string word, std::vector<std::string> words) {
  pm::misprint_input i;
  i.name = name;
  i.word = std::move(word);
  i.words = std::move(words);
  return i;
}
/// Those of the question, of what it is divided by and less, and what of the claim can be left out.
std::vector<pm::misprint_input> inputs_of(const answered_claim& c, const given_profile* profile) {
  const query& asked = quantity_of(c.claim);
  std::vector<pm::misprint_input> all;
  add_inputs(all, asked, c.question, "");
  for (const char* other : others_of_a_claim) {
    const auto at = c.claim.find(other);
    if (at == c.claim.end() || !at->is_object()) continue;
    const json question = question_of(*at);
    const query& below = quantity_of(*at);
    const std::size_t before = all.size();
    add_inputs(all, below, question, cat(other, "."));
    if (&below != &asked) continue;  // what both have alike is mistaken in both, see put_below
    const auto alike = [&](const pm::misprint_input& i) {
      const std::string name = i.name.substr(i.name.find('.') + 1);
      const auto a = c.question.find(name), b = question.find(name);
      return a == c.question.end() ? b == question.end() : b != question.end() && *a == *b;
    };
    all.erase(std::remove_if(all.begin() + static_cast<std::ptrdiff_t>(before), all.end(), alike),
              all.end());
  }
  std::vector<std::string> keys;
  for (const auto& r : answer_of(asked, c.question, profile).results) keys.emplace_back(r.key);
  all.push_back(word_input("key", c.law.key, std::move(keys)));
  if (const auto a = c.question.find("accelerator"); a != c.question.end() && a->is_string()) {
    if (auto words = figures_of(a->get<std::string>()); !words.empty())
      all.push_back(word_input("figure", "", std::move(words)));
  }
  if (c.question.contains("set")) all.push_back(word_input("set", "", {}));
  if (c.claim.contains("minus")) all.push_back(word_input("minus", "", {}));
  return all;
}

/// The question of a claim asked again with some of it changed.
class claim_asked_again {
 public:
  claim_asked_again(const answered_claim& c, const given_profile* profile)
      : of_(c), profile_(profile) {}

  std::optional<double> operator()(std::span<const pm::misprint_question> changes) const {
    json q = of_.question, asked_for = of_.claim;
    double width = 1.0;
    try {
      for (const pm::misprint_question& changed : changes) {
        if (changed.by_bits) width = wider(q, *changed.word);
        change(q, asked_for, changed);
      }
      const law_answer other = answer_to(asked_for, q, profile_);
      return other.unit == of_.law.unit ? std::optional(width * other.value) : std::nullopt;
    } catch (const error&) {
      return {};
    }
  }

 private:
  /// How much wider a format is than that of the question; 1 of anything else.
  double wider(const json& q, std::string_view word) const {
    const key* k = quantity_of(of_.claim).find("format");
    if (k == nullptr) return 1.0;
    const auto given = q.find("format");
    const bool is_given = given != q.end() && given->is_string();
    const auto own = find_format(is_given ? given->get<std::string>() : k->fallback);
    const auto other = find_format(word);
    return own && other ? bits_of(*other) / bits_of(*own) : 1.0;
  }
  static void change(json& q, json& asked_for, const pm::misprint_question& changed) {
    std::string name(changed.input);
    json* in = name == "key" || name == "minus" ? &asked_for : &q;
    for (const char* other : others_of_a_claim) {
      if (!name.starts_with(cat(other, "."))) continue;
      in = &asked_for[other];
      name.erase(0, name.find('.') + 1);
    }
    if (name == "figure") return set_figure(q, *changed.word);
    json to = nullptr;
    if (changed.number) to = *changed.number;
    if (changed.word) to = std::string(*changed.word);
    const auto put = [&](json& there) {
      if (to.is_null()) {
        there.erase(name);
      } else {
        there[name] = to;
      }
    };
    if (in == &q || name == "key") put_below(asked_for, q, name, put);
    put(*in);
  }
  /// In a quotient of one law by itself whatever both sides have alike is mistaken in both.
  template <class Put>
  static void put_below(json& asked_for, const json& q, const std::string& name, const Put& put) {
    const auto below = asked_for.find("over");
    if (below == asked_for.end() || (*below)["quantity"] != asked_for["quantity"]) return;
    const json& above = name == "key" ? asked_for : q;
    const json under = name == "key" ? *below : question_of(*below);
    const auto a = above.find(name), b = under.find(name);
    const bool alike = a == above.end() ? b == under.end() : b != under.end() && *a == *b;
    if (alike) put(*below);
  }

  const answered_claim& of_;
  const given_profile* profile_;
};

std::string words_of(const pm::misprint& kind, const std::string& input,
                     const std::string& instead) {
  if (kind.place == pm::misprint_place::part || input.empty()) return kind.name;
  if (kind.change == pm::misprint_change::left_out) return cat(input, " left out");
  return cat(kind.name, " (", input, instead.empty() ? "" : " ", instead, ")");
}
std::string words_of(const pm::found_misprint& s) {
  std::string text = words_of(*s.kind, s.input, s.instead);
  if (s.second != nullptr)
    text += cat(", and ", words_of(*s.second, s.second_input, s.second_instead));
  return text;
}

// --- numbers carried on from other claims -------------------------------------------------------------

std::string name_of(const answered_claim& c) {
  const auto id = c.claim.find("id");
  return id != c.claim.end() && id->is_string() ? id->get<std::string>() : "an earlier claim";
}
json source_of(const answered_claim& c) {
  const auto at = c.claim.find("source");
  return at != c.claim.end() ? *at : json(nullptr);
}
bool is_wrong(const answered_claim& c) {
  return c.found == pm::verdict::wrong || c.found == pm::verdict::impossible;
}
bool is_plain(const answered_claim& c) {
  return !c.claim.contains("over") && !c.claim.contains("minus") && c.said.low == c.said.high;
}

/// "algorithm tree", "no ranks": what one question has otherwise than another.
std::vector<std::string> differences(const json& a, const json& b) {
  std::vector<std::string> all;
  for (const auto& [name, v] : a.items()) {
    const auto at = b.find(name);
    if (at != b.end() && *at == v) continue;
    all.push_back(cat(name, " ",
                      v.is_number()   ? pm::detail::significant(v.get<double>(), 4)
                      : v.is_string() ? v.get<std::string>()
                                      : write_json(v)));
  }
  for (const auto& [name, v] : b.items()) {
    if (!a.contains(name)) all.push_back(cat("no ", name));
  }
  return all;
}

class carried {
 public:
  carried(const answered_claim& c, const earlier_claims& before, const given_profile* profile)
      : of_(c), profile_(profile) {
    for (const answered_claim& e : before.all()) {
      if (source_of(e) == source_of(c) && is_plain(e)) near_.push_back(&e);
    }
  }

  /// What follows from other numbers of the text alone, in words; nothing where none does.
  std::string followed() const {
    if (std::string s = in_a_quotient(); !s.empty()) return s;
    return by_its_law();
  }
  /// A right number of the same law under other conditions. One that stands in several of them for this one's
  /// is likelier than a slip; one other condition is a slip.
  std::string of_other_conditions(bool several) const {
    const answered_claim* nearest = nullptr;
    std::vector<std::string> least;
    for (const answered_claim* e : near_) {
      if (!has_the_number(*e)) continue;
      std::vector<std::string> here = differences(e->question, of_.question);
      if (here.empty() || (nearest != nullptr && here.size() >= least.size())) continue;
      nearest = e;
      least = std::move(here);
    }
    const auto stands = [](const std::string& x) { return !x.starts_with("no "); };
    if (nearest == nullptr || (std::ranges::count_if(least, stands) > 1) != several) return {};
    std::string how;
    for (const std::string& x : least) how += cat(how.empty() ? "" : ", ", x);
    return cat("the number of ", name_of(*nearest), ", of other conditions (", how, ")");
  }

 private:
  bool explains(double x) const { return pm::explained_by(of_.said, x); }

  bool has_the_number(const answered_claim& e) const {
    return is_plain(of_) && !is_wrong(e) && e.question["query"] == of_.question["query"] &&
           e.law.key == of_.law.key && e.said.low == of_.said.low;
  }

  /// The number that a wrong claim has for a question.
  const answered_claim* wrong_for(const json& question, const std::string& key) const {
    for (const answered_claim* e : near_) {
      if (is_wrong(*e) && e->law.key == key && differences(e->question, question).empty()) return e;
    }
    return nullptr;
  }
  /// Wrong numbers on one side of a quotient, or on both.
  std::string in_a_quotient() const {
    const auto over = of_.claim.find("over");
    if (over == of_.claim.end() || of_.claim.contains("minus")) return {};
    const json under = question_of(*over);
    const answered_claim* top = wrong_for(of_.question, of_.law.key);
    const answered_claim* bottom = wrong_for(under, over->value("key", of_.law.key));
    if (top == nullptr && bottom == nullptr) return {};
    json alone = of_.claim;
    alone.erase("over");
    const double above =
        top != nullptr ? top->said.low : answer_to(alone, of_.question, profile_).value;
    const double below =
        bottom != nullptr ? bottom->said.low : answer_to(*over, under, profile_).value;
    if (below == 0.0 || !explains(above / below)) return {};
    const bool both = top != nullptr && bottom != nullptr;
    return cat("carried on from ", name_of(top != nullptr ? *top : *bottom),
               both ? cat(" and ", name_of(*bottom)) : "");
  }
  /// The law's answer to another question; none where it has none.
  std::optional<double> answer(const json& question) const {
    try {
      return answer_to(of_.claim, question, profile_).value;
    } catch (const error&) {
      return {};
    }
  }
  /// What the law makes of the input that another wrong answer of it would take.
  std::string by_its_law() const {
    if (!is_plain(of_)) return {};
    for (const answered_claim* e : near_) {
      if (!is_wrong(*e) || e->question["query"] != of_.question["query"] ||
          e->law.key == of_.law.key)
        continue;
      for (const json& n : e->needed) {
        json q = e->question;
        q[n["key"].get<std::string>()] = n["needed"];
        if (const auto y = answer(q); y && explains(*y))
          return cat("carried on from ", name_of(*e), " (", n["key"].get<std::string>(), " ",
                     pm::detail::significant(n["needed"].get<double>(), 4), ")");
      }
    }
    return {};
  }

  const answered_claim& of_;
  const given_profile* profile_;
  std::vector<const answered_claim*> near_{};
};

}  // namespace

std::vector<std::string> slips_of(const answered_claim& c, const earlier_claims* before,
                                  const given_profile* profile) {
  if (!c.law.feasible) {
    if (pm::agrees(c.said, c.law.value, pm::reproduced_within) ||
        pm::rounds_to(c.said, c.law.value))
      return {"it is not asked whether it fits"};
    return {};
  }
  if (c.law.key == "feasible") return {};  // whatever is changed enough explains a yes or a no
  std::vector<std::string> all;
  const auto add = [&all](std::string s) {
    if (!s.empty()) all.push_back(std::move(s));
  };
  const earlier_claims none;
  const bool tells = pm::is_informative(c.said);
  const carried on(c, before != nullptr && tells ? *before : none, profile);
  add(on.followed());
  add(on.of_other_conditions(true));
  for (const auto& s : pm::misprints_behind(c.said, c.law.value, c.law.unit, inputs_of(c, profile),
                                            claim_asked_again(c, profile)))
    add(words_of(s));
  add(on.of_other_conditions(false));
  return all;
}

json needed_of(const answered_claim& c, const given_profile* profile) {
  constexpr std::size_t most = 3;
  json out = json::array();
  std::vector<pm::misprint_input> inputs;
  add_inputs(inputs, quantity_of(c.claim), c.question, "");
  const double value = c.law.value < c.said.low ? c.said.low : c.said.high;
  for (const auto& n : pm::needed_inputs(value, inputs, claim_asked_again(c, profile))) {
    if (out.size() == most) break;
    out.push_back({{"key", n.name},
                   {"said", number_json("said", n.stated)},
                   {"needed", number_json("needed", n.needed)}});
  }
  return out;
}

}  // namespace napkin
