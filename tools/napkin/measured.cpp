#include "measured.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/tools/audit/misprint_search.hpp>
#include <perfmodel/units/text.hpp>

#include "io/amount.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// A changed request and the name of the change.
struct assumption {
  std::string name{};
  json change = json::object();  ///< keys, and facts below "set"
};

/// A fact times a factor, in the form of --set; nothing where it is not stated.
void scale_fact(json& set, const json& facts, const std::string& name, double factor) {
  const auto at = facts.find(name);
  if (at == facts.end() || !at->is_object() || !(*at)["value"].is_string()) return;
  std::string_view rest;
  const auto x = parse_number((*at)["value"].get_ref<const std::string&>(), rest);
  if (x) set[name] = cat(pm::detail::significant(*x * factor, 17), ' ', rest);
}

void add_formats(std::vector<assumption>& all, const request& r) {
  constexpr std::pair<const char*, const char*> kinds[] = {
      {"kv_format", "cache"}, {"weight_format", "weights"}, {"format", "operands"}};
  for (const auto& [key, what] : kinds) {
    if (r.asked().find(key) == nullptr) continue;
    for (const char* f : {"fp8", "fp4"}) {
      json change = {{key, f}};
      if (std::string_view(key) == "weight_format" &&
          r.asked().find("activation_format") != nullptr) {
        change["activation_format"] = f;  // the peak of the smaller format too
      }
      all.push_back({cat(f, " ", what), std::move(change)});
    }
  }
}

/// A warm L2, where it holds the operands or a part of them: the first thing to ask of a benchmark
/// that repeats one call.
void add_warm_cache(std::vector<assumption>& all, const request& r, const outcome<>& bound) {
  const pm::accelerator& a = r.accelerator();
  if (!a.l2.capacity.is_stated()) return;
  if (r.asked().find("weight_copies") != nullptr) {
    all.push_back({"a warm L2 cache", {{"weight_copies", 1}}});
    return;
  }
  if (!a.l2.bandwidth.is_stated()) return;
  for (const auto& x : bound.results) {
    if (x.key != std::string_view("bytes") || x.value > a.l2.capacity.quantity().value()) continue;
    const double bytes_per_s = a.l2.bandwidth.quantity().value();
    all.push_back(
        {"a warm L2 cache",
         {{"set", {{"dram.bandwidth", cat(pm::detail::significant(bytes_per_s, 17), " B/s")}}}}});
  }
}

/// Common alternative assumptions about the machine.
void add_machine(std::vector<assumption>& all, const request& r) {
  const pm::accelerator& a = r.accelerator();
  const json facts = accelerator_file_json(a);
  json sparse = json::object(), links = json::object();
  for (const auto& [name, fact] : facts.items()) {
    if (name.starts_with("matrix.peak.")) scale_fact(sparse, facts, name, 2.0);
  }
  if (!sparse.empty()) all.push_back({"the peak with 2:4 sparsity", {{"set", sparse}}});
  scale_fact(links, facts, "fabric.bandwidth", 2.0);
  if (!links.empty()) all.push_back({"bidirectional link bandwidth", {{"set", links}}});
}

void add_degrees(std::vector<assumption>& all, const request& r) {
  for (const char* key : {"tensor_parallel", "expert_parallel"}) {
    if (r.asked().find(key) == nullptr) continue;
    for (const int more : {2, 4, 8}) {
      const int n = more * r.whole(key);
      all.push_back({cat(key, ' ', n), {{key, n}}});
    }
  }
}

class bound_asker {
 public:
  bound_asker(const query& asked, const json& object, const given_profile* profile)
      : asked_(asked), object_(object), profile_(profile) {
    object_["mode"] = "bound";
    object_.erase("measured_s");
  }
  /// The bound of the changed request; none where it is refused.
  std::optional<double> operator()(const json& change) const {
    json there = object_;
    for (const auto& [key, v] : change.items()) {
      if (key == "set") {
        for (const auto& [fact, value] : v.items()) there["set"][fact] = value;
      } else {
        there[key] = v;
      }
    }
    try {
      const request r(asked_, there, profile_);
      for (const auto& x : asked_.answer(r, nullptr).results) {
        const std::string_view key = x.key;
        if (key == "time_s" || key == "itl_s") return x.value;
      }
    } catch (const error&) {
    }
    return {};
  }
  outcome<> as_it_is() const { return asked_.answer(request(asked_, object_, profile_), nullptr); }

