// One simulated replica: its engine steps in time, and what its requests experience.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <perfmodel/serving/simulation/statistics.hpp>
#include <perfmodel/serving/simulation/step_flight.hpp>
#include <perfmodel/serving/simulation/tier_fetches.hpp>

namespace perfmodel::inline v0_3::detail {

/// A replica simulated from event to event. Between two events the batch does not change, so that
/// many decode steps are one segment.
template <class Policy>
class simulated_replica {
 public:
  simulated_replica(const replica_settings& s, step_prices<Policy>& prices,
                    simulation_statistics& statistics, int index, std::uint64_t seed)
      : settings_(s),
        prices_(prices),
        statistics_(statistics),
        index_(index),
        random_(seed + 0x51ED27u * static_cast<std::uint64_t>(index + 1)),
        frontend_(s.frontend),
        fetches_(s.host_s_per_token, s.disk_s_per_token) {
    const int lanes = (std::max)(s.groups, s.stages);
    const int queues = s.groups;
    for (int i = 0; i < queues; ++i) {
      pools_.push_back(std::make_unique<kv_pool>(s.cache_tokens, s.scheduler.prefix_caching,
                                                 s.host_tokens, s.disk_tokens));
      waiting_.push_back(std::make_unique<std::deque<int>>());
    }
    const int running = (s.scheduler.max_running + s.stages - 1) / s.stages;
    for (int i = 0; i < lanes; ++i) {
      const auto q = static_cast<std::size_t>(s.groups > 1 ? i : 0);
      lanes_.push_back(std::make_unique<lane>(s.scheduler, sequences_, *pools_[q], *waiting_[q],
                                              running, s.drafted_tokens, s.has_identifiers));
    }
    if (s.stages > 1)
      for (const auto& l : lanes_)
        for (const auto& other : lanes_) l->group.add_peer(other->group);
    stage_free_.assign(static_cast<std::size_t>(s.stages), 0.0);
    flights_.resize(static_cast<std::size_t>(s.stages));
  }

  /// Requests in the replica: waiting and running.
  int in_flight() const { return in_flight_; }
  int waiting() const {
    std::size_t n = fetches_.count() + frontend_.count();
    for (const auto& q : waiting_) n += q->size();
    return static_cast<int>(n);
  }
  double kv_use() const {
    double used = 0.0, all = 0.0;
    for (const auto& p : pools_) {
      used += static_cast<double>(p->used());
      all += static_cast<double>(p->capacity());
    }
    return all > 0.0 ? used / all : 0.0;
  }
  /// Cached tokens that a request would find.
  std::int64_t cached_tokens_of(const simulated_request& r) const {
    std::size_t most = 0;
    for (const auto& p : pools_) most = (std::max)(most, p->match(r.blocks));
    return static_cast<std::int64_t>(most) * r.block_tokens;
  }

  /// A request arrives at the front end at time `at`.
  void enqueue(const simulated_request& r, double at) {
    require_size(settings_, r);
    ++in_flight_;
    observe(at);
    frontend_.push(r, at);
  }
  /// Time of the next event; `request_source::never` if the replica is idle.
  double next_event() const {
    double at = frontend_.next();
    bool is_running = false;
    for (const flight& f : flights_) {
      if (!f.is_active) continue;
      at = (std::min)(at, f.end);
      is_running = true;
    }
    if (!is_running) at = (std::min)(at, fetches_.next());
    if (settings_.stages > 1 && stage_free_.front() > observed_ && waits_for_stage())
      at = (std::min)(at, stage_free_.front());
    return at;
  }
  /// Runs the next event; calls done(record, time) for each request that completes. The next step
  /// starts with `start_ready`, when all that happens at the same time is known.
  template <class Done>
  void advance(const Done& done) {
    const double now = next_event();
    const auto ended = std::find_if(flights_.begin(), flights_.end(),
                                    [&](const flight& f) { return f.is_active && f.end <= now; });
    if (frontend_.next() <= now) {
      receive(frontend_.first(), now);
      frontend_.pop();
    } else if (ended != flights_.end()) {
      finish(*ended, done);
    } else {
      observe(now);
    }
    receive_fetched(now);
  }
  /// Starts the next engine step, if there is work and none is running.
  void start_ready(double now) {
    receive_fetched(now);
    if (settings_.stages == 1) {
      if (!flights_[0].is_active) start(flights_[0], 0, lanes_.size(), now);
      return;
    }
    // The next micro-batch in turn that has work enters the first stage when it is free.
    for (int i = 0; i < settings_.stages && stage_free_.front() <= now; ++i) {
      const auto m = static_cast<std::size_t>((turn_ + i) % settings_.stages);
      if (flights_[m].is_active) continue;
      start(flights_[m], m, m + 1, now);
      if (flights_[m].is_active) {
        turn_ = static_cast<int>(m + 1) % settings_.stages;
        i = -1;
      }
    }
  }
  std::int64_t steps() const { return steps_; }
  std::int64_t preemptions() const {
    std::int64_t n = 0;
    for (const auto& l : lanes_) n += l->group.preemptions();
    return n;
  }
  void close(double at) { observe(at); }

