// A run of a service as a benchmark measured it.
#pragma once

#include <optional>
#include <perfmodel/deployment/deployment.hpp>
#include <perfmodel/service/load.hpp>

namespace perfmodel {

/// What ran, what it was asked to do, and the mean times that were measured: per output token after
/// the first, and to the first. One of the two may be unknown.
struct service_run {
  deployment running{};
  service_load load{};
  std::optional<duration<>> itl{};
  std::optional<duration<>> ttft{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("running", s.running...);
    f("load", s.load...);
    f(field::positive("itl"), s.itl...);
    f(field::positive("ttft"), s.ttft...);
  }
};

}  // namespace perfmodel
