// A query with options of a command that asks it many times: require, thresholds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "query.hpp"

namespace napkin {

/// What a command line says in addition to the keys of its query.
struct query_words {
  json request = json::object();             ///< with "query"
  std::map<std::string, std::string> own{};  ///< options of the command, by name
  std::string profile{};
  bool as_json = false;
};

/// Reads [QUERY] --key value ...; the query is named, or `step` where `batch` is given, else
/// `serving`. Options in `own` are those of the command. Throws unknown_query, unknown_key,
/// missing_key, inconsistent, and the errors of values.
query_words words_of_query(const std::vector<std::string>& words,
                           const std::vector<std::string_view>& own);

/// The query of an object with "of", and its keys checked. Throws missing_key, wrong_type,
/// unknown_key.
const json& request_within(const json& object, const std::vector<std::string_view>& allowed);

/// The value of a result where the request is feasible; none where it is refused or infeasible.
std::optional<double> feasible_result(const similar_requests& answers, const json& object,
                                      std::string_view key);
/// "12.7 ms", "2.09 s"; a plain number for a result that is no time.
std::string result_text(std::string_view key, double value);

}  // namespace napkin
