#include "output.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <perfmodel/units/text.hpp>
#include <sstream>
#include <string>

#include "catalogues.hpp"
#include "infeasible.hpp"
#include "io/text_style.hpp"
#include "query.hpp"
#include "service_keys.hpp"
#include "short_steps.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr pm::unit_exponents in_seconds{{1, 0, 0, 0, 0, 0, 0}};
constexpr pm::unit_exponents in_tokens{{0, 0, 0, 1, 0, 0, 0}};
constexpr int output_digits = 4;

std::string value_text(double x, const pm::unit_exponents& unit) {
  const bool counts = unit == pm::unit_exponents{} || unit == in_tokens;
  if (counts && x == std::floor(x) && std::fabs(x) < 1e15) return pm::detail::number_text(x);
  return pm::to_string(x, unit, output_digits);
}

/// A value of a request as it is shown: 600 ns are 6e-07 s, not 6.000000000000001e-07.
json shown_value(const json& x) {
  if (x.is_array()) {
    json all = json::array();
    for (const json& one : x) all.push_back(shown_value(one));
    return all;
  }
  if (!x.is_number_float()) return x;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.15g", x.get<double>());
  return std::strtod(text.data(), nullptr);
}
}  // namespace

std::string headline(const query& asked, const json& object) {
  std::string s = asked.name;
  const char* separator = ": ";
  for (const auto& [name, v] : object.items()) {
    if (name == "query" || name == "id" || name == "mode") continue;
    const json& facts = name == "set" ? v : json{{name, v}};
    for (const auto& [fact, x] : facts.items()) {
      s += cat(separator, name == "set" ? "set " : "", fact, " ",
               x.is_string() ? one_line(x.get<std::string>()) : write_json(shown_value(x)));
      separator = ", ";
    }
  }
  return s + "\n";
}

std::string unit_text(const pm::unit_exponents& unit) {
  const auto w = pm::detail::words_of(unit);
  if (w.denominator.empty()) return w.numerator;
  return (w.numerator.empty() ? "1" : w.numerator) + "/" + w.denominator;
}

std::string share_text(double share) {
  return pm::detail::significant(100.0 * share, 3) + " %";
}

namespace {

/// Position of a key's bit in a table of 1024 bits.
std::size_t bit_of(std::string_view key) {
  const auto letter = [&key](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(key[i]));
  };
  const std::size_t n = key.size();
  return n == 0 ? 0 : (n * 37 + letter(0) * 5 + letter(n / 2) * 59 + letter(n - 1) * 11) % 1024;
}

/// Adds members to an object without a search for those that are new.
class json_members {
 public:
  explicit json_members(json& to) : to_(to.get_ref<json::object_t&>()) {
    for (const auto& [key, x] : to_) seen_[bit_of(key)] = true;
  }
  void reserve(std::size_t n) { to_.reserve(n); }
  void put(std::string_view key, json value) {
    const std::size_t bit = bit_of(key);
    if (seen_[bit]) {
      to_[std::string(key)] = std::move(value);
    } else {
      seen_[bit] = true;
      to_.emplace_back(std::string(key), std::move(value));
    }
  }
  void put_number(std::string_view key, double x) { put(key, number_json(key, x)); }
  void put_range(std::string_view key, double low, double high) {
    put(key, {number_json(key, low), number_json(key, high)});
  }
  /// A value of JSON takes no text.
  bool put_text(std::string_view, const std::string&) { return false; }
  template <class Fill>
  void put_object(std::string_view key, const Fill& fill) {
    json inner = json::object();
    json_members members(inner);
    fill(members);
    put(key, std::move(inner));
  }

 private:
  json::object_t& to_;
  std::bitset<1024> seen_{};
};