 private:
  using lane = engine_lane;
  using flight = step_flight<Policy>;

  /// The engine has a request in its queue.
  void receive(const simulated_request& r, double at) {
    const int entry = sequences_.take();
    simulated_sequence& s = sequences_[entry];
    receive_request(s, r, settings_, at);
    s.lane = group_for(r);
    observe(at);
    if (!starts_fetch(entry, at)) waiting_[std::size_t(s.lane)]->push_back(entry);
    for (flight& f : flights_) f.cut(at);
  }
  /// Data-parallel group of a request: the one with the fewest requests.
  int group_for(const simulated_request&) const {
    if (settings_.groups == 1) return 0;
    std::size_t best = 0;
    const auto load = [&](std::size_t g) {
      return 4 * waiting_[g]->size() + static_cast<std::size_t>(lanes_[g]->group.running());
    };
    for (std::size_t g = 1; g < lanes_.size(); ++g)
      if (load(g) < load(best)) best = g;
    return static_cast<int>(best);
  }

  /// Starts the fetch of a prefix that is cached outside the device, if other requests run
  /// meanwhile. Otherwise the fetch delays the next step.
  bool starts_fetch(int entry, double at) {
    if (settings_.host_tokens == 0) return false;
    simulated_sequence& s = sequences_[entry];
    const double time = fetches_.time_of(s, *pools_[std::size_t(s.lane)], statistics_);
    if (time == 0.0) return false;
    if (settings_.fetch_overlaps) {
      fetches_.start(entry, at, time);
    } else {
      stall_ += time;
    }
    return settings_.fetch_overlaps;
  }
  void receive_fetched(double now) {
    fetches_.receive(
        now, [&](int entry) { waiting_[std::size_t(sequences_[entry].lane)]->push_back(entry); });
  }
  /// Whether a micro-batch has work and waits for the first stage.
  bool waits_for_stage() const {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (!flights_[i].is_active && lanes_[i]->group.has_work()) return true;
    return false;
  }

  // Steps.

