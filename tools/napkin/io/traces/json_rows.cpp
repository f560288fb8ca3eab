// Rows of traces in JSON lines, an object with a request per line, or with the turns of a session.
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <napkin/io/json.hpp>
#include <unordered_map>

#include "flat_json.hpp"
#include "parse_json.hpp"
#include "rows.hpp"

namespace common::traces {

namespace {

/// Columns of JSON keys, looked up once.
class key_columns {
 public:
  template <class Find>
  const known_column& operator()(const std::string& key, Find find) {
    const auto at = known_.find(key);
    if (at != known_.end()) return at->second;
    if (known_.size() > 4096) known_.clear();  // of a file with keys of its own in each line
    return known_.emplace(key, find(key)).first->second;
  }

 private:
  std::unordered_map<std::string, known_column> known_{};
};

/// Passes the keys of a line with their values to `reader`. Of nested values it knows aiperf's:
/// metadata.KEY, and metrics.KEY.value.
template <class Reader>
class line_parser {
 public:
  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  explicit line_parser(Reader& reader) : reader_(reader) {}

  bool null() { return put({.is = field_value::kind::nothing}); }
  bool boolean(bool x) { return put({.whole = x ? 1 : 0, .is = field_value::kind::truth}); }
  bool number_integer(number_integer_t x) { return put_whole(x); }
  bool number_unsigned(number_unsigned_t x) {
    constexpr auto most = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    if (x <= most) return put_whole(static_cast<std::int64_t>(x));
    if (in_array_) return put_whole(static_cast<std::int64_t>(x & most));  // a 64-bit hash
    return put({.number = static_cast<double>(x), .is = field_value::kind::number});
  }
  bool number_float(number_float_t x, const string_t&) {
    return put({.number = x, .is = field_value::kind::number});
  }
  bool string(string_t& x) { return put({.text = x, .is = field_value::kind::text}); }
  bool binary(binary_t&) { return false; }

  bool start_object(std::size_t) {
    if (++depth_ > 32) return false;
    if (depth_ == 2 && key_ == "error" && !in_array_) {
      reader_.value(key_, {.whole = 1, .is = field_value::kind::truth}, false);
    }
    if (depth_ == 2) outer_ = key_;
    return true;
  }
  bool end_object() {
    if (--depth_ == 1) outer_.clear();
    return true;
  }
  bool start_array(std::size_t) {
    if (++depth_ > 32) return false;
    if (depth_ == 2) in_array_ = true;
    if (depth_ == 2) reader_.list(key_);
    return true;
  }
  bool end_array() {
    if (--depth_ == 1) in_array_ = false;
    return true;
  }
  bool key(string_t& name) {
    if (depth_ == 1 || (depth_ == 2 && (outer_ == "metadata" || outer_ == "metrics"))) {
      key_.swap(name);
    } else {
      inner_.swap(name);
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) {
    error_at_ = position;
    return false;
  }
  std::size_t error_at() const { return error_at_; }

 private:
  bool put_whole(std::int64_t x) {
    return put({.whole = x, .number = static_cast<double>(x), .is = field_value::kind::whole});
  }
  bool put(const field_value& v) {
    const bool scalar = !in_array_ && (depth_ == 1 || (depth_ == 2 && outer_ == "metadata") ||
                                       (depth_ == 3 && outer_ == "metrics" && inner_ == "value"));
    if (depth_ == 0) return false;
    if (scalar || (in_array_ && depth_ == 2)) reader_.value(key_, v, in_array_);
    return true;
  }

  Reader& reader_;
  std::string key_{}, inner_{}, outer_{};
  int depth_ = 0;
  bool in_array_ = false;
  std::size_t error_at_ = 1;
};

class json_lines_reader : public row_reader {
 public:
  json_lines_reader(std::unique_ptr<line_reader> lines, const trace_file_options& options)
      : row_reader(lines->name(), options), lines_(std::move(lines)) {}

  bool has_nested_sessions() const override { return nested_; }

