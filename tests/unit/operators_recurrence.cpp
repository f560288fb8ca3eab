// Linear attention and state spaces: a state that every token updates.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/operators/mixers.hpp>

#include "support/each_field.hpp"
#include "support/near.hpp"

namespace unit_operators_recurrence {

namespace pm = perfmodel;
using perfmodel_test::near;

namespace {

constexpr pm::linear_recurrence token{
    .sequences = 1, .heads = 32, .key_heads = 16, .key_dim = 128, .value_dim = 128};

constexpr pm::linear_recurrence prompt(double tokens, double chunk) {
  auto x = token;
  x.tokens = tokens;
  x.chunk = chunk;
  return x;
}

}  // namespace

TEST_CASE("linear_recurrence: one token reads and writes 32 states of 128 x 128") {
  constexpr auto d = demand_of(token);
  constexpr double states = 32 * 128 * 128 * 4;  // in fp32
  constexpr double inputs = (2 * 16 * 128 + 32 * 128) * 2, results = 32 * 128 * 2;
  static_assert(d.dram.read.value() == states + inputs);
  static_assert(d.dram.written.value() == states + results);
  CHECK(near(2 * states, 4.2e6, 2e-3));
  // What the key retrieves, the update, what the query reads: 2 k v each; and 3 k + 2 v of the
  // token with itself.
  static_assert(d.matrix_flop.value() == 32 * (6 * 128 * 128 + 3 * 128 + 2 * 128));
  // Without the delta rule, update and reading, and k + v.
  constexpr auto plain = [] {
    auto x = token;
    x.corrects = false;
    return demand_of(x);
  }();
  static_assert(plain.matrix_flop.value() == 32 * (4 * 128 * 128 + 128 + 128));
  static_assert(plain.dram.total() == d.dram.total());
}

TEST_CASE("linear_recurrence: chunks of one token do what decoding them one by one does") {
  CHECK(demand_of(prompt(100, 1)).matrix_flop == 100.0 * demand_of(token).matrix_flop);
  // But the states are read and written once.
  const double states = 32 * 128 * 128 * 4;
  CHECK(demand_of(prompt(100, 1)).dram.read.value() - states ==
        100 * (demand_of(token).dram.read.value() - states));
  CHECK(demand_of(prompt(100, 1)).dram.written.value() - states ==
        100 * (demand_of(token).dram.written.value() - states));
}

TEST_CASE("linear_recurrence: a prefill goes in chunks of tokens that see each other") {
  // 6 x 128 x 128 + 64 x (3 x 128 + 2 x 128) = 98,304 + 40,960, which counts the causal half of the
  // squares 64 x 64; all of them would be 98,304 + 81,920, some 180 thousand.
  const double each = demand_of(prompt(6400, 64)).matrix_flop.value() / (6400 * 32);
  CHECK(each == 98304 + 40960);
  // A prompt that is shorter than a chunk is one chunk.
  CHECK(demand_of(prompt(16, 64)).matrix_flop == demand_of(prompt(16, 16)).matrix_flop);
  // FLOP grow with the tokens, not with their square.
  CHECK(demand_of(prompt(12800, 64)).matrix_flop == 2.0 * demand_of(prompt(6400, 64)).matrix_flop);
}

TEST_CASE("linear_recurrence: the last inputs of a convolution move with the states") {
  auto x = token;
  x.sequences = 5;
  const auto without = demand_of(x);
  x.conv_state = 49152 * pm::byte;
  const auto with = demand_of(x);
  CHECK((with.dram.read - without.dram.read).value() == 5 * 49152);
  CHECK((with.dram.written - without.dram.written).value() == 5 * 49152);
  CHECK(with.matrix_flop == without.matrix_flop);
}

TEST_CASE("linear_recurrence: each field outside its range is refused by name") {
  perfmodel_test::refuses_each_field(
      token, [](const pm::linear_recurrence& x) { (void)demand_of(x); }, {"conv_state"});
}

}  // namespace unit_operators_recurrence