/// Puts the name, basis and source of a profile, and the parts transferred from other GPUs.
template <class Members>
void put_profile(Members& out, const profile_note& p) {
  out.put("name", p.name);
  out.put("basis", pm::name_of(p.basis));
  out.put("source", p.source);
  out.put_object("transferred_from", [&](auto& from) {
    for (const profile_transfer& t : p.transfers) from.put(t.part, t.source_gpu);
  });
  out.put_object("measured_with", [&](auto& with) {
    for (const profile_release& r : p.releases) with.put(r.part, r.software);
  });
  if (!p.asked_release) return;
  out.put_object("engine_version", [&](auto& version) {
    version.put("asked", p.asked_release->asked);
    version.put("nearest_measured", p.asked_release->nearest);
    version.put("newer", p.asked_release->is_newer);
    version.put("releases_apart",
                p.asked_release->releases ? json(*p.asked_release->releases) : json());
  });
}

/// Puts bounds, intervals and profile; null times where `none` is feasible, and of an ITL that a
/// service with one output token has not.
template <class Members>
void put_note(Members& out, const calibrated_note& note, bool none, bool has_itl = true) {
  for (const auto& b : note.bounds) {
    require_finite(b.key, b.value);
    const bool absent = none || (!has_itl && std::string_view(b.key) == "bound_time_s");
    if (absent) {
      out.put(b.key, json());
    } else {
      out.put_number(b.key, b.value);
    }
  }
  const auto interval = [&out](const char* key, const pm::time_range& r, bool absent) {
    require_finite(key, r.low.value());
    require_finite(key, r.high.value());
    if (absent) {
      out.put(key, json());
    } else {
      out.put_range(key, r.low.value(), r.high.value());
    }
  };
  interval("interval_80_s", note.range, none || !has_itl);
  if (note.first_token) {
    interval("ttft_interval_80_s", *note.first_token, none);
    interval("itl_interval_80_s", note.range, none || !has_itl);
  }
  const profile_note unknown;
  const profile_note& of = note.profile ? *note.profile : unknown;
  if (of.json_text.empty() || !out.put_text("profile", of.json_text))
    out.put_object("profile", [&](auto& profile) { put_profile(profile, of); });
}

}  // namespace

void note_json(json& out, const calibrated_note& note) {
  json_members all(out);
  put_note(all, note, false);
}
json profile_json(const profile_note& p) {
  json out = json::object();
  json_members all(out);
  put_profile(all, p);
  return out;
}

