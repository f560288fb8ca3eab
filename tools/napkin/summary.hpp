// An answer as a napkin has it: the few steps that make most of it, each to be done again by hand.
#pragma once

#include <perfmodel/serving/disaggregated.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/speculation.hpp>
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
  double tokens = 1.0;                ///< of each sequence, that a round of drafts gives
  std::vector<summary_step> steps{};  ///< largest first; together time_s
  std::vector<std::string>
      amounts{};             ///< where the bytes come from, and what else is behind the steps
  std::string limit{};       ///< what saves most, were it lifted
  std::string next{};        ///< what saves most then
  double left_s = 0.0;       ///< without the limit
  double next_left_s = 0.0;  ///< without both
};
struct summary {
  std::vector<summary_part> parts{};
  std::vector<std::string> sources{};
};

/// A service, whatever asked for it: one copy of a deployment with its share of a load, or two pools.
struct served_load {
  perfmodel::deployment deployment{};
  perfmodel::service_load load{};
  std::optional<perfmodel::speculation> drafts{};
  std::optional<perfmodel::disaggregated> pools{};
};
/// What its time to first token and its inter-token latency are spent on; with drafts, a round of them. A
/// bound where there is no calibration. `of_prefills`: of the pool that prefills, where it is of other chips.
/// Without sources.
summary summary_of_service(const served_load& x, const calibration* c,
                           const calibration* of_prefills = nullptr);

/// Its parts and sources: text, with rows no wider than a terminal and no more than fit beside `others`
/// lines, or Markdown.
std::string summary_text(const summary& s, bool as_markdown, std::size_t others = 0);
json summary_json(const summary& s);
/// Columns of a terminal.
constexpr std::size_t terminal_columns = 100;
/// A paragraph no wider than a terminal, later lines further in.
std::string wrapped(const std::string& text, std::size_t indent,
                    std::size_t columns = terminal_columns);

/// What a request of a step or a service spends its time on, operator by operator; empty where the
/// query has no operators.
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
