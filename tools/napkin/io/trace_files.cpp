#include "trace_files.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>

#include "traces/builder.hpp"
#include "traces/parse_json.hpp"
#include "traces/rows.hpp"

namespace common {

namespace {

using traces::line_reader;
using traces::row_reader;
using traces::trace_row;

std::unique_ptr<row_reader> open_rows(std::unique_ptr<line_reader> lines,
                                      trace_file_options options) {
  const std::string found = traces::detect_format(*lines);
  const bool is_json = traces::begins_json(*lines);
  if (options.format.empty() || options.format == "auto") options.format = found;
  const std::string& format = options.format;
  if (std::find(std::begin(trace_formats), std::end(trace_formats), format) ==
      std::end(trace_formats)) {
    throw error(error_code::unknown_name, cat("the trace format is ", in_quotes(format),
                                              "; allowed: auto, ", listed(trace_formats)));
  }
  if (options.block_tokens < 0 || options.block_tokens > 1'000'000) {
    throw error(error_code::out_of_range, cat("block_tokens is ", options.block_tokens,
                                              "; allowed: a whole number, 0 to 1e6"));
  }
  if (format == "vllm_bench") return traces::bench_rows(std::move(lines), options);
  if (!is_json) return traces::csv_rows(std::move(lines), options);
  if (format == "agentic_claude") return traces::agentic_rows(std::move(lines), options);
  return traces::json_rows(std::move(lines), options);
}

trace_file read_rows(row_reader& rows) {
  traces::trace_builder builder(rows);
  trace_row row;
  while (rows.next(row)) builder.add(row);
  return builder.finish();
}

/// Sorts rows within a window while they are read.
class streamed_rows : public trace_file_reader {
 public:
  explicit streamed_rows(std::unique_ptr<row_reader> rows)
      : rows_(std::move(rows)), filter_(*rows_) {
    fill();
    if (waiting_.empty()) {
      throw error(code::missing_key, cat(rows_->name(), ":1: there is no request in the file"));
    }
    first_ns_ = waiting_.front().arrival_ns;
    last_ns_ = first_ns_;
    report_ = filter_.report();
  }

  bool next(perfmodel::trace_request& r, std::vector<std::uint64_t>& blocks) override {
    if (waiting_.empty()) return false;
    request& next = waiting_.front();
    if (next.arrival_ns < last_ns_) {
      rows_->fail(next.line, error_code::inconsistent,
                  cat("the arrival time is ", static_cast<double>(last_ns_ - next.arrival_ns) / 1e9,
                      " s before that of a row more than ", window,
                      " rows earlier; allowed: rows sorted by time"));
    }
    last_ns_ = next.arrival_ns;
    r = next.is;
    r.arrival_s = static_cast<double>(next.arrival_ns - first_ns_) / 1e9;
    blocks.swap(next.blocks);
    unused_.swap(next.blocks);
    waiting_.pop_front();
    fill();
    return true;
  }
  int block_tokens() const override { return std::max(1, filter_.block_tokens()); }
  const trace_report& report() const override {
    report_ = filter_.report();
    return report_;
  }

 private:
  static constexpr std::size_t window = 4096;
  struct request {
    std::int64_t arrival_ns = 0;
    std::int64_t line = 0;
    perfmodel::trace_request is{};
    std::vector<std::uint64_t> blocks{};
  };

  void fill() {
    while (!ended_ && waiting_.size() < window) {
      ended_ = !rows_->next(row_);
      if (ended_) return;
      refuse_turns();
      if (filter_.accept(row_)) insert();
    }
  }
  void refuse_turns() const {
    const bool turns = rows_->has_nested_sessions() || row_.think_s >= 0.0 ||
                       row_.think_after_s >= 0.0 || row_.leading_blocks >= 0 ||
                       row_.new_tokens >= 0;
    if (!turns) return;
    rows_->fail(row_.line, error_code::inconsistent,
                "turns of sessions cannot be read one at a time; allowed: reading the whole file");
  }
  void insert() {
    request r{.arrival_ns = row_.arrival_ns, .line = row_.line};
    r.is.input_tokens = static_cast<int>(row_.input_tokens);
    r.is.output_tokens = static_cast<int>(row_.output_tokens);
    if (!row_.session.empty()) {  // a number without memory of all sessions
      r.is.session = static_cast<int>(std::hash<std::string>()(row_.session) & 0x7FFFFFFFU);
    }
    r.is.block_count = static_cast<int>(row_.blocks.size());
    r.blocks.swap(unused_);
    r.blocks.assign(row_.blocks.begin(), row_.blocks.end());
    auto at = waiting_.end();
    while (at != waiting_.begin() && std::prev(at)->arrival_ns > r.arrival_ns) --at;
    if (at != waiting_.end()) {
      filter_.count_late(static_cast<double>(waiting_.back().arrival_ns - r.arrival_ns) / 1e9);
    }
    waiting_.insert(at, std::move(r));
  }

