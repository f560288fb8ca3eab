#include "bench_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <perfmodel/serving/load.hpp>

#include "io/amount.hpp"
#include "io/files.hpp"
#include "io/table_file.hpp"
#include "query.hpp"
#include "service_runs.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr number_range from_zero{.least = 0.0, .most = 1e18};
constexpr number_range some_count{.least = 1.0, .most = 1e18};
constexpr number_range any_time{.least = 0.0, .most = 1e12};

/// The number of a field that may be left out or null; any other value is refused.
std::optional<double> optional_number(const json_field& f, std::string_view key,
                                      const number_range& allowed = from_zero) {
  if (!f.has(key) || f[key].raw().is_null()) return {};
  return f[key].number(allowed);
}

/// Percentiles of vLLM's and SGLang's files: p99_ttft_ms, median_ttft_ms.
reported_latency flat_latency(const json_field& f, const std::string& metric) {
  reported_latency l;
  const std::string end = cat("_", metric, "_ms");
  for (const auto& item : f.raw().items()) {
    const std::string& key = item.key();
    if (!key.ends_with(end) || item.value().is_null()) continue;
    const std::string begin = key.substr(0, key.size() - end.size());
    const auto seconds = [&] { return 1e-3 * f[key].number(any_time); };
    if (begin == "mean") l.mean = seconds();
    if (begin == "median") l.percentiles.emplace_back(50.0, seconds());
    std::string_view rest;
    if (begin.size() < 2 || begin[0] != 'p') continue;
    const auto percent = parse_number(begin.substr(1), rest);
    if (percent && rest.empty() && (*percent != 50.0 || !f.has(cat("median", end))))
      l.percentiles.emplace_back(*percent, seconds());
  }
  std::sort(l.percentiles.begin(), l.percentiles.end());
  return l;
}

/// The engine by a client's `backend`; the client's own where that is a protocol of all engines.
std::string engine_of_backend(const json_field& f, const char* own) {
  if (!f.has("backend") || !f["backend"].raw().is_string()) return own;
  const std::string backend = f["backend"].text();
  for (const auto& [part, engine] :
       {std::pair("vllm", "vllm"), {"sglang", "sglang"}, {"trt", "trtllm"}, {"openai", own}}) {
    if (backend.find(part) != backend.npos) return engine;
  }
  return "";
}

/// vLLM's and SGLang's clients have one object per run; SGLang names the whole request e2e_latency.
bench_report flat_report(const json_field& f) {
  bench_report r;
  const bool sglang = f.has("mean_e2e_latency_ms") || f.has("random_range_ratio");
  r.client = sglang ? "SGLang bench_serving" : "vllm bench serve";
  r.engine = engine_of_backend(f, sglang ? "sglang" : "vllm");
  if (f.has("model_id") && f["model_id"].raw().is_string()) r.model = f["model_id"].text();
  r.completed = f["completed"].number(some_count);
  r.failed = optional_number(f, "failed").value_or(0.0);
  r.duration_s = optional_number(f, "duration", any_time);
  if (f.has("request_rate") && !f["request_rate"].raw().is_string())
    r.request_rate = optional_number(f, "request_rate", {.least = 1e-9, .most = 1e12});
  if (has_number(f, "burstiness"))
    r.burstiness = f["burstiness"].number({.least = 1e-6, .most = 1e9});
  r.max_concurrency = optional_number(f, "max_concurrency", some_count);
  r.mean_concurrency = optional_number(f, "concurrency");
  r.input_tokens = f["total_input_tokens"].number(from_zero) / r.completed;
  r.output_tokens = f["total_output_tokens"].number(from_zero) / r.completed;
  r.input_cv = variation_of_list(f, "input_lens");
  r.output_cv = variation_of_list(f, "output_lens");
  r.requests_per_s = optional_number(f, "request_throughput");
  r.output_tokens_per_s = optional_number(f, "output_throughput");
  r.total_tokens_per_s = optional_number(f, sglang ? "total_throughput" : "total_token_throughput");
  r.ttft = flat_latency(f, "ttft");
  r.tpot = flat_latency(f, "tpot");
  r.itl = flat_latency(f, "itl");
  r.e2e = flat_latency(f, sglang ? "e2e_latency" : "e2el");
  (void)f["mean_ttft_ms"].number(any_time);
  if (!r.tpot.mean && !r.itl.mean) (void)f["mean_tpot_ms"].number(any_time);
  return r;
}

