// Infeasible results: the conclusion in words, results without a value, and feasible changes.
#pragma once

#include <functional>
#include <optional>
#include <perfmodel/serving/largest_rate.hpp>
#include <string>

#include "query.hpp"

namespace napkin {

/// Whether a result is infeasible because requests arrive faster than the service completes them.
bool is_overloaded(const outcome<>& answer);

/// A request's service at another load: one replica with its share, or two pools.
using service_at = std::function<perfmodel::serving_estimate(const perfmodel::service_load&)>;

/// Adds to an overloaded result the largest sustainable rate, latencies at about 90 % of it, and
/// the number of replicas and GPUs that sustain the offered rate. `share` is one replica's load.
void note_overload(outcome<>& answer, const perfmodel::service_load& share, double replicas,
                   double gpus, const service_at& serve);

/// Adds to an infeasible result the single changes of the request that make it feasible.
void add_remedies(outcome<>& answer, const query& asked, const json& object,
                  const given_profile* profile);

/// The value of a result; none for a time of an infeasible one, and for the ITL of one output
/// token. The throughput of an overloaded service is its sustainable throughput.
std::optional<double> value_in(const outcome<>& answer, const result<double>& r);
/// The value as JSON, or null. Throws out_of_range where it is not finite.
json value_json(const outcome<>& answer, const result<double>& r);
/// "unbounded": the text in place of a time without a value.
std::string no_value_text(const outcome<>& answer, const result<double>& r);

/// The conclusion of an infeasible result in sentences wrapped to the terminal; else "".
std::string conclusion_text(const outcome<>& answer);

}  // namespace napkin
