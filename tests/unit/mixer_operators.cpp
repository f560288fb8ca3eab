// What a rank of two runs of each kind of mixer and feed-forward, counted by hand.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <perfmodel/step/operators.hpp>
#include <string>
#include <type_traits>

#include "support/near.hpp"

namespace unit_mixer_operators {

namespace pm = perfmodel;
using perfmodel_test::near;

namespace {

/// The properties of an operator that its law decides: count, bytes of the cache, and workload
/// shape.
struct asked {
  double times = 0.0, cache = 0.0, weights = 0.0;
  std::array<double, 6> shape{};
};

std::array<double, 6> shape_of(const pm::gemm& g) {
  return {g.m, g.k, g.n};
}
std::array<double, 6> shape_of(const pm::attention_decode& x) {
  return {x.batch, x.context, x.query_heads, x.kv_heads, x.window.value_or(0.0)};
}
std::array<double, 6> shape_of(const pm::attention_prefill& x) {
  return {x.batch, x.tokens, x.past, x.query_heads, x.kv_heads, x.window.value_or(0.0)};
}
std::array<double, 6> shape_of(const pm::basic_mla_decode<>& x) {
  return {x.batch, x.context, x.heads};
}
std::array<double, 6> shape_of(const pm::basic_index_scores<>& x) {
  return {x.sequences, x.tokens, x.past, x.ratio};
}
std::array<double, 6> shape_of(const pm::basic_gathered_attention<>& x) {
  return {x.sequences, x.tokens, x.seen, x.entries, x.heads};
}
std::array<double, 6> shape_of(const pm::basic_linear_recurrence<>& x) {
  return {x.sequences, x.tokens, x.heads, x.key_heads, x.chunk, x.conv_state.value()};
}
std::array<double, 6> shape_of(const pm::swiglu& x) {
  return {x.tokens, x.hidden, x.intermediate};
}
std::array<double, 6> shape_of(const pm::moe_ffn& x) {
  return {x.tokens, x.hidden, x.intermediate, x.tensor_parallel, x.expert_parallel};
}
std::array<double, 6> shape_of(const pm::basic_embedding<>& x) {
  return {x.tokens, x.vocabulary, x.hidden};
}
std::array<double, 6> shape_of(const pm::basic_lora_gemm<>& x) {
  return {x.tokens, x.depth, x.width};
}
std::array<double, 6> shape_of(const pm::basic_norm<>& x) {
  return {x.rows, x.width};
}

/// The operators of a step by name, with ", prefill" in a mixed step.
using operators = std::map<std::string, asked>;

constexpr pm::iteration mixed{.batch = 6,
                              .context = 1000,
                              .prefill_tokens = 800,
                              .prefill_past = 700,
                              .prefill_sequences = 2,
                              .tokens_per_sequence = 3};
constexpr double rows = 6 * 3 + 800;

operators over_two(const pm::transformer& m, const pm::iteration& i = mixed, int ranks = 2) {
  pm::deployment d{.model = m, .layout = {.tensor = ranks}};
  d.device.dram.capacity = 100.0 * pm::GB;
  d.device.dram.bandwidth = 1.0 * pm::TB_per_s;
  d.weights = pm::bf16;
  operators all;
  pm::for_each_operator(d, i, [&](const pm::basic_operator<>& o, const auto& workload) {
    std::string name = o.part ? std::string(o.name) + ", " + o.part : o.name;
    if (all.contains(name)) name += ", second";
    all[name] = {o.times, o.cache.value(), o.weights.value(), shape_of(workload)};
  });
  return all;
}
operators of_mixer(const pm::mixer_shape& mixer, const pm::iteration& i = mixed, int ranks = 2) {
  return over_two({.hidden = 64, .vocabulary = 100, .layers = {{3, mixer, {}}}}, i, ranks);
}

void is(const operators& all, const std::string& name, double times, double cache,
        const std::array<double, 6>& shape) {
  INFO(name);
  REQUIRE(all.contains(name));
  const asked& o = all.at(name);
  CHECK(near(o.times, times));
  CHECK(near(o.cache, cache));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    INFO("number " << i << " is " << o.shape[i] << ", by hand " << shape[i]);
    CHECK(near(o.shape[i], shape[i]));
  }
}
/// In bf16, of 3 layers.
void is_gemm(const operators& all, const std::string& name, double k, double n) {
  is(all, name, 3, 0, {rows, k, n});
  CHECK(all.at(name).weights == 2 * k * n);
}

const pm::attention_shape grouped{.query_heads = 8,
                                  .kv_heads = 4,
                                  .head_dim = 16,
                                  .value_dim = 24.0,
                                  .query_rank = 40.0,
                                  .window = 500.0,
                                  .output_gate = true};
const pm::attention_indexer chooses{.heads = 3, .dim = 8, .top_k = 256, .cache = pm::bf16};

}  // namespace

