// The library stores dense rates and one-way bandwidths; others convert by name.
#pragma once

#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

/// A quantity with the convention it was stated under. Two conventions neither add nor compare nor
/// convert; .quantity() steps out of the convention and is the only way out.
template <class Convention, Quantity Q>
class qualified {
 public:
  constexpr qualified() = default;
  constexpr explicit qualified(const Q& q) : q_(q) {}
  /// `.message = 16_KiB` names no convention: write message_bytes<>(16_KiB).
  template <Quantity WithoutConvention>
  qualified(const WithoutConvention& q) = delete;
  constexpr const Q& quantity() const { return q_; }

  friend constexpr qualified operator+(const qualified& a, const qualified& b) {
    return qualified(a.q_ + b.q_);
  }
  friend constexpr qualified operator-(const qualified& a, const qualified& b) {
    return qualified(a.q_ - b.q_);
  }
  friend constexpr auto operator/(const qualified& a, const qualified& b) { return a.q_ / b.q_; }
  template <class N>
    requires(!Quantity<N>)
  friend constexpr qualified operator*(const qualified& a, const N& n) {
    return qualified(a.q_ * n);
  }
  template <class N>
    requires(!Quantity<N>)
  friend constexpr qualified operator*(const N& n, const qualified& a) {
    return qualified(n * a.q_);
  }
  friend constexpr bool operator==(const qualified& a, const qualified& b) { return a.q_ == b.q_; }
  friend constexpr bool operator<(const qualified& a, const qualified& b) { return a.q_ < b.q_; }
  friend constexpr bool operator>(const qualified& a, const qualified& b) { return a.q_ > b.q_; }

  /// What it adds to and compares with: its own convention alone.
  friend constexpr qualified dimension_of(const qualified*) { return {}; }

 private:
  Q q_{};
};

namespace convention {
struct sparse_2_4;  // counts the multiplications that 2:4 structured sparsity skips
struct two_way;     // both directions of a link added up
struct message;     // the buffer a collective works on
struct wire;        // what one rank puts on its links for it
struct algorithm;   // message bytes per second: algbw of nccl-tests
struct bus;         // algbw times the operation's wire factor: busbw of nccl-tests
}  // namespace convention

template <class T = double>
using sparse_flop_rate = qualified<convention::sparse_2_4, flop_rate<T>>;
template <class T = double>
using two_way_bandwidth = qualified<convention::two_way, bandwidth<T>>;
template <class T = double>
using message_bytes = qualified<convention::message, bytes<T>>;
template <class T = double>
using wire_bytes = qualified<convention::wire, bytes<T>>;
template <class T = double>
using algorithm_bandwidth = qualified<convention::algorithm, bandwidth<T>>;
template <class T = double>
using bus_bandwidth = qualified<convention::bus, bandwidth<T>>;

/// dense = sparse / 2. 2:4 sparsity drops two of four products. Test: 1978.9 TFLOP/s -> 989.4.
template <class T>
constexpr flop_rate<T> dense(const sparse_flop_rate<T>& s) {
  return s.quantity() / 2.0;
}
/// sparse = 2 dense.
template <class T>
constexpr sparse_flop_rate<T> sparse(const flop_rate<T>& d) {
  return sparse_flop_rate<T>(d * 2.0);
}
/// one way = two way / 2: links are symmetric. Test: NVLink 4's 900 GB/s -> 450 GB/s.
template <class T>
constexpr bandwidth<T> one_way(const two_way_bandwidth<T>& b) {
  return b.quantity() / 2.0;
}
/// two way = 2 one way.
template <class T>
constexpr two_way_bandwidth<T> two_way(const bandwidth<T>& b) {
  return two_way_bandwidth<T>(b * 2.0);
}

}  // namespace perfmodel::inline v0_3
