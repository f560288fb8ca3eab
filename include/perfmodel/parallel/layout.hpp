// Partition of a model over accelerators, and the counts that it has to divide.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/parallel/algorithms.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3 {

/// Parallel degrees. Expert parallelism adds no ranks: it regroups those of tensor, data and
/// context parallelism into `expert` groups. Each expert is sharded over the tensor x data x
/// context / expert ranks of its group. `redundant_experts` are replicas of experts in addition to
/// the model's, as 48 ranks with 288 slots hold 256 experts.
/// Source: vLLM's and SGLang's EPLB (num_redundant_experts); DeepSeek-V3 Technical Report, 2024,
/// section 3.4.2. Leaves out: what the replicas are for, a skewed load of the experts.
struct parallel_layout {
  int tensor = 1;
  int pipeline = 1;
  int expert = 1;
  int data = 1;
  int context = 1;
  int redundant_experts = 0;

  /// Number of accelerators in use.
  constexpr int ranks() const { return tensor * pipeline * data * context; }
  /// Ranks of one stage of the pipeline.
  constexpr int stage_ranks() const { return tensor * data * context; }
  /// Number of ranks that shard one expert's matrices.
  constexpr int expert_tensor() const { return stage_ranks() / expert; }
  friend constexpr bool operator==(const parallel_layout&, const parallel_layout&) = default;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::ranks("tensor"), s.tensor...);
    f(field::ranks("pipeline"), s.pipeline...);
    f(field::ranks("expert"), s.expert...);
    f(field::ranks("data"), s.data...);
    f(field::ranks("context"), s.context...);
    f(field::not_negative("redundant_experts"), s.redundant_experts...);
  }
};

/// Counts of a model that a layout has to divide; doubles, because they may exceed an int. An
/// absent count is not checked; a dense model has no experts.
struct sharded_dims {
  std::optional<double> query_heads{};
  std::optional<double> kv_heads{};
  std::optional<double> layers{};
  double experts = 0;
  std::optional<double> accelerators{};  ///< number of accelerators available
};

namespace detail {
/// Whether `part` divides `whole`, exact for whole numbers up to 2^53.
constexpr bool divides_evenly(double part, double whole) {
  return math::floor(whole / part) * part == whole;
}
}  // namespace detail

/// Whether a model can have this layout, and the reason where it cannot. KV heads are replicated
/// where there are fewer heads than ranks, so that either number divides the other.
/// Errors: a degree below 1.
/// Tests: 64 query heads over 3 ranks are impossible; 8 KV heads over 16 ranks are possible; 256
/// experts over 48 ranks need 32 redundant ones.
constexpr feasibility layout_feasible(const parallel_layout& l, const sharded_dims& d) {
  const double tensor = detail::rank_count("layout.tensor", l.tensor);
  const double pipeline = detail::rank_count("layout.pipeline", l.pipeline);
  const double expert = detail::rank_count("layout.expert", l.expert);
  const double stage = tensor * detail::rank_count("layout.data", l.data) *
                       detail::rank_count("layout.context", l.context);
  const double ranks = stage * pipeline;
  if (d.accelerators && ranks > *d.accelerators) {
    return infeasible("the layout takes more accelerators than there are", "accelerators", ranks,
                      *d.accelerators);
  }
  if (ranks > 1e6) {
    return infeasible("the layout takes more than a million accelerators", "accelerators", ranks,
                      1e6);
  }
  if (d.query_heads && !detail::divides_evenly(tensor, *d.query_heads)) {
    return infeasible("layout.tensor does not divide the query heads", "heads", tensor,
                      *d.query_heads);
  }
  if (d.kv_heads && !detail::divides_evenly(tensor, *d.kv_heads) &&
      !detail::divides_evenly(*d.kv_heads, tensor)) {
    return infeasible("neither of layout.tensor and the KV heads divides the other", "heads",
                      tensor, *d.kv_heads);
  }
  if (d.layers && pipeline > *d.layers) {
    return infeasible("layout.pipeline has more stages than the model has layers", "layers",
                      pipeline, *d.layers);
  }
  const double replicas =
      detail::not_negative("layout.redundant_experts", static_cast<double>(l.redundant_experts));
  if (replicas > 0.0 && (expert == 1.0 || d.experts == 0)) {
    return infeasible("redundant experts need expert parallelism, and a model with experts",
                      "experts", replicas, d.experts);
  }
  if (expert > 1 && (d.experts == 0 || !detail::divides_evenly(expert, d.experts + replicas))) {
    return infeasible("layout.expert does not divide the experts", "experts", expert,
                      d.experts + replicas);
  }
  if (!detail::divides_evenly(expert, stage)) {
    return infeasible("layout.expert does not divide the ranks of a stage", "accelerators", expert,
                      stage);
  }
  return {};
}

namespace detail {
[[noreturn]] inline void impossible_layout(const feasibility& f) {
  throw error(error_code::impossible_layout, std::string(f.reason) + ": " + number_text(f.needed) +
                                                 " against " + number_text(f.available));
}
}  // namespace detail

/// The layout, after a check. Errors: `impossible_layout` with the reason and both numbers.
constexpr const parallel_layout& require_layout(const parallel_layout& l, const sharded_dims& d) {
  const feasibility f = layout_feasible(l, d);
  if (!f.feasible) detail::impossible_layout(f);
  return l;
}

}  // namespace perfmodel::inline v0_3