TEST_CASE("mixer operators: attention of 4 heads and 2 KV heads a rank, under a window") {
  const operators all = of_mixer(grouped);
  // 40 for the queries, 2 keys and values of 16 + 24, and a gate as wide as 4 results of 24.
  is_gemm(all, "qkv projection", 64, 40 + 2 * 40 + 96);
  is_gemm(all, "query projection", 40, 4 * 16);
  is_gemm(all, "output projection", 96, 64);
  // 2 x 40 elements of 2 bytes a token. Three tokens at once see up to 502 and are written.
  is(all, "sliding attention", 3, 6 * (502 + 3) * 160.0, {6, 1001, 12, 2, 500});
  is(all, "sliding attention, prefill", 3, 2 * (500 + 400) * 160.0, {2, 400, 700, 4, 2, 500});

  auto other = grouped;
  other.value_is_key = true;
  is_gemm(of_mixer(other), "qkv projection", 64, 40 + 2 * 16 + 96);
  other.shares_cache = true;
  is_gemm(of_mixer(other), "qkv projection", 64, 40 + 96);
  other = grouped;
  other.query_rank.reset();
  other.output_gate = false;
  is_gemm(of_mixer(other), "qkv projection", 64, 4 * 16 + 2 * 40);
}

TEST_CASE("mixer operators: attention in chunks of 500 and of 160 tokens") {
  auto chunks = grouped;
  chunks.chunked = true;
  // Half of a chunk is seen, and three tokens more or less. A prompt of 400 after 700 is one whole
  // chunk at most.
  is(of_mixer(chunks), "sliding attention", 3, 6 * (250.5 + 2 + 3) * 160.0,
     {6, 1001, 12, 2, 250.5});
  is(of_mixer(chunks), "sliding attention, prefill", 3, 2 * (100 + 400) * 160.0,
     {2, 400, 100, 4, 2, 500});
  chunks.window = 160.0;
  is(of_mixer(chunks), "sliding attention, prefill", 3, 2 * 2.5 * 160 * 160.0,
     {2 * 2.5, 160, 0, 4, 2, 160});
}

TEST_CASE("mixer operators: an indexer scores every token and attention sees 256") {
  auto sparse = grouped;
  sparse.window.reset();
  sparse.indexer = chooses;
  const operators all = of_mixer(sparse);
  is_gemm(all, "index projections", 64, 3 * 8);
  is_gemm(all, "index keys", 64, 8 + 3);
  is(all, "index scores", 3, 6 * (999 + 3) * 16.0, {6, 3, 999, 1});
  is(all, "index scores, prefill", 3, 2 * (700 + 400) * 16.0, {2, 400, 700, 1});
  is(all, "attention", 3, 6 * (258 + 3) * 160.0, {6, 1001, 12, 2, 256});
  is(all, "attention, prefill", 3, 2 * (256 + 400) * 160.0, {2, 400, 700, 4, 2, 256});
  sparse.indexer->shared = true;
  CHECK_FALSE(of_mixer(sparse).contains("index scores"));
}

TEST_CASE("mixer operators: less than one prompt of one token is that share of its operators") {
  const pm::iteration little{.batch = 6,
                             .context = 1000,
                             .prefill_tokens = 0.3,
                             .prefill_past = 10,
                             .prefill_sequences = 0.6,
                             .steady = true};
  auto sparse = grouped;
  sparse.indexer = chooses;
  const operators all = of_mixer(sparse, little);  // 0.6 prompts of half a token
  is(all, "sliding attention, prefill", 3 * 0.3, (10 + 1) * 160.0, {1, 1, 10, 4, 2, 256});
  is(all, "index scores, prefill", 3 * 0.3, (10 + 1) * 16.0, {1, 1, 10, 1});
  is(all, "qkv projection", 3, 0, {6 + 0.3, 64, 216});
  const pm::recurrent_shape recurrent{
      .key_heads = 4, .value_heads = 8, .key_dim = 16, .value_dim = 24};
  CHECK(near(of_mixer(recurrent, little).at("recurrence, prefill").times, 3 * 0.3));
  const pm::compressed_attention_shape compressed{.query_heads = 8,
                                                  .head_dim = 16,
                                                  .query_rank = 40,
                                                  .output_groups = 4,
                                                  .output_rank = 12,
                                                  .window = 128};
  CHECK(near(of_mixer(compressed, little).at("attention, prefill").times, 3 * 0.3));
  // Alone they have no part to be told from.
  pm::iteration alone = little;
  alone.batch = 0;
  alone.prefill_tokens = 600;
  is(of_mixer(sparse, alone), "index scores", 3 * 0.6, (10 + 1000) * 16.0, {1, 1000, 10, 1});
}

