// Worked schedules of vLLM, SGLang and TensorRT-LLM, token by token. D1 and D2 decode throughout;
// A, B and C are prompts of 1000 tokens that arrive together.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <perfmodel/engine/cuda_graphs.hpp>
#include <tuple>

#include "support/simulation.hpp"

namespace unit_simulate_schedules {

namespace pm = perfmodel;
using perfmodel_test::record;
using perfmodel_test::recorded_run;
using perfmodel_test::recorded_step;

/// Tokens of D1, D2, A, B and C in a step.
using row = std::array<int, 5>;

row row_of(const recorded_step& s) {
  row r{};
  for (const auto& [index, tokens] : s.tokens) r[std::size_t(index)] = tokens;
  return r;
}

/// Scheduler with a token budget of 2048, in which a step is planned when the one before it ends.
pm::scheduler_settings synchronous(pm::scheduler_settings s) {
  s.asynchronous = false;
  s.extra_steps = 0;
  s.token_budget = 2048;
  return s;
}

recorded_run run_of_five(const pm::scheduler_settings& s) {
  std::vector<pm::simulated_request> all(5);
  for (std::size_t i = 0; i < 5; ++i)
    all[i] =
        i < 2 ? pm::simulated_request{.input_tokens = 10, .output_tokens = 200}
              : pm::simulated_request{.arrival = 0.0255, .input_tokens = 1000, .output_tokens = 5};
  return record(s, all);
}
/// Index of the first step that has tokens of A, B or C.
std::size_t first_of(const recorded_run& run) {
  std::size_t i = 0;
  while (row_of(run.steps[i])[2] + row_of(run.steps[i])[3] + row_of(run.steps[i])[4] == 0) ++i;
  return i;
}
/// The steps from the first prefill of A, B and C on.
void check_rows(const recorded_run& run, const std::vector<row>& expected) {
  const std::size_t first = first_of(run);
  REQUIRE(run.steps.size() >= first + expected.size());
  REQUIRE(first >= 1);
  CHECK(row_of(run.steps[first - 1]) == row{1, 1, 0, 0, 0});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("step " << i + 1);
    CHECK(row_of(run.steps[first + i]) == expected[i]);
  }
}
/// First tokens of A, B and C: the numbers of the steps that emit them, from 1 on.
void check_first_tokens(const recorded_run& run, const std::array<std::size_t, 3>& steps) {
  const std::size_t first = first_of(run);
  for (std::size_t i = 0; i < 3; ++i) {
    const pm::request_record& r = run.requests[2 + i];
    CHECK(r.arrival + r.ttft == Catch::Approx(run.steps[first + steps[i] - 1].end).epsilon(1e-12));
  }
}

const std::vector<row> mixed{{1, 1, 1000, 1000, 46}, {1, 1, 1, 1, 954}, {1, 1, 1, 1, 1}};
const std::vector<row> whole_prompts{{1, 1, 1000, 1000, 0}, {1, 1, 1, 1, 1000}, {1, 1, 1, 1, 1}};

TEST_CASE("schedule 1: vLLM fills the token budget", "[simulate]") {
  const recorded_run run = run_of_five(synchronous(pm::schedulers::vllm_0_24));
  check_rows(run, mixed);
  check_first_tokens(run, {1, 1, 2});
  CHECK(run.steps[first_of(run)].total() == 2048);
  CHECK(run.steps[first_of(run) + 1].total() == 958);
}

TEST_CASE("schedule 1, scheduled one step ahead", "[simulate]") {
  pm::scheduler_settings s = synchronous(pm::schedulers::vllm_0_24);
  const recorded_run now = run_of_five(s);
  s.asynchronous = true;
  const recorded_run ahead = run_of_five(s);
  check_rows(ahead, mixed);
  const double step = ahead.steps[first_of(ahead) - 1].end - ahead.steps[first_of(ahead) - 1].begin;
  const double delay = ahead.steps[first_of(ahead)].begin - now.steps[first_of(now)].begin;
  CHECK(delay == Catch::Approx(step).epsilon(0.01));
}

TEST_CASE("schedule 2: vLLM limits the chunks of long prefills", "[simulate]") {
  pm::scheduler_settings s = synchronous(pm::schedulers::vllm_0_24);
  s.long_prefill_threshold = 256;
  const recorded_run run = run_of_five(s);
  const row chunk{1, 1, 256, 256, 256};
  check_rows(run, {chunk, chunk, chunk, {1, 1, 232, 232, 232}, {1, 1, 1, 1, 1}});
  check_first_tokens(run, {4, 4, 4});
}

