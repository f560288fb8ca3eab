#include "service_runs.hpp"

#include <algorithm>
#include <cmath>

#include "deployments.hpp"
#include "io/table_file.hpp"
#include "query.hpp"
#include "service_keys.hpp"
#include "service_run_keys.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Column names of the mean times of a run, in tables and in benchmark files.
struct time_name {
  std::string_view name;
  double seconds;  ///< seconds per unit
};
constexpr time_name token_names[] = {
    {"itl_s", 1.0}, {"itl_ms", 1e-3}, {"tpot_ms", 1e-3}, {"mean_tpot_ms", 1e-3}};
constexpr time_name first_names[] = {{"ttft_s", 1.0}, {"ttft_ms", 1e-3}, {"mean_ttft_ms", 1e-3}};
constexpr number_range allowed_times{.least = 1e-9, .most = 1e9};

/// Ignored columns of a run: percentiles, end-to-end latencies, derived values.
bool pruned(std::string_view column) {
  for (const std::string_view begin :
       {"p50", "p90", "p95", "p99", "median", "std", "e2e", "mean"}) {
    if (column.starts_with(begin)) return true;
  }
  for (const std::string_view part :
       {"_p50", "_p90", "_p95", "_p99", "throughput", "tokens_per_s"}) {
    if (column.find(part) != column.npos) return true;
  }
  return false;
}

const query& serving_query() {
  return find_query("serving");
}

/// The run of a `serving` request, without its times.
pm::service_run run_of(const json& object) {
  const request asked(serving_query(), object);
  inputs<double> in(asked);
  const replica_count n = replicas_of(in);
  pm::service_run run;
  run.deployment = deployment_of(in, n.groups);
  reserve_memory(in, run.deployment);
  if (!in.has("concurrency") && !in.has("requests_per_s")) {
    in.missing("concurrency", "or requests_per_s");
  }
  run.load = load_of(in);
  const auto has_key = [](const char* key) { return serving_query().find(key) != nullptr; };
  if (has_key("stream_interval")) run.load.stream_interval = in.number("stream_interval");
  if (has_key("held_iterations")) run.load.batching_wait_iterations = in.number("held_iterations");
  double replicas = n.replicas;
  if (run.load.is_closed()) replicas = std::min(replicas, run.load.concurrency());
  run.load = pm::per_replica(run.load, replicas);
  return run;
}

void need_a_time(const pm::service_run& run) {
  if (run.itl || run.ttft) return;
  throw error(code::missing_key, "itl_s and ttft_s are missing; a run needs one of the two");
}

// --- CSV ---------------------------------------------------------------------------------

std::optional<pm::duration<>> time_in(const table_row& r, std::span<const time_name> names) {
  for (const time_name& t : names) {
    if (r.has(t.name)) return t.seconds * r.number(t.name, allowed_times) * pm::second;
  }
  return {};
}

void check_columns(const table_header& h, const std::vector<key>& keys) {
  std::vector<std::string_view> known;
  for (const key& k : keys) known.push_back(k.name);
  for (const auto& names :
       {std::span<const time_name>(token_names), std::span<const time_name>(first_names)}) {
    int found = 0;
    for (const time_name& t : names) {
      known.push_back(t.name);
      if (h.find(t.name) && ++found > 1) {
        h.fail(error_code::inconsistent, cat("duplicate column for ", in_quotes(t.name)));
      }
    }
  }
  for (const std::string& c : h.columns) {
    if (std::find(known.begin(), known.end(), c) != known.end() || pruned(c)) continue;
    h.fail(code::unknown_key,
           cat("the column ", in_quotes(c), " is unknown; allowed: ", listed(known)));
  }
}

void add_csv(std::vector<read_run>& runs, std::string_view text, const std::string& file,
             const json& constants) {
  const table_file table = read_table(text, file);
  const std::vector<key> keys = run_keys();
  check_columns(*table.header, keys);
  for (const table_row& r : table) {
    const auto make = [&] {
      json object = constants;
      for (const key& k : keys) {
        if (!r.has(k.name)) continue;
        // A row with a rate ignores a constant concurrency.
        if (std::string_view(k.name) == "requests_per_s") object.erase("concurrency");
        if (std::string_view(k.name) == "concurrency") object.erase("requests_per_s");
        object[k.name] = from_command_line(&k, r.text(k.name));
      }
      return run_of(object);
    };
    read_run one{located(cat(file, ':', r.line()), make), cat(file, ':', r.line())};
    one.run.itl = time_in(r, token_names);
    one.run.ttft = time_in(r, first_names);
    located(one.where, [&] { need_a_time(one.run); });
    runs.push_back(std::move(one));
  }
}

// --- benchmark files of engines ----------------------------------------------------------

std::optional<pm::duration<>> time_in(const json_field& f, std::string_view key) {
  if (!has_number(f, key)) return {};
  return 1e-3 * f[key].number(allowed_times) * pm::second;
}

