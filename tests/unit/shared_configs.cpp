// Files of models as people have them: each is read, has the size that its maker publishes, and is
// answered by a pass, a KV capacity and a plan.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/config/config_fields.hpp>
#include <perfmodel/model/config/huggingface.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/step.hpp>
#include <sstream>
#include <support/shared.hpp>

namespace unit_shared_configs {

namespace pm = perfmodel;
using nlohmann::json;

namespace {

json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return json::parse(pm::json_from_python(text.str()));
}

/// Sizes of the language model as published, in 1e9: the list of the folder's README, model cards,
/// or the name, which rounds. Active ones are counted with both vocabulary tables by some makers
/// and without them by others.
struct published_size {
  const char* file;
  double total;
  std::optional<double> active{};
  bool rounded = false;
};
constexpr published_size sizes[] = {
    {"MiniMaxAI--MiniMax-M2.5", 230, 10},
    {"MiniMaxAI--MiniMax-M3", 427},
    {"Qwen--Qwen3-235B-A22B-FP8", 235, 22},
    {"Qwen--Qwen3-30B-A3B", 30.5, 3.3},
    {"Qwen--Qwen3-32B-FP8", 32.8},
    {"Qwen--Qwen3-8B", 8.2},
    {"Qwen--Qwen3-VL-30B-A3B-Instruct", 30.5, 3.3},
    {"Qwen--Qwen3-VL-8B-Instruct", 8.2},
    {"Qwen--Qwen3.5-27B", 27, {}, true},
    {"Qwen--Qwen3.5-397B-A17B", 397, 17},
    {"XiaomiMiMo--MiMo-V2-Flash", 309, 15},
    {"deepseek-ai--DeepSeek-R1", 671, 37},
    {"deepseek-ai--DeepSeek-V3.2", 671, 37},
    {"deepseek-ai--DeepSeek-V4-Flash", 284, 13},
    {"google--gemma-4-26B-A4B", 25.2, 3.8},
    {"meta-llama--Llama-4-Scout-17B-16E-Instruct", 109, 17},
    {"meta-llama--Meta-Llama-3.1-70B", 70.6},
    {"mistralai--Mixtral-8x22B-v0.1", 141, 39},
    {"moonshotai--Kimi-K2-Instruct", 1030, 32},
    {"moonshotai--Kimi-K2.5", 1030, 32},
    {"moonshotai--Kimi-K3", 2800},
    {"nvidia--DeepSeek-V3.1-NVFP4", 671, 37},
    {"nvidia--Kimi-K2.6-NVFP4", 1030, 32},
    {"nvidia--Llama-3_3-Nemotron-Super-49B-v1", 49.9},
    {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 31.6, 3.6},
    {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", 31.6, 3.6},
    {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 120.6, 12.7},
    {"nvidia--Nemotron-H-56B-Base-8K", 56, {}, true},
    {"nvidia--Qwen3-235B-A22B-NVFP4", 235, 22},
    {"nvidia--Qwen3.6-35B-A3B-NVFP4", 35, 3, true},
    {"openai--gpt-oss-120b", 116.8, 5.1},
    {"openai--gpt-oss-20b", 20.9, 3.6},
    {"stepfun-ai--Step-3.7-Flash-FP8", 196, 11},
    {"zai-org--GLM-5.2-FP8", 744, 40},
    {"zai-org--GLM-5", 744, 40},
};

pm::model_config read(const std::filesystem::path& folder, const std::string& stem) {
  const json config = read_json(folder / (stem + "_config.json"));
  const std::filesystem::path other = folder / (stem + "_hf_quant_config.json");
  if (!std::filesystem::exists(other)) return pm::from_config(config);
  const json quantization = read_json(other);
  return pm::from_config(config, "", &quantization);
}

}  // namespace

TEST_CASE("models as people have them are read, and have their published size",
          "[models][shared]") {
  const std::filesystem::path folder = perfmodel_test::shared_folder("configs");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files += entry.path().extension() == ".json" ? 1 : 0;
  }
  CHECK(files == std::size(sizes) + 6);  // hf_quant_config.json of six
  for (const published_size& size : sizes) {
    INFO(size.file);
    const pm::model_config c = read(folder, size.file);
    const double total = pm::parameters(c.model).total() / 1e9;
    CHECK(std::abs(total / size.total - 1.0) < (size.rounded ? 0.08 : 0.02));
    if (!size.active) continue;
    const double active = pm::active_parameters(c.model) / 1e9;
    const double tables = 2.0 * c.model.vocabulary * c.model.hidden / 1e9;
    CHECK(active > 0.95 * *size.active);
    CHECK(active - tables < 1.05 * *size.active);
  }
}

TEST_CASE("users' models have a step, a capacity and a plan", "[models][shared]") {
  const std::filesystem::path folder = perfmodel_test::shared_folder("configs");
  const auto calibration = pm::calibrated_for(pm::catalog::h200_sxm, pm::engine::vllm);
  for (const published_size& size : sizes) {
    INFO(size.file);
    const pm::model_config c = read(folder, size.file);
    pm::deployment d{.device = pm::catalog::h200_sxm, .model = c.model};
    d.layout.tensor = 8;
    if (!layout_feasible(d.layout, sharded_dims_of(c.model))) d.layout.tensor = 4;
    const pm::iteration decode{.batch = 16, .context = 8000};
    const pm::iteration mixed{.batch = 16, .context = 8000, .prefill_tokens = 2048};
    const pm::estimate bound = step_bound(d, decode), predicted = step(d, decode, calibration);
    CHECK(bound.time.value() > 1e-4);
    CHECK(predicted.time >= bound.time);
    CHECK(predicted.time.value() < 0.5);
    CHECK(step_bound(d, mixed).time > bound.time);
    const auto capacity = kv_capacity(with_all_memory(d), 8000.0);
    const bool holds = weight_bytes_per_device(d) < d.device.dram.capacity.quantity();
    CHECK(static_cast<bool>(capacity.feasible) == holds);
    CHECK((capacity.sequences > 0.0) == holds);
    pm::plan_request q;
    q.model = c.model;
    q.accelerators = {pm::catalog::h200_sxm};
    q.gpus = 16;
    q.precisions = {{"checkpoint", c.stored, formats_of(d).linear.format, pm::bf16}};
    q.load = {.input_tokens = 4000, .output_tokens = 500, .arrivals = pm::closed_loop{16}};
    const auto plan = plan_bound(q);
    CHECK((plan.frontier.empty() ? !plan.rejected.empty() : true));
  }
}

}  // namespace unit_shared_configs
