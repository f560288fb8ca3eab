// Advice by bounds: each technique in a case with a gain and in one where it is slower, by
// independent numbers.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/tools/advise/advise.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_advise {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::serving_estimate bound_of(const pm::advised_service& s) {
  if (s.pools) return pm::serving_bound(*s.pools, s.load);
  const auto share = pm::per_replica(s.load, s.replicas);
  return s.speculation ? pm::serving_bound(s.deployment, share, *s.speculation)
                       : pm::serving_bound(s.deployment, share);
}

constexpr pm::derated usual{.compute_efficiency = 0.7, .memory_efficiency = 0.8};
pm::serving_estimate predicted(const pm::advised_service& s) {
  if (s.pools) return pm::serving(*s.pools, s.load, usual);
  const auto share = pm::per_replica(s.load, s.replicas);
  return s.speculation ? pm::serving(s.deployment, share, *s.speculation, usual)
                       : pm::serving(s.deployment, share, usual);
}

struct load {
  double input, output, concurrency;
};
pm::advised_service service(const pm::transformer& m, const pm::accelerator& a, int tensor,
                            const load& l, double copies = 1.0) {
  pm::advised_service s;
  s.deployment =
      pm::with_all_memory(pm::deployment{.device = a, .model = m, .layout = {.tensor = tensor}});
  s.load = {.input_tokens = l.input,
            .output_tokens = l.output,
            .arrivals = pm::closed_loop{l.concurrency}};
  s.replicas = copies;
  return s;
}

template <class Change>
pm::advised_service with(pm::advised_service s, const Change& change) {
  change(s);
  return s;
}

/// The gain is expected between both; `harms` is what the predicate says.
struct expected {
  const char* technique;
  double least, most;
  bool harms;
};
struct example {
  const char* what;
  pm::advised_service service;
  std::vector<expected> techniques;
  bool predicts = false;
  pm::kernel_facts kernels{};
};

const auto& dense = cat::llama_3_70b;
const auto& narrow = cat::llama_3_8b;
const auto& routed = cat::deepseek_v3;

