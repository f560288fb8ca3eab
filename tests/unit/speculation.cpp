// Speculation where a model runs: rounds from their passes, memory by hand, when it pays, and the
// tail.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <vector>

#include "support/near.hpp"
#include "support/refusal.hpp"
#include "support/scalars.hpp"

namespace unit_speculation {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::check_scalars;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::deployment on_h100(const pm::transformer& m) {
  return pm::with_all_memory(
      pm::deployment{.device = cat::h100_sxm, .model = m, .layout = {.tensor = 8}});
}
const pm::datasheet policy{};

pm::speculation drafted_by(pm::drafter by, double acceptance = 0.7) {
  pm::speculation s{.by = by, .length = 4, .acceptance = {acceptance}};
  if (by == pm::drafter::model) s.draft = on_h100(cat::llama_3_8b);
  return s;
}
pm::service_load load(double concurrency, double output = 512) {
  return {.input_tokens = 2048, .output_tokens = output, .arrivals = pm::closed_loop{concurrency}};
}

}  // namespace

TEST_CASE("speculation: a round is the steps of its drafter and one that verifies all tokens") {
  const auto d = on_h100(cat::llama_3_70b);
  for (const double batch : {1.0, 40.0}) {
    const auto step = [&](const pm::deployment& x, double tokens) {
      return pm::step(x, {.batch = batch, .context = 3000, .tokens_per_sequence = tokens}, policy)
          .time.value();
    };
    const auto round = [&](const pm::speculation& s) {
      return pm::speculative_round(d, s, batch, 3000, policy);
    };
    const auto lookup = round(drafted_by(pm::drafter::lookup));
    CHECK(lookup.draft.value() == 0);
    CHECK(near(lookup.plain.value(), step(d, 1)));
    CHECK(near(lookup.verify.value(), step(d, 5)));
    const auto model = round(drafted_by(pm::drafter::model));
    CHECK(near(model.draft.value(), 4 * step(on_h100(cat::llama_3_8b), 1), 1e-9));
    CHECK(near(model.emitted, pm::emitted_tokens(0.7, 4).quantity().value()));
    // The law of speculative.hpp with the same times.
    const pm::speculative_steps times{model.plain, model.draft / 4.0, model.verify};
    CHECK(
        near(model.speedup(), pm::speculative_speedup(pm::emitted_tokens(0.7, 4), 4, times), 1e-9));
    auto whole = drafted_by(pm::drafter::part);
    whole.share = 1;
    CHECK(near(round(whole).draft.value(), 4 * step(d, 1), 1e-9));
    auto tree = drafted_by(pm::drafter::lookup);
    tree.width = 3;
    CHECK(near(round(tree).verify.value(), step(d, 13)));
  }
}

TEST_CASE("speculation: an extra layer and heads read their weights and the model's head") {
  auto d = on_h100(cat::llama_3_70b);
  d.layout.tensor = 1;
  const double hidden = 8192, vocabulary = 128256, bandwidth = cat::h100_sxm.dram.bandwidth.value();
  const double layer = 2 * hidden * (hidden + 1024) + 3 * hidden * 28672;
  const auto draft = [&](pm::drafter by) {
    return pm::speculative_round(d, drafted_by(by), 1, 1, policy).draft.value();
  };
  // Within 1 %: cache of one token, norms and activations.
  CHECK(near(draft(pm::drafter::layer),
             4 * 2 * (layer + hidden * (vocabulary + 2 * hidden)) / bandwidth, 0.01));
  CHECK(near(draft(pm::drafter::heads), 4 * 2 * hidden * (vocabulary + hidden) / bandwidth, 0.01));
}

TEST_CASE("speculation: positions of acceptance, the last of them for those beyond") {
  pm::speculation s{.length = 3, .acceptance = {0.9, 0.5}};
  const double emitted = pm::speculative_round(on_h100(cat::llama_3_8b), s, 1, 100, policy).emitted;
  CHECK(near(emitted, 1 + 0.9 + 0.9 * 0.5 + 0.9 * 0.5 * 0.5));
}

