// A spec describes each of its fields once: the name and what is allowed; the unit is its type's.
// Walks over them change the scalar, seed derivatives, name inputs, and refuse what is not allowed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/units/named.hpp>
#include <string>
#include <string_view>
#include <variant>

// A list for constant expressions: up to N items in place.

namespace perfmodel::inline v0_3 {

/// Up to N items in place. Callers check full() before push_back().
template <class X, std::size_t N>
class short_list {
 public:
  using value_type = X;
  static constexpr std::size_t capacity = N;

  constexpr short_list() = default;
  /// Errors: more than it holds.
  constexpr short_list(std::initializer_list<X> items) {
    if (items.size() > N)
      detail::out_of_range("items", static_cast<double>(items.size()), "as many as fit");
    for (const X& x : items) push_back(x);
  }

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr bool full() const { return size_ == N; }
  constexpr void push_back(const X& x) { items_[size_++] = x; }

  constexpr X& operator[](std::size_t i) { return items_[i]; }
  constexpr const X& operator[](std::size_t i) const { return items_[i]; }
  constexpr X* begin() { return items_.data(); }
  constexpr X* end() { return items_.data() + size_; }
  constexpr const X* begin() const { return items_.data(); }
  constexpr const X* end() const { return items_.data() + size_; }

 private:
  std::array<X, N> items_{};
  std::size_t size_ = 0;
};

struct source;

/// One field of a spec in its fields() list: f(field::count("batch"), s.batch...). A name alone
/// allows every value. The range applies to stated facts and to optionals that hold a value.
struct field {
  const char* name = "";
  allowed_range allowed{};

  constexpr field(const char* n) : name(n) {}
  constexpr field(const char* n, const allowed_range& range) : name(n), allowed(range) {}

  static constexpr field positive(const char* n) { return {n, detail::positive_range}; }
  static constexpr field not_negative(const char* n) { return {n, detail::not_negative_range}; }
  /// A count of things: 1 .. 1e15. Fractions are allowed, since averages are counts too.
  static constexpr field count(const char* n) { return {n, detail::count_range}; }
  /// A share of something: above 0 and at most 1.
  static constexpr field share(const char* n) { return {n, detail::share_range}; }
  /// A share that may be nothing: 0 .. 1.
  static constexpr field fraction(const char* n) { return {n, detail::fraction_range}; }
  /// Ranks of a group: 1 .. 1e6.
  static constexpr field ranks(const char* n) { return {n, detail::ranks_range}; }
  /// lo .. hi; `in_words` says so: "1 to 1000000".
  static constexpr field within(const char* n, double lo, double hi, const char* in_words) {
    return {n, allowed_range{lo, hi, in_words, in_words}};
  }
};

/// Path of a field in a nested spec: dram.bandwidth is {&{nullptr, "dram"}, "bandwidth"}.
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
  S::fields([](const field&, auto&) {}, s);
};
template <class X>
inline constexpr bool is_optional = false;
template <class X>
inline constexpr bool is_optional<std::optional<X>> = true;
template <class X>
inline constexpr bool is_variant = false;
template <class... Xs>
inline constexpr bool is_variant<std::variant<Xs...>> = true;
template <class X>
inline constexpr bool is_short_list = false;
template <class X, std::size_t N>
inline constexpr bool is_short_list<short_list<X, N>> = true;
/// Names of the items of a list, as in mixers.0.query_heads.
inline constexpr const char* item_names[] = {
    "0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10", "11", "12", "13", "14", "15",
    "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31"};
/// A quantity with more: a fact has its source, a qualified quantity its convention.
template <class X>
concept HoldsQuantity = requires(const X& x) {
  x.quantity();
};
template <class X>
concept Fact = HoldsQuantity<X> && requires(const X& x) {
  x.from();
};

template <class To, class S>
struct rebind;
template <class To, template <class> class S, class From>
struct rebind<To, S<From>> {
  using type = S<To>;
};