TEST_CASE("mixer operators: latent attention keeps 40 elements, whole on every rank") {
  pm::latent_attention_shape latent{.query_heads = 8,
                                    .head_dim = 24,
                                    .value_dim = 20,
                                    .kv_rank = 32,
                                    .rope_dim = 8,
                                    .query_rank = 40.0,
                                    .output_gate = true};
  operators all = of_mixer(latent);
  is_gemm(all, "latent projections", 64, 40 + 32 + 8);
  is_gemm(all, "query projection", 40, 4 * 24);
  is_gemm(all, "key and value projections", 32, 4 * (16 + 20));
  is_gemm(all, "output gate", 64, 4 * 20);
  is_gemm(all, "output projection", 4 * 20, 64);
  is(all, "attention", 3, 6 * (1000 + 3) * 80.0, {6, 1001, 12});
  is(all, "attention, prefill", 3, 2 * (700 + 400) * 80.0, {2, 400, 700, 4, 4, 0});
  latent.indexer = chooses;
  all = of_mixer(latent);
  is_gemm(all, "index projections", 40, 3 * 8);
  is(all, "attention", 3, 6 * (256 + 3) * 80.0, {6, 256, 12});
  // 400 new tokens choose 256 of up to 1100 latents of 40, 32 of which are the value.
  is(all, "attention, prefill", 3, 2 * (256 + 400) * 80.0, {2, 400, 256, 1100, 4});
}

TEST_CASE("mixer operators: compressed attention has a window of 128 and an entry for 4 tokens") {
  pm::compressed_attention_shape a{.query_heads = 8,
                                   .head_dim = 16,
                                   .query_rank = 40,
                                   .output_groups = 4,
                                   .output_rank = 12,
                                   .window = 128,
                                   .ratio = 4.0,
                                   .indexer = chooses};
  a.indexer->top_k = 50;
  operators all = of_mixer(a);
  is_gemm(all, "latent projections", 64, 40 + 16);
  is_gemm(all, "query projection", 40, 4 * 16);
  is_gemm(all, "compressor", 64, 2 * (16 + 8));
  is_gemm(all, "index projections", 40, 3 * 8);
  is_gemm(all, "index weights", 64, 3);
  // Two groups of 2 heads a rank, of 12 each.
  is(all, "output latents", 6, 0, {rows, 2 * 16, 12});
  is_gemm(all, "output projection", 2 * 12, 64);
  // A token sees 128 + 50 of 128 + 1002 / 4 entries; three tokens read more than there are.
  is(all, "attention", 3, 6 * (378.5 + 3) * 32.0, {6, 3, 178, 378.5, 4});
  is(all, "index scores", 3, 6 * 1002 / 4.0 * 16, {6, 3, 999, 4});
  is(all, "attention, prefill", 3, 2 * (403 + 400) * 32.0, {2, 400, 178, 403, 4});
  is(all, "index scores, prefill", 3, 2 * 1100 / 4.0 * 16, {2, 400, 700, 4});
  pm::iteration one = mixed;
  one.tokens_per_sequence = 1;
  is(of_mixer(a, one), "attention", 3, 6 * (178 + 1) * 32.0, {6, 1, 178, 128 + 250, 4});
  // Over 8 ranks each has one head and a whole way back.
  all = of_mixer(a, mixed, 8);
  is(all, "output latents", 3, 0, {rows, 16, 12});
  is(all, "output projection", 3, 0, {rows, 12, 64});
  // Without an index every entry is seen, a fourth of 400 x 700 and 1 + 2 + ... + 400 tokens.
  a.indexer.reset();
  is(of_mixer(a), "attention, prefill", 3, 2 * (403 + 400) * 32.0,
     {2, 400, 128 + (280000 + 80200) / 400.0 / 4, 403, 4});
  a.ratio.reset();
  is(of_mixer(a), "attention, prefill", 3, 2 * (128 + 400) * 32.0, {2, 400, 128, 128, 4});
}

