// Families with layers of other kinds: states for every channel, short convolutions, parallel
// mixers, embeddings of the layers' own.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/config/config_reader.hpp>
#include <perfmodel/model/config/huggingface.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/model/parameters.hpp>
#include <perfmodel/step/operators.hpp>

namespace unit_config_families {

namespace pm = perfmodel;
using Catch::Approx;
using nlohmann::json;

namespace {

const json lfm2 = {{"model_type", "lfm2"},
                   {"architectures", {"Lfm2ForCausalLM"}},
                   {"hidden_size", 2048},
                   {"num_hidden_layers", 16},
                   {"num_attention_heads", 32},
                   {"num_key_value_heads", 8},
                   {"block_ff_dim", 12288},
                   {"block_auto_adjust_ff_dim", true},
                   {"block_ffn_dim_multiplier", 1.0},
                   {"block_multiple_of", 256},
                   {"conv_L_cache", 3},
                   {"conv_dim", 2048},
                   {"full_attn_idxs", {2, 5, 8, 10, 12, 14}},
                   {"vocab_size", 65536}};

const json mamba = {{"model_type", "mamba"},
                    {"architectures", {"MambaForCausalLM"}},
                    {"hidden_size", 2560},
                    {"num_hidden_layers", 64},
                    {"expand", 2},
                    {"state_size", 16},
                    {"time_step_rank", 160},
                    {"conv_kernel", 4},
                    {"use_conv_bias", true},
                    {"vocab_size", 50280},
                    {"tie_word_embeddings", true}};

const json jamba = {{"model_type", "jamba"},       {"architectures", {"JambaForCausalLM"}},
                    {"hidden_size", 4096},         {"intermediate_size", 14336},
                    {"num_hidden_layers", 32},     {"num_attention_heads", 32},
                    {"num_key_value_heads", 8},    {"attn_layer_offset", 4},
                    {"attn_layer_period", 8},      {"expert_layer_offset", 1},
                    {"expert_layer_period", 2},    {"num_experts", 16},
                    {"num_experts_per_tok", 2},    {"mamba_d_conv", 4},
                    {"mamba_d_state", 16},         {"mamba_dt_rank", 256},
                    {"mamba_expand", 2},           {"vocab_size", 65536},
                    {"tie_word_embeddings", false}};

const json falcon_h1 = {{"model_type", "falcon_h1"},   {"architectures", {"FalconH1ForCausalLM"}},
                        {"hidden_size", 3072},         {"intermediate_size", 12288},
                        {"num_hidden_layers", 44},     {"num_attention_heads", 12},
                        {"num_key_value_heads", 2},    {"head_dim", 128},
                        {"mamba_d_ssm", 3072},         {"mamba_n_heads", 24},
                        {"mamba_d_head", 128},         {"mamba_d_state", 256},
                        {"mamba_n_groups", 1},         {"mamba_d_conv", 4},
                        {"vocab_size", 130048},        {"max_position_embeddings", 262144},
                        {"tie_word_embeddings", false}};

const json rwkv7 = {{"model_type", "rwkv7"},
                    {"architectures", {"RWKV7ForCausalLM"}},
                    {"hidden_size", 2560},
                    {"num_hidden_layers", 32},
                    {"head_dim", 64},
                    {"hidden_act", "sqrelu"},
                    {"intermediate_size", 10240},
                    {"decay_low_rank_dim", 96},
                    {"a_low_rank_dim", 96},
                    {"v_low_rank_dim", 64},
                    {"gate_low_rank_dim", 320},
                    {"vocab_size", 65536}};

json gemma_with_layer_embeddings() {
  json types = json::array();
  for (int i = 0; i < 35; ++i) types.push_back(i % 5 == 4 ? "full_attention" : "sliding_attention");
  return {{"model_type", "gemma4_text"},
          {"hidden_size", 1536},
          {"intermediate_size", 6144},
          {"num_hidden_layers", 35},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 1},
          {"head_dim", 256},
          {"global_head_dim", 512},
          {"layer_types", types},
          {"sliding_window", 512},
          {"num_kv_shared_layers", 20},
          {"use_double_wide_mlp", true},
          {"hidden_size_per_layer_input", 256},
          {"vocab_size_per_layer_input", 262144},
          {"vocab_size", 262144}};
}

pm::transformer read(const json& file) {
  return pm::from_config(file).model;
}
std::string refusal_of(json file, const char* key, const json& value) {
  file[key] = value;
  try {
    (void)pm::from_config(file);
  } catch (const pm::error& e) {
    return e.what();
  }
  return "nothing refused";
}
template <class Shape>
Shape mixer(const pm::transformer& m) {
  for (const auto& kind : m.layers.mixers) {
    if (const auto* x = std::get_if<Shape>(&kind.shape)) return *x;
  }
  FAIL("no such mixer");
  return {};
}

}  // namespace

