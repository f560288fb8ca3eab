// Parts of reading a config.json: names of modules, JSON as Python writes it, what a checkpoint
// stores.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <perfmodel/model/config/config_fields.hpp>
#include <perfmodel/model/config/huggingface.hpp>
#include <perfmodel/model/parameters.hpp>
#include <string>
#include <support/layers.hpp>
#include <utility>
#include <vector>

namespace unit_config_parts {

namespace pm = perfmodel;
using nlohmann::json;
using pm::detail::glob_matches;
using pm::detail::pattern_names;

namespace {

const json routed = {{"architectures", {"Qwen3MoeForCausalLM"}},
                     {"model_type", "qwen3_moe"},
                     {"hidden_size", 64},
                     {"num_hidden_layers", 12},
                     {"vocab_size", 100},
                     {"num_attention_heads", 4},
                     {"num_key_value_heads", 2},
                     {"num_experts", 8},
                     {"num_experts_per_tok", 2},
                     {"moe_intermediate_size", 32},
                     {"torch_dtype", "bfloat16"}};

pm::model_config quantised(const json& q) {
  json file = routed;
  file["quantization_config"] = q;
  return pm::from_config(file);
}
std::string refusal_of(const json& file) {
  try {
    (void)pm::from_config(file);
  } catch (const pm::error& e) {
    return e.what();
  }
  return "nothing refused";
}
json with(json file, const char* key, const json& value) {
  file[key] = value;
  return file;
}

}  // namespace

TEST_CASE("patterns name modules as the libraries that write them mean it", "[models]") {
  CHECK(glob_matches("model.layers.*.self_attn*", "model.layers.12.self_attn.o_proj"));
  CHECK_FALSE(glob_matches("model.layers.1*", "model.layers.2.mlp"));
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("**a**", "bab"));
  // Linear in the text: a pattern of many stars against a long name ends at once.
  CHECK_FALSE(glob_matches(std::string(2000, '*') + "x", std::string(20000, 'a')));
  const char* const gate = "re:.*mlp\\.(gate|up|gate_up|down)_proj.*";
  CHECK(pattern_names(gate, "model.layers.3.mlp.up_proj"));
  CHECK(pattern_names(gate, "model.layers.3.mlp.gate_proj"));
  CHECK_FALSE(pattern_names(gate, "model.layers.3.mlp.experts.0.w1"));
  CHECK(pattern_names("re:.*self_attn.*", "model.layers.3.self_attn.o_proj"));
  CHECK(pattern_names("re:^lm_head$", "lm_head"));
  CHECK_FALSE(pattern_names("re:^lm_head$", "model.lm_head"));
  CHECK(pattern_names("gate", "model.layers.3.mlp.gate"));
  CHECK_FALSE(pattern_names("gate", "model.layers.3.mlp.gate_proj"));  // a part between dots
  CHECK_FALSE(pattern_names("", "lm_head"));
  CHECK(pattern_names("re:((", "anything"));  // what is no expression stands for anything
}

TEST_CASE("JSON as Python writes it is read", "[models]") {
  const json read = json::parse(pm::json_from_python(
      R"({"a": [0.0, Infinity, -Infinity], "b": "NaN \" Infinity", "c": NaN})"));
  CHECK(read["a"][1].is_null());
  CHECK(read["a"][2].is_null());
  CHECK(read["b"] == "NaN \" Infinity");
  CHECK(read["c"].is_null());
}

