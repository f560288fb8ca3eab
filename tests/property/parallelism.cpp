// What holds for every layout.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/parallel/pipeline.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/parallel/zero.hpp>

namespace property_parallelism {

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
        const auto total = pm::pipeline_parallel_time(1.0 * pm::ms, p, m, v);
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

TEST_CASE("the stages' sum is all layers, and no stage idles needlessly") {
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

TEST_CASE("concurrent with communication: the time of a copy kernel, in its three parts") {
  for (const double compute : {0.0, 0.1, 1.0, 10.0}) {
    for (const double sent : {0.0, 0.2, 1.0, 5.0, 50.0}) {
      for (const double taken : {0.0, 4.0, 20.0, 100.0}) {
        const auto c = compute * pm::ms;
        const auto t = sent * pm::ms;
        const auto e = pm::overlap_with_collective(c, t, 132, taken);
        const auto kernel = pm::overlap_with_sm_copy(c, t, 132, taken);
        CHECK(std::abs(e.time.value() - kernel.value()) <= 1e-15);
        CHECK(e.time >= max(c, t) * (1 - 1e-15));
        CHECK(e.lost >= pm::duration<>{});
        CHECK(e.exposed >= pm::duration<>{});
        if (sent == 0.0) CHECK(e.time == c);
      }
    }
  }
}

TEST_CASE("a data-parallel step: never below compute or communication; one rank adds nothing") {
  for (const auto stage : {pm::zero_stage::none, pm::zero_stage::optimizer,
                           pm::zero_stage::gradients, pm::zero_stage::parameters}) {
    for (const int ranks : {1, 2, 8, 64}) {
      for (const double compute : {1.0, 30.0, 300.0}) {
        pm::duration<> before = 1e9 * pm::second;
        for (double pieces = 1; pieces <= 256; pieces *= 4) {
          const pm::data_parallel_step x{.ranks = ranks,
                                         .parameters = 8e9,
                                         .forward = compute * pm::ms,
                                         .backward = 2 * compute * pm::ms,
                                         .pieces = pieces,
                                         .stage = stage};
          const auto e = pm::data_parallel_time(nvlink, x);
          CHECK(close(e.terms.sum().value(), e.time.value()));
          CHECK(e.time >= 3 * compute * pm::ms * (1 - 1e-14));
          const auto least =
              pm::zero_traffic(stage, ranks, 8e9).quantity() / nvlink.bandwidth.quantity();
          CHECK(e.time >= least * (1 - 1e-13));
          CHECK(e.time <= before * (1 + 1e-13));  // smaller pieces hide no worse at no latency
          if (ranks == 1) CHECK(close(e.time.value(), 3e-3 * compute));
          before = e.time;
        }
      }
    }
  }
}

TEST_CASE("sequence parallelism keeps all activations once, and never more on a rank") {
  for (const int t : {1, 2, 4, 8}) {
    for (const bool scores : {false, true}) {
      pm::layer_activations x{
          .tensor = t, .batch = 2, .tokens = 4096, .hidden = 8192, .heads = 64, .scores = scores};
      const auto whole = pm::activation_bytes(x);
      x.sequence = true;
      const auto shared = pm::activation_bytes(x);
      CHECK(shared <= whole);
      x.tensor = 1;
      CHECK(close((shared * t).value(), pm::activation_bytes(x).value()));
    }
  }
}

}  // namespace property_parallelism
