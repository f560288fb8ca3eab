#include "thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "io/text_style.hpp"
#include "output.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// One choice of a pair: its label, and the keys that it changes; several layouts of pools are one
/// choice, and the best of them counts.
struct choice {
  std::string label{};
  std::vector<json> changes{};
  double load_share = 1.0;  ///< share of the load of this request: batch of one of two replicas
};
struct pair_of_choices {
  const char* name = "";
  choice a{}, b{};
  std::string note{};
};

json changed(json object, const json& changes) {
  for (const auto& [key, x] : changes.items()) {
    if (x.is_null()) {
      object.erase(key);
    } else {
      object[key] = x;
    }
  }
  return object;
}

/// A choice evaluated over the load.
class evaluated_choice {
 public:
  evaluated_choice(const query& asked, const json& of, const choice& c, const std::string& over,
                   const std::string& key, const given_profile* profile)
      : over_(over), key_(key), share_(c.load_share) {
    for (const json& changes : c.changes) {
      variants_.push_back({changed(of, changes), {}});
      variants_.back().answers.emplace(asked, variants_.back().object, profile);
    }
  }
  /// The smallest result of its variants; none where none is feasible.
  std::optional<double> operator()(double load) const {
    std::optional<double> best;
    for (const variant& v : variants_) {
      json there = v.object;
      there[over_] = load * share_;
      const auto x = feasible_result(*v.answers, there, key_);
      if (x && (!best || *x < *best)) best = x;
    }
    return best;
  }

 private:
  struct variant {
    json object{};
    std::optional<similar_requests> answers{};
  };
  std::string over_, key_;
  double share_;
  std::vector<variant> variants_{};
};

enum class winner { none, a, b };
winner winner_of(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a && !b) return winner::none;
  if (!b) return winner::a;
  if (!a) return winner::b;
  return *a <= *b ? winner::a : winner::b;
}

/// The comparison of a pair over a range of loads.
class comparison {
 public:
  comparison(const evaluated_choice& a, const evaluated_choice& b, bool whole)
      : a_(a), b_(b), whole_(whole) {}

  winner at(double load) const { return winner_of(a_(load), b_(load)); }
  json point(double load) const {
    const auto write = [](const std::optional<double>& x) {
      return x ? number_json("value", *x) : json();
    };
    return {{"load", load}, {"a", write(a_(load))}, {"b", write(b_(load))}};
  }
  /// The loads at which the winner changes, least first.
  json crossings(double from, double to) const {
    constexpr int steps = 32;
    json found = json::array();
    double before = from;
    winner then = at(from);
    for (int i = 1; i <= steps; ++i) {
      double here = from * std::pow(to / from, static_cast<double>(i) / steps);
      if (whole_) here = std::round(here);
      if (here <= before) continue;
      const winner now = at(here);
      if (now != then && now != winner::none && then != winner::none)
        found.push_back(crossing(before, here, then));
      before = here;
      if (now != winner::none) then = now;
    }
    return found;
  }

 private:
  json crossing(double low, double high, winner below) const {
    while (whole_ ? high - low > 1.5 : high / low - 1.0 > 1e-9) {
      const double middle = whole_ ? std::floor(0.5 * (low + high)) : std::sqrt(low * high);
      (at(middle) == below ? low : high) = middle;
    }
    const double apart = whole_ ? std::max(1.0, std::round(0.1 * high)) : 0.1 * high;
    const double under = whole_ ? low : high - apart;
    return {{"at", number_json("at", high)},
            {"below", point(under)},
            {"here", point(high)},
            {"above", point(high + apart)},
            {"better_below", below == winner::a ? "a" : "b"},
            {"better_above", below == winner::a ? "b" : "a"}};
  }

  const evaluated_choice& a_;
  const evaluated_choice& b_;
  bool whole_;
};

int degree_of(const json& of, const char* key) {
  const auto at = of.find(key);
  return at != of.end() && at->is_number() ? std::max(1, static_cast<int>(at->get<double>())) : 1;
}

