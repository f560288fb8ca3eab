// Memory stream on one core: read, write, copy and triad by working set, warm and cold.
// Tests: roofline, time >= bytes / bandwidth of the level that holds them.
#include <Eigen/Core>
#include <algorithm>
#include <memory>

#include "../kernels/common/compare.hpp"
#include "machine.hpp"
#include "measure.hpp"
#include "multiply_add.hpp"

namespace perfmodel::validation {
namespace {

using array = Eigen::Map<Eigen::ArrayXf>;

struct kernel {
  const char* name;
  int read, written;
};
constexpr kernel kernels[] = {{"read", 1, 0}, {"write", 0, 1}, {"copy", 1, 1}, {"triad", 2, 1}};
constexpr float scale = 1.5F;

struct buffers {
  std::size_t size;
  Eigen::ArrayXf a, b, d;
  explicit buffers(std::size_t n)
      : size(n),
        a(static_cast<Eigen::Index>(n)),
        b(static_cast<Eigen::Index>(n)),
        d(static_cast<Eigen::Index>(n)) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      a[at] = random_value(1, i);
      b[at] = random_value(2, i);
    }
    d.setConstant(std::nanf(""));
  }
};

/// Eight vectors of partial sums, so that the loads are what takes time, and not the additions.
float sum_of(const float* x, std::size_t n) {
  constexpr std::size_t width = vector_bytes / sizeof(float);
  typedef float vector __attribute__((vector_size(vector_bytes), aligned(sizeof(float))));
  vector sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 * width <= n; i += 8 * width) {
    for (std::size_t u = 0; u < 8; ++u)
      sums[u] += *reinterpret_cast<const vector*>(x + i + u * width);
  }
  float sum = 0.0F;
  for (; i < n; ++i) sum += x[i];
  for (const vector& v : sums) {
    for (std::size_t w = 0; w < width; ++w) sum += v[w];
  }
  return sum;
}

void run(const kernel& k, buffers& on, std::size_t first, std::size_t count) {
  const auto n = static_cast<Eigen::Index>(count);
  const array a(on.a.data() + first, n), b(on.b.data() + first, n);
  array d(on.d.data() + first, n);
  switch (k.read * 2 + k.written) {
    case 2: keep(sum_of(a.data(), count)); break;
    case 1: d.setConstant(scale); break;
    case 3: d = a; break;
    default: d = a + scale * b; break;
  }
  keep(d);
}

void check(const host_session& s, recording& r, buffers& on) {
  const std::size_t n = (std::min)(on.size, std::size_t{10007});
  for (const kernel& k : kernels) {
    on.d.setConstant(std::nanf(""));
    std::vector<double> reference(n);
    std::vector<float> result(n), wanted(n);
    double sum = 0, magnitude = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double a = static_cast<double>(random_value(1, i)),
                   b = static_cast<double>(random_value(2, i));
      reference[i] = k.read == 2   ? a + static_cast<double>(scale) * b
                     : k.read == 1 ? a
                                   : static_cast<double>(scale);
      wanted[i] = static_cast<float>(reference[i]);
      sum += a;
      magnitude += std::abs(a);
    }
    if (k.written == 0) {
      const double seen =
          static_cast<double>(sum_of(on.a.data(), n - (s.breaks("drop_read") ? 1 : 0)));
      r.check("read: the sum of what was read", std::abs(seen - sum) / magnitude, 2e-6);
      continue;
    }
    run(k, on, 0, n);
    std::copy_n(on.d.data(), n, result.begin());
    if (s.breaks("swap_bytes")) {
      auto* bytes = reinterpret_cast<unsigned char*>(result.data());
      std::swap(bytes[4096], bytes[4097]);
    }
    if (k.read == 2) {
      r.check("triad against double precision", relative_error<float>(result, reference), 1e-6);
    } else {
      r.check(std::string(k.name) + ": bytes that differ", differing_bytes<float>(result, wanted),
              0.0);
    }
  }
}

}  // namespace

void measure_stream(const host_session& s, recording& r) {
  const double cache = last_cache_bytes(s.device);
  const double pool =
      s.reduced ? 4.0 * 1024 * 1024 : (std::min)(4.0 * cache, s.device.memory_bytes / 16.0);
  const auto floats = static_cast<std::size_t>(pool / 4.0) / 1024 * 1024;
  const auto on = std::make_shared<buffers>(floats);
  check(s, r, *on);
  std::vector<timed_case> cases;
  for (const kernel& k : kernels) {
    const auto touched = static_cast<std::size_t>(k.read + k.written);
    for (std::size_t set = 16384; set <= floats * sizeof(float); set *= 2) {
      const std::size_t each = set / touched / 64 * 16;  // floats, whole lines
      const std::size_t places = floats / each;
      for (const bool cold : {false, true}) {
        // Cold: the places it rotates through are four last-level caches together.
        const bool beyond = static_cast<double>(set) >= 2.0 * cache;
        if (cold ? places < 2 : beyond) continue;
        point p{"stream_time",
                "s",
                {{"kernel", k.name},
                 {"working_set_bytes", static_cast<double>(each * touched * sizeof(float))},
                 {"cache", cold ? "cold" : "warm"},
                 {"bytes_read", static_cast<double>(each * sizeof(float)) * k.read},
                 {"bytes_written", static_cast<double>(each * sizeof(float)) * k.written},
                 {"flop", k.read == 2 ? 2.0 * static_cast<double>(each) : 0.0},
                 {"threads", 1}},
                {}};
        // A stride through the places that prefetchers do not follow from one repetition to the
        // next.
        cases.push_back({std::move(p), [=, at = std::size_t{0}](int) mutable {
                           run(k, *on, cold ? at * each : 0, each);
                           at = (at + places / 2 + 1) % places;
                         }});
      }
    }
  }
  measure_all(s, r, cases);
}

}  // namespace perfmodel::validation