TEST_CASE("parts that a checkpoint leaves out keep their format", "[models]") {
  const auto nvfp4 = quantised({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}});
  CHECK(nvfp4.stored.attention.bits() == 4.5);
  CHECK(nvfp4.stored.experts.bits() == 4.5);
  json ignored = json::array({"lm_head"});
  for (int i = 0; i < 12; ++i)
    ignored.push_back("model.layers." + std::to_string(i) + ".self_attn*");
  const auto experts_alone = quantised(
      {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"exclude_modules", ignored}});
  CHECK(experts_alone.stored.attention.bits() == 16.0);
  CHECK(experts_alone.stored.linear.bits() == 4.5);
  const auto one_layer = quantised({{"quant_method", "modelopt"},
                                    {"quant_algo", "NVFP4"},
                                    {"exclude_modules", {"model.layers.3.self_attn*"}}});
  CHECK(std::abs(one_layer.stored.attention.bits() - (11 * 4.5 + 16) / 12) < 1e-12);
  const auto mixed = quantised(
      {{"quant_method", "modelopt"},
       {"quant_algo", "MIXED_PRECISION"},
       {"quantized_layers",
        {{"model.layers.0.mlp.experts", {{"quant_algo", "W4A16_NVFP4"}, {"group_size", 16}}},
         {"model.layers.0.self_attn.o_proj", {{"quant_algo", "FP8"}}}}}});
  // One of 12 layers; o_proj is 4,096 of a layer's 12,288 weights of attention.
  CHECK(std::abs(mixed.stored.experts.bits() - (4.5 + 11 * 16) / 12) < 1e-12);
  CHECK(mixed.stored.attention.format == pm::fp8);
  CHECK(std::abs(mixed.stored.attention.bits() - (8.0 + 35 * 16) / 36) < 1e-12);
  CHECK(mixed.stored.linear.bits() == 16.0);
  CHECK_FALSE(mixed.kv);
}

TEST_CASE("the cache's scheme, and a quantisation in a file of its own", "[models]") {
  const auto scheme = quantised({{"quant_method", "modelopt"},
                                 {"quant_algo", "FP8"},
                                 {"kv_cache_scheme", {{"num_bits", 8}, {"type", "float"}}}});
  REQUIRE(scheme.kv);
  CHECK(scheme.kv->format == pm::fp8);
  const json beside = {{"quantization", {{"quant_algo", "NVFP4"}, {"kv_cache_quant_algo", "FP8"}}}};
  const auto both = pm::from_config(routed, "x", &beside);
  CHECK(both.stored.experts.bits() == 4.5);
  CHECK(both.kv->format == pm::fp8);
  const json group = {{"weight", {{"dtype", "fp8_e4m3"}}}};
  const json quark = {{"quant_method", "quark"}, {"global_quant_config", group}};
  CHECK_FALSE(quantised(quark).kv);
  CHECK(quantised(with(quark, "export", {{"kv_cache_group", {"*k_proj", "*v_proj"}}})).kv->format ==
        pm::fp8);
  CHECK(quantised({{"quant_method", "fp8"}, {"kv_cache_scheme", "static"}}).kv->format == pm::fp8);
  // Names of other wrappers: 12 of 12 layers.
  CHECK(quantised({{"quant_method", "fp8"}, {"ignore", {"thinker.model.layers.*.self_attn*"}}})
            .stored.attention.bits() == 16.0);
  json typed = routed;
  typed["expert_dtype"] = "fp4";
  CHECK(pm::from_config(typed).stored.experts.bits() == 4.25);
  CHECK(pm::from_config(typed).stored.attention.bits() == 16.0);
}

TEST_CASE("layers by lists, letters and intervals; contradictions are refused", "[models]") {
  const auto kinds = [](const json& file) {
    std::string out;
    for (const auto& kind : pm::from_config(file).model.layers.mixers) {
      out += std::to_string(static_cast<int>(kind.layers)) + ":" +
             std::to_string(kind.shape.index()) + " ";
    }
    return out;
  };
  const json delta =
      with(with(with(with(with(routed, "linear_num_key_heads", 2), "linear_num_value_heads", 4),
                     "linear_key_head_dim", 16),
                "linear_value_head_dim", 16),
           "linear_conv_kernel_dim", 4);
  CHECK(kinds(with(delta, "full_attention_interval", 4)) == "9:2 3:0 ");
  json types = json::array();
  for (int i = 0; i < 12; ++i) types.push_back(i < 5 ? "linear_attention" : "full_attention");
  CHECK(kinds(with(delta, "layer_types", types)) == "5:2 7:0 ");
  types.push_back("full_attention");
  CHECK(refusal_of(with(delta, "layer_types", types)).find("layer_types is a list") == 0);
  types.erase(12);
  types[3] = "quantum_attention";
  CHECK(refusal_of(with(delta, "layer_types", types))
            .find("layer_types holds \"quantum_attention\"; allowed: full_attention") == 0);
  CHECK(refusal_of(with(delta, "linear_num_key_heads", 3)) == "nothing refused");  // not in use
  CHECK(refusal_of(with(with(delta, "full_attention_interval", 4), "linear_num_key_heads", 3))
            .find("linear_num_key_heads is 3; allowed: a divisor of linear_num_value_heads") == 0);
  CHECK(refusal_of(with(with(delta, "hybrid_override_pattern", "M*E-"), "model_type", "x"))
            .find("hybrid_override_pattern") != std::string::npos);
  CHECK(refusal_of(with(routed, "num_hidden_layers", 1000000))
            .find("num_hidden_layers is 1000000; allowed: a whole number, 1 to 10000") == 0);
  json widths = json::array();
  for (int i = 0; i < 12; ++i) widths.push_back(32 + i);
  json dense = with(routed, "intermediate_size", widths);
  dense.erase("num_experts");
  CHECK(pm::from_config(dense).model.layers.feed_forwards.size() == 12);
  for (int i = 12; i < 40; ++i) widths.push_back(32 + i);
  CHECK(refusal_of(with(with(dense, "num_hidden_layers", 40), "intermediate_size", widths))
            .find("kinds of feed-forward is 17") == 0);
}

