// The peak of one core: chains of multiply-adds in FP32 and FP64.
// Tests: peak = vector units x width x 2 x clock.
#include <cmath>
#include <memory>

#include "../kernels/common/compare.hpp"
#include "measure.hpp"
#include "multiply_add.hpp"

namespace perfmodel::validation {
namespace {

template <class Number>
void add_cases(const host_session& s, recording& r, std::vector<timed_case>& cases,
               const char* format, double tolerance) {
  constexpr auto n = static_cast<std::size_t>(block_size<Number>);
  const Number a = static_cast<Number>(0.999), b = static_cast<Number>(0.001);
  const auto values = std::make_shared<std::vector<Number>>(n);
  for (std::size_t i = 0; i < n; ++i) (*values)[i] = static_cast<Number>(random_value(5, i));
  // k steps of v a + b are v a^k + b (1 - a^k) / (1 - a).
  constexpr int checked = 100;
  std::vector<Number> result = *values;
  multiply_add(result.data(), s.breaks("drop_fma") ? checked - 1 : checked, a, b);
  const double ad = static_cast<double>(a), power = std::pow(ad, checked);
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double want = static_cast<double>((*values)[i]) * power +
                        static_cast<double>(b) * (1.0 - power) / (1.0 - ad);
    off += (static_cast<double>(result[i]) - want) * (static_cast<double>(result[i]) - want);
    norm += want * want;
  }
  r.check(std::string("multiply-adds in ") + format + " against their closed form",
          std::sqrt(off / norm), tolerance);
  const int rounds = s.reduced ? 1000 : 100000;
  point p{
      "arithmetic_time",
      "s",
      {{"unit", "host_fma"}, {"format", format}, {"flop", 2.0 * rounds * static_cast<double>(n)}},
      {}};
  cases.push_back({std::move(p), [=](int) {
                     multiply_add(values->data(), rounds, a, b);
                     keep(*values->data());
                   }});
}

}  // namespace

void measure_arithmetic(const host_session& s, recording& r) {
  std::vector<timed_case> cases;
  add_cases<float>(s, r, cases, "fp32", 2e-5);
  add_cases<double>(s, r, cases, "fp64", 1e-13);
  measure_all(s, r, cases);
}

}  // namespace perfmodel::validation
