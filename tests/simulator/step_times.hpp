// The time of an iteration: a line, and the library's own step.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <perfmodel/step.hpp>

#include "simulator/scheduler.hpp"

namespace perfmodel_test::simulator {

/// fixed + per_sequence x decoding + per_context x their contexts + per_prompt_token x prompt
/// tokens.
inline step_time linear_pass(double fixed, double per_sequence, double per_prompt_token,
                             double per_context = 0) {
  return [=](const pass& p) {
    return fixed + p.decoding * (per_sequence + per_context * p.context) +
           per_prompt_token * p.prompt_tokens;
  };
}

/// One micro-batch of a pipeline: the library's iteration is that of all stages, each with as much.
inline perfmodel::iteration iteration_of(const pass& p, double stages = 1) {
  perfmodel::iteration i{
      .batch = stages * p.decoding,
      .context = std::max(1.0, p.context),
      .prefill_tokens = stages * p.prompt_tokens,
      .prefill_past = p.past,
      .prefill_sequences = stages * std::max(1.0, static_cast<double>(p.prompts))};
  if (p.decoding > 0) i.tokens_per_sequence = p.rows_per_sequence;
  return i;
}

/// The library's prediction under a policy, by steps of 1/32 of an octave in every argument above
/// 32, so that a run asks for few of them. Runs that share the deployment may share what was asked.
template <class Policy>
step_time predicted_step(const perfmodel::deployment& d, const Policy& policy) {
  const auto rounded = [](double x) {
    return x <= 32 ? std::round(x) : std::round(std::exp2(std::round(std::log2(x) * 32) / 32));
  };
  using key = std::array<double, 6>;
  const auto known = std::make_shared<std::map<key, double>>();
  return [=](const pass& exact) {
    pass p = exact;
    p.decoding = static_cast<int>(rounded(p.decoding));
    p.context = rounded(p.context);
    p.prompt_tokens = static_cast<int>(rounded(p.prompt_tokens));
    p.past = rounded(p.past);
    const auto [at, asked] = known->try_emplace(
        key{static_cast<double>(p.decoding), p.context, static_cast<double>(p.rows_per_sequence),
            static_cast<double>(p.prompts), static_cast<double>(p.prompt_tokens), p.past});
    if (asked) {
      at->second =
          perfmodel::detail::prediction_of_step(d, iteration_of(p, d.layout.pipeline), policy,
                                                perfmodel::detail::links_of<double>(policy))
              .time.value();
    }
    return at->second;
  };
}

}  // namespace perfmodel_test::simulator
