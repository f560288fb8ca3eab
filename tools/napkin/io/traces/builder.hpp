// Requests of a trace from the rows of its file.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "rows.hpp"

namespace common::traces {

/// Chooses rows, checks them and counts those that are skipped.
class row_filter {
 public:
  explicit row_filter(const row_reader& rows);

  /// Whether the row is a request of the trace. Completes it: block size, conversation of agents.
  bool accept(trace_row& row);
  int block_tokens() const { return static_cast<int>(block_tokens_); }
  bool has_arrivals() const { return has_arrivals_; }
  /// Counts, and sentences about them.
  trace_report report() const;
  /// Counts a row that is before an earlier one.
  void count_late(double step_back_s);

 private:
  bool other_run(const trace_row& row);
  bool skip_empty(trace_row& row);
  void check_arrival(const trace_row& row);
  void check_blocks(trace_row& row);

  const row_reader& rows_;
  trace_report report_{};
  std::string run_{};
  std::int64_t accepted_ = 0;
  std::int64_t block_tokens_ = 0;
  bool has_arrivals_ = false;
  std::int64_t prefill_only_ = 0;
  std::int64_t with_images_ = 0;
  std::int64_t trimmed_ = 0;
};

class trace_builder {
 public:
  explicit trace_builder(const row_reader& rows);
  void add(trace_row& row);
  trace_file finish();

 private:
  /// Last request of a conversation.
  struct conversation {
    int number = -1;
    int last = -1;
    bool has_arrival = false;
    std::int64_t arrival_ns = 0;
    double e2e_s = -1.0;
    double think_after_s = -1.0;
  };

  void link(perfmodel::trace_request& r, const trace_row& row);
  double think_time(const trace_row& row, const conversation& before, bool begins) const;
  void make_blocks(trace_row& row);
  void store_blocks(perfmodel::trace_request& r, const std::vector<std::uint64_t>& blocks);
  void sort();

  const row_reader& rows_;
  row_filter filter_;
  trace_file file_{};
  std::vector<std::int64_t> arrivals_ns_{};
  std::unordered_map<std::string, conversation> conversations_{};
  std::unordered_map<std::string, std::vector<std::uint64_t>> chains_{};
  std::unordered_map<std::int64_t, std::string> root_of_chat_{};
  std::size_t last_blocks_ = 0;  ///< first block of the last request that has any
  std::uint64_t fresh_block_ = std::uint64_t{1} << 48U;
  std::int64_t unknown_blocks_ = 0;
  std::int64_t recorded_turns_ = 0;
  int sessions_ = 0;
  bool has_turns_ = false;
  bool has_measured_ = false;
};

}  // namespace common::traces
