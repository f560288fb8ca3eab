#include "builder.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace common::traces {

namespace {

std::int64_t blocks_of(std::int64_t tokens, std::int64_t block_tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}
std::int64_t default_block_tokens(std::string_view format) {
  if (format == "mooncake") return 512;
  if (format == "agentic_claude") return 64;
  return format == "bailian" || format == "llmservingsim" ? 16 : 0;
}
double seconds_between(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) / 1e9;
}

}  // namespace

row_filter::row_filter(const row_reader& rows) : rows_(rows) {
  report_.format = rows.options().format;
  block_tokens_ = rows.options().block_tokens;
}

bool row_filter::other_run(const trace_row& row) {
  const std::string& wanted = rows_.options().run;
  if (!wanted.empty()) return row.run != wanted;
  if (accepted_ == 0 && run_.empty()) run_ = row.run;
  if (row.run != run_) {
    rows_.fail(row.line, error_code::inconsistent,
               cat("run is ", in_quotes(row.run), ", and rows before are of ", in_quotes(run_),
                   "; allowed: one run, by its name"));
  }
  return false;
}

/// Whether a row with a length of 0 is skipped.
bool row_filter::skip_empty(trace_row& row) {
  const std::string_view format = rows_.options().format;
  if (row.output_tokens == 0 && row.input_tokens > 0) {
    if (format == "burstgpt") return ++report_.failed_rows, true;
    if (format == "agentic_claude") {  // a prompt was read, and nothing came
      row.output_tokens = 1;
      return ++prefill_only_, false;
    }
  }
  if (rows_.options().skip_empty) return ++report_.empty_rows, true;
  rows_.refuse(row.line, error_code::out_of_range, row.empty_column,
               {.whole = 0, .is = field_value::kind::whole}, "a whole number, 1 to 1e9");
}

void row_filter::check_arrival(const trace_row& row) {
  if (accepted_ == 0) has_arrivals_ = row.has_arrival;
  const auto& unknown = rows_.unknown_columns();
  if (accepted_ == 0 && !row.has_arrival && !unknown.empty()) {
    rows_.fail(row.line, code::missing_key,
               cat("there is no arrival time, and these columns are not known: ", listed(unknown),
                   "; allowed: ", known_names(column_role::arrival)));
  }
  if (row.has_arrival == has_arrivals_ || !row.session.empty()) return;
  rows_.fail(row.line, code::missing_key,
             row.has_arrival ? "the row has an arrival time, and rows before have none"
                             : "the row has no arrival time, and rows before have one");
}

void row_filter::check_blocks(trace_row& row) {
  const std::int64_t asked = rows_.options().block_tokens;
  const bool synthetic = row.leading_blocks >= 0 || row.new_tokens >= 0;
  if (!row.has_blocks && !synthetic) return;
  std::int64_t stated = asked > 0 ? asked : row.block_tokens;
  if (stated == 0) stated = default_block_tokens(rows_.options().format);
  if (stated == 0 && synthetic) stated = 16;
  if (stated == 0) stated = block_tokens_;
  if (stated == 0) {
    rows_.fail(row.line, code::missing_key,
               "the row has block identifiers, and their size in tokens is not stated; allowed: a "
               "key block_size, or the option block_tokens");
  }
  if (block_tokens_ != 0 && block_tokens_ != stated) {
    rows_.fail(row.line, error_code::inconsistent,
               cat("the block size is ", stated, ", and before it is ", block_tokens_,
                   "; allowed: one block size"));
  }
  block_tokens_ = stated;
  const auto most = static_cast<std::size_t>(blocks_of(row.input_tokens, stated));
  if (row.blocks.size() > most) {
    row.blocks.resize(most);
    ++trimmed_;
  }
}

bool row_filter::accept(trace_row& row) {
  ++report_.rows;
  if (other_run(row)) return ++report_.other_runs, false;
  if (row.failed) return ++report_.failed_rows, false;
  if (!row.empty_column.empty() && skip_empty(row)) return false;
  if (row.parent_session == "main") {  // the column `agent` of a table
    row.parent_session = row.session;
    row.session += "/sub";
  }
  check_arrival(row);
  check_blocks(row);
  with_images_ += row.has_images ? 1 : 0;
  ++accepted_;
  return true;
}

void row_filter::count_late(double step_back_s) {
  ++report_.late_rows;
  report_.largest_step_back_s = std::max(report_.largest_step_back_s, step_back_s);
}