std::vector<example> examples() {
  std::vector<example> all;
  // 70B, one sequence, 4 GPUs. Read for a token: 80 layers of 855.6e6 weights and a head of 1.051e9
  // in 16 bits. fp8: (136.9 + 2.1) / (68.45 + 2.1) = 1.970; int4 with 16 bits for 128: 139.0 /
  // 37.39 = 3.717; 2:4 at most 16/9 = 1.778; two ranks for one read half: 2; half the ranks read
  // twice: 1/2; fp32: 2. E of 4 drafts at 0.7 is 2.773 (geometric), a layer drafts each.
  all.push_back({"70B alone",
                 service(dense, cat::h100_sxm, 4, {1, 512, 1}),
                 {{"fp8", 1.95, 1.975, false},
                  {"weight_only_int4", 3.65, 3.72, false},
                  {"sparsity_2_4", 1.75, 1.778, false},
                  {"tensor_parallel", 1.98, 2.0, false},
                  {"speculative_decoding", 2.3, 2.773, false},
                  {"mixed_precision", 1.99, 2.01, false},
                  {"fp4", 1.0, 1.0, true},
                  {"kv_cache_quantization", 1.0, 1.001, true},
                  {"pipeline_parallel", 0.495, 0.505, true},
                  {"data_parallel", 0.495, 0.505, true},
                  {"disaggregation", 0.45, 0.55, true},
                  {"compute_communication_overlap", 0.97, 0.99, true},
                  {"continuous_batching", 1.0, 1.0, true},
                  {"paged_attention", 1.0, 1.0, true},
                  {"prefix_cache", 1.0, 1.0, true},
                  {"flash_attention", 1.0, 1.0001, true}}});
  // 1000 sequences of 272 tokens: FLOP of a step 2 x 8.03e9 x 1003 / 989e12 = 16.3 ms at most, the
  // weights' 15 GB take 4.5 ms: compute is the limit, and a pass has no idle compute for drafts.
  all.push_back({"8B, a short crowd",
                 service(narrow, cat::h100_sxm, 1, {16, 512, 1024}),
                 {{"weight_only_int4", 0.99, 1.01, true},
                  {"speculative_decoding", 0.5, 0.95, true},
                  {"continuous_batching", 2.0, 20.0, false},
                  {"paged_attention", 2.0, 20.0, false}}});
  // 1024 on one GPU with capacity for 517: two replicas have capacity for all, and share no
  // all-reduce.
  all.push_back(
      {"8B, a crowd that memory limits",
       service(narrow, cat::h100_sxm, 1, {512, 512, 1024}),
       {{"kv_cache_quantization", 1.2, 2.0, false}, {"tensor_parallel", 0.9, 0.999, true}}});
  // PCIe, 32 GB/s one way: 2 all-reduces of 32 layers outweigh half of the weights.
  all.push_back({"8B over PCIe",
                 service(narrow, cat::l40s, 2, {2048, 256, 64}, 2.0),
                 {{"tensor_parallel", 0.7, 0.9, true},
                  {"compute_communication_overlap", 1.1, 1.5, false},
                  {"context_parallel", 1.0, 1.001, true}}});
  all.push_back({"8B over PCIe, prompts",
                 service(narrow, cat::rtx_pro_6000, 2, {8192, 16, 64}),
                 {{"data_parallel", 1.3, 1.6, false},
                  {"pipeline_parallel", 1.3, 1.6, false},
                  {"disaggregation", 0.5, 0.9, true}}});
  // 65,536 tokens: scores of 4 x 32 x 65536^2 x 2 B in 32 layers at 3.35 TB/s are 10.5 s of a
  // prompt.
  all.push_back({"8B, long prompts",
                 service(narrow, cat::h100_sxm, 1, {65536, 512, 4}),
                 {{"flash_attention", 1.9, 2.3, false},
                  {"sparse_attention", 1.01, 1.5, false},
                  {"context_parallel", 1.01, 1.2, false}}});
  all.push_back({"8B, short contexts",
                 service(narrow, cat::a100_sxm_80gb, 1, {32, 512, 4}),
                 {{"fp8", 1.0, 1.0, true}, {"sparse_attention", 0.5, 0.99, true}}});
  // 32 layers of 218.1e6 weights and a head of 525e6: 15.01 GB, in fp4 with 8 bits for 16: 4.98:
  // 3.02.
  all.push_back(
      {"8B in fp4", service(narrow, cat::b200_sxm, 1, {32, 512, 4}), {{"fp4", 2.9, 3.02, false}}});
  all.push_back(
      {"a TPU", service(narrow, cat::tpu_v5e, 1, {16, 16, 1}), {{"sparsity_2_4", 1.0, 1.0, true}}});
  // MLA's cache is the same on each rank of a tensor group: 8 times what a group by itself has.
  all.push_back({"DeepSeek-V3, a crowd",
                 service(routed, cat::h200_sxm, 8, {2048, 512, 512}),
                 {{"wide_expert_parallel", 1.5, 2.5, false}, {"mtp", 1.2, 2.573, false}}});
  all.push_back({"DeepSeek-V3 alone",
                 service(routed, cat::h200_sxm, 8, {2048, 512, 1}),
                 {{"wide_expert_parallel", 0.2, 0.9, true}}});
  // A pass of 64 tokens reads 15 GB for 64 tokens of work: 128 passes of 4.5 ms / 0.8 for a prompt
  // of 8192 that 8192 x 16e9 / (0.7 x 989e12) = 190 ms compute.
  const auto chunks = [](double of) {
    return with(service(narrow, cat::h100_sxm, 1, {8192, 256, 16}),
                [of](pm::advised_service& s) { s.load.chunk_tokens = of; });
  };
  all.push_back({"chunks of 1024", chunks(1024), {{"chunked_prefill", 1.02, 1.3, false}}, true});
  all.push_back({"chunks of 64", chunks(64), {{"chunked_prefill", 0.2, 0.7, true}}, true});
  // Outputs of 128 tokens after prompts of 8192: 190 ms of prefill for 128 steps of about 10 ms.
  all.push_back({"8B, four copies, long prompts",
                 service(narrow, cat::h100_sxm, 1, {8192, 128, 64}, 4.0),
                 {{"disaggregation", 1.02, 1.3, false}, {"weight_only_int4", 1.05, 1.2, false}},
                 true});
  all.push_back({"shared prefixes",
                 with(service(narrow, cat::h100_sxm, 1, {8192, 128, 64}),
                      [](pm::advised_service& s) { s.load.prefix_hit = 0.9; }),
                 {{"prefix_cache", 1.5, 10.0, false}}});
  // 4096 tokens are 537 MB: 11 ms at 50 GB/s, 540 ms at 1 GB/s; computed, 66 TFLOP in 67 ms.
  const auto from_host = [](double link) {
    return with(service(narrow, cat::h100_sxm, 1, {8192, 128, 1}), [link](pm::advised_service& s) {
      s.load.prefix_hit = 0.9;
      s.load.host = pm::host_cache{.hit = 0.5, .bandwidth_per_device = link * pm::GB_per_s};
    });
  };
  all.push_back({"prefixes of a quick host", from_host(50), {{"kv_offload", 1.01, 1.2, false}}});
  all.push_back({"prefixes of a slow host", from_host(1), {{"kv_offload", 0.4, 0.8, true}}});
  all.push_back({"no 16-bit unit",
                 with(service(narrow, cat::h100_sxm, 1, {32, 32, 1}),
                      [](pm::advised_service& s) {
                        const auto fp32 = s.deployment.device.vector.peak.fp32;
                        s.deployment.device.matrix.peak = s.deployment.device.vector.peak = {};
                        s.deployment.device.vector.peak.fp32 = fp32;
                        s.deployment.weights = pm::weight_storage(pm::fp32, pm::fp32);
                        s.deployment.activations = pm::fp32;
                        s.deployment.expert_activations = pm::fp32;
                        s.deployment.kv = pm::fp32;
                      }),
                 {{"mixed_precision", 1.0, 1.0, true}}});
  // 3B on B200: 6.17 GB at 8 TB/s are 0.77 ms of a step. In eager mode a CPU launches 36 x 12 + 10 kernels of
  // 25 us, 11.05 ms; with graphs 0.81 ms, a replay of 8 us, and a capture of 50 us in 10,000: 12.7 times.
  // A capture of half a second for shapes that come twice is not earned back.
  const auto small = service(cat::qwen_2_5_3b, cat::b200_sxm, 1, {2048, 512, 1});
  all.push_back({"3B alone",
                 small,
                 {{"cuda_graph", 12.0, 13.0, false},
                  {"sync_elimination", 1.015, 1.03, false},
                  {"persistent_kernel", 1.05, 1.2, false},
                  {"kernel_fusion", 1.0, 1.05, false},
                  {"split_k", 1.1, 3.0, false},
                  {"kv_offload", 1.0, 1.05, false},
                  {"smem_tiling", 1.0, 1.0, true},
                  {"matrix_instructions", 1.0, 1.0, true},
                  {"async_pinned_copy", 1.0, 1.001, true}}});
  all.push_back({"dynamic shapes, spills",
                 small,
                 {{"cuda_graph", 1e-6, 0.5, true}, {"kernel_fusion", 0.5, 0.9999, true}},
                 false,
                 {.calls = 2.0, .registers = 300.0}});
  all.push_back({"a crowd of unequal lengths",
                 with(service(narrow, cat::h100_sxm, 1, {512, 512, 1024}),
                      [](pm::advised_service& s) { s.load.input_cv = 1.0; }),
                 {{"persistent_kernel", 0.4, 0.9, true},
                  {"split_k", 0.8, 1.0, true},
                  {"multi_stream", 0.9, 1.0, true},
                  {"sync_elimination", 1.0, 1.001, true},
                  {"smem_tiling", 5.0, 64.0, false},
                  {"matrix_instructions", 1.0, 4.0, false}}});
  // 32 heads of keys and values: 524,288 B a token over 63 GB/s: 34 ms for 4096, 2.25 PFLOP/s
  // compute 24 ms.
  all.push_back({"offload that is slower than computing anew",
                 service(cat::llama_2_7b, cat::b200_sxm, 1, {4096, 64, 1}),
                 {{"kv_offload", 0.9, 1.0, true}}});
  return all;
}

}  // namespace

