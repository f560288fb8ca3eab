// A service, simulated request by request and iteration by iteration: the second method, against
// the closed forms of a load.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <stdexcept>

#include "simulator/engine.hpp"
#include "simulator/outcome.hpp"

namespace perfmodel_test::simulator {

class simulation {
 public:
  simulation(const load& l, const scheduler& s, const step_time& time, std::uint64_t seed)
      : l_(l),
        s_(s),
        time_(time),
        random_(seed),
        engine_(s),
        stage_free_(static_cast<std::size_t>(s.stages)),
        last_(static_cast<int>(l.jobs.size()) - l.tail) {
    out_.requests.resize(static_cast<std::size_t>(last_ - l.warm_up));
  }
  outcome run() {
    if (l_.arrivals.empty()) {
      for (int i = 0; i < l_.concurrency; ++i) send();
    }
    while (counted_ < out_.requests.size()) {
      if (first_stage_busy()) {
        settle(stage_free_.front());
        continue;
      }
      if (++polled_ >= s_.poll_interval) receive();
      if (launch()) continue;
      polled_ = s_.poll_interval;
      if (!coming_.empty() && coming_.front()->ready <= now_.time) continue;
      settle(next_event());
    }
    if (!closed_) window_ends_ = now_;
    out_.during = window_ends_ - window_begins_;
    return out_;
  }

 private:
  bool counts(int index) const { return index >= l_.warm_up && index < last_; }

  /// The engine looks at what has come.
  void receive() {
    polled_ = 0;
    for (; !coming_.empty() && coming_.front()->ready <= now_.time; coming_.pop_front()) {
      coming_.front()->in_line = now_.time;
      engine_.enqueue(*coming_.front());
    }
  }
  /// A request arrives now.
  void send() {
    const std::size_t index = sequences_.size();
    if (index >= l_.jobs.size() && !l_.endless) return;
    sequence& q = sequences_.emplace_back();
    q.index = static_cast<int>(index);
    q.want = l_.jobs[index % l_.jobs.size()];
    q.arrival = now_.time;
    q.ready = now_.time + s_.host_per_request;
    if (q.want.fetched > 0) {
      link_free_ = std::max(link_free_, q.ready) + s_.fetch_s_per_token * q.want.fetched;
      q.ready = link_free_;
    }
    coming_.push_back(&q);
    ++present_;
    if (q.index == l_.warm_up) window_begins_ = now_;
    if (q.index == last_) {
      window_ends_ = now_;
      closed_ = true;
    }
  }
  bool more_arrivals() const { return sequences_.size() < l_.arrivals.size(); }

  double next_event() const {
    if (coming_.empty() && !more_arrivals() && in_flight_.empty())
      throw std::logic_error("the simulation is stuck");
    double at = std::numeric_limits<double>::infinity();
    if (!coming_.empty()) at = coming_.front()->ready;
    if (more_arrivals()) at = std::min(at, l_.arrivals[sequences_.size()]);
    return at;
  }
  void tick(double to) {
    const double passed = to - now_.time;
    now_.in_system += present_ * passed;
    now_.admitted += static_cast<double>(engine_.admitted()) * passed;
    now_.time = to;
  }
  void advance(double to) {
    while (more_arrivals() && l_.arrivals[sequences_.size()] <= to) {
      tick(l_.arrivals[sequences_.size()]);
      send();
    }
    tick(to);
  }

