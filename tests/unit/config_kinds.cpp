// Kinds of model files: layers told apart by other keys, quantisation methods, draft heads, files of
// no decoder, and fields that were not read. Right values are sums by hand.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <perfmodel/model/config/config_fields.hpp>
#include <perfmodel/model/config/huggingface.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <string>

namespace unit_config_kinds {

namespace pm = perfmodel;
using Catch::Approx;
using nlohmann::json;

namespace {

/// 12 layers of 4 heads of 16, 2 KV heads: 2 x 2 x 16 x 2 = 128 B a token and layer in bf16.
const json plain = {{"model_type", "newmodel"}, {"hidden_size", 64},
                    {"num_hidden_layers", 12},  {"num_attention_heads", 4},
                    {"num_key_value_heads", 2}, {"intermediate_size", 128},
                    {"vocab_size", 100},        {"max_position_embeddings", 65536},
                    {"torch_dtype", "bfloat16"}};

json with(json file, const json& more) {
  file.update(more);
  return file;
}
/// Layers whose cache grows at long context.
double growing_layers(const json& more) {
  const auto m = pm::from_config(with(plain, more)).model;
  return pm::kv_growth_per_token(m).value() / 128.0;
}
std::string refusal_of(const json& file) {
  try {
    (void)pm::from_config(file);
  } catch (const pm::error& e) {
    return e.what();
  }
  return "nothing refused";
}
std::string not_read(const json& more) {
  std::string s;
  for (const std::string& f : pm::from_config(with(plain, more)).not_read) s += f + " ";
  return s;
}
pm::weight_storage stored(const json& quantization, const char* key = "quantization_config") {
  return pm::from_config(with(plain, {{key, quantization}})).stored;
}
json names(const char* projection) {
  json all = json::array();
  for (int i = 0; i < 12; ++i)
    all.push_back("model.layers." + std::to_string(i) + "." + projection);
  return all;
}

}  // namespace

TEST_CASE("layers with a window, by every key that names them", "[models]") {
  const json window = {{"sliding_window", 1024}};
  const auto windowed = [&](const json& more) { return growing_layers(with(window, more)); };
  CHECK(windowed(json::object()) == 0);
  CHECK(windowed({{"sliding_window_pattern", 4}}) == 3);
  CHECK(windowed({{"_sliding_window_pattern", 6}}) == 2);
  CHECK(windowed({{"sliding_window_pattern", "LLLG"}}) == 3);
  CHECK(windowed({{"attention_pattern", "LLG"}}) == 4);
  CHECK(windowed({{"window_pattern", "SSSL"}}) == 3);  // short and long: L is long here
  CHECK(windowed({{"sliding_window_pattern", {true, true, false}}}) == 4);
  CHECK(windowed({{"interleaved_sliding_window", {nullptr, 1024}}}) == 6);
  CHECK(growing_layers({{"interleaved_sliding_window", 1024}}) == 6);
  CHECK(windowed({{"sliding_window_layout", {0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1}}}) == 3);
  CHECK(growing_layers({{"sliding_window", {1024, 1024, 1024, nullptr}}}) == 3);
  CHECK(windowed({{"global_attn_every_n_layers", 3}}) == 4);
  CHECK(windowed({{"global_attn_idx", {0, 6, 11}}}) == 3);
  CHECK(windowed({{"swa_layers", {1, 2, 3, 4}}}) == 8);
  CHECK(windowed({{"layer_type_list",
                   {"global", "local", "local", "local", "global", "local", "local", "local",
                    "global", "local", "local", "local"}}}) == 3);
  CHECK(windowed({{"kinds_of_my_layers",
                   {"swa", "swa", "full", "swa", "swa", "full", "swa", "swa", "full", "swa", "swa",
                    "full"}}}) == 4);
  CHECK(windowed({{"use_sliding_window", false}, {"sliding_window_pattern", 4}}) == 12);
  CHECK(growing_layers({{"sliding_window", nullptr}, {"sliding_window_pattern", 4}}) == 12);
  for (const char* family : {"cohere2", "exaone4", "olmo3"}) {  // each fourth layer, by their class
    CHECK(windowed({{"model_type", family}}) == 3);
    CHECK(growing_layers({{"model_type", family}, {"sliding_window", nullptr}}) == 12);
    CHECK(windowed({{"model_type", family}, {"sliding_window_pattern", 2}}) == 6);
  }
  CHECK(windowed({{"model_type", "llama"}, {"sliding_window_pattern", 4}}) == 3);
  CHECK(refusal_of(with(plain, {{"sliding_window", 9}, {"sliding_window_pattern", "LXG"}}))
            .find("sliding_window_pattern is \"LXG\"; allowed") != std::string::npos);
}

TEST_CASE("recurrent and cross-attention layers, by every key that names them", "[models]") {
  json mixers = json::array();
  for (int i = 0; i < 12; ++i) mixers.push_back(i % 4 == 0 ? "minicpm4" : "lightning-attn");
  const json lightning = {{"mixer_types", mixers}};
  CHECK(growing_layers(lightning) == 3);
  // 9 layers of 4 states of 16 x 16 in bf16; in fp32 where the widths are lightning's own.
  CHECK(pm::state_bytes(pm::from_config(with(plain, lightning)).model).value() == 9 * 4 * 256 * 2);
  const json own = with(lightning, {{"lightning_nh", 4}, {"lightning_head_dim", 16}});
  CHECK(pm::state_bytes(pm::from_config(with(plain, own)).model).value() == 9 * 4 * 256 * 4);
  const json mamba2 = {
      {"mamba_num_heads", 4}, {"mamba_head_dim", 16}, {"ssm_state_size", 8}, {"conv_kernel", 4}};
  CHECK(growing_layers(with(mamba2, {{"mamba_step", 2}})) == 6);
  CHECK(growing_layers(with(mamba2, {{"attn_layer_idx", {3, 7}}})) == 2);
  CHECK(growing_layers(with(mamba2, {{"block_types", {"recurrent", "recurrent", "attention"}}})) ==
        4);
  // Llama 3.2 Vision: the layers that attend to an image cache nothing of the text.
  CHECK(growing_layers({{"cross_attention_layers", {3, 8, 11}}}) == 9);
  // Phi-4-mini-flash: one layer caches all tokens, six Mambas have states.
  const json flash = {{"mb_per_layer", 2}, {"sliding_window", 512}, {"mamba_d_state", 16},
                      {"mamba_d_conv", 4}, {"mamba_expand", 2},     {"mamba_dt_rank", "auto"}};
  CHECK(growing_layers(flash) == 1);
}

TEST_CASE("fields about layers that nothing reads are named", "[models]") {
  CHECK(not_read(json::object()).empty());
  CHECK(not_read({{"layer_norm_eps", 1e-5},
                  {"rope_interleave", true},
                  {"eos_token_id", {1, 2}},
                  {"attention_dropout", 0.0},
                  {"layerdrop", 0.1},
                  {"decoder_sparse_step", 1},
                  {"mlp_only_layers", json::array()},
                  {"max_window_layers", 12}}) == "");
  CHECK(not_read({{"layer_stride_pattern", 3}}) == "layer_stride_pattern ");
  CHECK(not_read({{"which_are_odd", {1, 3, 5}}}) == "which_are_odd ");
  CHECK(not_read({{"strength", json(std::vector<double>(12, 0.5))}}) == "strength ");
  CHECK(not_read({{"talker_config", {{"hidden_size", 8}}}}) == "talker_config ");
  CHECK(not_read({{"token2wav_config", {{"dit_config", {{"depth", 22}}}}}}) == "token2wav_config ");
  json routed = {{"num_experts", 8}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 16}};
  routed["is_moe_layer"] = json(std::vector<bool>(12, true));
  routed["is_moe_layer"][0] = false;
  CHECK(not_read(routed).empty());
  CHECK(pm::parameters(pm::from_config(with(plain, routed)).model).experts == 11 * 8 * 3 * 64 * 16);
  CHECK(not_read({{"order_of_layers", "local first"}}) == "order_of_layers ");
  CHECK(not_read({{"dense_every_n_layers", 2}}) == "dense_every_n_layers ");
  CHECK(not_read({{"local_global_ratio", 3}}) == "local_global_ratio ");
  CHECK(not_read({{"num_odd_experts", 8}, {"num_experts_per_tok", 2}}) == "num_odd_experts ");
  CHECK(not_read({{"mm_vision_tower", "siglip"}}) == "mm_vision_tower ");
  CHECK(not_read({{"num_global_heads", 2}}) == "num_global_heads ");
  CHECK(not_read({{"head_dim", 16}, {"vision_lora", {{"r", 256}}}}) == "vision_lora ");
  const json seen = {{"vision_config", {{"hidden_size", 8}, {"depth", 2}}}};
  CHECK(not_read(seen).empty());
  CHECK(not_read({{"vision_config", {{"architecture", "mobilenet"}}}}) == "vision_config ");
}