/// Tokens drafted in the request, or what the model and the engines have without a draft model.
pair_of_choices speculation_pair(const json& of) {
  constexpr const char* keys[] = {"mtp", "draft_length", "acceptance", "drafter", "draft_model"};
  json none = json::object(), with = json::object();
  for (const char* k : keys) {
    if (of.contains(k)) with[k] = of[k];
    none[k] = nullptr;
  }
  pair_of_choices p{"speculative decoding", {}, {"no speculation", {none}}, ""};
  if (with.contains("mtp")) {
    p.a.label = cat("MTP of ", with["mtp"].dump(), " tokens");
  } else if (with.contains("draft_length")) {
    p.a.label = cat(with["draft_length"].dump(), " draft tokens");
  } else if (find_model(of.at("model").get<std::string>()).model.mtp) {
    with = {{"mtp", 1}};
    p.a.label = "MTP of 1 token";
    p.note = "mtp 1, acceptance 0.85 (assumed)";
  } else {
    with = {{"draft_length", 3}, {"acceptance", 0.6}};
    p.a.label = "3 n-gram draft tokens";
    p.note = "draft_length 3, acceptance 0.6 (assumed)";
  }
  p.a.changes = {with};
  return p;
}

pair_of_choices formats_pair() {
  return {"weight format",
          {"fp8 weights", {{{"weight_format", "fp8"}, {"activation_format", "fp8"}}}},
          {"int4 weights", {{{"weight_format", "int4"}, {"activation_format", "bf16"}}}},
          "int4 is weight-only: GEMMs in bf16"};
}

/// Replicas of one pool against the same GPUs as prefill and decode pools.
pair_of_choices pools_pair(const json& of) {
  const int tensor = degree_of(of, "tensor_parallel");
  const int replicas = std::max(2, degree_of(of, "replicas") * degree_of(of, "data_parallel"));
  choice pools{"disaggregated pools", {}};
  for (int prefill = 1; prefill < replicas; prefill += std::max(1, replicas / 8)) {
    pools.changes.push_back({{"tensor_parallel", nullptr},
                             {"data_parallel", nullptr},
                             {"replicas", nullptr},
                             {"pipeline_parallel", nullptr},
                             {"expert_parallel", nullptr},
                             {"prefill_tensor_parallel", tensor},
                             {"prefill_replicas", prefill},
                             {"decode_tensor_parallel", tensor},
                             {"decode_replicas", replicas - prefill}});
  }
  return {"disaggregation",
          pools,
          {"collocated replicas", {{{"data_parallel", nullptr}, {"replicas", replicas}}}},
          cat(replicas, " x TP", tensor, "; the best split of the pools at each load")};
}

std::vector<pair_of_choices> tensor_pairs(const json& of, bool is_step) {
  std::vector<pair_of_choices> all;
  const int most = of.contains("tensor_parallel") && degree_of(of, "tensor_parallel") > 8 ? 16 : 8;
  for (int low = 1; 2 * low <= most; low *= 2) {
    const int high = 2 * low, replicas = degree_of(of, "replicas");
    const auto keys = [&](int tensor, int times) {
      json k = {{"tensor_parallel", tensor}};
      if (!is_step) k["replicas"] = times * replicas;
      return k;
    };
    // Each of two replicas has half of a step's batch.
    all.push_back({"tensor parallelism",
                   {cat("2 x TP", low), {keys(low, 2)}, is_step ? 0.5 : 1.0},
                   {cat("1 x TP", high), {keys(high, 1)}},
                   cat(high, " GPUs", replicas > 1 ? cat(", ", replicas, " times") : "")});
  }
  return all;
}

pair_of_choices budgets_pair() {
  return {"token budget",
          {"512 tokens a step", {{{"chunk_tokens", 512}}}},
          {"8192 tokens a step", {{{"chunk_tokens", 8192}}}},
          ""};
}

std::vector<pair_of_choices> pairs_of(const json& of, bool is_step) {
  std::vector<pair_of_choices> all;
  const bool pools = of.contains("prefill_tensor_parallel");
  if (!is_step) all.push_back(speculation_pair(of));
  all.push_back(formats_pair());
  const bool experts = degree_of(of, "expert_parallel") > 1;
  if (!is_step && !pools && !experts) all.push_back(pools_pair(of));
  if (!pools && !experts) {
    for (pair_of_choices& p : tensor_pairs(of, is_step)) all.push_back(std::move(p));
  }
  if (!is_step && !pools) all.push_back(budgets_pair());
  return all;
}

