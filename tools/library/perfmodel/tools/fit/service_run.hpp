// Benchmark runs of a service.
#pragma once

#include <optional>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/deployment.hpp>
#include <string_view>

namespace perfmodel::inline v0_3 {

/// A benchmark run: deployment, load, and the measured mean ITL and TTFT, one of which may be
/// unknown.
struct service_run {
  perfmodel::deployment deployment{};
  service_load load{};
  std::optional<duration<>> itl{};
  std::optional<duration<>> ttft{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("deployment", s.deployment...);
    f("load", s.load...);
    f(field::positive("itl"), s.itl...);
    f(field::positive("ttft"), s.ttft...);
  }
};

/// Whether a prediction has latencies to compare with measured ones: it is neither overloaded nor
/// exceeds the memory. Ranks beyond the size of a fabric have the latencies of a larger one.
constexpr bool has_latencies(const feasibility& f) {
  const std::string_view unit = f.unit;
  return f.feasible || (unit != "req/s" && unit != "B");
}

}  // namespace perfmodel::inline v0_3