TEST_CASE("which layers have experts, as every family says it", "[models]") {
  const auto routed_layers = [](json file) {
    file["intermediate_size"] = 128;
    return perfmodel_test::routed_layers_of(pm::from_config(file).model);
  };
  CHECK(routed_layers(routed) == 12);
  CHECK(routed_layers(with(routed, "first_k_dense_replace", 3)) == 9);
  CHECK(routed_layers(with(routed, "num_dense_layers", 2)) == 10);
  CHECK(routed_layers(with(routed, "interleave_moe_layer_step", 2)) == 6);
  CHECK(routed_layers(with(routed, "interleave_moe_layer_step", 5)) == 2);
  CHECK(routed_layers(with(routed, "moe_layers_enum", "3,4,11")) == 3);
  CHECK(routed_layers(with(routed, "moe_layers_enum", "0,4,11")) == 3);
  CHECK(routed_layers(with(routed, "moe_layer_freq",
                           json::array({0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}))) == 10);
  CHECK(routed_layers(with(with(routed, "expert_layer_period", 2), "expert_layer_offset", 1)) == 6);
  json types = json::array();
  for (int i = 0; i < 12; ++i) types.push_back(i < 4 ? "dense" : "sparse");
  CHECK(routed_layers(with(routed, "mlp_layer_types", types)) == 8);
}

TEST_CASE("towers of a multimodal file, summed by hand", "[models]") {
  const auto parameters = [](const json& file) {
    const auto e = pm::detail::encoder_of(pm::config_fields<json>(file, ""), 64.0);
    return e ? e->parameters : 0.0;
  };
  // Three blocks of 4 x 10^2 for attention, two or three matrices of 10 x 40, norms of 4 x 10;
  // patches of 4 x 4, seven positions; and three times four patches, joined, to as wide and to 64.
  json seen = {{"depth", 3},
               {"hidden_size", 10},
               {"patch_size", 4},
               {"num_position_embeddings", 7},
               {"spatial_merge_size", 2},
               {"deepstack_visual_indexes", {0, 1}}};
  const double rest = 3 * 16 * 10 + 7 * 10 + 3 * (40 * 40 + 40 * 64);
  CHECK(parameters({{"vision_config", seen}}) == 3 * (400 + 2 * 400 + 40) + rest);
  seen["model_type"] = "gemma4_vision";
  CHECK(parameters({{"vision_config", seen}}) == 3 * (400 + 3 * 400 + 40) + rest);
  CHECK(parameters({{"vision_config", {{"depth", 1}, {"hidden_size", 1}}}}) ==
        4 + 2 * 4 + 4 + 3 * 14 * 14 + 1 + 64);
  // Two layers of 4 x 10^2, 2 x 10 x 40 and biases, two convolutions of three over 5 bands and 10
  // channels.
  const json heard = {{"d_model", 10}, {"encoder_layers", 2}, {"num_mel_bins", 5}};
  const double sound = 2 * (400 + 800 + 9 * 10 + 40) + 3 * 10 * 5 + 3 * 10 * 10 + 10 * 64;
  CHECK(parameters({{"audio_config", heard}}) == sound);
  CHECK(parameters({{"vision_config", seen}, {"audio_config", heard}}) ==
        3 * (400 + 3 * 400 + 40) + rest + sound);
  // SigLIP's positions are one per patch; Gemma 3 pools them and has one matrix to the text.
  const json pooled = {{"model_type", "siglip_vision_model"},
                       {"num_hidden_layers", 3},
                       {"hidden_size", 10},
                       {"patch_size", 4},
                       {"image_size", 12}};
  const json gemma = {{"vision_config", pooled}, {"mm_tokens_per_image", 3}};
  CHECK(parameters(gemma) == 3 * (400 + 2 * 400 + 40) + 3 * 16 * 10 + 9 * 10 + 10 * 64);
  const auto tower = pm::detail::encoder_of(pm::config_fields<json>(gemma, ""), 64.0);
  CHECK(tower->tokens_per_item == 3);
  CHECK(tower->patches_per_item == 9);
}