trace_report row_filter::report() const {
  trace_report r = report_;
  const auto note = [&r](std::int64_t count, const auto&... parts) {
    if (count > 0) r.notes.push_back(cat(count, " of ", r.rows, " rows ", parts...));
  };
  note(r.failed_rows, "failed, and are skipped");
  note(r.empty_rows, "have a length of 0, and are skipped");
  note(r.other_runs, "are of other runs, and are skipped");
  note(r.late_rows, "are before an earlier row, by up to ", r.largest_step_back_s,
       " s: sorted, with equal times in the order of the file");
  note(prefill_only_, "have no output: 1 token is assumed");
  note(with_images_, "have images, which are not modelled");
  note(trimmed_, "have more block identifiers than their prompt has blocks: the rest is cut");
  if (accepted_ > 0 && !has_arrivals_) {
    r.notes.push_back(
        "there are no arrival times: all requests arrive at 0 s; give a rate or a "
        "limit of requests in flight");
  }
  if (!rows_.unknown_columns().empty()) {
    r.notes.push_back(cat("columns that are not read: ", listed(rows_.unknown_columns())));
  }
  return r;
}

trace_builder::trace_builder(const row_reader& rows) : rows_(rows), filter_(rows) {
  file_.workload.label = rows.name();
  file_.workload.format = rows.options().format;
}

/// Time from completion of the request before to this one; -1: unknown.
double trace_builder::think_time(const trace_row& row, const conversation& before,
                                 bool begins) const {
  const bool agentic = rows_.options().format == "agentic_claude";
  const bool timed = row.has_arrival && before.has_arrival;
  const double interval = timed ? seconds_between(before.arrival_ns, row.arrival_ns) : -1.0;
  const double since = std::max(0.0, interval - std::max(0.0, before.e2e_s));
  if (begins) return since;
  if (row.think_s >= 0.0) {  // counted from an earlier turn where a time of the API is missing
    return agentic && interval >= 0.0 ? std::min(row.think_s, interval) : row.think_s;
  }
  if (before.think_after_s >= 0.0) return before.think_after_s;
  return timed && (agentic || before.e2e_s >= 0.0) ? since : -1.0;
}

/// Links a request with the one before it in its conversation, or with the agent that began it.
void trace_builder::link(perfmodel::trace_request& r, const trace_row& row) {
  if (row.session.empty()) return;
  const auto parent = conversations_.find(row.parent_session);
  const bool has_parent = parent != conversations_.end();
  const conversation before_all = has_parent ? parent->second : conversation{};
  conversation& own = conversations_[row.session];
  const bool begins = own.last < 0 || row.turn == 0;
  const conversation before = begins ? before_all : own;
  if (begins) own.number = sessions_++;
  r.session = own.number;
  if (before.last >= 0) {
    r.think_s = think_time(row, before, begins);
    if (r.think_s >= 0.0) r.previous = before.last;
    has_turns_ = has_turns_ || r.think_s >= 0.0;
    recorded_turns_ += r.think_s < 0.0 ? 1 : 0;
  }
  double e2e = row.measured.e2e_s;
  if (e2e < 0.0 && row.measured.ttft_s >= 0.0 && row.measured.tpot_s >= 0.0) {
    e2e = row.measured.ttft_s + static_cast<double>(row.output_tokens - 1) * row.measured.tpot_s;
  }
  own.last = static_cast<int>(file_.workload.requests.size());
  own.has_arrival = row.has_arrival;
  own.arrival_ns = row.arrival_ns;
  own.e2e_s = e2e;
  own.think_after_s = row.think_after_s;
}

/// Block identifiers of a row that has only the number of those that its session sent before.
void trace_builder::make_blocks(trace_row& row) {
  if (row.has_blocks || (row.leading_blocks < 0 && row.new_tokens < 0)) return;
  const std::int64_t size = filter_.block_tokens();
  std::int64_t leading = row.leading_blocks;
  std::int64_t all = row.input_tokens / size;
  if (leading < 0) {  // the next turn repeats prompt and output
    file_.workload.blocks_cover_output = true;
    const bool first = row.turn == 0 || !chains_.contains(row.session);
    leading = first ? 0 : std::max<std::int64_t>(0, row.input_tokens - row.new_tokens) / size;
    all = (row.input_tokens + row.output_tokens) / size;
  }
  std::vector<std::uint64_t>& chain = chains_[row.session];
  const auto sent_before = static_cast<std::int64_t>(chain.size());
  const std::int64_t begin = std::min({leading, all, sent_before});
  unknown_blocks_ += std::min(leading, all) - begin;
  chain.resize(static_cast<std::size_t>(begin));
  while (static_cast<std::int64_t>(chain.size()) < all) chain.push_back(fresh_block_++);
  row.blocks = chain;
}