TEST_CASE("a width that is adjusted: two thirds, cut, then up to a multiple", "[models]") {
  const auto width = [](int stated) {
    json file = lfm2;
    file["block_ff_dim"] = stated;
    const auto m = read(file);
    return std::get<pm::dense_shape>(m.layers.feed_forwards[0].shape).intermediate;
  };
  CHECK(width(1000) == 768);  // 666
  CHECK(width(1153) == 768);  // 768.7
  CHECK(width(1155) == 1024);
}

TEST_CASE("parameters of other families are as published", "[models]") {
  // LiquidAI/LFM2-1.2B's card has 1,170,340,608; state-spaces/mamba-2.8b-hf has 2,768,345,600
  // tensors' elements, as a count by hand gives: 64 (26,214,400 + 25,600 + 983,040 + 824,320 +
  // 81,920 + 5,120 + 13,107,200 + 2,560) + 2,560 + 128,716,800.
  CHECK(parameters(read(lfm2)).total() == 1170340608.0);
  CHECK(parameters(read(mamba)).total() == 2768345600.0);
  // Jamba 1.5 Mini: 51,570,323,328, of which 28 x 288 are norms of its step sizes, B and C.
  CHECK(parameters(read(jamba)).total() == 51570323328.0 - 28.0 * 288.0);
  CHECK(active_parameters(read(jamba)) == Approx(12e9).epsilon(0.02));  // published "12B active"
  CHECK(parameters(read(falcon_h1)).total() == Approx(7.59e9).epsilon(1e-3));  // its name's "7B"
  CHECK(parameters(read(rwkv7)).total() == Approx(2.95e9).epsilon(0.005));
}

// Files written from the models' public cards, with the counts that the cards or the checkpoints
// state.
TEST_CASE("families with fields of other names, or in groups", "[models]") {
  std::ifstream file(PERFMODEL_SOURCE_DIR "/tests/data/config_families.json");
  REQUIRE(file);
  for (const json& row : json::parse(file)) {
    INFO(row["name"].get<std::string>());
    const pm::transformer m = read(row["config"]);
    double total = parameters(m).total();
    if (row["name"] == "ernie_vl") total += m.encoder->parameters;
    CHECK(total == Approx(row["parameters"].get<double>()).epsilon(row["within"].get<double>()));
    if (row.contains("active"))
      CHECK(matmul_parameters(m) == Approx(row["active"].get<double>()).epsilon(0.055));
  }
}

TEST_CASE("what layers share, and what a layer has twice", "[models][kv]") {
  std::ifstream file(PERFMODEL_SOURCE_DIR "/tests/data/config_families.json");
  json configs;
  for (const json& row : json::parse(file)) configs[row["name"].get<std::string>()] = row["config"];
  const auto line = [&](const char* name) {
    return kv_bytes_per_token(read(configs[name]), pm::bf16).value();
  };
  CHECK(line("hunyuan_large") == 32.0 * 2 * 8 * 128 * 2);     // each second of 64 layers
  CHECK(line("longcat_flash") == 28.0 * 2 * (512 + 64) * 2);  // two attentions in each of 28
  CHECK(line("glm4_9b") == 40.0 * 2 * 2 * 128 * 2);           // two groups
  CHECK(line("step3") == 61.0 * 2 * 256 * 2);                 // one head of 256
  CHECK(line("starcoder") == 40.0 * 2 * 128 * 2);             // one KV head, by multi_query
  CHECK(line("falcon_7b") == 32.0 * 2 * 64 * 2);              // one, though it says num_kv_heads 71
  CHECK(line("codestral_mamba") == 0.0);                      // states alone
  CHECK(kv_growth_per_token(read(configs["recurrentgemma_2b"]), pm::bf16).value() == 0.0);
  CHECK(line("decilm_7b") == 80.0 * 2 * 128 * 2);      // 13 layers of 4 heads, 9 of 2, 10 of 1
  CHECK(line("mistral_large_3") == 61.0 * 576 * 2);    // MLA in a params.json
  CHECK(line("deepseek_ocr") == 12.0 * 2 * 1280 * 2);  // no MLA, though it names its widths as 0
  json grouped = configs["falcon_7b"];
  grouped.update({{"new_decoder_architecture", true},
                  {"num_attention_heads", 64},
                  {"hidden_size", 4096},
                  {"num_kv_heads", 8}});
  CHECK(kv_bytes_per_token(read(grouped), pm::bf16).value() == 32.0 * 2 * 8 * 64 * 2);
  // RG-LRU: 18 of 26 layers keep a state in fp32 and three inputs of the convolution in bf16.
  const auto griffin = mixer<pm::recurrent_shape>(read(configs["recurrentgemma_2b"]));
  CHECK(griffin.state_bytes().value() == 2560.0 * 4 + 3 * 2560 * 2);
  // A token takes 12 experts out of 512 real and 256 empty ones: 8 compute on average.
  const pm::transformer m = read(configs["longcat_flash"]);
  CHECK(pm::experts_of(m)->top_k == 8.0);
  CHECK(pm::experts_of(m)->shared_intermediate == 12288.0);
  // Step-3: queries through 2048 columns, so 7168 x (2048 + 512) + 2048 x 16384 + 16384 x 7168.
  CHECK(mixer<pm::attention_shape>(read(configs["step3"])).weights(7168.0) ==
        7168.0 * 2560 + 2048.0 * 16384 + 16384.0 * 7168);
  // All of them go through a pass: 2 FLOP for each weight but the tables'.
  const pm::deployment d{.device = pm::catalog::h100_sxm, .model = read(configs["step3"])};
  double weights = 0.0;
  for_each_operator(d, pm::iteration{.batch = 1, .context = 1}, [&](const pm::basic_operator<>& o) {
    if (o.name == std::string_view("query projection")) weights += o.times * o.weights.value();
  });
  CHECK(weights == 61.0 * 2048 * 16384 * 2);
  json shared = configs["gpt2"];
  shared["num_mem_blocks"] = 2;
  CHECK(refusal_of(shared, "n_head", 12).find("num_mem_blocks is 2") == 0);
}