TEST_CASE("advise: each technique helps in one case and is slower in another") {
  for (const example& e : examples()) {
    pm::service_evaluator ask = bound_of;
    if (e.predicts) ask = predicted;
    const pm::advice a = pm::advise(e.service, ask, {}, {}, e.kernels);
    for (const expected& x : e.techniques) {
      const pm::technique* t = a.find(x.technique);
      REQUIRE(t != nullptr);
      INFO(e.what << ": " << x.technique << " x" << t->gain << ": " << t->reason);
      CHECK(t->gain >= x.least);
      CHECK(t->gain <= x.most);
      CHECK(t->harmful == x.harms);
    }
  }
}

TEST_CASE("advise: graphs help a 1B model, in eager mode of an engine and of PyTorch") {
  const auto s = service(cat::llama_3_2_1b, cat::h100_sxm, 1, {128, 128, 1});
  double last = 1.0;
  // Compiled: 16 layers of 30 kernels and 10 at 5 us, 2.45 ms a step; PyTorch's eager mode: 120 and
  // 20 at 10 us, 19.4 ms. The engine as serving has it: 16 x 10 and 4 kernels at 63 us, 10.33 ms, and
  // vLLM's 0.6 ms.
  for (const auto& [framework, milliseconds] : {std::pair(pm::launch_framework::compiled, 2.45),
                                                {pm::launch_framework::engine, 10.93},
                                                {pm::launch_framework::eager, 19.4}}) {
    pm::kernel_facts facts;
    facts.framework = framework;
    const pm::advice a = pm::advise(s, predicted, {}, {}, facts);
    const pm::technique* t = a.find("cuda_graph");
    CHECK_FALSE(t->harmful);
    CHECK(t->in_use);
    CHECK(near(t->gain, milliseconds / 1e3 / a.current.itl.value(), 0.1));
    CHECK(t->gain > 1.1);
    CHECK(t->gain > last);
    last = t->gain;
    CHECK(t->user == pm::technique_user::deployment_operator);
  }
  // GPT-2 of 12 layers on H200, deepspeedai/DeepSpeed #8352: 207.7 tok/s of vLLM in eager mode.
  const auto launches = pm::launches_of(pm::launch_framework::engine);
  const double eager = (12 * launches.per_layer + launches.others) * launches.cpu.value();
  CHECK(near(eager, 1 / 207.7, 0.25));
}

