// Cache in a host's memory: transfers by hand, and when they pay.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving/kv_offload.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_host_tier {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

const pm::deployment llama = pm::with_all_memory(
    pm::deployment{.device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}});
const pm::host_tier pcie{.tokens = 2e6, .bandwidth_per_device = 25.0 * pm::GB_per_s};
const pm::datasheet policy{};

}  // namespace

TEST_CASE("host tier: a prefix comes back over the link of each device") {
  // 80 layers x 2 x 8 heads x 128 x 2 bytes = 327,680 B per token, over 8 ranks.
  CHECK(near(pm::fetch_time(llama, pcie, 2048).value(), 327680.0 * 2048 / 8 / 25e9));
  auto later = pcie;
  later.latency = 1.0 * pm::ms;
  CHECK(near(pm::fetch_time(llama, later, 2048).value(), 1e-3 + 327680.0 * 2048 / 8 / 25e9));
  const auto e = pm::fetch_or_compute(llama, pcie, 2048, policy);
  CHECK(near(e.compute, pm::step(llama, {.prefill_tokens = 2048}, policy).time));
  CHECK(near(e.gain(), e.compute / e.fetch));
}

TEST_CASE("host tier: where it begins to pay") {
  auto slow = pcie;
  slow.bandwidth_per_device = 1.0 * pm::GB_per_s;
  slow.latency = 20.0 * pm::ms;
  const auto gain = [&](int tokens) {
    return pm::fetch_or_compute(llama, slow, tokens, policy).gain();
  };
  const int tokens = pm::least_tokens_to_fetch(llama, slow, 1 << 20, policy);
  REQUIRE(tokens > 1);
  CHECK(gain(tokens) >= 1);
  CHECK(gain(tokens - 1) < 1);
  // Weights alone take longer than the fetch of a token: it pays at once.
  CHECK(pm::least_tokens_to_fetch(llama, pcie, 1 << 20, policy) == 1);
  slow.latency = 1e6 * pm::second;
  CHECK(pm::least_tokens_to_fetch(llama, slow, 1 << 10, policy) == 0);
}

TEST_CASE("host tier: what the devices forget the host still has") {
  const pm::prefix_tree tree{
      .levels = {{500, 1}, {3000, 600}}, .own_tokens = 200, .output_tokens = 300};
  const auto hit = pm::tiered_hit_of(tree, 4e5, pcie);
  CHECK(near(hit.device, pm::prefix_hit_of(tree, 4e5).hit_rate));
  CHECK(near(hit.device + hit.host, pm::prefix_hit_of(tree, 4e5 + 2e6).hit_rate));
  CHECK(hit.host > 0.3);
  auto bad = pcie;
  bad.bandwidth_per_device = {};
  CHECK(refusal([&] {
          (void)pm::tiered_hit_of(tree, 4e5, bad);
        }).starts_with("PM-E010: bandwidth_per_device is 0"));
}

}  // namespace unit_host_tier
