// Rows of kv-cache-tester's sessions of agents, one session a line, with blocks of each session.
#include <cmath>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "parse_json.hpp"
#include "rows.hpp"

namespace common::traces {

namespace {

constexpr number_range allowed_seconds{.least = 0.0, .most = 1e9};
constexpr number_range allowed_tokens{.least = 0.0, .most = 1e9, .whole = true};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return perfmodel::random_generator(a ^ (b * 0xD1342543DE82EF95ULL)).bits();
}

class agentic_reader : public row_reader {
 public:
  agentic_reader(std::unique_ptr<line_reader> lines, const trace_file_options& options)
      : row_reader(lines->name(), options), lines_(std::move(lines)) {}

  bool has_nested_sessions() const override { return true; }

  bool next(trace_row& row) override {
    while (next_row_ == rows_.size()) {
      std::string_view line;
      if (!lines_->next(line)) return false;
      if (line.find_first_not_of(" \t") == line.npos) continue;
      rows_.clear();
      next_row_ = 0;
      const json session = parse_json(*lines_, line);
      at_last_line(*lines_, [&] { read_session(json_field(session)); });
    }
    std::swap(row, rows_[next_row_++]);
    return true;
  }

 private:
  /// Prompt prefix of an agent: tools, then the system prompt.
  struct prefix {
    std::int64_t tool_tokens = 0;
    std::int64_t system_tokens = 0;
  };
  static std::int64_t whole(const json_field& of, std::string_view key) {
    return of.has(key) ? static_cast<std::int64_t>(of[key].number(allowed_tokens)) : 0;
  }
  static prefix prefix_of(const json_field& agent) {
    return {whole(agent, "tool_tokens"), whole(agent, "system_tokens")};
  }

  void read_session(const json_field& session) {
    ++sessions_;
    global_.clear();
    const std::int64_t stated = whole(session, "block_size");
    block_tokens_ = stated > 0 ? stated : 64;
    local_ids_ = !session.has("hash_id_scope") || session["hash_id_scope"].text() == "local";
    const std::string key = session.has("id") ? session["id"].text() : cat("line ", lines_->line());
    bool first = true;
    for (const json_field& request : session["requests"].list()) {
      if (request.object().has("requests")) {
        read_subagent(request, key);
        continue;
      }
      add(request, key, 0.0, first ? prefix_of(session) : prefix{});
      rows_.back().turn = first ? 0 : 1;
      first = false;
    }
  }
  void read_subagent(const json_field& agent, const std::string& parent) {
    const double begin_s = agent["t"].number(allowed_seconds);
    const std::string id = agent.has("agent_id") ? agent["agent_id"].text() : cat(rows_.size());
    bool first = true;
    for (const json_field& request : agent["requests"].list()) {
      add(request, cat(parent, '/', id), begin_s, first ? prefix_of(agent) : prefix{});
      rows_.back().turn = first ? 0 : 1;
      rows_.back().parent_session = parent;
      first = false;
    }
  }
  void add(const json_field& request, const std::string& key, double begin_s, prefix shared) {
    trace_row& row = rows_.emplace_back();
    row.line = lines_->line();
    row.session = key;
    row.has_arrival = true;
    row.arrival_ns = std::llround(1e9 * (begin_s + request["t"].number(allowed_seconds)));
    row.input_tokens = static_cast<std::int64_t>(request["in"].number(allowed_tokens));
    row.output_tokens = static_cast<std::int64_t>(request["out"].number(allowed_tokens));
    if (row.output_tokens == 0) row.empty_column = "out";
    if (row.input_tokens == 0) row.empty_column = "in";
    if (request.has("think_time")) row.think_s = request["think_time"].number(allowed_seconds);
    if (request.has("api_time")) row.measured.e2e_s = request["api_time"].number(allowed_seconds);
    row.block_tokens = block_tokens_;
    if (!request.has("hash_ids")) return;
    row.has_blocks = true;
    const json_field ids = request["hash_ids"];
    if (!ids.raw().is_array()) ids.refuse(json_fault::wrong_type, "a list");
    row.blocks.reserve(ids.raw().size());
    for (const json& id : ids.raw()) {
      if (!id.is_number_unsigned()) {
        json_field(id, ids.name()).refuse(json_fault::wrong_type, "whole numbers from 0");
      }
      const auto position = static_cast<std::int64_t>(row.blocks.size());
      row.blocks.push_back(global(id.get<std::uint64_t>(), position, shared));
    }
  }
  /// Identifier over all sessions. Blocks of a prefix that an agent's first request begins with are
  /// those of every agent with as many tokens of tools, and of system prompt.
  std::uint64_t global(std::uint64_t local, std::int64_t position, prefix shared) {
    if (!local_ids_) return local;
    const auto [at, is_new] = global_.emplace(local, 0);
    if (!is_new) return at->second;
    const std::int64_t end = (position + 1) * block_tokens_;
    std::uint64_t scope = mixed(1, sessions_);
    std::uint64_t id = local;
    if (end <= shared.tool_tokens + shared.system_tokens) {
      scope = mixed(2, static_cast<std::uint64_t>(shared.tool_tokens));
      if (end > shared.tool_tokens) {
        scope = mixed(scope, static_cast<std::uint64_t>(shared.system_tokens) + 1);
      }
      id = static_cast<std::uint64_t>(position);
    }
    return at->second = mixed(scope, id);
  }