 private:
  const query& asked_;
  json object_;
  const given_profile* profile_;
};

/// Largest value of a size at which the measurement is no less than the bound; none where 1 is too
/// much.
std::optional<double> largest_possible(const bound_asker& ask, const char* key, double now,
                                       double measured) {
  const auto possible = [&](double x) {
    const auto bound = ask({{key, x}});
    return bound && *bound <= measured;
  };
  if (!possible(1.0)) return {};
  double low = 1.0, high = now;
  while (high - low > 1.0) {
    const double middle = std::floor(0.5 * (low + high));
    (possible(middle) ? low : high) = middle;
  }
  return low;
}

void add_sizes(json& found, const bound_asker& ask, const request& r, double measured) {
  for (const char* key : {"batch", "context", "tokens", "prefill_tokens", "m", "n", "k",
                          "query_heads", "kv_heads", "experts", "top_k", "elements"}) {
    if (r.asked().find(key) == nullptr || !r.has(key) || !(r.number(key) > 1.0)) continue;
    const auto x = largest_possible(ask, key, r.number(key), measured);
    if (!x) continue;
    const auto bound = ask({{key, *x}});
    found.push_back({{"assumption", cat(key, " of ", *x, " at most, not ", r.number(key))},
                     {"change", {{key, *x}}},
                     {"bound_time_s", number_json("bound_time_s", *bound)}});
  }
}

/// Adds the matching assumptions to the result.
void note_found(outcome<>& answer, json found, const std::string& bound,
                const pm::unit_exponents& unit) {
  bool first = true;
  for (const json& x : found) {
    answer.notes.push_back({first ? "consistent with" : "  or with",
                            cat(x["assumption"].get<std::string>(), " (bound ",
                                pm::to_string(x[bound].get<double>(), unit, 4), ")")});
    first = false;
  }
  if (found.empty())
    answer.notes.push_back({"consistent with", "none of the known alternative assumptions"});
  answer.facts["possible_with"] = std::move(found);
}

}  // namespace

void add_assumptions(outcome<>& answer, const query& asked, const json& object,
                     const given_profile* profile) {
  const auto possible = answer.facts.find("possible");
  if (possible == answer.facts.end() || *possible != false) return;
  const request r(asked, object, profile);
  const double measured = r.number("measured_s");
  const bound_asker ask(asked, object, profile);
  std::vector<assumption> all;
  add_warm_cache(all, r, ask.as_it_is());
  add_formats(all, r);
  add_machine(all, r);
  add_degrees(all, r);
  json found = json::array();
  std::vector<std::string> first_words;  // of several steps of one kind only the smallest
  for (const assumption& x : all) {
    const auto bound = ask(x.change);
    if (!bound || *bound > measured) continue;
    const std::string kind = x.change.begin().key() == "set" ? x.name : x.change.begin().key();
    if (std::find(first_words.begin(), first_words.end(), kind) != first_words.end()) continue;
    first_words.push_back(kind);
    found.push_back({{"assumption", x.name},
                     {"change", x.change},
                     {"bound_time_s", number_json("bound_time_s", *bound)}});
  }
  add_sizes(found, ask, r, measured);
  note_found(answer, std::move(found), "bound_time_s", pm::exponents_of<pm::duration<>>());
}

