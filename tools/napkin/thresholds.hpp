// napkin thresholds: the load at which the better of two choices changes.
#pragma once

#include <string>

#include "query_words.hpp"

namespace napkin {

/// {"query":"thresholds", "of":{a request of serving or step}, "from":1, "to":1024}: pairs of
/// choices for one deployment, each on the same number of GPUs: speculative decoding or none, fp8
/// or int4 weights, disaggregated or collocated pools, TP1 to TP16 against twice as much, token
/// budgets. For each pair the values of the load (concurrency, requests_per_s or batch) where the
/// sign of the difference of `key` changes (e2e_s of a service, which at a concurrency is its
/// throughput too; time_s of a step).
/// *Method*: 32 steps, then bisection. An infeasible choice loses.
/// *Leaves out*: several changes between two of the 32 steps.
/// *Test*: tests/cli/thresholds.sh: a scan with `napkin batch` around each crossing.
json thresholds_json(const json& object, const given_profile* profile = nullptr);
std::string thresholds_text(const json& found);

struct thresholds_line {
  json object{};
  std::string profile{};
  bool as_json = false;
};
/// The object of a command line: --from 1 --to 512 --result itl_s --key value ...
thresholds_line thresholds_from_command_line(const std::vector<std::string>& words);

}  // namespace napkin
