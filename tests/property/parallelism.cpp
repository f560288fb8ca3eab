// What holds for every layout.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/parallelism.hpp>
#include <perfmodel/zero.hpp>

namespace pm = perfmodel;

namespace {
const pm::interconnect nvlink{
    .kind = pm::link_kind::nvlink, .bandwidth = 450.0 * pm::GB_per_s, .ranks = 1024};
bool close(double a, double b) {
  return std::abs(a - b) <= 1e-13 * std::abs(b);
}
}  // namespace

TEST_CASE("every KV head is held, as often as it is replicated") {
  for (const int heads : {1, 2, 4, 8, 16, 32}) {
    for (const int ranks : {1, 2, 4, 8, 16, 64}) {
      CHECK(pm::kv_heads_per_rank(double(heads), double(ranks)) * ranks ==
            heads * pm::kv_replication(double(heads), double(ranks)));
    }
  }
}

TEST_CASE("the bubble is idle time over all time, and shrinks with microbatches and chunks") {
  for (double p = 1; p <= 32; p *= 2) {
    double before = 1;
    for (double m = 1; m <= 256; m *= 2) {
      for (double v = 1; v <= 4; v *= 2) {
        const auto total = pm::pipeline_time(1.0 * pm::ms, p, m, v);
        const auto idle = total - m * pm::ms;
        CHECK(std::abs(pm::pipeline_bubble(p, m, v) - idle / total) < 1e-12);
      }
      const double b = pm::pipeline_bubble(p, m);
      CHECK(b >= 0.0);
      CHECK(b < 1.0);
      CHECK((p == 1 || b < before));
      CHECK(pm::pipeline_bubble(p, m, 2.0) <= b);
      before = b;
    }
  }
}

TEST_CASE("all stages together hold all layers, and no stage idles needlessly") {
  for (int layers = 1; layers <= 100; ++layers) {
    for (int p = 1; p <= layers; ++p) {
      const double each = pm::layers_per_stage(double(layers), double(p));
      CHECK(each * p >= layers);
      CHECK((each - 1) * p < layers);
    }
  }
}

TEST_CASE("tensor-parallel traffic is linear in layers, batch, tokens and width") {
  const pm::tensor_parallelism x{.ranks = 8, .layers = 10, .batch = 2, .tokens = 3, .hidden = 512};
  const double once = pm::communication_time(nvlink, x).time.value();
  for (const auto field : {&pm::tensor_parallelism::layers, &pm::tensor_parallelism::batch,
                           &pm::tensor_parallelism::tokens, &pm::tensor_parallelism::hidden}) {
    pm::tensor_parallelism y = x;
    y.*field *= 2;
    CHECK(close(pm::communication_time(nvlink, y).time.value(), 2 * once));
  }
}

TEST_CASE("tokens sent to experts: 2 T k d b (N-1)/N, as a sum of both ways") {
  for (const int n : {1, 2, 8, 64, 320}) {
    const pm::expert_parallelism x{.ranks = n, .tokens = 100, .hidden = 7168, .top_k = 8};
    const auto e = pm::communication_time(nvlink, x, pm::alpha_beta{.alpha = 2.0 * pm::us});
    CHECK(close(e.wire.quantity().value() + 1, 2.0 * 100 * 8 * 7168 * 2 * (n - 1) / n + 1));
    CHECK(close(e.terms.sum().value() + 1, e.time.value() + 1));
    CHECK(std::isfinite(e.algbw.quantity().value()));
  }
}

TEST_CASE("sharing out more state never takes more memory; one rank saves nothing") {
  using enum pm::zero_stage;
  for (int n = 1; n <= 4096; n *= 2) {
    double before = 16.0;
    for (const auto stage : {none, optimizer, gradients, parameters}) {
      const double each = pm::zero_bytes_per_parameter(stage, n);
      CHECK(each <= before);
      CHECK(each * n >= 16.0);  // nothing is lost
      if (n == 1) CHECK(each == 16.0);
      before = each;
    }
    CHECK(pm::zero_bytes_per_parameter(parameters, n) * n == 16.0);
  }
}

TEST_CASE("ZeRO-1 and 2 send what plain data parallelism does; ZeRO-3 half as much again") {
  for (int n = 2; n <= 1024; n *= 2) {
    const auto plain = pm::collective_time(nvlink, pm::gradient_all_reduce(n, 7e9, pm::bf16)).wire;
    CHECK(close(pm::zero_traffic(pm::zero_stage::none, n, 7e9) / plain, 1.0));
    CHECK(close(pm::zero_traffic(pm::zero_stage::gradients, n, 7e9) / plain, 1.0));
    CHECK(close(pm::zero_traffic(pm::zero_stage::parameters, n, 7e9) / plain, 1.5));
  }
}
