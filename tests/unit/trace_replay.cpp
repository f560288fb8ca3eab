// A trace is replayed: at its times, faster, in part, with turns, and with limits of the client.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <concepts>
#include <cstdint>
#include <perfmodel/serving/simulation/trace.hpp>
#include <type_traits>
#include <vector>

namespace unit_trace_replay {

namespace pm = perfmodel;
using Catch::Approx;

namespace {

pm::request_trace flat(const std::vector<double>& times) {
  pm::request_trace t;
  for (const double at : times) {
    t.requests.push_back({.arrival_s = at, .input_tokens = 100, .output_tokens = 10});
  }
  return t;
}

struct sent {
  std::int64_t index;
  double at;
  bool operator==(const sent&) const = default;
};

/// Requests as they are sent to a server that takes `service` for each, all at once.
template <std::derived_from<pm::request_source> Source>
std::vector<sent> replay(Source& source, double service, std::size_t most = 1000) {
  std::vector<sent> out;
  std::vector<sent> running;
  pm::simulated_request r;
  while (out.size() < most) {
    const double next = source.next_arrival();
    const double done = running.empty() ? pm::request_source::never : running.front().at;
    if (next == pm::request_source::never && running.empty()) break;
    if (done <= next) {
      pm::request_record record;
      record.index = running.front().index;
      running.erase(running.begin());
      source.completed(record, done);
      continue;
    }
    source.take(r);
    CHECK(r.arrival == next);
    CHECK(r.index == static_cast<std::int64_t>(out.size()));
    out.push_back({r.index, r.arrival});
    if constexpr (std::is_same_v<Source, pm::trace_source>) {
      out.back().index = static_cast<std::int64_t>(source.position(r.index));
    }
    running.push_back({r.index, r.arrival + service});
  }
  return out;
}
std::vector<sent> replay(const pm::request_trace& t, const pm::replay_options& o, double service) {
  pm::trace_source source(t, o);
  return replay(source, service);
}

pm::error_code code_of(const pm::request_trace& t, const pm::replay_options& o = {}) {
  try {
    const pm::trace_source source(t, o);
  } catch (const pm::error& e) {
    return e.code();
  }
  return pm::error_code{0};
}

/// Requests of a vector, one at a time.
class vector_reader : public pm::trace_reader {
 public:
  explicit vector_reader(const pm::request_trace& t) : trace_(t) {}
  bool next(pm::trace_request& r, std::vector<std::uint64_t>& blocks) override {
    if (at_ == trace_.requests.size()) return false;
    r = trace_.requests[at_++];
    blocks.assign(static_cast<std::size_t>(r.block_count), at_);
    return true;
  }
  int block_tokens() const override { return 32; }

