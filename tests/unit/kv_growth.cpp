// What one more token adds to a long sequence, against the difference of two caches.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>

namespace unit_kv_growth {

namespace pm = perfmodel;
namespace catalog = pm::catalog;
using Catch::Matchers::WithinRel;

namespace {

void check_growth(const pm::transformer& m) {
  CAPTURE(m.name.view());
  for (const pm::storage_format format : {pm::storage_format(pm::bf16), {pm::fp8, 128, 32}}) {
    const double c = 262144;
    const double grown = (kv_bytes(m, c + 1024, format) - kv_bytes(m, c, format)).value();
    CHECK_THAT(kv_growth_per_token(m, format).value(), WithinRel(grown / 1024, 1e-12));
  }
}

pm::transformer with(std::initializer_list<pm::layer_shape> layers) {
  return {.name = "by hand", .hidden = 4096, .vocabulary = 32000, .layers = layers};
}

}  // namespace

TEST_CASE("every model of the catalogue grows by what its cache grows by") {
  for (const auto& entry : catalog::models) check_growth(*entry.model);
}

TEST_CASE("layers with a full window add nothing, others what they add from the start") {
  // gpt-oss-120b: 18 layers of 2 x 8 x 64 elements of 2 bytes; Llama 3 70B: 80 of 2 x 8 x 128.
  CHECK(kv_growth_per_token(catalog::gpt_oss_120b).value() == 18 * 2 * 8 * 64 * 2);
  CHECK(kv_bytes_per_token(catalog::gpt_oss_120b).value() == 36 * 2 * 8 * 64 * 2);
  CHECK(kv_growth_per_token(catalog::llama_3_70b).value() == 327680);
  CHECK(kv_growth_per_token(catalog::deepseek_v3).value() == 61 * 576 * 2);
}

TEST_CASE(
    "an indexer adds its keys, a compressed attention an entry now and then, a state nothing") {
  const pm::attention_indexer indexer{.heads = 64, .dim = 128, .top_k = 2048};
  const pm::latent_attention_shape sparse{.query_heads = 128,
                                          .head_dim = 192,
                                          .value_dim = 128,
                                          .kv_rank = 512,
                                          .rope_dim = 64,
                                          .indexer = indexer};
  const pm::compressed_attention_shape compressed{.query_heads = 64,
                                                  .head_dim = 512,
                                                  .query_rank = 1024,
                                                  .output_groups = 8,
                                                  .output_rank = 1024,
                                                  .window = 128,
                                                  .ratio = 4.0,
                                                  .indexer = indexer};
  pm::compressed_attention_shape window = compressed;
  window.ratio.reset();
  window.indexer.reset();
  const pm::recurrent_shape state{
      .key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .conv_kernel = 4.0};
  const pm::dense_shape ffn{11008};
  // 576 elements of 2 bytes and 128 of 1 with a 4-byte scale; 512 of 2 bytes and 132 every 4
  // tokens.
  CHECK(kv_growth_per_token(with({{3, sparse, ffn}})).value() == 3 * (1152 + 132));
  CHECK(kv_growth_per_token(with({{5, compressed, ffn}})).value() == 5 * (1024 + 132) / 4.0);
  CHECK(kv_growth_per_token(with({{2, window, ffn}, {7, state, ffn}})).value() == 0.0);
  check_growth(with({{3, sparse, ffn}, {5, compressed, ffn}, {2, window, ffn}, {7, state, ffn}}));
}

}  // namespace unit_kv_growth
