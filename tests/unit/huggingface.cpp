// Reading config.json files: real ones, the variants that families allow, and hostile ones.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/model/config/huggingface.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <set>
#include <support/layers.hpp>
#include <support/model_fields.hpp>
#include <support/sanitized.hpp>
#include <support/tables.hpp>

namespace unit_huggingface {

namespace pm = perfmodel;
namespace catalog = pm::catalog;
using nlohmann::json;

namespace {

const std::filesystem::path repository = PERFMODEL_SOURCE_DIR;

json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}
json config(const std::string& model) {
  return read_json(repository / "tests/data/configs" / (model + ".json"));
}

json with(json j, const char* key, const json& value) {
  j[key] = value;
  return j;
}
json without(json j, const char* key) {
  j.erase(key);
  return j;
}

/// Without the vision tower: its size is read to a few percent.
auto text_fields_of(pm::transformer m) {
  m.encoder.reset();
  return perfmodel_test::fields_of(m);
}

// The model as read: shapes of its first layers of a kind, and how many layers have it.
template <class Shape, class List>
const Shape* first_of(const List& kinds) {
  for (const auto& kind : kinds) {
    if (const auto* shape = std::get_if<Shape>(&kind.shape)) return shape;
  }
  return nullptr;
}
pm::attention_shape attention_of(const pm::model_config& c) {
  return *first_of<pm::attention_shape>(c.model.layers.mixers);
}
pm::latent_attention_shape latent_of(const pm::model_config& c) {
  return *first_of<pm::latent_attention_shape>(c.model.layers.mixers);
}
pm::expert_shape experts_in(const pm::model_config& c) {
  return *first_of<pm::expert_shape>(c.model.layers.feed_forwards);
}
double dense_width_of(const pm::model_config& c) {
  return first_of<pm::dense_shape>(c.model.layers.feed_forwards)->intermediate;
}
double routed_layers_of(const pm::model_config& c) {
  return perfmodel_test::routed_layers_of(c.model);
}
double windows_of(const pm::model_config& c) {
  return perfmodel_test::windowed_layers_of(c.model);
}
double window_of(const pm::model_config& c) {
  for (const auto& kind : c.model.layers.mixers) {
    const auto* a = std::get_if<pm::attention_shape>(&kind.shape);
    if (a != nullptr && a->window) return *a->window;
  }
  return 0;
}

/// What reading it throws; empty if nothing.
struct refusal {
  int code = 0;
  std::string text;
};
refusal refusal_of(const json& j) {
  try {
    (void)pm::from_config(j);
  } catch (const pm::error& e) {
    return {static_cast<int>(e.code()), e.what()};
  }
  return {};
}
bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

#define CHECK_REFUSED(j, part)                                         \
  do {                                                                 \
    const refusal r = refusal_of(j);                                   \
    INFO("message: " << r.text);                                       \
    CHECK(r.code == static_cast<int>(pm::error_code::invalid_config)); \
    CHECK(holds(r.text, part));                                        \
    CHECK(holds(r.text, "; allowed: "));                               \
  } while (false)

double parameters_of(const json& j) {
  return pm::parameters(pm::from_config(j).model).total();
}

const json llama_text = {{"architectures", {"LlamaForCausalLM"}},
                         {"model_type", "llama"},
                         {"hidden_size", 64},
                         {"num_hidden_layers", 4},
                         {"vocab_size", 100},
                         {"num_attention_heads", 4},
                         {"num_key_value_heads", 2},
                         {"intermediate_size", 128},
                         {"torch_dtype", "float16"}};

}  // namespace

TEST_CASE("every real config.json reads to the catalogue's model, field by field") {
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(repository / "tests/data/configs")) {
    if (entry.path().extension() != ".json") continue;
    const std::string key = entry.path().stem().string();
    INFO(key);
    const pm::model_config read = pm::from_config(read_json(entry.path()), key);
    CHECK(read.model.name.view() == key);
    if (const pm::transformer* m = catalog::find_model(key)) {
      seen.insert(key);
      CHECK(text_fields_of(read.model) == text_fields_of(*m));
    }
  }
  for (const auto& entry : catalog::models) {
    INFO(entry.key);
    CHECK(seen.count(entry.key) == 1);
  }
}

