// Roofline on one core: each value is loaded, goes through 1 to 256 multiply-adds, and is stored.
// Tests: attainable = min(peak, intensity x bandwidth), in FP32, from beyond the last cache.
#include <algorithm>
#include <cmath>
#include <memory>

#include "../kernels/common/compare.hpp"
#include "machine.hpp"
#include "measure.hpp"
#include "multiply_add.hpp"

namespace perfmodel::validation {
namespace {

constexpr float a = 0.999F, b = 0.001F;

void run(std::vector<float>& x, int fmas) {
  constexpr auto block = static_cast<std::size_t>(block_size<float>);
  for (std::size_t i = 0; i + block <= x.size(); i += block) multiply_add(x.data() + i, fmas, a, b);
  keep(*x.data());
}

}  // namespace

void measure_roofline(const host_session& s, recording& r) {
  constexpr auto block = static_cast<std::size_t>(block_size<float>);
  const double wanted =
      s.reduced ? 1e6 : (std::min)(4.0 * last_cache_bytes(s.device), s.device.memory_bytes / 16.0);
  const std::size_t floats = static_cast<std::size_t>(wanted / 4.0) / block * block;
  const auto x = std::make_shared<std::vector<float>>(floats);
  std::vector<timed_case> cases;
  for (const int fmas : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256}) {
    for (std::size_t i = 0; i < floats; ++i) (*x)[i] = random_value(6, i);
    std::vector<float> few(x->begin(), x->begin() + static_cast<std::ptrdiff_t>(3 * block));
    run(few, s.breaks("drop_fma") ? fmas - 1 : fmas);
    std::vector<double> reference(few.size());
    const double power = std::pow(static_cast<double>(a), fmas);
    for (std::size_t i = 0; i < few.size(); ++i) {
      reference[i] = static_cast<double>(random_value(6, i)) * power +
                     static_cast<double>(b) * (1.0 - power) / (1.0 - static_cast<double>(a));
    }
    r.check(std::to_string(fmas) + " multiply-adds against their closed form",
            relative_error<float>(few, reference), 2e-5);
    const double bytes = 4.0 * static_cast<double>(floats),
                 flop = 2.0 * fmas * static_cast<double>(floats);
    point p{"intensity_time",
            "s",
            {{"flop_per_byte", flop / (2.0 * bytes)},
             {"cache", "cold"},
             {"bytes_read", bytes},
             {"bytes_written", bytes},
             {"flop", flop},
             {"format", "fp32"}},
            {}};
    cases.push_back({std::move(p), [x, fmas](int) { run(*x, fmas); }});
  }
  measure_all(s, r, cases);
}

}  // namespace perfmodel::validation