TEST_CASE("projections that a file leaves unquantised keep 16 bits, from every key", "[models]") {
  // Of a layer's attention, q and o have 64 x 64 weights, k and v 64 x 32.
  const double o = 4096.0 / (2 * 4096 + 2 * 2048);
  for (const char* key : {"ignore", "ignored_layers", "exclude_modules", "modules_to_not_convert",
                          "modules_to_not_quantize", "exclude", "llm_int8_skip_modules"}) {
    INFO(key);
    const auto w = stored({{"quant_method", "fp8"}, {key, names("self_attn.o_proj")}});
    CHECK(w.attention.bits() == Approx(8 + 8 * o));
    CHECK(w.linear.bits() == 8);
  }
  const auto dynamic = stored({{"quant_method", "gptq"},
                               {"bits", 4},
                               {"group_size", 128},
                               {"dynamic", {{"-:.*self_attn\\.o_proj.*", json::object()}}}});
  CHECK(dynamic.attention.wide_share == Approx(o));
  const auto down = stored({{"quant_method", "fp8"}, {"ignore", {"re:.*down_proj"}}});
  CHECK(down.linear.bits() == Approx(8 + 8 / 3.0));
  CHECK(down.attention.bits() == 8);
  CHECK(stored({{"quant_method", "fp8"}, {"ignore", {"re:.*self_attn.*"}}}).attention == pm::bf16);
}

