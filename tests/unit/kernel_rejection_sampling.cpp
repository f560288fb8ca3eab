#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

#include "kernels/algorithms/rejection_sampling.hpp"

namespace unit_kernel_rejection_sampling {

namespace pv = perfmodel::validation;

namespace {

constexpr std::array<float, 5> target{0.5F, 0.2F, 0.2F, 0.1F, 0.0F};
constexpr std::array<float, 5> draft{0.2F, 0.4F, 0.1F, 0.1F, 0.2F};
const pv::token_distributions pair{target.data(), draft.data(), 5};

struct outcome {
  std::array<double, 5> counts{};
  double accepted = 0, proposed = 0, emitted = 0;
};

/// Every token that 100000 passes emit.
outcome run(int draft_length, const pv::sampling_faults& faults) {
  std::mt19937 random(5);
  outcome out;
  for (int trial = 0; trial < 100000; ++trial) {
    std::array<double, 16> u{};
    for (double& x : u) x = static_cast<double>(random()) / 4294967296.0;
    std::array<int, 8> tokens{};
    const auto sample = [](pv::drawn_from what, double share) {
      std::array<double, 2> sums{};
      for (int c = 0; c < 2; ++c) {
        sums[static_cast<std::size_t>(c)] = pair.chunk_sum(what, c, 2);
      }
      return pv::draw(pair, what, sums.data(), 2, share);
    };
    const auto uniform = [&](int i) { return u[static_cast<std::size_t>(i)]; };
    const int n = pv::speculative_pass(pair, draft_length, faults, sample, uniform, tokens.data());
    for (int i = 0; i < n; ++i) {
      out.counts[static_cast<std::size_t>(tokens[static_cast<std::size_t>(i)])] += 1.0;
    }
    out.emitted += n / 100000.0;
    out.accepted += n - 1;
    out.proposed += n > draft_length ? draft_length : n;
  }
  return out;
}

}  // namespace

TEST_CASE("kernel rejection sampling: a draw by hand") {
  // Residual: 0.3, 0, 0.1, 0, 0; chunks of three and two tokens.
  const std::array<double, 2> sums{pair.chunk_sum(pv::drawn_from::residual, 0, 2),
                                   pair.chunk_sum(pv::drawn_from::residual, 1, 2)};
  CHECK(sums[0] == Catch::Approx(0.4));
  CHECK(sums[1] == 0.0);
  const auto at = [&](double u) {
    return pv::draw(pair, pv::drawn_from::residual, sums.data(), 2, u);
  };
  CHECK(at(0.0) == 0);
  CHECK(at(0.74) == 0);
  CHECK(at(0.76) == 2);
  CHECK(at(0.9999999999999999) == 2);
}

TEST_CASE("kernel rejection sampling: the closed forms by hand") {
  CHECK(pv::overlap_of(pair) == Catch::Approx(0.2 + 0.2 + 0.1 + 0.1));
  CHECK(pv::expected_emitted(0.5, 2) == Catch::Approx(1.75));
  CHECK(pv::expected_emitted(1.0, 4) == Catch::Approx(5.0));
  CHECK(pv::expected_emitted(0.6, 3) == Catch::Approx((1.0 - 0.6 * 0.6 * 0.6 * 0.6) / 0.4));
}

TEST_CASE(
    "kernel rejection sampling: what is emitted is the target's, at the acceptance it should") {
  for (const int draft_length : {1, 4}) {
    const outcome o = run(draft_length, {});
    const auto d = pv::distance_of(o.counts.data(), target.data(), 5);
    CHECK(d.total_variation <= d.allowed);
    CHECK(o.counts[4] == 0.0);
    CHECK(o.accepted / o.proposed == Catch::Approx(0.6).margin(0.01));
    CHECK(o.emitted == Catch::Approx(pv::expected_emitted(0.6, draft_length)).margin(0.03));
  }
}

TEST_CASE("kernel rejection sampling: the check notices a wrong rule") {
  for (const pv::sampling_faults faults : {pv::sampling_faults{true, false}, {false, true}}) {
    const outcome o = run(4, faults);
    const auto d = pv::distance_of(o.counts.data(), target.data(), 5);
    CHECK(d.total_variation > d.allowed);
  }
}

}  // namespace unit_kernel_rejection_sampling
