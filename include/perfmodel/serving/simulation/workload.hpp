// Workloads of a simulation: arrivals, lengths, shared prefixes and conversations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <queue>
#include <variant>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Arrivals at a mean rate, independent of completions. `cv` is the coefficient of variation of
/// the times between arrivals (1: Poisson, 0: periodic).
struct open_arrivals {
  double requests_per_s = 1.0;
  double cv = 1.0;
  int requests_per_arrival = 1;
  /// Factors of the rate from given times on, in seconds; empty: constant. Repeated after `period`.
  struct rate_change {
    double from = 0.0;
    double factor = 1.0;
  };
  std::vector<rate_change> changes{};
  double period = 0.0;  ///< length of a cycle of rate changes, in seconds; 0: no repetition
};
/// A constant number of clients. Each sends its next request when the last one is completed and
/// the think time has passed. All start at once.
struct closed_clients {
  int concurrency = 1;
  double think_time = 0.0;  ///< mean, exponentially distributed, in seconds
};
/// All requests are sent at time 0.
struct all_at_once {};

/// Conversations: each turn sends the whole history and some new tokens, after the previous turn
/// completed and a think time (of the user or of a tool) has passed.
struct conversations {
  length_distribution turns = length_distribution::fixed(4.0);
  length_distribution new_tokens =
      length_distribution::fixed(200.0);  ///< added by each turn after the first
  double think_time = 0.0;                ///< mean, in seconds
  double think_cv = 1.0;
};

/// Workload of generated requests. With `sessions`, arrivals are those of conversations, and
/// `requests` counts turns.
struct workload {
  std::int64_t requests = 1000;
  length_distribution input{}, output{};
  std::variant<closed_clients, open_arrivals, all_at_once> arrivals{};
  std::optional<conversations> sessions{};
  std::vector<prefix_level>
      shared{};             ///< tree of shared prefixes from the root, as in service_load
  double prefix_hit = 0.0;  ///< share of each prompt taken as cached, whatever the cache holds
};

namespace detail {

/// Checks a workload. A rate of zero for a while is written as a small factor.
/// Errors: a number out of range, by the name of its field.
inline void check_workload(const workload& w) {
  const auto within = [](const char* name, double x, double least, double most,
                         const char* allowed) {
    if (!(x >= least && x <= most)) out_of_range(name, x, allowed);
  };
  within("requests", static_cast<double>(w.requests), 1.0, 1e12, "1 to 10^12");
  within("prefix_hit", w.prefix_hit, 0.0, 1.0, "0 to 1");
  for (const length_distribution* l : {&w.input, &w.output}) {
    within(l == &w.input ? "input.mean" : "output.mean", l->mean, 1.0, 1e9, "1 to 10^9");
    within(l == &w.input ? "input.cv" : "output.cv", l->cv, 0.0, 100.0, "0 to 100");
  }
  if (const auto* closed = std::get_if<closed_clients>(&w.arrivals)) {
    within("concurrency", closed->concurrency, 1.0, 1e9, "1 to 10^9");
    within("think_time", closed->think_time, 0.0, 1e12, "0 to 10^12 s");
  } else if (const auto* open = std::get_if<open_arrivals>(&w.arrivals)) {
    within("requests_per_s", open->requests_per_s, 1e-9, 1e12, "10^-9 to 10^12");
    within("cv", open->cv, 0.0, 100.0, "0 to 100");
    within("requests_per_arrival", open->requests_per_arrival, 1.0, 1e9, "1 to 10^9");
    within("period", open->period, 0.0, 1e12, "0 to 10^12 s");
    for (const auto& c : open->changes)
      within("changes.factor", c.factor, 1e-9, 1e9, "10^-9 to 10^9");
  }
}

}  // namespace detail

/// Requests of a workload, drawn from a seed.
/// Errors: a workload out of range (a rate of 0, no clients, lengths below 1).
/// Test: rates, variation and lengths of 10^5 requests; equal seeds give equal requests; the prompt
/// of a turn begins with that of the turn before it.
class workload_source : public request_source {
 public:
  static constexpr int unit_tokens = 16;