TEST_CASE("a dense network next to experts is not the experts", "[models]") {
  const json routed = with(plain, {{"num_experts", 8},
                                   {"num_experts_per_tok", 2},
                                   {"moe_intermediate_size", 32},
                                   {"enable_moe_block", true},
                                   {"quantization_config",
                                    {{"quant_method", "modelopt"},
                                     {"quant_algo", "NVFP4"},
                                     {"ignore", {"model.layers.*.mlp*", "lm_head"}}}}});
  const auto sibling = pm::from_config(routed).stored;
  CHECK(sibling.experts.bits() == 4.5);
  CHECK(sibling.linear.bits() == 16);
  json within = routed;
  within["enable_moe_block"] = nullptr;
  CHECK(pm::from_config(within).stored.experts.bits() == 16);
}

TEST_CASE("bits per weight of quantisation methods", "[models]") {
  const auto bits = [](const json& q) { return stored(q).linear.bits(); };
  CHECK(bits({{"quant_method", "mxfp8"}, {"weight_block_size", {1, 32}}}) == 8.25);
  CHECK(bits({{"quant_method", "fbgemm_fp8"}}) == 8);
  CHECK(bits({{"quant_method", "gptq"}, {"bits", 3}, {"group_size", 128}}) == 3 + 19 / 128.0);
  CHECK(bits({{"quant_method", "auto-round"}, {"bits", 2}, {"group_size", 32}}) == 2 + 18 / 32.0);
  CHECK(bits({{"quant_method", "exl3"}, {"bits", 3.5}}) == 3.5);
  CHECK(bits({{"quant_method", "gguf"}, {"quant_type", "Q6_K"}}) == 6.5625);  // 210 B per 256
  CHECK(bits({{"quant_method", "gguf"}, {"quant_type", "Q4_K_M"}}) == 4.8944);
  CHECK(bits({{"quant_method", "torchao"}, {"quant_type", "float8_weight_only"}}) == 8);
  CHECK(bits({{"quant_method", "torchao"},
              {"quant_type",
               {{"default",
                 {{"_type", "Int4WeightOnlyConfig"}, {"_data", {{"group_size", 64}}}}}}}}) ==
        4 + 32 / 64.0);
  CHECK(bits({{"quant_method", "torchao"},
              {"quant_type", "int4_weight_only"},
              {"quant_type_kwargs", {{"group_size", 64}}}}) == 4 + 32 / 64.0);
  for (const char* awq : {"W4A16_AWQ", "W4A8_AWQ"}) {
    CHECK(bits({{"quant_method", "modelopt"}, {"quant_algo", awq}, {"group_size", 64}}) ==
          4 + 16 / 64.0);
  }
  CHECK(bits({{"quant_method", "petit_nvfp4"}, {"quant_algo", "NVFP4"}}) == 4.5);
  // ExLlama's head has its own bits, beside an embedding in 16.
  CHECK(stored({{"quant_method", "exl3"}, {"bits", 4.0}, {"head_bits", 6}}).of_tables().bits() ==
        11);
  const auto quark = [](const json& weight) {
    return json{{"quant_method", "quark"}, {"global_quant_config", {{"weight", weight}}}};
  };
  CHECK(bits(quark({{"dtype", "fp8_e4m3"}, {"qscheme", "per_tensor"}})) == 8);
  CHECK(bits(quark({{"dtype", "fp4"}, {"group_size", 32}, {"scale_format", "e8m0"}})) == 4.25);
  CHECK(bits({{"quant_method", "new"}, {"bits", 4}, {"group_size", 64}}) == 4.25);
  // MLX stores the vocabulary tables so too: a 16-bit scale and a 16-bit bias per 64.
  for (const char* key : {"quantization", "quantization_config"}) {
    const auto mlx = stored({{"bits", 4}, {"group_size", 64}}, key);
    CHECK(mlx.linear.bits() == 4.5);
    CHECK(mlx.of_tables().bits() == 4.5);
  }
  const auto groups =
      stored({{"quant_method", "compressed-tensors"},
              {"config_groups",
               {{"group_0", {{"targets", {"re:.*mlp.*"}}, {"weights", {{"num_bits", 4}}}}},
                {"group_1",
                 {{"targets", {"re:.*self_attn.*"}},
                  {"weights", {{"num_bits", 8}, {"type", "float"}}}}}}}});
  CHECK(groups.linear.format == pm::int4);
  CHECK(groups.attention.format == pm::fp8);
  // A method that is not known is refused, or left to the caller.
  const json unknown = with(plain, {{"quantization_config", {{"quant_method", "vptq"}}}});
  CHECK(refusal_of(unknown).find("quantization_config.quant_method is \"vptq\"") == 0);
  CHECK_FALSE(pm::from_config(unknown, "", static_cast<const json*>(nullptr), true)
                  .unknown_storage.empty());
}

