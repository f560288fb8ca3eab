#include "rows.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <napkin/io/number_range.hpp>

namespace common::traces {

namespace {

using role = column_role;
constexpr double ms = 1e-3, us = 1e-6, ns = 1e-9;
constexpr double most_tokens = 1e9;

/// Columns of all formats. Where a row has several of one role, the first of this table counts.
constexpr known_column columns[] = {
    {"send_s", role::arrival},
    {"sent_s", role::arrival},
    {"send_time_us", role::arrival, us},
    {"request_start_ns", role::arrival, ns},
    {"arrival_s", role::arrival},
    {"arrival", role::arrival},
    {"arrival_time", role::arrival},
    {"arrival_time_s", role::arrival},
    {"arrived_at", role::arrival},
    {"arrival_ms", role::arrival, ms},
    {"arrival_time_ms", role::arrival, ms},
    {"arrival_us", role::arrival, us},
    {"arrival_time_us", role::arrival, us},
    {"arrival_ns", role::arrival, ns},
    {"arrival_time_ns", role::arrival, ns},
    {"timestamp", role::arrival},
    {"timestamp_s", role::arrival},
    {"timestamp_ms", role::arrival, ms},
    {"timestamp_us", role::arrival, us},
    {"timestamp_ns", role::arrival, ns},
    {"start_time", role::arrival},
    {"start_time_s", role::arrival},
    {"time", role::arrival},
    {"time_s", role::arrival},
    {"t_s", role::arrival},
    {"planned_s", role::arrival},
    {"server_input_tokens", role::input},
    {"input_tokens", role::input},
    {"prompt_tokens", role::input},
    {"isl", role::input},
    {"num_prefill_tokens", role::input},
    {"prefill_tokens", role::input},
    {"num_prompt_tokens", role::input},
    {"contexttokens", role::input},
    {"context_tokens", role::input},
    {"request_tokens", role::input},
    {"input_length", role::input},
    {"input_len", role::input},
    {"input_toks", role::input},
    {"input_sequence_length", role::input},
    {"prompt_length", role::input},
    {"prompt_len", role::input},
    {"output_tokens", role::output},
    {"completion_tokens", role::output},
    {"osl", role::output},
    {"num_decode_tokens", role::output},
    {"decode_tokens", role::output},
    {"generatedtokens", role::output},
    {"generated_tokens", role::output},
    {"response_tokens", role::output},
    {"output_length", role::output},
    {"output_len", role::output},
    {"output_toks", role::output},
    {"output_sequence_length", role::output},
    {"session_id", role::session},
    {"session", role::session},
    {"x_correlation_id", role::session},
    {"conversation_id", role::session},
    {"conversation", role::session},
    {"trace", role::session},
    {"turn", role::turn},
    {"turn_index", role::turn},
    {"round_index", role::turn},
    {"index", role::turn},
    {"think_s", role::think},
    {"think_time_s", role::think},
    {"think_time", role::think},
    {"think_time_ms", role::think, ms},
    {"delay", role::think, ms},
    {"delay_ms", role::think, ms},
    {"think_after_s", role::think_after},
    {"tool_duration_ns", role::think_after, ns},
    {"hash_ids", role::blocks},
    {"full_block16_ids", role::blocks},
    {"block_ids", role::blocks},
    {"block_hashes", role::blocks},
    {"block_size", role::block_size},
    {"block_tokens", role::block_size},
    {"leading_blocks_seen", role::leading_blocks},
    {"new_tokens", role::new_tokens},
    {"ttft_ms", role::ttft, ms},
    {"ttft_s", role::ttft},
    {"ttft", role::ttft},
    {"time_to_first_token", role::ttft, ms},
    {"e2e_ms", role::e2e, ms},
    {"e2e_s", role::e2e},
    {"request_latency", role::e2e, ms},
    {"elapsed_time", role::e2e},
    {"api_time_s", role::e2e},
    {"api_time", role::e2e},
    {"tpot_ms", role::tpot, ms},
    {"itl_mean_ms", role::tpot, ms},
    {"inter_token_latency", role::tpot, ms},
    {"cached_tokens", role::cached},
    {"agent", role::agent},
    {"numimages", role::images},
    {"num_images", role::images},
    {"image_tokens", role::images},
    {"status", role::status},
    {"error", role::failure},
    {"error_message", role::failure},
    {"was_cancelled", role::failure},
    {"benchmark_phase", role::phase},
    {"chat_id", role::chat},
    {"parent_chat_id", role::parent_chat},
};
/// Columns of known formats that no workload needs.
constexpr std::string_view ignored_columns[] = {"model",
                                                "model_id",
                                                "log_type",
                                                "total_tokens",
                                                "num_total_tokens",
                                                "pd_ratio",
                                                "request",
                                                "request_id",
                                                "x_request_id",
                                                "client",
                                                "client_id",
                                                "tenant_id",
                                                "user_id",
                                                "chunks",
                                                "num_chunks",
                                                "input_tokens_asked",
                                                "output_tokens_asked",
                                                "type",
                                                "blocks64",
                                                "slo_class",
                                                "prefix_group",
                                                "prefix_length",
                                                "streaming",
                                                "text_tokens",
                                                "audio_tokens",
                                                "video_tokens",
                                                "reason_ratio",
                                                "deadline_us",
                                                "first_chunk_time_us",
                                                "last_chunk_time_us",
                                                "finish_reason",
                                                "gpu",
                                                "tp",
                                                "engine",
                                                "version",
                                                "vllm_version",
                                                "max_num_seqs",
                                                "max_num_batched_tokens",
                                                "queued_ms",
                                                "concurrency",
                                                "source",
                                                "metadata",
                                                "metrics",
                                                "input_tok_ids",
                                                "output_tok_ids",
                                                "session_num",
                                                "request_ack_ns",
                                                "request_end_ns",
                                                "worker_id",
                                                "record_processor_id",
                                                "cancellation_time_ns",
                                                "prompt",
                                                "id"};

std::string normalized(std::string_view name) {
  while (!name.empty() && (name.front() == ' ' || name.front() == '\t')) name.remove_prefix(1);
  while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
  std::string s = lower_case(name);
  std::replace_if(
      s.begin(), s.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return s;
}

/// Unit of a time column by the end of its name; seconds otherwise.
double unit_by_name(std::string_view name) {
  if (name.ends_with("_ms")) return ms;
  if (name.ends_with("_us")) return us;
  return name.ends_with("_ns") ? ns : 1.0;
}

/// A number of digits at the front, which are taken away.
bool digits(std::string_view& text, std::size_t least, std::size_t most, int& value) {
  std::size_t n = 0;
  value = 0;
  while (n < text.size() && n < most && text[n] >= '0' && text[n] <= '9') {
    value = 10 * value + (text[n++] - '0');
  }
  text.remove_prefix(n);
  return n >= least;
}
bool letter(std::string_view& text, std::string_view allowed) {
  if (text.empty() || allowed.find(text.front()) == allowed.npos) return false;
  text.remove_prefix(1);
  return true;
}
/// Offset of a time zone in minutes: nothing, Z, +01:00, +0100 or +01.
bool zone(std::string_view text, int& minutes) {
  minutes = 0;
  if (text.empty() || text == "Z" || text == "z" || text == " UTC") return true;
  const int sign = text.front() == '-' ? -1 : 1;
  int h = 0, m = 0;
  if (!letter(text, "+-") || !digits(text, 2, 2, h)) return false;
  letter(text, ":");
  if (!text.empty() && !digits(text, 2, 2, m)) return false;
  minutes = sign * (60 * h + m);
  return text.empty() && h <= 14 && m < 60;
}

/// A cell of a table, as a number where it is one.
field_value parsed(std::string_view text) {
  field_value v{.text = text};
  const char* end = text.data() + text.size();
  if (const auto r = std::from_chars(text.data(), end, v.whole);
      r.ec == std::errc() && r.ptr == end) {
    v.is = field_value::kind::whole;
    v.number = static_cast<double>(v.whole);
  } else if (const auto f = std::from_chars(text.data(), end, v.number);
             f.ec == std::errc() && f.ptr == end && std::isfinite(v.number)) {
    v.is = field_value::kind::number;
  }
  return v;
}

std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t h = 14695981039346656037ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return h;
}

}  // namespace

bool parse_date(std::string_view text, std::int64_t& ns_since_1970) {
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0, offset = 0;
  if (!digits(text, 4, 4, y) || !letter(text, "-/") || !digits(text, 1, 2, mo) ||
      !letter(text, "-/") || !digits(text, 1, 2, d)) {
    return false;
  }
  if (!letter(text, " Tt") || !digits(text, 1, 2, h) || !letter(text, ":") ||
      !digits(text, 2, 2, mi)) {
    return false;
  }
  std::int64_t fraction = 0;
  if (letter(text, ":")) {
    if (!digits(text, 2, 2, s)) return false;
    if (letter(text, ".,")) {  // any number of decimals; those below 1 ns are cut
      std::int64_t unit = 100'000'000;
      for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
        fraction += unit * (text.front() - '0');
        unit /= 10;
      }
    }
  }
  const std::chrono::year_month_day day{std::chrono::year(y),
                                        std::chrono::month(static_cast<unsigned>(mo)),
                                        std::chrono::day(static_cast<unsigned>(d))};
  if (!zone(text, offset) || !day.ok() || h > 23 || mi > 59 || s > 60) return false;
  if (y < 1900 || y > 2095) return false;  // differences within 64 bits of nanoseconds
  const std::int64_t days = std::chrono::sys_days(day).time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + h) * 60 + mi - offset) * 60 + s;
  ns_since_1970 = seconds * 1'000'000'000 + fraction;
  return true;
}

