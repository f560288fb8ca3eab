// Every field of a model as text, by its dotted name: to compare models, and models with tables. What
// is not there is "-".
#pragma once

#include <map>
#include <perfmodel/workload/model/transformer.hpp>
#include <string>
#include <type_traits>

namespace perfmodel_test {

template <class S>
void collect_fields(const std::string& prefix, const S& spec,
                    std::map<std::string, std::string>& out) {
  S::fields(
      [&](const perfmodel::field& about, const auto& value) {
        const char* name = about.name;
        using value_type = std::remove_cvref_t<decltype(value)>;
        if constexpr (perfmodel::detail::is_optional<value_type>) {
          using held = typename value_type::value_type;
          if constexpr (perfmodel::detail::Spec<const held>) {
            std::map<std::string, std::string> below;
            collect_fields(prefix + name + ".", value.value_or(held{}), below);
            for (const auto& [key, text] : below) out[key] = value ? text : "-";
          } else {
            out[prefix + name] = value ? perfmodel::detail::number_text(*value) : "-";
          }
        } else if constexpr (perfmodel::detail::Spec<const value_type>) {
          collect_fields(prefix + name + ".", value, out);
        } else if constexpr (std::is_same_v<value_type, perfmodel::label>) {
          out[prefix + name] = std::string(value.view());
        } else if constexpr (std::is_same_v<value_type, perfmodel::number_format>) {
          out[prefix + name] = perfmodel::name_of(value);
        } else if constexpr (std::is_same_v<value_type, bool>) {
          out[prefix + name] = value ? "1" : "0";
        } else {
          out[prefix + name] = perfmodel::detail::number_text(value);
        }
      },
      spec);
}

inline std::map<std::string, std::string> fields_of(const perfmodel::transformer& m) {
  std::map<std::string, std::string> out;
  collect_fields("", m, out);
  return out;
}

}  // namespace perfmodel_test
