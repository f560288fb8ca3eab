// Breakdown of a result: the few steps that make most of it, each with its arithmetic.
#pragma once

#include <perfmodel/serving/disaggregated.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/speculation.hpp>
#include <string>
#include <vector>

#include "query.hpp"

namespace napkin {

/// One step: `name` = `how` = time, limited by a resource.
struct summary_step {
  std::string name{};
  std::string how{};  ///< an expression in numbers; empty where there is none
  double time_s = 0.0;
  std::string limit{};
};
/// One time and the steps that add up to it.
struct summary_part {
  std::string name{};  ///< "decode", "prefill"
  std::string what{};  ///< engine step in words
  double time_s = 0.0;
  double tokens = 1.0;                 ///< tokens per sequence and speculation round
  std::vector<summary_step> steps{};   ///< largest first; their sum is time_s
  std::vector<std::string> amounts{};  ///< origin of the bytes, and other amounts behind the steps
  std::string limit{};                 ///< resource that saves most
  std::string next{};                  ///< resource that saves most after that
  double left_s = 0.0;                 ///< time without the limit
  double next_left_s = 0.0;            ///< time without both
};
struct summary {
  std::vector<summary_part> parts{};
  std::vector<std::string> sources{};
};

/// A service: one replica of a deployment with its share of a load, or two pools.
struct served_load {
  perfmodel::deployment deployment{};
  perfmodel::service_load load{};
  std::optional<perfmodel::speculation> drafts{};
  std::optional<perfmodel::disaggregated> pools{};
};
/// Breakdown of the TTFT and ITL, with speculation of a round. Without a calibration the times are
/// bounds. `of_prefills` is the calibration of a prefill pool with another accelerator. Sources are
/// not filled in.
summary summary_of_service(const served_load& x, const calibration* c,
                           const calibration* of_prefills = nullptr);

/// Text of the parts and sources, with terminal-wide rows that fit on a page with `others` further
/// lines; or Markdown.
std::string summary_text(const summary& s, bool as_markdown, std::size_t others = 0);
json summary_json(const summary& s);
/// A paragraph wrapped to the terminal, later lines indented further.
std::string wrapped(const std::string& text, std::size_t indent,
                    std::size_t columns = terminal_columns);

/// Breakdown of a step or service request by operator; empty for other queries. `answer` is the
/// request's result as JSON.
summary summary_of_steps(const query& asked, const json& object, const given_profile* profile,
                         const json& answer);

/// The basis of a request's times: data sheets in bound mode, which is the default without a
/// profile.
std::optional<calibration> calibration_of_request(const query& asked, const request& r,
                                                  std::optional<mode> wanted);

/// Options of `napkin explain`.
struct explain_options {
  int depth = 0;  ///< derivation steps from the result; 0: the summary only
  bool all = false;
  bool markdown = false;
};
std::string explain_text(const query& asked, const json& object, const given_profile* profile,
                         const explain_options& options);
/// Inputs and steps of the derivation, `summary` where the query has engine steps, and the result
/// as `result`.
json explain_json(const query& asked, const json& object, const given_profile* profile);

}  // namespace napkin
