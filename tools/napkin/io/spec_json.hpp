// Specs as JSON and back, by their list of fields: optionals, enums, labels, variants by their
// "kind", short lists.
#pragma once

#include <cmath>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/hardware/number_format.hpp>

#include "json.hpp"

namespace common {

namespace pm = perfmodel;

/// The words of an enum, in its order.
template <class E>
std::vector<std::string_view> words_of(E last) {
  std::vector<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(last); ++i) words.push_back(name_of(static_cast<E>(i)));
  return words;
}
inline constexpr pm::number_format last_of(pm::number_format) {
  return pm::number_format::int4;
}

/// The "kind" of a shape in a variant: kinds_of(shape) is overloaded for each. A shape with its own
/// field "kind" uses that.
template <class Shape>
concept HasOwnKind = requires(const Shape& s) {
  s.kind;
};

template <class Spec>
json spec_json(const Spec& spec, const Spec& initial = {});

namespace detail {

/// fp8, or {"format": "fp4", "group": 16, "scale_bits": 8}.
inline json storage_json(const pm::storage_format& s) {
  if (s == pm::storage_format(s.format)) return pm::name_of(s.format);
  json out = {{"format", pm::name_of(s.format)}};
  if (s.group) out["group"] = number_json("group", *s.group);
  if (s.group || s.scale_bits > 0.0) out["scale_bits"] = number_json("scale_bits", s.scale_bits);
  if (s.zero_bits > 0.0) out["zero_bits"] = number_json("zero_bits", s.zero_bits);
  if (s.value_bits) out["value_bits"] = number_json("value_bits", *s.value_bits);
  if (s.wide_share > 0.0) out["wide_share"] = number_json("wide_share", s.wide_share);
  return out;
}

/// The JSON of a field; `initial` is the value before reading.
template <class X>
json value_json(const char* name, const X& x, const X& initial = {}) {
  if constexpr (std::same_as<X, pm::storage_format>) {
    return storage_json(x);
  } else if constexpr (pm::detail::Spec<const X>) {
    return spec_json(x, initial);
  } else if constexpr (pm::detail::is_variant<X>) {
    return std::visit([](const auto& held) { return spec_json(held); }, x);
  } else if constexpr (pm::detail::is_short_list<X>) {
    json list = json::array();
    for (const auto& item : x) list.push_back(value_json(name, item));
    return list;
  } else if constexpr (std::same_as<X, pm::label>) {
    return std::string(x.view());
  } else if constexpr (std::is_enum_v<X>) {
    return name_of(x);
  } else if constexpr (std::same_as<X, bool>) {
    return x;
  } else {
    return number_json(name, x);
  }
}

}  // namespace detail

/// An object of the fields; `initial` is the value before reading. A field is omitted only where
/// reading gives the same value without it: a flag that is false in both, and an optional that is
/// empty in both. An optional that is empty, but not in `initial`, is null. *Postcondition*:
/// read_spec of the object into a copy of `initial` gives `spec`.
template <class Spec>
json spec_json(const Spec& spec, const Spec& initial) {
  json out = json::object();
  if constexpr (requires { kinds_of(spec); } && !HasOwnKind<Spec>) {
    out["kind"] = kinds_of(spec).front();
  }
  Spec::fields(
      [&](const pm::field& about, const auto& x, const auto& before) {
        using type = std::remove_cvref_t<decltype(x)>;
        if constexpr (pm::detail::is_optional<type>) {
          if (x) {
            out[about.name] = detail::value_json(about.name, *x);
          } else if (before) {
            out[about.name] = nullptr;
          }
        } else if constexpr (std::same_as<type, bool>) {
          if (x || before) out[about.name] = x;
        } else {
          out[about.name] = detail::value_json(about.name, x, before);
        }
      },
      spec, initial);
  return out;
}