  std::unique_ptr<row_reader> rows_;
  traces::row_filter filter_;
  mutable trace_report report_{};
  std::deque<request> waiting_{};
  std::vector<std::uint64_t> unused_{};  ///< memory of a request that was read
  trace_row row_{};
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  bool ended_ = false;
};

/// Tokens of a distribution of vLLM's benchmark: constant, uniform or lognormal.
perfmodel::length_distribution distribution(const json_field& d) {
  using perfmodel::length_distribution;
  constexpr number_range allowed{.least = 0.0, .most = 1e9};
  const std::string kind = d["distribution"].word("constant|uniform|lognormal");
  length_distribution out;
  if (kind == "constant") {
    out = length_distribution::fixed(d["value"].number(allowed));
  } else if (kind == "uniform") {
    const double low = d["min"].number(allowed);
    out = length_distribution::uniform(low, d["max"].number({.least = low, .most = 1e9}));
  } else if (d.has("average")) {
    // median / mean = exp(-s^2 / 2), and 1 + cv^2 = exp(s^2); 0.85 is vLLM's default
    const double ratio =
        d.has("median_ratio") ? d["median_ratio"].number({.least = 1e-3, .most = 0.999}) : 0.85;
    out = length_distribution::lognormal(d["average"].number({.least = 1.0, .most = 1e9}),
                                         std::sqrt(1.0 / (ratio * ratio) - 1.0));
  } else {
    const double mu = d["mean"].number({.least = 0.0, .most = 20.0});
    const double sigma = d["sigma"].number({.least = 0.0, .most = 5.0});
    out = length_distribution::lognormal(std::exp(mu + 0.5 * sigma * sigma),
                                         std::sqrt(std::expm1(sigma * sigma)));
  }
  out.least = 0;
  if (kind == "lognormal" && d.has("max")) {
    out.most = static_cast<int>(d["max"].number({.least = 1.0, .most = 1e9}));
  }
  return out;
}

/// Half of a number of messages: user turns of a conversation.
perfmodel::length_distribution half(perfmodel::length_distribution d) {
  d.mean *= 0.5;
  d.low = std::ceil(0.5 * d.low);
  d.high = std::floor(0.5 * d.high);
  d.least = 1;
  d.most = std::max(1, d.most / 2);
  return d;
}

}  // namespace

trace_file read_trace_file(const std::string& path, const trace_file_options& options) {
  return read_rows(*open_rows(traces::open_lines(path), options));
}
trace_file read_trace_text(std::string_view text, const std::string& name,
                           const trace_file_options& options) {
  return read_rows(*open_rows(traces::lines_of(text, name), options));
}
std::unique_ptr<trace_file_reader> stream_trace_file(const std::string& path,
                                                     const trace_file_options& options) {
  return std::make_unique<streamed_rows>(open_rows(traces::open_lines(path), options));
}

conversation_workload read_conversation_workload(const std::string& path) {
  const auto lines = traces::open_lines(path);
  const json all = traces::parse_json(*lines, lines->rest());
  return traces::at_last_line(*lines, [&all] {
    const json_field file(all);
    const json_field input = file["prompt_input"];
    conversation_workload w;
    w.conversations = static_cast<int>(
        file["num_conversations"].number({.least = 1.0, .most = 1e9, .whole = true}));
    w.messages = distribution(input["num_turns"]);
    w.requests = half(w.messages);
    if (input.has("common_prefix_num_tokens")) {
      w.shared_prefix = distribution(input["common_prefix_num_tokens"]);
    }
    if (input.has("prefix_num_tokens")) w.prefix = distribution(input["prefix_num_tokens"]);
    w.input = distribution(input["num_tokens"]);
    w.output = distribution(file["prompt_output"]["num_tokens"]);
    return w;
  });
}

}  // namespace common