TEST_CASE("schedule 3: vLLM without chunked prefill", "[simulate]") {
  pm::scheduler_settings s = synchronous(pm::schedulers::vllm_0_24);
  s.chunked_prefill = false;
  const recorded_run run = run_of_five(s);
  check_rows(run, whole_prompts);
  check_first_tokens(run, {1, 1, 2});
}

TEST_CASE("schedule 4: SGLang prefills before it decodes", "[simulate]") {
  const recorded_run run = run_of_five(synchronous(pm::schedulers::sglang_0_5));
  check_rows(run, {{0, 0, 1000, 1000, 48}, {0, 0, 0, 0, 952}, {1, 1, 1, 1, 1}});
  check_first_tokens(run, {1, 1, 2});
  // The longest inter-token latency is that of D1 and D2 over three steps.
  const std::size_t first = first_of(run);
  CHECK(run.result.statistics.itl.largest() ==
        Catch::Approx(run.steps[first + 2].begin - run.steps[first].begin +
                      (run.steps[first + 3].begin - run.steps[first + 2].begin) /
                          static_cast<double>(run.steps[first + 2].steps))
            .epsilon(1e-3));
}

TEST_CASE("schedule 5: SGLang with mixed chunks", "[simulate]") {
  pm::scheduler_settings s = synchronous(pm::schedulers::sglang_0_5);
  s.mixed_chunk = true;
  const recorded_run run = run_of_five(s);
  check_rows(run, mixed);
  check_first_tokens(run, {1, 1, 2});
}

TEST_CASE("schedule 6: TensorRT-LLM with whole prefills and with chunks", "[simulate]") {
  pm::scheduler_settings s = synchronous(pm::schedulers::trtllm_1_0);
  check_rows(run_of_five(s), whole_prompts);
  s.chunked_prefill = true;
  const recorded_run run = run_of_five(s);
  check_rows(run, {{1, 1, 1000, 1000, 32}, {1, 1, 1, 1, 968}, {1, 1, 1, 1, 1}});
  CHECK(run.steps[first_of(run)].total() == 2034);
  CHECK(run.steps[first_of(run) + 1].total() == 972);
  s.order = pm::chunk_order::equal_progress;
  const recorded_run equal = run_of_five(s);
  check_rows(equal, {{1, 1, 672, 672, 672}, {1, 1, 328, 328, 328}, {1, 1, 1, 1, 1}});
  CHECK(equal.steps[first_of(equal)].total() == 2018);
  CHECK(equal.steps[first_of(equal) + 1].total() == 986);
}

TEST_CASE("schedule 7: vLLM preempts the last request and finds its block again", "[simulate]") {
  const pm::scheduler_settings s = synchronous(pm::schedulers::vllm_0_24);
  pm::simulation_options o;
  o.cache_tokens = 64;
  const pm::simulated_request r2{.input_tokens = 32, .output_tokens = 5};
  {
    // R1 needs three blocks: the first block of R2 stays cached.
    const recorded_run run = record(s, {{.input_tokens = 32, .output_tokens = 10}, r2}, o);
    CHECK(run.result.preemptions == 1);
    CHECK(run.requests[1].preemptions == 1);
    REQUIRE(run.steps.size() >= 3);
    CHECK(run.steps[0].tokens == std::map<std::int64_t, int>{{0, 32}, {1, 32}});
    CHECK(run.steps[1].tokens == std::map<std::int64_t, int>{{0, 1}});
    std::size_t i = 1;
    std::int64_t alone = 0;
    for (; run.steps[i].tokens.count(1) == 0; ++i) alone += run.steps[i].steps;
    CHECK(alone == 9);
    CHECK(run.steps[i].tokens == std::map<std::int64_t, int>{{1, 17}});
    CHECK(run.steps[i].begin == Catch::Approx(run.requests[0].e2e).epsilon(1e-12));
  }
  {
    // R1 grows into the fourth block: R2 computes its prompt and its first token again.
    const recorded_run run = record(s, {{.input_tokens = 32, .output_tokens = 20}, r2}, o);
    std::size_t i = 1;
    while (run.steps[i].tokens.count(1) == 0) ++i;
    CHECK(run.steps[i].tokens == std::map<std::int64_t, int>{{1, 33}});
  }
}

/// Group with its new_token_ratio in view.
struct open_group : pm::detail::step_planner {
  using step_planner::step_planner;
  double share() const { return expected_share_; }
  void set_share(double x) { expected_share_ = x; }
};

