// Routing tokens to experts: which k of the scores win, where each expert's tokens begin, and how
// many experts n tokens touch.
#pragma once

#include <cmath>

#include "host_device.hpp"

namespace perfmodel::validation {

/// Whether a score is chosen before another: the higher one, and of equal ones the lower expert.
PERFMODEL_HOST_DEVICE constexpr bool chosen_before(float score, int expert, float other_score,
                                                   int other_expert) {
  return score > other_score || (score == other_score && expert < other_expert);
}

/// The top k of `experts` scores, best first, and their softmax over the k: what Mixtral and Qwen3
/// (norm_topk_prob) weight the experts' outputs with. 1 <= k <= experts.
PERFMODEL_HOST_DEVICE inline void route(const float* scores, int experts, int k, int* chosen,
                                        float* weights) {
  for (int j = 0; j < k; ++j) {
    int best = -1;
    for (int e = 0; e < experts; ++e) {
      const bool after_last =
          j == 0 || chosen_before(scores[chosen[j - 1]], chosen[j - 1], scores[e], e);
      if (after_last && (best < 0 || chosen_before(scores[e], e, scores[best], best))) best = e;
    }
    chosen[j] = best;
  }
  float sum = 0.0F;
  for (int j = 0; j < k; ++j) {
    weights[j] = std::exp(scores[chosen[j]] - scores[chosen[0]]);
    sum += weights[j];
  }
  for (int j = 0; j < k; ++j) weights[j] /= sum;
}

/// Tiles of `rows` tokens that `count` tokens fill, the last one in part.
PERFMODEL_HOST_DEVICE constexpr int tiles_of(int count, int rows) {
  return (count + rows - 1) / rows;
}

/// How many tokens, and how many tiles, the experts before one have.
struct expert_place {
  int row = 0, tile = 0;
};

/// Begin of an expert's tokens and tiles; of the number of experts, which is none: how many
/// there are. tiles[e] is tiles_of(counts[e]), so that no tile spans two experts. Each expert sums
/// for itself: one thread's divisions for all of them would take as long as a small layer.
/// Test: as a running sum over the experts.
PERFMODEL_HOST_DEVICE constexpr expert_place place_of_expert(const int* counts, const int* tiles,
                                                             int expert) {
  expert_place at;
  for (int e = 0; e < expert; ++e) {
    at.row += counts[e];
    at.tile += tiles[e];
  }
  return at;
}

/// Tiles that n choices can need at most: one part-filled tile an expert, and the full ones.
PERFMODEL_HOST_DEVICE constexpr int most_tiles(int choices, int experts, int rows) {
  return (choices < experts ? choices : experts) + choices / rows;
}

/// Experts that n tokens touch on average, when each takes k of E uniformly and by itself:
/// E (1 - (1 - k / E)^n).
inline double touched_experts(double tokens, double experts, double k) {
  return experts * (1.0 - std::pow(1.0 - k / experts, tokens));
}

}  // namespace perfmodel::validation
