// An engine step in progress: the lanes that take part, its price, and its end.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <perfmodel/serving/simulation/step_planner.hpp>
#include <perfmodel/serving/simulation/step_prices.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Facts of a replica beyond its scheduler.
struct replica_settings {
  scheduler_settings scheduler{};
  int groups = 1;                    ///< data-parallel groups, which step together
  int stages = 1;                    ///< pipeline stages, each with a micro-batch in flight
  std::int64_t cache_tokens = 0;     ///< KV-cache capacity of a group
  std::int64_t host_tokens = 0;      ///< capacity of the prefix cache in host memory, of a group
  std::int64_t disk_tokens = 0;      ///< capacity of the prefix cache on disk, of a group
  double host_s_per_token = 0.0;     ///< time to fetch a cached token from host memory
  double disk_s_per_token = 0.0;     ///< time to fetch a cached token from disk
  bool fetch_overlaps = true;        ///< other requests run while a prefix is fetched
  frontend_time frontend{};          ///< CPU time of the front end per request
  double start_up = 0.0;             ///< delay of the first engine step
  double idle_start = 0.0;           ///< CPU time before the first step of an idle engine
  bool has_identifiers = false;      ///< prompts share prefixes
  bool ends_at_first_token = false;  ///< a prefill pool: decode runs elsewhere
  bool starts_after_prefill =
      false;                         ///< a decode pool: the prompt's cache arrives with the request
  std::vector<double> acceptance{};  ///< acceptance of drafted tokens by position
  int drafted_tokens = 0;            ///< drafted tokens per round, all candidates
};

/// Throws infeasible for a request that the cache of a group can never hold, and out_of_range for a
/// prompt above the token budget without chunked prefill.
inline void require_size(const replica_settings& settings, const simulated_request& r) {
  const scheduler_settings& s = settings.scheduler;
  const bool has_budget = s.kind == scheduler_kind::vllm || s.kind == scheduler_kind::trtllm;
  if (has_budget && !s.chunked_prefill && r.input_tokens > s.token_budget)
    throw error(error_code::out_of_range,
                "simulate: input_tokens is " + std::to_string(r.input_tokens) +
                    "; allowed: at most token_budget (" + std::to_string(s.token_budget) +
                    ") without chunked prefill");
  const std::int64_t tokens = std::int64_t{r.input_tokens} + r.output_tokens;
  std::int64_t needed = tokens;
  if (settings.drafted_tokens > 0) needed += settings.drafted_tokens + s.block_tokens;
  if (s.kind == scheduler_kind::sglang) needed += s.block_tokens + 1;  // it admits below capacity
  if (needed <= settings.cache_tokens) return;
  throw error(error_code::infeasible, "simulate: a request of " + std::to_string(tokens) +
                                          " tokens exceeds the KV-cache capacity of " +
                                          std::to_string(settings.cache_tokens) + " tokens");
}

/// Sets a sequence to a request that the engine receives at time `at`.
inline void receive_request(simulated_sequence& s, const simulated_request& r,
                            const replica_settings& settings, double at) {
  s.request = r;
  if (!settings.scheduler.prefix_caching) s.request.blocks.clear();
  s.received = at;
  s.target = r.input_tokens;
  s.received_tokens = (std::min)(r.assumed_hit_tokens, r.input_tokens - 1);
  if (settings.starts_after_prefill) s.received_tokens = r.input_tokens - 1;
  if (r.first_token_at >= 0.0) {
    s.first_token = s.last_token = r.first_token_at;
    s.generated = 1;
    s.target = r.input_tokens + 1;
    s.received_tokens = r.input_tokens;
  }
}

/// Group of a replica with its planned work.
struct engine_lane {
  engine_lane(const scheduler_settings& s, sequence_table& t, kv_pool& p, std::deque<int>& w,
              int running, int drafted, bool has_identifiers)
      : group(s, t, p, w, running, drafted, has_identifiers) {}
  step_planner group;
  std::vector<prefill_chunk> chunks{}, planned{};
  bool has_plan = false;
  std::vector<int> fresh{};  ///< sequences with a last token outside the last decode step
  std::vector<int> ended{};  ///< ended sequences of a running static batch
  double last_token = 0.0;   ///< end of the last decode step of the batch
};

/// Engine step of a range of lanes, or a segment of many decode steps.
template <class Policy>
struct step_flight {
  using lanes = std::vector<std::unique_ptr<engine_lane>>;
  static constexpr std::size_t most_segments = 8;

