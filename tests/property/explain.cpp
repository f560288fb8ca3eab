// A derivation is the evaluation: read back from its trace it gives the same number, bit by bit.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <set>
#include <string>
#include <vector>

namespace property_explain {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

namespace {

/// Every node from its operands, with arithmetic of its own.
double read_back(const pm::trace& t, int root) {
  using op = pm::trace::operation;
  std::vector<double> x(t.size());
  for (int i = 0; i <= root; ++i) {
    const auto& n = t[i];
    const double a = n.left >= 0 ? x[static_cast<std::size_t>(n.left)] : 0;
    const double b = n.right >= 0 ? x[static_cast<std::size_t>(n.right)] : 0;
    double y = n.value;  // constants and inputs
    if (n.op == op::step) y = a;
    if (n.op == op::add) y = a + b;
    if (n.op == op::subtract) y = a - b;
    if (n.op == op::multiply) y = a * b;
    if (n.op == op::divide) y = a / b;
    if (n.op == op::negate) y = -a;
    if (n.op == op::minimum) y = b < a ? b : a;
    if (n.op == op::maximum) y = a < b ? b : a;
    if (n.op == op::ceil) y = std::ceil(a);
    if (n.op == op::floor) y = std::floor(a);
    if (n.op == op::sqrt) y = std::sqrt(a);
    if (n.op == op::log || n.op == op::exp || n.op == op::pow) y = n.value;
    x[static_cast<std::size_t>(i)] = y;
  }
  return x[static_cast<std::size_t>(root)];
}

std::vector<pm::deployment> deployments() {
  std::vector<pm::deployment> all;
  for (const auto* m :
       {&cat::llama_3_70b, &cat::mixtral_8x7b, &cat::gemma_3_27b, &cat::gpt_oss_120b}) {
    for (const int tensor : {1, 8})
      all.push_back({.device = cat::h200_sxm, .model = *m, .layout = {.tensor = tensor}});
  }
  all.push_back({.device = cat::gb200,
                 .model = cat::deepseek_v3,
                 .layout = {.tensor = 2, .pipeline = 2, .expert = 8, .data = 4},
                 .weights = pm::fp8,
                 .activations = pm::fp8});
  return all;
}

/// No two are equal or have a number for a name, and a formula is over what stands before it.
void check_names(const pm::derivation& d) {
  std::set<std::string> known;
  for (const auto& x : d.inputs) CHECK(known.insert(x.name).second);
  for (std::size_t i = 0; i < d.steps.size(); ++i) {
    const pm::derivation_step& x = d.steps[i];
    INFO(x.name << " = " << x.formula);
    CHECK(known.insert(x.name).second);
    CHECK(x.name.starts_with(x.symbol));
    CHECK(x.name.find(" (") == std::string::npos);
    CHECK(x.name.find('\'') == std::string::npos);
    for (const std::size_t j : x.uses) {
      REQUIRE(j < i);
      CHECK(x.formula.find(d.steps[j].name) != std::string::npos);
    }
  }
}

}  // namespace

TEST_CASE("explain: read back, a derivation gives the double's result bit by bit") {
  for (const auto& d : deployments()) {
    INFO(d.model.name.view() << " tensor " << d.layout.tensor);
    for (const pm::iteration& i :
         {pm::iteration{.batch = 16, .context = 4096}, pm::iteration{.prefill_tokens = 3000},
          pm::iteration{.batch = 3, .context = 100, .prefill_tokens = 700, .prefill_past = 50}}) {
      pm::trace t;
      const auto e = pm::step_bound(pm::trace_inputs(d, t), pm::trace_inputs(i, t)).time.value();
      CHECK(e.value() == pm::step_bound(d, i).time.value());
      CHECK(read_back(t, e.node()) == e.value());
      check_names(pm::derivation_of(e));
    }
    for (const pm::service_load& l :
         {pm::service_load{
              .input_tokens = 900, .output_tokens = 300, .arrivals = pm::closed_loop{24}},
          pm::service_load{.input_tokens = 900,
          .output_tokens = 300,
          .arrivals = pm::open_loop{2 * pm::request_per_s},
          .chunk_tokens = 256}}) {
      pm::trace t;
      const auto e = pm::serving_bound(pm::trace_inputs(d, t), pm::trace_inputs(l, t)).e2e;
      CHECK(e.value().value() == pm::serving_bound(d, l).e2e.value());
      CHECK(read_back(t, e.value().node()) == e.value().value());
      const auto lines = pm::derivation_of(e);
      CHECK(lines.steps.back().name == "end to end");
      CHECK(lines.steps.back().value == pm::to_string(pm::serving_bound(d, l).e2e, 4));
      check_names(lines);
    }
  }
}

TEST_CASE("explain: every number of a data sheet comes with its source, for every accelerator") {
  for (const auto& entry : cat::accelerators) {
    const pm::number_format f = supports(*entry.spec, pm::bf16) ? pm::bf16 : pm::fp8;
    if (!supports(*entry.spec, f) || !supports(*entry.spec, pm::bf16)) continue;
    pm::trace t;
    const pm::deployment d{.device = *entry.spec, .model = cat::llama_3_8b};
    const auto e = pm::step_bound(pm::trace_inputs(d, t),
                                  pm::trace_inputs(pm::iteration{.batch = 4, .context = 500}, t));
    const auto lines = pm::derivation_of(e.time);
    int facts = 0;
    for (const auto& x : lines.inputs) {
      INFO(entry.key << ": " << x.name << " = " << x.value);
      CHECK_FALSE(x.value.empty());
      if (!x.name.starts_with("device.")) continue;
      ++facts;
      CHECK(x.source.size() > 8);
      CHECK(x.source.find(": ") != std::string::npos);
    }
    CHECK(facts >= 2);
    for (const auto& s : lines.steps) {
      CHECK_FALSE(s.formula.empty());
      CHECK_FALSE(s.value.empty());
    }
  }
}

}  // namespace property_explain