/// Reads the fields of `spec` from an object. Absent fields keep their value where that is allowed.
/// Throws unknown_key, missing_key, wrong_type, out_of_range and unknown_name.
template <class Spec>
void read_spec(const json_field& from, Spec& spec, std::vector<std::string_view> others = {});

namespace detail {

template <class Variant, std::size_t I = 0>
void read_variant(const json_field& from, Variant& into, std::vector<std::string_view> seen = {}) {
  if constexpr (I == std::variant_size_v<Variant>) {
    from["kind"].refuse(json_fault::unknown_word, listed(seen));
  } else {
    std::variant_alternative_t<I, Variant> shape{};
    const std::string kind = from["kind"].text();
    for (const std::string_view word : kinds_of(shape)) {
      if (word == kind) {
        read_spec(from, shape, {"kind"});
        into = shape;
        return;
      }
      seen.push_back(word);
    }
    read_variant<Variant, I + 1>(from, into, std::move(seen));
  }
}

/// The words for a number that the range refuses.
inline double checked_number(const json_field& from, const pm::allowed_range& allowed) {
  const double x = from.number();
  if (!std::isfinite(x)) from.refuse(json_fault::not_allowed, "a finite number");
  if (allowed.refuses_some() && !allowed.holds(x, x)) {
    from.refuse(json_fault::not_allowed,
                x < allowed.least ? allowed.below_in_words(x) : allowed.above);
  }
  return x;
}

template <class X>
void read_value(const json_field& from, const pm::field& about, X& into) {
  if constexpr (pm::detail::is_optional<X>) {
    if (into && from.raw().is_null()) {  // spec_json's null empties an optional
      into.reset();
    } else {
      read_value(from, about, into.emplace());
    }
  } else if constexpr (std::same_as<X, pm::storage_format>) {
    if (from.raw().is_string()) {
      pm::number_format plain{};
      read_value(from, about, plain);
      into = plain;
    } else {
      into = {};
      read_spec(from, into);
    }
  } else if constexpr (pm::detail::Spec<const X>) {
    read_spec(from, into);
  } else if constexpr (pm::detail::is_variant<X>) {
    read_variant(from, into);
  } else if constexpr (pm::detail::is_short_list<X>) {
    into = X{};
    for (const json_field& item : from.list()) {
      if (into.full())
        from.fail(json_fault::not_allowed,
                  cat(from.name(), " has more than ", X::capacity, " items"));
      into.push_back({});
      read_value(item, about, into[into.size() - 1]);
    }
  } else if constexpr (std::same_as<X, pm::label>) {
    const std::string text = from.some_text();
    if (text.size() > 47) from.refuse(json_fault::not_allowed, "at most 47 characters");
    into = pm::label(text);
  } else if constexpr (std::is_enum_v<X>) {
    const auto words = words_of(last_of(into));
    const auto at = std::find(words.begin(), words.end(), from.text());
    if (at == words.end()) from.refuse(json_fault::unknown_word, listed(words));
    into = static_cast<X>(at - words.begin());
  } else if constexpr (std::same_as<X, bool>) {
    into = from.truth();
  } else {
    into = checked_number(from, about.allowed);
  }
}

/// Whether a field is required: it has no default value.
template <class X>
bool is_needed(const pm::field& about, const X& x) {
  if constexpr (std::same_as<X, double>) {
    return about.allowed.refuses_some() && !about.allowed.holds(x, x);
  } else {
    return pm::detail::is_variant<X>;
  }
}

}  // namespace detail

template <class Spec>
void read_spec(const json_field& from, Spec& spec, std::vector<std::string_view> others) {
  from.object();
  std::vector<std::string_view> known = others;
  Spec::fields([&](const pm::field& about, const auto&) { known.push_back(about.name); }, spec);
  from.only(known);
  Spec::fields(
      [&](const pm::field& about, auto& x) {
        if (from.has(about.name) || detail::is_needed(about, x)) {
          detail::read_value(from[about.name], about, x);
        }
      },
      spec);
}

}  // namespace common
