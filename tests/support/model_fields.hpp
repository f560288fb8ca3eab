// Every field of a model as text, by its dotted name: to compare models, and models with tables.
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
        if constexpr (perfmodel::detail::Spec<const value_type>) {
          collect_fields(prefix + name + ".", value, out);
        } else if constexpr (std::is_same_v<value_type, perfmodel::label>) {
          out[prefix + name] = std::string(value.view());
        } else if constexpr (std::is_same_v<value_type, perfmodel::attention_kind>) {
          out[prefix + name] =
              value == perfmodel::attention_kind::latent ? "latent" : "grouped_query";
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