std::string known_names(column_role wanted) {
  std::string names;
  for (const known_column& c : columns) {
    if (c.role == wanted) names.append(names.empty() ? "" : ", ").append(c.name);
  }
  return names;
}

void trace_row::clear() {
  std::vector<std::uint64_t> memory = std::move(blocks);
  *this = trace_row{};
  memory.clear();
  blocks = std::move(memory);
}

std::string field_value::shown() const {
  if (is == kind::text) return in_quotes(text);
  if (is == kind::truth) return whole != 0 ? "true" : "false";
  if (is == kind::nothing) return "null";
  return text.empty() ? (is == kind::whole ? cat(whole) : cat(number)) : in_quotes(text);
}

row_reader::~row_reader() = default;

row_reader::row_reader(std::string name, const trace_file_options& options)
    : name_(std::move(name)), options_(options) {
  const std::size_t equals = options_.run.find('=');
  if (equals != std::string::npos) {
    run_column_ = normalized(options_.run.substr(0, equals));
    options_.run.erase(0, equals + 1);
  }
  options_.arrival_column = normalized(options_.arrival_column);
}

void row_reader::fail(std::int64_t line, error_code code, std::string_view what) const {
  throw error(code, cat(name_, ':', line, ": ", what));
}
void row_reader::refuse(std::int64_t line, error_code code, std::string_view column,
                        const field_value& value, std::string_view allowed) const {
  fail(line, code, cat(common::shown(column), " is ", value.shown(), "; allowed: ", allowed));
}