TEST_CASE("advise: sparsity never gains more than half the bits, and its cost is retraining") {
  for (const auto* m : {&dense, &narrow}) {
    for (const int tensor : {1, 4, 8}) {
      for (const double concurrency : {1.0, 32.0, 256.0}) {
        for (const double input : {128.0, 4096.0}) {
          if (m == &dense && tensor == 1) continue;
          const pm::advice a =
              pm::advise(service(*m, cat::h100_sxm, tensor, {input, 256, concurrency}), predicted);
          const pm::technique *sparse = a.find("sparsity_2_4"), *fp8 = a.find("fp8");
          INFO(m->name.c_str() << ' ' << tensor << ' ' << concurrency << ' ' << input << ": "
                               << sparse->gain << " and " << fp8->gain << ": " << sparse->reason);
          CHECK(sparse->gain <= std::fmax(fp8->gain, 1.0) + 1e-9);
          CHECK(std::string(sparse->cost).find("retraining") == 0);
          CHECK(sparse->user == pm::technique_user::model_owner);
          for (const pm::technique& t : a.techniques) {
            INFO(t.name << " x" << t.gain << ": " << t.reason);
            CHECK_FALSE(t.reason.empty());
            if (t.harmful) CHECK((t.gain <= 1.021 || t.misses_target || t.makes_feasible));
            if (!t.applies) CHECK(t.gain <= 1.0);
          }
        }
      }
    }
  }
  // 16 bits keep 9/16, 8 bits with a scale 5/8: 7/8 and 3/4 of the saving of half.
  CHECK(near(pm::detail::sparse_saving_share(16), 7.0 / 8));
  CHECK(near(pm::detail::sparse_saving_share(8), 3.0 / 4));
}