TEST_CASE("every real config.json has the parameters and the cache of its tensors") {
  std::set<std::string> rows;
  for (const auto& row : perfmodel_test::test_data("parameters_by_tensor.tsv")) {
    INFO(row.text("model"));
    rows.insert(row.text("model"));
    const pm::transformer m = pm::from_config(config(row.text("model"))).model;
    CHECK(pm::parameters(m).total() == row.number("total"));
    CHECK(pm::active_parameters(m) == row.number("active"));
    CHECK(pm::kv_bytes_per_token(m).value() == row.number("kv_bytes_per_token"));
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(repository / "tests/data/configs")) {
    files += entry.path().extension() == ".json" ? 1 : 0;
  }
  CHECK(rows.size() <= files);
  CHECK(rows.size() >= 34);
}

TEST_CASE("the example's config.json is Llama 3.1 70B") {
  const auto read = pm::from_config(
      read_json(repository / "examples/data/llama-3.1-70b/config.json"), "llama_3_1_70b");
  CHECK(perfmodel_test::fields_of(read.model) == perfmodel_test::fields_of(catalog::llama_3_1_70b));
  CHECK(read.architecture == "LlamaForCausalLM");
  CHECK(read.weights.bits() == 16.0);
  CHECK(pm::from_config(config("llama_3_1_70b")).model.name.view() == "LlamaForCausalLM");
}

TEST_CASE("multimodal files: only the text part is read") {
  auto expected = catalog::mistral_small_3_24b;
  expected.name = "x";
  expected.max_context = 131072;
  CHECK(text_fields_of(pm::from_config(config("mistral_small_3_1_24b"), "x").model) ==
        perfmodel_test::fields_of(expected));
  expected.max_context = 393216;
  expected.stored = {pm::fp8, pm::bf16};
  CHECK(text_fields_of(pm::from_config(config("devstral_small_2_24b"), "x").model) ==
        perfmodel_test::fields_of(expected));
  auto qwen = catalog::qwen_2_5_7b;
  qwen.name = "x";
  qwen.max_context = 128000;
  const json flat = config("qwen_2_5_vl_7b");
  CHECK(text_fields_of(pm::from_config(flat, "x").model) == perfmodel_test::fields_of(qwen));
  json nested = {{"architectures", flat["architectures"]},
                 {"model_type", "qwen2_5_vl"},
                 {"torch_dtype", "float16"}};
  nested["text_config"] =
      with(without(without(flat, "vision_config"), "torch_dtype"), "model_type", "qwen2_5_vl_text");
  nested["vision_config"] = flat["vision_config"];
  qwen.stored = {pm::fp16, pm::fp16};
  CHECK(text_fields_of(pm::from_config(nested, "x").model) == perfmodel_test::fields_of(qwen));
  CHECK(pm::from_config(nested).weights.format == pm::fp16);
  // LLaVA 1.5 states what differs from the defaults of LlamaConfig: 32 layers of 4096, MHA.
  const json llava = {
      {"architectures", {"LlavaForConditionalGeneration"}},
      {"model_type", "llava"},
      {"torch_dtype", "float16"},
      {"text_config",
       {{"model_type", "llama"}, {"max_position_embeddings", 4096}, {"vocab_size", 32064}}}};
  auto vicuna = catalog::llama_2_7b;
  vicuna.name = "x";
  vicuna.vocabulary = 32064;
  CHECK(perfmodel_test::fields_of(pm::from_config(llava, "x").model) ==
        perfmodel_test::fields_of(vicuna));
  CHECK_REFUSED(without(config("gemma_3_27b"), "text_config"), "text_config is missing");
  CHECK_REFUSED(with(config("gemma_3_27b"), "text_config", 3), "text_config is 3");
  CHECK_REFUSED(without(llama_text, "hidden_size"), "hidden_size is missing");
}

