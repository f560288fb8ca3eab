// Times of published services by the catalogue's engines.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/serving.hpp>
#include <string>
#include <vector>

#include <fit/published_engines.hpp>
#include "support/shared.hpp"

namespace unit_engines_published {

namespace pm = perfmodel;

namespace {

/// Mean |predicted / measured - 1| of an engine's services by model and accelerator.
template <class Model>
std::map<std::string, double> errors_of(const std::vector<published::engine_row>& rows) {
  std::map<std::string, std::vector<double>> by;
  for (const auto& r : rows) {
    const auto calibration = pm::calibrated_for(r.deployment);
    const double t = Model::answer(serving(r.deployment, r.load, calibration), r.median);
    by[r.model + ' ' + r.gpu + (r.median ? ", median" : "")].push_back(
        std::log(Model::measured(r) / t));
  }
  std::map<std::string, double> out;
  for (const auto& [group, residual] : by) out[group] = pm::score_of(residual).mean;
  return out;
}

/// Each group's below its limit.
template <class Model>
void check_errors(pm::engine by, const std::vector<published::engine_row>& rows,
                  const std::map<std::string, double>& limits) {
  const auto errors = errors_of<Model>(rows);
  for (const auto& [group, limit] : limits) {
    INFO(pm::name_of(by) << ' ' << group);
    CHECK(errors.at(group) < limit);
  }
}

}  // namespace

TEST_CASE("engines: time per output token of services", "[engines][shared]") {
  const std::string folder = perfmodel_test::measured_folder();
  const std::map<pm::engine, std::map<std::string, double>> limits{
      {pm::engine::vllm,
       {{"Llama-3.1-70B h200_sxm", 0.09},
        {"gpt-oss-120b b200_sxm", 0.10},
        {"gpt-oss-120b h200_sxm", 0.05}}},
      {pm::engine::sglang,
       {{"DeepSeek-R1 b200_sxm", 0.17},
        {"DeepSeek-R1 h200_sxm", 0.14},
        {"Qwen3-235B-A22B h200_sxm", 0.14},
        {"Qwen3.5-397B-A17B b200_sxm", 0.09},
        {"Qwen3.5-397B-A17B h200_sxm", 0.14}}},
      {pm::engine::trtllm,
       {{"DeepSeek-R1 b200_sxm", 0.13},
        {"Llama-3.1-70B b200_sxm", 0.095},
        {"Llama-3.1-70B h200_sxm", 0.095},
        {"Qwen3-235B-A22B h100_sxm", 0.13},
        {"gpt-oss-120b b200_sxm", 0.15},
        {"gpt-oss-120b h200_sxm", 0.13}}}};
  for (const auto& [by, expected] : limits) {
    check_errors<published::vllm_model>(by, published::engine_rows(folder, by), expected);
  }
}

TEST_CASE("engines: time to the first token of services", "[engines][shared]") {
  const std::string folder = perfmodel_test::measured_folder();
  const std::map<pm::engine, std::map<std::string, double>> limits{
      {pm::engine::vllm,
       {{"Llama-3.1-70B h200_sxm", 0.17},
        {"gpt-oss-120b b200_sxm", 0.10},
        {"gpt-oss-120b b200_sxm, median", 0.09},
        {"gpt-oss-120b h200_sxm", 0.09},
        {"gpt-oss-120b h200_sxm, median", 0.09}}},
      {pm::engine::sglang,
       {{"DeepSeek-R1 b200_sxm", 0.22},
        {"DeepSeek-R1 h200_sxm", 0.20},
        {"DeepSeek-R1 h200_sxm, median", 0.15},
        {"Qwen3-235B-A22B h200_sxm", 0.42},
        {"Qwen3.5-397B-A17B b200_sxm", 0.30},
        {"Qwen3.5-397B-A17B h200_sxm", 0.15}}},
      {pm::engine::trtllm,
       {{"DeepSeek-R1 b200_sxm", 0.20},
        {"Llama-3.1-70B b200_sxm", 0.14},
        {"Llama-3.1-70B h200_sxm", 0.11},
        {"Qwen3-235B-A22B h100_sxm", 0.33},
        {"gpt-oss-120b b200_sxm", 0.18},
        {"gpt-oss-120b h200_sxm", 0.19}}}};
  for (const auto& [by, expected] : limits) {
    const auto rows = published::rows_of_requests(published::engine_rows(folder, by));
    check_errors<published::request_model>(by, rows, expected);
  }
}

}  // namespace unit_engines_published
