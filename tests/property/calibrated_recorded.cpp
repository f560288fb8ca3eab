// Calibrated answers as they were recorded: a change that moves one is a change of the model.
// Recorded anew, all of them, where laws and fits changed on purpose: PERFMODEL_RECORD=FILE writes
// the table with today's answers. The columns of `shape` are read in the order in which each
// question below asks for them.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/gemma_mistral_phi.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step.hpp>
#include <sstream>
#include <support/tables.hpp>

namespace property_calibrated_recorded {

namespace pm = perfmodel;

namespace {

class shape {
 public:
  explicit shape(const std::string& text) : words_(text) {}
  double number() {
    double x = NAN;
    REQUIRE(words_ >> x);
    return x;
  }
  /// What the file writes as 0 where there is none.
  std::optional<double> stated() {
    const double x = number();
    return x > 0.0 ? std::optional(x) : std::nullopt;
  }
  int whole() { return static_cast<int>(number()); }
  pm::number_format format() {
    std::string name;
    REQUIRE(words_ >> name);
    for (const pm::number_format f : pm::all_formats) {
      if (name == pm::name_of(f)) return f;
    }
    FAIL("no format " << name);
    return pm::bf16;
  }

 private:
  std::istringstream words_;
};

using question =
    std::function<pm::duration<>(const pm::accelerator&, const pm::calibrated&, shape&)>;

pm::duration<> gemm(const pm::accelerator& a, const pm::calibrated& calibration, shape& s) {
  pm::gemm g;
  g.m = s.number(), g.n = s.number(), g.k = s.number();
  g.format = s.format();
  g.weights.format = s.format();
  g.weights.group = s.stated();
  g.weights.scale_bits = s.number();
  g.output = s.format();
  return calibrated_estimate(a, g, calibration, pm::replay_conditions(s.number())).time;
}
pm::duration<> decode(const pm::accelerator& a, const pm::calibrated& calibration, shape& s) {
  pm::attention_decode w;
  w.batch = s.number(), w.context = s.number();
  w.query_heads = s.number(), w.kv_heads = s.number(), w.head_dim = s.number();
  w.kv_format = s.format();
  w.window = s.stated();
  return calibrated_estimate(a, w, calibration, pm::replay_conditions(s.number())).time;
}
pm::duration<> prefill(const pm::accelerator& a, const pm::calibrated& calibration, shape& s) {
  pm::attention_prefill w;
  w.batch = s.number(), w.tokens = s.number();
  w.query_heads = s.number(), w.kv_heads = s.number();
  w.head_dim = s.number(), w.value_dim = s.stated();
  w.kv_format = s.format();
  w.causal = s.number() > 0.0;
  w.window = s.stated(), w.past = s.number();
  return calibrated_estimate(a, w, calibration, pm::replay_conditions(s.number())).time;
}
pm::duration<> experts(const pm::accelerator& a, const pm::calibrated& calibration, shape& s) {
  pm::moe_ffn w;
  w.tokens = s.number(), w.hidden = s.number(), w.intermediate = s.number();
  w.experts = s.number(), w.top_k = s.number(), w.shared_experts = s.number();
  w.tensor_parallel = s.number(), w.expert_parallel = s.number();
  w.format = s.format(), w.weights = s.format();
  w.gated = s.number() > 0.0;
  return calibrated_estimate(a, w, calibration).time;
}
pm::duration<> norm(const pm::accelerator& a, const pm::calibrated& calibration, shape& s) {
  pm::norm w;
  w.rows = s.number(), w.width = s.number();
  return calibrated_estimate(a, w, calibration, pm::replay_conditions(s.number())).time;
}
pm::duration<> swiglu(const pm::accelerator& a, const pm::calibrated& calibration, shape& s) {
  pm::swiglu w;
  w.tokens = s.number(), w.hidden = s.number(), w.intermediate = s.number();
  w.fused = s.number() > 0.0;
  return calibrated_estimate(a, w, calibration).time;
}
pm::duration<> collective(const pm::accelerator& a, const pm::calibrated& calibration, shape& s) {
  pm::collective c;
  c.operation = static_cast<pm::collective_op>(s.whole());
  c.ranks = s.whole();
  c.message = pm::message_bytes<>(s.number() * pm::byte);
  c.implementation = static_cast<pm::collective_implementation>(s.whole());
  c.launch = static_cast<pm::launch_mode>(s.whole());
  return pm::collective_time(a.fabric, c, calibration).time;
}
pm::duration<> step(const pm::accelerator& a, const pm::calibrated& calibration, shape& s) {
  const pm::transformer models[] = {pm::catalog::llama_3_1_8b, pm::catalog::llama_3_70b,
                                    pm::catalog::mixtral_8x7b};
  pm::deployment d;
  d.device = a;
  d.model = models[s.whole()];
  d.layout.tensor = s.whole();
  const pm::number_format format = s.format();
  d.activations = format;
  d.kv = format;
  d.weights = {format, pm::bf16};
  pm::iteration i;
  i.batch = s.number(), i.context = s.number(), i.prefill_tokens = s.number();
  return pm::step(d, i, calibration, calibration).time;
}

/// Version 0.1 had no host, and nothing was fused.
pm::calibrated kernels_of(const pm::accelerator& a, pm::engine e) {
  pm::calibrated c = pm::calibrated_for(a, e);
  c.engine.step_cpu_time = c.engine.sequence_cpu_time = c.engine.rank_wait = {};
  c.engine.layer_time = c.engine.expert_layer_time = {};
  c.engine.latent_layer_time = {};
  c.engine.prefill_latent_layer_time = c.engine.prefill_recurrent_layer_time = {};
  c.engine.prefill_expert_launch_time = {};
  c.engine.tensor_scale_share = c.engine.quantise_share = 1.0;
  return c;
}

}  // namespace

TEST_CASE("calibrated predictions are those recorded", "[calibrated]") {
  const std::map<std::string, question> questions{
      {"gemm", gemm}, {"decode", decode}, {"prefill", prefill},       {"experts", experts},
      {"norm", norm}, {"swiglu", swiglu}, {"collective", collective}, {"step", step}};
  const auto table = perfmodel_test::test_data("calibrated_recorded.tsv");
  REQUIRE(table.rows.size() == 3040);
  std::ofstream record;
  if (const char* file = std::getenv("PERFMODEL_RECORD")) record.open(file);
  record << "question\taccelerator\tengine\tshape\tseconds\n";
  std::map<std::string, pm::calibrated> calibration;
  for (const auto& row : table.rows) {
    const pm::accelerator& a = *pm::catalog::find_accelerator(row.text("accelerator"));
    const std::string key = row.text("accelerator") + " " + row.text("engine");
    const auto known = calibration.find(key);
    const pm::calibrated& on =
        known != calibration.end()
            ? known->second
            : calibration.emplace(key, kernels_of(a, *pm::find_engine(row.text("engine"))))
                  .first->second;
    shape s(row.text("shape"));
    const double expected = row.number("seconds");
    const double answer = questions.at(row.text("question"))(a, on, s).value();
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", answer);
    record << row.text("question") << '\t' << row.text("accelerator") << '\t' << row.text("engine")
           << '\t' << row.text("shape") << '\t' << digits << '\n';
    if (!(std::abs(answer / expected - 1.0) < 1e-9)) {
      FAIL_CHECK(row.text("question") << " on " << key << ", " << row.text("shape") << ": "
                                      << answer << ", recorded " << expected);
    }
  }
}

}  // namespace property_calibrated_recorded
