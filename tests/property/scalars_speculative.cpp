// Speculative decoding over every scalar.
#include <perfmodel/laws/speculative.hpp>
#include <support/scalars.hpp>

namespace property_scalars_speculative {

namespace pm = perfmodel;
using perfmodel_test::check_scalars;

TEST_CASE("tokens accepted and emitted agree over all scalars") {
  for (const int k : {1, 4, 10}) {
    check_scalars(
        [k]<class T>(const std::array<T, 1>& x) {
          return pm::emitted_tokens(x[0], k).quantity().value();
        },
        0.8);
  }
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return pm::accepted_tokens(std::span<const T>(x)).quantity().value();
      },
      0.9, 0.5, 0.1);
}

TEST_CASE("speed-ups agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) { return pm::speculative_speedup(x[0], 4, x[1]); },
      0.8, 0.05);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        pm::basic_speculative_steps<T> s;
        s.target = pm::duration<T>::from_value(x[1]);
        s.draft = pm::duration<T>::from_value(x[2]);
        s.verify = pm::duration<T>::from_value(x[3]);
        return pm::speculative_speedup(pm::emitted_tokens(x[0], 5), 5, s);
      },
      0.78, 0.032, 0.0008, 0.035);
}

TEST_CASE("the break-even acceptance agrees over all scalars") {
  for (const int k : {1, 2, 4, 16}) {
    check_scalars(
        [k]<class T>(const std::array<T, 1>& x) { return pm::break_even_acceptance(k, x[0]); },
        0.05);
    check_scalars(
        [k]<class T>(const std::array<T, 1>& x) { return pm::break_even_acceptance(k, x[0]); },
        0.7);
  }
}

TEST_CASE("the batch limit agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::verification_batch_limit(pm::intensity<T>::from_value(x[0]),
                                            pm::bytes<T>::from_value(x[1]), 5);
      },
      295.2, 2.0);
}

}  // namespace property_scalars_speculative
