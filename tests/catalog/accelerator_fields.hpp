// An accelerator as a flat list of what it states, and the comparison of two such lists.
#pragma once

#include <cmath>
#include <map>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <napkin/io/table_file.hpp>

namespace catalog_test {

/// A number in s, B, FLOP, W, USD, or a word.
struct entry {
  double number = 0.0;
  std::string word;
  const perfmodel::source* from = nullptr;  ///< null where the field keeps no source
};
using entries = std::map<std::string, entry>;

template <class S>
void collect(const S& spec, const std::string& prefix, entries& out) {
  S::fields(
      [&](const perfmodel::field& about, const auto& x) {
        const char* name = about.name;
        using field = std::remove_cvref_t<decltype(x)>;
        const std::string path = prefix + name;
        if constexpr (requires { typename field::quantity_type; }) {
          if (x.is_stated()) out[path] = {x.value(), "", &x.from()};
        } else if constexpr (std::is_same_v<field, perfmodel::label>) {
          if (path != "name") out[path] = {0.0, std::string(x.view()), nullptr};
        } else if constexpr (std::is_same_v<field, perfmodel::chip_architecture>) {
          out[path] = {0.0, perfmodel::name_of(x), nullptr};
        } else if constexpr (std::is_same_v<field, perfmodel::link_kind>) {
          if (x != perfmodel::link_kind::none) out[path] = {0.0, perfmodel::name_of(x), nullptr};
        } else if constexpr (std::is_same_v<field, perfmodel::link_topology>) {
          if (x != perfmodel::link_topology::switched)
            out[path] = {0.0, perfmodel::name_of(x), nullptr};
        } else if constexpr (std::is_same_v<field, bool>) {
          if (x) out[path] = {0.0, "yes", nullptr};
        } else if constexpr (std::is_same_v<field, int>) {
          if (x != 1) out[path] = {static_cast<double>(x), "", nullptr};
        } else {
          collect(x, path + ".", out);
        }
      },
      spec);
}

/// What the accelerator states: labels, kinds, and every fact that has a value and a source.
inline entries stated(const perfmodel::accelerator& a) {
  entries out;
  collect(a, "", out);
  return out;
}

/// Rows of accelerator, field, value, unit.
inline std::map<std::string, entries> read_second_entry(const common::table_file& table) {
  std::map<std::string, entries> out;
  for (const common::table_row& row : table) {
    entry e;
    if (row.text("unit") == "text") {
      e.word = row.text("value");
    } else {
      e.number = row.number("value");
    }
    if (!out[row.text("accelerator")].emplace(row.text("field"), e).second) {
      row.fail(perfmodel::error_code::inconsistent, "a field twice");
    }
  }
  return out;
}

/// Differences between the two entries of one accelerator, a line each; empty if they agree.
inline std::vector<std::string> differences(const entries& catalogue, const entries& second) {
  std::vector<std::string> out;
  for (const auto& [field, a] : catalogue) {
    const auto row = second.find(field);
    if (row == second.end()) {
      out.push_back(field + ": in the catalogue, no row in the second entry");
    } else if (a.word != row->second.word) {
      out.push_back(field + ": " + a.word + " in the catalogue, " + row->second.word +
                    " in the second entry");
    } else if (std::abs(a.number - row->second.number) > 1e-9 * std::abs(row->second.number)) {
      std::ostringstream text;
      text.precision(17);
      text << field << ": " << a.number << " in the catalogue, " << row->second.number
           << " in the second entry";
      out.push_back(text.str());
    }
  }
  for (const auto& [field, row] : second) {
    if (!catalogue.contains(field))
      out.push_back(field + ": a row in the second entry, not in the catalogue");
  }
  return out;
}

}  // namespace catalog_test