/// Four requests of SGLang that decode, each with 1100 of 2000 tokens, and new requests.
struct sglang_group {
  explicit sglang_group(int new_requests) {
    for (int i = 0; i < 4; ++i) {
      const int entry = sequences.take();
      sequences[entry].request = {.input_tokens = 1000, .output_tokens = 1000};
      sequences[entry].generated = 100;
      sequences[entry].target = 1100;
      waiting.push_back(entry);
    }
    group.plan(0, 0.0, chunks);
    for (const pm::detail::prefill_chunk& c : chunks) group.join(c.entry, 900, 1.0);
    for (int i = 0; i < new_requests; ++i) {
      const int entry = sequences.take();
      sequences[entry].request = {.input_tokens = 1000, .output_tokens = 1000};
      sequences[entry].target = 1000;
      waiting.push_back(entry);
    }
  }
  pm::scheduler_settings settings = [] {
    pm::scheduler_settings s = synchronous(pm::schedulers::sglang_0_5);
    s.token_budget = 8192;
    return s;
  }();
  pm::detail::sequence_table sequences{};
  pm::kv_pool pool{10000, true};
  std::deque<int> waiting{};
  open_group group{settings, sequences, pool, waiting, 64, 0, false};
  std::vector<pm::detail::prefill_chunk> chunks{};
};

TEST_CASE("schedule 8: SGLang admits against a share of the future output", "[simulate]") {
  {
    sglang_group g(2);
    REQUIRE(g.group.batch().size() == 4);
    CHECK(g.pool.available() == 5600);
    CHECK(g.group.share() == Catch::Approx(0.7));
    g.group.plan(4, 0.0, g.chunks);
    CHECK(g.chunks.size() == 1);
    CHECK(g.waiting.size() == 1);
    // A refused request is not tried again before a running request ends.
    g.group.set_share(0.0);
    g.group.plan(5, 0.0, g.chunks);
    CHECK(g.chunks.empty());
  }
  {
    sglang_group g(3);
    g.group.set_share(0.098);
    g.group.plan(4, 0.0, g.chunks);
    CHECK(g.chunks.size() == 2);
    CHECK(g.waiting.size() == 1);
  }
  {
    // The edge of the refusal: 2001 tokens fit if more than 2001 are left.
    for (const auto& [share, admitted] :
         {std::pair{(5600.0 - 2000.5) / 3600.0, 0}, std::pair{(5600.0 - 2001.5) / 3600.0, 1}}) {
      sglang_group g(2);
      g.group.set_share(share);
      g.group.plan(4, 0.0, g.chunks);
      CHECK(int(g.chunks.size()) == admitted);
    }
  }
  {
    sglang_group g(0);
    g.group.advance(300, [](int, bool) {});
    CHECK(g.group.share() == Catch::Approx(0.5 * (0.7 + 0.098)));
    g.group.advance(300, [](int, bool) {});
    CHECK(g.group.share() == Catch::Approx(0.098));
    g.group.advance(100, [](int, bool) {});
    CHECK(g.group.share() == Catch::Approx(0.098));
  }
}

TEST_CASE("schedule 9: drafted tokens take the budget, accepted or not", "[simulate]") {
  for (const double acceptance : {1e-9, 0.6, 1.0 - 1e-9}) {
    pm::scheduler_settings s = synchronous(pm::schedulers::vllm_0_24);
    s.token_budget = 16;
    pm::simulation_options o;
    o.speculate = pm::speculation{.length = 3, .acceptance = {acceptance}};
    std::vector<pm::simulated_request> all(3, {.input_tokens = 2, .output_tokens = 400});
    all.push_back({.arrival = 0.0205, .input_tokens = 100, .output_tokens = 5});
    const recorded_run run = record(s, all, o);
    std::size_t i = 0;
    while (run.steps[i].tokens.count(3) == 0) ++i;
    for (int n = 0; n < 25; ++n, ++i) {
      INFO("step " << n + 1);
      CHECK(run.steps[i].tokens == std::map<std::int64_t, int>{{0, 4}, {1, 4}, {2, 4}, {3, 4}});
      CHECK(run.steps[i].total() == 16);
    }
    CHECK(run.requests[3].ttft + run.requests[3].arrival ==
          Catch::Approx(run.steps[i - 1].end).epsilon(1e-12));
  }
}

TEST_CASE("schedule 10: padding of CUDA graphs", "[simulate]") {
  namespace g = pm::cuda_graphs;
  const g::capture_limits limits;
  using size = std::optional<int>;
  const auto all = [&](int tokens) {
    return std::tuple{g::vllm_graph(tokens), g::sglang_graph(tokens, limits.sglang),
                      g::trtllm_padded_graph(tokens, 256), g::trtllm_graph(tokens)};
  };
  CHECK(all(5) == std::tuple{size(8), size(8), size(8), size(5)});
  CHECK(all(33) == std::tuple{size(40), size(40), size(40), size()});
  CHECK(all(130) == std::tuple{size(136), size(136), size(192), size()});
  CHECK(all(257) == std::tuple{size(272), size(), size(), size()});
  CHECK(all(513) == std::tuple{size(), size(), size(), size()});
  CHECK(g::sglang_graph(257, 512) == size(272));

  const std::array<int, 4> decodes{5, 0, 12, 3}, with_prefill{5, 0, 1000, 3};
  for (const int tokens : g::vllm_lockstep(decodes, limits.vllm)) CHECK(tokens == 16);
  const auto eager = g::vllm_lockstep(with_prefill, limits.vllm);
  CHECK(eager == std::vector<int>{5, 1, 1000, 3});
  CHECK(g::sglang_lockstep(decodes, limits.sglang) == size(12));
  CHECK_FALSE(g::sglang_lockstep(decodes, limits.sglang, true));
}