/// Coefficient of variation of the lengths, where the file has individual lengths; for SGLang's
/// random lengths, uniform from `ratio` of the longest: (1 - r) / (1 + r) / sqrt(3).
std::optional<double> variation_in(const json_field& f, std::string_view key) {
  if (const auto cv = variation_of_list(f, key)) return cv;
  if (!has_number(f, "random_range_ratio") || !f.has("random_input_len")) return {};
  const double r = f["random_range_ratio"].number({.least = 0.0, .most = 1.0});
  return (1.0 - r) / (1.0 + r) / std::sqrt(3.0);
}

/// A closed loop of max_concurrency, or of all requests where all were sent at once; an open loop
/// where requests were sent at a rate that the service sustained.
void put_arrivals(json& object, const json_field& f, double completed) {
  object.erase("concurrency");
  object.erase("requests_per_s");
  const bool limited = has_number(f, "max_concurrency");
  if (has_number(f, "request_rate")) {
    const double rate = f["request_rate"].number({.least = 1e-9, .most = 1e9});
    const bool kept_up =
        !has_number(f, "request_throughput") || f["request_throughput"].number() > 0.9 * rate;
    if (!limited || kept_up) {
      object["requests_per_s"] = rate;
      object.erase("requests");
      return;
    }
  }
  const double at_once = limited ? f["max_concurrency"].number(whole_count) : completed;
  object["concurrency"] = std::min(at_once, completed);
  object["requests"] = completed;
}

pm::service_run benchmarked(const json_field& f, json object) {
  f.object();
  if (!f.has("completed") || !f.has("total_input_tokens") || !f.has("total_output_tokens")) {
    throw error(code::missing_key,
                "completed, total_input_tokens and total_output_tokens are not all there; allowed: "
                "what vllm bench serve --save-result or SGLang's bench_serving writes");
  }
  const double completed = f["completed"].number(whole_count);
  const auto mean = [&](std::string_view key) {
    return std::max(1.0, std::round(f[key].number({.least = 0.0, .most = 1e18}) / completed));
  };
  object["input_tokens"] = mean("total_input_tokens");
  object["output_tokens"] = mean("total_output_tokens");
  if (const auto cv = variation_in(f, "input_lens")) object["input_cv"] = *cv;
  if (const auto cv = variation_in(f, "output_lens")) object["output_cv"] = *cv;
  put_arrivals(object, f, completed);
  pm::service_run run = run_of(object);
  run.itl = time_in(f, "mean_tpot_ms");
  run.ttft = time_in(f, "mean_ttft_ms");
  need_a_time(run);
  return run;
}

void add_json(std::vector<read_run>& runs, std::string_view text, const std::string& file,
              const json& constants) {
  const std::string clean = without_infinities(text);
  const std::size_t second = clean.find("\n{");
  const bool lines = second != clean.npos;
  const std::vector<std::string_view> parts =
      lines ? split(clean, '\n') : std::vector<std::string_view>{clean};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = lines ? cat(file, ':', i + 1) : file;
    runs.push_back(located(where, [&]() -> read_run {
      json content;
      read_json(parts[i], content, {.depth = 64, .keys = 4096});
      return {benchmarked(json_field(content), constants), where};
    }));
  }
}

}  // namespace

bool has_number(const json_field& f, std::string_view key) {
  return f.has(key) && f[key].raw().is_number();
}

std::optional<double> variation_of_list(const json_field& f, std::string_view key) {
  if (!f.has(key) || !f[key].raw().is_array() || f[key].raw().size() < 2) return {};
  std::vector<double> lengths;
  for (const json_field& x : f[key].list()) {
    if (x.number() >= 1.0) lengths.push_back(x.number());
  }
  if (lengths.size() < 2) return {};
  return pm::length_statistics_of(lengths).cv;
}

std::string without_infinities(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    const std::string_view rest = text.substr(i);
    const auto word = [&](std::string_view w) { return !quoted && rest.starts_with(w); };
    if (word("Infinity")) {
      out += "\"inf\"";
      i += 7;
    } else if (word("NaN")) {
      out += "null";
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<key> run_keys() {
  std::vector<key> out;
  for (const key& k : serving_query().keys) {
    const std::string_view name = k.name;
    const bool of_pools = name.starts_with("prefill_") || name.starts_with("decode_") ||
                          name.starts_with("kv_link") || name.starts_with("limit_") ||
                          name.ends_with("_limit_s");
    const bool drafts = name.starts_with("draft") || name == "acceptance" || name == "mtp";
    const bool judged = name.starts_with("measured");
    if (!of_pools && !drafts && !judged) out.push_back(k);
  }
  return out;
}

std::vector<read_run> read_runs(const std::vector<std::string>& paths, const json& constants) {
  constexpr std::size_t most_runs = 1000;
  std::vector<read_run> runs;
  for (const std::string& path : paths) {
    const std::string text = read_text_file("runs", path, largest_table);
    const std::string file = shown(path, 200);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool is_json = first != text.npos && text[first] == '{';
    (is_json ? add_json : add_csv)(runs, text, file, constants);
    if (runs.size() <= most_runs) continue;
    throw error(error_code::out_of_range,
                cat("there are more than ", most_runs, " runs; allowed: up to that many"));
  }
  if (runs.empty())
    throw error(error_code::unidentifiable, "runs: there are no rows below the header");
  return runs;
}

}  // namespace napkin