known_column row_reader::column_of(std::string_view name) {
  const std::string found = normalized(name);
  known_column column{};
  bool known = false;
  for (const known_column& c : columns) {
    if (c.name != found) continue;
    column = c;
    column.priority = static_cast<int>(&c - columns);
    known = true;
  }
  for (const std::string_view ignored : ignored_columns) known = known || ignored == found;
  const bool mooncake = options_.format == "mooncake";
  if (found == "timestamp" && mooncake) column.unit_s = ms;
  if (found == "index" && options_.format != "agentic_claude") column = {};
  if (found == "trace" && options_.format != "agentic_claude") column = {};
  if (found == run_column_) return {"run", role::run};
  if (!options_.arrival_column.empty()) {
    if (column.role == role::arrival) column.role = role::ignored;
    if (found == options_.arrival_column) {
      const double unit = known && column.unit_s != 1.0 ? column.unit_s : unit_by_name(found);
      column = {"arrival", role::arrival, unit, 0};
      known = true;
    }
  }
  if (!known) note_unknown(name, 1);
  return column;
}

void row_reader::note_unknown(std::string_view name, std::int64_t line) {
  if (options_.strict_columns) {
    fail(line, code::unknown_key,
         cat("the column ", in_quotes(name), " is not known; known: ",
             listed(columns, [](const known_column& c) { return c.name; })));
  }
  if (unknown_.size() < 20) unknown_.insert(shown(name));
}

std::int64_t row_reader::whole_in(const trace_row& row, std::string_view name,
                                  const field_value& given, double least, double most) const {
  const field_value v = given.is == field_value::kind::text ? parsed(given.text) : given;
  const number_range allowed{.least = least, .most = most, .whole = true};
  if (v.is == field_value::kind::whole || v.is == field_value::kind::number) {
    if (allowed.holds(v.number)) {
      return v.is == field_value::kind::whole ? v.whole : static_cast<std::int64_t>(v.number);
    }
    refuse(row.line, error_code::out_of_range, name, v, allowed.allowed());
  }
  refuse(row.line, code::wrong_type, name, v, allowed.allowed());
}

double row_reader::number_in(const trace_row& row, std::string_view name, const field_value& given,
                             double unit_s) const {
  const field_value v = given.is == field_value::kind::text ? parsed(given.text) : given;
  const number_range allowed{.least = 0.0, .most = std::round(1e9 / unit_s)};
  if (v.is != field_value::kind::whole && v.is != field_value::kind::number) {
    refuse(row.line, code::wrong_type, name, v, allowed.allowed());
  }
  if (!allowed.holds(v.number)) {
    refuse(row.line, error_code::out_of_range, name, v, allowed.allowed());
  }
  return unit_s * v.number;
}

