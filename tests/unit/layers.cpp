// Models with different layers: weights, cache and FLOP of each kind of mixer, worked out here from
// the shapes of published models, and the list that holds them.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/model/parameters.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/step/memory.hpp>
#include <set>

#include "support/mixed_models.hpp"
#include "support/model_fields.hpp"
#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_layers {

namespace pm = perfmodel;
using namespace perfmodel_test;

namespace {

/// Bytes that a sequence adds between two contexts, per token.
double growth(const pm::transformer& m, double from, double to, pm::number_format f = pm::bf16) {
  return (pm::kv_bytes(m, to, f) - pm::kv_bytes(m, from, f)).value() / (to - from);
}
/// FLOP of a token that depend on its context.
double mixing(const pm::transformer& m, double context) {
  return (pm::flop_per_token(m, context) - pm::flop_per_token(m)).value();
}

}  // namespace

TEST_CASE("layers: models of every kind have the sizes that were published") {
  // From the text weights of the published configs, summed tensor by tensor elsewhere.
  const struct {
    const pm::transformer* model;
    double total, active;  // 1e9
  } rows[] = {{&llama_4_scout, 107.77, 17.17},  {&deepseek_v3_2, 671.88, 38.40},
              {&minimax_m3, 426.2, 25.96},      {&qwen_3_5_397b, 396.35, 17.35},
              {&kimi_linear_48b, 49.12, 3.48},  {&nemotron_3_nano, 31.578, 3.580},
              {&minimax_text_01, 456.09, 48.40}};
  for (const auto& row : rows) {
    INFO(row.model->name.view());
    CHECK(near(pm::parameters(*row.model).total(), row.total * 1e9, 3e-4));
    CHECK(near(pm::active_parameters(*row.model), row.active * 1e9, 2e-3));
  }
  // 284.33e9 and 13.80e9 with hyper-connections, 2 x 393,243 in each of 43 layers, which are left
  // out.
  CHECK(near(pm::parameters(deepseek_v4_flash).total(), 284.33e9 - 86 * 393243.0, 1e-4));
  CHECK(near(pm::active_parameters(deepseek_v4_flash), 13.80e9 - 86 * 393243.0, 1e-3));
}

TEST_CASE("layers: the catalogue's models of these names are these, entered a second time") {
  const auto same = [](pm::transformer catalogued, const pm::transformer& m) {
    catalogued.name = m.name;
    catalogued.max_context = {};
    catalogued.mtp = {};
    catalogued.encoder = {};
    catalogued.stored = {};
    CHECK(difference(catalogued, m).empty());
  };
  same(pm::catalog::llama_4_scout, llama_4_scout);
  same(pm::catalog::deepseek_v3_2, deepseek_v3_2);
  same(pm::catalog::minimax_m3, minimax_m3);
  same(pm::catalog::deepseek_v4_flash, deepseek_v4_flash);
  same(pm::catalog::qwen_3_5_397b_a17b, qwen_3_5_397b);
  same(pm::catalog::nemotron_3_nano_30b_a3b, nemotron_3_nano);
}

TEST_CASE("layers: attention in chunks keeps one chunk and sees half of one") {
  // Llama 4 Scout at 100,000 tokens: 36 layers keep 8,192 tokens of 2 x 8 x 128 in bf16, 12 keep
  // all.
  CHECK(pm::kv_bytes(llama_4_scout, 1e5).value() == (36 * 8192.0 + 12 * 1e5) * 2 * 8 * 128 * 2);
  CHECK(pm::kv_bytes(llama_4_scout, 5000).value() == 48 * 5000.0 * 4096);
  CHECK(growth(llama_4_scout, 10000, 20000) == 12 * 4096);
  // A token at a place p of its chunk sees p of 1 .. 8192: 4096.5 on average. 40 heads, 2 x 256
  // each.
  CHECK(mixing(llama_4_scout, 1e5) == (36 * 4096.5 + 12 * 1e5) * 40 * 512);
  CHECK(mixing(llama_4_scout, 1000) == 48 * 1000.0 * 40 * 512);
}

