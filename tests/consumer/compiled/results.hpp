// The questions of both programs; `by` is the namespace that answers.
#include <vector>

namespace pm = perfmodel;

std::vector<double> results();
std::vector<double> results() {
  std::vector<double> all;
  const auto add = [&all](const pm::serving_estimate& s) {
    for (const auto& t : {s.ttft, s.itl, s.e2e, s.wait}) all.push_back(t.value());
    all.push_back(s.throughput.value());
    all.push_back(s.capacity);
  };
  for (const pm::transformer* model :
       {&pm::catalog::llama_3_70b, &pm::catalog::gpt_oss_120b, &pm::catalog::deepseek_v3}) {
    for (const pm::engine e : {pm::engine::vllm, pm::engine::sglang, pm::engine::trtllm}) {
      const pm::deployment d{.device = pm::catalog::h100_sxm,
                             .model = *model,
                             .layout = {.tensor = 8},
                             .serving_engine = e};
      const pm::calibrated policy = by::calibrated_for(pm::catalog::h100_sxm, e);
      for (const double batch : {1.0, 37.0, 256.0}) {
        const pm::iteration i{.batch = batch, .context = 4096.0, .prefill_tokens = 8.0 * batch};
        all.push_back(by::step(d, i, policy).time.value());
        all.push_back(by::step_bound(d, i).time.value());
      }
      pm::service_load l{.input_tokens = 2000.0, .output_tokens = 300.0};
      for (const bool open : {false, true}) {
        if (open)
          l.arrivals = pm::open_loop{.rate = 2.0 * pm::request / pm::second};
        else
          l.arrivals = pm::closed_loop{48.0};
        add(by::serving(d, l, policy));
        add(by::serving_bound(d, l));
        const pm::disaggregated pools{
            {d, 1.0}, {d, 1.0}, {.bandwidth_per_device = 50e9 * pm::byte_per_s}};
        add(by::serving(pools, l, policy));
        add(by::serving_bound(pools, l));
      }
    }
  }
  pm::plan_request q{
      .accelerators = {pm::catalog::h100_sxm},
      .model = pm::catalog::llama_3_70b,
      .gpus = 8,
      .load = {.input_tokens = 2048.0, .output_tokens = 512.0, .arrivals = pm::closed_loop{64.0}},
      .engines = {pm::engine::vllm}};
  const auto calibrate = [](const pm::accelerator& a, pm::engine e) {
    return by::calibrated_for(a, e);
  };
  for (const pm::plan_result& r : {by::plan(q, +calibrate), by::plan_bound(q)}) {
    for (const pm::plan_point& p : r.frontier) add(p.serving);
  }
  return all;
}