/// metrics.NAME.successful of guidellm, in `seconds` per unit.
reported_latency summary_latency(const json_field& metrics, std::string_view name, double seconds) {
  reported_latency l;
  const json_field f = metrics[name]["successful"];
  l.mean = seconds * f["mean"].number(any_time);
  if (!f.has("percentiles")) return l;
  const json_field p = f["percentiles"].object();
  for (const auto& item : p.raw().items()) {  // p001 is the 0.1st, p05 the 5th, p999 the 99.9th
    const std::string& key = item.key();
    if (key.size() < 3 || key[0] != 'p' || item.value().is_null()) continue;
    const std::string number = key.substr(1);
    if (number.find_first_not_of("0123456789") != number.npos) continue;
    const double digits = std::atof(number.c_str());
    const double percent = number.size() > 2
                               ? digits / std::pow(10.0, static_cast<double>(number.size() - 2))
                               : digits;
    l.percentiles.emplace_back(percent, seconds * p[key].number(any_time));
  }
  std::sort(l.percentiles.begin(), l.percentiles.end());
  return l;
}
double summary_mean(const json_field& metrics, std::string_view name) {
  return metrics[name]["successful"]["mean"].number(from_zero);
}
std::optional<double> summary_cv(const json_field& metrics, std::string_view name) {
  const json_field f = metrics[name]["successful"];
  if (!has_number(f, "std_dev") || !(f["mean"].number(from_zero) > 0.0)) return {};
  return f["std_dev"].number(from_zero) / f["mean"].number(from_zero);
}

/// The load of a guidellm benchmark, by its strategy: config.strategy, in older files
/// args.strategy or scheduler.strategy.
void put_strategy(bench_report& r, const json_field& f) {
  for (const char* part : {"config", "args", "scheduler"}) {
    if (!f.has(part) || !f[part].raw().is_object() || !f[part].has("strategy")) continue;
    const json_field s = f[part]["strategy"];
    if (!s.raw().is_object()) continue;
    const std::string type = s.has("type_") ? s["type_"].text() : s["type"].text();
    if (type == "synchronous") r.max_concurrency = 1.0;
    if (type == "concurrent") r.max_concurrency = s["streams"].number(some_count);
    if (type == "throughput") r.max_concurrency = optional_number(s, "max_concurrency", some_count);
    if (type == "constant" || type == "poisson")
      r.request_rate = s["rate"].number({.least = 1e-9, .most = 1e12});
    if (type == "constant") r.burstiness = 1e9;
    return;
  }
}

bench_report guidellm_report(const json_field& f) {
  bench_report r;
  r.client = "guidellm";
  const json_field m = f["metrics"].object();
  const auto count_of = [&](const char* name) -> std::optional<double> {
    for (const json_field& x : {f, m}) {
      if (x.has("request_totals")) return optional_number(x["request_totals"], name);
    }
    return {};
  };
  const json_field requests = m["time_to_first_token_ms"]["successful"];
  r.completed =
      count_of("successful").value_or(optional_number(requests, "count", some_count).value_or(0.0));
  if (!(r.completed >= 1.0)) r.completed = requests["count"].number(some_count);
  r.failed = count_of("errored").value_or(0.0);
  r.duration_s = optional_number(f, "duration", any_time);
  put_strategy(r, f);
  r.input_tokens = summary_mean(m, "prompt_token_count");
  r.output_tokens = summary_mean(m, "output_token_count");
  r.input_cv = summary_cv(m, "prompt_token_count");
  r.output_cv = summary_cv(m, "output_token_count");
  r.requests_per_s = summary_mean(m, "requests_per_second");
  if (m.has("request_concurrency")) r.mean_concurrency = summary_mean(m, "request_concurrency");
  if (m.has("output_tokens_per_second"))
    r.output_tokens_per_s = summary_mean(m, "output_tokens_per_second");
  if (m.has("tokens_per_second")) r.total_tokens_per_s = summary_mean(m, "tokens_per_second");
  r.ttft = summary_latency(m, "time_to_first_token_ms", 1e-3);
  r.tpot = summary_latency(m, "inter_token_latency_ms", 1e-3);  // a mean per request
  if (m.has("request_latency")) r.e2e = summary_latency(m, "request_latency", 1.0);
  return r;
}