TEST_CASE("modules with bits of their own count with them, from every key", "[models]") {
  // A third of each feed-forward (down_proj) in 8 bits, the rest in 4; a group of 128 adds a scale
  // and a zero point.
  const double four = 4 + 20 / 128.0, eight = 8 + 24 / 128.0;
  const json down = {{"bits", 8}, {"group_size", 128}};
  json by_name = json::object();
  for (const json& name : names("mlp.down_proj")) by_name[name.get<std::string>()] = down;
  const json rule = {{"+:.*down_proj.*", down}, {"-:.*self_attn.*", json::object()}};
  const json base = {{"bits", 4}, {"group_size", 128}};
  for (const json& q : {with(base, {{"quant_method", "gptq"}, {"dynamic", rule}}),
                        with(base, {{"quant_method", "auto-round"}, {"extra_config", by_name}})}) {
    const auto s = stored(q);
    CHECK(s.linear.bits() == Approx((2 * four + eight) / 3));
    CHECK(s.linear.format == pm::int4);
    CHECK(s.attention.bits() == Approx(q.contains("dynamic") ? 16 : four));
  }
  // MLX: v_proj is a sixth of attention here; 16-bit scale and bias per 64.
  json mlx = {{"bits", 4}, {"group_size", 64}, {"lm_head", {{"bits", 8}, {"group_size", 64}}}};
  for (const json& name : names("self_attn.v_proj"))
    mlx[name.get<std::string>()] = {{"bits", 6}, {"group_size", 64}};
  const auto of_mlx = stored(mlx, "quantization");
  CHECK(of_mlx.attention.bits() == Approx((5 * 4.5 + 6.5) / 6));
  CHECK(of_mlx.linear.bits() == 4.5);
  CHECK(of_mlx.of_tables().bits() == Approx((4.5 + 8.5) / 2));
  const auto quark =
      stored({{"quant_method", "quark"},
              {"global_quant_config",
               {{"weight", {{"dtype", "fp4"}, {"group_size", 32}, {"scale_format", "e8m0"}}}}},
              {"layer_quant_config", {{"*self_attn*", {{"weight", {{"dtype", "fp8_e4m3"}}}}}}}});
  CHECK(quark.attention.bits() == 8);
  CHECK(quark.linear.bits() == 4.25);
  const auto torchao = stored(
      {{"quant_method", "torchao"},
       {"quant_type",
        {{"default",
          {{"_type", "FqnToConfig"},
           {"_data",
            {{"fqn_to_config",
              {{"re:.*self_attn.*", nullptr},
               {"_default",
                {{"_type", "Int4WeightOnlyConfig"}, {"_data", {{"group_size", 64}}}}}}}}}}}}}});
  CHECK(torchao.attention.bits() == 16);
  CHECK(torchao.linear.bits() == 4.5);
}

