// Many fields checked at the price of few: all at once, and one by one only where that fails.
#pragma once

#include <perfmodel/core/error.hpp>

namespace perfmodel::detail {

/// Looks at all fields without a branch: the least of each kind, and a sum, which shows what is too
/// large or no number. It may doubt what is right, and never passes what is wrong.
struct checked_at_once {
  double least = 0.0, least_positive = 1.0, least_count = 1.0, largest_share = 1.0, sum = 0.0;

  template <class X>
  constexpr void not_negative(const char*, const X& x) {
    look(least, x);
  }
  template <class X>
  constexpr void positive(const char*, const X& x) {
    look(least_positive, x);
  }
  template <class X>
  constexpr void share(const char*, const X& x) {
    look(least_positive, x);
    largest_share = scalar_max(largest_share, upper(x));
  }
  template <class X>
  constexpr void count(const char*, const X& x) {
    look(least_count, x);
  }
  constexpr bool passed() const {
    return least >= 0.0 && least_positive >= smallest_quantity && least_count >= 1.0 &&
           largest_share <= 1.0 && sum <= largest_count;
  }

 private:
  template <Scalar T>
  constexpr void look(double& kind, const T& x) {
    kind = scalar_min(kind, lower(x));
    sum += upper(x);
    if constexpr (!std::is_floating_point_v<T>) sum += lower(x);  // they differ: one may be NaN
  }
  template <Quantity Q>
  constexpr void look(double& kind, const Q& q) {
    look(kind, q.value());
  }
};

/// Looks at each field, and refuses the first that is wrong by its name.
struct checked_one_by_one {
  template <class X>
  constexpr void not_negative(const char* field, const X& x) {
    detail::not_negative(field, x);
  }
  template <class X>
  constexpr void positive(const char* field, const X& x) {
    detail::positive(field, x);
  }
  template <class X>
  constexpr void share(const char* field, const X& x) {
    detail::fraction(field, detail::positive(field, x));
  }
  template <class X>
  constexpr void count(const char* field, const X& x) {
    detail::count(field, x);
  }
};

/// `list(check)` names each field and what it must be: check.positive("matrix_share",
/// p.matrix_share). Errors: out_of_range, of the first field that is not what it must be.
template <class List>
constexpr void check_fields(List&& list) {
  checked_at_once all;
  list(all);
  if (all.passed()) return;
  checked_one_by_one each;
  list(each);
}

}  // namespace perfmodel::detail
