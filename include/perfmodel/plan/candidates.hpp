// Candidates of a plan: every combination of accelerator, engine, precision and layout to evaluate.
#pragma once

#include <algorithm>
#include <optional>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/plan/request.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Powers of two up to n. Each choice for n is a choice for more than n, so that more devices never
/// raise the cost.
inline std::vector<int> powers_up_to(int n) {
  std::vector<int> s;
  for (int i = 1; i <= n; i *= 2) s.push_back(i);
  return s;
}
/// Replica counts: each up to 64, then eight per octave.
inline std::vector<int> counts_up_to(int n) {
  std::vector<int> s;
  for (int i = 1, stride = 1; i <= n; i += stride) {
    s.push_back(i);
    if (i >= 64 && (i & (i - 1)) == 0) stride = i / 8;
  }
  return s;
}
/// Tensor-parallel degrees on a fabric: powers of two, and the whole fabric.
inline std::vector<int> tensor_degrees(int gpus, int fabric) {
  std::vector<int> s = powers_up_to((std::min)(gpus, fabric));
  if (fabric <= gpus && s.back() != fabric) s.push_back(fabric);
  return s;
}

/// Whether the accelerator supports every GEMM format of a precision: linear layers, experts,
/// attention, and the LM head and router in the format of `others`.
constexpr bool supports_formats(const accelerator& a, const plan_precision& f) {
  return supports(a, wider(f.activations, f.weights.linear.format)) &&
         supports(a,
                  wider(f.expert_activations.value_or(f.activations), f.weights.experts.format)) &&
         supports(a, wider(f.activations, f.kv.format)) && supports(a, f.weights.others);
}

/// Layouts of one replica: tensor and pipeline degrees; for a mixture of experts also expert
/// parallelism, with data-parallel attention that leaves each group at least one whole expert.
/// Test: 10 layouts of a dense model on 8 devices of a fabric; a mixture has data 8 and expert 8.
inline std::vector<parallel_layout> layouts_of(const transformer& m, const accelerator& a,
                                               int gpus) {
  const int fabric = a.fabric.exists() ? (std::max)(1, a.fabric.ranks) : 1;
  const bool is_routed = experts_of(m).has_value();
  std::vector<parallel_layout> all;
  for (const int ranks : tensor_degrees(gpus, fabric)) {
    for (const int pipeline : powers_up_to(gpus / ranks)) {
      all.push_back({.tensor = ranks, .pipeline = pipeline});
      if (is_routed && ranks > 1) {
        all.push_back({.tensor = ranks, .pipeline = pipeline, .expert = ranks});
      }
    }
    if (!is_routed) continue;
    for (int tensor = 1; tensor < ranks; tensor *= 2) {
      if (ranks % tensor != 0) continue;
      all.push_back({.tensor = tensor, .expert = ranks, .data = ranks / tensor});
    }
  }
  return all;
}

/// Token budgets of an engine step: the engine's own (none), and with chunked prefill those of the
/// request that differ from it, up to the first that holds a whole prompt.
inline std::vector<std::optional<double>> budgets_of(const plan_request& q, const accelerator& a,
                                                     engine e, int tensor) {
  std::vector<std::optional<double>> all{std::nullopt};
  const bool is_chunked = q.load.scheduler.value_or(scheduling_of(e)) == scheduling::mixed_chunks &&
                          !q.load.chunk_tokens && !q.limits.tokens;
  if (!is_chunked) return all;
  const double own = *engine_limits_on(e, q.limits, a.dram.capacity.quantity(), tensor,
                                       a.architecture == chip_architecture::ampere)
                          .tokens;
  const double prompt = uncached_tokens(q.load);
  std::vector<double> budgets = q.chunk_budgets;
  std::sort(budgets.begin(), budgets.end());
  for (const double tokens : budgets) {
    if (tokens != own) all.push_back(tokens);
    if (tokens >= prompt) break;
  }
  return all;
}

/// Kinds of candidate.
enum class candidate_kind {
  replicas,     ///< replicas of one deployment
  pools,        ///< a prefill pool and a decode pool, with the layouts of each
  memory_only,  ///< a prefill deployment, evaluated as part of `pools`: only whether it fits
  infeasible    ///< refused without an evaluation
};

/// Candidate of a plan, as pointers into its request. Replica counts, batch limits and speculation
/// are tried in its evaluation.
struct plan_candidate {
  candidate_kind kind = candidate_kind::replicas;
  const accelerator* device = nullptr;
  engine serving_engine = engine::none;
  const plan_precision* precision = nullptr;
  parallel_layout layout{};                     ///< kinds `replicas` and `memory_only`
  std::optional<double> chunk_tokens{};         ///< none: the engine's budget
  const accelerator* prefill_device = nullptr;  ///< kind `pools`
  const char* reason = "";                      ///< kind `infeasible`
};

/// Choices that depend on the policy of a plan.
struct plan_scope {
  bool is_predicted = false;  ///< false: bounds, without budgets, speculation and pools
  bool is_by_engine = false;  ///< the policy is a function of accelerator and engine
};

