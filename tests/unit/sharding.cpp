// How tensor parallelism cuts each kind of mixer.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/operators.hpp>

#include "support/mixed_models.hpp"
#include "support/near.hpp"

namespace unit_sharding {

namespace pm = perfmodel;
using namespace perfmodel_test;

namespace {

pm::deployment over(const pm::transformer& m, int tensor) {
  return {.device = pm::catalog::b200_sxm,
          .model = m,
          .layout = {.tensor = tensor},
          .weights = pm::bf16};
}
/// Weights that the ranks hold beyond one copy of the model, norms and routers aside.
double copies(const pm::transformer& m, int tensor) {
  const auto p = pm::parameters(m);
  const double all = tensor * pm::weight_bytes_per_device(over(m, tensor)).value() / 2;
  return all - p.total() - (tensor - 1) * p.other;
}
/// One mixer, n layers of it.
pm::transformer only(const pm::mixer_shape& mixer, double hidden, double layers = 1) {
  return {.hidden = hidden, .vocabulary = 1024, .layers = {{layers, mixer, {}}}};
}
/// What a rank stores of one sequence.
double stored(const pm::transformer& m, int tensor, double context) {
  return pm::detail::sequence_on_device(over(m, tensor), context).value();
}

}  // namespace

TEST_CASE("sharding: what several ranks have whole, and nothing else, is stored several times") {
  const auto check = [](const pm::mixer_shape& mixer, double hidden, int tensor, double expected) {
    INFO("mixer " << mixer.index() << " over " << tensor);
    CHECK(near(copies(only(mixer, hidden, 3), tensor), 3 * expected, 1e-12));
  };
  // 2 KV heads of 256 over 8 ranks: 6 more, keys and values.
  check(qwen_3_5_attention, 4096, 2, 0);
  check(qwen_3_5_attention, 4096, 8, 4096.0 * 6 * 512);
  // Gemma 4's layers without values have keys alone; layers that share a cache have neither.
  auto key = qwen_3_5_attention;
  key.value_is_key = true;
  check(key, 4096, 8, 4096.0 * 6 * 256);
  key.shares_cache = true;
  check(key, 4096, 8, 0);
  // 4 KV heads over 8 ranks, and 7 more indexers: queries of 4 x 128, a key of 128, 4 weights.
  check(minimax_m3_sparse, 6144, 8, 6144.0 * 4 * 256 + 7 * 6144.0 * (512 + 128 + 4));
  // Latents of 1536 + 512 + 64 and an indexer of 13,959,168.
  check(deepseek_v3_2_attention, 7168, 8, 7 * (7168.0 * 2112 + 13959168));
  // Latents of 1024 + 512; compressors; the indexer's queries and weights.
  check(deepseek_v4_window, 4096, 8, 7 * 4096.0 * 1536);
  check(deepseek_v4_heavy, 4096, 4, 3 * 4096.0 * (1536 + 2 * 512));
  check(deepseek_v4_sparse, 4096, 4,
        3 * (4096.0 * (1536 + 4 * 512 + 4 * 128 + 64) + 1024.0 * 64 * 128));
  // 8 groups of heads over 16 ranks: each rank brings 1,024 back.
  check(deepseek_v4_window, 4096, 16, 15 * 4096.0 * 1536 + 8 * 1024 * 4096.0);
  // Heads are cut; KDA's way in to its decay and gate, 128 wide each, is whole.
  check(qwen_3_5_recurrence, 4096, 8, 0);
  check(nemotron_recurrence, 2688, 8, 0);
  check(kimi_recurrence, 2304, 8, 7 * 2304.0 * 256);
  check(minimax_recurrence, 6144, 8, 0);
}

TEST_CASE("sharding: every rank has the whole way to the experts' latent") {
  pm::expert_shape e{.experts = 512,
                     .top_k = 22,
                     .intermediate = 2688,
                     .shared_intermediate = 5376,
                     .gated = false};
  const auto with = [&] {
    return copies({.hidden = 4096, .vocabulary = 1024, .layers = {{40, {}, e}}}, 8);
  };
  CHECK(std::abs(with()) < 1);
  e.latent = 1024;
  CHECK(near(with(), 7 * 40 * 2 * 4096.0 * 1024));
}

TEST_CASE(
    "sharding: every rank has all of a latent, an index and an entry; heads and states are cut") {
  const auto share = [](const pm::mixer_shape& mixer, int tensor) {
    const auto m = only(mixer, 4096);
    return stored(m, tensor, 10000) / stored(m, 1, 10000);
  };
  CHECK(share(minimax_m3_dense, 2) == 0.5);
  CHECK(share(minimax_m3_dense, 8) == 0.25);
  CHECK(share(deepseek_v3_2_attention, 8) == 1);
  CHECK(share(deepseek_v4_sparse, 8) == 1);
  CHECK(share(qwen_3_5_recurrence, 8) == 0.125);
  // Keys and values of 4 heads in bf16, 2,048 bytes, are cut; 256 bytes of the index are not.
  CHECK(stored(only(minimax_m3_sparse, 4096), 4, 1000) == 1000 * (2048 / 4.0 + 256));
  CHECK(near(pm::kv_share(only(minimax_m3_sparse, 4096), 4), (512 + 256) / 2304.0));
  // A model of several: 15 layers of attention with 2 KV heads of 256, 45 of states.
  const double state = 64 * 128 * 128 * 4 + 3 * 12288 * 2;
  CHECK(near(stored(qwen_3_5_397b, 2, 1000), 15 * 1000 * 1024.0 + 45 * state / 2));
  CHECK(near(stored(qwen_3_5_397b, 8, 1000), 15 * 1000 * 1024.0 + 45 * state / 8));
}

TEST_CASE("sharding: ranks have to divide what divides the heads of every mixer") {
  const auto dims = pm::sharded_dims_of(qwen_3_5_397b);
  CHECK(dims.query_heads == 32);  // of 32 and 64
  CHECK(dims.kv_heads == 2);      // of 2, and 16 heads of keys
  CHECK(dims.layers == 60);
  CHECK(dims.experts == 512);
  const auto nano = pm::sharded_dims_of(nemotron_3_nano);
  CHECK(nano.query_heads == 32);
  CHECK(nano.kv_heads == 2);
  const auto odd = pm::sharded_dims_of(pm::transformer{
      .hidden = 64,
      .vocabulary = 64,
      .layers = {{1, pm::attention_shape{.query_heads = 96, .kv_heads = 96, .head_dim = 64}, {}},
                 {1, pm::attention_shape{.query_heads = 64, .kv_heads = 64, .head_dim = 64}, {}}}});
  CHECK(odd.query_heads == 32);
  CHECK_FALSE(pm::sharded_dims_of(deepseek_v3_2).kv_heads.has_value());
  CHECK_FALSE(pm::sharded_dims_of(deepseek_v4_flash).kv_heads.has_value());
  static_assert(pm::detail::common_divisor(96, 64) == 32);
  static_assert(pm::detail::common_divisor(7, 5) == 1);
  static_assert(pm::detail::common_divisor(8, 8) == 8);
}

TEST_CASE("sharding: a model with recurrent states only holds as many sequences of any length") {
  const auto states = only(qwen_3_5_recurrence, 4096, 48);
  const auto d = over(states, 1);
  CHECK(pm::kv_capacity(d, 1000.0).sequences == pm::kv_capacity(d, 1e6).sequences);
  CHECK(pm::kv_capacity(d, 1000.0).sequences > 100);
  CHECK(pm::kv_share(states, 4) == 1);
}

}  // namespace unit_sharding