/// Appends block identifiers; those of the last request are shared where they begin with them.
void trace_builder::store_blocks(perfmodel::trace_request& r,
                                 const std::vector<std::uint64_t>& blocks) {
  if (blocks.empty()) return;
  auto& all = file_.workload.blocks;
  const std::size_t before = all.size() - last_blocks_;
  const std::size_t common = std::min(before, blocks.size());
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(last_blocks_);
  if (!std::equal(begin, begin + static_cast<std::ptrdiff_t>(common), blocks.begin())) {
    last_blocks_ = all.size();
  }
  const std::size_t stored = all.size() - last_blocks_;
  if (stored < blocks.size()) {
    all.insert(all.end(), blocks.begin() + static_cast<std::ptrdiff_t>(stored), blocks.end());
  }
  r.first_block = static_cast<std::int64_t>(last_blocks_);
  r.block_count = static_cast<int>(blocks.size());
}

void trace_builder::add(trace_row& row) {
  if (row.chat >= 0) {
    const auto parent = root_of_chat_.find(row.parent_chat);
    row.session = parent == root_of_chat_.end() ? cat(row.chat) : parent->second;
    root_of_chat_[row.chat] = row.session;
    row.turn = parent == root_of_chat_.end() ? 0 : 1;
  }
  if (!filter_.accept(row)) return;
  auto& requests = file_.workload.requests;
  if (requests.size() >= 2'000'000'000U) {
    rows_.fail(row.line, error_code::out_of_range, "more than 2e9 requests");
  }
  perfmodel::trace_request r{.input_tokens = static_cast<int>(row.input_tokens),
                             .output_tokens = static_cast<int>(row.output_tokens)};
  make_blocks(row);
  link(r, row);
  store_blocks(r, row.blocks);
  const measured_latency& m = row.measured;
  has_measured_ = has_measured_ || m.ttft_s >= 0.0 || m.e2e_s >= 0.0;
  if (has_measured_) {
    file_.measured.resize(requests.size());
    file_.measured.push_back(m);
  }
  requests.push_back(r);
  arrivals_ns_.push_back(row.arrival_ns);
}

/// Sorts requests by time; those with turns stay in the order of the file.
void trace_builder::sort() {
  auto& requests = file_.workload.requests;
  const bool is_sorted = std::is_sorted(arrivals_ns_.begin(), arrivals_ns_.end());
  if (is_sorted || has_turns_) return;
  std::int64_t latest = arrivals_ns_.front();
  for (const std::int64_t at : arrivals_ns_) {
    if (at < latest) filter_.count_late(seconds_between(at, latest));
    latest = std::max(latest, at);
  }
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return arrivals_ns_[a] < arrivals_ns_[b];
  });
  const auto reordered = [&order](const auto& from) {
    auto to = from;
    for (std::size_t i = 0; i < order.size(); ++i) to[i] = from[order[i]];
    return to;
  };
  requests = reordered(requests);
  arrivals_ns_ = reordered(arrivals_ns_);
  if (has_measured_) file_.measured = reordered(file_.measured);
}

trace_file trace_builder::finish() {
  perfmodel::request_trace& t = file_.workload;
  if (t.requests.empty()) {
    throw error(code::missing_key, cat(rows_.name(), ":1: there is no request in the file",
                                       filter_.report().rows > 0 ? " that is not skipped" : ""));
  }
  sort();
  const std::int64_t first = *std::min_element(arrivals_ns_.begin(), arrivals_ns_.end());
  for (std::size_t i = 0; i < t.requests.size(); ++i) {
    t.requests[i].arrival_s = seconds_between(first, arrivals_ns_[i]);
  }
  if (filter_.block_tokens() > 0) t.block_tokens = filter_.block_tokens();
  if (rows_.options().format == "agentic_claude") file_.measured.clear();  // a public API's
  file_.report = filter_.report();
  const auto note = [this](std::int64_t count, std::string_view what) {
    if (count > 0) file_.report.notes.push_back(cat(count, what));
  };
  note(recorded_turns_, " turns have no think time: they keep their recorded times");
  note(unknown_blocks_, " blocks were sent before in a request that is not the last: taken as new");
  return std::move(file_);
}

}  // namespace common::traces