TEST_CASE("layers: an indexer keeps 132 bytes of a token and attention sees what it chooses") {
  const auto p = pm::parameters(deepseek_v3_2);
  const auto before = pm::parameters(pm::catalog::deepseek_v3);
  // Queries 1536 -> 64 x 128, keys 7168 -> 128, weights 7168 -> 64, and a norm with bias.
  const double indexer = 1536.0 * 64 * 128 + 7168.0 * (128 + 64);
  CHECK(indexer == 13959168);
  CHECK(p.attention - before.attention == 61 * indexer);
  CHECK(p.other - before.other == 61 * 2 * 128);
  // 576 elements in bf16; 128 in fp8 and a scale of 4 bytes, whatever the format of the rest.
  CHECK(pm::kv_bytes_per_token(deepseek_v3_2).value() == 61 * (1152 + 132.0));
  CHECK(pm::kv_bytes_per_token(deepseek_v3_2, pm::fp8).value() == 61 * (576 + 132.0));
  CHECK(pm::kv_bytes(deepseek_v3_2, 50000).value() == 50000 * 61 * 1284.0);
  // 2,048 tokens of 128 heads with 2 x (192 + 128), and 64 index heads with 2 x 128 over all.
  CHECK(mixing(deepseek_v3_2, 1e5) == 61 * (2048 * 128 * 640.0 + 1e5 * 64 * 256.0));
  CHECK(mixing(deepseek_v3_2, 1000) == 61 * 1000 * (128 * 640.0 + 64 * 256.0));

  auto shared = deepseek_v3_2_attention;
  shared.indexer->shared = true;  // takes an earlier layer's choice
  const pm::transformer m{.hidden = 7168, .vocabulary = 1000, .layers = {{1, shared, {}}}};
  CHECK(pm::kv_bytes_per_token(m).value() == 1152);
  CHECK(mixing(m, 1e5) == 2048 * 128 * 640.0);
  CHECK(pm::parameters(m).attention == before.attention / 61);

  // MiniMax-M3: 57 layers with 4 index heads over one key of 128 in bf16.
  CHECK(growth(minimax_m3, 1e4, 2e4) == 60 * 2 * 4 * 128 * 2 + 57 * 256);
  CHECK(mixing(minimax_m3, 1e5) == 3 * 1e5 * 64 * 512 + 57 * (2048 * 64 * 512.0 + 1e5 * 4 * 256));
}

TEST_CASE("layers: compressed attention has a window, and an entry for every ratio of tokens") {
  const double h = 4096;
  const auto size = [&](const pm::compressed_attention_shape& a) {
    return a.weights(h) + a.extras(h);
  };
  // Latents h -> 1024 and h -> 512, queries 1024 -> 64 x 512; results of 8 groups of 8 x 512 to
  // 1024 each, and these to h; norms of 1024 and 512, 64 sinks.
  const double window = h * (1024 + 512) + 1024.0 * 32768 + 32768.0 * 1024 + 8 * 1024 * h;
  CHECK(size(deepseek_v4_window) == window + 1024 + 512 + 64);
  CHECK(near(size(deepseek_v4_window), 106.96e6, 1e-4));
  // Ratio 128: two projections h -> 512, positions 128 x 512, a norm.
  const double heavy = 2 * h * 512 + 128 * 512 + 512;
  CHECK(size(deepseek_v4_heavy) - size(deepseek_v4_window) == heavy);
  CHECK(near(heavy, 4.26e6, 1e-3));
  // Ratio 4 overlaps, so twice as wide; its indexer has a compressor of its own, 128 wide.
  const double sparse =
      4 * h * 512 + 4 * 1024 + 512 + 1024.0 * 64 * 128 + h * 64 + 4 * h * 128 + 4 * 256 + 128;
  CHECK(size(deepseek_v4_sparse) - size(deepseek_v4_window) == sparse);
  CHECK(near(sparse, 19.14e6, 1e-3));

  // Beyond the window a token adds a fourth of (entry + index key) in 21 layers, 1/128 in 20.
  CHECK(growth(deepseek_v4_flash, 1024, 2048) == 21 * (1024 + 132) / 4.0 + 20 * 1024 / 128.0);
  CHECK(pm::kv_bytes(deepseek_v4_flash, 131072).value() ==
        2 * 128 * 1024.0 + 21 * ((128 + 32768) * 1024.0 + 32768 * 132.0) +
            20 * (128 + 1024) * 1024.0);
  // In addition, an entry in every layer.
  CHECK(pm::kv_bytes_per_token(deepseek_v4_flash).value() ==
        43 * 1024 + 21 * 1156 / 4.0 + 20 * 8.0);
  CHECK(pm::kv_bytes(deepseek_v4_flash, 128) ==
        128.0 * pm::token * pm::kv_bytes_per_token(deepseek_v4_flash));
  // 4 x 64 x 512 a pair: 128 of the window, 512 chosen of 32,768, or all 1,024; index 2 x 64 x 128.
  CHECK(mixing(deepseek_v4_flash, 131072) ==
        4 * 64 * 512.0 * (43 * 128 + 21 * 512 + 20 * 1024) + 21 * 32768.0 * 2 * 64 * 128);
  CHECK(mixing(deepseek_v4_flash, 1024) ==
        4 * 64 * 512.0 * (43 * 128 + 21 * 256 + 20 * 8) + 21 * 256.0 * 2 * 64 * 128);
}

