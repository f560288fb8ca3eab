// Patterns of modules that a checkpoint leaves unquantised: globs, parts of names, simple
// expressions.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// True where `text` matches `pattern`; * matches anything. Linear in both.
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

/// Globs of a regular expression: .* is *, \. a dot, (a|b) two globs; ends are open unless ^ or $
/// closes them. Other syntax matches anything.
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

/// True where a list of patterns names a module. "re:..." is a regular expression, a * makes a
/// glob. Anything else is the module itself, a parent of it, or a part of its name between dots.
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

/// Patterns of a file, sorted by the layer that each names, so that a layer's modules are matched
/// with few of them.
class module_patterns {
 public:
  void add(const std::string& pattern) {
    const int layer = layer_in(pattern);
    (layer < 0 ? of_any_ : of_layer_[layer]).push_back(pattern);
  }
  bool empty() const { return of_any_.empty() && of_layer_.empty(); }

  /// True where a pattern names the module of a layer, under any of the usual prefixes.
  bool name(int layer, std::string_view module) const {
    const auto own = of_layer_.find(layer);
    const std::string number = std::to_string(layer) + ".";
    for (const char* prefix : {"model.layers.", "backbone.layers.", "language_model.model.layers.",
                               "model.language_model.layers.", "layers.", "transformer.h.",
                               "model.text_model.layers."}) {
      const std::string whole = prefix + number + std::string(module);
      if (any_names(of_any_, whole)) return true;
      if (own != of_layer_.end() && any_names(own->second, whole)) return true;
    }
    return false;
  }
  /// True where a pattern names a module that is in no layer.
  bool name(std::string_view module) const { return any_names(of_any_, module); }

 private:
  static bool any_names(const std::vector<std::string>& patterns, std::string_view module) {
    for (const std::string& p : patterns) {
      if (pattern_names(p, module)) return true;
    }
    return false;
  }
  /// The layer of a pattern that names one by number; -1 for expressions and other patterns.
  static int layer_in(std::string_view pattern) {
    if (pattern.starts_with("re:")) return -1;
    for (const std::string_view stem : {"layers.", "h."}) {
      const std::size_t at = pattern.find(stem);
      if (at == std::string_view::npos || (at > 0 && pattern[at - 1] != '.')) continue;
      std::size_t i = at + stem.size();
      int n = 0;
      const std::size_t first = i;
      for (; i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9' && n < 100000; ++i)
        n = 10 * n + (pattern[i] - '0');
      if (i > first && (i == pattern.size() || pattern[i] == '.')) return n;
    }
    return -1;
  }

  std::vector<std::string> of_any_{};
  std::map<int, std::vector<std::string>> of_layer_{};
};

}  // namespace perfmodel::inline v0_3::detail
