// The simulation from event to event against one engine step at a time (tests/simulator).
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving/simulate.hpp>
#include <sstream>

#include "simulator/cases.hpp"

namespace unit_simulate_steps {

namespace pm = perfmodel;
namespace each = perfmodel_test::simulator;  // one step at a time

/// Requests of a load of the other simulator.
class load_source : public pm::request_source {
 public:
  explicit load_source(const each::load& l) : load_(l) {
    if (l.arrivals.empty())
      for (int i = 0; i < l.concurrency && i < count(); ++i) due_.push_back(0.0);
  }
  double next_arrival() override {
    if (taken_ >= count()) return never;
    if (!load_.arrivals.empty()) return load_.arrivals[std::size_t(taken_)];
    return due_.empty() ? never : due_.front();
  }
  void take(pm::simulated_request& r) override {
    r = {};
    r.arrival = next_arrival();
    r.index = taken_;
    const each::job& j = load_.jobs[std::size_t(taken_) % load_.jobs.size()];
    r.input_tokens = j.input;
    r.output_tokens = j.output;
    r.assumed_hit_tokens = j.cached;
    if (load_.arrivals.empty()) due_.pop_front();
    ++taken_;
  }
  void completed(const pm::request_record&, double at) override {
    if (load_.arrivals.empty()) due_.push_back(at);
  }