/// NAME of AIPerf and GenAI-Perf: {"unit": "ms", "avg": ..., "p50": ..., "std": ...}.
std::optional<json_field> measured_metric(const json_field& f, std::string_view name) {
  if (!f.has(name) || !f[name].raw().is_object() || !f[name].has("avg")) return {};
  return f[name];
}
reported_latency metric_latency(const json_field& f, std::string_view name) {
  reported_latency l;
  const auto m = measured_metric(f, name);
  if (!m) return l;
  const std::string unit = m->has("unit") ? (*m)["unit"].text() : "ms";
  const double seconds = unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : unit == "ns" ? 1e-9 : 1.0;
  l.mean = seconds * (*m)["avg"].number(any_time);
  for (const int percent : {1, 5, 10, 25, 50, 75, 90, 95, 99}) {
    const std::string key = cat("p", percent);
    if (m->has(key) && has_number(*m, key))
      l.percentiles.emplace_back(percent, seconds * (*m)[key].number(any_time));
  }
  return l;
}
double metric_mean(const json_field& f, std::string_view name) {
  return f[name]["avg"].number(from_zero);
}
std::optional<double> metric_cv(const json_field& f, std::string_view name) {
  if (!has_number(f[name], "std") || !(metric_mean(f, name) > 0.0)) return {};
  return f[name]["std"].number(from_zero) / metric_mean(f, name);
}

/// NVIDIA AIPerf's profile_export_aiperf.json, and GenAI-Perf's before it. Their inter-token
/// latency is a mean per request.
bench_report aiperf_report(const json_field& f) {
  bench_report r;
  r.client = f.has("aiperf_version") ? "aiperf" : "genai-perf";
  r.completed = f["request_count"]["avg"].number(some_count);
  if (measured_metric(f, "error_request_count")) r.failed = metric_mean(f, "error_request_count");
  if (measured_metric(f, "benchmark_duration"))
    r.duration_s = f["benchmark_duration"]["avg"].number(any_time);
  r.input_tokens = metric_mean(f, "input_sequence_length");
  r.output_tokens = metric_mean(f, "output_sequence_length");
  r.input_cv = metric_cv(f, "input_sequence_length");
  r.output_cv = metric_cv(f, "output_sequence_length");
  r.requests_per_s = metric_mean(f, "request_throughput");
  if (measured_metric(f, "output_token_throughput"))
    r.output_tokens_per_s = metric_mean(f, "output_token_throughput");
  r.ttft = metric_latency(f, "time_to_first_token");
  r.tpot = metric_latency(f, "inter_token_latency");
  r.e2e = metric_latency(f, "request_latency");
  (void)f["time_to_first_token"]["avg"].number(any_time);
  json_field load = f["input_config"].object();
  for (const char* part : {"loadgen", "perf_analyzer", "stimulus"}) {
    if (load.has(part) && load[part].raw().is_object()) load = load[part];
  }
  r.max_concurrency = optional_number(load, "concurrency", some_count);
  if (has_number(load, "request_rate"))
    r.request_rate = load["request_rate"].number({.least = 1e-9, .most = 1e12});
  return r;
}

/// Refuses what vLLM saves of runs without a service.
void refuse_offline(const json_field& f) {
  if (f.has("completed")) return;
  const char* const from = f.has("avg_latency")    ? "latency"
                           : f.has("elapsed_time") ? "throughput"
                                                   : nullptr;
  if (from == nullptr) return;
  throw error(code::missing_key,
              cat("completed is missing; this is a file of vllm bench ", from,
                  ", which has no requests over time; allowed: those of vllm bench serve, SGLang's "
                  "bench_serving, guidellm, aiperf"));
}

template <class Make>
bench_report report_at(const std::string& where, const Make& make) {
  bench_report r = located(where, make);
  r.where = where;
  return r;
}

}  // namespace

std::string bench_report::closed_load() const {
  if (request_rate) return "";
  if (!max_concurrency) return "all requests at once";
  return cat(*max_concurrency, *max_concurrency == 1.0 ? " request" : " requests", " at a time");
}

