// Replicas on several nodes: their collectives use the fabric and the network at once.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <string>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_step_over_nodes {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::deployment llama_on_nodes(pm::parallel_layout layout) {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = layout};
  d.network = cat::network_of("h100_sxm");
  return d;
}

constexpr double hidden = 8192.0, words = 128256.0, batch = 32.0;
constexpr pm::iteration decode{.batch = batch, .context = 1024};

}  // namespace

TEST_CASE("nodes: an all-reduce of 16 ranks sends an eighth of its message over each adapter") {
  // Two nodes of 8 H100, 400 Gb/s each. Inside, switches add: S at 450 GB/s. Between, 2 (1/2) S / 8
  // at 50 GB/s: S at 400 GB/s, the slower one. The all-gather of the logits L: 7/8 L at 450 GB/s
  // inside, 1/2 L / 8 at 50 GB/s between: the fabric is the slower one.
  const double s = batch * hidden * 2.0, logits = batch * words * 2.0;
  const double by_hand = 160.0 * s / 400e9 + 7.0 / 8.0 * logits / 450e9;
  CHECK(
      near(pm::communication_time(llama_on_nodes({.tensor = 16}), decode).value(), by_hand, 1e-12));
}

TEST_CASE("nodes: one of three stage transfers leaves its node") {
  // TP4 PP4 on two nodes: each rank sends a quarter of the stage's rows, twice inside a node and
  // once between nodes.
  const double hop = batch / 4.0 * hidden * 2.0 / 4.0;
  const auto d = llama_on_nodes({.tensor = 4, .pipeline = 4});
  auto one = d;
  one.layout.pipeline = 1;
  const pm::iteration of_stage{.batch = batch / 4.0, .context = 1024};
  const double between =
      pm::communication_time(d, decode).value() - pm::communication_time(one, of_stage).value();
  CHECK(near(between, 2.0 * hop / 450e9 + hop / 50e9, 1e-9));
}

TEST_CASE("nodes: a replica on two nodes is feasible with a network, and slower than in a node") {
  const auto policy = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  auto two = llama_on_nodes({.tensor = 16});
  const auto e = pm::step(two, decode, policy);
  CHECK(e.feasible.feasible);
  CHECK(e.time >= pm::step_bound(two, decode).time);
  auto wide = two;  // one node of 16
  wide.device.fabric.ranks = 16;
  CHECK(pm::step(wide, decode, policy).time < e.time);
  const pm::iteration prefill{.prefill_tokens = 8192};
  const auto slow = pm::step(two, prefill, policy).time;
  two.network->bandwidth = 100.0 * pm::GB_per_s;
  CHECK(pm::step(two, decode, policy).time <= e.time);
  CHECK(pm::step(two, prefill, policy).time < slow);
  two.network.reset();
  CHECK(std::string(pm::step_bound(two, decode).feasible.reason) ==
        "the parallel group has more ranks than the fabric joins");
}

TEST_CASE("nodes: a prediction over two nodes is as uncertain as the network between them") {
  const auto policy = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  const auto two = llama_on_nodes({.tensor = 16});
  auto wide = two;  // one node of 16
  wide.device.fabric.ranks = 16;
  const auto names = [](const auto& p, pm::profile_part part) {
    for (const pm::profile_note& n : p.stands_on)
      if (n.part == part) return true;
    return false;
  };
  const auto outside = pm::predict(two, decode, policy), inside = pm::predict(wide, decode, policy);
  CHECK(names(outside, pm::profile_part::network));
  CHECK_FALSE(names(outside, pm::profile_part::links));
  CHECK(names(inside, pm::profile_part::links));
  CHECK_FALSE(names(inside, pm::profile_part::network));
  CHECK(outside.high / outside.low > inside.high / inside.low);
}

TEST_CASE("nodes: experts over two nodes, and what does not fill nodes") {
  pm::deployment d{
      .device = cat::h200_sxm, .model = cat::deepseek_v3, .layout = {.expert = 16, .data = 16}};
  d.network = cat::network_of("h200_sxm");
  const auto e = pm::serving_bound(
      d, {.input_tokens = 1000, .output_tokens = 200, .arrivals = pm::closed_loop{256}});
  CHECK(e.feasible.feasible);
  auto odd = llama_on_nodes({.tensor = 16});
  odd.device.fabric.ranks = 6;
  CHECK(std::string(pm::step_bound(odd, decode).feasible.reason) ==
        "the parallel group does not fill whole nodes");
  odd.network->bandwidth = 0.0 * pm::GB_per_s;
  CHECK(refusal([&] { (void)pm::step_bound(odd, decode); }).starts_with("PM-E010: network.bandw"));
}

TEST_CASE("nodes: the usual network of an accelerator") {
  CHECK(cat::network_of("h100_sxm")->bandwidth.quantity() == 50.0 * pm::GB_per_s);
  CHECK(!cat::network_of("rtx_4090"));
  for (const cat::network_entry& n : cat::networks) CHECK(cat::find_accelerator(n.key));
}

}  // namespace unit_step_over_nodes