TEST_CASE("capture sizes of CUDA graphs", "[simulate]") {
  namespace g = pm::cuda_graphs;
  CHECK(g::vllm_graph(1) == 1);
  CHECK(g::vllm_graph(3) == 4);
  CHECK(g::vllm_graph(9) == 16);
  CHECK(g::vllm_graph(248) == 248);
  CHECK(g::vllm_graph(249) == 256);
  CHECK(g::vllm_graph(512) == 512);
  CHECK(g::vllm_largest_graph(64, 3, 8192, false) == 512);
  CHECK(g::vllm_largest_graph(64, 0, 8192, false) == 128);
  CHECK(g::vllm_largest_graph(1024, 0, 8192, true) == 1024);
  CHECK(g::vllm_largest_graph(1024, 0, 256, true) == 256);
  CHECK(g::sglang_graph(9, 256) == 12);
  CHECK(g::sglang_graph(13, 256) == 16);
  CHECK(g::sglang_graph(500, 1024) == 512);
  CHECK(g::sglang_graph(513, 1024) == 544);
  CHECK(g::sglang_graph(25, 24) == std::nullopt);
  CHECK(g::sglang_speculative_graph(9, 256) == 10);
  CHECK(g::sglang_speculative_graph(33, 256) == 40);
  CHECK(g::sglang_speculative_graph(65, 256) == 72);
  CHECK(g::sglang_speculative_graph(257, 512) == 272);
  CHECK(g::trtllm_graph(31) == 31);
  CHECK(g::trtllm_graph(64) == 64);
  CHECK(g::trtllm_graph(128) == 128);
  CHECK(g::trtllm_graph(256) == std::nullopt);
  CHECK(g::trtllm_graph(256, 256) == 256);
  CHECK(g::trtllm_graph(100) == std::nullopt);
  CHECK(g::trtllm_padded_graph(3, 128) == 4);
  CHECK(g::trtllm_padded_graph(121, 128) == 128);
  CHECK(g::trtllm_padded_graph(129, 128) == std::nullopt);
  CHECK(g::trtllm_padded_graph(129, 256) == 192);
}

/// Tokens that the second of two equal prompts computes.
int computed_by_second(const pm::scheduler_settings& s, int tokens, int unit) {
  pm::simulated_request first{.input_tokens = tokens, .output_tokens = 2, .block_tokens = unit};
  for (int i = 0; (i + 1) * unit <= tokens; ++i) first.blocks.push_back(1000u + unsigned(i));
  pm::simulated_request second = first;
  second.arrival = 1.0;
  const recorded_run run = record(s, {first, second});
  for (const recorded_step& step : run.steps)
    if (const auto at = step.tokens.find(1); at != step.tokens.end()) {
      CHECK(run.requests[1].cached_tokens == tokens - at->second);
      return at->second;
    }
  return -1;
}

TEST_CASE("prefix hits of equal prompts", "[simulate]") {
  const pm::scheduler_settings vllm = synchronous(pm::schedulers::vllm_0_24);
  const pm::scheduler_settings sglang = synchronous(pm::schedulers::sglang_0_5);
  CHECK(computed_by_second(vllm, 96, 16) == 16);
  CHECK(computed_by_second(vllm, 100, 16) == 4);
  CHECK(computed_by_second(sglang, 96, 1) == 1);
  CHECK(computed_by_second(sglang, 100, 1) == 1);
}

TEST_CASE("equal prompts in one step", "[simulate]") {
  pm::simulated_request r{.input_tokens = 96, .output_tokens = 2};
  for (unsigned i = 0; i < 6; ++i) r.blocks.push_back(7u + i);
  const auto first = [&](const pm::scheduler_settings& s) {
    return record(synchronous(s), {r, r}).steps[0].tokens;
  };
  using tokens = std::map<std::int64_t, int>;
  CHECK(first(pm::schedulers::vllm_0_24) == tokens{{0, 96}, {1, 16}});
  CHECK(first(pm::schedulers::sglang_0_5) == tokens{{0, 96}, {1, 96}});
}

}  // namespace unit_simulate_schedules
