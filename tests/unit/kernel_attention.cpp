#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "kernels/algorithms/block_table.hpp"
#include "kernels/algorithms/online_softmax.hpp"
#include "kernels/common/compare.hpp"

namespace unit_kernel_attention {

namespace pv = perfmodel::validation;

namespace {

/// How a sum over keys can go wrong.
enum class fault { none, drop_term, forget_rescale, drop_part };

struct keys {
  std::vector<float> scores;  ///< in units of log2 e
  std::vector<float> values;
};

keys random_keys(std::size_t n) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  keys k;
  for (std::size_t i = 0; i < n; ++i) {
    k.scores.push_back(3.0F * normal(random));
    k.values.push_back(normal(random));
  }
  return k;
}

/// One pass after another, in double precision.
double two_passes(const keys& k) {
  double highest = k.scores.front(), sum = 0, out = 0;
  for (const float s : k.scores) highest = (std::max)(highest, static_cast<double>(s));
  for (std::size_t i = 0; i < k.scores.size(); ++i) {
    const double weight = std::exp2(static_cast<double>(k.scores[i]) - highest);
    sum += weight;
    out += weight * static_cast<double>(k.values[i]);
  }
  return out / sum;
}

struct part {
  pv::softmax_state state;
  float out = 0.0F;
};

part over(const keys& k, std::size_t first, std::size_t last, fault f) {
  part p;
  for (std::size_t i = first; i < last; ++i) {
    const float above = (std::max)(p.state.maximum, k.scores[i]);
    const float by = pv::raise_maximum(p.state, above);
    if (f != fault::forget_rescale) p.out *= by;
    const float weight = std::exp2(k.scores[i] - above);
    if (f != fault::drop_term || i != 7) p.state.sum += weight;
    p.out += weight * k.values[i];
  }
  return p;
}

/// The keys in parts of `each`, merged as the kernels merge splits.
std::vector<float> in_parts(const keys& k, std::size_t each, fault f) {
  part all;
  for (std::size_t first = 0; first < k.scores.size(); first += each) {
    const std::size_t last = (std::min)(first + each, k.scores.size());
    if (f == fault::drop_part && last == k.scores.size()) break;
    const part p = over(k, first, last, f);
    const pv::merge_weights by = pv::merge(all.state, p.state);
    all.out = all.out * by.first + p.out * by.second;
  }
  return {all.out / all.state.sum};
}

double error_of(const keys& k, std::size_t each, fault f) {
  const std::vector<float> result = in_parts(k, each, f);
  const std::vector<double> reference{two_passes(k)};
  return pv::relative_error<float>(result, reference);
}

}  // namespace

TEST_CASE("kernel attention: a softmax by hand") {
  // Scores 0, 2, 1 in powers of two: weights 1/4, 1, 1/2 once the maximum is 2.
  pv::softmax_state s;
  CHECK(pv::raise_maximum(s, 0.0F) == 0.0F);  // nothing was summed so far
  s.sum += 1.0F;
  CHECK(pv::raise_maximum(s, 2.0F) == 0.25F);
  s.sum += 1.0F;
  CHECK(pv::raise_maximum(s, 2.0F) == 1.0F);
  s.sum += 0.5F;
  CHECK(s.maximum == 2.0F);
  CHECK(s.sum == 1.75F);
}

TEST_CASE("kernel attention: two parts by hand, and a part without keys") {
  pv::softmax_state a{1.0F, 3.0F};
  const pv::merge_weights by = pv::merge(a, {3.0F, 2.0F});
  CHECK(by.first == 0.25F);
  CHECK(by.second == 1.0F);
  CHECK(a.maximum == 3.0F);
  CHECK(a.sum == 2.75F);
  const pv::merge_weights with_none = pv::merge(a, {});
  CHECK(with_none.first == 1.0F);
  CHECK(with_none.second == 0.0F);
  CHECK(a.sum == 2.75F);
  pv::softmax_state none;
  const pv::merge_weights both_none = pv::merge(none, {});
  CHECK(std::isfinite(both_none.first));
  CHECK(none.sum == 0.0F);
}

TEST_CASE("kernel attention: any partition gives the softmax of all keys") {
  const keys k = random_keys(300);
  for (const std::size_t each : {1U, 3U, 64U, 299U, 300U}) {
    INFO("parts of " << each);
    CHECK(error_of(k, each, fault::none) < 1e-5);
  }
}

TEST_CASE("kernel attention: a check sees a term dropped, a scale forgotten, a part left out") {
  const keys k = random_keys(300);
  CHECK(error_of(k, 64, fault::drop_term) > 1e-4);
  CHECK(error_of(k, 64, fault::forget_rescale) > 1e-2);
  CHECK(error_of(k, 64, fault::drop_part) > 1e-2);
}

TEST_CASE("kernel attention: places in a paged cache by hand") {
  // Blocks of 16 positions for 8 KV heads are 128 rows; position 37 is the 6th of its block.
  CHECK(pv::paged_position(0, 0, 4, 8) == 0);
  CHECK(pv::paged_position(3, 37, 4, 8) == 3 * 128 + 5);
  CHECK(pv::paged_position(3, 37, 0, 8) == 24);  // a block is one position
  // One block a sequence: the contiguous layout, sequence after sequence, head after head.
  CHECK(pv::paged_position(2, 100, 7, 4) == 2 * 4 * 128 + 100);
  // Beyond 2^31 rows.
  CHECK(pv::paged_position(1 << 24, 1, 7, 8) == (std::size_t{1} << 34U) + 1);
}

TEST_CASE("kernel attention: a table uses every block once, and its rows never overlap") {
  for (const bool shuffled : {false, true}) {
    const std::vector<int> table = pv::block_table(3, 10, shuffled, 4);
    std::vector<int> sorted = table;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 30; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
    CHECK(std::is_sorted(table.begin(), table.end()) != shuffled);
    // Blocks of 4 positions for 2 heads: 3 sequences x 40 positions x 2 heads fill 240 rows, once
    // each.
    std::vector<int> used(240, 0);
    for (int sequence = 0; sequence < 3; ++sequence) {
      for (int position = 0; position < 40; ++position) {
        for (std::size_t head = 0; head < 2; ++head) {
          const int block = table[static_cast<std::size_t>(sequence * 10 + position / 4)];
          ++used.at(pv::paged_position(block, position, 2, 2) + head * 4);
        }
      }
    }
    CHECK(std::all_of(used.begin(), used.end(), [](int n) { return n == 1; }));
  }
}

}  // namespace unit_kernel_attention