namespace {

/// A measurement beyond the bound of a law's result.
struct beaten_bound {
  std::string key{};  ///< key in the request
  std::string result{};
  double measured = 0.0;
  pm::unit_exponents unit{};
  bool is_time = false;  ///< whether smaller is better
};
std::optional<beaten_bound> beaten(const outcome<>& answer, const query& asked, const request& r) {
  for (const key& k : asked.keys) {
    if (!std::string_view(k.name).starts_with("measured_") || !r.has(k.name)) continue;
    const double over = answer.facts["measured_over_bound"].get<double>();
    const double measured = r.number(k.name);
    for (const auto& x : answer.results) {
      const bool held = x.unit == k.unit && std::abs(x.value * over - measured) <= 1e-9 * measured;
      if (held) return beaten_bound{k.name, x.key, measured, x.unit, over < 1.0};
    }
  }
  return {};
}

/// A law's result for a changed request; none where it is refused.
class law_asker {
 public:
  law_asker(const query& asked, const json& object, const beaten_bound& of)
      : asked_(asked), object_(object), of_(of) {
    object_.erase(of.key);
  }
  std::optional<double> operator()(const json& change) const {
    json there = object_;
    there.update(change);
    try {
      for (const auto& x : asked_.answer(request(asked_, there, nullptr), nullptr).results) {
        if (x.key == of_.result) return x.value;
      }
    } catch (const error&) {
    }
    return {};
  }
  std::optional<double> operator()(std::span<const pm::misprint_question> q) const {
    return (*this)(json{{std::string(q[0].input), *q[0].number}});
  }
  bool allows(double bound) const {
    const double share = 1e-9 * of_.measured;
    return of_.is_time ? bound <= of_.measured + share : bound >= of_.measured - share;
  }

 private:
  const query& asked_;
  json object_;
  const beaten_bound& of_;
};

/// Common alternative counts of a law's input: twice a rate, half the bytes.
struct other_count {
  const char* query;
  const char* key;
  double times;
  const char* name;
};
constexpr other_count other_counts[] = {
    {"iron_law", "bytes", 0.5, "numbers of half the size"},
    {"iron_law", "bytes_per_s", 2.0, "bidirectional link bandwidth"},
    {"bus", "bits", 2.0, "both directions counted"},
    {"clock_peak", "flop_per_clock", 2.0, "the peak with 2:4 sparsity"},
};

std::vector<assumption> named_assumptions(const query& asked, const request& r) {
  std::vector<assumption> all;
  for (const other_count& c : other_counts) {
    if (asked.name != std::string_view(c.query) || !r.has(c.key)) continue;
    if (r.number(c.key) > 0.0) all.push_back({c.name, {{c.key, c.times * r.number(c.key)}}});
  }
  if (asked.name == std::string_view("peak")) {
    all.push_back({"the peak with 2:4 sparsity", {{"counted", "sparse"}}});
    all.push_back({"matrix units", {{"units", "matrix"}}});
    for (const char* f : {"fp8", "fp4"}) all.push_back({cat(f, " operands"), {{"format", f}}});
  }
  return all;
}

/// Numbers given in the request.
std::vector<pm::misprint_input> given_numbers(const query& asked, const request& r,
                                              const beaten_bound& of) {
  std::vector<pm::misprint_input> all;
  for (const key& k : asked.keys) {
    if (k.kind != key_kind::number || k.name == of.key || !r.has(k.name) || !r.at(k.name).given)
      continue;
    pm::misprint_input i;
    i.name = k.name;
    i.number = r.number(k.name);
    i.whole = k.range.whole;
    all.push_back(std::move(i));
  }
  return all;
}

}  // namespace

void add_law_assumptions(outcome<>& answer, const query& asked, const json& object) {
  const auto possible = answer.facts.find("possible");
  if (possible == answer.facts.end() || *possible != false) return;
  const request r(asked, object, nullptr);
  const auto of = beaten(answer, asked, r);
  if (!of) return;
  const law_asker ask(asked, object, *of);
  const std::string bound = cat("bound_", of->result);
  json found = json::array();
  for (const assumption& x : named_assumptions(asked, r)) {
    const auto y = ask(x.change);
    if (!y || !ask.allows(*y)) continue;
    found.push_back(
        {{"assumption", x.name}, {"change", x.change}, {bound, number_json(bound, *y)}});
  }
  const auto inputs = given_numbers(asked, r, *of);
  for (const auto& n : pm::needed_inputs(of->measured, inputs, ask)) {
    const bool more = n.needed > n.stated;
    const std::string words =
        cat(n.name, " of ", pm::detail::significant(n.needed, 4), more ? " at least" : " at most",
            ", not ", pm::detail::significant(n.stated, 4));
    found.push_back({{"assumption", words},
                     {"change", {{n.name, n.needed}}},
                     {bound, number_json(bound, of->measured)}});
  }
  note_found(answer, std::move(found), bound, of->unit);
}

}  // namespace napkin
