// The words of a command line, and the options that a key has there.
#pragma once

#include <algorithm>

#include "query.hpp"

namespace napkin {

/// The help of an option: what its key is, what is allowed, its default.
inline std::string key_help(const key& k) {
  std::string help = std::string(k.help) + " [" + k.allowed() + k.allowed_unit() + "]";
  if (!k.required && !k.fallback.empty())
    help += cat(" (default ", k.fallback, k.is_time() ? " s)" : ")");
  if (k.required) help += " REQUIRED";
  return help;
}

/// The options of a key: --input_tokens, --input-tokens, and its alias.
inline std::vector<std::string> spellings_of(const key& k) {
  const std::string name = cat("--", k.name);
  std::string hyphens = name;
  std::replace(hyphens.begin(), hyphens.end(), '_', '-');
  std::vector<std::string> all{name};
  if (hyphens != name) all.push_back(hyphens);
  if (k.alias[0] != '\0') all.push_back(cat("--", k.alias));
  return all;
}

/// The spellings of a key, with commas; for `napkin model`, the model without an option too.
inline std::string option_names(const query& asked, const key& k) {
  std::string names;
  for (const std::string& s : spellings_of(k)) names += names.empty() ? s : "," + s;
  if (std::string_view(asked.name) == k.name) names += cat(",", k.name);
  return names;
}

/// The words of a command line. A command that is not among them needs no options, only its line in
/// the help.
class words {
 public:
  words(int argc, char** argv) : all_(argv, argv + argc) {}
  bool mention(std::string_view name) const {
    return std::find(all_.begin(), all_.end(), name) != all_.end();
  }
  /// The first of the spellings that stands on the line, with a value behind it or after "=".
  std::string spelling_among(const std::vector<std::string>& spellings) const {
    for (const std::string_view word : all_) {
      for (const std::string& s : spellings) {
        if (word.substr(0, word.find('=')) == s) return s;
      }
    }
    return spellings.front();
  }
  /// The word at a place, where it is no option.
  std::string_view at(std::size_t i) const {
    return i < all_.size() && !all_[i].starts_with('-') ? all_[i] : std::string_view();
  }

 private:
  std::vector<std::string_view> all_;
};

}  // namespace napkin