TEST_CASE("biases, ties and head widths are read where the family has them") {
  const double base = parameters_of(llama_text);
  CHECK(base == 2.0 * 6400 + 4.0 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64) + 64);
  CHECK(parameters_of(with(llama_text, "attention_bias", true)) == base + 4.0 * (64 + 2 * 32 + 64));
  CHECK(parameters_of(with(llama_text, "mlp_bias", true)) == base + 4.0 * (2 * 128 + 64));
  CHECK(parameters_of(with(llama_text, "tie_word_embeddings", true)) == base - 6400);
  CHECK(parameters_of(with(llama_text, "head_dim", 32)) ==
        base + 4.0 * (2 * 64 * 64 + 2 * 64 * 32));
  CHECK(attention_of(pm::from_config(without(llama_text, "num_key_value_heads"))).kv_heads == 4);
  CHECK(attention_of(pm::from_config(with(llama_text, "num_key_value_heads", nullptr))).kv_heads ==
        4);
  CHECK(attention_of(pm::from_config(with(llama_text, "head_dim", nullptr))).head_dim == 16);
  CHECK_REFUSED(with(llama_text, "num_attention_heads", 6), "num_attention_heads is 6");
  CHECK_REFUSED(with(llama_text, "num_key_value_heads", 3), "num_key_value_heads is 3");
  CHECK_REFUSED(with(llama_text, "num_local_experts", 8), "num_experts_per_tok is missing");
  CHECK_REFUSED(with(config("deepseek_v3"), "attention_bias", true), "attention_bias is true");
}

TEST_CASE("gpt-oss, Phi and Gemma by the rules of their classes") {
  CHECK(
      attention_of(pm::from_config(without(config("gpt_oss_20b"), "attention_bias"))).output_bias);
  CHECK(attention_of(pm::from_config(without(config("gpt_oss_20b"), "head_dim"))).head_dim == 64);
  CHECK(windows_of(pm::from_config(without(config("gpt_oss_20b"), "layer_types"))) == 12);
  CHECK(experts_in(pm::from_config(without(config("gpt_oss_20b"), "num_experts_per_tok"))).top_k ==
        4);
  CHECK(attention_of(pm::from_config(without(config("qwen_3_8b"), "head_dim"))).head_dim == 128);
  json phi = {{"architectures", {"PhiForCausalLM"}},
              {"model_type", "phi"},
              {"hidden_size", 2560},
              {"num_hidden_layers", 32},
              {"vocab_size", 51200},
              {"num_attention_heads", 32},
              {"num_key_value_heads", 32},
              {"intermediate_size", 10240},
              {"qk_layernorm", false}};
  // Phi-2: four square projections and two of 2560 x 10240, all biased, one LayerNorm per layer.
  const double layer =
      4.0 * 2560 * 2560 + 4.0 * 2560 + 2.0 * 2560 * 10240 + 10240 + 2560 + 2.0 * 2560;
  CHECK(parameters_of(phi) == 2.0 * 51200 * 2560 + 51200 + 32.0 * layer + 2.0 * 2560);
  // A norm for each head's queries and keys, as in StableLM.
  CHECK(parameters_of(with(phi, "qk_layernorm", true)) - parameters_of(phi) == 32.0 * 2 * 32 * 80);
  json gemma2 = {{"architectures", {"Gemma2ForCausalLM"}},
                 {"model_type", "gemma2"},
                 {"hidden_size", 3584},
                 {"num_hidden_layers", 42},
                 {"vocab_size", 256000},
                 {"num_attention_heads", 16},
                 {"num_key_value_heads", 8},
                 {"intermediate_size", 14336},
                 {"max_position_embeddings", 8192},
                 {"sliding_window", 4096}};
  // Gemma 2 9B: heads of 256, four norms, one table, no head norms; layers 0, 2, ... slide.
  CHECK(parameters_of(gemma2) ==
        256000.0 * 3584 +
            42.0 * (3584.0 * (2 * 4096 + 2 * 2048) + 3.0 * 3584 * 14336 + 4.0 * 3584) + 3584);
  CHECK(windows_of(pm::from_config(gemma2)) == 21);
  CHECK(windows_of(pm::from_config(with(gemma2, "num_hidden_layers", 41))) == 21);
  json gemma = gemma2;
  gemma["architectures"] = {"GemmaForCausalLM"};
  gemma["model_type"] = "gemma";
  CHECK(pm::from_config(gemma).model.norms_per_layer == 2);
  CHECK(windows_of(pm::from_config(gemma)) == 0);
  CHECK(pm::from_config(gemma).model.tied_embeddings);
}