TEST_CASE("scales of bitsandbytes, of blocks, and which layers say what is left out", "[models]") {
  const auto four = [](bool twice) {
    return quantised({{"quant_method", "bitsandbytes"},
                      {"load_in_4bit", true},
                      {"bnb_4bit_use_double_quant", twice}})
        .stored.attention.bits();
  };
  CHECK(four(false) == 4 + 32 / 64.0);
  CHECK(four(true) == 4 + (8 + 32 / 256.0) / 64);
  CHECK(quantised({{"quant_method", "modelopt"}, {"quant_algo", "FP8_PB_WO"}})
            .stored.attention.bits() == 8 + 32 / (128.0 * 128));
  // Of 13 equal layers those left out have 16 bits.
  const auto attention = [](const std::vector<int>& excluded) {
    json patterns = json::array();
    for (const int i : excluded)
      patterns.push_back("model.layers." + std::to_string(i) + ".self_attn*");
    json file = with(routed, "num_hidden_layers", 13);
    file["quantization_config"] = {
        {"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"exclude_modules", patterns}};
    return pm::from_config(file).stored.attention.bits();
  };
  CHECK(std::abs(attention({6, 11}) - (11 * 4.5 + 2 * 16) / 13) < 1e-12);
  CHECK(std::abs(attention({4, 5, 7, 12}) - (9 * 4.5 + 4 * 16) / 13) < 1e-12);
  std::vector<int> all;
  for (int i = 0; i < 13; ++i) all.push_back(i);
  CHECK(attention(all) == 16);
}

TEST_CASE("entries of lists, and lists of as many layers as there are", "[models]") {
  const json two = {{"x", {3, 4}}};
  const pm::config_fields<json> fields(two, "");
  CHECK(fields.whole_entry("x", 1, 0, 9) == 4);
  std::string refused;
  try {
    (void)fields.whole_entry("x", 2, 0, 9);
  } catch (const pm::error& e) {
    refused = e.what();
  }
  CHECK(refused.find("allowed: a list of more than 2 entries") != std::string::npos);
  json all = json::array();
  for (int i = 0; i < 12; ++i) all.push_back(i);
  json dense = with(routed, "mlp_only_layers", all);
  dense["intermediate_size"] = 128;
  CHECK(perfmodel_test::routed_layers_of(pm::from_config(dense).model) == 0);
}

TEST_CASE("layers by intervals end where they begin, and some share what others keep", "[models]") {
  const auto layers = [](const json& file) {
    std::vector<double> out;
    for (const auto& kind : pm::from_config(file).model.layers.mixers) out.push_back(kind.layers);
    return out;
  };
  json delta = with(routed, "num_hidden_layers", 14);
  for (const auto& [key, value] : {std::pair("linear_num_key_heads", 2),
                                   {"linear_num_value_heads", 4},
                                   {"linear_key_head_dim", 16},
                                   {"linear_value_head_dim", 16},
                                   {"linear_conv_kernel_dim", 4}})
    delta[key] = value;
  CHECK(layers(with(delta, "full_attention_interval", 4)) == std::vector<double>{11, 3});
  // A list may have layers of multi-token prediction behind it.
  json types = json::array();
  for (int i = 0; i < 15; ++i) types.push_back(i < 5 ? "linear_attention" : "full_attention");
  CHECK(layers(with(with(delta, "layer_types", types), "num_nextn_predict_layers", 1)) ==
        std::vector<double>{5, 9});
  CHECK(layers(with(routed, "num_kv_shared_layers", 3)) == std::vector<double>{9, 3});
}

}  // namespace unit_config_parts
