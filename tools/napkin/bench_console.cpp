// The table that vllm bench serve and SGLang's bench_serving print, as the object they save.
#include <algorithm>
#include <cctype>

#include "bench_report.hpp"
#include "io/amount.hpp"
#include "io/text.hpp"

namespace napkin {

namespace {

constexpr std::string_view console_heading = "Serving Benchmark Result";

/// Labels of counts and rates, in lower case, and the field of the saved object.
constexpr std::pair<std::string_view, const char*> console_fields[] = {
    {"successful requests", "completed"},
    {"failed requests", "failed"},
    {"maximum request concurrency", "max_concurrency"},
    {"max request concurrency", "max_concurrency"},
    {"max reqeuest concurrency", "max_concurrency"},  // SGLang's spelling up to 2025
    {"request rate configured (rps)", "request_rate"},
    {"traffic request rate", "request_rate"},
    {"benchmark duration (s)", "duration"},
    {"total input tokens", "total_input_tokens"},
    {"total generated tokens", "total_output_tokens"},
    {"request throughput (req/s)", "request_throughput"},
    {"output token throughput (tok/s)", "output_throughput"},
    {"total token throughput (tok/s)", "total_token_throughput"},
    {"concurrency", "concurrency"},
};

std::string_view trimmed(std::string_view s) {
  const std::size_t from = s.find_first_not_of(" \t\r");
  if (from == s.npos) return {};
  return s.substr(from, s.find_last_not_of(" \t\r") - from + 1);
}

/// p99_ttft_ms of "p99 ttft (ms)", mean_e2e_latency_ms of "mean e2e latency (ms)"; else empty.
std::string latency_field(std::string label) {
  constexpr std::string_view unit = " (ms)";
  if (!label.ends_with(unit)) return "";
  label.resize(label.size() - unit.size());
  for (const std::string_view metric : {" ttft", " tpot", " itl", " e2el", " e2e latency"}) {
    if (!label.ends_with(metric)) continue;
    std::replace(label.begin(), label.end(), ' ', '_');
    return label + "_ms";
  }
  return "";
}

std::string field_of(const std::string& label) {
  for (const auto& [text, field] : console_fields) {
    if (label == text) return field;
  }
  return latency_field(label);
}

json object_of(std::string_view table) {
  json out = json::object();
  for (const std::string_view line : split(table, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    std::string label(trimmed(line.substr(0, colon)));
    std::transform(label.begin(), label.end(), label.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string_view text = trimmed(line.substr(colon + 1));
    if (label == "backend") out["backend"] = std::string(text);
    const std::string field = field_of(label);
    std::string_view rest;
    const auto value = parse_number(text, rest);
    if (!field.empty() && value && rest.empty()) out[field] = *value;
  }
  if (out.contains("mean_e2e_latency_ms") && out.contains("total_token_throughput"))
    out["total_throughput"] = out["total_token_throughput"];
  return out;
}

}  // namespace

std::vector<json> console_reports(std::string_view text) {
  std::vector<json> all;
  for (std::size_t at = text.find(console_heading); at != text.npos;) {
    const std::size_t next = text.find(console_heading, at + console_heading.size());
    all.push_back(object_of(text.substr(at, next == text.npos ? next : next - at)));
    at = next;
  }
  return all;
}

}  // namespace napkin
