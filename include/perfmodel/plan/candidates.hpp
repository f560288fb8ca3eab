// Candidates of a plan: every combination of accelerator, engine, precision and layout to evaluate.
#pragma once

#include <algorithm>
#include <optional>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/plan/request.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Powers of two up to n. A choice for n is also a choice for any larger limit, so more devices
/// never raise the cost.
inline std::vector<int> powers_up_to(int n) {
  std::vector<int> s;
  for (int i = 1; i <= n; i *= 2) s.push_back(i);
  return s;
}
/// Numbers of replicas to try: every number up to 64, then eight per doubling.
inline std::vector<int> counts_up_to(int n) {
  std::vector<int> s;
  for (int i = 1, stride = 1; i <= n; i += stride) {
    s.push_back(i);
    if (i >= 64 && (i & (i - 1)) == 0) stride = i / 8;
  }
  return s;
}
/// Tensor-parallel degrees on a fabric of `fabric` devices: powers of two, and the whole fabric.
inline std::vector<int> tensor_degrees(int gpus, int fabric) {
  std::vector<int> s = powers_up_to((std::min)(gpus, fabric));
  if (fabric <= gpus && s.back() != fabric) s.push_back(fabric);
  return s;
}

/// Whether an accelerator supports the format of every GEMM of a precision: linear layers, experts,
/// attention, and the LM head and router (`weights.others`).
constexpr bool supports_formats(const accelerator& a, const plan_precision& f) {
  return supports(a, wider(f.activations, f.weights.linear.format)) &&
         supports(a,
                  wider(f.expert_activations.value_or(f.activations), f.weights.experts.format)) &&
         supports(a, wider(f.activations, f.kv.format)) && supports(a, f.weights.others);
}

/// Layouts of one replica on at most `gpus` devices: tensor and pipeline degrees. A mixture of
/// experts also has expert parallelism, with and without data-parallel attention.
/// Test: 10 layouts for a dense model on 8 devices of a fabric; a mixture of experts also has data
/// 8 with expert 8.
inline std::vector<parallel_layout> layouts_of(const transformer& m, const accelerator& a,
                                               int gpus) {
  const int fabric = (std::max)(1, a.fabric.reach());
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

/// Token budgets of an engine step to try. An empty value is the engine's own budget. With chunked
/// prefill the request's `chunk_budgets` follow, up to the first that holds a whole prompt; one
/// equal to the engine's own is skipped.
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

/// Kind of a candidate.
enum class candidate_kind {
  replicas,     ///< replicas of one deployment
  pools,        ///< prefill pool and decode pool, sized over all layouts
  memory_only,  ///< prefill deployment, only checked for memory
  infeasible    ///< rejected without an evaluation
};

/// Candidate of a plan, with pointers into its request. Its evaluation tries replica counts, batch
/// limits and speculations.
struct plan_candidate {
  candidate_kind kind = candidate_kind::replicas;
  const accelerator* device = nullptr;
  engine serving_engine = engine::none;
  const plan_precision* precision = nullptr;
  parallel_layout layout{};                     ///< for kinds `replicas` and `memory_only`
  std::optional<double> chunk_tokens{};         ///< token budget of a step; empty: the engine's
  const accelerator* prefill_device = nullptr;  ///< for kind `pools`
  const char* reason = "";                      ///< for kind `infeasible`
};

/// Scope of a plan: choices that depend on whether it has a policy, and on the kind of policy.
struct plan_scope {
  /// True: predictions. False: bounds, without token budgets, speculation and pools.
  bool is_predicted = false;
  /// The policy is a function of an accelerator and an engine.
  bool is_by_engine = false;
};

/// Engines to try on an accelerator: the request's. If it names none: all engines of the
/// accelerator for a policy by engine, else `engine::none`.
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
inline constexpr const char* engine_does_not_run =
    "the engine does not run on this accelerator; TensorRT-LLM needs an NVIDIA GPU";
inline constexpr plan_precision no_precision{};

/// List of all candidates of a request, in the order in which they are evaluated.
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
    if (!engine_runs_on(e, a)) {
      add_infeasible(a, e, no_precision, engine_does_not_run);
      return;
    }
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
    return engine_runs_on(e, a) && std::find(all.begin(), all.end(), e) != all.end();
  }
  /// Adds disaggregated pools with `prefill` as the prefill accelerator and another accelerator for
  /// decode. Both use the same engine and formats.
  void add_mixed_pools(const accelerator& prefill) {
    bool has_shared_engine = false;
    for (const engine e : engines_of(q_, prefill, scope_)) {
      const auto shares = [&](const accelerator& a) { return has_engine(a, e); };
      if (!engine_runs_on(e, prefill)) continue;
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
  /// Adds candidates for a prefill accelerator that is not among the plan's accelerators. They
  /// produce no points, only the reasons why it cannot be used.
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