  /// Decodes in the next step of a lane: those of its batch, and those that join after this one.
  int upcoming_decodes(const lane& l, bool is_decoding) const {
    int n = l.group.batch().size();
    for (const prefill_chunk& c : l.chunks)
      if (c.is_last && sequences_at(c.entry).request.output_tokens > 1) ++n;
    if (is_decoding) n -= l.group.batch().count_of_ends_at(l.group.batch().step() + 1);
    return (std::max)(n, 0);
  }
  const simulated_sequence& sequences_at(int entry) const {
    return sequences_.all()[std::size_t(entry)];
  }
  void start(flight& f, std::size_t first_lane, std::size_t last_lane, double now) {
    f.first_lane = first_lane;
    f.last_lane = last_lane;
    bool has_chunks = false, has_decodes = false, was_idle = true;
    for (std::size_t i = first_lane; i < last_lane; ++i) {
      lane& l = *lanes_[i];
      const bool mixes = l.group.decodes_with_prefill() || settings_.groups > 1;
      if (mixes && l.group.batch().size() > 0) l.group.reserve_decode_step();
      l.group.set_last_token_time(l.last_token);
      // A plan without prefill for an empty batch was made for nothing: the engine is idle.
      if (l.has_plan && (!l.planned.empty() || l.group.batch().size() > 0)) {
        std::swap(l.chunks, l.planned);
        was_idle = false;
      } else {
        l.group.plan(l.group.batch().size(), now, l.chunks);
        was_idle = was_idle && l.group.batch().size() == 0;
      }
      l.has_plan = false;
      drop_preempted(l.chunks);
      if (!mixes && l.chunks.empty() && l.group.batch().size() > 0) l.group.reserve_decode_step();
      std::erase_if(l.fresh, [&](int entry) { return !sequences_[entry].is_decoding; });
      has_chunks = has_chunks || !l.chunks.empty();
      has_decodes = has_decodes || l.group.batch().size() > 0;
    }
    if (!has_chunks && !has_decodes) return;
    const bool mixes = lanes_[first_lane]->group.decodes_with_prefill() || settings_.groups > 1;
    f.has_decodes = has_decodes && (!has_chunks || mixes);
    f.is_active = true;
    f.begin = now + (steps_ == 0 ? settings_.start_up : 0.0);
    if (was_idle && has_chunks && settings_.scheduler.asynchronous) f.begin += settings_.idle_start;
    plan_next(f, now, has_chunks);
    f.price(lanes_, has_chunks, settings_, sequences_.all(), prices_, stall_, stage_free_);
    f.cut(fetches_.next());
    stall_ = 0.0;
    note_scheduled(f);
  }
  /// With asynchronous scheduling, the step after this one is planned when this one starts.
  void plan_next(flight& f, double now, bool has_chunks) {
    f.steps = has_chunks || settings_.stages > 1 ? 1 : std::int64_t{1} << 40;
    for (std::size_t i = f.first_lane; i < f.last_lane; ++i) {
      lane& l = *lanes_[i];
      // The micro-batches of a pipeline are planned while others run.
      if (settings_.scheduler.asynchronous && settings_.stages == 1) {
        l.group.plan(upcoming_decodes(l, f.has_decodes), now, l.planned);
        l.has_plan = true;
        if (!l.planned.empty()) f.steps = 1;
      }
      f.steps = l.group.steps_to_look(f.steps);
    }
  }
  /// Drops the chunks of sequences preempted after planning.
  void drop_preempted(std::vector<prefill_chunk>& chunks) {
    std::erase_if(chunks, [&](const prefill_chunk& c) { return sequences_[c.entry].use != c.use; });
  }
  void note_scheduled(const flight& f) {
    for (std::size_t i = f.first_lane; i < f.last_lane; ++i) {
      for (const prefill_chunk& c : lanes_[i]->chunks) {
        simulated_sequence& s = sequences_[c.entry];
        if (s.begun < 0.0) s.begun = f.begin;
      }
    }
  }
  // Completion of steps.

