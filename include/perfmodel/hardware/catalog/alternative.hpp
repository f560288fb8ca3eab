// A value that disagrees with the catalogue's, and how to use it instead.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <string_view>
#include <type_traits>

namespace perfmodel::catalog {

/// One published value that differs from the catalogue's. `value` is in s, bytes, FLOP, J, USD.
/// `status` is one of
///   alternative  another defensible figure, product variant or measurement
///   marketing    a capacity as sold, in decimal bytes or of the physical stacks
///   sparse       counts 2:4 sparsity         two_way    adds both directions of a link
///   refuted      contradicts other facts: kept so that a text which uses it can be recomputed
///   announced    said of a part before it shipped
struct alternative {
  const char* accelerator;
  const char* field;  ///< dotted path: matrix.peak.bf16, dram.capacity, fabric.ranks
  double value;
  const char* unit;
  const char* status;
  source from;
  const char* why;
};

namespace walk {

/// Sets the number at a dotted path; false where there is none.
template <class S>
constexpr bool set(S& spec, std::string_view path, double value, const source& from) {
  bool done = false;
  const std::size_t dot = path.find('.');
  const bool here = dot == path.npos;
  S::fields(
      [&](const field& about, auto& x) {
        using value_type = std::remove_reference_t<decltype(x)>;
        if (path.substr(0, dot) != about.name) return;
        if constexpr (detail::Spec<value_type>) {
          if (!here) done = set(x, path.substr(dot + 1), value, from);
        } else if constexpr (requires { typename value_type::quantity_type; }) {
          if (here) x = value_type(value_type::quantity_type::from_value(value), from);
          done = here;
        } else if constexpr (std::is_same_v<value_type, int>) {
          if (here) x = static_cast<int>(value);
          done = here;
        }
      },
      spec);
  return done;
}

}  // namespace walk

/// A copy of the accelerator with the alternative in place of its own value; the field then names
/// the alternative's source. Throws inconsistent where the alternative is of another accelerator,
/// unknown_name where the field is not a number of the spec.
/// Leaves out: values that followed from the one replaced (a peak from a clock) keep theirs.
/// Test: with_alternative(h200_sxm, the 4.0 TB/s row) has ridge 247.4 instead of 206.1.
constexpr accelerator with_alternative(accelerator a, const alternative& other) {
  if (a.name.view() != other.accelerator) {
    detail::fail(error_code::inconsistent, "the alternative belongs to another accelerator");
  }
  if (!walk::set(a, other.field, other.value, other.from)) {
    detail::fail(error_code::unknown_name,
                 "the accelerator has no number of the alternative's field name");
  }
  return a;
}
/// The copy refers to the alternative's source, which must outlive it.
accelerator with_alternative(accelerator a, alternative&& other) = delete;

}  // namespace perfmodel::catalog
