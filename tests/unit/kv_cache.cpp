// Capacity by hand, and tokens that engines report at start-up from the bytes they report.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <perfmodel/deployment/memory.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/workload/catalog/all.hpp>
#include <string>
#include <vector>

#include "support/near.hpp"
#include "support/refusal.hpp"
#include "support/shared.hpp"

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

// The logs quote text with commas, and a gap where a number is missing.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}
/// Their rows.
std::vector<std::vector<std::string>> logs() {
  std::ifstream file(perfmodel_test::measured_folder() + "/kv_capacity_logs_public.csv");
  REQUIRE(file.good());
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) rows.push_back(cells_of(line));
  return rows;
}
/// -1 where it is not a number.
double number(const std::string& cell) {
  char* end = nullptr;
  const double x = std::strtod(cell.c_str(), &end);
  return cell.empty() || *end != '\0' ? -1.0 : x;
}
const pm::transformer* model_of(const std::string& name) {
  if (name.find("Llama-3.1-8B") != std::string::npos) return &cat::llama_3_1_8b;
  if (name == "Llama-3.1-70B-Instruct") return &cat::llama_3_1_70b;
  if (name == "Qwen3-235B-A22B-FP8") return &cat::qwen_3_235b_a22b;
  if (name.starts_with("Phi-4 (14B)")) return &cat::phi_4;
  return nullptr;
}

}  // namespace

TEST_CASE("kv_cache: tokens in start-up logs follow from the reported bytes and the model's shape",
          "[shared]") {
  const auto all = logs();
  int rows = 0;
  for (const auto& c : all) {
    const pm::transformer* m = model_of(c.at(1));
    if (m == nullptr || c.at(12).empty() || c.at(15).empty()) continue;
    ++rows;
    const double gib = std::stod(c[12]), reported = std::stod(c[15]);
    const int tensor = std::stoi(c[5]);
    const auto per_token = kv_bytes_per_token(*m, pm::bf16) * kv_share(*m, tensor);
    const auto k = pm::kv_capacity(pm::memory_budget{.capacity = gib * pm::GiB}, per_token, 1.0);
    // Bytes are printed to 0.01 GiB. The log of Qwen3-235B holds 1.2 % less than its bytes allow.
    const double rounding = 0.005 / gib + 16 / reported;
    const double unexplained = m == &cat::qwen_3_235b_a22b ? 0.012 : 0.0;
    INFO(c[1]);
    CHECK(std::abs(k.tokens.value() - reported) <= (rounding + unexplained) * reported);
  }
  CHECK(rows == 5);
}

TEST_CASE("kv_capacity: start-up logs add up, and tokens follow from the model", "[shared]") {
  const auto all = logs();
  int identities = 0;
  for (const auto& c : all) {
    const double total = number(c.at(6)), share = number(c.at(7)), weights = number(c.at(9)),
                 other = number(c.at(10)), peak = number(c.at(11)), kv = number(c.at(12));
    if (total < 0 || share < 0 || weights < 0 || other < 0 || peak < 0 || kv < 0) continue;
    const pm::memory_budget b{.capacity = total * pm::GiB,
                              .utilization = share,
                              .weights = weights * pm::GiB,
                              .activations = peak * pm::GiB,
                              .runtime = other * pm::GiB};
    INFO(c[1]);
    // Logs that print weights to four places print everything so; others round the share too.
    const bool full = c[9].size() > c[9].find('.') + 3;
    CHECK(std::abs(pm::kv_bytes_available(b).value() / 1073741824.0 - kv) <
          0.03 + (full ? 0.0 : 0.005 * total));
    ++identities;
  }
  CHECK(identities >= 5);
}

TEST_CASE("kv_capacity: blocks round down, and a sequence rounds up to blocks") {
  const auto c = pm::kv_capacity(pm::memory_budget{.capacity = 1000.0 * pm::byte},
                                 1.0 * pm::byte_per_token, 17.0, 16.0);
  CHECK(c.blocks == 62);  // 1000 / 16
  CHECK(c.tokens.value() == 992);
  CHECK(c.sequences == 31);  // two blocks each
}

