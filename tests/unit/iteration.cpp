// What one rank has of a pass, counted by hand.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/step/deployment.hpp>

#include "support/refusal.hpp"

namespace unit_iteration {

namespace pm = perfmodel;
using perfmodel_test::refusal;

namespace {

/// Deployment of 2 stages and 4 groups.
auto share(const pm::iteration& i) {
  return pm::detail::step_share_of({.tensor = 2, .pipeline = 2, .data = 4}, i);
}

}  // namespace

TEST_CASE("iteration: sequences are shared out to groups and stages, whole ones") {
  const auto s = share({.batch = 24, .context = 100, .tokens_per_sequence = 3});
  CHECK(s.sequences == 3);
  CHECK(s.rows == 9);
  CHECK(s.logits == 9);
  CHECK(s.decoded_tokens_of_groups == 36);  // of 12 sequences of a stage
  CHECK(s.prefills == 0);
  CHECK(s.prefills_of_groups == 0);
  const auto few = share({.batch = 4, .context = 100, .tokens_per_sequence = 3});
  CHECK(few.sequences == 1);
  CHECK(few.decoded_tokens_of_groups == 6);
  CHECK(share({.batch = 1, .context = 100, .tokens_per_sequence = 3}).decoded_tokens_of_groups ==
        3);
}

TEST_CASE("iteration: prefills join, whole ones except in a mean of steps") {
  pm::iteration i{.batch = 24,
                  .context = 100,
                  .prefill_tokens = 800,
                  .prefill_sequences = 4,
                  .tokens_per_sequence = 3};
  auto s = share(i);
  CHECK(s.prefills == 1);
  CHECK(s.prefill_length == 200);
  CHECK(s.rows == 9 + 200);
  CHECK(s.logits == 9 + 1);
  CHECK(s.prefills_of_groups == 2);
  i.steady = true;
  s = share(i);
  CHECK(s.prefills == 0.5);
  CHECK(s.rows == 9 + 100);
  CHECK(s.logits == 9.5);
  CHECK(s.prefills_of_groups == 2);
  i.prefill_tokens = 2;  // half a token in each of 4
  CHECK(share(i).logits == 9 + 0.25);
  i.prefill_sequences = 1;
  CHECK(share(i).prefills_of_groups == 0.5);
  i.steady = false;
  CHECK(share(i).prefills_of_groups == 1);
  CHECK(share({.batch = 24, .context = 100}).prefill_length == 0);
  CHECK(share({.prefill_tokens = 100}).sequences == 0);
  CHECK(share({.prefill_tokens = 100}).decoded_tokens_of_groups == 0);
}

TEST_CASE("iteration: a step has a token, and a context where sequences decode") {
  const auto why = [](const pm::iteration& i) {
    return refusal([&] { pm::detail::check_iteration(i); });
  };
  CHECK(why({.batch = 1}) == "nothing refused");
  CHECK(why({.batch = 0.5, .prefill_tokens = 0.5}) == "nothing refused");
  CHECK(why({.batch = 0.5, .prefill_tokens = 0.25}) ==
        "PM-E010: batch + prefill_tokens is 0.75; allowed: 1 or more");
  CHECK(why({.context = 0, .prefill_tokens = 1}) == "nothing refused");
  CHECK(why({.batch = 1, .context = 0}) == "PM-E010: context is 0; allowed: 1 or more");
}

}  // namespace unit_iteration