TEST_CASE("sliding windows: which layers have them") {
  const auto sliding = [](const json& j) { return windows_of(pm::from_config(j)); };
  const auto window = [](const json& j) { return window_of(pm::from_config(j)); };
  // Mistral: null means none, a missing field the class's 4096.
  CHECK(sliding(config("mistral_7b")) == 0);
  CHECK(sliding(without(config("mistral_7b"), "sliding_window")) == 32);
  CHECK(window(without(config("mistral_7b"), "sliding_window")) == 4096);
  CHECK(sliding(with(config("mistral_7b_v0_1"), "max_position_embeddings", 4096)) == 0);
  CHECK(sliding(without(config("devstral_small_2_24b"), "sliding_window")) == 0);
  // Qwen: only when switched on, and then from max_window_layers on.
  json qwen = with(with(config("qwen_2_5_7b"), "sliding_window", 4096), "max_window_layers", 20);
  CHECK(sliding(qwen) == 0);
  qwen["use_sliding_window"] = true;
  CHECK(sliding(qwen) == 8);
  CHECK(window(qwen) == 4096);
  CHECK(sliding(with(qwen, "max_window_layers", 99)) == 0);
  CHECK(window(without(qwen, "sliding_window")) == 4096);
  CHECK_REFUSED(without(qwen, "max_window_layers"), "max_window_layers is missing");
  // Gemma 3: every sixth layer is full, or what the file says.
  CHECK(sliding(config("gemma_3_1b")) == 22);
  CHECK(sliding(with(config("gemma_3_1b"), "sliding_window_pattern", 2)) == 13);
  CHECK(sliding(with(without(config("gemma_3_1b"), "sliding_window_pattern"),
                     "_sliding_window_pattern", 13)) == 24);
  json types = json::array();
  for (int i = 0; i < 26; ++i) types.push_back(i < 3 ? "sliding_attention" : "full_attention");
  const json listed = with(config("gemma_3_1b"), "layer_types", types);
  CHECK(sliding(listed) == 3);
  types.push_back("full_attention");
  CHECK_REFUSED(with(listed, "layer_types", types), "layer_types is a list");
  types.erase(0);
  types[4] = "linear_attention";
  CHECK_REFUSED(with(listed, "layer_types", types), "linear_num_value_heads is missing");
  types[4] = 4;
  CHECK_REFUSED(with(listed, "layer_types", types), "layer_types holds 4");
  CHECK_REFUSED(with(listed, "layer_types", "all"), "layer_types is \"all\"");
  CHECK_REFUSED(with(listed, "sliding_window", nullptr), "sliding_window is null");
  json off = with(config("qwen_3_8b"), "layer_types", json::array());
  for (int i = 0; i < 36; ++i) off["layer_types"].push_back("sliding_attention");
  CHECK_REFUSED(off, "use_sliding_window is false");
}

