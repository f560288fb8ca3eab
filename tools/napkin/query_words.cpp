#include "query_words.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/units/text.hpp>

#include "command_line.hpp"
#include "infeasible.hpp"

namespace napkin {

namespace {

/// Name of an option: input_tokens of --input-tokens=5.
std::string key_of_option(const std::string& word) {
  std::string name = word.substr(2, word.find('=') - 2);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const query& query_in(const std::vector<std::string>& line, std::size_t& first) {
  if (!line.empty() && !line.front().starts_with('-')) {
    first = 1;
    return find_query(line.front());
  }
  for (const std::string& w : line) {
    if (w.starts_with("--") && key_of_option(w) == "batch") return find_query("step");
  }
  return find_query("serving");
}

}  // namespace

query_words words_of_query(const std::vector<std::string>& line,
                           const std::vector<std::string_view>& own) {
  query_words out;
  std::size_t i = 0;
  const query& asked = query_in(line, i);
  out.request["query"] = asked.name;
  std::vector<std::string> seen;
  for (; i < line.size(); ++i) {
    const std::string& word = line[i];
    if (!word.starts_with("--")) {
      throw error(code::unknown_key,
                  cat(in_quotes(word), " is not expected; allowed: --key value"));
    }
    const std::string name = key_of_option(word);
    const key* k = asked.find_spelled(name);
    const bool is_own = std::find(own.begin(), own.end(), name) != own.end();
    const std::string once = is_own || k == nullptr ? name : k->name;
    if (name != "set" && std::find(seen.begin(), seen.end(), once) != seen.end())
      throw error(error_code::inconsistent, cat(word, " is given twice; allowed: once"));
    seen.push_back(once);
    if (name == "json") {
      out.as_json = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const bool more = i + 1 < line.size() && !line[i + 1].starts_with("--");
    const bool bare = equals == word.npos && !more;
    if (bare && !(k != nullptr && k->kind == key_kind::flag && !is_own))
      throw error(code::missing_key, cat(word, " has no value"));
    const std::string text = bare                  ? "true"
                             : equals == word.npos ? line[++i]
                                                   : word.substr(equals + 1);
    if (is_own) {
      out.own[name] = text;
    } else if (name == "set") {
      add_set(out.request, text);
    } else if (name == "mode") {
      out.request["mode"] = text;
    } else if (name == "id") {
      out.request["id"] = id_from_command_line(text);
    } else if (name == "profile") {
      out.profile = text;
    } else if (k == nullptr) {
      std::vector<std::string_view> names(own.begin(), own.end());
      for (const key& known : asked.keys) names.push_back(known.name);
      throw error(code::unknown_key, cat(in_quotes(word), " is no option here; did you mean ",
                                         option_of(nearest(name, names)), "? napkin ", asked.name,
                                         " --help lists the keys"));
    } else {
      out.request[k->name] = from_command_line(k, text, word.substr(0, equals));
    }
  }
  return out;
}

const json& request_within(const json& object, const std::vector<std::string_view>& allowed) {
  for (const auto& [name, v] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      throw error(code::unknown_key,
                  cat("unknown key ", in_quotes(name), " of ", object["query"].get<std::string>(),
                      "; allowed: ", listed(allowed)));
  }
  const auto of = object.find("of");
  if (of == object.end())
    throw error(code::missing_key, cat("of is missing; ", object["query"].get<std::string>(),
                                       " needs it: a request, {\"query\":\"serving\", ...}"));
  if (!of->is_object())
    throw error(code::wrong_type, cat("of is ", brief(*of), "; allowed: a request"));
  return *of;
}

std::optional<double> feasible_result(const similar_requests& answers, const json& object,
                                      std::string_view key) {
  try {
    const outcome<> found = answers(object);
    if (found.has_feasibility && !found.feasible) return {};
    for (const auto& r : found.results) {
      if (key == r.key) {
        const auto x = value_in(found, r);
        return x && std::isfinite(*x) && *x > 0.0 ? x : std::nullopt;
      }
    }
  } catch (const error&) {
  }
  return {};
}

std::string result_text(std::string_view key, double value) {
  if (key.ends_with("_s") && !key.ends_with("_per_s"))
    return perfmodel::to_string(value * perfmodel::second, 4);
  return perfmodel::detail::significant(value, 4);
}

}  // namespace napkin