TEST_CASE("advise: the best combination is predicted, not multiplied") {
  const auto s = service(dense, cat::h100_sxm, 4, {1, 512, 1});
  const pm::advice a = pm::advise(s, bound_of);
  pm::advised_service both = s;
  for (const std::string& name : a.combination) a.find(name)->apply(both);
  CHECK(near(a.combined, bound_of(s).e2e / bound_of(both).e2e));
  CHECK(a.combined < 0.95 * a.product_of_gains);  // int4 leaves less for drafts to save
  for (const std::string& name : a.combination) CHECK(a.combined >= a.find(name)->gain);
  int of_weights = 0;
  for (const std::string& name : a.combination)
    of_weights += std::string(a.find(name)->choice) == "weights";
  CHECK(of_weights == 1);
}

TEST_CASE("advise: a target that is missed harms") {
  const auto s = service(narrow, cat::h100_sxm, 1, {2048, 512, 16});
  const pm::advice free = pm::advise(s, bound_of);
  const pm::technique* t = free.find("speculative_decoding");
  CHECK(!t->harmful);
  pm::advised_service drafting = s;
  t->apply(drafting);
  const pm::duration<> now = bound_of(s).ttft, then = bound_of(drafting).ttft;
  REQUIRE(then > now);  // the drafter computes prompts too
  const pm::advice strict =
      pm::advise(s, bound_of, {.ttft = pm::latency_target{0.5 * (now + then)}});
  CHECK(strict.find("speculative_decoding")->harmful);
}

TEST_CASE("advise: what it takes to fit") {
  const auto s = service(dense, cat::h100_sxm, 1, {2048, 512, 1});
  const pm::advice a = pm::advise(s, bound_of);
  CHECK(!a.current.feasible);
  CHECK(a.find("weight_only_int4")->makes_feasible);  // 141 GB against 80
  CHECK(a.best.feasible);
  CHECK(a.techniques.front().makes_feasible);
}

TEST_CASE("advise: a service with preemption, unknown with speculation and in pools") {
  auto s = service(narrow, cat::h100_sxm, 2, {500, 1000, 1});
  s.load.arrivals = pm::closed_loop{20000};
  s.load.preemption_mode = pm::preemption::recompute;
  for (const auto& ask : {pm::service_evaluator(bound_of), pm::service_evaluator(predicted)}) {
    const pm::advice a = pm::advise(s, ask);
    REQUIRE(a.current.feasible);
    for (const char* name : {"speculative_decoding", "disaggregation"}) {
      INFO(name);
      CHECK_FALSE(a.find(name)->applies);
      CHECK(a.find(name)->reason.find("the model does not combine") == 0);
    }
    CHECK(a.find("continuous_batching")->applies);
  }
  CHECK(predicted(s).preemptions_per_request > 1);
}

TEST_CASE("advise: a bound of static batches has all prefills and the longest output, by hand") {
  pm::advised_service s = service(narrow, cat::h100_sxm, 1, {2000, 100, 16});
  s.load.output_cv = 0.5;
  const pm::serving_estimate now = bound_of(s);
  pm::advised_service together = s;
  together.load.scheduler = pm::scheduling::static_batches;
  const pm::serving_estimate e = bound_of(together);
  const auto prompts = (now.batch - 1.0) * e.prefill.time;
  const auto longest = (pm::static_batch_stretch(now.batch, 0.5) - 1.0) * 100.0 * e.itl;
  CHECK(prompts > 0.1 * e.e2e);
  CHECK(near(pm::advise(s, bound_of).find("continuous_batching")->gain,
             (e.e2e + prompts + longest) / now.e2e, 1e-12));
}

TEST_CASE("advise: pools take two replicas, or ranks that can be halved") {
  const auto of = [](int tensor, double copies) {
    const auto s = service(narrow, cat::h100_sxm, tensor, {500, 100, 16}, copies);
    return *pm::advise(s, bound_of).find("disaggregation");
  };
  CHECK_FALSE(of(1, 1.0).applies);
  CHECK(of(1, 1.0).reason == "there are no two groups of devices");
  CHECK(of(1, 2.0).applies);
  CHECK(of(2, 1.0).applies);
}

TEST_CASE("advise: bad input is refused by name") {
  auto s = service(narrow, cat::h100_sxm, 1, {32, 32, 1});
  s.replicas = 0.5;
  CHECK(refusal([&] { (void)pm::advise(s, bound_of); }).find("replicas is 0.5") !=
        std::string::npos);
  s.replicas = 1.0;
  s.load.input_tokens = 0.0;
  CHECK(refusal([&] { (void)pm::advise(s, bound_of); }).find("input_tokens") != std::string::npos);
  s.load.input_tokens = 32.0;
  CHECK(refusal([&] {
          (void)pm::advise(s, bound_of, {.itl = pm::latency_target{-1.0 * pm::ms}});
        }).find("itl") != std::string::npos);
}

