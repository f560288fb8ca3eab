#include "model_names.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <perfmodel/model/catalog/all.hpp>
#include <vector>

#include "catalogues.hpp"
#include "key.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;
using words = std::vector<std::string>;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

/// Parts of a name in lower case, without its organization: qwen3, 235b, a22b, instruct, 2507.
words parts_of(std::string_view name) {
  name = name.substr(0, 120);
  while (name.ends_with('/')) name.remove_suffix(1);
  name = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  words parts = {""};
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.' || c == ' ') {
      parts.emplace_back();
    } else {
      parts.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  std::erase(parts, "");
  if (parts.size() > 1 && parts.front() == "meta") parts.erase(parts.begin());
  return parts;
}

std::string joined(const words& parts) {
  std::string s;
  for (const std::string& p : parts) s += p;
  return s;
}

/// Parts that name the training of a model and not its shape.
bool is_tuning(const std::string& part) {
  constexpr std::string_view known[] = {"instruct", "chat", "hf",   "it",      "pt",
                                        "base",     "text", "bf16", "thinking"};
  return std::find(std::begin(known), std::end(known), part) != std::end(known);
}
/// A release: v0.3, 2507, 0324.
bool is_release(const words& parts, std::size_t i) {
  const std::string& p = parts[i];
  const bool number = std::all_of(p.begin(), p.end(), is_digit);
  if (number && p.size() == 4) return true;
  return p == "v0" || p == "4k" || (number && i > 0 && parts[i - 1] == "v0");
}

std::string key_of(const std::string& plain) {
  for (const std::string_view key : model_names()) {
    if (joined(parts_of(key)) == plain) return std::string(key);
  }
  return "";
}

/// Published models with the shapes of a catalogue model, joined as by joined().
/// *Sources:* config.json of nvidia/DeepSeek-V3.1-NVFP4; of DeepSeek-V3.2-Exp none was read: V3.2's
/// shapes are assumed.
std::string same_shape(const std::string& plain) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"deepseekv31terminus", "deepseek_v3"}, {"deepseekv32exp", "deepseek_v3_2"}};
  for (const auto& [name, key] : known) {
    if (plain == name) return std::string(key);
  }
  return "";
}

words without_training(std::string_view name) {
  words parts = parts_of(name), rest;
  std::erase_if(parts, is_tuning);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!is_release(parts, i)) rest.push_back(parts[i]);
  }
  return rest;
}

/// The leading letters of a name: qwen of Qwen2.5-7B, gptoss of gpt-oss-20b.
std::string family_of(const std::string& plain) {
  return plain.substr(
      0, static_cast<std::size_t>(std::find_if_not(plain.begin(), plain.end(), is_letter) -
                                  plain.begin()));
}

/// Parameter count in a name: 32e9 of Qwen3-32B, 56e9 of Mixtral-8x7B; 0 without one.
double size_of(const words& parts) {
  for (const std::string& p : parts) {
    double experts = 1.0, size = 0.0;
    const char* begin = p.data();
    const char* const end = p.data() + p.size();
    if (const std::size_t x = p.find('x'); x != p.npos && x > 0) {
      if (std::from_chars(begin, begin + x, experts).ptr != begin + x) continue;
      begin += x + 1;
    }
    const auto [at, failure] = std::from_chars(begin, end, size);
    if (failure == std::errc() && at + 1 == end && *at == 'b') return 1e9 * experts * size;
  }
  return 0.0;
}

}  // namespace

std::string catalogue_name(std::string_view name) {
  words parts = parts_of(name);
  if (std::string key = key_of(joined(parts)); !key.empty()) return key;
  std::erase_if(parts, is_tuning);
  if (std::string key = key_of(joined(parts)); !key.empty()) return key;
  const std::string plain = joined(without_training(name));
  if (std::string key = key_of(plain); !key.empty()) return key;
  if (std::string key = same_shape(plain); !key.empty()) return key;
  const auto begun = names_with_prefix(name);
  return begun.size() == 1 ? std::string(begun.front()) : "";
}

std::vector<std::string_view> names_with_prefix(std::string_view name) {
  const std::string plain = joined(without_training(name));
  std::vector<std::string_view> all;
  if (plain.empty()) return all;
  for (const std::string_view key : model_names()) {
    std::string begin;
    for (const std::string& part : parts_of(key)) {
      const bool version = std::all_of(part.begin(), part.end(), is_digit);
      if (begin == plain && !version) all.push_back(key);
      begin += part;
    }
  }
  return all;
}

std::optional<quantised_name> without_format(std::string_view name) {
  struct suffix {
    std::string_view part;
    pm::number_format format;
  };
  constexpr suffix known[] = {{"fp8", pm::fp8},   {"nvfp4", pm::fp4},  {"mxfp4", pm::fp4},
                              {"fp4", pm::fp4},   {"awq", pm::int4},   {"int4", pm::int4},
                              {"4bit", pm::int4}, {"w4a16", pm::int4}, {"int8", pm::int8},
                              {"w8a8", pm::int8}, {"gptq", pm::int4}};
  std::optional<pm::number_format> format;
  std::string rest;
  for (const std::string& p : parts_of(name)) {
    const auto found = std::find_if(std::begin(known), std::end(known),
                                    [&p](const suffix& s) { return s.part == p; });
    const bool ignored = format && (p == "dynamic" || p == "block" || p == "gptq");
    if (found != std::end(known)) {
      if (!format || p != "gptq") format = found->format;
    } else if (!ignored) {
      rest += cat(rest.empty() ? "" : "-", p);
    }
  }
  if (!format) return {};
  const std::string key = catalogue_name(rest);
  if (key.empty()) return {};
  return quantised_name{key, *format};
}

std::string relatives_of(std::string_view name) {
  struct relative {
    std::string_view key;
    double distance;
  };
  const words parts = parts_of(name);
  const std::string plain = joined(parts), family = family_of(plain);
  const double size = size_of(parts);
  std::vector<relative> found;
  for (const auto& entry : pm::catalog::models) {
    const words theirs = parts_of(entry.key);
    const std::string other = joined(theirs);
    const std::string their_family = family_of(other);
    const bool same = family == their_family ||
                      (family.size() > 3 && edits(family, their_family) <= family.size() / 4);
    if (!same) continue;
    const double letters = static_cast<double>(edits(plain, other));
    const double far = size > 0.0 ? std::abs(std::log(entry.published_parameters / size)) : 0.0;
    found.push_back({entry.key, 4.0 * far + letters / static_cast<double>(plain.size() + 1)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const relative& a, const relative& b) { return a.distance < b.distance; });
  if (found.size() > 3) found.resize(3);
  return listed(found, [](const relative& r) { return r.key; });
}

}  // namespace napkin
