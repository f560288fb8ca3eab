// Names of modules that a checkpoint leaves as they were: globs, parts of names, simple patterns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace perfmodel::detail {

/// Whether `text` is `pattern`, in which * stands for anything. Linear in both.
constexpr bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// The globs that a regular expression of such a list comes to: .* is *, \. a dot, (a|b) two globs,
/// ends are open unless ^ or $ closes them. What else it may hold stands for anything.
inline std::vector<std::string> globs_of(std::string_view regex) {
  std::vector<std::string> out{regex.starts_with('^') ? "" : "*"};
  if (regex.starts_with('^')) regex.remove_prefix(1);
  const bool closed = regex.ends_with('$');
  if (closed) regex.remove_suffix(1);
  const auto append = [&](std::string_view text) {
    for (std::string& glob : out) glob += text;
  };
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const char ch = regex[i];
    if (ch == '\\' && i + 1 < regex.size()) {
      append(regex[i + 1] == 'd' ? std::string_view("*") : regex.substr(i + 1, 1));
      ++i;
    } else if (ch == '(') {
      const std::size_t end = regex.find(')', i);
      if (end == std::string_view::npos || out.size() > 64) return {"*"};
      std::vector<std::string> every;
      std::size_t from = i + 1;
      while (from <= end) {
        const std::size_t to = regex.find_first_of("|)", from);
        for (const std::string& glob : out)
          every.push_back(glob + std::string(regex.substr(from, to - from)));
        from = to + 1;
      }
      out = every;
      i = end;
    } else if (ch == '.' || ch == '[' || ch == '+' || ch == '?' || ch == '*') {
      if (ch == '[')
        i = regex.find(']', i) == std::string_view::npos ? regex.size() : regex.find(']', i);
      append("*");
    } else {
      append(regex.substr(i, 1));
    }
  }
  if (!closed) append("*");
  return out;
}

/// Whether a list of such patterns names a module: "re:..." is a regular expression, a * makes a glob,
/// anything else is the module itself, a parent of it, or a part of its name between dots.
inline bool pattern_names(std::string_view pattern, std::string_view module) {
  if (pattern.starts_with("re:")) {
    for (const std::string& glob : globs_of(pattern.substr(3))) {
      if (glob_matches(glob, module)) return true;
    }
    return false;
  }
  if (pattern.find('*') != std::string_view::npos) return glob_matches(pattern, module);
  const std::size_t at = module.find(pattern);
  if (pattern.empty() || at == std::string_view::npos) return false;
  const bool starts = at == 0 || module[at - 1] == '.';
  const std::size_t end = at + pattern.size();
  return starts && (end == module.size() || module[end] == '.');
}

}  // namespace perfmodel::detail
