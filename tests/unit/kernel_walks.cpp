// What the programs of validation/kernels compute on host and device alike: walks, banks,
// fragments.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "kernels/algorithms/bank_conflicts.hpp"
#include "kernels/algorithms/fragments.hpp"
#include "kernels/algorithms/random_cycle.hpp"

namespace unit_kernel_walks {

namespace pv = perfmodel::validation;

TEST_CASE("a random cycle visits every place once before it returns") {
  for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{1000}}) {
    const auto next = pv::random_cycle(n, 7);
    std::set<std::uint32_t> seen;
    std::uint32_t at = 0;
    for (std::size_t i = 0; i < n; ++i) {
      seen.insert(at);
      at = next[at];
    }
    CHECK(at == 0);
    CHECK(seen.size() == n);
    CHECK(pv::walk(next, n) == 0);
    CHECK(pv::walk(next, n - 1) != 0);
  }
  CHECK(pv::random_cycle(0, 1).empty());
  CHECK(pv::random_cycle(1, 1).at(0) == 0);
}

TEST_CASE("a stride of s words collides gcd(s, 32) ways") {
  for (int s = 1; s <= 64; ++s) {
    CHECK(pv::conflict_ways([s](int lane) { return lane * s; }) == std::gcd(s, 32));
  }
  CHECK(pv::conflict_ways([](int) { return 5; }) == 1);  // one word for all: a broadcast
}

TEST_CASE("a swizzled or padded tile has neither row nor column conflicts, and loses no element") {
  std::set<int> swizzled, padded;
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < 32; ++column) {
      swizzled.insert(pv::swizzled(row, column));
      padded.insert(pv::padded(row, column));
      CHECK(pv::swizzled(row, column) / 32 == row);
    }
    CHECK(pv::conflict_ways([row](int lane) { return pv::swizzled(row, lane); }) == 1);
    CHECK(pv::conflict_ways([row](int lane) { return pv::swizzled(lane, row); }) == 1);
    CHECK(pv::conflict_ways([row](int lane) { return pv::padded(lane, row); }) == 1);
    CHECK(pv::conflict_ways([row](int lane) { return lane * 32 + row; }) == 32);  // stored plainly
  }
  CHECK(swizzled.size() == 1024);
  CHECK(padded.size() == 1024);
}

TEMPLATE_TEST_CASE_SIG("a warp's lanes hold every element of a fragment once", "",
                       ((int Each), Each), 2, 4) {
  std::set<std::pair<int, int>> a, b, d;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4 * Each; ++i) {
      const pv::place p = pv::place_of_a<Each>(lane, i);
      CHECK((p.row < 16 && p.column < 8 * Each));
      a.insert({p.row, p.column});
    }
    for (int i = 0; i < 2 * Each; ++i) {
      const pv::place p = pv::place_of_b<Each>(lane, i);
      CHECK((p.row < 8 * Each && p.column < 8));
      b.insert({p.row, p.column});
    }
    for (int i = 0; i < 4; ++i)
      d.insert({pv::place_of_d(lane, i).row, pv::place_of_d(lane, i).column});
  }
  CHECK(a.size() == 16 * 8 * Each);
  CHECK(b.size() == 8 * 8 * Each);
  CHECK(d.size() == 16 * 8);
  // The corners that the PTX ISA's figures show.
  CHECK(pv::place_of_a<Each>(0, Each).row == 8);
  CHECK(pv::place_of_a<Each>(0, 2 * Each).column == 4 * Each);
  CHECK(pv::place_of_b<Each>(5, 0).column == 1);
}

}  // namespace unit_kernel_walks