TEST_CASE("layers: Gated DeltaNet keeps a state for each head of values") {
  const double h = 4096, k = 16 * 128, v = 64 * 128;
  // Queries, keys, values and gate; two numbers a head; the way back.
  CHECK(qwen_3_5_recurrence.weights(h) == h * (2 * k + 2 * v + 2 * 64) + v * h);
  // A convolution of 4 over queries, keys and values; two numbers a head; a norm of a head.
  CHECK(qwen_3_5_recurrence.extras(h) == 4 * (2 * k + v) + 2 * 64 + 128);
  // 45 layers of 64 heads of 128 x 128 in fp32, 188.7 MB, and 3 inputs of 12,288 channels in bf16.
  CHECK(pm::state_bytes(qwen_3_5_397b).value() == 188743680 + 45 * 3 * 12288 * 2);
  CHECK(pm::kv_bytes_per_token(qwen_3_5_397b).value() == 15360 * 2);
  CHECK(pm::kv_bytes(qwen_3_5_397b, 1000).value() == 1000 * 30720);
  // Each state: decayed, read by the key, updated, read by the query: 1 + 2 + 2 + 2 for an element.
  const double recurrent = 45 * 7.0 * 64 * 128 * 128;
  CHECK(mixing(qwen_3_5_397b, 1e5) == 15 * 1e5 * 32 * 1024);
  const auto p = pm::parameters(qwen_3_5_397b);
  const double routed = 60 * (10.0 * 3 * h * 1024 + (512 + 1) * h);
  CHECK(near(pm::flop_per_token(qwen_3_5_397b).value(),
             2 * (p.attention + p.linear + routed + 248320 * h) + recurrent, 1e-12));
  // The gate of its attention is as wide as the result: 32 x 256.
  CHECK(qwen_3_5_attention.weights(h) == h * (2 * 8192 + 2 * 512) + 8192 * h);

  // Qwen3-Next: 36 layers of 32 heads, a convolution over 8,192 channels.
  auto next = qwen_3_5_recurrence;
  next.value_heads = 32;
  const pm::transformer m{.hidden = 2048, .vocabulary = 151936, .layers = {{36, next, {}}}};
  CHECK(pm::state_bytes(m).value() == 36 * (32 * 128 * 128 * 4 + 3 * 8192 * 2));
  CHECK(near(pm::state_bytes(m).value(), 77.27e6, 1e-4));
  CHECK(pm::kv_bytes_per_token(m).value() == 0);
}

TEST_CASE("layers: Kimi Delta Attention decays every dimension of a key") {
  const double h = 2304, w = 32 * 128;
  // Queries, keys, values and the way back; decay and gate through 128 each; one number a head.
  CHECK(kimi_recurrence.weights(h) == 4 * h * w + 2 * (h * 128 + 128 * w) + h * 32);
  CHECK(kimi_recurrence.extras(h) == 4 * 3 * w + 32 + w + 128);
  auto full = kimi_recurrence;
  full.full_rank_gate = true;
  CHECK(full.weights(h) - kimi_recurrence.weights(h) == h * w - (h * 128 + 128 * w));
  CHECK(pm::state_bytes(kimi_linear_48b).value() == 20 * (32 * 128 * 128 * 4 + 3 * 3 * 4096 * 2));
  CHECK(pm::kv_bytes_per_token(kimi_linear_48b).value() == 7 * 576 * 2);
  CHECK(mixing(kimi_linear_48b, 1e5) == 7 * 1e5 * 32 * 640);
}

