// A list that a constant may hold: up to N items in place.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <perfmodel/core/error.hpp>

namespace perfmodel {

/// Up to N items. Who adds asks full() first.
/// Test: holds what was added, in order, in a constant expression.
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

}  // namespace perfmodel
