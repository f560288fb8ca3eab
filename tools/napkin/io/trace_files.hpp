// Trace files: recorded workloads in the formats people have them in, plain or compressed by gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <perfmodel/serving/simulation/trace.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace common {

/// Formats by name. "auto" detects the format by content.
inline constexpr std::string_view trace_formats[] = {
    "azure",          "burstgpt", "mooncake",   "bailian", "vidur", "llmservingsim",
    "agentic_claude", "blis",     "vllm_bench", "aiperf",  "csv",   "jsonl"};

struct trace_file_options {
  std::string format = "auto";
  std::string run{};             ///< value of the column `run`, of a file with several runs
  std::string arrival_column{};  ///< time column, where a file has several: planned_s
  int block_tokens = 0;          ///< tokens per block identifier; 0: as the format has it
  bool strict_columns = false;   ///< refuses columns that no format has
  bool skip_empty = false;       ///< skips and counts requests with a length of 0
};

/// Latencies of a recorded request, in seconds; below 0 where the file has none.
struct measured_latency {
  double ttft_s = -1.0;
  double e2e_s = -1.0;
  double tpot_s = -1.0;
  int cached_tokens = -1;
};

/// What a reader found besides requests.
struct trace_report {
  std::string format{};
  std::int64_t rows = 0;         ///< rows of requests, those skipped included
  std::int64_t failed_rows = 0;  ///< requests that the file marks as failed, skipped
  std::int64_t empty_rows = 0;   ///< requests with a length of 0, skipped
  std::int64_t other_runs = 0;   ///< rows of other runs, skipped
  std::int64_t late_rows = 0;    ///< rows before the time of an earlier row, sorted
  double largest_step_back_s = 0.0;
  std::vector<std::string> notes{};  ///< sentences about all of these, and about what was assumed
};

struct trace_file {
  perfmodel::request_trace workload{};
  std::vector<measured_latency> measured{};  ///< one per request; empty where the file has none
  trace_report report{};
};

/// Reads a whole trace. Errors name the file, line, column or key, its value, and what is allowed.
/// Throws unreadable_file, out_of_range, inconsistent, unknown_name, missing_key, wrong_type,
/// malformed_request.
trace_file read_trace_file(const std::string& path, const trace_file_options& options = {});
/// Reads a trace from a text; `name` is the file in messages.
trace_file read_trace_text(std::string_view text, const std::string& name,
                           const trace_file_options& options = {});

/// Reader of a trace that stays on disk: memory is constant in its length. Rows may be out of order
/// by up to 4,096 rows. Formats with several requests a line, and sessions with think times, need
/// read_trace_file. Throws its errors.
class trace_file_reader : public perfmodel::trace_reader {
 public:
  virtual const trace_report& report() const = 0;
};
std::unique_ptr<trace_file_reader> stream_trace_file(const std::string& path,
                                                     const trace_file_options& options = {});

/// Conversations that a benchmark generates: vLLM's benchmarks/multi_turn. Lengths are in tokens.
struct conversation_workload {
  int conversations = 0;
  perfmodel::length_distribution messages{};  ///< messages of a conversation: users and assistants
  perfmodel::length_distribution requests{};  ///< requests of a conversation: half its messages
  perfmodel::length_distribution shared_prefix = {.mean = 0.0,
                                                  .least = 0};  ///< prefix of all conversations
  perfmodel::length_distribution prefix = {.mean = 0.0,
                                           .least = 0};  ///< prefix of one conversation
  perfmodel::length_distribution input{};                ///< new tokens of a request
  perfmodel::length_distribution output{};
};
/// Throws the errors of read_trace_file.
conversation_workload read_conversation_workload(const std::string& path);

}  // namespace common
