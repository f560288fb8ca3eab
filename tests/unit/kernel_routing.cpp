#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/algorithms/routing.hpp"

namespace unit_kernel_routing {

namespace pv = perfmodel::validation;

TEST_CASE("kernel routing: the best scores win, and of equal ones the lower expert") {
  const std::array<float, 6> scores{1.0F, 3.0F, 2.0F, 3.0F, -1.0F, 2.0F};
  std::array<int, 4> chosen{};
  std::array<float, 4> weights{};
  pv::route(scores.data(), 6, 4, chosen.data(), weights.data());
  CHECK(chosen == std::array<int, 4>{1, 3, 2, 5});
  // 1, 1, 1/e and 1/e over their sum.
  const float sum = 2.0F + 2.0F / 2.7182818F;
  CHECK(weights[0] == Catch::Approx(1.0F / sum));
  CHECK(weights[1] == weights[0]);
  CHECK(weights[3] == Catch::Approx(1.0F / 2.7182818F / sum));
  CHECK(weights[0] + weights[1] + weights[2] + weights[3] == Catch::Approx(1.0F));
}

TEST_CASE("kernel routing: all scores equal") {
  const std::vector<float> scores(8, 0.5F);
  std::array<int, 3> chosen{};
  std::array<float, 3> weights{};
  pv::route(scores.data(), 8, 3, chosen.data(), weights.data());
  CHECK(chosen == std::array<int, 3>{0, 1, 2});
  CHECK(weights[2] == Catch::Approx(1.0F / 3.0F));
}

TEST_CASE("kernel routing: offsets sum to the choices, and no tile spans two experts") {
  const std::array<int, 5> counts{3, 0, 16, 17, 1};
  std::array<int, 5> tiles{};
  for (std::size_t e = 0; e < counts.size(); ++e) tiles[e] = pv::tiles_of(counts[e], 16);
  CHECK(tiles == std::array<int, 5>{1, 0, 1, 2, 1});
  std::array<int, 6> offsets{}, first_tile{};
  for (int e = 0; e <= 5; ++e) {
    const pv::expert_place at = pv::place_of_expert(counts.data(), tiles.data(), e);
    offsets[static_cast<std::size_t>(e)] = at.row;
    first_tile[static_cast<std::size_t>(e)] = at.tile;
  }
  CHECK(offsets == std::array<int, 6>{0, 3, 3, 19, 36, 37});
  CHECK(first_tile == std::array<int, 6>{0, 1, 1, 2, 4, 5});
  CHECK(offsets.back() == std::accumulate(counts.begin(), counts.end(), 0));
  CHECK(first_tile.back() <= pv::most_tiles(37, 5, 16));
  CHECK(pv::most_tiles(2, 128, 16) == 2);
}

TEST_CASE("kernel routing: experts touched, by hand and by counting") {
  CHECK(pv::touched_experts(1, 8, 2) == Catch::Approx(2.0));
  CHECK(pv::touched_experts(2, 8, 2) == Catch::Approx(3.5));  // 8 (1 - 9/16)
  CHECK(pv::touched_experts(4096, 128, 8) == Catch::Approx(128.0));
  // 4 tokens take 2 of 8 by random scores, 4000 times over; the mean's deviation is below 0.02.
  const auto mean = [](bool same_scores) {
    std::mt19937 random(3);
    double sum = 0;
    for (int trial = 0; trial < 4000; ++trial) {
      std::array<bool, 8> touched{};
      std::array<float, 8> scores{};
      for (int token = 0; token < 4; ++token) {
        if (token == 0 || !same_scores) {
          for (float& x : scores) x = static_cast<float>(random() >> 8U);
        }
        std::array<int, 2> chosen{};
        std::array<float, 2> weights{};
        pv::route(scores.data(), 8, 2, chosen.data(), weights.data());
        for (const int e : chosen) touched[static_cast<std::size_t>(e)] = true;
      }
      for (const bool t : touched) sum += t ? 1.0 : 0.0;
    }
    return sum / 4000.0;
  };
  CHECK(mean(false) == Catch::Approx(pv::touched_experts(4, 8, 2)).margin(0.08));
  // Tokens that all have the scores of one are no such case, and the same comparison says so.
  CHECK_FALSE(mean(true) == Catch::Approx(pv::touched_experts(4, 8, 2)).margin(0.08));
}

}  // namespace unit_kernel_routing
