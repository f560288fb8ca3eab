// The same roofline over quantities and over raw doubles, to be counted by callgrind.
// usage: bench_instructions quantity | raw | empty
#include <array>
#include <cstdio>
#include <cstring>
#include <perfmodel/roofline.hpp>
#include <vector>

namespace pm = perfmodel;

namespace {

// perfmodel::attainable with the units taken off: the same checks of the same inputs, one product,
// one minimum.
double attainable_raw(double peak_rate, double memory, double operations_per_byte) {
  pm::detail::positive("peak_rate", peak_rate);
  pm::detail::positive("memory", memory);
  pm::detail::not_negative("operations_per_byte", operations_per_byte);
  const double from_memory = operations_per_byte * memory;
  return from_memory < peak_rate ? from_memory : peak_rate;
}

constexpr std::size_t points = 4096;
constexpr int rounds = 200;

[[gnu::noinline]] double sweep_raw(const std::vector<double>& intensity, double peak_rate, double memory) {
  double sum = 0;
  for (int r = 0; r < rounds; ++r) {
    for (const double i : intensity) sum += attainable_raw(peak_rate, memory, i);
  }
  return sum;
}

// Both sweeps take their two rates as plain doubles: how a function receives a class by reference
// is the calling convention's matter and not the law's.
[[gnu::noinline]] double sweep_quantity(const std::vector<pm::intensity<>>& intensity, double peak, double bandwidth) {
  const pm::flop_rate<> peak_rate = peak * pm::flop_per_s;
  const pm::bandwidth<> memory = bandwidth * pm::byte_per_s;
  pm::flop_rate<> sum{};
  for (int r = 0; r < rounds; ++r) {
    for (const pm::intensity<>& i : intensity) sum += pm::attainable(peak_rate, memory, i);
  }
  return sum.value();
}

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  std::vector<double> raw(points);
  std::vector<pm::intensity<>> quantities(points);
  for (std::size_t i = 0; i < points; ++i) {
    raw[i] = 0.25 * static_cast<double>(i);
    quantities[i] = raw[i] * pm::flop_per_byte;
  }
  double result = 0;
  if (std::strcmp(mode, "quantity") == 0) {
    result = sweep_quantity(quantities, 989.4e12, 3.35e12);
  } else if (std::strcmp(mode, "raw") == 0) {
    result = sweep_raw(raw, 989.4e12, 3.35e12);
  } else if (std::strcmp(mode, "empty") != 0) {
    std::fputs("usage: bench_instructions quantity | raw | empty\n", stderr);
    return 2;
  }
  std::printf("%.17g\n", result);
}