TEST_CASE("a family with biased projections has them with any attention_bias", "[models]") {
  // GPT-2: 768 x 4 biases of attention in a layer.
  json gpt2 = {{"model_type", "gpt2"}, {"architectures", {"GPT2LMHeadModel"}},
               {"n_embd", 768},        {"n_layer", 12},
               {"n_head", 12},         {"n_positions", 1024},
               {"vocab_size", 50257}};
  const double biased = pm::parameters(read(gpt2)).total();
  CHECK(biased == 124439808.0);  // the published count
  gpt2["attention_bias"] = false;
  CHECK(pm::parameters(read(gpt2)).total() == biased);
}

TEST_CASE("a tower for sound counts as one for images", "[models]") {
  json spoken = lfm2;
  spoken["audio_config"] = {
      {"d_model", 1280}, {"encoder_layers", 32}, {"encoder_ffn_dim", 5120}, {"num_mel_bins", 128}};
  // Whisper large-v3's encoder has 636.8 M, of which 1500 x 1280 are positions.
  const double bridge = 1280.0 * 2048;
  CHECK(read(spoken).encoder->parameters - bridge == Approx(636.8e6 - 1.92e6).epsilon(0.005));
}

TEST_CASE("classifiers have no head, and Qwen2-VL's tower its own width", "[models]") {
  json file = {{"model_type", "qwen2"},       {"architectures", {"Qwen2ForCausalLM"}},
               {"hidden_size", 3584},         {"num_hidden_layers", 28},
               {"num_attention_heads", 28},   {"num_key_value_heads", 4},
               {"intermediate_size", 18944},  {"vocab_size", 152064},
               {"tie_word_embeddings", false}};
  const double whole = parameters(read(file)).total();
  file["architectures"] = {"Qwen2ForSequenceClassification"};
  CHECK(parameters(read(file)).total() == whole - 152064.0 * 3584);
  // Qwen2-VL-7B's tower has 675.8e6: its hidden_size is the width of the text.
  file["architectures"] = {"Qwen2VLForConditionalGeneration"};
  file["vision_config"] = {{"depth", 32},
                           {"embed_dim", 1280},
                           {"mlp_ratio", 4},
                           {"num_heads", 16},
                           {"hidden_size", 3584},
                           {"patch_size", 14},
                           {"spatial_merge_size", 2},
                           {"temporal_patch_size", 2}};
  CHECK(read(file).encoder->parameters == Approx(675.8e6).epsilon(0.005));
}

