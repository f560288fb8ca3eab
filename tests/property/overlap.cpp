// What overlap promises.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/laws/overlap.hpp>
#include <support/near.hpp>
#include <support/random.hpp>
#include <vector>

namespace property_overlap {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

TEST_CASE(
    "equal buckets have a closed form, with one bucket and with infinitely many as its ends") {
  random_numbers r(2);
  for (int i = 0; i < 500; ++i) {
    const pm::duration<> backward = r.uniform(0.01, 1) * pm::second;
    const pm::duration<> all = r.uniform(0.01, 1) * pm::second;
    const int n = static_cast<int>(r.uniform(1, 50));
    pm::duration<> finish{};  // each waits for its gradients, and for the one before
    for (int k = 1; k <= n; ++k) finish = max(finish, pm::duration<>(backward * k / n)) + all / n;
    CHECK(near(pm::bucketed_backward(backward, all, n), finish));
    CHECK(near(pm::bucketed_backward(backward, all, 1), backward + all));
    CHECK(near(pm::bucketed_backward(backward, all, 1e14), max(backward, all)));
    CHECK(pm::bucketed_backward(backward, all, n + 1) <=
          pm::bucketed_backward(backward, all, n) * (1 + 1e-12));
    const pm::estimate e = pm::training_step(backward / 2, backward, all, n);
    CHECK(near(e.terms.sum(), e.time));
  }
}

TEST_CASE(
    "a transfer by SMs is never faster than by the copy engine, and ends in steady interference") {
  random_numbers r(3);
  for (int i = 0; i < 500; ++i) {
    const pm::duration<> compute = r.log_uniform(1e-5, 1) * pm::second;
    const pm::duration<> copy = r.log_uniform(1e-5, 1) * pm::second;
    const double taken = std::floor(r.uniform(0, 131));
    CHECK(pm::overlap_with_dma(compute, copy) <=
          pm::overlap_with_sm_copy(compute, copy, 132, taken));
    CHECK(pm::overlap_with_sm_copy(compute, copy, 132, taken) <= (compute + copy) * (1 + 1e-12));
    CHECK(pm::overlap_with_sm_copy(compute, copy, 132, 0) == pm::overlap_with_dma(compute, copy));
    const pm::duration<> steady = pm::sm_interference(compute, 132, taken);
    CHECK(near(pm::overlap_with_sm_copy(compute, steady, 132, taken), steady, 1e-9));
    CHECK(near(pm::exposed_time(copy, compute) + compute, pm::overlap_with_dma(compute, copy)));
  }
}

TEST_CASE("a simulated double buffer takes double_buffered_time") {
  random_numbers r(4);
  for (int i = 0; i < 300; ++i) {
    const double load = r.log_uniform(0.1, 10), compute = r.log_uniform(0.1, 10);
    const int n = static_cast<int>(r.uniform(1, 60));
    // Two buffers: load k starts when load k - 1 is done and compute k - 2 has freed its buffer.
    std::vector<double> loaded, computed;
    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
      const double start = std::max(k > 0 ? loaded[k - 1] : 0.0, k > 1 ? computed[k - 2] : 0.0);
      loaded.push_back(start + load);
      computed.push_back(std::max(loaded[k], k > 0 ? computed[k - 1] : 0.0) + compute);
    }
    const pm::duration<> law = pm::double_buffered_time(load * pm::second, compute * pm::second, n);
    CHECK(near(law.value(), computed.back()));
    CHECK(law.value() * 2 >= n * (load + compute) * (1 - 1e-12));
    const double stages = pm::stages_needed(load * pm::second, compute * pm::second);
    CHECK((stages - 1) * compute >= load * (1 - 1e-12));
    CHECK((stages - 2) * compute < load);
  }
}

}  // namespace property_overlap
