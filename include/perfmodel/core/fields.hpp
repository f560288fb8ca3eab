// Walks the fields of a spec: to change its scalar, to seed derivatives, to name inputs.
#pragma once

#include <perfmodel/units/named.hpp>
#include <string>
#include <string_view>

namespace perfmodel {

struct source;

/// Where a field stands in a nested spec: dram.bandwidth is {&{nullptr, "dram"}, "bandwidth"}.
struct field_path {
  const field_path* parent = nullptr;
  const char* name = "";

  constexpr bool is(std::string_view dotted) const {
    const std::string_view own(name);
    if (parent == nullptr || parent->name[0] == '\0') return dotted == own;
    return dotted.size() > own.size() && dotted.ends_with(own) &&
           dotted[dotted.size() - own.size() - 1] == '.' &&
           parent->is(dotted.substr(0, dotted.size() - own.size() - 1));
  }
  std::string text() const {
    if (parent == nullptr || parent->name[0] == '\0') return name;
    return parent->text() + "." + name;
  }
};

namespace detail {

/// A spec lists its fields in `fields(f, spec...)`, once, for one or several specs of one shape.
template <class S>
concept Spec = requires(S& s) {
  S::fields([](const char*, auto&) {}, s);
};

template <class To, class S>
struct rebind;
template <class To, template <class> class S, class From>
struct rebind<To, S<From>> {
  using type = S<To>;
};

// A seed takes (path, value), (path, value, source) or (path, value, source, unit).
template <class F, Scalar T>
constexpr auto seeded(F& seed, const field_path& path, const T& x, const source* from,
                      unit_exponents unit) {
  if constexpr (std::invocable<F&, const field_path&, const T&, const source*, unit_exponents>) {
    return seed(path, x, from, unit);
  } else if constexpr (std::invocable<F&, const field_path&, const T&, const source*>) {
    return seed(path, x, from);
  } else {
    return seed(path, x);
  }
}

template <Scalar To, class From, class Into, class F>
constexpr void convert(const field_path& path, const From& from, Into& into, F&& seed) {
  if constexpr (Spec<const From>) {
    From::fields(
        [&](const char* name, const auto& a, auto& b) {
          convert<To>(field_path{&path, name}, a, b, seed);
        },
        from, into);
  } else if constexpr (requires {
                         from.from();
                         from.quantity();
                       }) {  // a fact keeps its source
    into =
        Into(Into::quantity_type::from_value(seeded(seed, path, from.value(), &from.from(),
                                                    exponents_of<typename From::quantity_type>())),
             from.from());
  } else if constexpr (requires { from.quantity(); }) {  // stated under a convention
    using from_quantity = std::remove_cvref_t<decltype(from.quantity())>;
    using into_quantity = std::remove_cvref_t<decltype(into.quantity())>;
    into = Into(into_quantity::from_value(
        seeded(seed, path, from.quantity().value(), nullptr, exponents_of<from_quantity>())));
  } else if constexpr (Quantity<From>) {
    into = Into::from_value(seeded(seed, path, from.value(), nullptr, exponents_of<From>()));
  } else if constexpr (Scalar<From> && !std::same_as<From, Into>) {
    into = seeded(seed, path, from, nullptr, unit_exponents{});
  } else {
    into = from;
  }
}

}  // namespace detail

/// A spec over another scalar, every number passed through seed(path, value[, source or null[, unit]]).
template <Scalar To, class S, class F>
  requires detail::Spec<const S>
constexpr auto map_scalars(const S& spec, F&& seed) {
  typename detail::rebind<To, S>::type out{};
  detail::convert<To>(field_path{}, spec, out, seed);
  return out;
}

/// A spec over another scalar, unchanged: lift<interval>(h100_sxm).
template <Scalar To, class S>
  requires detail::Spec<const S>
constexpr auto lift(const S& spec) {
  return map_scalars<To>(spec, [](const field_path&, const auto& x) { return To(x); });
}

}  // namespace perfmodel
