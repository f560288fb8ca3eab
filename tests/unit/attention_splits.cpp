// Into how many parts attention kernels cut keys and values, counted by hand.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/kernels/attention_profile.hpp>
#include <perfmodel/kernels/catalog/attention.hpp>

namespace unit_attention_splits {

namespace pm = perfmodel;

namespace {

/// 200 thread blocks on 100 SMs.
constexpr pm::attention_kernels two_blocks{
    .max_splits = 32.0, .blocks_per_sm = 2.0, .partial_row_cycles = 300.0};

constexpr double parts(const pm::attention_prefill& w,
                       const pm::attention_kernels& k = two_blocks) {
  return pm::detail::prefill_splits(w, k, 100.0);
}

}  // namespace

TEST_CASE("attention splits: decode cuts contexts into whole blocks while places are free") {
  // Groups of 96 queries are 2 tiles: 3 x 2 x 2 = 12 for 200 places, so 16 parts each. 24 blocks of
  // 128 tokens (23.4) over 16 are 2 each: 12 parts.
  pm::attention_decode w{
      .batch = 3, .context = 3000, .query_heads = 192, .kv_heads = 2, .head_dim = 128};
  const auto cut = pm::detail::splits_of(w, two_blocks, 100.0);
  CHECK(cut.tiles == 12);
  CHECK(cut.concurrent_blocks == 200);
  CHECK(cut.chunk == 2);
  CHECK(cut.count == 12);
  // No more than the kernel has: 5 parts of 5 blocks. A window of 500 leaves 4 blocks.
  pm::attention_kernels few = two_blocks;
  few.max_splits = 5.0;
  CHECK(pm::detail::splits_of(w, few, 100.0).chunk == 5);
  CHECK(pm::detail::splits_of(w, few, 100.0).count == 5);
  w.window = 500.0;
  CHECK(pm::detail::splits_of(w, two_blocks, 100.0).chunk == 1);
  CHECK(pm::detail::splits_of(w, two_blocks, 100.0).count == 4);
  // 300 sequences fill the places.
  w.batch = 300;
  CHECK(pm::detail::splits_of(w, two_blocks, 100.0).chunk == 4);
  CHECK(pm::detail::splits_of(w, two_blocks, 100.0).count == 1);
}

TEST_CASE("attention splits: prefill cuts keys into parts of 128 while places are free") {
  // 100 tokens of a group of 3 queries are 3 tiles of 128 rows: 2 x 2 x 3 = 12 for 200 places, 16
  // parts.
  pm::attention_prefill w{
      .batch = 2, .tokens = 100, .query_heads = 6, .kv_heads = 2, .head_dim = 128, .past = 1500};
  CHECK(parts(w) == 13);  // 1600 keys are 12.5 parts
  w.past = 5000;
  CHECK(parts(w) == 16);
  w.window = 300.0;  // and 128 before the first row
  CHECK(parts(w) == 4);
  w.batch = 100;
  CHECK(parts(w) == 1);
  pm::attention_kernels whole = two_blocks;
  whole.partial_row_cycles.reset();
  w.batch = 2;
  CHECK(parts(w, whole) == 1);
}

TEST_CASE("attention tiles: heads of a group share the tiles of short prefills") {
  pm::attention_prefill w{
      .batch = 64, .tokens = 16, .query_heads = 32, .kv_heads = 4, .head_dim = 64};
  const auto tiles = [&](const pm::attention_kernels& k) {
    return pm::detail::tiles_of(w, k).count;
  };
  // 16 tokens of 8 heads are 128 rows, two tiles of 64; by heads each has a tile of its own.
  CHECK(tiles(pm::catalog::flashinfer) == 64 * 4 * 2);
  CHECK(tiles(pm::catalog::flash_attention_3) == 64 * 4 * 2);
  CHECK(tiles(pm::catalog::flash_attention_2) == 64 * 32);
  // From a whole tile per head on nothing changes.
  w.tokens = 64;
  CHECK(tiles(pm::catalog::flashinfer) == tiles(pm::catalog::flash_attention_2));
  // One token runs as a decode: 40 heads on one KV head are one tile.
  w = {.batch = 256, .tokens = 1, .query_heads = 40, .kv_heads = 1, .head_dim = 128};
  for (const pm::attention_kernels* k :
       {&pm::catalog::flash_attention_2, &pm::catalog::flash_attention_3, &pm::catalog::flashinfer,
        &pm::catalog::tensorrt_llm}) {
    INFO(k->name.c_str());
    CHECK(tiles(*k) == 256);
    CHECK(pm::detail::tiles_of(w, *k).rows == 64);
  }
  w.tokens = 2;
  CHECK(tiles(pm::catalog::tensorrt_llm) == 256 * 40);
}

TEST_CASE("attention tiles: keys are whole tiles where these are longer than tiles of rows") {
  // 100 queries are a tile of 128 rows, after 100 keys: 228, or two tiles of 256 keys.
  const pm::attention_prefill w{
      .batch = 1, .tokens = 100, .query_heads = 4, .kv_heads = 2, .head_dim = 128, .past = 100};
  pm::attention_kernels k = two_blocks;
  k.tile_rows = 128.0;
  k.tile_keys = 128.0;
  CHECK(pm::detail::tiles_of(w, k).longest_columns == 228);
  k.tile_keys = 192.0;
  CHECK(pm::detail::tiles_of(w, k).longest_columns == 384);
}

}  // namespace unit_attention_splits