TEST_CASE("layers: Mamba-2 has no separate feed-forward, and 12.06e6 elements of state") {
  const double h = 2688, inner = 64 * 64, bc = 2 * 8 * 128;
  CHECK(nemotron_recurrence.weights(h) == h * (2 * inner + bc + 64) + inner * h);
  // Convolution of 4 with a bias, three numbers a head, a norm.
  CHECK(nemotron_recurrence.extras(h) == 5 * (inner + bc) + 3 * 64 + inner);
  const double elements = 23 * 64 * 64 * 128;
  CHECK(near(elements, 12.06e6, 1e-3));
  CHECK(pm::state_bytes(nemotron_3_nano).value() == elements * 4 + 23 * 3 * (inner + bc) * 2);
  CHECK(pm::kv_bytes_per_token(nemotron_3_nano).value() == 3072 * 2);
  CHECK(nemotron_3_nano.layers.count == 52);
  // Experts of two matrices: 128 of 1,856, one of 3,712 always on.
  const auto p = pm::parameters(nemotron_3_nano);
  CHECK(p.experts == 23.0 * 128 * 2 * h * 1856);
  CHECK(p.linear == 23.0 * 2 * h * 3712);
  // Decay, update and reading, without a correction: 1 + 2 + 2 for an element.
  CHECK(nemotron_recurrence.flop_per_token(0) == 5.0 * 64 * 64 * 128);
}

TEST_CASE("layers: lightning attention keeps its states in 16 bits and has no convolution") {
  const double h = 6144, w = 64 * 128;
  CHECK(minimax_recurrence.weights(h) == 5 * h * w);  // queries, keys, values, gate, the way back
  CHECK(minimax_recurrence.extras(h) == w);
  CHECK(pm::state_bytes(minimax_text_01).value() == 70 * 64 * 128 * 128 * 2);
  CHECK(pm::kv_bytes_per_token(minimax_text_01).value() == 10 * 2 * 8 * 128 * 2);
  CHECK(minimax_recurrence.flop_per_token(0) == 5.0 * 64 * 128 * 128);
}

TEST_CASE("layers: attention without values of its own, or without a cache of its own") {
  const pm::attention_shape own{.query_heads = 16, .kv_heads = 4, .head_dim = 256};
  auto shares = own;
  shares.shares_cache = true;  // Gemma 3n
  auto key = own;
  key.value_is_key = true;  // Gemma 4
  const double h = 2048;
  CHECK(own.weights(h) == h * (4096 + 2048) + 4096 * h);
  CHECK(shares.weights(h) == 2 * h * 4096);
  CHECK(key.weights(h) == h * (4096 + 1024) + 4096 * h);
  const auto per_token = [&](const pm::attention_shape& a) {
    return pm::kv_bytes_per_token(
               pm::transformer{.hidden = h, .vocabulary = 1000, .layers = {{1, a, {}}}})
        .value();
  };
  CHECK(per_token(own) == 2 * 4 * 256 * 2);
  CHECK(per_token(key) == per_token(own));
  CHECK(per_token(shares) == 0);
}

TEST_CASE("layers: experts on a latent are reached through two projections") {
  const pm::expert_shape e{
      .experts = 512, .top_k = 22, .intermediate = 2688, .latent = 1024, .gated = false};
  const double h = 4096;  // Nemotron-3-Super
  CHECK(e.weights(h) == 2 * h * 1024);
  CHECK(e.expert_weights(h) == 512.0 * 2 * 1024 * 2688);
  CHECK(e.router_weights(h) == 512 * h);
}

