// One request as JSON text in, one result as JSON out: the entry of batches, of the C library and
// of the page.
#pragma once

#include <string>
#include <string_view>

#include "audit_errors.hpp"
#include "batch.hpp"

namespace napkin {

/// What applies to a request in addition to its text.
struct ask_context {
  const given_profile* profile = nullptr;  ///< in place of the shipped one of its accelerator
  batch_of what = batch_of::requests;
  earlier_claims* before = nullptr;  ///< earlier claims of the same list; null: none
  std::size_t line = 1;              ///< number of the line, for an error
};

/// The result of a request, or {"id", "line", "error": {"code", "message"}}; never throws
/// perfmodel::error. The request is a query, or one of
///   {"query": "plan", ...}                          as `napkin plan --json`
///   {"query": "explain", "of": {...}}               as `napkin explain QUERY --json`
///   {"query": "explain", "of": {"query": "plan", ...}, "row": 1}
///   {"query": "sensitivity", "of": {...}}           as `napkin sensitivity QUERY --json`
///   {"query": "audit", ...}                         as `napkin audit --json`
///   {"query": "gpus"}, {"query": "models"}          as `napkin gpus --json`; "name": one entry
/// Safe to call from several threads at once.
json answer_line(std::string_view line, const ask_context& context = {});

/// Whether a key is a latency target.
bool is_latency_target(std::string_view name);
/// Whether a latency target is more than 10 s: perhaps meant in milliseconds.
inline bool is_long_target(std::string_view name, double x) {
  return x > 10.0 && is_latency_target(name);
}

}  // namespace napkin