/// Fields of the request's model files that were not used.
static std::vector<std::string> not_read_of(const json& request) {
  std::vector<std::string> all;
  for (const char* key : {"model", "draft_model"}) {
    const auto at = request.find(key);
    if (at == request.end() || !at->is_string() ||
        at->get_ref<const std::string&>().find(',') != std::string::npos)
      continue;
    const auto& own = find_model(at->get_ref<const std::string&>()).not_read;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

namespace {

/// Puts all members of a result.
template <class Members>
void put_outcome(Members& all, const outcome<>& answer, const json& request,
                 const std::vector<std::string>& not_read) {
  if (const auto id = request.find("id"); id != request.end()) all.put("id", *id);
  for (const auto& r : answer.results) {
    require_finite(r.key, r.value);
    if (const std::optional<double> x = value_in(answer, r)) {
      all.put_number(r.key, *x);
    } else {
      all.put(r.key, json());
    }
  }
  for (const auto& [key, fact] : answer.facts.get_ref<const json::object_t&>()) all.put(key, fact);
  if (!not_read.empty()) all.put("not_read", json(not_read));
  all.put("mode", answer.calibrated ? "calibrated" : "bound");
  const bool none = answer.has_feasibility && !answer.feasible;
  if (answer.calibrated) put_note(all, *answer.calibrated, none, answer.has_itl);
  if (answer.is_time) {
    all.put("limiter", pm::name_of(answer.limiter));
    all.put_object("terms", [&](auto& terms) {
      for (const auto& t : answer.terms) {
        if (none) {
          terms.put(t.name, json());
        } else {
          terms.put_number(t.name, t.time.value());
        }
      }
    });
  }
  if (answer.has_feasibility) {
    all.put("feasible", answer.feasible);
    all.put("reason", answer.reason);
  }
}

}  // namespace

json outcome_json(const outcome<>& answer, const json& request) {
  json out = json::object();
  json_members all(out);
  all.reserve(48);
  put_outcome(all, answer, request, not_read_of(request));
  return out;
}

bool write_outcome(result_line& out, const outcome<>& answer, const json& request) {
  if (!out.not_read) out.not_read = not_read_of(request);
  out.text.clear();
  out.members.restart();
  text_members all(out.text, out.members);
  put_outcome(all, answer, request, *out.not_read);
  return all.end();
}

std::string message_of(const pm::error& e) {
  std::string_view text = e.what();
  if (text.starts_with("simulate: ")) text.remove_prefix(10);
  return with_request_keys(text);
}

json error_json(const pm::error& e, const json& id, std::size_t line) {
  return {{"id", id},
          {"line", line},
          {"error", {{"code", pm::code_text(e.code())}, {"message", one_line(message_of(e))}}}};
}

json derivation_json(const pm::derivation& d) {
  json inputs = json::array();
  for (const auto& i : d.inputs) {
    inputs.push_back({{"name", i.name}, {"value", i.value}, {"source", i.source}});
  }
  json steps = json::array();
  for (const auto& s : d.steps) {
    steps.push_back(
        {{"name", s.name}, {"formula", s.formula}, {"numbers", s.numbers}, {"value", s.value}});
  }
  return {{"inputs", std::move(inputs)}, {"steps", std::move(steps)}};
}

namespace {

/// Adds the bound and the interval below a time.
void add_calibration(table_rows& rows, std::string_view key, const calibrated_note& note) {
  const bool first_token = key == "ttft_s";
  const bool main = key == "time_s" || key == "itl_s";
  const std::string_view bound = main             ? "bound_time_s"
                                 : first_token    ? "bound_ttft_s"
                                 : key == "e2e_s" ? "bound_e2e_s"
                                                  : "";
  for (const auto& b : note.bounds)
    if (b.key == bound) rows.push_back({"  bound", value_text(b.value, b.unit)});
  if (!first_token && !main) return;
  const pm::time_range& r = first_token ? *note.first_token : note.range;
  rows.push_back({"  80 % interval", value_text(r.low.value(), in_seconds) + " to " +
                                         value_text(r.high.value(), in_seconds)});
}

/// Breaks values that are wider than a terminal into several rows.
table_rows folded(const table_rows& rows) {
  std::size_t labels = 0;
  for (const auto& row : rows) labels = std::max(labels, row.front().size());
  table_rows out;
  for (const auto& row : rows) {
    std::istringstream lines(wrapped(row.back(), 0, terminal_columns - labels - 4));
    std::string label = row.front();
    for (std::string line; std::getline(lines, line); label.clear()) out.push_back({label, line});
  }
  return out;
}

/// What a bound guarantees: the least time of an operator or a step, not always of a service.
const char* bound_promise(const outcome<>& answer) {
  for (const auto& r : answer.results) {
    if (std::string_view(r.key) == "ttft_s") {
      return "  This is a bound from data sheets: no engine step runs faster; latencies may be "
             "lower.\n";
    }
  }
  return "  This is a bound from data sheets: nothing runs faster.\n";
}

/// Origin of a prediction: parameters fitted to the accelerator, or to a source GPU.
std::string prediction_text(const profile_note& profile) {
  const std::string transfers = transfers_text(profile);
  if (transfers.empty()) {
    return "  This is a prediction, from fitted parameters; the bound follows from data sheets.\n";
  }
  return wrapped(cat("This is a prediction by a transferred profile (", transfers,
                     "); the bound follows from data sheets."),
                 2);
}

/// The table of an infeasible result with its verdict, the last lines, in red.
std::string with_red_reason(const std::string& text) {
  const std::size_t at = text.find("\n  feasible");
  if (at == text.npos) return text;
  return text.substr(0, at + 1) + styled(text_style::red, text.substr(at + 1));
}

/// Rows of a profile: its sources, the releases it was measured with, and one that it lacks.
void add_profile(table_rows& rows, const profile_note& p) {
  rows.push_back({"profile", text_of(p)});
  const std::string with = releases_text(p);
  if (!with.empty()) rows.push_back({"  measured with", with});
  if (p.asked_release)
    rows.push_back({cat("  engine_version ", p.asked_release->asked), text_of(*p.asked_release)});
}

std::string results_text(const outcome<>& answer) {
  table_rows rows;
  const bool infeasible = answer.has_feasibility && !answer.feasible;
  for (const auto& r : answer.results) {
    number_json(r.key, r.value);  // refuses what is not finite
    const std::optional<double> x = value_in(answer, r);
    if (x) {
      rows.push_back({r.label, value_text(*x, r.unit)});
      if (answer.calibrated) add_calibration(rows, r.key, *answer.calibrated);
    } else if (r.label[0] != ' ') {  // percentiles have none where the mean has none
      rows.push_back({r.label, no_value_text(answer, r)});
    }
  }
  rows.insert(rows.end(), answer.notes.begin(), answer.notes.end());
  if (answer.calibrated) add_profile(rows, *answer.calibrated->profile);
  if (answer.is_time && !infeasible && answer.has_itl) {
    rows.push_back({"limited by", pm::name_of(answer.limiter)});
    for (const auto& t : answer.terms) {
      rows.push_back({std::string("  ") + t.name, value_text(t.time.value(), in_seconds)});
    }
    const std::string whose = answer.conclusion.empty() ? ""
                              : answer.calibrated       ? ", predicted"
                                                        : ", at the bound";
    if (answer.mfu > 0.0) rows.push_back({"share of peak compute" + whose, share_text(answer.mfu)});
    if (answer.mbu > 0.0)
      rows.push_back({"share of DRAM bandwidth" + whose, share_text(answer.mbu)});
  }
  if (answer.has_feasibility) {
    rows.push_back({"feasible", answer.feasible ? "yes" : "no: " + answer.reason});
  }
  const std::string basis = infeasible          ? ""
                            : answer.calibrated ? prediction_text(*answer.calibrated->profile)
                            : answer.is_time    ? bound_promise(answer)
                                                : "";
  const std::string hint = answer.hint.empty() ? "" : wrapped(cat(answer.hint, "."), 2);
  const std::string text = table(folded(rows), "l");
  return (infeasible ? with_red_reason(text) : text) + styled(text_style::dim, basis + hint);
}

/// What limits a time: the resource, or in a service the prefill of other requests where that takes
/// more than half of the mean ITL.
std::string limit_text(const outcome<>& answer) {
  double all = 0.0, prefill = 0.0;
  for (const auto& t : answer.terms) {
    all += t.time.value();
    if (std::string_view(t.name) == "prefill") prefill = t.time.value();
  }
  if (!answer.calibrated || !(prefill > 0.5 * all)) return pm::name_of(answer.limiter);
  return cat("the prefill of other requests (",
             pm::detail::significant(std::round(100.0 * prefill / all), 3), " % of the ITL)");
}

/// "64 GPUs: 8 replicas of 8." of a service with replicas; "" of others.
std::string gpus_sentence(const query& asked, const json& request) {
  if (asked.find("replicas") == nullptr || !request.is_object()) return "";
  const napkin::request r(asked, request);
  const replica_count n = replicas_of(inputs<double>(r));
  const double each =
      r.number("tensor_parallel") * r.number("pipeline_parallel") * static_cast<double>(n.groups);
  const double replicas = n.replicas;
  if (!(replicas > 1.0)) return "";
  const auto count = [](double x) { return pm::detail::significant(x, 6); };
  return cat("On ", count(each * replicas), " GPUs: ", count(replicas), " replicas of ",
             count(each), ".\n");
}

/// "Predicted: mean TTFT 171 ms (80 %: 116 to 252 ms), mean ITL 17.9 ms (...), 1647 tok/s; limited
/// by memory." of a feasible time; "" of other results. One output token has no ITL.
std::string time_sentence(const outcome<>& answer) {
  if (!answer.is_time || (answer.has_feasibility && !answer.feasible)) return "";
  std::string s;
  const auto add = [&s](const std::string& text) { s += cat(s.empty() ? "" : ", ", text); };
  for (const auto& r : answer.results) {
    const std::string_view key = r.key;
    const bool first_token = key == "ttft_s";
    if (key == "itl_s" && !answer.has_itl) continue;
    if (key == "time_s" || key == "itl_s" || first_token) {
      const char* name = first_token ? "mean TTFT " : key == "itl_s" ? "mean ITL " : "";
      std::string text = cat(name, pm::to_string(r.value, in_seconds));
      if (answer.calibrated) {
        const pm::time_range& range =
            first_token ? *answer.calibrated->first_token : answer.calibrated->range;
        text += cat(" (80 %: ", pm::to_string(range.low.value(), in_seconds), " to ",
                    pm::to_string(range.high.value(), in_seconds), ")");
      }
      add(text);
    } else if (key == "output_tokens_per_s") {
      add(cat(pm::detail::significant(r.value, 4), " tok/s"));
    }
  }
  if (s.empty()) return "";
  const std::string limit = answer.has_itl ? cat("; limited by ", limit_text(answer)) : "";
  return wrapped(cat(answer.calibrated ? "Predicted: " : "Bound: ", s, limit, "."), 0);
}

/// Lines of text, the long ones wrapped to the columns of a terminal.
std::string wrapped_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += line.size() <= terminal_columns ? line + "\n" : wrapped(line, 0);
  return out;
}

}  // namespace

std::string outcome_text(const query& asked, const outcome<>& answer, const json& request) {
  const std::string not_read = not_read_text(not_read_of(request));
  const std::string last = not_read.empty() ? "" : styled(text_style::dim, wrapped(not_read, 2));
  if (!answer.page.empty()) return answer.page + last;
  const std::string infeasible = conclusion_text(answer);
  const std::string conclusion = !infeasible.empty() ? infeasible
                                 : answer.conclusion.empty()
                                     ? time_sentence(answer) + gpus_sentence(asked, request)
                                     : answer.conclusion;
  const std::string asked_for = wrapped_lines(headline(asked, request));
  return with_styled_sentence(infeasible.empty() ? text_style::bold : text_style::red,
                              wrapped_lines(conclusion)) +
         (conclusion.empty() ? asked_for : styled(text_style::dim, asked_for)) +
         results_text(answer) + last;
}

std::string part_line(const std::string& part, std::string& before) {
  if (part == before) return {};
  before = part;
  return part.empty() ? "" : cat("  of ", part, ":\n");
}

std::string explanation_text(const query& asked, const explanation& e, const json& request) {
  std::string s = with_styled_sentence(text_style::red, wrapped_lines(conclusion_text(e.answer))) +
                  wrapped_lines(headline(asked, request));
  table_rows rows;
  for (const auto& i : e.derivation.inputs)
    rows.push_back({i.name, "= " + i.value, "[" + i.source + "]"});
  s += styled(text_style::bold, "inputs\n") + table(rows, "l");
  s += styled(text_style::bold, "steps\n");
  const short_steps steps(e.derivation);
  std::string part;
  for (std::size_t i = 0; i < e.derivation.steps.size(); ++i) {
    const auto& step = e.derivation.steps[i];
    s += part_line(steps.part_of(i), part);
    const char* in = part.empty() ? "" : "  ";
    s += cat(in, "  ", steps.name_of(i), " = ", steps.formula_of(i));
    if (step.numbers != step.formula && step.numbers != step.value)
      s += cat("\n", in, "      = ", step.numbers);
    s += cat("\n", in, "      = ", step.value, "\n");
  }
  return s + styled(text_style::bold, "result\n") + results_text(e.answer);
}

}  // namespace napkin
