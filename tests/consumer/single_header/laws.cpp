// The single header of the laws, with results of textbooks and by hand.
#include "perfmodel_laws.hpp"

namespace pm = perfmodel;
using namespace perfmodel::literals;

constexpr bool near(double a, double b) {
  return a > b * (1 - 1e-3) && a < b * (1 + 1e-3);
}

// Roofline: 100 FLOP/byte at 3.35 TB/s are 335 TFLOP/s, below a peak of 989.4.
static_assert(near(pm::attainable<double>(989.4 * pm::TFLOP / pm::second, 3.35_TB_per_s,
                                          100.0 * pm::flop / pm::byte) /
                       (1.0 * pm::TFLOP / pm::second),
                   335));
// Little's law: 300 ns at 3.35 TB/s are 1.005 MB in flight.
static_assert(near(pm::bytes_in_flight(300_ns, 3.35_TB_per_s) / (1.0 * pm::MB), 1.005));
// Amdahl's law: with 5 % serial at most 20 times as fast.
static_assert(near(pm::largest_speedup(0.95), 20));
// M/M/1 at half load waits as long as it serves.
static_assert(near(pm::mm1(5_req_per_s, 100_ms).wait / (1.0 * pm::ms), 100));
// KV cache: sequences of 500 tokens in reservations of 4096 waste 87.8 %.
static_assert(near(pm::contiguous_waste(500, 4096), 0.878));

int main() {
  return PERFMODEL_VERSION_MAJOR;
}