 private:
  int count() const { return static_cast<int>(load_.jobs.size()); }
  const each::load& load_;
  std::deque<double> due_{};
  int taken_ = 0;
};

struct variant {
  std::string name;
  pm::scheduler_settings scheduler;
  each::scheduler steps;
  pm::deployment deployment;
};

pm::deployment deployment_of(int tensor, int pipeline = 1) {
  pm::deployment d{.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_1_8b};
  d.layout = {.tensor = tensor, .pipeline = pipeline};
  d.serving_engine = pm::engine::vllm;
  return d;
}

std::vector<variant> variants() {
  std::vector<variant> all;
  const auto add = [&](const char* name, auto change, int pipeline = 1) {
    variant v{name,
              pm::schedulers::vllm_0_24,
              {.token_budget = 2048, .max_sequences = 128},
              deployment_of(1, pipeline)};
    v.scheduler.asynchronous = false;
    v.scheduler.prefill_overhead = 1.0;
    v.scheduler.token_budget = 2048;
    v.scheduler.max_running = 128;
    v.steps.stages = pipeline;
    change(v.scheduler, v.steps);
    all.push_back(v);
  };
  add("mixed chunks", [](auto&, auto&) {});
  add("few sequences", [](auto& s, auto& e) { s.max_running = e.max_sequences = 8; });
  add("whole prompts", [](auto& s, auto& e) {
    s.chunked_prefill = e.split_prompts = false;
    s.token_budget = e.token_budget = 8192;
  });
  add("prefill first", [](auto& s, auto& e) {
    s.kind = pm::scheduler_kind::sglang;
    s.block_tokens = 1;
    s.extra_steps = 0;
    e.kind = each::scheduling::prefill_first;
  });
  add("static", [](auto& s, auto& e) {
    s.kind = pm::scheduler_kind::static_batches;
    s.max_running = e.max_sequences = 16;
    e.kind = each::scheduling::static_batch;
  });
  add("small cache, grows", [](auto&, auto& e) { e.kv_blocks = 2000; });
  add("small cache, reserved", [](auto& s, auto& e) {
    s.kind = pm::scheduler_kind::trtllm;
    s.block_tokens = 16;
    s.chunked_prefill = true;
    s.chunk_unit = 1;
    e.kv_blocks = 2000;
    e.reserve = each::reservation::whole_length;
  });
  add(
      "pipeline of 2", [](auto&, auto&) {}, 2);
  // Chunks of one prompt in several micro-batches.
  add(
      "pipeline of 2, chunks", [](auto& s, auto& e) { s.token_budget = e.token_budget = 512; }, 2);
  add(
      "pipeline of 4, chunks", [](auto& s, auto& e) { s.token_budget = e.token_budget = 256; }, 4);
  add(
      "pipeline of 4, prefill first",
      [](auto& s, auto& e) {
        s.kind = pm::scheduler_kind::sglang;
        s.block_tokens = 1;
        s.extra_steps = 0;
        s.token_budget = e.token_budget = 256;
        e.kind = each::scheduling::prefill_first;
      },
      4);
  return all;
}

struct difference {
  double means = 0.0, tails = 0.0;
};
double relative(double a, double b) {
  return std::abs(a - b) / std::max(std::abs(b), 1e-9);
}

difference compare(const variant& v, const each::load& l) {
  auto policy = pm::calibrated_for(v.deployment);
  policy.engine.run_start = {};
  pm::step_prices prices(v.deployment, policy, {}, v.deployment.layout.pipeline > 1);
  const each::step_time exact = [&](const each::pass& p) {
    if (p.prompts == 0) return prices.decode(p.decoding, p.context);
    return prices.step({.decodes = double(p.decoding),
                        .context = p.context,
                        .prefill_tokens = double(p.prompt_tokens),
                        .prefill_past = p.past,
                        .prefills = double(p.prompts)});
  };
  const each::outcome slow = each::simulate(l, v.steps, exact);
  pm::simulation_options o;
  o.scheduler = v.scheduler;
  o.cache_tokens = v.steps.kv_blocks > 0 ? v.steps.kv_blocks * 16 : 1 << 28;
  o.frontend = pm::frontend_time{};
  load_source source(l);
  const pm::simulation_result fast = pm::simulate(v.deployment, source, policy, o);
  const auto& s = fast.statistics;
  const bool has_gaps = slow.gaps.count() > 0;
  const double slow_itl = has_gaps ? slow.gaps.mean() : 0.0;
  const each::sample ttft = slow.of(&each::record::ttft), e2e = slow.of(&each::record::e2e);
  INFO(v.name << ": TTFT " << s.ttft.mean() << " " << ttft.mean() << ", ITL " << s.itl.mean() << " "
              << slow_itl << ", E2E " << s.e2e.mean() << " " << e2e.mean() << ", preemptions "
              << fast.preemptions << " " << slow.during.preemptions << ", batch " << s.mean_batch()
              << " " << slow.batch() << ", p99 TTFT " << s.ttft.quantile(0.99) << " "
              << ttft.at(0.99) << ", ITL " << s.itl.quantile(0.99) << " "
              << (has_gaps ? slow.gaps.at(0.99) : 0.0) << ", E2E " << s.e2e.quantile(0.99) << " "
              << e2e.at(0.99));
  difference d;
  d.means =
      std::max({relative(s.ttft.mean(), ttft.mean()), relative(s.itl.mean(), slow_itl),
                relative(s.e2e.mean(), e2e.mean()), relative(fast.makespan, slow.during.time)});
  d.tails = std::max({relative(s.ttft.quantile(0.99), ttft.at(0.99)),
                      relative(s.e2e.quantile(0.99), e2e.at(0.99))});
  CHECK(d.means < 0.001);
  CHECK(d.tails < 0.005);
  return d;
}

/// A prompt of four chunks on p stages: each takes a p-th of its step in every stage, and enters the
/// first when the chunk before it has left that.
TEST_CASE("the chunks of a prompt follow each other through the stages", "[simulate]") {
  for (const int stages : {1, 2, 4}) {
    for (auto s :
         {pm::schedulers::vllm_0_24, pm::schedulers::sglang_0_5, pm::schedulers::trtllm_1_0}) {
      s.token_budget = 1024;
      s.chunked_prefill = true;
      s.prefill_overhead = 1.0;
      const pm::deployment d = deployment_of(1, stages);
      auto policy = pm::calibrated_for(d);
      policy.engine.run_start = {};
      pm::step_prices prices(d, policy, {}, stages > 1);
      double entered = 0.0, part = 0.0;  // of the last chunk, the longest: none after it waits
      for (int i = 0; i < 4; ++i) {
        part = prices.step({.prefill_tokens = 1024, .prefill_past = 1024.0 * i, .prefills = 1}) /
               stages;
        entered += part;
      }
      pm::simulation_options o;
      o.scheduler = s;
      o.frontend = pm::frontend_time{};
      const each::load l{.jobs = {{.input = 4096, .output = 1}}, .concurrency = 1};
      load_source source(l);
      const double ttft = pm::simulate(d, source, policy, o).statistics.ttft.mean();
      INFO(s.name << ", " << stages << " stages: " << ttft << " s");
      CHECK(ttft == Catch::Approx(entered + (stages - 1) * part).epsilon(1e-9));
    }
  }
}

TEST_CASE("the simulation equals one step at a time", "[simulate]") {
  for (const variant& v : variants()) {
    const bool is_static = v.scheduler.kind == pm::scheduler_kind::static_batches;
    for (const double spread : {0.0, 0.5}) {
      // The other simulator stops the contexts of finished rows.
      if (is_static && spread > 0.0) continue;
      for (const double output : {1.0, 40.0, 200.0}) {
        perfmodel_test::random_numbers r(3);
        each::load l{.jobs = each::draw_jobs(r, 400, each::lognormal(700, spread),
                                             each::lognormal(output, spread))};
        SECTION(v.name + " closed " + std::to_string(spread) + " " + std::to_string(output)) {
          l.concurrency = 24;
          compare(v, l);
        }
        SECTION(v.name + " open " + std::to_string(spread) + " " + std::to_string(output)) {
          l.arrivals = each::renewal_arrivals(r, 400, 1500.0 / (150.0 + output), 1.0);
          compare(v, l);
        }
      }
    }
  }
}

}  // namespace unit_simulate_steps