  bool next(trace_row& row) override {
    if (next_turn_ < turns_.size()) {
      row = turns_[next_turn_++];
      return true;
    }
    std::string_view line;
    do {
      if (!lines_->next(line)) return false;
    } while (line.find_first_not_of(" \t") == line.npos);
    begin(row);
    const bool may_be_flat = options().format != "aiperf";
    if (!may_be_flat || !flat_scanner(line, *this).scan(key_)) {
      begin(row);
      parse(line);
    }
    if (nested_turns_) {
      read_turns(line, row);
      row = turns_[next_turn_++];
      return true;
    }
    require(row.input_tokens >= 0 || row.failed, column_role::input, "prompt length");
    require(row.output_tokens >= 0 || row.failed, column_role::output, "output length");
    return true;
  }

  /// Called by the parser.
  void value(const std::string& key, const field_value& v, bool in_list) {
    const known_column& column = in_list ? *list_ : column_for(key);
    if (in_list && column.role != column_role::blocks) return;
    if (!in_list && column.role == column_role::blocks && v.is != field_value::kind::nothing) {
      refuse(row_->line, code::wrong_type, key, v, "a list of whole numbers");
    }
    if (column.role == column_role::ignored) return;
    int& before = set_[static_cast<std::size_t>(column.role)];
    if (!in_list) {
      if (before == column.priority && options().format != "aiperf") {
        fail(row_->line, error_code::inconsistent,
             cat("the key ", in_quotes(key), " appears twice"));
      }
      if (before < column.priority) return;
      before = column.priority;
    }
    set(*row_, column, key, v);
  }
  void list(const std::string& key) {
    if (key == "sub_requests") nested_turns_ = true;
    list_ = &column_for(key);
    if (list_->role == column_role::blocks) {
      row_->has_blocks = true;
      row_->blocks.clear();
    }
  }

 private:
  static constexpr int unset = 1 << 20;

  const known_column& column_for(const std::string& key) {
    return columns_(key, [this](const std::string& k) {
      return k == "sub_requests" ? known_column{} : column_of(k);
    });
  }
  void begin(trace_row& row) {
    row.clear();
    row.line = lines_->line();
    row_ = &row;
    set_.fill(unset);
    nested_turns_ = false;
  }
  void parse(std::string_view line) {
    line_parser<json_lines_reader> parser(*this);
    const bool object = line[line.find_first_not_of(" \t")] == '{';
    if (!object || !json::sax_parse(line.begin(), line.end(), &parser)) {
      lines_->fail(code::malformed_request,
                   cat("not a JSON object at byte ", parser.error_at(), ": ", in_quotes(line)));
    }
  }
  void require(bool there, column_role role, std::string_view what) const {
    if (there) return;
    lines_->fail(code::missing_key,
                 cat("there is no ", what, "; allowed keys: ", known_names(role)));
  }
  /// Turns of a session in one line: {"session_id", "arrival_time_ns", "sub_requests": [...]}.
  void read_turns(std::string_view line, const trace_row& session) {
    nested_ = true;
    turns_.clear();
    next_turn_ = 0;
    const json all = parse_json(*lines_, line);
    const std::string key = session.session.empty() ? cat("line ", session.line) : session.session;
    const json& requests = all.at("sub_requests");
    if (!requests.is_array() || requests.empty()) {
      lines_->fail(code::missing_key, "sub_requests is not a list with a request");
    }
    for (const json& turn : requests) {
      trace_row& row = turns_.emplace_back();
      row.line = session.line;
      row.session = key;
      row.has_arrival = session.has_arrival;
      row.arrival_ns = session.arrival_ns;
      row_ = &row;
      set_.fill(unset);
      parse(write_json(turn));
      require(row.input_tokens >= 0, column_role::input, "prompt length");
      require(row.output_tokens >= 0, column_role::output, "output length");
      if (row.think_after_s < 0.0) row.think_after_s = 0.0;
      row.turn = static_cast<std::int64_t>(turns_.size()) - 1;
    }
  }

  std::unique_ptr<line_reader> lines_;
  key_columns columns_{};
  trace_row* row_ = nullptr;
  const known_column* list_ = nullptr;  ///< column of the list that is read
  std::string key_{};
  std::array<int, static_cast<std::size_t>(column_role::count)> set_{};
  std::vector<trace_row> turns_{};
  std::size_t next_turn_ = 0;
  bool nested_ = false;
  bool nested_turns_ = false;
};

}  // namespace

std::unique_ptr<row_reader> json_rows(std::unique_ptr<line_reader> lines,
                                      const trace_file_options& options) {
  return std::make_unique<json_lines_reader>(std::move(lines), options);
}

}  // namespace common::traces