TEST_CASE("advice laws by hand") {
  using pm::ms;
  CHECK(near(pm::structured_sparsity_gain(8.0 * ms, 0.0 * ms, 1.0 * ms), 16.0 / 9.0));
  CHECK(near(pm::structured_sparsity_gain(1.0 * ms, 0.0 * ms, 8.0 * ms), 2.0));
  CHECK(near(pm::structured_sparsity_gain(0.0 * ms, 8.0 * ms, 1.0 * ms), 1.0));
  CHECK(near(pm::overlap_gain(600.0 * ms, 400.0 * ms, 132.0, 8.0),
             1000.0 / (600.0 + 400.0 * 8 / 132)));
  CHECK(pm::overlap_gain(600.0 * ms, 400.0 * ms, 132.0, 8.0, 0.0) < 1.0);
  CHECK(pm::static_batch_stretch(1.0, 1.0) == 1.0);
  CHECK(pm::static_batch_stretch(64.0, 0.0) == 1.0);
  CHECK(pm::static_batch_stretch(64.0, 1.0) > 3.0);
  CHECK(refusal([] { (void)pm::static_batch_stretch(0.5, 1.0); }).find("sequences") !=
        std::string::npos);
}

TEST_CASE("advice laws of kernels by hand: each helps once and harms once") {
  using pm::ms, pm::us;
  using B = pm::bytes<>;
  // 2100 launches of 7.5 us with 10 ms of kernels: 15.75 ms in a stream, 12.1075 in a graph.
  const pm::launch_costs c{.cpu = 7.5 * us, .replay = 7.5 * us, .node = 1.0 * us};
  CHECK(near(pm::graph_gain(c, 2100, 10.0 * ms, 0.0 * ms, 1.0), 15.75 / 12.1075));
  CHECK(near(pm::graph_gain(c, 2100, 10.0 * ms, 1000.0 * ms, 10.0), 157.5 / 1121.075));
  // Bias, GELU, dropout of 4096 x 2048 in 2 bytes: 3 x 2 x 16.8 MB, of which 67.1 MB go.
  const B tensor = B::from_value(4096.0 * 2048.0 * 2.0);
  const auto saved = pm::chain_saving(tensor, 2.0);
  CHECK(near(pm::fusion_gain(6.0 * tensor, saved), 3.0));
  CHECK(near(pm::spilled_bytes(300.0, 255.0, 1e6).value(), 45.0 * 8e6));
  CHECK(pm::fusion_gain(6.0 * tensor, saved, pm::spilled_bytes(300.0, 255.0, 4096.0 * 2048.0)) <
        0.04);
  CHECK(near(pm::persistent_kernel_gain(100.0 * us, 10.0, 2.0 * us), 120.0 / 102.0));
  CHECK(near(pm::persistent_kernel_gain(100.0 * us, 10.0, 2.0 * us, 1.3), 120.0 / 132.0));
  CHECK(near(pm::streams_gain(4.0, 10.0 * us, 0.25), 4.0));
  CHECK(near(pm::streams_gain(4.0, 10.0 * us, 1.0, 1.0 * us), 40.0 / 44.0));
  // 50 x 10 us with 2 ms: 2.5 ms with waits, 2 ms without.
  CHECK(near(pm::unsynchronised_gain({.cpu = 10.0 * us}, 50.0, 2.0 * ms), 1.25));
  CHECK(near(pm::unsynchronised_gain({.cpu = 10.0 * us}, 50.0, 0.0 * ms), 1.0));
  CHECK(near(pm::split_k_gain(16.0, 132.0, 8, 0.05), 1.0 / 0.175));
  CHECK(near(pm::split_k_gain(132.0, 132.0, 2, 0.05), 1.0 / 1.05));
  CHECK(pm::coalescing_gain(8, 4) == 8.0);
  CHECK(pm::coalescing_gain(1, 4) == 1.0);
  CHECK(pm::vector_access_gain(4096, 8) == 8.0);
  CHECK(near(pm::vector_access_gain(33, 8), 2.0 / 3.0));
  CHECK(near(pm::swizzle_gain(32), 32.0 / 1.05));
  CHECK(pm::swizzle_gain(33) < 1.0);
  CHECK(near(pm::swizzle_gain(8), 8.0 / 4.05));
  // 96 KiB a block leave room for two of 8 warps; 300 KiB for none.
  const auto block = [](double kib) {
    return pm::thread_block{8.0, 64.0, B::from_value(1024.0 * kib)};
  };
  CHECK(near(pm::tiling_gain(64.0, {}, block(96), 16.0), 64.0));
  CHECK(pm::tiling_gain(64.0, {}, block(300), 16.0) == 0.0);
  CHECK(near(pm::async_copy_gain(600.0 * us, 250.0 * us, 4.0), 850.0 / 250.0));
  CHECK(pm::async_copy_gain(600.0 * us, 250.0 * us, 1.0) == 1.0);
  CHECK(near(pm::double_buffering_gain(1.0 * us, 1.0 * us, 999.0), 1998.0 / 1000.0));
  CHECK(pm::double_buffering_gain(1.0 * us, 1.0 * us, 999.0, 0.5) < 1.0);
  CHECK(near(pm::shuffle_gain(32, 80.0, 6.0), 400.0 / 30.0));
  CHECK(near(pm::shuffle_gain(1024, 80.0, 6.0), 800.0 / 140.0));
  // 132 SMs x 128 B x 1.755 GHz = 29.65 TB/s: tiles of 16 reach 237 TFLOP/s, of 64 949; of 989
  // there are.
  const auto shared = pm::bandwidth<>::from_value(132.0 * 128.0 * 1.755e9);
  const auto peak = pm::flop_rate<>::from_value(989.4e12);
  CHECK(near(pm::matrix_instruction_gain(peak, shared, B::from_value(2.0), 16.0, 64.0), 4.0));
  CHECK(pm::matrix_instruction_gain(peak, shared, B::from_value(2.0), 128.0, 256.0, 0.5) == 0.5);
  const auto rate = [](double gb) { return pm::bandwidth<>::from_value(gb * 1e9); };
  CHECK(near(pm::pinned_copy_gain(20.0 * ms, B::from_value(1e9), rate(50), rate(10)), 7.0));
  CHECK(pm::pinned_copy_gain(20.0 * ms, B{}, rate(50), rate(10), 1.0 * ms) < 1.0);
  CHECK(refusal([] { (void)pm::split_k_gain(1.0, 132.0, 0, 0.0); }).find("splits") !=
        std::string::npos);
}

