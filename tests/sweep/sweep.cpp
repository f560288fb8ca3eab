// The library still gives the results of version 0.1 to every question of the sweep.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/tables.hpp"
#include "sweep/result.hpp"

using namespace perfmodel_sweep;

namespace {

struct recorded {
  std::string kind{};
  std::string text{};
  std::vector<double> answers{};
};

/// tests/data/sweep_answers.tsv, one entry for each question.
const std::vector<recorded>& all_recorded() {
  static const std::vector<recorded> all = [] {
    std::vector<recorded> out;
    for (const auto& row : perfmodel_test::test_data("sweep_answers.tsv")) {
      recorded r{.kind = row.text("kind"), .text = row.text("question")};
      std::istringstream each(row.text("answers"));
      for (std::string word; each >> word;) {
        r.answers.push_back(std::strtod(word.c_str(), nullptr));
      }
      out.push_back(r);
    }
    return out;
  }();
  return all;
}

/// Equal to 1e-9 of the larger one. Zero equals only zero, and NaN only NaN. `scale` is what a
/// derivative is small in comparison: one that cancels has no digits of its own left.
bool same(double a, double b, double scale = 0.0) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  const double size = std::max(std::abs(a), std::abs(b));
  return std::abs(a - b) <= std::max(1e-9 * size, 1e-12 * scale);
}

void compare(const question& q, const recorded& before, const reply& r) {
  const std::vector<double> now = r.flat();
  INFO("question " << q.index << ", " << q.kind << ": " << q.text());
  REQUIRE(before.kind == q.kind);
  REQUIRE(before.text == q.text());
  REQUIRE(now.size() == before.answers.size());
  std::vector<double> scale(now.size(), 0.0);
  for (const std::size_t i : r.derivatives) scale[i] = std::abs(now[i - 1]);
  for (std::size_t i = 0; i < now.size(); ++i) {
    INFO("answer " << i << " was " << before.answers[i] << " and is " << now[i]);
    CHECK(same(now[i], before.answers[i], scale[i]));
  }
}

void check(std::string_view kind) {
  static const std::vector<question> questions = all_questions();
  REQUIRE(all_recorded().size() == questions.size());
  std::size_t asked = 0;
  for (const question& q : questions) {
    if (q.kind != kind) continue;
    ++asked;
    compare(q, all_recorded()[static_cast<std::size_t>(q.index)], answer(q));
  }
  CHECK(asked >= 40);
}

}  // namespace

TEST_CASE("roofline of gemm") {
  check("roofline of gemm");
}
TEST_CASE("roofline of attention_decode") {
  check("roofline of attention_decode");
}
TEST_CASE("roofline of attention_prefill") {
  check("roofline of attention_prefill");
}
TEST_CASE("roofline of moe_ffn") {
  check("roofline of moe_ffn");
}
TEST_CASE("roofline of norm") {
  check("roofline of norm");
}
TEST_CASE("roofline of elementwise") {
  check("roofline of elementwise");
}
TEST_CASE("roofline of swiglu") {
  check("roofline of swiglu");
}
TEST_CASE("attainable") {
  check("attainable");
}
TEST_CASE("ridge_point") {
  check("ridge_point");
}
TEST_CASE("kv_bytes") {
  check("kv_bytes");
}
TEST_CASE("kv_capacity") {
  check("kv_capacity");
}
TEST_CASE("kv_capacity of a budget") {
  check("kv_capacity of a budget");
}
TEST_CASE("kv cache waste") {
  check("kv cache waste");
}
TEST_CASE("parameters") {
  check("parameters");
}
TEST_CASE("weight_bytes_per_device") {
  check("weight_bytes_per_device");
}
TEST_CASE("fits") {
  check("fits");
}
TEST_CASE("layout_feasible") {
  check("layout_feasible");
}
TEST_CASE("collective_time") {
  check("collective_time");
}
TEST_CASE("collective_time on a fabric") {
  check("collective_time on a fabric");
}
TEST_CASE("collective_time with stated latency") {
  check("collective_time with stated latency");
}
TEST_CASE("hierarchical_time") {
  check("hierarchical_time");
}
TEST_CASE("step, decode, dense") {
  check("step, decode, dense");
}
TEST_CASE("step, decode, experts") {
  check("step, decode, experts");
}
TEST_CASE("step, prefill, dense") {
  check("step, prefill, dense");
}
TEST_CASE("step, prefill, experts") {
  check("step, prefill, experts");
}
TEST_CASE("serving, closed loop, dense") {
  check("serving, closed loop, dense");
}
TEST_CASE("serving, closed loop, experts") {
  check("serving, closed loop, experts");
}
TEST_CASE("serving, closed loop, chunked prompts") {
  check("serving, closed loop, chunked prompts");
}
TEST_CASE("serving, open loop, dense") {
  check("serving, open loop, dense");
}
TEST_CASE("iron law") {
  check("iron law");
}
TEST_CASE("Little's law") {
  check("Little's law");
}
TEST_CASE("occupancy") {
  check("occupancy");
}
TEST_CASE("launch") {
  check("launch");
}
TEST_CASE("overlap") {
  check("overlap");
}
TEST_CASE("fusion") {
  check("fusion");
}
TEST_CASE("energy") {
  check("energy");
}
TEST_CASE("power cap") {
  check("power cap");
}
TEST_CASE("cost") {
  check("cost");
}
TEST_CASE("queueing") {
  check("queueing");
}
TEST_CASE("decode_batch") {
  check("decode_batch");
}
TEST_CASE("metrics") {
  check("metrics");
}
TEST_CASE("Amdahl") {
  check("Amdahl");
}
TEST_CASE("static batching") {
  check("static batching");
}
TEST_CASE("speculative") {
  check("speculative");
}
TEST_CASE("speculative, by position") {
  check("speculative, by position");
}
TEST_CASE("tensor parallel") {
  check("tensor parallel");
}
TEST_CASE("pipeline") {
  check("pipeline");
}
TEST_CASE("expert parallel") {
  check("expert parallel");
}
TEST_CASE("zero and data parallel") {
  check("zero and data parallel");
}
TEST_CASE("context parallel") {
  check("context parallel");
}