TEST_CASE("speculation: a drafter takes its weights and its cache from the sequences that fit") {
  const auto d = on_h100(cat::llama_3_70b);
  const auto draft = on_h100(cat::llama_3_8b);
  const double tokens = 2048 + 512;
  const double left = cat::h100_sxm.dram.capacity.value() - pm::weight_bytes_per_device(d).value() -
                      pm::weight_bytes_per_device(draft).value();
  const double per_token = (80 + 32) * 2 * 1024.0 * 2 / 8;  // 8 heads of 128, two bytes, 8 ranks
  const auto s = pm::serving(d, load(10), drafted_by(pm::drafter::model), policy);
  CHECK(std::abs(s.capacity - left / (per_token * tokens)) < 1.01);
  const auto plain = pm::serving(d, load(10), policy);
  CHECK(pm::serving(d, load(10), drafted_by(pm::drafter::lookup), policy).capacity ==
        plain.capacity);
  CHECK(pm::serving(d, load(10), drafted_by(pm::drafter::part), policy).capacity == plain.capacity);
  CHECK(pm::serving(d, load(10), drafted_by(pm::drafter::layer), policy).capacity < plain.capacity);
  // Room for the model and one sequence, and not for a drafter's weights.
  auto tight = d;
  tight.device.dram.capacity = pm::bytes<>(1.02 * pm::weight_bytes_per_device(d));
  REQUIRE(pm::serving(tight, load(1), policy).feasible);
  REQUIRE(pm::serving(tight, load(1), drafted_by(pm::drafter::lookup), policy).feasible);
  CHECK_FALSE(pm::serving(tight, load(1), drafted_by(pm::drafter::layer), policy).feasible);
}

TEST_CASE("speculation: pays less as the batch grows, and again as contexts do") {
  const auto d = on_h100(cat::llama_3_70b);
  for (const auto by :
       {pm::drafter::model, pm::drafter::layer, pm::drafter::part, pm::drafter::lookup}) {
    const auto s = drafted_by(by);
    const auto speedup = [&](double batch, double context) {
      return pm::speculative_round(d, s, batch, context, policy).speedup();
    };
    CHECK(speedup(1, 512) > speedup(64, 512));
    CHECK(speedup(64, 512) > speedup(256, 512));
    CHECK(speedup(256, 512) < 1);
    CHECK(speedup(256, 8192) > speedup(256, 512));
    CHECK(speedup(256, 65536) > 1);
    CHECK(pm::best_draft_length(d, s, 256, 65536, policy) >= 1);
    CHECK(pm::best_draft_length(d, s, 1, 512, policy) >=
          pm::best_draft_length(d, s, 100, 512, policy));
    CHECK(pm::best_draft_length(d, s, 4096, 512, policy) == 0);

    const int last = pm::largest_batch_with_speedup(d, s, 512, 4096, policy);
    REQUIRE(last > 0);
    REQUIRE(last < 4096);
    CHECK(speedup(last, 512) > 1);
    CHECK(speedup(last + 1, 512) <= 1);
    CHECK(pm::largest_batch_with_speedup(d, s, 65536, 4096, policy) == 4096);
  }
  CHECK(pm::largest_batch_with_speedup(d, drafted_by(pm::drafter::lookup, 0.0), 512, 64, policy) ==
        0);
}

/// Mean number of rounds that emit n tokens: 1 + the sum of P(x) rounds(n - x) over the tokens x of
/// the first one.
double mean_rounds(int n, const pm::speculation& s) {
  std::vector<double> of(static_cast<std::size_t>(n) + 1, 0.0);
  for (int i = 1; i <= n; ++i) {
    double mean = 1.0, reached = 1.0;
    for (int x = 1; x <= s.length + 1 && x < i; ++x) {
      const bool is_last = x == s.length + 1;
      const std::size_t at = std::min<std::size_t>(std::size_t(x) - 1, s.acceptance.size() - 1);
      const double goes_on = is_last ? 0.0 : s.acceptance[at];
      mean += reached * (1.0 - goes_on) * of[std::size_t(i - x)];
      reached *= goes_on;
    }
    of[std::size_t(i)] = mean;
  }
  return of[std::size_t(n)];
}

TEST_CASE("speculation: the last round of an output emits tokens in vain") {
  const auto d = on_h100(cat::llama_3_8b);
  for (const pm::short_list<double, 8>& acceptance :
       {pm::short_list<double, 8>{0.7, 0.6, 0.5}, pm::short_list<double, 8>{0.5},
        pm::short_list<double, 8>{0.9}, pm::short_list<double, 8>{0.0}}) {
    const pm::speculation s{.by = pm::drafter::lookup, .length = 3, .acceptance = acceptance};
    for (const int n : {1, 2, 3, 7, 15, 63}) {
      const auto served = pm::serving(d, load(1, n + 1), s, policy);
      const double round =
          pm::speculative_round(d, s, 1, 2048 + (n + 1) / 2.0, policy).time().value();
      const double rounds = n * served.itl.value() / round;
      INFO(acceptance[0] << ", " << n << " tokens: " << rounds << " rounds");
      CHECK(near(rounds, mean_rounds(n, s), n < 4 ? 0.16 : 0.03));
    }
  }
  // An output of one token has no round: a whole request is the time to it.
  const pm::speculation long_drafts{.by = pm::drafter::lookup, .length = 6, .acceptance = {0.97}};
  for (const double n : {1.0, 16.0}) {
    const auto one = pm::serving(d, load(n, 1), long_drafts, policy);
    CHECK(near(one.e2e, one.ttft, 1e-12));
  }
  // Without them an output of 8 tokens takes (8 - 1) / E rounds: 13 % too few.
  const pm::speculation s{.by = pm::drafter::lookup, .length = 3, .acceptance = {0.7, 0.6, 0.5}};
  CHECK(mean_rounds(7, s) > 1.1 * 7 / (1 + 0.7 + 0.42 + 0.21));
}

