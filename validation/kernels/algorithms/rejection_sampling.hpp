// Speculative decoding's rejection sampling, for one thread or for the threads of a block alike.
//
// Source: Leviathan, Kalman and Matias 2023, "Fast Inference from Transformers via Speculative
// Decoding", algorithm 1; Chen et al. 2023 have the same rule.
#pragma once

#include <cmath>

#include "host_device.hpp"

namespace perfmodel::validation {

/// What a sample is drawn from: the draft's q, the target's p, or what p has beyond q.
enum class drawn_from { draft, target, residual };

/// Errors that --break puts into a speculation round.
struct sampling_faults {
  bool accepts_too_often = false;  ///< with probability min(1, 2 p / q)
  bool resamples_target = false;   ///< from p, and not from what it has beyond q
};

/// p and q over `size` tokens. Neither has to sum to 1 but by rounding.
struct token_distributions {
  const float* target = nullptr;
  const float* draft = nullptr;
  int size = 0;

  PERFMODEL_HOST_DEVICE double weight(drawn_from what, int token) const {
    const double p = target[token], q = draft[token];
    if (what == drawn_from::draft) return q;
    if (what == drawn_from::target) return p;
    return p > q ? p - q : 0.0;
  }
  /// Begin of the `chunk`-th of `chunks` equal pieces.
  PERFMODEL_HOST_DEVICE int chunk_begin(int chunk, int chunks) const {
    const int each = (size + chunks - 1) / chunks;
    return chunk * each < size ? chunk * each : size;
  }
  PERFMODEL_HOST_DEVICE double chunk_sum(drawn_from what, int chunk, int chunks) const {
    double sum = 0.0;
    for (int i = chunk_begin(chunk, chunks); i < chunk_begin(chunk + 1, chunks); ++i) {
      sum += weight(what, i);
    }
    return sum;
  }
};

/// The token at share `u` of the cumulative weight, by the sums of its chunks: 0 <= u < 1. Tokens
/// of weight 0 are never drawn, unless all are.
PERFMODEL_HOST_DEVICE inline int draw(const token_distributions& d, drawn_from what,
                                      const double* chunk_sums, int chunks, double u) {
  double total = 0.0;
  for (int c = 0; c < chunks; ++c) total += chunk_sums[c];
  const double share = u * total;
  double end = 0.0, begin = 0.0;
  int chosen = 0;
  for (int c = 0; c < chunks; ++c) {
    if (!(chunk_sums[c] > 0.0)) continue;
    chosen = c;
    begin = end;
    end += chunk_sums[c];
    if (share < end) break;
  }
  // What rounding leaves over goes to the last token of any weight.
  double left = share - begin;
  int last = d.chunk_begin(chosen, chunks);
  for (int i = last; i < d.chunk_begin(chosen + 1, chunks); ++i) {
    const double w = d.weight(what, i);
    if (!(w > 0.0)) continue;
    last = i;
    if (left < w) return i;
    left -= w;
  }
  return last;
}

/// One verification of `draft_length` proposals by the target. Returns how many tokens it emits, 1
/// to draft_length + 1, into `emitted`; all but the last are accepted proposals. sample(what, u)
/// draws a token; uniform(i), i <= 2 draft_length, are independent in [0, 1).
template <class Sample, class Uniform>
PERFMODEL_HOST_DEVICE int speculative_pass(const token_distributions& d, int draft_length,
                                           const sampling_faults& faults, Sample&& sample,
                                           Uniform&& uniform, int* emitted) {
  for (int i = 0; i < draft_length; ++i) {
    const int token = sample(drawn_from::draft, uniform(2 * i));
    const double p = (faults.accepts_too_often ? 2.0 : 1.0) * static_cast<double>(d.target[token]);
    if (uniform(2 * i + 1) * static_cast<double>(d.draft[token]) < p) {
      emitted[i] = token;
      continue;
    }
    emitted[i] = sample(faults.resamples_target ? drawn_from::target : drawn_from::residual,
                        uniform(2 * draft_length));
    return i + 1;
  }
  emitted[draft_length] = sample(drawn_from::target, uniform(2 * draft_length));
  return draft_length + 1;
}

/// Probability that a proposal is accepted: sum over the tokens of min(p, q). Leviathan et
/// al., 3.5.
inline double overlap_of(const token_distributions& d) {
  double sum = 0.0;
  for (int i = 0; i < d.size; ++i) {
    sum += static_cast<double>(d.target[i] < d.draft[i] ? d.target[i] : d.draft[i]);
  }
  return sum;
}

/// Expected tokens per round: (1 - a^(g+1)) / (1 - a), with g proposals that are each accepted with
/// probability a, independently. Source: Leviathan et al., equation 1.
inline double expected_emitted(double acceptance, int draft_length) {
  double sum = 1.0, power = 1.0;
  for (int i = 0; i < draft_length; ++i) sum += power *= acceptance;
  return sum;
}

/// Half the sum of |count / n - p|, and what it stays below for a sample of p but once in e^16: its
/// mean is at most sum sqrt(p (1 - p) / n) / 2, and one draw moves it by 1 / n (McDiarmid 1989).
struct distribution_distance {
  double total_variation = 0.0;
  double allowed = 0.0;
};
inline distribution_distance distance_of(const double* counts, const float* target, int size) {
  double n = 0.0;
  for (int i = 0; i < size; ++i) n += counts[i];
  distribution_distance out;
  for (int i = 0; i < size; ++i) {
    const double p = target[i];
    out.total_variation += 0.5 * std::abs(counts[i] / n - p);
    out.allowed += 0.5 * std::sqrt(p * (1.0 - p) / n);
  }
  out.allowed += std::sqrt(8.0 / n);
  return out;
}

}  // namespace perfmodel::validation