TEST_CASE("groups with targets, and a quantised head", "[models]") {
  const json int4 = {{"num_bits", 4}, {"type", "int"}, {"group_size", 32}};
  const json fp8 = {{"num_bits", 8}, {"type", "float"}};
  const auto groups = [](const json& all, const json& ignore) {
    return stored(
        {{"quant_method", "compressed-tensors"}, {"config_groups", all}, {"ignore", ignore}});
  };
  const auto group = [](const char* target, const json& weights) {
    return json{{"targets", {target}}, {"weights", weights}};
  };
  // What no target names stays in 16 bits; what is ignored too, whatever a target says.
  const auto some = groups(
      {{"group_0", group("re:.*down_proj", int4)}, {"group_1", group("re:.*self_attn.*", fp8)}},
      {"lm_head", "re:.*o_proj"});
  CHECK(some.linear.bits() == Approx((4.5 + 2 * 16) / 3));
  CHECK(some.attention.bits() == Approx((2 * 8 + 16) / 3.0));
  CHECK(some.of_tables().bits() == 16);
  const auto rest =
      groups({{"group_0", group("Linear", fp8)}, {"group_1", group("re:.*(up|down)_proj", int4)}},
             {"lm_head"});
  CHECK(rest.linear.bits() == Approx((8 + 2 * 4.5) / 3));
  CHECK(rest.attention.bits() == 8);
  // An untied head among Linear: 8 bits, beside an embedding in 16.
  CHECK(groups({{"group_0", group("Linear", fp8)}}, json::array()).of_tables().bits() == 12);
  CHECK(stored({{"quant_method", "gptq"}, {"bits", 8}, {"lm_head", true}}).of_tables().bits() ==
        12);
  // HQQ's zero points are 16-bit floats; AQLM's codes 16 bits per 8 weights.
  CHECK(stored({{"quant_method", "hqq"},
                {"quant_config", {{"weight_quant_params", {{"nbits", 4}, {"group_size", 64}}}}}})
            .linear.bits() == 4.5);
  CHECK(stored({{"quant_method", "aqlm"},
                {"num_codebooks", 1},
                {"nbits_per_codebook", 16},
                {"in_group_size", 8}})
            .linear.bits() == 2);
}

TEST_CASE("draft heads are told apart, and counted by hand", "[models]") {
  const auto read = [](const json& more) { return pm::from_config(with(plain, more)); };
  const double ffn = 3 * 64 * 128, attention = 2 * 64 * 64 + 2 * 64 * 32;
  // EAGLE-3: inputs twice as wide for q, k and v; three features to one; a head of 40 tokens.
  const auto eagle3 = read({{"num_hidden_layers", 1},
                            {"architectures", {"LlamaForCausalLMEagle3"}},
                            {"draft_vocab_size", 40}});
  CHECK(std::string(eagle3.draft) == "EAGLE-3");
  CHECK(pm::parameters(eagle3.model).total() ==
        ffn + attention + 64 * (64 + 64) + 3 * 64 * 64 + 40 * 64 + 3 * 64);
  const auto eagle = read({{"num_hidden_layers", 1}, {"architectures", {"EagleLlamaForCausalLM"}}});
  CHECK(pm::parameters(eagle.model).total() == ffn + attention + 2 * 64 * 64 + 3 * 64);
  const auto flash = read({{"num_hidden_layers", 3},
                           {"architectures", {"DFlashDraftModel"}},
                           {"dflash_config", {{"target_layer_ids", {1, 4, 7, 9}}}}});
  CHECK(std::string(flash.draft) == "DFlash");
  CHECK(pm::parameters(flash.model).total() == 3 * (ffn + attention) + 4 * 64 * 64 + 7 * 64);
  CHECK(flash.model.predicts_block);
  const auto mtp = read({{"architectures", {"DeepseekV3ForCausalLMNextN"}},
                         {"num_nextn_predict_layers", 1},
                         {"first_k_dense_replace", 3}});
  CHECK(std::string(mtp.draft) == "MTP");
  CHECK(mtp.model.layers.count == 1);
  CHECK(pm::parameters(mtp.model).total() == ffn + attention + 2 * 64 * 64 + 3 * 64);
  CHECK(std::string(read(json::object()).draft).empty());
}