double bound_in(const json& object, const char* name, double otherwise) {
  const auto at = object.find(name);
  if (at == object.end()) return otherwise;
  if (!at->is_number() || !(at->get<double>() > 0.0))
    throw error(code::wrong_type, cat(name, " is ", brief(*at), "; allowed: a number above 0"));
  return at->get<double>();
}

json threshold_of(const query& asked, const json& of, const pair_of_choices& p,
                  const std::string& over, const std::string& key, double from, double to,
                  const given_profile* profile) {
  json line = {{"name", p.name}, {"note", p.note}};
  for (const auto& [name, c] : {std::pair("a", &p.a), {"b", &p.b}})
    line[name] = {{"label", c->label}, {"changes", c->changes}, {"load_share", c->load_share}};
  try {
    const evaluated_choice a(asked, of, p.a, over, key, profile);
    const evaluated_choice b(asked, of, p.b, over, key, profile);
    const comparison both(a, b, over != "requests_per_s");
    line["crossings"] = both.crossings(from, to);
    line["first"] = both.point(from);
    line["last"] = both.point(to);
    winner always = both.at(from);
    if (always == winner::none) always = both.at(to);
    if (line["crossings"].empty())
      line["always"] = always == winner::none ? json() : json(always == winner::a ? "a" : "b");
  } catch (const error& e) {
    line["not_compared"] = message_of(e);
  }
  return line;
}

}  // namespace

json thresholds_json(const json& object, const given_profile* profile) {
  const json& of = request_within(object, {"query", "id", "of", "from", "to", "key"});
  const query& asked = query_of(of);
  const bool is_step = std::string_view(asked.name) == "step";
  if (!is_step && std::string_view(asked.name) != "serving")
    throw error(error_code::inconsistent, cat("thresholds compares deployments, and ", asked.name,
                                              " is none; allowed: serving, step"));
  const std::string over = is_step                         ? "batch"
                           : of.contains("requests_per_s") ? "requests_per_s"
                                                           : "concurrency";
  json base = of;
  if (!base.contains(over)) base[over] = 1;
  base.erase("measured_s");
  const bool open = over == "requests_per_s";
  const double given = base[over].is_number() ? base[over].get<double>() : 1.0;
  const double from = bound_in(object, "from", open ? given / 16.0 : 1.0);
  const double to = bound_in(object, "to", open ? given * 16.0 : 512.0);
  if (!(to > from) || (!open && (from < 1.0 || to > 1e6)))
    throw error(error_code::out_of_range, cat("from is ", from, " and to is ", to,
                                              "; allowed: a range, least first, of at least 1 ",
                                              open ? "" : "and at most a million"));
  const similar_requests answers(asked, base, profile);
  const outcome<> now = answers(base);
  const std::string key = object.value("key", is_step ? "time_s" : "e2e_s");
  std::vector<std::string_view> names;
  for (const auto& r : now.results) names.push_back(r.key);
  if (std::find(names.begin(), names.end(), key) == names.end() || !key.ends_with("_s") ||
      key.ends_with("_per_s"))
    throw error(error_code::unknown_name,
                cat("key is ", in_quotes(key), "; allowed: a time among ", listed(names)));
  json out = json::object();
  if (object.contains("id")) out["id"] = object["id"];
  out["query"] = "thresholds";
  out["over"] = over;
  out["from"] = number_json("from", from);
  out["to"] = number_json("to", to);
  out["key"] = key;
  out["method"] = "closed_form";
  out["thresholds"] = json::array();
  for (const pair_of_choices& p : pairs_of(base, is_step))
    out["thresholds"].push_back(threshold_of(asked, base, p, over, key, from, to, profile));
  out["mode"] = now.calibrated ? "calibrated" : "bound";
  return out;
}

