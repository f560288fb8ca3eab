// The model catalogue against a second table, filled in from the config.json files by itself.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/model/parameters.hpp>
#include <set>
#include <support/model_fields.hpp>
#include <support/tables.hpp>

namespace catalog_models {

namespace pm = perfmodel;
namespace catalog = pm::catalog;

namespace {

// Stored formats and prediction modules have their second entry in config.json alone, see
// tests/unit/huggingface.cpp.
pm::transformer tabulated_part(pm::transformer m) {
  m.stored = {};
  m.mtp = {};
  return m;
}

/// The numbers of one row, noting which columns were asked for.
struct row_of_shapes {
  const common::table_row& row;
  std::set<std::string>& asked;

  std::optional<double> maybe(const std::string& column) const {
    asked.insert(column);
    if (row.text(column) == "-") return {};
    return row.number(column);
  }
  double number(const std::string& column) const { return maybe(column).value_or(0.0); }
  bool flag(const std::string& column) const { return number(column) == 1.0; }
};

pm::mixer_shape tabulated_mixer(const row_of_shapes& r, std::optional<double> window) {
  pm::attention_shape a{.query_heads = r.number("attention.query_heads"),
                        .kv_heads = r.number("attention.kv_heads"),
                        .head_dim = r.number("attention.head_dim"),
                        .value_dim = r.maybe("attention.value_dim"),
                        .window = window,
                        .qkv_bias = r.flag("attention.qkv_bias"),
                        .output_bias = r.flag("attention.output_bias"),
                        .qk_norm = r.flag("attention.qk_norm"),
                        .sinks = r.flag("attention.sinks")};
  const pm::latent_attention_shape latent{.query_heads = a.query_heads,
                                          .head_dim = a.head_dim,
                                          .value_dim = a.value_width(),
                                          .kv_rank = r.number("attention.latent.kv_rank"),
                                          .rope_dim = r.number("attention.latent.rope_dim"),
                                          .query_rank = r.maybe("attention.latent.query_rank")};
  if (latent.kv_rank > 0) return latent;
  return a;
}

/// The model that a row describes: some layers dense and the others routed, some with a window.
pm::transformer tabulated_model(const row_of_shapes& r) {
  pm::transformer m;
  m.name = r.row.text("name").c_str();
  r.asked.insert("name");
  m.hidden = r.number("hidden");
  m.vocabulary = r.number("vocabulary");
  const double layers = r.number("layers"), routed = r.number("moe.layers"),
               windows = r.number("sliding_layers");
  const std::optional<double> window = r.maybe("window");
  const pm::dense_shape dense{r.number("intermediate"), r.flag("gated"), r.flag("ffn_bias")};
  const double shared = r.number("moe.shared_intermediate");
  const pm::expert_shape experts{
      .experts = r.number("moe.experts"),
      .top_k = r.number("moe.top_k"),
      .intermediate = r.number("moe.intermediate"),
      .shared_intermediate = shared > 0 ? std::optional(shared) : std::nullopt,
      .router_bias = r.flag("moe.router_bias"),
      .expert_bias = r.flag("moe.expert_bias"),
      .shared_gate = r.flag("moe.shared_gate")};
  if (windows > 0) m.layers.add({windows, tabulated_mixer(r, window), {}});
  if (layers > windows) m.layers.add({layers - windows, tabulated_mixer(r, {}), {}});
  if (layers > routed) m.layers.add({layers - routed, {}, dense});
  if (routed > 0) m.layers.add({routed, {}, experts});
  m.layers.count = layers;
  m.norms_per_layer = r.number("norms_per_layer");
  m.norm_bias = r.flag("norm_bias");
  m.tied_embeddings = r.flag("tied_embeddings");
  m.head_bias = r.flag("head_bias");
  m.max_context = r.maybe("max_context");
  return m;
}

}  // namespace

TEST_CASE("the catalogue has every model that the tool promises") {
  for (const char* name :
       {"llama_2_7b", "llama_2_70b", "llama_3_8b", "llama_3_70b", "llama_3_1_405b", "qwen_2_5_3b",
        "qwen_3_32b", "qwen_3_235b_a22b", "mistral_7b", "mixtral_8x7b", "gemma_3_27b",
        "gpt_oss_20b", "gpt_oss_120b", "deepseek_v3"}) {
    INFO(name);
    CHECK(catalog::find_model(name) != nullptr);
  }
}

TEST_CASE("every row of the catalogue is named once, has a source, and exists") {
  std::set<std::string> keys;
  for (const catalog::model_entry& entry : catalog::models) {
    INFO(entry.key);
    CHECK(keys.insert(entry.key).second);
    CHECK(entry.model->name.view() == entry.key);
    CHECK(catalog::find_model(entry.key) == entry.model);
    CHECK(catalog::find_model_entry(entry.key) == &entry);
    CHECK(std::string(entry.source).size() > 20);
    CHECK(entry.published_parameters > 0);
    CHECK((entry.how == pm::basis::vendor || entry.how == pm::basis::derived));
    CHECK_NOTHROW(pm::checked(*entry.model));
  }
}

TEST_CASE("the catalogue equals its second entry, field by field and row by row") {
  const auto table = perfmodel_test::test_data("models_second_entry.tsv");
  const std::set<std::string> columns(table.header->columns.begin(), table.header->columns.end());
  CHECK(columns.size() == table.header->columns.size());

  std::set<std::string> rows, asked;
  for (const auto& row : table.rows) {
    INFO(row.text("name"));
    CHECK(rows.insert(row.text("name")).second);
    const pm::transformer* m = catalog::find_model(row.text("name"));
    REQUIRE(m != nullptr);
    CHECK(perfmodel_test::difference(tabulated_part(*m), tabulated_model({row, asked})).empty());
  }
  CHECK(columns == asked);  // no column without a field
  // The second entry of a later model is its config.json alone, which tests/unit/huggingface.cpp
  // reads.
  CHECK(rows.size() >= 31);
}

TEST_CASE("parameters are within 0.5 % of the published count") {
  // Counted with a tower, rounded in a name, or with what the shapes leave out.
  const std::set<std::string_view> rounded{"llama_4_scout", "kimi_k3", "nemotron_h_56b",
                                           "minimax_m2_5", "minimax_m2_7"};
  for (const catalog::model_entry& entry : catalog::models) {
    INFO(entry.key);
    const double ratio = pm::parameters(*entry.model).total() / entry.published_parameters;
    CHECK(std::abs(ratio - 1.0) < (rounded.contains(entry.key) ? 0.013 : 0.005));
  }
}

// By hand: 2 x layers x KV heads x head dimension x 2 bytes, or layers x 576 x 2 bytes for MLA; of
// layers with a window only before it is full.
TEST_CASE("KV bytes of a token within and beyond the windows") {
  struct row {
    const char* model;
    double within, beyond;
  };
  for (const row& r :
       {row{"qwen_3_14b", 2 * 40 * 8 * 128 * 2, 2 * 40 * 8 * 128 * 2},
        {"qwen_3_4b", 2 * 36 * 8 * 128 * 2, 2 * 36 * 8 * 128 * 2},
        {"qwen_3_1_7b", 2 * 28 * 8 * 128 * 2, 2 * 28 * 8 * 128 * 2},
        {"qwen_2_5_72b", 2 * 80 * 8 * 128 * 2, 2 * 80 * 8 * 128 * 2},
        {"llama_3_2_3b", 2 * 28 * 8 * 128 * 2, 2 * 28 * 8 * 128 * 2},
        {"llama_3_3_70b", 327680, 327680},
        {"qwen_3_235b_a22b_2507", 2 * 94 * 4 * 128 * 2, 2 * 94 * 4 * 128 * 2},
        {"qwen_3_30b_a3b_2507", 2 * 48 * 4 * 128 * 2, 2 * 48 * 4 * 128 * 2},
        {"qwen_3_coder_480b_a35b", 2 * 62 * 8 * 128 * 2, 2 * 62 * 8 * 128 * 2},
        {"qwen_3_next_80b_a3b", 2 * 12 * 2 * 256 * 2, 2 * 12 * 2 * 256 * 2},
        {"qwen_3_6_35b_a3b", 2 * 10 * 2 * 256 * 2, 2 * 10 * 2 * 256 * 2},
        {"deepseek_v3_1", 61 * 576 * 2, 61 * 576 * 2},
        {"kimi_k2_6", 61 * 576 * 2, 61 * 576 * 2},
        {"kimi_linear_48b_a3b", 7 * 576 * 2, 7 * 576 * 2},
        {"glm_4_7", 2 * 92 * 8 * 128 * 2, 2 * 92 * 8 * 128 * 2},
        {"glm_4_7_flash", 47 * 576 * 2, 47 * 576 * 2},
        {"glm_5_1", 78 * (576 * 2 + 132), 78 * (576 * 2 + 132)},
        {"devstral_2_123b", 2 * 88 * 8 * 128 * 2, 2 * 88 * 8 * 128 * 2},
        {"command_a", 2 * 64 * 8 * 128 * 2, 2 * 16 * 8 * 128 * 2},
        {"exaone_4_32b", 2 * 64 * 8 * 128 * 2, 2 * 16 * 8 * 128 * 2},
        {"hunyuan_a13b", 2 * 32 * 8 * 128 * 2, 2 * 32 * 8 * 128 * 2},
        {"mimo_v2_5_pro", 70 * 8 * (192 + 128) * 2, 10 * 8 * (192 + 128) * 2},
        {"granite_4_h_small", 2 * 4 * 8 * 128 * 2, 2 * 4 * 8 * 128 * 2},
        {"gemma_4_26b_a4b", 2 * 2 * (25 * 8 * 256 + 5 * 2 * 512), 2 * 2 * 5 * 2 * 512},
        {"gpt_oss_120b", 2 * 36 * 8 * 64 * 2, 2 * 18 * 8 * 64 * 2}}) {
    INFO(r.model);
    const pm::transformer& m = *catalog::find_model(r.model);
    CHECK(pm::kv_bytes_per_token(m).value() == r.within);
    CHECK(pm::kv_growth_per_token(m).value() == r.beyond);
  }
}

}  // namespace catalog_models