  pass shape_of(const std::vector<planned>& plan) const {
    pass p;
    p.rows_per_sequence = engine_.rows();
    for (const planned& e : plan) {
      if (e.who->decodes()) {
        ++p.decoding;
        p.context += e.who->computed;
      } else {
        ++p.prompts;
        p.prompt_tokens += e.tokens;
        const int before = e.who->computed + e.who->in_flight - e.tokens;
        p.past += static_cast<double>(e.tokens) * before;
      }
    }
    p.context /= std::max(1, p.decoding);
    p.past /= std::max(1, p.prompt_tokens);
    return p;
  }
  /// An iteration of a micro-batch on its way through the stages.
  struct flight {
    int micro_batch = 0;
    pass shape{};
    std::vector<planned> plan{};
    double ends = 0;
  };
  bool first_stage_busy() const {
    return in_flight_.size() == stage_free_.size() || stage_free_.front() > now_.time;
  }
  bool flies(int micro_batch) const {
    return std::any_of(in_flight_.begin(), in_flight_.end(),
                       [&](const flight& f) { return f.micro_batch == micro_batch; });
  }
  /// To a time, or to the end of an iteration before it.
  void settle(double to) {
    if (in_flight_.empty() ||
        (in_flight_.size() < stage_free_.size() && to < in_flight_.front().ends)) {
      advance(to);
      return;
    }
    const flight f = std::move(in_flight_.front());
    in_flight_.pop_front();
    advance(f.ends);
    finish_iteration(f);
  }
  /// The next micro-batch in turn that has anything to do, into the first stage.
  bool launch() {
    for (int i = 0; i < s_.stages; ++i) {
      const int micro_batch = (turn_ + i) % s_.stages;
      if (flies(micro_batch)) continue;
      const std::vector<planned>& plan = engine_.next(micro_batch);
      if (plan.empty()) continue;
      turn_ = (micro_batch + 1) % s_.stages;
      launch(micro_batch, plan);
      return true;
    }
    return false;
  }
  /// Each stage takes an equal part of the iteration, once it is through with the one before.
  void launch(int micro_batch, const std::vector<planned>& plan) {
    flight f{micro_batch, shape_of(plan), plan};
    for (const planned& e : plan) {
      if (e.who->started < 0) e.who->started = now_.time;
    }
    const double time = time_(f.shape) + s_.host_per_iteration +
                        s_.host_per_sequence * static_cast<double>(plan.size()) +
                        s_.swap_s_per_token * engine_.moved();
    f.ends = now_.time;
    for (double& free : stage_free_) {
      free = std::max(f.ends, free) + time / s_.stages;
      f.ends = free;
    }
    in_flight_.push_back(std::move(f));
  }
  void finish_iteration(const flight& f) {
    const pass& p = f.shape;
    now_.preemptions = engine_.preemption_effect();
    now_.decoding += p.decoding;
    now_.decodes += p.decoding > 0 ? 1 : 0;
    if (p.prompts > 0) polled_ = s_.poll_interval;
    for (const planned& e : f.plan) {
      sequence& q = *e.who;
      if (q.done()) continue;  // stays in a static batch
      if (q.decodes()) {
        const int tokens = std::min(round(), q.want.output - q.generated);
        q.computed += tokens;
        give_out(q, tokens);
      } else {
        q.computed += e.tokens;
        q.in_flight -= e.tokens;
        if (q.computed == q.known()) give_out(q, 1);
      }
    }
    engine_.retire(f.micro_batch);
  }
  /// Tokens of a sequence's round: one, and what is accepted before the first that is not.
  int round() {
    int tokens = 1;
    for (const double p : s_.acceptance) {
      if (random_.uniform() >= p) break;
      ++tokens;
    }
    return tokens;
  }
  void give_out(sequence& q, int tokens) {
    q.generated += tokens;
    now_.tokens += tokens;
    const bool first = s_.stream_first && q.seen == 0;
    if (first || q.done() || q.generated / s_.stream_interval > q.seen / s_.stream_interval)
      show(q);
    if (q.done()) finish(q);
  }
  /// The client sees all there are.
  void show(sequence& q) {
    if (q.seen == 0) {
      q.first = now_.time;
    } else if (counts(q.index)) {
      out_.gaps.add(now_.time - q.last);
    }
    q.last = now_.time;
    q.seen = q.generated;
  }
  void finish(const sequence& q) {
    --present_;
    ++now_.finished;
    if (counts(q.index)) {
      record& r = out_.requests[static_cast<std::size_t>(q.index - l_.warm_up)];
      r = {.arrival = q.arrival,
           .queued = q.started - q.ready,
           .held = q.started - q.in_line,
           .ttft = q.first - q.arrival,
           .e2e = q.last - q.arrival,
           .input = q.want.input,
           .output = q.want.output,
           .preemptions = q.preemptions};
      r.tpot = (r.e2e - r.ttft) / std::max(1, q.want.output - 1);
      ++counted_;
    }
    if (l_.arrivals.empty()) send();
  }

  const load& l_;
  const scheduler& s_;
  const step_time& time_;
  random_numbers random_;
  engine engine_;
  std::deque<sequence> sequences_{};  ///< all there were; they stay where they are
  std::deque<sequence*> coming_{};    ///< not yet in the queue
  std::deque<flight> in_flight_{};    ///< in the order in which they end
  std::vector<double> stage_free_;    ///< when each stage of the pipeline is through
  int turn_ = 0;                      ///< of the micro-batches
  totals now_{}, window_begins_{}, window_ends_{};
  outcome out_{};
  std::size_t counted_ = 0;
  int last_;  ///< requests before this count
  int present_ = 0;
  double link_free_ = 0;  ///< when the host has sent what it was asked for
  int polled_ = 0;        ///< iterations since the engine looked
  bool closed_ = false;
};

/// The seed draws what is accepted of a draft; lengths and arrivals were drawn with the load.
inline outcome simulate(const load& l, const scheduler& s, const step_time& time,
                        std::uint64_t seed = 1) {
  return simulation(l, s, time, seed).run();
}

}  // namespace perfmodel_test::simulator