TEST_CASE("mixer operators: a recurrence reads and writes its states") {
  const pm::recurrent_shape a{.kind = pm::recurrence::kimi_delta,
                              .key_heads = 4,
                              .value_heads = 8,
                              .key_dim = 16,
                              .value_dim = 24,
                              .conv_kernel = 4.0};
  const operators all = of_mixer(a);
  // Ways in to the decay, 16, and the gate, 24, are whole. Of 4 x 16 queries and keys and 8 x 24
  // values, 8 numbers of heads, and the ways from 16 to 64 and from 24 to 192, a rank has half.
  const double halved = (2 * 64 + 192 + 8) + (16 * 64 + 24 * 192) / 64.0;
  is_gemm(all, "recurrent projections", 64, 16 + 24 + halved / 2);
  is_gemm(all, "output projection", 96, 64);
  // 3 inputs of 2 x 64 + 192 channels in bf16 and 8 states of 16 x 24 in fp32, of which a rank has
  // half.
  const double inputs = 3 * 320 * 2 / 2.0, states = 8 * 16 * 24 * 4 / 2.0;
  is(all, "recurrence", 3, 6 * 2 * (states + inputs), {6, 3, 4, 2, 64, inputs});
  is(all, "recurrence, prefill", 3, 2 * 2 * (states + inputs), {2, 400, 4, 2, 64, inputs});
}

TEST_CASE("mixer operators: embeddings, norms, the head, and experts on a latent") {
  const pm::expert_shape routed{
      .experts = 16, .top_k = 2, .intermediate = 20, .shared_intermediate = 48.0, .latent = 32.0};
  const pm::transformer m{
      .hidden = 64,
      .vocabulary = 100,
      .layers = {{3, {}, routed}, {2, {}, pm::dense_shape{.intermediate = 144}}},
      .layer_embedding = pm::layer_embedding{.width = 10, .vocabulary = 50}};
  const operators all = over_two(m);
  is(all, "feed-forward", 2, 0, {rows, 64, 72});
  CHECK(all.at("feed-forward").weights == 3 * 64 * 72 * 2);
  is(all, "shared experts", 3, 0, {rows, 64, 24});
  is(all, "router", 3, 0, {rows, 64, 16});
  is(all, "to the experts' latent", 3, 0, {rows, 64, 32});
  is(all, "from the experts' latent", 3, 0, {rows, 32, 64});
  is(all, "experts", 3, 0, {rows, 32, 20, 2, 1});
  CHECK(near(all.at("experts").weights, 16 * 3 * 32 * 20 / 2.0 * 2));  // 818 tokens touch all 16
  // Rows for all 5 layers at once, and what hidden is projected to, of which a rank has half.
  is(all, "embedding", 1, 0, {rows, 100, 64});
  is(all, "embedding, second", 1, 0, {rows, 50, 5 * 10});
  is(all, "to the layers' embedding", 1, 0, {rows, 64, 5 * 10 / 2});
  is(all, "to the layer's embedding", 5, 0, {rows, 64, 5});
  is(all, "from the layer's embedding", 5, 0, {rows, 5, 64});
  is(all, "norms", 2 * 5 + 1, 0, {rows, 64});
  // 0.6 prompts in the mean pass, without decodes: no pass of decodes reads experts.
  const operators prompts =
      over_two(m, {.prefill_tokens = 60, .prefill_sequences = 0.6, .steady = true});
  is(prompts, "experts", 3 * 0.6, 0, {100, 32, 20, 2, 1});
  CHECK_FALSE(prompts.contains("experts, second"));
  const operators decodes = over_two(m, {.batch = 6, .context = 10});
  is(decodes, "experts", 3, 0, {6, 32, 20, 2, 1});
  CHECK_FALSE(decodes.contains("experts, second"));
  // 3 tokens of 6 sequences and the last of 2 prompts have logits, over half of the words.
  is(all, "head", 1, 0, {6 * 3 + 2, 64, 50});
}

}  // namespace unit_mixer_operators
