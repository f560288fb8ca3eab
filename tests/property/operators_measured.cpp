// A bound is a bound: no published measurement of attention or of an expert block is faster.
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <optional>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/workload/operators/attention.hpp>
#include <perfmodel/workload/operators/attention_decode.hpp>
#include <perfmodel/workload/operators/moe.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/shared.hpp"

namespace pm = perfmodel;

namespace {

std::optional<pm::accelerator> accelerator_of(const std::string& name) {
  if (name == "a100_sxm") return pm::catalog::a100_sxm_80gb;
  if (name == "h100_sxm") return pm::catalog::h100_sxm;
  if (name == "h200_sxm") return pm::catalog::h200_sxm;
  return std::nullopt;
}
pm::number_format format_of(const std::string& name) {
  return name.starts_with("fp8") ? pm::fp8 : pm::bf16;
}

/// Calls check(row) for every row of a table whose accelerator is known; row[i] is column i.
template <class F>
void each_row(const char* file, F&& check) {
  std::ifstream in(perfmodel_test::measured_folder() + "/" + file);
  REQUIRE(in.good());
  std::string line;
  std::getline(in, line);
  int rows = 0;
  while (std::getline(in, line)) {
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    if (!accelerator_of(row[0])) continue;
    check(row);
    ++rows;
  }
  CHECK(rows > 500);
}

void not_faster(const pm::demand& d, const std::vector<std::string>& row) {
  const double bound = pm::roofline(*accelerator_of(row[0]), d).time.value();
  const double measured = std::stod(row.back()) * 1e-6;
  if (bound <= measured) return;
  std::string text;
  for (const std::string& cell : row) text += cell + " ";
  INFO(text << "bound " << bound * 1e6 << " us");
  CHECK(bound <= measured);
}

}  // namespace

TEST_CASE("attention over a prompt is never faster than its bound", "[operators][shared]") {
  each_row("aic_attn_context_public.csv", [](const std::vector<std::string>& r) {
    not_faster(demand_of(pm::attention_prefill{.batch = std::stod(r[4]),
                                               .tokens = std::stod(r[5]),
                                               .query_heads = std::stod(r[6]),
                                               .kv_heads = std::stod(r[7]),
                                               .head_dim = std::stod(r[8]),
                                               .format = format_of(r[2]),
                                               .kv_format = format_of(r[3])}),
               r);
  });
}

TEST_CASE("attention over a cache is never faster than its bound", "[operators][shared]") {
  each_row("aic_attn_decode_public.csv", [](const std::vector<std::string>& r) {
    const pm::attention_decode a{.batch = std::stod(r[4]),
                                 .context = std::stod(r[5]),
                                 .query_heads = std::stod(r[6]),
                                 .kv_heads = std::stod(r[7]),
                                 .head_dim = std::stod(r[8]),
                                 .format = format_of(r[2]),
                                 .kv_format = format_of(r[3])};
    const pm::demand d = demand_of(a);
    // These were replayed without emptying L2: a cache below twice its size may come from there.
    if (d.dram.total() < 2.0 * accelerator_of(r[0])->l2.capacity) return;
    not_faster(d, r);
  });
}

TEST_CASE("an expert block is never faster than its bound", "[operators][shared]") {
  each_row("aic_moe_balanced_public.csv", [](const std::vector<std::string>& r) {
    if (r[7] == "256") return;  // routed by groups: half of the experts are never read
    not_faster(demand_of(pm::moe_ffn{.tokens = std::stod(r[3]),
                                     .hidden = std::stod(r[4]),
                                     .intermediate = std::stod(r[5]),
                                     .experts = std::stod(r[7]),
                                     .top_k = std::stod(r[6]),
                                     .tensor_parallel = std::stod(r[8]),
                                     .expert_parallel = std::stod(r[9]),
                                     .format = format_of(r[2])}),
               r);
  });
}
