// Infeasible answers: the conclusion in words, results without a value, and feasible changes.
#pragma once

#include <functional>
#include <optional>
#include <perfmodel/serving/largest_rate.hpp>
#include <string>

#include "query.hpp"

namespace napkin {

/// Whether an answer is infeasible because requests arrive faster than the service completes them.
bool is_overloaded(const outcome<>& answer);

/// A request's service at another load: of one replica with its share, or of two pools.
using service_at = std::function<perfmodel::serving_estimate(const perfmodel::service_load&)>;

/// Adds to an overloaded answer the largest sustainable rate, latencies at about 90 % of it, and
/// the number of replicas and GPUs that sustain the offered rate. `share` is one replica's load.
void note_overload(outcome<>& answer, const perfmodel::service_load& share, double replicas,
                   double gpus, const service_at& serve);

/// Adds to an infeasible answer the single changes of the request that make it feasible.
void add_remedies(outcome<>& answer, const query& asked, const json& object,
                  const given_profile* profile);

/// The value of a result; none where it is a time of an infeasible answer. The throughput of an
/// overloaded service is what it sustains.
std::optional<double> value_in(const outcome<>& answer, const result<double>& r);
/// The value as JSON, or null. Throws out_of_range where it is not finite.
json value_json(const outcome<>& answer, const result<double>& r);
/// "unbounded": what stands in a text in place of a time without a value.
std::string no_value_text(const outcome<>& answer, const result<double>& r);

/// The conclusion of an infeasible answer in sentences as wide as a terminal; else "".
std::string conclusion_text(const outcome<>& answer);

}  // namespace napkin