std::vector<bench_report> read_bench_reports(const std::string& path) {
  const std::string text = without_infinities(read_text_file("runs", path, largest_table));
  const std::string file = shown(path.substr(path.find_last_of('/') + 1), 200);
  std::vector<bench_report> all;
  const std::vector<json> printed = console_reports(text);
  for (std::size_t i = 0; i < printed.size(); ++i) {
    const std::string where = printed.size() > 1 ? cat(file, ": result ", i + 1) : file;
    all.push_back(report_at(where, [&] { return flat_report(json_field(printed[i])); }));
  }
  if (!all.empty()) return all;
  const auto add = [&](std::string_view part, const std::string& where) {
    json content;
    located(where, [&] { read_json(part, content, {.depth = 64, .keys = 65536}); });
    if (content.is_object() && content.contains("benchmarks")) {
      std::size_t n = 0;
      const json& benchmarks = content["benchmarks"];
      if (!benchmarks.is_array() || benchmarks.empty()) {
        throw error(code::wrong_type, cat(where, ": benchmarks is ", brief(benchmarks),
                                          "; allowed: a list of at least one"));
      }
      for (const json& one : benchmarks) {
        all.push_back(report_at(cat(where, ": benchmarks[", n++, "]"), [&] {
          const json_field f(one);
          f.object();
          return guidellm_report(f);
        }));
      }
      return;
    }
    all.push_back(report_at(where, [&] {
      const json_field f(content);
      f.object();
      refuse_offline(f);
      return measured_metric(f, "time_to_first_token") ? aiperf_report(f) : flat_report(f);
    }));
  };
  const bool lines = text.find("}\n{") != text.npos || text.find("}\r\n{") != text.npos;
  if (!lines) {
    add(text, file);
    return all;
  }
  std::size_t n = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++n;
    if (line.find_first_not_of(" \t\r") != line.npos) add(line, cat(file, ':', n));
  }
  return all;
}

bool has_runs(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& w) {
    return w == "--runs" || w.starts_with("--runs=");
  });
}

runs_request runs_from_command_line(const std::vector<std::string>& words) {
  const query& asked = find_query("simulate");
  runs_request r;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--json") {
      r.as_json = true;
      continue;
    }
    if (!words[i].starts_with("--")) {
      throw error(code::unknown_key,
                  cat(in_quotes(words[i]), " is not expected; allowed: --runs FILE, --key value"));
    }
    const std::size_t equals = words[i].find('=');
    const std::string option = words[i].substr(0, equals);
    std::string name = option.substr(2);
    std::replace(name.begin(), name.end(), '-', '_');
    const bool more = i + 1 < words.size() && !words[i + 1].starts_with("--");
    if (equals == words[i].npos && !more)
      throw error(code::missing_key, cat(option, " has no value"));
    const std::string text = equals == words[i].npos ? words[++i] : words[i].substr(equals + 1);
    if (name == "runs") {
      r.files.push_back(text);
      while (i + 1 < words.size() && !words[i + 1].starts_with("--")) r.files.push_back(words[++i]);
      continue;
    }
    if (name == "mode") {
      r.service[name] = text;
      continue;
    }
    const key* k = asked.find_spelled(name);
    if (k == nullptr) {
      throw error(code::unknown_key, cat(in_quotes(option),
                                         " is no option with --runs; allowed: those of napkin "
                                         "simulate --help"));
    }
    r.service[k->name] = from_command_line(k, text, option);
  }
  return r;
}

json request_of_run(const bench_report& r, const json& service) {
  json q = {{"query", "simulate"}};
  const auto put = [&q](const char* key, double x) { q[key] = number_json(key, x); };
  put("input_tokens", std::max(1.0, std::round(r.input_tokens)));
  put("output_tokens", std::max(1.0, std::round(r.output_tokens)));
  // Clients state lengths, and real ones differ by a few per cent where they do not.
  put("input_cv", std::clamp(r.input_cv.value_or(0.05), 0.0, 3.0));
  put("output_cv", std::clamp(r.output_cv.value_or(0.05), 0.0, 3.0));
  constexpr double most_requests = 5000.0;
  put("requests", std::min(most_requests, std::max(2.0, r.completed)));
  const bool kept_up =
      r.request_rate && r.requests_per_s && *r.requests_per_s > 0.9 * *r.request_rate;
  if (r.request_rate && (!r.max_concurrency || kept_up)) {
    put("requests_per_s", *r.request_rate);
    if (r.burstiness && *r.burstiness >= 1.0) put("arrival_cv", 1.0 / std::sqrt(*r.burstiness));
  } else {
    put("concurrency", std::min(r.completed, r.max_concurrency.value_or(r.completed)));
  }
  for (const auto& [name, v] : service.items()) q[name] = v;
  if (service.contains("concurrency")) q.erase("requests_per_s");
  if (service.contains("requests_per_s")) q.erase("concurrency");
  return q;
}

json serving_of_run(const json& simulate) {
  const query& asked = find_query("serving");
  json q = {{"query", "serving"}};
  for (const auto& [name, v] : simulate.items()) {
    const bool load = name == "query" || name == "requests" || name == "concurrency" ||
                      name == "requests_per_s" || name == "scheduler";
    if (!load && (name == "mode" || asked.find(name) != nullptr)) q[name] = v;
  }
  return q;
}

}  // namespace napkin