// Seeds accept (path, value), (path, value, source) or (path, value, source, unit).
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
        [&](const field& about, const auto& a, auto& b) {
          convert<To>(field_path{&path, about.name}, a, b, seed);
        },
        from, into);
  } else if constexpr (is_optional<From>) {
    if (from) convert<To>(path, *from, into.emplace(), seed);
  } else if constexpr (is_short_list<From>) {
    static_assert(From::capacity <= std::size(item_names));
    for (std::size_t i = 0; i < from.size(); ++i) {
      into.push_back({});
      convert<To>(field_path{&path, item_names[i]}, from[i], into[i], seed);
    }
  } else if constexpr (is_variant<From>) {
    std::visit(
        [&]<class Held>(const Held& held) {
          typename rebind<To, Held>::type mapped{};
          convert<To>(path, held, mapped, seed);
          into = Into(mapped);
        },
        from);
  } else if constexpr (Fact<From>) {
    if (!from.is_stated()) return;
    into =
        Into(Into::quantity_type::from_value(seeded(seed, path, from.value(), &from.from(),
                                                    exponents_of<typename From::quantity_type>())),
             from.from());
  } else if constexpr (HoldsQuantity<From>) {
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

/// Not constexpr on purpose: see out_of_range of a name.
[[noreturn]] inline void out_of_range(const field_path& path, const allowed_range& r, double lower,
                                      double upper) {
  inside(r, path.text().c_str(), lower);
  inside(r, path.text().c_str(), upper);
  std::abort();  // the range refuses one of them
}

/// Checks each number that has a range: notes whether all are inside, or refuses the first outside.
/// A named type with few nested calls keeps a compiler's constant-expression notes short.
template <bool Refuse>
struct check_field {
  field_path at;
  bool& all;

  template <class X>
  constexpr void operator()(const field& about, const X& x) const {
    const check_field here{field_path{&at, about.name}, all};
    if constexpr (Spec<const X>) {
      X::fields(here, x);
    } else if constexpr (is_optional<X>) {
      if (x) (*this)(about, *x);
    } else if constexpr (is_short_list<X>) {
      for (std::size_t i = 0; i < x.size(); ++i) here(field{item_names[i], about.allowed}, x[i]);
    } else if constexpr (is_variant<X>) {
      std::visit([&](const auto& held) { (*this)(about, held); }, x);
    } else if constexpr (Fact<X>) {
      if (x.is_stated()) (*this)(about, x.quantity());
    } else if constexpr (HoldsQuantity<X>) {
      (*this)(about, x.quantity());
    } else if constexpr (Quantity<X>) {
      (*this)(about, x.value());
    } else if constexpr (std::same_as<X, int>) {
      (*this)(about, static_cast<double>(x));
    } else if constexpr (Scalar<X>) {
      const bool inside = !about.allowed.refuses_some() || about.allowed.holds(lower(x), upper(x));
      if constexpr (Refuse) {
        if (!inside) out_of_range(here.at, about.allowed, lower(x), upper(x));
      } else {
        all = (static_cast<int>(all) & static_cast<int>(inside)) != 0;
      }
    }
  }
};

}  // namespace detail

/// A spec over another scalar, with every number passed through seed(path, value[, source or null[,
/// unit]]).
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

/// Refuses the first invalid field by its path below `owner`: "attention.floor is 0; allowed: more
/// than 0". Fields without a range, unstated facts and empty optionals pass.
/// All fields are compared first, without a branch, and walked one by one only where that fails.
/// Errors: out_of_range. Test: tests/unit/fields.cpp, each kind of field and each kind of range.
template <class S>
  requires detail::Spec<const S>
constexpr void require_valid(const S& spec, const char* owner = "") {
  bool all = true;
  S::fields(detail::check_field<false>{{nullptr, owner}, all}, spec);
  if (!all) S::fields(detail::check_field<true>{{nullptr, owner}, all}, spec);
}

}  // namespace perfmodel::inline v0_3
