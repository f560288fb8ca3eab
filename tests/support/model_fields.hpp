// Every field of a model as text, by its dotted name: to compare models, and models with tables.
// What is not there is "-". Kinds of layers stand in the order of their text: their own has no
// meaning.
#pragma once

#include <algorithm>
#include <map>
#include <perfmodel/model/transformer.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace perfmodel_test {

using field_texts = std::map<std::string, std::string>;

template <class X>
void collect_field(const std::string& path, const X& x, field_texts& out);

template <class List>
void collect_items(const std::string& path, const List& list, field_texts& out) {
  std::vector<field_texts> items;
  for (const auto& item : list) collect_field("", item, items.emplace_back());
  std::sort(items.begin(), items.end());
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const auto& [name, text] : items[i]) out[path + "." + std::to_string(i) + name] = text;
  }
}

template <class X>
void collect_field(const std::string& path, const X& x, field_texts& out) {
  namespace pm = perfmodel;
  if constexpr (pm::detail::is_short_list<X>) {
    collect_items(path, x, out);
  } else if constexpr (pm::detail::is_variant<X>) {
    out[path + ".alternative"] = std::to_string(x.index());
    std::visit([&](const auto& held) { collect_field(path, held, out); }, x);
  } else if constexpr (pm::detail::is_optional<X>) {
    if (x) {
      collect_field(path, *x, out);
    } else {
      out[path] = "-";
    }
  } else if constexpr (pm::detail::Spec<const X>) {
    X::fields(
        [&](const pm::field& about, const auto& value) {
          collect_field(
              path.empty() && about.name[0] != '\0' ? about.name : path + "." + about.name, value,
              out);
        },
        x);
  } else if constexpr (std::is_same_v<X, pm::label>) {
    out[path] = std::string(x.view());
  } else if constexpr (std::is_enum_v<X>) {
    out[path] = pm::name_of(x);
  } else if constexpr (std::is_same_v<X, bool>) {
    out[path] = x ? "1" : "0";
  } else {
    out[path] = pm::detail::number_text(x);
  }
}

inline field_texts fields_of(const perfmodel::transformer& m) {
  field_texts out;
  collect_field("", m, out);
  return out;
}

/// Differences between two models, as "field: one against the other"; empty if there are none.
inline std::string difference(const perfmodel::transformer& a, const perfmodel::transformer& b) {
  const field_texts one = fields_of(a);
  field_texts other = fields_of(b);
  std::string all;
  for (const auto& [name, text] : one) {
    const auto at = other.find(name);
    const std::string theirs = at == other.end() ? "nothing" : at->second;
    if (theirs != text) all += name + ": " + text + " against " + theirs + "\n";
    if (at != other.end()) other.erase(at);
  }
  for (const auto& [name, text] : other) all += name + ": nothing against " + text + "\n";
  return all;
}

}  // namespace perfmodel_test