std::int64_t row_reader::time_in(const trace_row& row, std::string_view name,
                                 const field_value& given, double unit_s) const {
  const field_value v = given.is == field_value::kind::text ? parsed(given.text) : given;
  const double unit_ns = std::round(1e9 * unit_s);
  const std::string_view allowed = "a number, or a date as 2023-11-16 18:17:03.97 or with +00:00";
  std::int64_t at = 0;
  if (v.is == field_value::kind::text && parse_date(v.text, at)) return at;
  if (v.is != field_value::kind::whole && v.is != field_value::kind::number) {
    refuse(row.line, code::wrong_type, name, v, allowed);
  }
  if (!(std::abs(v.number) * unit_ns <= 4e18)) {
    refuse(row.line, error_code::out_of_range, name, v, "at most 4e9 s");
  }
  if (v.is == field_value::kind::whole) return v.whole * static_cast<std::int64_t>(unit_ns);
  return std::llround(v.number * unit_ns);
}

std::uint64_t row_reader::block_in(const trace_row& row, std::string_view name,
                                   const field_value& v) const {
  if (v.is == field_value::kind::text && !v.text.empty()) return hash_of(v.text);
  if (v.is != field_value::kind::whole || v.whole < 0) {
    refuse(row.line, code::wrong_type, name, v, "whole numbers from 0, or texts");
  }
  return static_cast<std::uint64_t>(v.whole);
}

void row_reader::set_length(trace_row& row, std::int64_t& tokens, std::string_view name,
                            const field_value& v) const {
  tokens = whole_in(row, name, v, 0.0, most_tokens);
  if (tokens == 0) row.empty_column = name;
}

void row_reader::set_measured(trace_row& row, const known_column& column, std::string_view name,
                              const field_value& v) const {
  measured_latency& to = row.measured;
  if (column.role == role::cached) {
    to.cached_tokens = static_cast<int>(whole_in(row, name, v, 0.0, most_tokens));
    return;
  }
  double& seconds = column.role == role::ttft  ? to.ttft_s
                    : column.role == role::e2e ? to.e2e_s
                                               : to.tpot_s;
  seconds = number_in(row, name, v, column.unit_s);
}

void row_reader::set_text(trace_row& row, const known_column& column, const std::string& value,
                          bool is_true) const {
  const std::string word = lower_case(value);
  switch (column.role) {
    case role::session: row.session = value; break;
    case role::run: row.run = value; break;
    case role::agent:
      if (word != "main") row.parent_session = "main";
      break;
    case role::status:
      if (word != "ok" && word != "success" && word != "200" && word != "completed") {
        row.failed = true;
      }
      break;
    case role::failure: row.failed = row.failed || is_true || word != "false"; break;
    case role::phase: row.failed = row.failed || word == "warmup"; break;
    default: break;
  }
}

void row_reader::set(trace_row& row, const known_column& column, std::string_view name,
                     const field_value& v) const {
  const bool empty =
      v.is == field_value::kind::nothing || (v.is == field_value::kind::text && v.text.empty());
  const bool needed =
      column.role == role::input || column.role == role::output || column.role == role::arrival;
  if (empty && !needed) return;
  switch (column.role) {
    case role::arrival:
      row.arrival_ns = time_in(row, name, v, column.unit_s);
      row.has_arrival = true;
      break;
    case role::input: set_length(row, row.input_tokens, name, v); break;
    case role::output: set_length(row, row.output_tokens, name, v); break;
    case role::turn: row.turn = whole_in(row, name, v, 0.0, most_tokens); break;
    case role::think: row.think_s = number_in(row, name, v, column.unit_s); break;
    case role::think_after: row.think_after_s = number_in(row, name, v, column.unit_s); break;
    case role::block_size: row.block_tokens = whole_in(row, name, v, 1.0, 1e6); break;
    case role::leading_blocks: row.leading_blocks = whole_in(row, name, v, 0.0, most_tokens); break;
    case role::new_tokens: row.new_tokens = whole_in(row, name, v, 0.0, most_tokens); break;
    case role::ttft:
    case role::e2e:
    case role::tpot:
    case role::cached: set_measured(row, column, name, v); break;
    case role::images: row.has_images = whole_in(row, name, v, 0.0, most_tokens) > 0; break;
    case role::chat: row.chat = whole_in(row, name, v, -1.0, 9e15); break;
    case role::parent_chat: row.parent_chat = whole_in(row, name, v, -1.0, 9e15); break;
    case role::blocks:
      row.has_blocks = true;
      row.blocks.push_back(block_in(row, name, v));
      break;
    default:
      set_text(row, column, v.text.empty() ? v.shown() : std::string(v.text),
               v.is == field_value::kind::truth && v.whole != 0);
  }
}

}  // namespace common::traces