TEST_CASE("layers: equal mixers and feed-forwards are stored once with their number") {
  constexpr pm::layer_list list{{3, deepseek_v3_2_attention, pm::dense_shape{18432}},
                                {58, deepseek_v3_2_attention, kimi_experts}};
  static_assert(list.count == 61);
  static_assert(list.mixers.size() == 1 && list.mixers[0].layers == 61);
  static_assert(list.feed_forwards.size() == 2 && list.feed_forwards[1].layers == 58);
  CHECK(nemotron_3_nano.layers.mixers.size() == 2);
  CHECK(nemotron_3_nano.layers.feed_forwards.size() == 1);
  CHECK(deepseek_v4_flash.layers.mixers.size() == 3);

  pm::layer_list many;
  const auto add = [&](double head_dim) {
    many.add({1, pm::attention_shape{.query_heads = 8, .kv_heads = 8, .head_dim = head_dim}, {}});
  };
  for (int kind = 1; kind <= 8; ++kind) add(8 * kind);
  CHECK(many.mixers.full());
  add(64);  // one that it has
  CHECK(many.count == 9);
  CHECK(many.mixers[7].layers == 2);
  const std::string said = refusal([&] { add(72); });
  CHECK(said.starts_with("PM-E010: kinds of mixer is 9; allowed:"));
}

TEST_CASE("layers: shapes that cannot be are refused") {
  const auto why = [](const pm::mixer_shape& mixer) {
    const pm::transformer m{.hidden = 1024, .vocabulary = 1000, .layers = {{2, mixer, {}}}};
    return refusal([&] { (void)pm::parameters(m); });
  };
  CHECK(why(qwen_3_5_recurrence) == "nothing refused");
  auto recurrent = qwen_3_5_recurrence;
  recurrent.key_heads = 24;
  CHECK(why(recurrent) == "PM-E031: key_heads must divide value_heads");
  recurrent.key_heads = 0;
  CHECK(why(recurrent).starts_with("PM-E010: model.layers.mixers.0.shape.key_heads is 0"));
  auto compressed = deepseek_v4_sparse;
  compressed.ratio.reset();
  CHECK(why(compressed) == "PM-E031: an indexer chooses among entries, which need a ratio");
  auto sparse = deepseek_v3_2_attention;
  sparse.indexer->top_k = 0;
  CHECK(why(sparse).starts_with("PM-E010: model.layers.mixers.0.shape.indexer.top_k is 0"));
}

TEST_CASE("layers: every number is lifted and traced by the name of its kind and field") {
  std::set<std::string> names;
  const auto wide =
      pm::map_scalars<pm::interval>(nemotron_3_nano, [&](const pm::field_path& path, double x) {
        CHECK(names.insert(path.text()).second);
        return pm::interval(x);
      });
  for (const char* name :
       {"layers.count", "layers.mixers.0.layers", "layers.mixers.0.shape.conv_kernel",
        "layers.mixers.1.shape.query_heads", "layers.feed_forwards.0.shape.shared_intermediate"}) {
    INFO(name);
    CHECK(names.contains(name));
  }
  CHECK(wide.layers.mixers.size() == 2);
  CHECK(pm::state_bytes(wide).value().lo() == pm::state_bytes(nemotron_3_nano).value());
  for (const pm::transformer* m : mixed_models) {
    INFO(m->name.view());
    CHECK(pm::parameters(pm::lift<pm::interval>(*m)).total().contains(pm::parameters(*m).total()));
    pm::trace t;
    const auto traced = pm::trace_inputs(*m, t, "model");
    CHECK(pm::state_bytes(traced).value().value() == pm::state_bytes(*m).value());
  }
  pm::trace t;
  const auto traced = pm::trace_inputs(kimi_linear_48b, t, "model");
  const auto d = pm::derivation_of(pm::kv_bytes_per_token(traced).value());
  std::set<std::string> inputs;
  for (const auto& i : d.inputs) inputs.insert(i.name);
  CHECK(inputs == std::set<std::string>{"model.layers.mixers.1.layers",
                                        "model.layers.mixers.1.shape.kv_rank",
                                        "model.layers.mixers.1.shape.rope_dim"});
}

TEST_CASE("layers: RWKV-7 has fifteen vectors in addition to its matrices") {
  const pm::recurrent_shape x{.kind = pm::recurrence::rwkv7,
                              .key_heads = 4,
                              .value_heads = 4,
                              .key_dim = 8,
                              .value_dim = 8};
  CHECK(x.extras(32) == 15 * 32);
}

}  // namespace unit_layers