TEST_CASE("draft heads in the files of other projects", "[models]") {
  const auto total = [](const json& file) {
    return pm::parameters(pm::from_config(file).model).total();
  };
  const json one = with(plain, {{"num_hidden_layers", 1}});
  const json eagle3 =
      with(one, {{"architectures", {"LlamaForCausalLMEagle3"}}, {"draft_vocab_size", 40}});
  // speculators: the layer in an object, the rest around it.
  const json nested = {{"architectures", {"Eagle3Speculator"}},
                       {"speculators_model_type", "eagle3"},
                       {"draft_vocab_size", 40},
                       {"speculators_config", {{"algorithm", "eagle3"}}},
                       {"transformer_layer_config", one}};
  CHECK(total(nested) == total(eagle3));
  CHECK(std::string(pm::from_config(nested).draft) == "EAGLE-3");
  CHECK(pm::from_config(nested).not_read.empty());
  // Features of five layers, of none, and of a target twice as wide, in place of three of 64.
  const json five = {{"eagle_aux_hidden_state_layer_ids", {1, 3, 5, 7, 9}}};
  CHECK(total(with(eagle3, {{"eagle_config", five}})) == total(eagle3) + 2 * 64 * 64);
  CHECK(pm::from_config(with(eagle3, {{"eagle_config", five}})).not_read.empty());
  CHECK(total(with(eagle3, {{"eagle_config", {{"use_aux_hidden_state", false}}}})) ==
        total(eagle3) - 3 * 64 * 64);
  CHECK(total(with(eagle3, {{"target_hidden_size", 128}})) == total(eagle3) + 3 * 64 * 64);
  const json flash = {{"architectures", {"DFlashDraftModel"}},
                      {"block_size", 8},
                      {"aux_hidden_state_layer_ids", {1, 4, 7, 9}},
                      {"transformer_layer_config", one}};
  CHECK(total(flash) == 3 * 64 * 128 + 2 * 64 * 64 + 2 * 64 * 32 + 4 * 64 * 64 + 3 * 64);
  CHECK(pm::from_config(flash).model.predicts_block);
  // Gemma 4's assistant: queries alone, no cache, one table, matrices from two vectors of the
  // target (96 wide) and back to one.
  const json gemma = {
      {"architectures", {"Gemma4AssistantForCausalLM"}},
      {"backbone_hidden_size", 96},
      {"text_config", with(plain, {{"num_kv_shared_layers", 12}, {"tie_word_embeddings", true}})}};
  CHECK(total(gemma) == 12 * (3 * 64 * 128 + 2 * 64 * 64) + 3 * 96 * 64 + 100 * 64 + 25 * 64);
  CHECK(pm::kv_growth_per_token(pm::from_config(gemma).model).value() == 0);
  CHECK(std::string(pm::from_config(gemma).draft) == "MTP");
}