TEST_CASE("advise: a thousandth is no gain, and a target that is met stays met") {
  const auto takes = [](double seconds) {
    pm::serving_estimate e;
    e.e2e = seconds * pm::second;
    return e;
  };
  pm::service_targets targets;
  targets.e2e = pm::latency_target{2.0 * pm::second};
  const pm::adviser a(
      service(cat::llama_3_8b, cat::h100_sxm, 1, {512, 512, 1}),
      [&](const pm::advised_service&) { return takes(1.0); }, targets);
  const auto improves = [&](const pm::serving_estimate& now, const pm::serving_estimate& then) {
    return pm::detail::improves(a, now, then);
  };
  CHECK(improves(takes(1.0), takes(0.998)));
  CHECK_FALSE(improves(takes(1.0), takes(0.9995)));
  CHECK_FALSE(improves(takes(1.0), takes(1.0)));
  CHECK(improves(takes(4.0), takes(3.0)));
  pm::serving_estimate none = takes(1.5);
  none.feasible.feasible = false;
  CHECK(improves(none, takes(1.9)));
  CHECK_FALSE(improves(takes(1.9), none));

  pm::technique t;
  t.applies = true;
  t.apply = [](pm::advised_service&) {};
  t.gain = 1.002;
  CHECK(pm::detail::is_recommended(t));
  t.gain = 1.0005;
  CHECK_FALSE(pm::detail::is_recommended(t));
  t.makes_feasible = true;
  CHECK(pm::detail::is_recommended(t));
  t.devices = 1.001;
  CHECK_FALSE(pm::detail::is_recommended(t));
}

}  // namespace unit_advise