TEST_CASE("experts: which layers have them, how wide, and how many are shared") {
  json qwen = with(config("qwen_3_30b_a3b"), "decoder_sparse_step", 2);
  CHECK(routed_layers_of(pm::from_config(qwen)) == 24);  // layers 1, 3, ... 47
  CHECK(dense_width_of(pm::from_config(qwen)) == 6144);
  qwen["mlp_only_layers"] = {0, 1, 47};
  CHECK(routed_layers_of(pm::from_config(qwen)) == 22);
  CHECK(routed_layers_of(pm::from_config(with(qwen, "decoder_sparse_step", 49))) == 0);
  CHECK_NOTHROW(parameters_of(with(qwen, "decoder_sparse_step", 49)));
  CHECK_REFUSED(with(qwen, "mlp_only_layers", {1, 48}), "mlp_only_layers holds 48");
  CHECK_REFUSED(with(qwen, "mlp_only_layers", {1, "2"}), "mlp_only_layers holds \"2\"");
  CHECK_REFUSED(with(qwen, "mlp_only_layers", 1), "mlp_only_layers is 1");
  CHECK_REFUSED(with(qwen, "mlp_only_layers", json(std::vector<int>(100000, 1))),
                "mlp_only_layers is a list");
  CHECK_REFUSED(with(qwen, "num_experts_per_tok", 129), "num_experts_per_tok is 129");
  json renamed = with(without(config("qwen_3_30b_a3b"), "num_experts"), "num_local_experts", 128);
  CHECK(parameters_of(renamed) == 30532122624.0);
  json shared = {{"architectures", {"Qwen2MoeForCausalLM"}},
                 {"model_type", "qwen2_moe"},
                 {"hidden_size", 2048},
                 {"num_hidden_layers", 24},
                 {"vocab_size", 151936},
                 {"num_attention_heads", 16},
                 {"num_key_value_heads", 16},
                 {"intermediate_size", 5632},
                 {"moe_intermediate_size", 1408},
                 {"shared_expert_intermediate_size", 5632},
                 {"num_experts", 60},
                 {"num_experts_per_tok", 4},
                 {"decoder_sparse_step", 1},
                 {"use_sliding_window", false}};
  // Qwen1.5-MoE-A2.7B: 14.3B parameters, 2.7B activated, by its model card.
  CHECK_THAT(parameters_of(shared), Catch::Matchers::WithinRel(14.3e9, 0.005));
  CHECK_THAT(pm::active_parameters(pm::from_config(shared).model),
             Catch::Matchers::WithinRel(2.7e9, 0.02));
  CHECK(experts_in(pm::from_config(shared)).shared_gate);
  const json v3 = config("deepseek_v3");
  CHECK(routed_layers_of(pm::from_config(with(v3, "first_k_dense_replace", 61))) == 0);
  CHECK(routed_layers_of(pm::from_config(with(v3, "moe_layer_freq", 2))) ==
        29);  // layers 4, 6, ... 60
  CHECK_FALSE(
      experts_in(pm::from_config(with(v3, "n_shared_experts", nullptr))).shared_intermediate);
  CHECK(!experts_in(pm::from_config(with(v3, "topk_method", "greedy"))).router_bias);
  CHECK_FALSE(latent_of(pm::from_config(with(v3, "q_lora_rank", nullptr))).query_rank);
  CHECK(latent_of(pm::from_config(without(v3, "q_lora_rank"))).query_rank == 1536);
  CHECK(pm::from_config(with(config("phi_3_5_moe"), "architectures", {"PhimoeForCausalLM"}))
            .model.norm_bias);
}

