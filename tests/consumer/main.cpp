// A program of a user: with a wrong package, or without Boost's headers, it does not build.
#include <perfmodel/perfmodel.hpp>

namespace pm = perfmodel;

int main() {
  // 100 FLOP/byte at 3.35 TB/s are 335 TFLOP/s, below the peak of 989.4.
  constexpr auto rate = pm::attainable<double>(
      989.4 * pm::TFLOP / pm::second, 3.35 * pm::TB / pm::second, 100.0 * pm::flop / pm::byte);
  const double tera = rate / (1.0 * pm::TFLOP / pm::second);
  return tera > 334.999 && tera < 335.001 ? 0 : 1;
}