  explicit workload_source(const workload& w, std::uint64_t seed = 1)
      : workload_(w), arrivals_(seed * 3 + 1), lengths_(seed * 3 + 2), thinking_(seed * 3 + 3) {
    detail::check_workload(w);
    if (const auto* closed = std::get_if<closed_clients>(&w.arrivals)) {
      for (int i = 0; i < closed->concurrency && has_more(); ++i) start(0.0);
    } else if (std::holds_alternative<all_at_once>(w.arrivals)) {
      while (has_more()) start(0.0);
    } else {
      draw_arrival();
    }
  }

  double next_arrival() override {
    const double due = due_.empty() ? never : due_.top().at;
    return (std::min)(due, next_start_);
  }
  void take(simulated_request& r) override {
    while (next_start_ <= (due_.empty() ? never : due_.top().at)) {
      const double at = next_start_;
      const int burst = std::get<open_arrivals>(workload_.arrivals).requests_per_arrival;
      for (int i = 0; i < burst && has_more(); ++i) start(at);
      draw_arrival();
    }
    const turn t = due_.top();
    due_.pop();
    fill(r, t);
  }
  void completed(const request_record& r, double at) override {
    if (r.session >= 0) {
      session& s = sessions_[std::size_t(r.session)];
      if (s.turns_left > 0 && has_more()) {
        --s.turns_left;
        const conversations& c = *workload_.sessions;
        const double think =
            c.think_time > 0.0 ? thinking_.interval(c.think_time, c.think_cv) : 0.0;
        push(at + think, r.session);
        return;
      }
    }
    const auto* closed = std::get_if<closed_clients>(&workload_.arrivals);
    if (closed == nullptr || !has_more()) return;
    const double think = closed->think_time > 0.0 ? thinking_.exponential(closed->think_time) : 0.0;
    start(at + think);
  }

 private:
  struct turn {
    double at = 0.0;
    std::int64_t order = 0;
    std::int64_t session = -1;
    bool operator<(const turn& t) const { return at > t.at || (at == t.at && order > t.order); }
  };
  struct session {
    int turns_left = 0;
    int history = 0;  ///< tokens of the prompts and outputs so far
    std::int64_t leaf = 0;
    int shared_tokens = 0;
  };

  bool has_more() const { return planned_ < workload_.requests; }
  void push(double at, std::int64_t id) {
    due_.push({at, planned_, id});
    ++planned_;
    if (!has_more()) next_start_ = never;
  }
  /// Starts a request, or a conversation.
  void start(double at) {
    if (!workload_.sessions) return push(at, -1);
    session s;
    s.turns_left = workload_.sessions->turns.draw(lengths_) - 1;
    s.leaf = draw_leaf();
    sessions_.push_back(s);
    push(at, static_cast<std::int64_t>(sessions_.size()) - 1);
  }
  void draw_arrival() {
    const auto* open = std::get_if<open_arrivals>(&workload_.arrivals);
    if (open == nullptr || !has_more()) {
      next_start_ = never;
      return;
    }
    const double mean = open->requests_per_arrival / open->requests_per_s;
    double work = arrivals_.interval(mean, open->cv);  // time at the mean rate
    while (!open->changes.empty() && work > 0.0) {
      const auto [factor, until] = rate_at(*open, clock_);
      const double possible = (until - clock_) * factor;
      if (possible >= work) {
        clock_ += work / factor;
        work = 0.0;
      } else {
        clock_ = until;
        work -= possible;
      }
    }
    clock_ += work;
    next_start_ = clock_;
  }
  /// Factor of the rate at a time, and the time until which it holds.
  static std::pair<double, double> rate_at(const open_arrivals& a, double at) {
    double cycle = a.period > 0.0 ? std::floor(at / a.period) * a.period : 0.0;
    if (a.period > 0.0 && cycle + a.period <= at) cycle += a.period;  // the quotient was rounded
    double factor = 1.0, until = a.period > 0.0 ? cycle + a.period : never;
    for (const auto& c : a.changes) {
      if (cycle + c.from <= at) {
        factor = c.factor;
      } else {
        until = (std::min)(until, cycle + c.from);
        break;
      }
    }
    return {factor, until};
  }