TEST_CASE("files of what is no decoder are refused as that", "[models][errors]") {
  const auto refusal = [](const json& more) { return refusal_of(with(plain, more)); };
  for (const char* type : {"bert", "xlm-roberta", "modernbert", "distilbert", "electra", "mpnet",
                           "nomic_bert", "deberta-v2"}) {
    INFO(type);
    CHECK(refusal({{"model_type", type}}).find("encoder-only") != std::string::npos);
  }
  CHECK(refusal({{"architectures", {"NewModel"}}}).find("encoder-only") != std::string::npos);
  // By the task, by a type, and by attention without a causal mask.
  for (const json& more : std::initializer_list<json>{
           {{"architectures", {"SomeForTokenClassification"}}},
           {{"architectures", {"NewForCTC"}}},
           {{"model_type", "canine"}},
           {{"model_type", "llama_bidirec"}},
           {{"is_causal", false}},
           {{"model_type", "nvembed"}, {"text_config", plain}},
           {{"architectures", {"Gemma3TextModel"}}, {"use_bidirectional_attention", true}}}) {
    INFO(more.dump());
    CHECK(refusal(more).find("encoder-only") != std::string::npos);
  }
  // A prefix that attends to itself (PaliGemma), and a mask of images alone, are of decoders.
  CHECK(refusal({{"architectures", {"PaliGemmaForConditionalGeneration"}},
                 {"use_bidirectional_attention", true}}) == "nothing refused");
  CHECK(refusal({{"use_bidirectional_attention", "vision"}}) == "nothing refused");
  for (const char* type : {"t5gemma", "led", "moonshine", "bigbird_pegasus", "florence2"})
    CHECK(refusal({{"model_type", type}}).find("an encoder of text") != std::string::npos);
  for (const char* type : {"rnd1", "fast_dllm", "a2d-qwen3"})
    CHECK(refusal({{"model_type", type}}).find("diffusion") != std::string::npos);
  for (const char* type : {"llada", "dream", "sdar"})
    CHECK(refusal({{"model_type", type}}).find("diffusion") != std::string::npos);
  CHECK(refusal({{"_class_name", "UNet2DConditionModel"}}).find("diffusion") != std::string::npos);
  for (const char* type : {"clip", "siglip"}) {  // a text_config is no decoder's
    CHECK(refusal({{"model_type", type}, {"text_config", plain}}).find("encoder-only") !=
          std::string::npos);
  }
  CHECK(refusal({{"is_encoder_decoder", true}, {"text_config", plain}})
            .find("is_encoder_decoder is true") == 0);
  CHECK(refusal({{"text_model_id", "llama"}}).find("text_model_id is \"llama\"") == 0);
  CHECK(refusal({{"model_type", "mlp_speculator"}}).find("drafter heads") != std::string::npos);
  CHECK(refusal({{"medusa_num_heads", 5}}).find("medusa_num_heads is 5") == 0);
  CHECK(refusal({{"architectures", {"ModernBertDecoderForCausalLM"}}}) == "nothing refused");
}

TEST_CASE("layers that no kind of layer here is are refused", "[models][errors]") {
  const auto refusal = [](const json& more) { return refusal_of(with(plain, more)); };
  // Ouro runs its layers four times a token; JetMoE's read as 7.3e9 parameters for 8.5e9.
  CHECK(refusal({{"model_type", "ouro"}, {"total_ut_steps", 4}}).find("total_ut_steps is 4") == 0);
  CHECK(refusal({{"model_type", "ouro"}, {"total_ut_steps", 1}}) == "nothing refused");
  CHECK(refusal({{"mean_recurrence", 32}}).find("mean_recurrence is 32") == 0);
  CHECK(refusal({{"model_type", "jetmoe"}}).find("model_type is \"jetmoe\"; allowed: attention") ==
        0);
  CHECK(refusal({{"n_att_experts", 32}}).find("n_att_experts is 32") == 0);
  CHECK(refusal({{"model_type", "hymba"}}).find("attention and Mamba heads") != std::string::npos);
  CHECK(refusal({{"kv_reuse_group", {{1, 2}}}}).find("kv_reuse_group") == 0);
  CHECK(refusal({{"kv_reuse_group", json::array()}}) == "nothing refused");
  CHECK(
      refusal_of(json{{"model_type", "newmodel"}, {"text_config", with(plain, {{"num_loops", 2}})}})
          .find("text_config.num_loops is 2") == 0);
}

TEST_CASE("params.json of Mistral and of Llama", "[models]") {
  const json mistral = {{"dim", 64},    {"n_layers", 12},  {"head_dim", 16},   {"hidden_dim", 128},
                        {"n_heads", 4}, {"n_kv_heads", 2}, {"vocab_size", 100}};
  CHECK(pm::parameters(pm::from_config(mistral).model).total() ==
        pm::parameters(pm::from_config(plain).model).total());
  json routed = mistral;
  routed["moe"] = {{"num_experts", 8}, {"num_experts_per_tok", 2}};
  CHECK(pm::experts_of(pm::from_config(routed).model)->intermediate == 128);
  json llama = {{"dim", 4096},
                {"n_layers", 32},
                {"n_heads", 32},
                {"n_kv_heads", 8},
                {"vocab_size", 128256},
                {"multiple_of", 1024},
                {"ffn_dim_multiplier", 1.3}};
  CHECK(pm::parameters(pm::from_config(llama).model).total() == 8030261248);  // Llama 3 8B
  json fp8 = mistral;
  fp8["quantization"] = {{"qformat_weight", "fp8_e4m3"}, {"qscheme_act", "TENSOR"}};
  CHECK(pm::from_config(fp8).stored.linear.format == pm::fp8);
}

}  // namespace unit_config_kinds