/// Engines of an accelerator: the request's, else all of the accelerator for a policy by engine,
/// else `none`.
inline engine_list engines_of(const plan_request& q, const accelerator& a,
                              const plan_scope& scope) {
  engine_list all;
  for (const engine e : q.engines) {
    if (!all.full()) all.push_back(e);
  }
  if (all.empty() && scope.is_by_engine) all = engines_on(a);
  if (all.empty()) all.push_back(engine::none);
  return all;
}

inline constexpr const char* no_such_format = "the accelerator does not compute in this format";
inline constexpr plan_precision no_precision{};

/// List of candidates in the order of evaluation.
class candidate_list {
 public:
  candidate_list(const plan_request& q, const plan_scope& scope) : q_(q), scope_(scope) {}

  std::vector<plan_candidate> enumerate() {
    for (const accelerator& a : q_.accelerators) {
      for (const engine e : engines_of(q_, a, scope_)) add_accelerator(a, e);
    }
    if (scope_.is_predicted && q_.pools) {
      for (const accelerator& a : q_.pools->prefill_accelerators) add_mixed_pools(a);
    }
    return std::move(all_);
  }

 private:
  static bool runs_on(const plan_precision& f, const accelerator& a) {
    return f.only_accelerator == label{} || f.only_accelerator == a.name;
  }
  static bool runs_under(const plan_precision& f, engine e) {
    return f.only_engine.value_or(e) == e;
  }

  void add_layouts(candidate_kind kind, const accelerator& a, engine e, const plan_precision& f) {
    for (const parallel_layout& l : layouts_of(q_.model, a, q_.gpus)) {
      const auto budgets = scope_.is_predicted ? budgets_of(q_, a, e, l.tensor)
                                               : std::vector<std::optional<double>>{std::nullopt};
      for (const std::optional<double>& tokens : budgets) {
        all_.push_back({.kind = kind,
                        .device = &a,
                        .serving_engine = e,
                        .precision = &f,
                        .layout = l,
                        .chunk_tokens = tokens});
      }
    }
  }
  void add_pools(const accelerator& prefill, const accelerator& decode, engine e,
                 const plan_precision& f) {
    all_.push_back({.kind = candidate_kind::pools,
                    .device = &decode,
                    .serving_engine = e,
                    .precision = &f,
                    .prefill_device = &prefill});
  }
  void add_infeasible(const accelerator& a, engine e, const plan_precision& f, const char* reason) {
    all_.push_back({.kind = candidate_kind::infeasible,
                    .device = &a,
                    .serving_engine = e,
                    .precision = &f,
                    .reason = reason});
  }

  void add_accelerator(const accelerator& a, engine e) {
    for (const plan_precision& f : q_.precisions) {
      if (!runs_under(f, e) || !runs_on(f, a)) continue;
      if (!supports_formats(a, f)) {
        add_infeasible(a, e, f, no_such_format);
        continue;
      }
      add_layouts(candidate_kind::replicas, a, e, f);
      if (scope_.is_predicted && q_.pools) add_pools(a, a, e, f);
    }
  }

  bool has_engine(const accelerator& a, engine e) const {
    const engine_list all = engines_of(q_, a, scope_);
    return std::find(all.begin(), all.end(), e) != all.end();
  }
  /// Pools of two accelerators under one engine, with equal formats.
  void add_mixed_pools(const accelerator& prefill) {
    bool has_shared_engine = false;
    for (const engine e : engines_of(q_, prefill, scope_)) {
      const auto shares = [&](const accelerator& a) { return has_engine(a, e); };
      if (std::none_of(q_.accelerators.begin(), q_.accelerators.end(), shares)) continue;
      has_shared_engine = true;
      if (find_accelerator(q_.accelerators, prefill.name) == nullptr) check_prefill(prefill, e);
      for (const accelerator& decode : q_.accelerators) {
        if (decode.name == prefill.name || !shares(decode)) continue;
        for (const plan_precision& f : q_.precisions) {
          if (runs_under(f, e) && supports_formats(prefill, f) && runs_on(f, decode) &&
              supports_formats(decode, f)) {
            add_pools(prefill, decode, e, f);
          }
        }
      }
    }
    if (!has_shared_engine) {
      add_infeasible(prefill, engine::none, no_precision,
                     "it shares no engine with an accelerator that decodes");
    }
  }
  /// Reasons of a prefill accelerator that has no candidates of its own.
  void check_prefill(const accelerator& a, engine e) {
    for (const plan_precision& f : q_.precisions) {
      if (!runs_under(f, e)) continue;
      if (supports_formats(a, f)) {
        add_layouts(candidate_kind::memory_only, a, e, f);
      } else {
        add_infeasible(a, e, f, no_such_format);
      }
    }
  }

  const plan_request& q_;
  const plan_scope& scope_;
  std::vector<plan_candidate> all_{};
};

/// Every candidate of a request, in the order in which they are evaluated.
inline std::vector<plan_candidate> enumerate_candidates(const plan_request& q,
                                                        const plan_scope& scope) {
  return candidate_list(q, scope).enumerate();
}

}  // namespace perfmodel::inline v0_3::detail