  std::int64_t draw_leaf() {
    if (workload_.shared.empty()) return 0;
    const double prefixes = workload_.shared.back().prefixes;
    return static_cast<std::int64_t>(lengths_.uniform() * prefixes);
  }
  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    random_generator r(a * 0x9E3779B97F4A7C15u + b);
    return r.bits();
  }
  /// Appends the identifiers of the shared prefix of a leaf; returns its tokens.
  int add_shared(std::vector<std::uint64_t>& blocks, std::int64_t leaf) const {
    double tokens = 0.0;
    const double leaves = workload_.shared.empty() ? 1.0 : workload_.shared.back().prefixes;
    for (std::size_t l = 0; l < workload_.shared.size(); ++l) {
      const prefix_level& level = workload_.shared[l];
      tokens += level.tokens;
      const auto index =
          static_cast<std::uint64_t>(std::floor(double(leaf) * level.prefixes / leaves));
      for (auto i = blocks.size(); double((i + 1) * unit_tokens) <= tokens; ++i)
        blocks.push_back(mix(mix(l + 1, index + 1), i));
    }
    return static_cast<int>(tokens);
  }
  void fill(simulated_request& r, const turn& t) {
    r.index = taken_++;
    r.arrival = t.at;
    r.session = t.session;
    r.blocks.clear();
    r.block_tokens = unit_tokens;
    r.first_token_at = -1.0;
    r.output_tokens = workload_.output.draw(lengths_);
    if (t.session >= 0) {
      session& s = sessions_[std::size_t(t.session)];
      const int shared = add_shared(r.blocks, s.leaf);
      const bool is_first = s.history == 0;
      const int added = is_first ? (std::max)(shared + 1, workload_.input.draw(lengths_))
                                 : workload_.sessions->new_tokens.draw(lengths_);
      r.input_tokens = s.history + added;
      s.history = r.input_tokens + r.output_tokens;
      for (auto i = r.blocks.size(); (i + 1) * unit_tokens <= std::size_t(s.history); ++i)
        r.blocks.push_back(mix(std::uint64_t(t.session) + (1ull << 40), i));
    } else {
      r.input_tokens = workload_.input.draw(lengths_);
      const int shared = workload_.shared.empty() ? 0 : add_shared(r.blocks, draw_leaf());
      r.input_tokens = (std::max)(r.input_tokens, shared + 1);
    }
    r.assumed_hit_tokens = static_cast<int>(std::lround(workload_.prefix_hit * r.input_tokens));
  }

  workload workload_;
  random_generator arrivals_, lengths_, thinking_;
  std::priority_queue<turn> due_{};
  std::vector<session> sessions_{};
  std::int64_t planned_ = 0, taken_ = 0;
  double clock_ = 0.0, next_start_ = never;
};

/// Workload of a load: its arrivals, lengths with their variation, and shared prefixes.
inline workload workload_of(const service_load& l, std::int64_t requests) {
  workload w{.requests = requests,
             .input = length_distribution::lognormal(l.input_tokens, l.input_cv),
             .output = length_distribution::lognormal(l.output_tokens, l.output_cv),
             .prefix_hit = l.prefix_hit};
  if (l.is_closed()) {
    w.arrivals = closed_clients{.concurrency = static_cast<int>(std::lround(l.concurrency()))};
  } else {
    const auto& open = std::get<open_loop>(l.arrivals);
    w.arrivals = open_arrivals{
        .requests_per_s = open.rate.value(),
        .cv = open.cv,
        .requests_per_arrival = static_cast<int>(std::lround(open.arrivals_per_burst))};
  }
  for (const auto& level : l.shared) w.shared.push_back(level);
  if (!w.shared.empty()) w.prefix_hit = 0.0;
  return w;
}

}  // namespace perfmodel::inline v0_3
