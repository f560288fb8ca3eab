// Reports of benchmark clients: what they say of a whole run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "key.hpp"

namespace napkin {

/// A latency of a report, in seconds.
struct reported_latency {
  std::optional<double> mean{};
  std::vector<std::pair<double, double>> percentiles{};  ///< percent and seconds, by percent
};

/// One benchmark run of a report. TPOT is a mean per request, (latency - TTFT) / (tokens - 1).
struct bench_report {
  std::string where{};   ///< the file, with a line or an index where it has several runs
  std::string client{};  ///< "vllm bench serve"
  std::string model{};
  std::string engine{};  ///< vllm, sglang or trtllm by the file's fields; else empty
  double completed = 0.0, failed = 0.0;
  std::optional<double> duration_s{};
  std::optional<double> request_rate{};  ///< none where all requests were sent at once
  std::optional<double> burstiness{};    ///< shape of the gamma distribution of arrival gaps
  std::optional<double> max_concurrency{}, mean_concurrency{};
  double input_tokens = 0.0, output_tokens = 0.0;  ///< mean per request
  std::optional<double> input_cv{}, output_cv{};
  std::optional<double> requests_per_s{}, output_tokens_per_s{}, total_tokens_per_s{};
  reported_latency ttft{}, tpot{}, itl{}, e2e{};

  /// Mean time per output token: TPOT, else ITL.
  std::optional<double> token_time() const { return tpot.mean ? tpot.mean : itl.mean; }
  /// "16 requests at a time"; empty with a request rate.
  std::string closed_load() const;
};

/// The runs of a file: vllm bench serve --save-result (and --append-result), SGLang's
/// bench_serving, the table that either prints, guidellm, AIPerf and GenAI-Perf. Field names: the
/// clients' sources.
/// Throws unreadable_file, malformed_request, missing_key, wrong_type and out_of_range, with the
/// file and the field.
std::vector<bench_report> read_bench_reports(const std::string& path);

/// The results that a client printed, each as the object that it saves; empty for other texts.
std::vector<json> console_reports(std::string_view text);

/// A command line with --runs: the files, and the keys of the service as a `simulate` request.
struct runs_request {
  std::vector<std::string> files{};
  json service = json::object();
  bool as_json = false;
};
/// Whether words have --runs.
bool has_runs(const std::vector<std::string>& words);
/// Throws unknown_key, missing_key, and the errors of a key's value.
runs_request runs_from_command_line(const std::vector<std::string>& words);

/// The `simulate` request of a run: the service with the run's lengths, arrivals and requests.
json request_of_run(const bench_report& r, const json& service);
/// A `serving` request of the same service and lengths, without arrivals.
json serving_of_run(const json& simulate);

/// Consistency of whole reports. docs/laws/audit.md.
json audit_runs_json(const runs_request& r);
std::string audit_runs_text(const json& found);

/// Measured and predicted figures of whole runs, and what to change. docs/laws/diagnose.md.
json diagnose_runs_json(const runs_request& r);
std::string diagnose_runs_text(const json& found);

}  // namespace napkin
