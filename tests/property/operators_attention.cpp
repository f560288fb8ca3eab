// Laws that hold for every shape: sums term by term, chunks that add up, limits.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <random>

namespace property_operators_attention {

namespace pm = perfmodel;

namespace {
struct shapes {
  std::mt19937 random{20240607};
  double pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); }

  pm::attention_prefill prefill() {
    const double kv_heads = pick(1, 8);
    const auto perhaps = [this](double x) {
      return pick(0, 1) > 0 ? std::optional<double>(x) : std::nullopt;
    };
    return {.batch = pick(1, 8),
            .tokens = pick(1, 300),
            .query_heads = kv_heads * pick(1, 8),
            .kv_heads = kv_heads,
            .head_dim = 16 * pick(1, 16),
            .value_dim = perhaps(16 * pick(1, 16)),
            .format = pm::bf16,
            .kv_format = pick(0, 1) > 0 ? pm::fp8 : pm::bf16,
            .window = perhaps(pick(1, 400)),
            .past = pick(0, 1) * pick(1, 300)};
  }
};

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::fmax(std::abs(a), std::abs(b));
}
}  // namespace

TEST_CASE("causal_pairs is the sum over tokens of what each sees", "[operators]") {
  shapes s;
  for (int i = 0; i < 2000; ++i) {
    const double tokens = s.pick(1, 200), past = s.pick(0, 200), window = s.pick(0, 300);
    double sum = 0;
    double furthest = 0;  // how far back the first token looks: keys beyond the new ones
    for (double t = 1; t <= tokens; ++t) {
      const double seen = window > 0 ? std::fmin(past + t, window) : past + t;
      sum += seen;
      furthest = std::fmax(furthest, seen - t);
    }
    INFO("tokens " << tokens << " past " << past << " window " << window);
    REQUIRE((window > 0 ? pm::causal_pairs(tokens, past, window)
                        : pm::causal_pairs(tokens, past)) == sum);
    pm::attention_prefill a{
        .batch = 1, .tokens = tokens, .query_heads = 1, .kv_heads = 1, .head_dim = 1, .past = past};
    if (window > 0) a.window = window;
    // one head of one dimension: 2 bytes for each query, key and value
    REQUIRE(demand_of(a).dram.read.value() == 2 * tokens + 4 * (tokens + furthest));
  }
}

TEST_CASE("a prompt in chunks does the work of the whole prompt", "[operators]") {
  shapes s;
  for (int i = 0; i < 500; ++i) {
    const pm::attention_prefill whole = s.prefill();
    if (whole.tokens < 2) continue;
    pm::attention_prefill first = whole;
    first.tokens = s.pick(1, static_cast<int>(whole.tokens) - 1);
    pm::attention_prefill second = whole;
    second.tokens = whole.tokens - first.tokens;
    second.past = whole.past + first.tokens;
    const pm::demand a = demand_of(first), b = demand_of(second), w = demand_of(whole);
    REQUIRE(close((a.matrix_flop + b.matrix_flop).value(), w.matrix_flop.value()));
    REQUIRE(a.dram.written + b.dram.written == w.dram.written);
    REQUIRE(a.dram.read + b.dram.read >= w.dram.read);  // chunking reads keys again, never fewer
  }
}

TEST_CASE("a decode step is a prompt of one token over the rest of its context", "[operators]") {
  shapes s;
  for (int i = 0; i < 500; ++i) {
    pm::attention_prefill one = s.prefill();
    one.tokens = 1;
    const pm::attention_decode step{.batch = one.batch,
                                    .context = one.past + 1,
                                    .query_heads = one.query_heads,
                                    .kv_heads = one.kv_heads,
                                    .head_dim = one.head_dim,
                                    .value_dim = one.value_dim,
                                    .format = one.format,
                                    .kv_format = one.kv_format,
                                    .window = one.window};
    const pm::demand p = demand_of(one), d = demand_of(step);
    REQUIRE(close(p.matrix_flop.value(), d.matrix_flop.value()));
    REQUIRE(close(p.dram.read.value(), d.dram.read.value()));
    const double value_dim = one.value_width();
    const double cache_write =
        one.batch * one.kv_heads * (one.head_dim + value_dim) * pm::bytes_of(one.kv_format).value();
    REQUIRE(close(p.dram.written.value() + cache_write, d.dram.written.value()));
  }
}

TEST_CASE("attention: fusing, grouping, windows and 8-bit caches never add work", "[operators]") {
  shapes s;
  for (int i = 0; i < 500; ++i) {
    const pm::attention_prefill a = s.prefill();
    const pm::demand base = demand_of(a);
    pm::attention_prefill b = a;
    b.fused = false;
    REQUIRE(demand_of(b).dram.total() > base.dram.total());
    REQUIRE(demand_of(b).matrix_flop >= base.matrix_flop);
    b = a;
    b.kv_heads = a.query_heads;
    REQUIRE(demand_of(b).dram.total() >= base.dram.total());
    REQUIRE(demand_of(b).matrix_flop == base.matrix_flop);
    b = a;
    b.window = a.tokens + a.past;  // sees everything
    pm::attention_prefill open = a;
    open.window.reset();
    REQUIRE(close(demand_of(b).matrix_flop.value(), demand_of(open).matrix_flop.value()));
    REQUIRE(demand_of(b).dram.total() == demand_of(open).dram.total());
    REQUIRE(base.matrix_flop.value() <= demand_of(open).matrix_flop.value() * (1 + 1e-12));
    REQUIRE(base.dram.total() <= demand_of(open).dram.total());
    b = a;
    b.kv_format = pm::int4;
    REQUIRE(demand_of(b).dram.total() < base.dram.total());
    b = a;
    b.batch = 3 * a.batch;
    REQUIRE(close(demand_of(b).flop().value(), 3 * base.flop().value()));
    REQUIRE(close(demand_of(b).dram.total().value(), 3 * base.dram.total().value()));
  }
}

}  // namespace property_operators_attention