  template <class Done>
  void finish(flight& f, const Done& done) {
    observe(f.end);
    f.is_active = false;
    steps_ += f.steps;
    for (std::size_t i = f.first_lane; i < f.last_lane; ++i) {
      lane& l = *lanes_[i];
      if (f.has_decodes && l.group.batch().size() > 0) finish_decodes(f, l, done);
      finish_chunks(f, l, done);
      if (!l.ended.empty() && l.group.batch().ended() == l.group.running()) {
        for (const int entry : l.ended) l.group.end(entry, 0);
        l.ended.clear();
      }
    }
  }
  template <class Done>
  void finish_decodes(flight& f, lane& l, const Done& done) {
    const int emitting = l.group.batch().emitting();
    std::erase_if(l.fresh, [&](int entry) { return !sequences_[entry].is_decoding; });
    const double first = f.begin + f.segment[0].first;
    const double first_end = f.steps == 1 ? f.end : first;
    statistics_.add_itl(first_end - l.last_token, emitting - static_cast<int>(l.fresh.size()));
    for (const int entry : l.fresh)
      statistics_.add_itl(first_end - sequences_[entry].last_token, 1);
    l.fresh.clear();
    for (std::size_t i = 0; i < f.segments; ++i) {
      auto s = f.segment[i];
      if (i == 0) {
        s.first += s.slope;
        --s.steps;
      }
      if (s.steps > 0)
        statistics_.add_itls(s.first, s.last(), static_cast<double>(s.steps) * emitting);
    }
    statistics_.add_tokens(f.begin, f.end,
                           static_cast<double>(f.steps) * l.group.batch().emitted());
    statistics_.add_decodes(static_cast<double>(f.steps), static_cast<double>(f.steps) * emitting);
    l.last_token = f.end;
    l.group.advance(f.steps, [&](int entry, bool leaves) {
      simulated_sequence& s = sequences_[entry];
      const int context = s.request.input_tokens + s.request.output_tokens - 1;
      if (leaves) {
        l.group.end(entry, context);
        return;
      }
      complete(entry, f.end, done);
      const bool is_static = settings_.scheduler.kind == scheduler_kind::static_batches;
      if (is_static || settings_.scheduler.extra_steps > 0) {
        l.group.batch().finish(s);
        if (is_static) l.ended.push_back(entry);
      } else {
        l.group.end(entry, context);
      }
    });
  }
  template <class Done>
  void finish_chunks(flight& f, lane& l, const Done& done) {
    drop_preempted(l.chunks);
    for (const prefill_chunk& c : l.chunks) {
      l.group.publish_computed(c.entry, c.past + c.tokens);
      if (!c.is_last) continue;
      simulated_sequence& s = sequences_[c.entry];
      if (s.first_token < 0.0) {
        s.first_token = f.end;
      } else {
        statistics_.add_itl(f.end - s.last_token, 1);
      }
      s.last_token = f.end;
      statistics_.add_tokens(f.end, f.end, 1.0 + s.uncounted_tokens);
      statistics_.add_itl(0.0, s.batched_tokens);
      s.uncounted_tokens = 0.0;
      s.batched_tokens = 0;
      ++s.generated;
      const int rest = settings_.ends_at_first_token ? 0 : s.request.output_tokens - s.generated;
      if (rest <= 0) {
        const int entry = c.entry;
        complete(entry, f.end, done);
        l.group.end(entry, s.target);
        continue;
      }
      const std::int64_t rounds = speculation_rounds(rest, settings_.acceptance, random_);
      s.batched_tokens = static_cast<int>(rest - rounds);
      if (l.group.batch().size() == 0) l.last_token = f.end;
      l.group.join(c.entry, rounds, static_cast<double>(rest) / static_cast<double>(rounds));
      l.fresh.push_back(c.entry);
    }
    l.chunks.clear();
  }
  template <class Done>
  void complete(int entry, double at, const Done& done) {
    const simulated_sequence& s = sequences_[entry];
    const simulated_request& r = s.request;
    --in_flight_;
    statistics_.add_itl(0.0, s.batched_tokens);
    done(request_record{.index = r.index,
                        .session = r.session,
                        .arrival = r.arrival,
                        .queueing = s.begun - s.received,
                        .scheduled = s.begun,
                        .ttft = s.first_token - r.arrival,
                        .e2e = at - r.arrival,
                        .input_tokens = r.input_tokens,
                        .output_tokens = r.output_tokens,
                        .cached_tokens = s.cached_tokens,
                        .preemptions = s.preemptions,
                        .replica = index_},
         at);
  }
  /// Adds the time since the last event to the timeline and to the means over time.
  void observe(double at) {
    if (!(at > observed_)) return;
    int running = 0;
    for (const auto& l : lanes_) running += l->group.running() - l->group.batch().ended();
    statistics_.add_state(observed_, at, running, waiting(), kv_use());
    observed_ = at;
  }

  replica_settings settings_;
  step_prices<Policy>& prices_;
  simulation_statistics& statistics_;
  int index_;
  random_generator random_;
  sequence_table sequences_{};
  std::vector<std::unique_ptr<kv_pool>> pools_{};
  std::vector<std::unique_ptr<std::deque<int>>> waiting_{};
  std::vector<std::unique_ptr<lane>> lanes_{};
  std::vector<flight> flights_{};
  std::vector<double> stage_free_{};
  frontend_queue frontend_;
  tier_fetches fetches_;
  double stall_ = 0.0, observed_ = 0.0;
  int in_flight_ = 0, turn_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace perfmodel::inline v0_3::detail
