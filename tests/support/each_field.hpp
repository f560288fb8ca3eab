// Every number of a spec in turn, replaced by one that it must refuse by the field's name.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <concepts>
#include <initializer_list>
#include <limits>
#include <optional>
#include <perfmodel/core/fields.hpp>
#include <string_view>
#include <type_traits>

#include "support/refusal.hpp"

namespace perfmodel_test {

/// What an optional may hold; else the type itself.
template <class Field>
struct held {
  using type = Field;
};
template <class X>
struct held<std::optional<X>> {
  using type = X;
};
template <class Field>
using held_t = typename held<Field>::type;

template <class Field>
void put(Field& field, double x) {
  if constexpr (perfmodel::detail::is_optional<Field>) {
    put(field.emplace(), x);
  } else if constexpr (std::integral<Field>) {
    field = static_cast<Field>(x);
  } else if constexpr (perfmodel::Quantity<Field>) {
    field = Field::from_value(x);
  } else {
    field = x;
  }
}

template <class Field>
constexpr bool holds_a_number =
    perfmodel::Quantity<held_t<Field>> || std::floating_point<held_t<Field>> ||
    std::same_as<held_t<Field>, int>;

/// answer(spec) must refuse each number of `spec` that is below 0, no number or infinite, and 0 but
/// in the fields that `may_be_zero`. `pruned` are fields that answer() does not read.
template <class Spec, class Answer>
void refuses_each_field(const Spec& spec, Answer&& answer,
                        std::initializer_list<std::string_view> may_be_zero,
                        std::initializer_list<std::string_view> pruned = {}) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
  const auto among = [](std::initializer_list<std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto check = [&](const Spec& changed, const char* name, double x, bool allowed) {
    const std::string said = refusal([&] { answer(changed); });
    INFO(name << " = " << x << ": " << said);
    // The owner of the field stands before its name: "machine.matrix_floor is -1;".
    const std::string is = std::string(name) + " is " + perfmodel::detail::number_text(x) + ";";
    const std::size_t at = said.find(is);
    const bool refused = said.starts_with("PM-E010: ") && at != std::string::npos &&
                         (at == 9 || said[at - 1] == '.');
    CHECK((allowed ? said == "nothing refused" : refused));
  };
  std::size_t fields = 0;
  Spec changed = spec;
  Spec::fields(
      [&](const perfmodel::field& about, auto& field) {
        const char* name = about.name;
        using type = std::remove_reference_t<decltype(field)>;
        if constexpr (holds_a_number<type>) {
          if (among(pruned, name)) return;
          ++fields;
          const type was = field;
          const auto with = [&](double x, bool allowed) {
            put(field, x);
            check(changed, name, x, allowed);
          };
          with(0.0, among(may_be_zero, name));
          with(-1.0, false);
          if constexpr (!std::integral<held_t<type>>) {
            with(-1e-9, false);
            with(not_a_number, false);
            with(infinity, false);
            with(-infinity, false);
            with(1e31, false);
          }
          field = was;
        }
      },
      changed);
  CHECK(fields > 0);
}

}  // namespace perfmodel_test