namespace {

std::string load_number(const json& x) {
  return pm::detail::significant(x.get<double>(), 4);
}
std::string value_text(const std::string& key, const json& x) {
  return x.is_null() ? std::string("infeasible") : result_text(key, x.get<double>());
}

std::string name_of_time(std::string_view key) {
  return key == "e2e_s"    ? "mean end-to-end latency"
         : key == "itl_s"  ? "mean ITL"
         : key == "ttft_s" ? "mean TTFT"
         : key == "time_s" ? "time of an engine step"
                           : "latency";
}
std::string sentence_of(const json& t, const json& found) {
  const std::string over = found["over"], key = found["key"];
  const auto label = [&t](const char* side) { return t[side]["label"].get<std::string>(); };
  const std::string both = cat(label("a"), " against ", label("b"));
  if (t.contains("not_compared"))
    return cat(both, ": not compared: ", t["not_compared"].get<std::string>(), ".");
  const std::string range =
      cat("between ", over, " ", load_number(found["from"]), " and ", load_number(found["to"]));
  if (t["crossings"].empty()) {
    if (t["always"].is_null()) return cat(both, ": neither is feasible ", range, ".");
    return cat(both, ": no change ", range, ": ", label(t["always"] == "a" ? "a" : "b"),
               t["always"] == "a" ? " is always better (" : " is always better (",
               value_text(key, t["last"]["a"]), " against ", value_text(key, t["last"]["b"]),
               " at ", load_number(found["to"]), ").");
  }
  const json& first = t["crossings"].front();
  const std::string side = first["better_above"], other = side == "a" ? "b" : "a";
  std::string s = cat(both, ": from ", over, " ", load_number(first["at"]), " on ",
                      label(side.c_str()), " is better (", value_text(key, first["here"][side]),
                      " against ", value_text(key, first["here"][other]), ")");
  if (t["crossings"].size() > 1)
    s += cat("; it changes again at ", listed(t["crossings"], [&](const json& c) {
                                         return &c == &first ? std::string("-")
                                                             : load_number(c["at"]);
                                       }).substr(3));
  return s + ".";
}

}  // namespace

std::string thresholds_text(const json& found) {
  const std::string over = found["over"], key = found["key"];
  std::string s = wrapped(
      cat("Compared: ", name_of_time(key), " (", key, ") over ", over, ", by the closed form."), 0);
  table_rows rows{{"a against b", over, "a", "b", "better"}};
  for (const json& t : found["thresholds"]) {
    s += styled(text_style::bold, wrapped(sentence_of(t, found), 0));
    if (!t["note"].get<std::string>().empty())
      s += styled(text_style::dim, wrapped(cat("  (", t["note"].get<std::string>(), ")"), 2));
    if (t.contains("not_compared")) continue;
    std::map<double, json> points;
    const auto keep = [&points](const json& p) { points.emplace(p["load"].get<double>(), p); };
    keep(t["first"]);
    for (const json& c : t["crossings"]) {
      for (const char* where : {"below", "here", "above"}) keep(c[where]);
    }
    keep(t["last"]);
    std::string name =
        cat(t["a"]["label"].get<std::string>(), " / ", t["b"]["label"].get<std::string>());
    for (const auto& [load, p] : points) {
      const auto time = [&point = p](const char* side) {
        return point[side].is_null() ? std::optional<double>() : point[side].get<double>();
      };
      const winner best = winner_of(time("a"), time("b"));
      rows.push_back({name, load_number(p["load"]), value_text(key, p["a"]),
                      value_text(key, p["b"]),
                      best == winner::none ? "-"
                      : best == winner::a  ? "a"
                                           : "b"});
      name.clear();
    }
  }
  return s + "\n" + cat(key, " over ", over, ":\n") + headed_table(rows, "lrrrl");
}

thresholds_line thresholds_from_command_line(const std::vector<std::string>& words) {
  query_words said = words_of_query(words, {"from", "to", "result"});
  thresholds_line out{{{"query", "thresholds"}}, said.profile, said.as_json};
  for (const char* end : {"from", "to"}) {
    if (said.own.count(end) == 0) continue;
    const key k = positive(end, "");
    out.object[end] = from_command_line(&k, said.own[end], cat("--", end));
  }
  if (said.own.count("result") > 0) out.object["key"] = said.own["result"];
  put_request(out.object, std::move(said.request));
  return out;
}

}  // namespace napkin