TEST_CASE("a tower for images, term by term", "[models]") {
  // A block: 4 x 3 x 7, 2 x 3 x 5 and 4 x 3 are 126; patches 3 x 4 x 3 = 36, positions 33, the
  // projector of two merged patches 36 + 6 x 13 = 114.
  pm::detail::encoder_widths w{.layers = 2,
                               .hidden = 3,
                               .intermediate = 5,
                               .attention = 7,
                               .kv_width = 7,
                               .patch = 2,
                               .positions = 11,
                               .merged = 2};
  CHECK(pm::detail::encoder_parameters(w, 13) == 2 * 126 + 36 + 33 + 114);
  w.gated = true;  // 3 x 5 more in each block
  w.mergers = 3;
  CHECK(pm::detail::encoder_parameters(w, 13) == 2 * 141 + 36 + 33 + 3 * 114);
}

TEST_CASE("layers keep the states of their kind", "[models][kv]") {
  // 10 convolutions of 2048 channels keep 2 tokens of 2 bytes.
  CHECK(pm::state_bytes(read(lfm2)).value() == 10.0 * 2048 * 2 * 2);
  CHECK(kv_bytes_per_token(read(lfm2), pm::bf16).value() == 6.0 * 2 * 8 * 64 * 2);
  // 64 layers of 5120 channels: 16 states of 4 bytes, and 3 inputs of 2 bytes.
  CHECK(pm::state_bytes(read(mamba)).value() == 64.0 * 5120 * (16 * 4 + 3 * 2));
  CHECK(kv_bytes_per_token(read(mamba), pm::bf16).value() == 0.0);
  // Jamba: one layer of eight attends.
  CHECK(kv_bytes_per_token(read(jamba), pm::bf16).value() == 4.0 * 2 * 8 * 128 * 2);
  // Falcon-H1: 44 layers have both.
  CHECK(kv_bytes_per_token(read(falcon_h1), pm::bf16).value() == 44.0 * 2 * 2 * 128 * 2);
  CHECK(mixer<pm::recurrent_shape>(read(falcon_h1)).kind == pm::recurrence::mamba2);
  CHECK(pm::state_bytes(read(falcon_h1)).value() ==
        44.0 * (24.0 * 256 * 128 * 2 + 3.0 * (2 * 256 + 3072) * 2));
  // RWKV-7: 40 states of 64 x 64 in fp32, and the token before this one of mixer and feed-forward.
  CHECK(pm::state_bytes(read(rwkv7)).value() == 32.0 * (40.0 * 64 * 64 * 4 + 2.0 * 2560 * 2));
}

TEST_CASE("layers with embeddings of their own read rows of a table", "[models]") {
  const pm::transformer m = read(gemma_with_layer_embeddings());
  REQUIRE(m.layer_embedding);
  const pm::parameter_count p = parameters(m);
  CHECK(p.embedding == 262144.0 * 1536 + 262144.0 * 35 * 256);
  // 15 feed-forwards of 6144, 20 of twice that; to 35 x 256 once, to a gate and back in each layer.
  CHECK(p.linear == 3.0 * 1536 * 6144 * (15 + 2 * 20) + 3.0 * 1536 * 35 * 256);
  // Gemma 4 E2B: "2.3B effective", without what is only looked up.
  CHECK(matmul_parameters(m) == Approx(2.3e9).epsilon(0.02));
  // A pass reads the layers' rows, and not their table.
  const pm::deployment d{.device = pm::catalog::h100_sxm, .model = m};
  double read_bytes = 0.0;
  for_each_operator(
      d, pm::iteration{.batch = 1, .context = 1024},
      [&](const pm::basic_operator<>& o) { read_bytes += o.times * o.weights.value(); });
  CHECK(read_bytes == Approx(2.0 * matmul_parameters(m)).epsilon(0.001));
}

TEST_CASE("fields that other families have are checked", "[models][errors]") {
  CHECK(refusal_of(lfm2, "conv_L_cache", 1).find("conv_L_cache is 1; allowed") == 0);
  CHECK(refusal_of(lfm2, "full_attn_idxs", {16}).find("full_attn_idxs holds 16; allowed") == 0);
  CHECK(refusal_of(jamba, "attn_layer_period", 0).find("attn_layer_period is 0; allowed") == 0);
  CHECK(refusal_of(rwkv7, "head_dim", 63).find("head_dim is 63; allowed: a divisor") == 0);
  CHECK(refusal_of(mamba, "time_step_rank", "much").find("time_step_rank is \"much\"") == 0);
  json repeated = jamba;
  repeated["num_experts_per_tok"] = json(std::vector<int>(32, 2));
  CHECK(parameters(read(repeated)).total() == parameters(read(jamba)).total());
  repeated["num_experts_per_tok"][7] = 3;
  CHECK(refusal_of(repeated, "model_type", "jamba").find("a list of equal numbers") !=
        std::string::npos);
}

}  // namespace unit_config_families
