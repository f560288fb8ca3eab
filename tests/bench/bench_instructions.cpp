// The same roofline over quantities and over raw doubles, to be counted by callgrind.
// usage: bench_instructions quantity | raw | quantity_by_reference | raw_by_reference | empty
#include <array>
#include <cstdio>
#include <cstring>
#include <perfmodel/roofline.hpp>
#include <vector>

namespace pm = perfmodel;

namespace {

// perfmodel::attainable with the units taken off: the same checks of the same inputs, one product,
// one minimum.
double attainable_raw(const double& peak_rate, const double& memory,
                      const double& operations_per_byte) {
  pm::detail::positive("peak_rate", peak_rate);
  pm::detail::positive("memory", memory);
  pm::detail::not_negative("operations_per_byte", operations_per_byte);
  const double from_memory = operations_per_byte * memory;
  return from_memory < peak_rate ? from_memory : peak_rate;
}

constexpr std::size_t points = 4096;
constexpr int rounds = 200;

// Rates received by reference: GCC checks them again at every point, whatever their type.
[[gnu::noinline]] double sweep_raw_by_reference(const std::vector<double>& intensity,
                                                const double& peak_rate, const double& memory) {
  double sum = 0;
  for (int r = 0; r < rounds; ++r) {
    for (const double& i : intensity) sum += attainable_raw(peak_rate, memory, i);
  }
  return sum;
}
[[gnu::noinline]] double sweep_quantity_by_reference(const std::vector<pm::intensity<>>& intensity,
                                                     const pm::flop_rate<>& peak_rate,
                                                     const pm::bandwidth<>& memory) {
  pm::flop_rate<> sum{};
  for (int r = 0; r < rounds; ++r) {
    for (const pm::intensity<>& i : intensity) sum += pm::attainable(peak_rate, memory, i);
  }
  return sum.value();
}

// Rates that are the function's own: it checks them once. Both sweeps receive doubles, because a
// quantity, whose copy constructor is written out, is passed in memory even by value.
[[gnu::noinline]] double sweep_raw(const std::vector<double>& intensity, double peak_rate,
                                   double memory) {
  double sum = 0;
  for (int r = 0; r < rounds; ++r) {
    for (const double& i : intensity) sum += attainable_raw(peak_rate, memory, i);
  }
  return sum;
}
[[gnu::noinline]] double sweep_quantity(const std::vector<pm::intensity<>>& intensity, double peak,
                                        double bandwidth) {
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
  // Read at run time: of a constant, GCC would make the checks itself and leave none to count.
  volatile double peak_rate = 989.4e12;
  volatile double memory = 3.35e12;
  double result = 0;
  if (std::strcmp(mode, "quantity") == 0) {
    result = sweep_quantity(quantities, peak_rate, memory);
  } else if (std::strcmp(mode, "quantity_by_reference") == 0) {
    const pm::flop_rate<> p = peak_rate * pm::flop_per_s;
    const pm::bandwidth<> m = memory * pm::byte_per_s;
    result = sweep_quantity_by_reference(quantities, p, m);
  } else if (std::strcmp(mode, "raw") == 0) {
    result = sweep_raw(raw, peak_rate, memory);
  } else if (std::strcmp(mode, "raw_by_reference") == 0) {
    const double p = peak_rate;
    const double m = memory;
    result = sweep_raw_by_reference(raw, p, m);
  } else if (std::strcmp(mode, "empty") != 0) {
    std::fputs(
        "usage: bench_instructions quantity | raw | quantity_by_reference | raw_by_reference | "
        "empty\n",
        stderr);
    return 2;
  }
  std::printf("%.17g\n", result);
}