 private:
  const pm::request_trace& trace_;
  std::size_t at_ = 0;
};

}  // namespace

TEST_CASE("a trace is replayed at its times, and equal times keep their order") {
  const pm::request_trace t = flat({3.0, 0.0, 1.0, 1.0});
  CHECK(replay(t, {}, 100.0) == std::vector<sent>{{1, 0.0}, {2, 1.0}, {3, 1.0}, {0, 3.0}});
  CHECK(replay(t, {.rate_factor = 2.0}, 100.0) ==
        std::vector<sent>{{1, 0.0}, {2, 0.5}, {3, 0.5}, {0, 1.5}});
  CHECK(replay(flat({}), {}, 1.0).empty());
}

TEST_CASE("a window and the first requests are a part of a trace") {
  const pm::request_trace t = flat({0.0, 1.0, 2.0, 3.0});
  CHECK(replay(t, {.from_s = 1.0, .to_s = 3.0}, 1.0) == std::vector<sent>{{1, 0.0}, {2, 1.0}});
  CHECK(replay(t, {.first_requests = 2}, 1.0) == std::vector<sent>{{0, 0.0}, {1, 1.0}});
  CHECK(pm::trace_source(t, {.first_requests = 3}).size() == 3);
}

TEST_CASE("a turn is sent a think time after the one before it completed") {
  pm::request_trace t = flat({0.0, 0.0, 0.5, 0.0});
  t.requests[1].previous = 0;
  t.requests[1].think_s = 1.0;
  t.requests[3].previous = 1;
  t.requests[3].think_s = 0.25;
  CHECK(replay(t, {}, 2.0) == std::vector<sent>{{0, 0.0}, {2, 0.5}, {1, 3.0}, {3, 5.25}});
  CHECK(replay(t, {.rate_factor = 0.5}, 2.0)[2] == sent{1, 3.0});  // think times stay
  // A window takes the turns with their first one.
  CHECK(replay(t, {.from_s = 0.25}, 2.0) == std::vector<sent>{{2, 0.25}});
  CHECK(replay(t, {.first_requests = 2}, 2.0) == std::vector<sent>{{0, 0.0}, {1, 3.0}});
}

TEST_CASE("requests after one, as those of several agents, are sent in order of time") {
  pm::request_trace t = flat({0.0, 0.0, 0.0, 0.0});
  const double think[] = {-1.0, 3.0, 1.0, 1.0};
  for (std::size_t i = 1; i < 4; ++i) {
    t.requests[i].previous = 0;
    t.requests[i].think_s = think[i];
  }
  CHECK(replay(t, {}, 1.0) == std::vector<sent>{{0, 0.0}, {2, 2.0}, {3, 2.0}, {1, 4.0}});
}

TEST_CASE("a client with a limit sends what is due when a request completes") {
  const pm::request_trace t = flat({0.0, 0.1, 0.2, 5.0, 5.0});
  CHECK(replay(t, {.in_flight_limit = 1}, 1.0) ==
        std::vector<sent>{{0, 0.0}, {1, 1.0}, {2, 2.0}, {3, 5.0}, {4, 6.0}});
  CHECK(replay(t, {.in_flight_limit = 2}, 1.0) ==
        std::vector<sent>{{0, 0.0}, {1, 0.1}, {2, 1.0}, {3, 5.0}, {4, 5.0}});
  // All at once with a limit is a closed loop.
  const auto closed = replay(flat(std::vector<double>(50, 0.0)), {.in_flight_limit = 10}, 2.0);
  for (std::size_t i = 0; i < closed.size(); ++i) CHECK(closed[i].at == 2.0 * double(i / 10));
  CHECK(closed.size() == 50);
}

TEST_CASE("a limit of sessions begins one when another ends") {
  pm::request_trace t = flat({0.0, 0.0, 0.0, 0.0, 0.0});
  for (const int first : {0, 2}) {  // two sessions of two turns, and a request
    t.requests[static_cast<std::size_t>(first)].session = first / 2;
    auto& turn = t.requests[static_cast<std::size_t>(first) + 1];
    turn.session = first / 2;
    turn.previous = first;
    turn.think_s = 1.0;
  }
  CHECK(replay(t, {.session_limit = 1}, 1.0) ==
        std::vector<sent>{{0, 0.0}, {1, 2.0}, {2, 3.0}, {3, 5.0}, {4, 6.0}});
  CHECK(replay(t, {.session_limit = 2}, 1.0) ==
        std::vector<sent>{{0, 0.0}, {2, 0.0}, {1, 2.0}, {3, 2.0}, {4, 3.0}});
}

TEST_CASE("a rate replaces recorded arrivals") {
  const auto made = replay(flat(std::vector<double>(20000, 0.0)),
                           {.requests_per_s = 4.0, .arrival_cv = 1.0, .seed = 7}, 0.001);
  const auto all = [] {
    pm::request_trace t = flat(std::vector<double>(20000, 0.0));
    pm::trace_source s(t, {.requests_per_s = 4.0, .seed = 7});
    return replay(s, 0.001, 20000);
  }();
  CHECK(made.size() == 1000);
  CHECK(all.size() == 20000);
  CHECK(all.back().at == Approx(5000.0).epsilon(0.03));
  const auto even = replay(flat({0.0, 0.0, 0.0}), {.requests_per_s = 2.0, .arrival_cv = 0.0}, 1.0);
  CHECK(even == std::vector<sent>{{0, 0.5}, {1, 1.0}, {2, 1.5}});
}

TEST_CASE("a request has the lengths, session and blocks of its trace") {
  pm::request_trace t = flat({0.0, 1.0});
  t.blocks = {7, 8, 9};
  t.block_tokens = 64;
  t.requests[1] = {.arrival_s = 1.0,
                   .first_block = 1,
                   .block_count = 2,
                   .input_tokens = 130,
                   .output_tokens = 5,
                   .session = 3};
  pm::trace_source source(t);
  pm::simulated_request r;
  source.take(r);
  CHECK(r.blocks.empty());
  source.take(r);
  CHECK(r.blocks == std::vector<std::uint64_t>{8, 9});
  t.requests[1].input_tokens = 127;  // the second block is not full
  r.first_token_at = 3.0;
  pm::trace_source partial(t, {.from_s = 0.5});
  partial.take(r);
  CHECK(r.blocks == std::vector<std::uint64_t>{8});
  CHECK(r.first_token_at == -1.0);
  t.blocks_cover_output = true;
  pm::trace_source covering(t, {.from_s = 0.5});
  covering.take(r);
  CHECK(r.blocks == std::vector<std::uint64_t>{8, 9});
  r.input_tokens = 130;
  CHECK(r.block_tokens == 64);
  CHECK(r.input_tokens == 130);
  CHECK(r.output_tokens == 5);
  CHECK(r.session == 3);
  CHECK(source.next_arrival() == pm::request_source::never);
}

TEST_CASE("a stream replays as a trace in memory does") {
  const pm::request_trace t = flat({0.0, 0.1, 0.2, 5.0, 5.0, 7.0});
  for (const pm::replay_options& o : {pm::replay_options{},
                                      {.rate_factor = 2.0},
                                      {.first_requests = 4},
                                      {.in_flight_limit = 1},
                                      {.requests_per_s = 3.0, .seed = 5}}) {
    vector_reader reader(t);
    pm::streamed_trace_source source(reader, o);
    CHECK(replay(source, 1.0) == replay(t, o, 1.0));
  }
  vector_reader reader(t);
  pm::streamed_trace_source window(reader, {.from_s = 0.15, .to_s = 6.0});
  const auto got = replay(window, 1.0);
  CHECK(got.size() == 3);
  CHECK(got[0].at == Approx(0.05));
  pm::request_trace back = flat({1.0, 0.5});
  vector_reader unsorted(back);
  pm::streamed_trace_source source(unsorted);
  pm::simulated_request r;
  CHECK_THROWS_AS(source.take(r), pm::error);
  vector_reader again(t);
  CHECK_THROWS_AS(pm::streamed_trace_source(again, {.session_limit = 1}), pm::error);
}

TEST_CASE("a trace that contradicts itself, and options out of range, are refused") {
  using enum pm::error_code;
  CHECK(code_of(flat({0.0})) == pm::error_code{0});
  CHECK(code_of(flat({-1.0})) == inconsistent);
  pm::request_trace t = flat({0.0, 1.0});
  t.requests[0].input_tokens = 0;
  CHECK(code_of(t) == inconsistent);
  t = flat({0.0, 1.0});
  t.requests[0].block_count = 1;
  CHECK(code_of(t) == inconsistent);
  t = flat({0.0, 1.0});
  t.requests[1].think_s = 1.0;
  CHECK(code_of(t) == inconsistent);
  t.requests[1].previous = 1;
  CHECK(code_of(t) == inconsistent);
  CHECK(code_of(flat({0.0}), {.rate_factor = 0.0}) == out_of_range);
  CHECK(code_of(flat({0.0}), {.from_s = 2.0, .to_s = 1.0}) == out_of_range);
  CHECK(code_of(flat({0.0}), {.in_flight_limit = -1}) == out_of_range);
  CHECK(code_of(flat({0.0}), {.arrival_cv = -1.0}) == out_of_range);
}

}  // namespace unit_trace_replay
