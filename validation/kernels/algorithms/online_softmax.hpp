// Softmax of scores that come a few at a time, and the merge of softmaxes over parts of the scores.
#pragma once

#include <cmath>

#include "host_device.hpp"

namespace perfmodel::validation {

/// What is known of a softmax so far: the highest score, and the sum of 2^(score - highest). Scores
/// are in units of log2 e, so that a power of two is all that is needed.
/// Source: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018, alg. 3.
struct softmax_state {
  /// The highest of no scores: below every score, and finite, so that no infinity meets another.
  static constexpr float nothing = -1e30F;
  float maximum = nothing;
  float sum = 0.0F;
};

/// Raises the running maximum to `above`, which is no lower, and rescales the sum. Returns the
/// factor by which the caller rescales its weighted sums.
/// Test: the state and a weighted sum equal those computed over all scores at once.
PERFMODEL_HOST_DEVICE inline float raise_maximum(softmax_state& state, float above) {
  const float by = exp2f(state.maximum - above);
  state.maximum = above;
  state.sum *= by;
  return by;
}

/// What each of two parts counts for in their union.
struct merge_weights {
  float first, second;
};

/// Merges the softmax state of another part into `into`; returns the weights of the two parts'
/// weighted sums. Parts may be empty. Source: T. Dao et al., "Flash-Decoding for long-context
/// inference", 2023.
/// Test: any partition of the scores merges to the softmax of them all.
PERFMODEL_HOST_DEVICE inline merge_weights merge(softmax_state& into, const softmax_state& other) {
  const float above = into.maximum > other.maximum ? into.maximum : other.maximum;
  const merge_weights by{exp2f(into.maximum - above), exp2f(other.maximum - above)};
  into.sum = into.sum * by.first + other.sum * by.second;
  into.maximum = above;
  return by;
}

}  // namespace perfmodel::validation