  std::unique_ptr<line_reader> lines_;
  std::vector<trace_row> rows_{};
  std::size_t next_row_ = 0;
  std::uint64_t sessions_ = 0;
  std::int64_t block_tokens_ = 64;
  bool local_ids_ = true;
  std::unordered_map<std::uint64_t, std::uint64_t> global_{};
};

/// Rows of a result of `vllm bench serve --save-detailed`: lists with a value per request.
class bench_reader : public row_reader {
 public:
  bench_reader(std::unique_ptr<line_reader> lines, const trace_file_options& options)
      : row_reader(lines->name(), options) {
    all_ = parse_json(*lines, lines->rest());
    if (!all_.is_object() || !all_.contains("input_lens") || !all_.contains("output_lens")) {
      fail(1, code::missing_key,
           cat(all_.is_object() && all_.contains("prompt_input")
                   ? "describes conversations that a benchmark generates, not requests"
                   : "has no requests: no input_lens and output_lens",
               "; allowed: a result of vllm bench serve --save-detailed, or JSON lines"));
    }
    size_ = list("input_lens").size();
    for (const char* key : {"output_lens", "start_times", "ttfts", "itls", "errors"}) {
      if (!all_.contains(key) || all_[key].is_null()) continue;
      if (list(key).size() != size_) {
        fail(1, error_code::inconsistent,
             cat(key, " has ", list(key).size(), " values; allowed: as many as input_lens, ",
                 size_));
      }
    }
  }

  bool next(trace_row& row) override {
    if (at_ == size_) return false;
    row.clear();
    row.line = 1;
    try {
      fill(row);
    } catch (const error& e) {
      fail(1, e.code(), e.what());
    }
    ++at_;
    return true;
  }

 private:
  const json& list(std::string_view key) const {
    const json& v = all_.at(std::string(key));
    if (!v.is_array()) fail(1, code::wrong_type, cat(key, " is ", brief(v), "; allowed: a list"));
    return v;
  }
  bool has(const char* key) const { return all_.contains(key) && !all_.at(key).is_null(); }
  json_field field(const char* key) const {
    return json_field(list(key)[at_], cat(key, '[', at_, ']'));
  }

  void fill(trace_row& row) const {
    row.input_tokens = static_cast<std::int64_t>(field("input_lens").number(allowed_tokens));
    row.output_tokens = static_cast<std::int64_t>(field("output_lens").number(allowed_tokens));
    if (row.output_tokens == 0 || row.input_tokens == 0) row.failed = true;
    if (has("errors") && field("errors").raw().is_string()) {
      row.failed = row.failed || !field("errors").text().empty();
    }
    if (has("start_times")) {
      row.arrival_ns = std::llround(1e9 * field("start_times").number({.most = 4e9}));
      row.has_arrival = true;
    }
    if (!has("ttfts") || row.failed) return;
    row.measured.ttft_s = field("ttfts").number(allowed_seconds);
    if (!has("itls")) return;
    const json_field itls = field("itls");
    const auto intervals = static_cast<double>(row.output_tokens - 1);
    if (itls.raw().is_number()) {  // the mean of a request, in some forks
      row.measured.tpot_s = itls.number(allowed_seconds);
      row.measured.e2e_s = row.measured.ttft_s + intervals * row.measured.tpot_s;
      return;
    }
    double sum = 0.0;
    for (const json_field& itl : itls.list()) sum += itl.number(allowed_seconds);
    row.measured.e2e_s = row.measured.ttft_s + sum;
    if (intervals > 0.0) row.measured.tpot_s = sum / intervals;
  }

  json all_{};
  std::size_t size_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<row_reader> agentic_rows(std::unique_ptr<line_reader> lines,
                                         const trace_file_options& options) {
  return std::make_unique<agentic_reader>(std::move(lines), options);
}
std::unique_ptr<row_reader> bench_rows(std::unique_ptr<line_reader> lines,
                                       const trace_file_options& options) {
  return std::make_unique<bench_reader>(std::move(lines), options);
}

}  // namespace common::traces