  bool is_active = false, has_decodes = false;
  double begin = 0.0, end = 0.0;
  double work = 0.0;  ///< time of all stages
  std::int64_t steps = 1;
  std::size_t segments = 0;
  std::array<typename step_prices<Policy>::segment, most_segments> segment{};
  std::size_t first_lane = 0, last_lane = 0;

  /// Sets the price and the end. In a pipeline each stage takes an equal part of the step, once it
  /// is free.
  template <class Sequences>
  void price(const lanes& all, bool has_chunks, const replica_settings& settings,
             const Sequences& sequences, step_prices<Policy>& prices, double stall,
             std::vector<double>& stage_free) {
    if (has_chunks) {
      price_prefill(all, settings, prices, stall);
    } else {
      price_decodes(all, settings, sequences, prices, stall);
    }
    end = begin + work;
    if (settings.stages == 1) return;
    end = begin;
    for (double& free : stage_free) {
      free = (std::max)(end, free) + work / settings.stages;
      end = free;
    }
  }
  /// Ends a segment of decode steps at the first step that ends at `at` or later.
  void cut(double at) {
    if (!is_active || steps <= 1 || end <= at) return;
    double from = begin;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < segments; ++i) {
      auto& s = segment[i];
      const double whole = s.time(static_cast<double>(s.steps));
      if (from + whole < at) {
        from += whole;
        before += s.steps;
        continue;
      }
      std::int64_t n = std::clamp<std::int64_t>(
          static_cast<std::int64_t>((at - from) / (whole / static_cast<double>(s.steps))), 1,
          s.steps);
      while (n < s.steps && from + s.time(static_cast<double>(n)) < at) ++n;
      while (n > 1 && from + s.time(static_cast<double>(n - 1)) >= at) --n;
      s.steps = n;
      segments = i + 1;
      steps = before + n;
      end = from + s.time(static_cast<double>(n));
      return;
    }
  }

 private:
  void price_prefill(const lanes& all, const replica_settings& settings,
                     step_prices<Policy>& prices, double stall) {
    simulated_step step;
    double most_tokens = 0.0, count = 0.0, past = 0.0, largest_batch = 0.0, context = 0.0;
    for (std::size_t i = first_lane; i < last_lane; ++i) {
      const engine_lane& l = *all[i];
      double tokens = 0.0;
      for (const prefill_chunk& c : l.chunks) {
        tokens += c.tokens;
        past += static_cast<double>(c.tokens) * c.past;
        count += 1.0;
      }
      step.prefill_tokens += tokens;
      most_tokens = (std::max)(most_tokens, tokens);
      if (has_decodes && l.group.batch().size() > 0) {
        step.decodes += l.group.batch().size();
        if (l.group.batch().size() > largest_batch) {
          largest_batch = l.group.batch().size();
          context = l.group.batch().mean_context();
        }
      }
    }
    step.context = context;
    step.prefill_past = past / step.prefill_tokens;
    step.prefills = settings.groups > 1 ? step.prefill_tokens / most_tokens : count;
    work = settings.scheduler.prefill_overhead * prices.step(step) + stall;
    segments = 1;
    segment[0] = {1, work, 0.0};
  }
  template <class Sequences>
  void price_decodes(const lanes& all, const replica_settings& settings, const Sequences& sequences,
                     step_prices<Policy>& prices, double stall) {
    int batch = 0;
    double context = 1.0, growth = 1.0;
    for (std::size_t i = first_lane; i < last_lane; ++i) {
      step_planner& g = all[i]->group;
      if (g.batch().size() == 0) continue;
      steps = (std::min)(steps, g.batch().steps_to_next_end(sequences));
      steps = g.steps_within_cache(steps);
      if (g.batch().size() > batch) {
        batch = g.batch().size();
        context = g.batch().mean_context();
        growth = g.batch().growth();
      }
    }
    if (batch == 0) batch = 1, steps = 1;  // all were preempted for the next step: a lost step
    batch *= settings.groups;
    double time = 0.0;
    std::int64_t rest = steps;
    segments = 0;
    while (rest > 0 && segments < most_segments) {
      auto& s = segment[segments++];
      s = prices.decode_segment(batch, context, growth, rest);
      time += s.time(static_cast<double>(s.steps));
      context += growth * static_cast<double>(s.steps);
      rest -= s.steps;
    }
    steps -= rest;
    segment[0].first += stall;
    time += stall;
    if (stall > 0.0 && segment[0].steps > 1) {
      steps = segment[0].steps = 1;  // the stall is of one step
      segments = 1;
      time = segment[0].first;
    }
    work = time;
  }
};

}  // namespace perfmodel::inline v0_3::detail
