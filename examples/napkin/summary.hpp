// An answer as a napkin has it: the few steps that make most of it, each to be done again by hand.
#pragma once

#include <string>
#include <vector>

#include "query.hpp"

namespace napkin {

/// One step: `name` = `how` = time, for the resource that limits it.
struct summary_step {
  std::string name{};
  std::string how{};  ///< an expression in numbers; empty where there is none
  double time_s = 0.0;
  std::string limit{};
};
/// One time and the steps that add up to it.
struct summary_part {
  std::string name{};  ///< "decode", "prefill"
  std::string what{};  ///< of which pass, in words
  double time_s = 0.0;
  std::vector<summary_step> steps{};   ///< largest first; together time_s
  std::vector<std::string> amounts{};  ///< where the bytes come from
};
struct summary {
  std::vector<summary_part> parts{};
  std::vector<std::string> sources{};
};

/// What a request of a step or a service spends its time on, operator by operator; empty where the
/// query has no operators (or runs them in several pools, or with drafts).
/// `answer` is the request's own, as JSON.
summary summary_of_passes(const query& asked, const json& object, const given_profile* profile,
                          const json& answer);

/// What a request counts on: nothing but data sheets in bound mode, which is the default where the
/// accelerator has no profile.
std::optional<calibration> calibration_of_request(const query& asked, const request& r,
                                                  std::optional<mode> wanted);

/// What `napkin explain` shows beside the answer.
struct explain_options {
  int depth = 0;  ///< steps of the derivation up to so far from the result; 0: the summary alone
  bool all = false;
  bool markdown = false;
};
std::string explain_text(const query& asked, const json& object, const given_profile* profile,
                         const explain_options& options);
/// inputs and steps of the derivation, `summary` where the query has passes, and the answer as `result`.
json explain_json(const query& asked, const json& object, const given_profile* profile);

}  // namespace napkin
