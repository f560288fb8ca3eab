#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <span>
#include <vector>

#include "kernels/algorithms/collective_accounting.hpp"
#include "kernels/common/compare.hpp"

namespace unit_kernel_collectives {

namespace pv = perfmodel::validation;

namespace {

struct outcome {
  double worst_error = 0;
  std::vector<std::size_t> sent;
};

/// Ranks in one memory, `count` values each; `dropped`: the transfer that does not happen, or -1.
outcome run(pv::all_reduce how, int ranks, std::size_t count, int dropped) {
  std::mt19937 random(1);
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::vector<float>> input(n, std::vector<float>(count));
  std::vector<double> sum(count, 0.0);
  for (auto& rank : input) {
    for (std::size_t i = 0; i < count; ++i) {
      rank[i] = static_cast<float>(random() % 2048U) / 1024.0F - 1.0F;
      sum[i] += static_cast<double>(rank[i]);
    }
  }
  std::vector<std::vector<float>> result = input;
  outcome out;
  out.sent.assign(n, 0);
  int at = 0;
  pv::for_each_transfer(how, ranks, [&](const pv::chunk_transfer& t) {
    const std::size_t begin = t.chunk < 0 ? 0 : pv::chunk_begin(count, ranks, t.chunk);
    const std::size_t end = t.chunk < 0 ? count : pv::chunk_begin(count, ranks, t.chunk + 1);
    const auto from = static_cast<std::size_t>(t.from), to = static_cast<std::size_t>(t.to);
    out.sent[from] += end - begin;
    if (at++ == dropped) return;
    for (std::size_t i = begin; i < end; ++i) {
      const float v = t.input ? input[from][i] : result[from][i];
      result[to][i] = t.adds ? result[to][i] + v : v;
    }
  });
  for (const auto& rank : result) {
    const double e = pv::relative_error(std::span<const float>(rank), std::span<const double>(sum));
    out.worst_error = e > out.worst_error ? e : out.worst_error;
  }
  return out;
}

}  // namespace

TEST_CASE("kernel collectives: every rank has the sum, and sends what the algorithm says") {
  for (const int ranks : {2, 3, 4, 8}) {
    const double n = ranks, message = 840.0;
    for (const auto& [how, each] : {std::pair{pv::all_reduce::ring, 2.0 * (n - 1.0) / n},
                                    std::pair{pv::all_reduce::two_shot, 2.0 * (n - 1.0) / n},
                                    std::pair{pv::all_reduce::one_shot, n - 1.0}}) {
      const outcome even = run(how, ranks, 840, -1);
      CHECK(even.worst_error < 1e-6);
      for (const std::size_t sent : even.sent) {
        CHECK(static_cast<double>(sent) == Catch::Approx(each * message));
      }
      // A message that the ranks do not divide: the sums hold, and all together send as much.
      const outcome odd = run(how, ranks, 853, -1);
      CHECK(odd.worst_error < 1e-6);
      double all = 0;
      for (const std::size_t sent : odd.sent) all += static_cast<double>(sent);
      CHECK(all == Catch::Approx(pv::messages_sent(how, ranks) * 853.0));
    }
  }
}

TEST_CASE("kernel collectives: a dropped chunk is noticed") {
  for (const auto how :
       {pv::all_reduce::ring, pv::all_reduce::one_shot, pv::all_reduce::two_shot}) {
    for (const int dropped : {0, 2, 5}) CHECK(run(how, 4, 853, dropped).worst_error > 1e-6);
  }
}

TEST_CASE("kernel collectives: chunks by hand") {
  CHECK(pv::chunk_begin(10, 4, 0) == 0);
  CHECK(pv::chunk_begin(10, 4, 1) == 3);
  CHECK(pv::chunk_begin(10, 4, 2) == 6);
  CHECK(pv::chunk_begin(10, 4, 3) == 8);
  CHECK(pv::chunk_begin(10, 4, 4) == 10);
  CHECK(pv::messages_sent(pv::all_reduce::one_shot, 4) == 12.0);
  CHECK(pv::messages_sent(pv::all_reduce::ring, 4) == 6.0);
}

}  // namespace unit_kernel_collectives
