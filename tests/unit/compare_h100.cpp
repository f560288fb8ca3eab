// The committed recording of an H100, scored by today's library: no point is faster than its
// bound, and each quantity keeps its stated error: figures of docs/validation/h100.md with a
// margin.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>
#include <string>

#include "compare/judge.hpp"
#include "compare/machine.hpp"
#include "compare/predict.hpp"

namespace unit_compare_h100 {

namespace pv = perfmodel::validation;

namespace {

std::vector<pv::compared_recording> compared(const std::string& run) {
  const auto folder = std::filesystem::path(PERFMODEL_SOURCE_DIR) / "validation/recordings" / run;
  std::vector<pv::recorded> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    all.push_back(pv::read_recording(entry.path().string()));
  }
  REQUIRE(all.size() == 18);
  const pv::machine on = pv::machine_of(all.front().device, all);
  std::vector<pv::compared_recording> out;
  for (const pv::recorded& r : all) out.push_back({r, pv::compare_recording(r, on)});
  return out;
}

/// Largest accepted median and 90th percentile of |predicted / measured - 1|.
struct limit {
  double median, p90;
};
using limits = std::map<std::string, limit>;

void check(const std::string& run, const limits& accepted) {
  const auto all = compared(run);
  for (const std::string& line : pv::broken(all)) FAIL_CHECK(line);
  std::size_t scored = 0, bounded = 0;
  for (const auto& [key, rows] : pv::by_quantity(all)) {
    CHECK(key.first == run);
    const pv::group_score s = pv::score("", rows);
    CHECK(s.violations == 0);
    bounded += s.bound.n;
    const auto found = accepted.find(key.second);
    if (found == accepted.end()) continue;
    ++scored;
    INFO(run << ", " << key.second << ": " << s.predicted.median << ", " << s.predicted.p90);
    CHECK(s.predicted.median <= found->second.median);
    CHECK(s.predicted.p90 <= found->second.p90);
  }
  CHECK(scored == accepted.size());
  CHECK(bounded > 1000);
}

}  // namespace

TEST_CASE("compare: the recorded H100 is within its stated errors") {
  check("h100_sxm", {{"gemm_time", {0.055, 0.24}},
                     {"verify_time", {0.035, 0.055}},
                     {"step_time", {0.04, 0.075}},
                     {"arithmetic_time", {0.05, 0.15}},
                     {"shared_memory_time", {0.02, 0.06}},
                     {"intensity_time", {0.07, 0.12}},
                     {"bytes_in_flight_time", {0.11, 0.25}},
                     {"paged_attention_time", {0.09, 0.10}},
                     {"moe_time", {0.07, 0.27}},
                     {"stream_time", {0.16, 0.40}},
                     {"load_latency", {0.08, 0.15}},
                     {"chain_time", {0.15, 0.26}},
                     {"overlap_time", {0.04, 0.16}},
                     {"launch_time", {0.32, 0.32}}});
}

TEST_CASE("compare: the second run on an H200 is within its stated errors, and has its own label") {
  check("h200_sxm_2", {{"gemm_time", {0.09, 0.25}},
                       {"verify_time", {0.08, 0.135}},
                       {"step_time", {0.075, 0.18}},
                       {"bytes_in_flight_time", {0.11, 0.23}},
                       {"load_latency", {0.04, 0.10}}});
}

TEST_CASE("compare: the label of a device") {
  pv::recorded r;
  r.device.name = "a GPU";
  const auto label = [&r](const char* accelerator, const char* file) {
    r.device.accelerator = accelerator;
    r.file = file;
    return pv::device_label(r);
  };
  CHECK(label("h200_sxm", "recordings/h200_sxm/energy.json") == "h200_sxm");
  CHECK(label("h200_sxm", "recordings/h200_sxm_2/energy.json") == "h200_sxm_2");
  CHECK(label("h200_sxm", "out/recordings/energy.json") == "h200_sxm");
  CHECK(label("h20", "recordings/h20_141gb/energy.json") == "h20");
  CHECK(label("", "recordings/h200_sxm_2/energy.json") == "a GPU");
}

}  // namespace unit_compare_h100