TEST_CASE("how the weights are stored") {
  const auto stored = [](const json& q) {
    return pm::from_config(with(llama_text, "quantization_config", q)).stored;
  };
  const auto bits = [&](const json& q) { return stored(q).linear.bits(); };
  CHECK(pm::from_config(config("llama_2_7b")).weights.format == pm::fp16);
  CHECK(pm::from_config(config("llama_3_70b")).weights.format == pm::bf16);
  CHECK(pm::from_config(with(without(llama_text, "torch_dtype"), "dtype", "float32"))
            .weights.format == pm::fp32);
  CHECK(pm::from_config(with(llama_text, "torch_dtype", nullptr)).weights.format == pm::bf16);

  const auto v3 = pm::from_config(config("deepseek_v3"));
  CHECK(v3.weights.format == pm::fp8);
  CHECK(v3.weights.bits() == 8.0 + 32.0 / 16384.0);
  CHECK(v3.stored.others == pm::bf16);
  const auto oss = pm::from_config(config("gpt_oss_120b"));
  CHECK(oss.weights.format == pm::fp4);
  CHECK(oss.weights.bits() == 4.25);
  CHECK(oss.stored.linear.bits() == 16.0);
  CHECK_THAT(pm::weight_bytes(oss.model, oss.stored).value() / 1073741824.0,
             Catch::Matchers::WithinAbs(60.8, 0.05));
  CHECK(pm::from_config(config("devstral_small_2_24b")).weights.bits() == 8.0);

  CHECK(bits({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}, {"sym", true}}) ==
        4.0 + 20.0 / 128.0);
  CHECK(bits({{"quant_method", "gptq"}, {"bits", 8}, {"group_size", -1}}) == 8.0);
  const pm::storage_format rows =
      stored({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", -1}}).linear;
  CHECK(pm::with_block_scales(rows).bits() == 4.0);  // no block scales are added
  CHECK(bits({{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}, {"zero_point", true}}) ==
        4.0 + 20.0 / 128.0);
  CHECK(
      bits({{"quant_method", "awq"}, {"w_bit", 4}, {"q_group_size", 64}, {"zero_point", false}}) ==
      4.25);
  CHECK(stored({{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}}).others == pm::fp16);
  // QLoRA, section 3: 0.5 bits of scales per weight, 0.127 when they are quantised too.
  CHECK(bits({{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}) == 4.5);
  CHECK_THAT(bits({{"quant_method", "bitsandbytes"},
                   {"load_in_4bit", true},
                   {"bnb_4bit_use_double_quant", true}}),
             Catch::Matchers::WithinAbs(4.127, 0.0005));
  CHECK(bits({{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}}) == 8.0);
  CHECK(bits({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}}) == 4.5);
  CHECK(bits({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}}) == 8.0);
  const auto compressed = [](const json& weights) {
    return json{{"quant_method", "compressed-tensors"},
                {"config_groups", {{"group_0", {{"weights", weights}}}}}};
  };
  CHECK(bits(compressed({{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}})) == 8.0);
  CHECK(bits(compressed(
            {{"num_bits", 4}, {"type", "int"}, {"group_size", 128}, {"symmetric", true}})) ==
        4.125);
  CHECK(bits(compressed({{"num_bits", 4}, {"type", "float"}, {"group_size", 16}})) == 4.5);

  const auto refused = [](const json& q) { return with(llama_text, "quantization_config", q); };
  CHECK_REFUSED(refused("fp8"), "quantization_config is \"fp8\"");
  CHECK_REFUSED(refused({{"scales", 4}}), "quantization_config.quant_method is missing");
  CHECK_REFUSED(refused({{"quant_method", "vptq"}}),
                "quantization_config.quant_method is \"vptq\"");
  CHECK_REFUSED(refused({{"quant_method", "mxfp4"}}), "quant_method is \"mxfp4\"");
  CHECK_REFUSED(refused({{"quant_method", "gptq"}, {"group_size", 128}}), "bits is missing");
  CHECK_REFUSED(refused({{"quant_method", "gptq"}, {"bits", 5}}), "bits is 5");
  CHECK_REFUSED(refused({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", "128"}}),
                "group_size is \"128\"");
  CHECK_REFUSED(refused({{"quant_method", "fp8"}, {"weight_block_size", {128}}}),
                "weight_block_size is a list");
  CHECK_REFUSED(refused({{"quant_method", "fp8"}, {"weight_block_size", {128, 0}}}),
                "weight_block_size holds 0");
  CHECK_REFUSED(refused({{"quant_method", "fp8"}, {"weight_block_size", 128}}),
                "weight_block_size is 128");
  CHECK_REFUSED(refused({{"quant_method", "bitsandbytes"}}), "load_in_4bit is missing");
  CHECK_REFUSED(refused({{"quant_method", "modelopt"}, {"quant_algo", "W4A8"}}),
                "quant_algo is \"W4A8\"");
  CHECK_REFUSED(refused({{"quant_method", "compressed-tensors"}}), "config_groups is missing");
  CHECK_REFUSED(refused(compressed({{"num_bits", 6}, {"type", "float"}})), "weights.num_bits is 6");
  CHECK_REFUSED(with(llama_text, "torch_dtype", "int3"), "torch_dtype is \"int3\"");
  CHECK_REFUSED(with(llama_text, "torch_dtype", 16), "torch_dtype is 16");
}

TEST_CASE("a list of layers that an object leaves out is named") {
  json kimi = config("kimi_k3");
  json& own = kimi.contains("text_config") ? kimi["text_config"] : kimi;
  own["linear_attn_config"].erase("kda_layers");
  CHECK(holds(refusal_of(kimi).text, "linear_attn_config.kda_layers is missing; allowed: a list"));
  own["linear_attn_config"]["kda_layers"] = 3;
  CHECK(holds(refusal_of(kimi).text, "linear_attn_config.kda_layers is 3; allowed: a list"));
}

TEST_CASE("an architecture that is not known is read by its fields, and said to be unknown") {
  for (const char* name : {"MambaForCausalLM", "NextYearForCausalLM", "llamaforcausallm"}) {
    const json file = with(with(llama_text, "architectures", {name}), "model_type", "next_year");
    INFO(name);
    const pm::model_config read = pm::from_config(file);
    CHECK_FALSE(read.known_family);
    CHECK(read.architecture == name);
    CHECK(parameters_of(file) == parameters_of(llama_text));
    const refusal r = refusal_of(without(file, "hidden_size"));
    CHECK(r.code == static_cast<int>(pm::error_code::unknown_architecture));
    CHECK(holds(r.text, std::string("\"") + name + "\" is not a known architecture"));
    CHECK(holds(r.text, "hidden_size is missing"));
  }
  CHECK(pm::from_config(llama_text).known_family);
  const refusal encoder = refusal_of(with(llama_text, "is_encoder_decoder", true));
  CHECK(holds(encoder.text, "is_encoder_decoder is true"));
  const refusal long_name = refusal_of(
      without(with(with(llama_text, "architectures", {std::string(100000, 'x') + "\n\x01"}),
                   "model_type", "x"),
              "vocab_size"));
  CHECK(long_name.text.size() < 2000);
  CHECK_REFUSED(with(llama_text, "model_type", "mixtral"), "model_type is \"mixtral\"");
  CHECK_REFUSED(with(llama_text, "architectures", json::array()), "architectures is a list");
  CHECK_REFUSED(with(llama_text, "architectures", "LlamaForCausalLM"),
                "architectures is \"LlamaForCausalLM\"");
  CHECK_REFUSED(with(llama_text, "architectures", {3}), "architectures is a list");
  CHECK_REFUSED(without(without(llama_text, "architectures"), "model_type"),
                "model_type is missing");
  CHECK(parameters_of(without(llama_text, "architectures")) == parameters_of(llama_text));
  CHECK(parameters_of(without(llama_text, "model_type")) == parameters_of(llama_text));
  CHECK(pm::from_config(without(llama_text, "architectures")).architecture == "llama");
}

TEST_CASE("wrong values are refused by field, value and what is allowed") {
  for (const json& whole : {json(3), json("x"), json::array(), json(nullptr), json(true)}) {
    CHECK_REFUSED(whole, "the configuration is ");
  }
  for (const char* key : {"hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads",
                          "intermediate_size"}) {
    const std::string field(key);
    CHECK_REFUSED(without(llama_text, key), field + " is missing");
    CHECK_REFUSED(with(llama_text, key, nullptr), field + " is null");
    CHECK_REFUSED(with(llama_text, key, "64"), field + " is \"64\"");
    CHECK_REFUSED(with(llama_text, key, 64.0), field + " is 64.0");
    CHECK_REFUSED(with(llama_text, key, 64.5), field + " is 64.5");
    CHECK_REFUSED(with(llama_text, key, 0), field + " is 0");
    CHECK_REFUSED(with(llama_text, key, -64), field + " is -64");
    CHECK_REFUSED(with(llama_text, key, 1000000000), field + " is 1000000000");
    CHECK_REFUSED(with(llama_text, key, std::numeric_limits<std::uint64_t>::max()), field + " is ");
    CHECK_REFUSED(with(llama_text, key, std::numeric_limits<std::int64_t>::min()), field + " is ");
    CHECK_REFUSED(with(llama_text, key, std::numeric_limits<double>::quiet_NaN()),
                  field + " is not a number");
    CHECK_REFUSED(with(llama_text, key, std::numeric_limits<double>::infinity()), field + " is ");
    CHECK_REFUSED(with(llama_text, key, true), field + " is true");
    CHECK_REFUSED(with(llama_text, key, json::array({64})), field + " is a list");
    CHECK_REFUSED(with(llama_text, key, json::object()), field + " is an object");
  }
  CHECK_REFUSED(with(llama_text, "attention_bias", 1), "attention_bias is 1");
  CHECK_REFUSED(with(llama_text, "tie_word_embeddings", "false"),
                "tie_word_embeddings is \"false\"");
  json nested = config("gemma_3_27b");
  nested["text_config"]["hidden_size"] = "big";
  CHECK_REFUSED(nested, "text_config.hidden_size is \"big\"");
}

TEST_CASE("whatever stands in a field, reading ends in a model or in an error of this library") {
  const std::vector<json> nasty = {nullptr,
                                   true,
                                   "4096",
                                   "",
                                   -1,
                                   0,
                                   1,
                                   1.5,
                                   1e300,
                                   -1e300,
                                   1000000000,
                                   std::numeric_limits<std::uint64_t>::max(),
                                   std::numeric_limits<double>::quiet_NaN(),
                                   json::array(),
                                   json::array({json::array({nullptr})}),
                                   json::object(),
                                   json{{"model_type", json::array()}}};
  std::size_t models = 0, errors = 0;
  const auto attempt = [&](const json& j) {
    try {
      const pm::model_config read = pm::from_config(j);
      const double total = pm::parameters(read.model).total();
      CHECK((total > 0 && total < 1e30));
      CHECK(pm::kv_bytes_per_token(read.model).value() > 0);
      CHECK(pm::weight_bytes(read.model, read.stored).value() > 0);
      ++models;
    } catch (const pm::error& e) {
      CHECK((e.code() == pm::error_code::invalid_config ||
             e.code() == pm::error_code::unknown_architecture));
      CHECK(std::string(e.what()).size() < 2000);
      ++errors;
    }
  };
  std::size_t configs = 0;
  for (const auto& row : perfmodel_test::test_data("parameters_by_tensor.tsv")) {
    // The fuzz target of this reader runs under the sanitizer as well.
    if (perfmodel_test::sanitized && configs++ % 8 != 0) continue;
    const json good = config(row.text("model"));
    for (const char* part : {"", "text_config", "quantization_config"}) {
      const json::json_pointer at(*part == '\0' ? std::string() : std::string("/") + part);
      if (!good.contains(at)) continue;
      for (const auto& item : good.at(at).items()) {
        for (const json& value : nasty) {
          json bad = good;
          bad[at][item.key()] = value;
          attempt(bad);
        }
        json bad = good;
        bad[at].erase(item.key());
        attempt(bad);
      }
    }
  }
  const std::size_t least = perfmodel_test::sanitized ? 100 : 1000;
  CHECK(models > least);  // most fields do not matter
  CHECK(errors > least);  // the others do
}

TEST_CASE("any JSON type of that interface will do") {
  std::ifstream file(repository / "tests/data/configs/deepseek_v3.json");
  const auto read = pm::from_config(nlohmann::ordered_json::parse(file), "deepseek_v3");
  CHECK(perfmodel_test::fields_of(read.model) == perfmodel_test::fields_of(catalog::deepseek_v3));
}

}  // namespace unit_huggingface