TEST_CASE(
    "speculation: an unloaded request is a prefill and its rounds, with a round's tokens at once") {
  const auto d = on_h100(cat::llama_3_70b);
  const auto s = drafted_by(pm::drafter::lookup);
  const auto served = pm::serving(d, load(1), s, policy);
  const auto round = pm::speculative_round(d, s, 1, 2048 + 256, policy);
  const auto prefill = pm::step(d, {.prefill_tokens = 2048}, policy);
  // Tokens in vain: (E[X^2] / E[X] - 1) / 2 of X = 1 to 5 tokens a round.
  const double squares = 1 + 3 * 0.7 + 5 * 0.49 + 7 * 0.343 + 9 * 0.2401;
  const double all = 511 + (squares / (1 + 0.7 + 0.49 + 0.343 + 0.2401) - 1) / 2;
  const auto per_token = all / 511 * round.per_token();
  CHECK(near(served.itl, per_token, 1e-9));
  CHECK(near(served.ttft, prefill.time, 0.01));  // its iterations have room for a sequence
  CHECK(near(served.e2e, served.ttft + 511.0 * per_token, 1e-9));
  CHECK(near(served.output_rate.value(), 512 / served.e2e.value(), 1e-9));
  CHECK(near(served.itl_distribution.mean(), served.itl, 1e-9));
  // Nine of ten tokens in one stream chunk come in nine E-ths of a round.
  auto ten = load(1);
  ten.stream_interval = 10;
  CHECK(near(pm::serving(d, ten, s, policy).ttft, served.ttft + 9.0 * round.per_token(), 1e-9));
  REQUIRE(round.emitted > 2);
  CHECK(served.itl_distribution.quantile(0.5).value() == 0);
  CHECK(near(served.itl_distribution.quantile(0.99), round.time(), 1e-9));
}

TEST_CASE(
    "speculation: a service with it obeys Little's law, and without acceptance it is slower") {
  const auto d = on_h100(cat::llama_3_70b);
  for (const double n : {1.0, 16.0, 100.0}) {
    const auto plain = pm::serving(d, load(n), policy);
    for (const auto by :
         {pm::drafter::model, pm::drafter::layer, pm::drafter::heads, pm::drafter::lookup}) {
      const auto served = pm::serving(d, load(n), drafted_by(by), policy);
      CHECK(near(served.throughput.value() * served.e2e.value(), n, 0.01));
      CHECK(pm::serving(d, load(n), drafted_by(by, 0.0), policy).itl > plain.itl);
    }
  }
}

TEST_CASE("speculation: bad requests") {
  const auto d = on_h100(cat::llama_3_8b);
  const auto ask = [&](const pm::speculation& s) {
    return refusal([&] { (void)pm::speculative_round(d, s, 1, 100, policy); });
  };
  CHECK(ask({.acceptance = {1.5}}) == "PM-E010: speculation.acceptance.0 is 1.5; allowed: 0 to 1");
  CHECK(ask({}).find("speculation.acceptance has no position") != std::string::npos);
  CHECK(ask({.by = pm::drafter::model, .acceptance = {0.5}}).find("speculation.draft") !=
        std::string::npos);
  CHECK(ask({.length = 0, .acceptance = {0.5}}).starts_with("PM-E010: speculation.length is 0"));
}

TEST_CASE("scalars: speculation in a service") {
  check_scalars(
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        auto d = pm::lift<T>(on_h100(cat::llama_3_70b));
        d.device.dram.bandwidth = pm::bandwidth<T>::from_value(x[0]);
        pm::basic_speculation<T> s{.by = pm::drafter::layer, .length = 3, .acceptance = {x[1]}};
        return pm::serving(d,
                           pm::basic_service_load<T>{.input_tokens = x[2],
                                                     .output_tokens = x[3],
                                                     .arrivals = pm::basic_closed_loop<T>{x[4]}},
                           s, policy)
            .e2e.value();
      },
      3.35e12, 0.7, 2048.0, 512.0, 20.0);
}

}  // namespace unit_speculation
