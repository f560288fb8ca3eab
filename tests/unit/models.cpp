// Parameter counts, weights and caches of models, against published counts and a second count.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/model/parameters.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/step/memory.hpp>
#include <set>
#include <support/layers.hpp>
#include <support/tables.hpp>

namespace unit_models {

namespace pm = perfmodel;
namespace catalog = pm::catalog;
using perfmodel_test::attention;
using perfmodel_test::dense;
using perfmodel_test::experts;
using perfmodel_test::latent_attention;
using perfmodel_test::routed_layers_of;
using perfmodel_test::test_data;

namespace {

constexpr double GiB = 1073741824.0;

// Any model can be broken: the main model, a copy of a layer without experts, and so on.
pm::transformer broken(void (*change)(pm::transformer&), pm::transformer m = catalog::llama_3_8b) {
  change(m);
  return m;
}
std::string message_of(const pm::transformer& m) {
  try {
    (void)pm::parameters(m);
  } catch (const pm::error& e) {
    return e.what();
  }
  return "accepted";
}

/// Half a unit of the last digit of a number that was published to two or three digits.
double rounding(double published) {
  double unit = 1;
  while (std::fmod(published, 10 * unit) == 0) unit *= 10;
  return published / unit < 1000 ? unit / 2 : 0.0;
}

}  // namespace

TEST_CASE("every model's counts equal those made tensor by tensor") {
  std::set<std::string> seen;
  for (const auto& row : test_data("parameters_by_tensor.tsv")) {
    const pm::transformer* m = catalog::find_model(row.text("model"));
    if (m == nullptr) continue;  // a config.json without a model in the catalogue
    INFO(row.text("model"));
    seen.insert(row.text("model"));
    CHECK(pm::parameters(*m).total() == row.number("total"));
    CHECK(pm::active_parameters(*m) == row.number("active"));
    CHECK(pm::matmul_parameters(*m) == row.number("active_without_embedding"));
    CHECK(pm::kv_bytes_per_token(*m).value() == row.number("kv_bytes_per_token"));
    const double growth = (pm::kv_bytes(*m, 200001.0) - pm::kv_bytes(*m, 200000.0)).value();
    CHECK(growth == row.number("kv_bytes_per_token_without_sliding_layers"));
  }
  CHECK(seen.size() >= 31);
}

TEST_CASE("every model is within 0.5 % of its published size, or its last digit") {
  std::set<std::string> seen;
  for (const auto& row : test_data("published_parameters.tsv")) {
    const catalog::model_entry* entry = catalog::find_model_entry(row.text("model"));
    if (entry == nullptr) continue;
    INFO(row.text("model") << ", from " << row.text("source"));
    seen.insert(row.text("model"));
    const double published = row.number("parameters");
    CHECK(entry->published_parameters == published);
    if (!row.has("active")) continue;
    // Published to two digits, some cut off rather than rounded: 2.5 %.
    const double active = row.text("active_counts_embedding") == "1"
                              ? pm::active_parameters(*entry->model)
                              : pm::matmul_parameters(*entry->model);
    CHECK_THAT(active, Catch::Matchers::WithinRel(row.number("active"), 0.025));
  }
  CHECK(seen.size() >= 31);
  for (const auto& entry : catalog::models) {
    INFO(entry.key << ", from " << entry.source);
    const double published = entry.published_parameters;
    // Its tower is no part of the catalogue's: 34 layers of 1408 and 5632, adapter and projector.
    const double tower = entry.key == std::string_view("llama_4_scout") ? 872e6 : 0.0;
    CHECK_THAT(
        pm::parameters(*entry.model).total() + tower,
        Catch::Matchers::WithinAbs(published, std::max(0.005 * published, rounding(published))));
  }
}

TEST_CASE("parts of a model add up to it") {
  for (const auto& entry : catalog::models) {
    INFO(entry.key);
    const pm::parameter_count p = pm::parameters(*entry.model);
    CHECK(p.attention + p.linear + p.experts + p.expert_biases + p.other + p.embedding + p.head ==
          p.total());
    CHECK((p.experts > 0) == (routed_layers_of(*entry.model) > 0));
    CHECK((p.head > 0) == !entry.model->tied_embeddings);
    CHECK(pm::active_parameters(*entry.model) <= p.total());
  }
}

TEST_CASE(
    "what few models have: norms over all heads, gates, positions, tables of the layers' own") {
  pm::attention_shape a{.query_heads = 8, .kv_heads = 2, .head_dim = 16};
  const double plain = a.extras(512);
  a.qk_norm_whole = true;
  CHECK(a.extras(512) - plain == (8 + 2) * 16);

  auto gated = catalog::deepseek_v3;
  latent_attention(gated).output_gate = true;  // 128 heads of 128, from 7168, in 61 layers
  CHECK(pm::parameters(gated).total() - pm::parameters(catalog::deepseek_v3).total() ==
        61.0 * 7168 * 128 * 128);

  // A position's row and a layer's are looked up, not multiplied.
  for (const auto& plain_model : {catalog::llama_3_8b, catalog::llama_3_2_1b}) {
    auto m = plain_model;
    m.positions = 1024;
    CHECK(pm::parameters(m).embedding - pm::parameters(plain_model).embedding == 1024 * m.hidden);
    CHECK(pm::matmul_parameters(m) == pm::matmul_parameters(plain_model));
    m.layer_embedding = {.width = 64, .vocabulary = 1000};
    const double all = 64 * m.layers.count;
    CHECK(pm::matmul_parameters(m) - pm::matmul_parameters(plain_model) ==
          3 * m.hidden * all + 64 + m.layers.count * m.hidden);
  }

  // Two modules without a layer: a projection of 2 x 4096 to 4096, two norms of it and one, of a
  // layer two.
  auto more = catalog::llama_3_8b;
  more.mtp.emplace();
  more.mtp->times = 2;
  more.mtp->mixer.reset();
  more.mtp->feed_forward.reset();
  CHECK(pm::mtp_parameters(more) == 2.0 * (2.0 * 4096 * 4096 + 5 * 4096));
}

TEST_CASE("a catalogue model is stored as its maker publishes it, and deployed so") {
  namespace accelerators = pm::catalog;
  const pm::deployment oss{.device = accelerators::h100_sxm, .model = catalog::gpt_oss_120b};
  CHECK(pm::fits(oss, 1.0, 8192.0).feasible);  // "runs on a single 80 GB GPU": its model card
  CHECK_FALSE(pm::fits(pm::deployment{.device = accelerators::h100_sxm,
                                      .model = catalog::gpt_oss_120b,
                                      .weights = pm::bf16},
                       1.0, 8192.0)
                  .feasible);
  // The main model of the checkpoint of 689 GB, without the module for multi-token prediction and
  // its 14e9 parameters in addition to the 671e9. All matrices at 8 bits and 32 bits per 128 x 128.
  CHECK_THAT(pm::weight_bytes(catalog::deepseek_v3, catalog::deepseek_v3.stored).value(),
             Catch::Matchers::WithinRel(689e9 * 671.0 / 685.0, 0.01));
  CHECK(catalog::deepseek_r1.stored.linear.group == 16384.0);
  CHECK(catalog::llama_3_70b.stored.linear.bits() == 16.0);
}

TEST_CASE("weights: a quantised part and parts at 16 bits") {
  const auto mxfp4 = pm::weight_storage(pm::bf16, pm::storage_format(pm::fp4, 32, 8), pm::bf16);
  // Model card, table 1: checkpoints of 60.8 and 12.8 GiB.
  CHECK_THAT(pm::weight_bytes(catalog::gpt_oss_120b, mxfp4).value() / GiB,
             Catch::Matchers::WithinAbs(60.8, 0.05));
  CHECK_THAT(pm::weight_bytes(catalog::gpt_oss_20b, mxfp4).value() / GiB,
             Catch::Matchers::WithinAbs(12.8, 0.05));
  // By hand: 36 x 128 x 3 x 2880^2 elements at 4.25 bits, all other parameters at 16.
  const double experts = 36.0 * 128 * 3 * 2880 * 2880;
  CHECK(pm::weight_bytes(catalog::gpt_oss_120b, mxfp4).value() ==
        experts * 0.53125 + (116829156672.0 - experts) * 2.0);
  CHECK(pm::weight_bytes(catalog::gpt_oss_120b, pm::bf16).value() == 2.0 * 116829156672.0);
  // Llama 3 8B in int4 with a 16-bit scale per 128: 32 layers x 218,103,808 weights at 4.125 bits;
  // two tables of 525,336,576 and 65 norms at 16.
  const double linear = 32.0 * 218103808.0;
  CHECK(pm::weight_bytes(catalog::llama_3_8b, pm::storage_format(pm::int4, 128, 16)).value() ==
        linear * 4.125 / 8.0 + 2.0 * (2.0 * 525336576.0 + 65.0 * 4096));
  CHECK(pm::weight_bytes(catalog::llama_3_8b, pm::fp8, pm::fp32).value() ==
        linear + 4.0 * (2.0 * 525336576.0 + 65.0 * 4096));
}

TEST_CASE("a layer of two matrices with biases: Phi-2 by hand") {
  pm::transformer m;
  m.hidden = 2560;
  m.vocabulary = 51200;
  m.layers = {{32,
               pm::attention_shape{.query_heads = 32,
                                   .kv_heads = 32,
                                   .head_dim = 80,
                                   .qkv_bias = true,
                                   .output_bias = true},
               pm::dense_shape{.intermediate = 10240, .gated = false, .bias = true}}};
  m.norms_per_layer = 1;
  m.norm_bias = true;
  m.head_bias = true;
  const double layer =
      4.0 * 2560 * 2560 + 4.0 * 2560 + 2.0 * 2560 * 10240 + 10240 + 2560 + 2.0 * 2560;
  CHECK(pm::parameters(m).total() == 2.0 * 51200 * 2560 + 51200 + 32.0 * layer + 2.0 * 2560);
}

TEST_CASE("a shared expert and its gate: Qwen1.5-MoE-A2.7B by hand") {
  pm::transformer m;
  m.hidden = 2048;
  m.vocabulary = 151936;
  m.layers = {
      {24,
       pm::attention_shape{.query_heads = 16, .kv_heads = 16, .head_dim = 128, .qkv_bias = true},
       pm::expert_shape{.experts = 60,
                        .top_k = 4,
                        .intermediate = 1408,
                        .shared_intermediate = 5632,
                        .shared_gate = true}}};
  const double attention = 4.0 * 2048 * 2048 + 3.0 * 2048;
  const double always = attention + 3.0 * 2048 * 5632 + 2048 + 60.0 * 2048 + 2.0 * 2048;
  const double expert = 3.0 * 2048 * 1408;
  const double tables = 2.0 * 151936 * 2048 + 2048;
  CHECK(pm::parameters(m).total() == tables + 24.0 * (always + 60.0 * expert));
  CHECK(pm::active_parameters(m) == tables + 24.0 * (always + 4.0 * expert));
  CHECK_THAT(pm::parameters(m).total(),
             Catch::Matchers::WithinRel(14.3e9, 0.005));  // model card: 14.3B
  CHECK_THAT(pm::active_parameters(m), Catch::Matchers::WithinRel(2.7e9, 0.02));  // 2.7B activated
}

TEST_CASE("FLOP per token: routed experts count by how many are visited") {
  // 2 x (32 layers x (41,943,040 + 2 x 176,160,768 + 8 x 4096) + 32000 x 4096)
  CHECK(pm::flop_per_token(catalog::mixtral_8x7b).value() ==
        2.0 * (32.0 * (41943040.0 + 2.0 * 176160768.0 + 32768.0) + 131072000.0));
  // Sliding layers see their window: gpt-oss-20b at 1000 tokens, 12 layers of 1000 and 12 of 128.
  const double attention = pm::flop_per_token(catalog::gpt_oss_20b, 1000.0).value() -
                           pm::flop_per_token(catalog::gpt_oss_20b).value();
  CHECK(attention == (12.0 * 1000 + 12.0 * 128) * 64 * 2 * 128);
}

TEST_CASE("over dual numbers a model's size has its derivative") {
  using dual = pm::dual<1>;
  auto m = pm::lift<dual>(catalog::llama_3_70b);
  perfmodel_test::scale_layers(m, dual::variable(80.0, 0) / 80.0);
  const double layer = 2.0 * 8192 * 8192 + 2.0 * 8192 * 1024 + 3.0 * 8192 * 28672 + 2.0 * 8192;
  CHECK(pm::parameters(m).total().value() == 70553706496.0);
  CHECK(pm::parameters(m).total().partial(0) == layer);
  CHECK(pm::kv_bytes_per_token(m).value().partial(0) == 4096.0);
}

TEST_CASE("models that cannot be are refused by the name of the field") {
  CHECK(message_of(catalog::llama_3_8b) == "accepted");
  const auto llama = [](void (*change)(pm::transformer&)) { return message_of(broken(change)); };
  CHECK(llama([](auto& m) { m.layers.count = 0; }).starts_with("model.layers.count is 0"));
  CHECK(llama([](auto& m) { m.layers = {}; }).starts_with("model.layers.count is 0"));
  CHECK(llama([](auto& m) { m.hidden = -1; }).starts_with("model.hidden is -1"));
  CHECK(llama([](auto& m) {
          m.vocabulary = pm::detail::not_a_number;
        }).starts_with("model.vocabulary is not a number"));
  CHECK(llama([](auto& m) { m.hidden = pm::detail::infinity; }).starts_with("model.hidden is"));
  CHECK(llama([](auto& m) {
          dense(m).intermediate = 0;
        }).starts_with("model.layers.feed_forwards.0.shape.intermediate is 0"));
  CHECK(llama([](auto& m) {
          m.layers.mixers[0].layers = 0;
        }).starts_with("model.layers.mixers.0.layers is 0"));
  CHECK(llama([](auto& m) {
          attention(m).query_heads = 0;
        }).starts_with("model.layers.mixers.0.shape.query_heads is 0"));
  CHECK(llama([](auto& m) {
          attention(m).head_dim = 0;
        }).starts_with("model.layers.mixers.0.shape.head_dim is 0"));
  CHECK(llama([](auto& m) { attention(m).kv_heads = 5; }) == "kv_heads must divide query_heads");
  CHECK(llama([](auto& m) {
          attention(m).value_dim = -1;
        }).starts_with("model.layers.mixers.0.shape.value_dim is -1"));
  CHECK(llama([](auto& m) {
          attention(m).window = 0;
        }).starts_with("model.layers.mixers.0.shape.window is 0"));
  CHECK(llama([](auto& m) { attention(m).chunked = true; }) == "chunked attention needs a window");
  CHECK(llama([](auto& m) { m.norms_per_layer = -2; }).starts_with("model.norms_per_layer is -2"));
  CHECK(llama([](auto& m) { m.max_context = 0; }).starts_with("model.max_context is 0"));
  CHECK(llama([](auto& m) { m.layers.count = 31; }) ==
        "layers.count is less than the layers of its kinds");
  CHECK(llama([](auto& m) { m.layers.feed_forwards[0].layers = 33; }) ==
        "layers.count is less than the layers of its kinds");
  const auto mixtral = [](void (*change)(pm::transformer&)) {
    return message_of(broken(change, catalog::mixtral_8x7b));
  };
  CHECK(mixtral([](auto& m) {
          experts(m).experts = 0;
        }).starts_with("model.layers.feed_forwards.0.shape.experts is 0"));
  CHECK(mixtral([](auto& m) {
          experts(m).top_k = 9;
        }).starts_with("model.layers.feed_forwards.top_k is 9"));
  CHECK(mixtral([](auto& m) {
          experts(m).intermediate = 0;
        }).starts_with("model.layers.feed_forwards.0.shape.intermediate is 0"));
  CHECK(mixtral([](auto& m) {
          experts(m).shared_intermediate = -1;
        }).starts_with("model.layers.feed_forwards.0.shape.shared_intermediate is -1"));
  const auto mla = [](void (*change)(pm::transformer&)) {
    return message_of(broken(change, catalog::deepseek_v3));
  };
  CHECK(mla([](auto& m) {
          latent_attention(m).kv_rank = 0;
        }).starts_with("model.layers.mixers.0.shape.kv_rank is 0"));
  CHECK(mla([](auto& m) {
          latent_attention(m).rope_dim = 0;
        }).starts_with("model.layers.mixers.0.shape.rope_dim is 0"));
  CHECK(mla([](auto& m) {
          latent_attention(m).value_dim = 0;
        }).starts_with("model.layers.mixers.0.shape.value_dim is 0"));
  CHECK(mla([](auto& m) {
          latent_attention(m).query_rank = -1;
        }).starts_with("model.layers.mixers.0.shape.query_rank is -1"));
  CHECK(mla([](auto& m) { latent_attention(m).rope_dim = 192; }) ==
        "head_dim must exceed rope_dim, which is part of it");
  CHECK_THROWS_AS(pm::kv_bytes(catalog::llama_3_8b, -1.0), pm::error);
  CHECK_THROWS_AS(pm::flop_per_token(catalog::llama_3_8b, -1.0), pm::error);
}

}  // namespace unit_models