TEST_CASE("kv_capacity: waste, sharing and crossover as published") {
  CHECK(near(pm::contiguous_waste(500.0, 4096.0), 0.8779296875));
  CHECK(near(pm::paged_waste(500.0, 16.0), 7.5 / 507.5));
  CHECK(pm::shared_prefix_saving(64.0, 2000.0).value() == 126000);
  CHECK(near(pm::weight_cache_crossover(140.0 * pm::GB, 327680.0 * pm::byte_per_token).value(),
             427246.09375));
  CHECK(near(pm::waste_free_gain(0.5), 2.0));
}

TEST_CASE("kv_capacity: what is out of range is named") {
  const auto over = [](int tensor) {
    return pm::deployment{
        .device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = tensor}};
  };
  CHECK(refusal([] {
          (void)pm::kv_capacity(pm::memory_budget{.capacity = 1.0 * pm::GB, .utilization = 1.5},
                                1.0 * pm::byte_per_token, 1.0);
        }) == "PM-E010: utilization is 1.5; allowed: 0 to 1");
  CHECK(refusal([&] { (void)pm::kv_capacity(over(8), 0.0); }) ==
        "PM-E010: context is 0; allowed: 1 or more");
  const auto none = pm::kv_capacity(over(1), 4096.0);
  CHECK_FALSE(none.feasible.feasible);
  CHECK(none.sequences == 0);
}

TEST_CASE("kv_cache: blocks only round down, and nothing is lost but the rest of a block") {
  for (double context = 1; context < 200; context += 7) {
    for (const double block : {1.0, 16.0, 64.0}) {
      const auto c = pm::kv_capacity(pm::memory_budget{.capacity = 1e6 * pm::byte},
                                     10.0 * pm::byte_per_token, context, block);
      CHECK(c.tokens.value() * 10 <= 1e6);
      CHECK((c.tokens.value() + block) * 10 > 1e6);
      CHECK(c.sequences * std::ceil(context / block) <= c.blocks);
      CHECK((c.sequences + 1) * std::ceil(context / block) > c.blocks);
    }
  }
}

TEST_CASE("kv_cache: of a budget every part counts, and bad ones are named") {
  const pm::memory_budget b{.capacity = 100.0 * pm::GB,
                            .utilization = 0.9,
                            .weights = 40.0 * pm::GB,
                            .activations = 3.0 * pm::GB,
                            .runtime = 2.0 * pm::GB};
  CHECK(near(pm::kv_bytes_available(b), 45.0 * pm::GB));
  auto bad = b;
  bad.runtime = -1.0 * pm::GB;
  CHECK(refusal([&] {
          (void)pm::kv_bytes_available(bad);
        }).starts_with("PM-E010: runtime_bytes is -1000000000"));
  CHECK(refusal([&] {
          (void)pm::kv_capacity(b, 0.0 * pm::byte_per_token, 1.0);
        }).starts_with("PM-E010: kv_bytes_per_token"));
  CHECK(refusal([&] {
          (void)pm::kv_capacity(b, 1.0 * pm::byte_per_token, 1.0, 0.5);
        }).starts_with("PM-E010: block_size"));
  CHECK(refusal([] {
          (void)pm::contiguous_waste(500.0, 400.0);
        }).starts_with("PM-E010: mean_length is 500"));
  CHECK(refusal([] { (void)pm::waste_free_gain(1.0); }).starts_with("PM-E010: waste is 1"));
  CHECK(
      refusal([] { (void)pm::shared_prefix_saving(0.0, 10.0); }).starts_with("PM-E010: sequences"));
  CHECK(refusal([] {
          (void)pm::weight_cache_crossover(0.0 * pm::GB, 1.0 * pm::byte_per_token);
        }).starts_with("PM-E010: weight_bytes"));
}
