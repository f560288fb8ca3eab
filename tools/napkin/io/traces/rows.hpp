// Rows of trace files: the columns that are known, and one row with its values.
#pragma once

#include <cstdint>
#include <memory>
#include <napkin/io/trace_files.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lines.hpp"

namespace common::traces {

/// Meaning of a column or key.
enum class column_role {
  ignored,
  arrival,
  input,
  output,
  session,
  turn,
  think,        ///< time from completion of the previous turn to this one
  think_after,  ///< time from completion of this turn to the next one
  blocks,
  block_size,
  leading_blocks,
  new_tokens,
  ttft,
  e2e,
  tpot,
  cached,
  run,
  agent,
  images,
  status,
  failure,
  phase,
  chat,
  parent_chat,
  count,  ///< number of roles
};

/// A column by its name in lower case, with _ for blanks.
struct known_column {
  std::string_view name{};
  column_role role = column_role::ignored;
  double unit_s = 1.0;  ///< seconds per unit, of a time
  int priority = 0;     ///< the lowest counts where several columns have one role
};
/// Names of columns with this role, for messages.
std::string known_names(column_role role);

struct trace_row {
  std::int64_t line = 0;
  bool has_arrival = false;
  std::int64_t arrival_ns = 0;
  std::int64_t input_tokens = -1;
  std::int64_t output_tokens = -1;
  std::string session{};
  std::string parent_session{};  ///< conversation that begins this one with its last request
  std::string run{};
  std::int64_t turn = -1;
  double think_s = -1.0;
  double think_after_s = -1.0;
  measured_latency measured{};
  std::int64_t leading_blocks = -1;
  std::int64_t new_tokens = -1;
  std::int64_t block_tokens = 0;  ///< tokens per block identifier; 0: not stated
  std::int64_t chat = -1;
  std::int64_t parent_chat = -1;
  std::string empty_column{};  ///< name of a length that is 0
  bool failed = false;
  bool has_images = false;
  bool has_blocks = false;
  std::vector<std::uint64_t> blocks{};

  /// Empties the row, without release of memory.
  void clear();
};

/// Value of a cell or key: text, a whole number, or another number.
struct field_value {
  std::string_view text{};
  std::int64_t whole = 0;
  double number = 0.0;
  enum class kind { text, whole, number, truth, nothing } is = kind::text;

  std::string shown() const;
};

/// Source of rows. Throws the errors of read_trace_file.
class row_reader {
 public:
  virtual ~row_reader();
  row_reader(const row_reader&) = delete;
  row_reader& operator=(const row_reader&) = delete;

  virtual bool next(trace_row& row) = 0;
  /// Whether a line may hold several requests of a session.
  virtual bool has_nested_sessions() const { return false; }
  const std::string& name() const { return name_; }
  const trace_file_options& options() const { return options_; }
  /// Names of columns that no format has.
  const std::set<std::string>& unknown_columns() const { return unknown_; }
  [[noreturn]] void fail(std::int64_t line, error_code code, std::string_view what) const;
  /// FILE:LINE: column is "value"; allowed: these.
  [[noreturn]] void refuse(std::int64_t line, error_code code, std::string_view column,
                           const field_value& value, std::string_view allowed) const;

 protected:
  row_reader(std::string name, const trace_file_options& options);

  /// Meaning of a column: by its name, the options and the format.
  known_column column_of(std::string_view name);
  /// Sets a value of the row.
  void set(trace_row& row, const known_column& column, std::string_view name,
           const field_value& value) const;
  std::int64_t whole_in(const trace_row& row, std::string_view name, const field_value& value,
                        double least, double most) const;
  double number_in(const trace_row& row, std::string_view name, const field_value& value,
                   double unit_s) const;
  std::uint64_t block_in(const trace_row& row, std::string_view name,
                         const field_value& value) const;
  void note_unknown(std::string_view name, std::int64_t line);

 private:
  std::int64_t time_in(const trace_row& row, std::string_view name, const field_value& value,
                       double unit_s) const;
  void set_length(trace_row& row, std::int64_t& tokens, std::string_view name,
                  const field_value& value) const;
  void set_measured(trace_row& row, const known_column& column, std::string_view name,
                    const field_value& value) const;
  void set_text(trace_row& row, const known_column& column, const std::string& value,
                bool is_true) const;

  std::string name_;
  trace_file_options options_;
  std::string run_column_ = "run";
  std::set<std::string> unknown_{};
};

/// Nanoseconds from 1970 to a date such as 2023-11-16 18:17:03.9799600+01:00; false otherwise.
bool parse_date(std::string_view text, std::int64_t& ns);

/// Format of the lines, found by their content. Throws unknown_name.
std::string detect_format(line_reader& lines);
/// Rows of a file in a format of trace_formats. Options.format is not "auto".
std::unique_ptr<row_reader> csv_rows(std::unique_ptr<line_reader> lines,
                                     const trace_file_options& options);
std::unique_ptr<row_reader> json_rows(std::unique_ptr<line_reader> lines,
                                      const trace_file_options& options);
std::unique_ptr<row_reader> agentic_rows(std::unique_ptr<line_reader> lines,
                                         const trace_file_options& options);
std::unique_ptr<row_reader> bench_rows(std::unique_ptr<line_reader> lines,
                                       const trace_file_options& options);

/// Whether the next line begins a JSON value. Skips empty lines and those that begin with #.
bool begins_json(line_reader& lines);

}  // namespace common::traces
