// What compare says of recorded points, against numbers worked out by hand.
#include <unistd.h>
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <support/layers.hpp>

#include <perfmodel/tools/fit/calibrate_machine.hpp>

#include "compare/comparison.cpp"
#include "compare/machine.cpp"
#include "compare/predict.cpp"
#include "compare/predict_attention.cpp"
#include "compare/predict_compute.cpp"
#include "compare/predict_memory.cpp"
#include "compare/predict_model.cpp"
#include "compare/predict_profile.cpp"
#include "compare/tolerances.hpp"

// A CPU's model is fitted by code that has tests of its own; no CPU is asked for here.
namespace perfmodel::validation {
std::shared_ptr<const host_fit> host_of(const device_description&, const std::vector<recorded>&) {
  return nullptr;
}
prediction predict_on_host(const question&) {
  return {};
}
}  // namespace perfmodel::validation

namespace unit_recording_predictors {

namespace pv = perfmodel::validation;
namespace pm = perfmodel;
using Catch::Matchers::WithinRel;

namespace {

pv::recorded recording_of(const char* experiment, std::vector<pv::point> points,
                          const char* accelerator = "h100_sxm") {
  pv::recorded r;
  r.file = "somewhere/test.json";
  r.experiment = experiment;
  r.device.kind = "gpu";
  r.device.name = "a GPU";
  r.device.accelerator = accelerator;
  r.device.sm_clock_hz = 1.98e9;
  r.points = std::move(points);
  return r;
}
std::vector<pv::comparison> compared(const pv::recorded& r) {
  return pv::compare_recording(r, pv::machine_of(r.device, {r}));
}
pv::comparison one(const char* experiment, pv::point p) {
  return compared(recording_of(experiment, {std::move(p)})).front();
}

// The H100's data sheet and the profile that the catalogue ships for it.
constexpr double bandwidth = 3.35e12;
constexpr double peak_bf16 = 989.4e12;
const double dram_share = pm::catalog::profile_h100_sxm.value.dram_share;

}  // namespace

TEST_CASE("compare: a stream at 90 % of the bandwidth") {
  const double bytes = 1073741824.0;
  const double at_90 = bytes / (0.9 * bandwidth);
  const pv::comparison c = one("memory_stream", {"stream_time",
                                                 "s",
                                                 {{"kernel", "read"},
                                                  {"working_set_bytes", bytes},
                                                  {"cache", "cold"},
                                                  {"bytes_read", bytes},
                                                  {"bytes_written", 0},
                                                  {"threads", 1e5}},
                                                 {at_90, 2.0 * at_90, 0.5 * at_90}});
  CHECK(c.measured == at_90);  // the median
  CHECK_THAT(c.bound, WithinRel(320.5e-6, 1e-3));
  CHECK_THAT(c.bound / c.measured, WithinRel(0.9, 1e-12));
  CHECK_FALSE(c.beats_bound());
  CHECK_THAT(c.predicted, WithinRel(bytes / (dram_share * bandwidth) + 1.3e-6, 1e-9));
}

TEST_CASE("compare: below the bound is found, and a warm cache explains it") {
  const auto at = [](const char* cache, double seconds) {
    const double bytes = 20e6;
    return one("memory_stream", {"stream_time",
                                 "s",
                                 {{"kernel", "read"},
                                  {"working_set_bytes", bytes},
                                  {"cache", cache},
                                  {"bytes_read", bytes},
                                  {"bytes_written", 0},
                                  {"threads", 1e5}},
                                 {seconds}});
  };
  const double at_dram = 20e6 / bandwidth;  // 5.97 us
  const double at_l2 = 20e6 / 9.75e12;      // 2.05 us, by the catalogue's L2
  const double at_l1 = 20e6 / 33.45e12;     // 0.60 us: all SMs at 128 B a clock
  CHECK(at("cold", 0.9 * at_dram).beats_bound());
  CHECK_FALSE(at("cold", 1.01 * at_dram).beats_bound());
  CHECK_FALSE(at("warm", 0.9 * at_dram).beats_bound());
  CHECK(at("warm", 0.9 * at_dram).explained());
  CHECK(at("warm", 0.9 * at_l2).explained());
  CHECK(at("warm", 0.9 * at_l1).beats_bound());
  CHECK_FALSE(at("warm", 0.9 * at_l1).explained());
  // A third of the L2: nearly all of it is found there.
  CHECK_THAT(at("warm", at_l2).predicted, WithinRel(at_l2 + 1.3e-6, 0.01));
}

TEST_CASE("compare: latency by the level of the working set") {
  const auto at = [](double set) {
    return one("pointer_chase", {"load_latency",
                                 "s",
                                 {{"working_set_bytes", set}, {"stride_bytes", 128}, {"hops", 1e5}},
                                 {1e-6}})
        .predicted;
  };
  // 228 KB an SM, 25 MB of the near half of the L2, 50 MB of both.
  CHECK_THAT(at(65536), WithinRel(34.1 / 1.98e9, 1e-3));
  CHECK_THAT(at(8e6), WithinRel(151.3e-9, 1e-3));
  CHECK_THAT(at(1e9), WithinRel(371.7e-9, 1e-3));
  // From gpu-benches on an H100 PCIe, kB of 1024 bytes: 270.9 ns at 35,343 and 321.0 at 56,926.
  CHECK_THAT(at(35343 * 1024.0), WithinRel(270.9e-9, 0.05));
  CHECK_THAT(at(56926 * 1024.0), WithinRel(321.0e-9, 0.08));
  const auto past_l1 = one(
      "pointer_chase",
      {"load_latency",
       "s",
       {{"working_set_bytes", 65536}, {"stride_bytes", 128}, {"hops", 1e5}, {"first_level", "l2"}},
       {1e-7}});
  CHECK_THAT(past_l1.predicted, WithinRel(151.3e-9, 1e-3));
  const auto cycles =
      one("pointer_chase", {"load_latency_cycles",
                            "cycle",
                            {{"working_set_bytes", 1e9}, {"stride_bytes", 128}, {"hops", 1e5}},
                            {500.0}});
  CHECK_THAT(cycles.predicted, WithinRel(at(1e9) * 1.98e9, 1e-12));
}

TEST_CASE("compare: Little's law takes the latency that was measured") {
  // 600 ns, 400 kB in flight: 667 GB/s; 2 GB take 3 ms. 40 MB in flight fill the memory.
  const auto littles = [](double in_flight) {
    return pv::point{"bytes_in_flight_time",
                     "s",
                     {{"bytes_in_flight", in_flight},
                      {"blocks_per_sm", 1},
                      {"threads_per_block", 128},
                      {"loads_per_thread", 1},
                      {"load_bytes", 16},
                      {"bytes_read", 2e9},
                      {"bytes_written", 0}},
                     {3e-3}};
  };
  const pv::recorded r = recording_of(
      "littles_law", {{"load_latency",
                       "s",
                       {{"working_set_bytes", 2e9}, {"stride_bytes", 128}, {"hops", 1e5}},
                       {600e-9}},
                      littles(4e5),
                      littles(4e7)});
  const auto c = compared(r);
  CHECK_THAT(c[1].predicted, WithinRel(3e-3 + 1.3e-6, 1e-9));
  CHECK_THAT(c[2].predicted, WithinRel(2e9 / (dram_share * bandwidth) + 1.3e-6, 1e-9));
  CHECK_THAT(c[1].bound, WithinRel(597.0e-6, 1e-3));
}

TEST_CASE("compare: a warp waits for the slowest of its loads") {
  // Four loads of 16 bytes are 16 lines: the slowest takes 600 + 1.766 x 60 ns.
  const pv::point flight{"bytes_in_flight_time",
                         "s",
                         {{"bytes_in_flight", 4e5},
                          {"blocks_per_sm", 1},
                          {"threads_per_block", 128},
                          {"loads_per_thread", 4},
                          {"load_bytes", 16},
                          {"bytes_read", 2e9},
                          {"bytes_written", 0}},
                         {3e-3}};
  const auto chased = [](const char* quantity, double set, double seconds, double mean) {
    return pv::point{
        quantity,
        "s",
        {{"working_set_bytes", set}, {"stride_bytes", 128}, {"hops", 1e5}, {"mean_latency", mean}},
        {seconds}};
  };
  const pv::point latency = chased("load_latency", 2e9, 600e-9, 0.0);
  const auto round = [&](const std::vector<pv::point>& spreads) {
    std::vector<pv::point> points = spreads;
    points.push_back(latency);
    points.push_back(flight);
    return (compared(recording_of("littles_law", points)).back().predicted - 1.3e-6) * 4e5 / 2e9;
  };
  const pv::point from_dram = chased("load_latency_spread", 1.5e9, 60e-9, 610e-9);
  const pv::point smaller = chased("load_latency_spread", 1e9, 10e-9, 610e-9);
  const pv::point from_l2 = chased("load_latency_spread", 2e9, 90e-9, 200e-9);
  const pv::point in_l2 = chased("load_latency_spread", 1e6, 90e-9, 610e-9);
  CHECK_THAT(round({from_dram, smaller, from_l2, in_l2}), WithinRel(705.96e-9, 1e-3));
  CHECK_THAT(round({from_l2}), WithinRel(600e-9, 1e-6));
  CHECK_THAT(round({in_l2}), WithinRel(600e-9, 1e-6));
}

TEST_CASE("compare: a fused chain issues instructions in addition to its traffic") {
  // 2^28 elements of 2 bytes, read and written at the share of the bandwidth, and 132 SMs x 128 lanes x 1.98 GHz instructions in a
  // second.
  constexpr double rate = 132 * 128 * 1.98e9;
  const auto chain = [](double instructions) {
    return one("fusion", {"chain_time",
                          "s",
                          {{"chain", "bias_gelu"},
                           {"fused", true},
                           {"rows", 32768},
                           {"columns", 8192},
                           {"format", "bf16"},
                           {"launches", 1},
                           {"cache", "cold"},
                           {"bytes_read", 5e8},
                           {"bytes_written", 5e8},
                           {"compulsory_bytes", 1e9},
                           {"lane_instructions", instructions}},
                          {400e-6}})
        .predicted;
  };
  const double moving = 4.0 * 268435456.0 / (dram_share * bandwidth);
  CHECK_THAT(chain(0.0), WithinRel(moving + 1.3e-6, 1e-9));
  // Equal to the transfer time: the square root of two, as in calibrated streams.
  CHECK_THAT(chain(rate * moving), WithinRel(std::sqrt(2.0) * moving + 1.3e-6, 1e-9));
  CHECK_THAT(chain(2.0 * rate * moving), WithinRel(std::sqrt(5.0) * moving + 1.3e-6, 1e-9));
}

TEST_CASE("compare: arithmetic, its ceiling and its corner") {
  const pv::comparison mma = one(
      "arithmetic_peak",
      {"arithmetic_time", "s", {{"unit", "mma"}, {"format", "bf16"}, {"flop", 989.4e9}}, {1.2e-3}});
  CHECK_THAT(mma.bound, WithinRel(1e-3, 1e-3));
  CHECK_THAT(mma.predicted, WithinRel(1e-3 / 0.665 + 1.3e-6, 1e-3));
  const pv::comparison fma =
      one("arithmetic_peak", {"arithmetic_time",
                              "s",
                              {{"unit", "fp32_fma"}, {"format", "fp32"}, {"flop", 66.9e9}},
                              {1.1e-3}});
  CHECK_THAT(fma.bound, WithinRel(1e-3, 2e-3));
  // 8 FLOP a byte is below the corner of 66.9 / 3.35 = 20, 80 above it.
  const auto corner = [](double per_byte) {
    return one("roofline", {"intensity_time",
                            "s",
                            {{"flop_per_byte", per_byte},
                             {"cache", "cold"},
                             {"flop", per_byte * 1e9},
                             {"bytes_read", 5e8},
                             {"bytes_written", 5e8}},
                            {2e-3}});
  };
  CHECK_THAT(corner(8.0).bound, WithinRel(1e9 / bandwidth, 1e-9));
  CHECK_THAT(corner(80.0).bound, WithinRel(80e9 / 66.9e12, 2e-3));
}

TEST_CASE("compare: a product, cold and from L2") {
  const auto product = [](double copies, const char* cache, double seconds) {
    return one("gemm_sweep", {"gemm_time",
                              "s",
                              {{"m", 1},
                               {"n", 4096},
                               {"k", 4096},
                               {"format", "bf16"},
                               {"library", "test"},
                               {"weight_copies", copies},
                               {"cache", cache},
                               {"flop", 2.0 * 4096 * 4096},
                               {"bytes_read", 33558528},
                               {"bytes_written", 8192}},
                              {seconds}});
  };
  const pv::comparison cold = product(0, "cold", 12e-6);
  CHECK_THAT(cold.bound, WithinRel((2.0 * 4096 * 4096 + 4.0 * 4096) / bandwidth, 1e-6));
  CHECK(cold.predicted > cold.bound / dram_share);
  const pv::comparison warm = product(1, "warm", 0.8 * cold.bound);
  CHECK(warm.predicted < cold.predicted);
  CHECK(warm.explained());
  CHECK(product(0, "cold", 0.8 * cold.bound).beats_bound());
}

TEST_CASE("compare: identities are exact") {
  const auto wire = [](const char* algorithm) {
    return one("transfer", {"wire_bytes",
                            "B",
                            {{"algorithm", algorithm}, {"ranks", 8}, {"message_bytes", 8e6}},
                            {1e6}})
        .predicted;
  };
  CHECK_THAT(wire("ring"), WithinRel(14e6, 1e-12));  // 2 x 7/8
  CHECK_THAT(wire("two_shot"), WithinRel(14e6, 1e-12));
  CHECK_THAT(wire("one_shot"), WithinRel(56e6, 1e-12));  // to each of 7
  CHECK_THAT(one("speculative", {"emitted_tokens",
                                 "token",
                                 {{"acceptance", 0.8}, {"draft_length", 4}, {"trials", 1e6}},
                                 {3.36}})
                 .predicted,
             WithinRel(3.3616, 1e-12));
  CHECK(one("speculative",
            {"acceptance_rate",
             "1",
             {{"overlap", 0.7}, {"draft_length", 1}, {"vocabulary", 100}, {"trials", 1e6}},
             {0.71}})
            .predicted == 0.7);
  CHECK_THAT(
      one("moe",
          {"experts_touched", "1", {{"tokens", 32}, {"experts", 256}, {"top_k", 8}}, {163.0}})
          .predicted,
      WithinRel(163.31, 1e-4));
  CHECK(one("paged_kv", {"kv_blocks",
                         "1",
                         {{"block_bytes", 1e6},
                          {"free_bytes", 10.7e6},
                          {"total_bytes", 20e6},
                          {"reserved_bytes", 2e6}},
                         {8.0}})
            .predicted == 8.0);
}

TEST_CASE("compare: two at once take as long as the longer") {
  const auto part = [](const char* arrangement, double seconds) {
    return pv::point{"overlap_time",
                     "s",
                     {{"other", "copy_engine"},
                      {"arrangement", arrangement},
                      {"m", 4096},
                      {"n", 4096},
                      {"k", 4096},
                      {"bytes", 1e8}},
                     {seconds}};
  };
  const auto c =
      compared(recording_of("overlap", {part("compute_alone", 2e-3), part("other_alone", 3e-3),
                                        part("together", 3.2e-3)}));
  CHECK_FALSE(c[0].predicts());
  CHECK(c[2].predicted == 3e-3);

  // 33 of 132 SMs copy for 2 ms: the other work loses a quarter of that.
  const auto on_sms = [](const char* arrangement, double seconds) {
    return pv::point{"overlap_time",
                     "s",
                     {{"other", "sm_copy"},
                      {"arrangement", arrangement},
                      {"m", 4096},
                      {"n", 4096},
                      {"k", 4096},
                      {"bytes", 1e8},
                      {"blocks", 33}},
                     {seconds}};
  };
  const auto s =
      compared(recording_of("overlap", {on_sms("compute_alone", 4e-3), on_sms("other_alone", 2e-3),
                                        on_sms("together", 5e-3)}));
  CHECK_THAT(s[2].predicted, WithinRel(4.5e-3, 1e-12));
}

TEST_CASE("compare: launches, transfers, all-reduce") {
  const auto launch = [](const char* mode, const char* side, const char* work, bool filled) {
    return one("launch", {"launch_time",
                          "s",
                          {{"mode", mode},
                           {"side", side},
                           {"kernels", 1000},
                           {"work", work},
                           {"queue_filled", filled}},
                          {2e-6}})
        .predicted;
  };
  CHECK(launch("graph", "device", "scale", true) == pm::graph_kernel_time.value());
  CHECK(launch("stream", "device", "scale", false) == pm::stream_kernel_time.value());
  CHECK(launch("stream", "device", "scale", true) == 0.0);  // no launch costs are recorded
  CHECK(launch("graph", "device", "empty", true) ==
        0.0);  // less than any kernel that does something
  CHECK(launch("stream_sync", "host", "empty", true) == 0.0);  // nothing to say
  // Launch costs from empty kernels: 0.5 us a node, 0.8 us a replay, 1.2 us between kernels.
  const auto empty = [](const char* mode, double kernels, double seconds) {
    return pv::point{"launch_time",
                     "s",
                     {{"mode", mode},
                      {"side", "device"},
                      {"kernels", kernels},
                      {"work", "empty"},
                      {"queue_filled", true}},
                     {seconds}};
  };
  pv::point scaled = empty("stream", 100, 1.8e-6);
  scaled.parameters[3] = {"work", "scale"};
  const auto law = compared(
      recording_of("launch", {empty("graph", 1, 1.3e-6), empty("graph", 10, 0.6e-6),
                              empty("graph", 1000, 0.5e-6), empty("stream", 500, 1.2e-6), scaled}));
  CHECK_FALSE(law[0].predicts());
  CHECK_THAT(law[1].predicted, WithinRel(0.5e-6 + 0.08e-6, 1e-9));
  CHECK_FALSE(law[2].predicts());
  CHECK_THAT(law[4].predicted, WithinRel(pm::graph_kernel_time.value() - 0.5e-6 + 1.2e-6, 1e-9));
  // PCIe 5.0 x16 carries 63 GB/s one way.
  CHECK_THAT(one("transfer", {"transfer_time",
                              "s",
                              {{"direction", "h2d"}, {"memory", "pinned"}, {"bytes", 63e9}},
                              {1.2}})
                 .bound,
             WithinRel(1.0, 2e-3));
  const pv::comparison sum = one(
      "transfer", {"all_reduce_time",
                   "s",
                   {{"implementation", "nccl"}, {"launch", "stream"}, {"ranks", 4}, {"bytes", 3e8}},
                   {2e-3}});
  // 2 x 3/4 of the message at 450 GB/s one way, or once through switches that add.
  CHECK(sum.bound <= 1.5 * 3e8 / 450e9 * (1.0 + 1e-12));
  CHECK(sum.predicted > 1.5 * 3e8 / 450e9);
}

TEST_CASE("compare: attention, experts, weight-only products and steps are above their bound") {
  const std::vector<pv::point> points = {{"attention_prefill_time",
                                          "s",
                                          {{"variant", "online_softmax"},
                                           {"batch", 1},
                                           {"tokens", 8192},
                                           {"query_heads", 64},
                                           {"kv_heads", 64},
                                           {"head_dim", 128},
                                           {"format", "bf16"},
                                           {"causal", true},
                                           {"cache", "cold"}},
                                          {5e-3}},
                                         {"attention_prefill_time",
                                          "s",
                                          {{"variant", "unfused"},
                                           {"batch", 1},
                                           {"tokens", 8192},
                                           {"query_heads", 64},
                                           {"kv_heads", 64},
                                           {"head_dim", 128},
                                           {"format", "bf16"},
                                           {"causal", true},
                                           {"cache", "cold"}},
                                          {20e-3}}};
  const auto attention = compared(recording_of("attention", points));
  // 34.9 GB written out and read back against 0.5 GB.
  CHECK_THAT(attention[1].bound, WithinRel(34.9e9 / bandwidth, 5e-3));
  CHECK_THAT(attention[0].bound,
             WithinRel(4.0 * 64 * 128 * (8192.0 * 8193.0 / 2.0) / peak_bf16, 1e-3));
  for (const auto& c : attention) CHECK(c.predicted > c.bound);

  const pv::comparison decode = one("attention", {"attention_decode_time",
                                                  "s",
                                                  {{"splits", 8},
                                                   {"batch", 32},
                                                   {"context", 8192},
                                                   {"query_heads", 32},
                                                   {"kv_heads", 8},
                                                   {"head_dim", 128},
                                                   {"format", "bf16"},
                                                   {"cache", "cold"}},
                                                  {5e-4}});
  // 2 x 32 x 8192 x 8 x 128 x 2 bytes of cache.
  CHECK_THAT(decode.bound, WithinRel(2.0 * 32 * 8192 * 8 * 128 * 2 / bandwidth, 2e-3));
  CHECK(decode.predicted > decode.bound);

  const auto gemv = [](const char* weights, double block) {
    return one("weight_only", {"gemv_time",
                               "s",
                               {{"m", 1},
                                {"n", 16384},
                                {"k", 16384},
                                {"weights", weights},
                                {"scale_block", block},
                                {"cache", "cold"}},
                               {1e-3}})
        .bound;
  };
  // 4 bits and a 16-bit scale for 64 of them are 4.25 of 16.
  CHECK_THAT(gemv("int4", 64) / gemv("bf16", 0), WithinRel(4.25 / 16.0, 2e-3));

  const pv::comparison experts = one("moe", {"moe_time",
                                             "s",
                                             {{"tokens", 32},
                                              {"hidden", 2048},
                                              {"intermediate", 768},
                                              {"experts", 128},
                                              {"top_k", 8},
                                              {"format", "bf16"}},
                                             {1e-3}});
  // 128 (1 - (1 - 1/16)^32) = 111.8 experts of 3 x 2048 x 768 x 2 bytes.
  CHECK_THAT(experts.bound, WithinRel(111.8 * 3 * 2048 * 768 * 2 / bandwidth, 5e-3));
  // The tokens of a recording may touch fewer.
  const pv::comparison fewer = one("moe", {"moe_time",
                                           "s",
                                           {{"tokens", 32},
                                            {"hidden", 2048},
                                            {"intermediate", 768},
                                            {"experts", 128},
                                            {"top_k", 8},
                                            {"format", "bf16"},
                                            {"bytes_read", 1e9}},
                                           {1e-3}});
  CHECK_THAT(fewer.bound, WithinRel(1e9 / bandwidth, 5e-3));

  const pv::comparison step = one("decode_step", {"step_time",
                                                  "s",
                                                  {{"launch", "graph"},
                                                   {"batch", 1},
                                                   {"context", 1},
                                                   {"prefill_tokens", 0},
                                                   {"layers", 32},
                                                   {"hidden", 4096},
                                                   {"intermediate", 14336},
                                                   {"query_heads", 32},
                                                   {"kv_heads", 8},
                                                   {"head_dim", 128},
                                                   {"vocabulary", 128256},
                                                   {"format", "bf16"}},
                                                  {7e-3}});
  // Llama 3 8B without its input embeddings: 7.50e9 weights of 2 bytes.
  CHECK_THAT(step.bound, WithinRel(2.0 * 7.505e9 / bandwidth, 5e-3));
  CHECK(step.predicted > step.bound);
}

TEST_CASE("compare: power meters and shared memory") {
  const auto c = compared(
      recording_of("energy", {{"power", "W", {{"load", "gemm"}}, {650.0}},
                              {"energy", "J", {{"load", "gemm"}, {"seconds", 2.0}}, {1290.0}},
                              {"sm_clock", "Hz", {{"load", "gemm"}}, {1.7e9}}}));
  // Nothing but idling without a recorded amount of work: 126.5 W for two seconds.
  CHECK_THAT(c[0].predicted, WithinRel(126.5, 1e-12));
  CHECK_THAT(c[1].predicted, WithinRel(253.0, 1e-12));
  CHECK(c[2].predicted == 1.98e9);
  // 3.84 TB/s for a second at 104.7 pJ/B, and idling: 402.0 + 126.5 J; no cap is reached.
  const auto stream = compared(recording_of(
      "energy",
      {{"energy",
        "J",
        {{"load", "memory_stream"},
         {"seconds", 1.0},
         {"bytes_read", 1.92e12},
         {"bytes_written", 1.92e12}},
        {530.0}},
       {"power", "W", {{"load", "memory_stream"}}, {530.0}},
       {"sm_clock", "Hz", {{"load", "memory_stream"}, {"method", "counted"}}, {1.98e9}}}));
  CHECK_THAT(stream[0].predicted, WithinRel(402.0 + 126.5, 1e-3));
  CHECK_THAT(stream[1].predicted, WithinRel(402.0 + 126.5, 1e-3));
  CHECK(stream[2].predicted == 1.98e9);
  // GEMMs at full clock would draw 0.86 x 989.4 x 1.98 / 1.83 TFLOP/s x 1.6 pJ above idle: the
  // cap of 700 W leaves the third root of what is left.
  const auto gemm = compared(recording_of(
      "energy", {{"energy", "J", {{"load", "gemm"}, {"seconds", 1.0}, {"flop", 6.7e14}}, {690.0}},
                 {"sm_clock", "Hz", {{"load", "gemm"}, {"method", "counted"}}, {1.4e9}}}));
  const double dynamic =
      pm::catalog::profile_h100_sxm.value.matrix_share * 989.4e12 * (1.98 / 1.83) * 1.6e-12;
  const double share = std::cbrt((700.0 - 126.5) / dynamic);
  CHECK_THAT(gemm[1].predicted, WithinRel(1.98e9 * share, 1e-3));
  CHECK_THAT(gemm[0].predicted, WithinRel(126.5 + 6.7e14 * 1.6e-12 * share * share, 1e-3));
  const auto shared = [](double ways) {
    return one("shared_memory", {"shared_memory_time",
                                 "s",
                                 {{"pattern", "stride"},
                                  {"stride_words", ways},
                                  {"conflict_ways", ways},
                                  {"bytes", 1e9}},
                                 {1e-3}})
        .bound;
  };
  CHECK_THAT(shared(8) / shared(1), WithinRel(8.0, 1e-12));
  CHECK_THAT(shared(1), WithinRel(1e9 / (132 * 128 * 1.98e9), 0.1));
}

TEST_CASE("compare: a kernel with fewer blocks than SMs, RTX 5080") {
  // Two blocks for one sequence and 64 for 32, on 84 SMs: 32 times as many SM cycles.
  const auto r = pv::read_recording(std::string(PERFMODEL_SOURCE_DIR) +
                                    "/validation/recordings/rtx_5080/kernel_profile.json");
  bool found = false;
  for (const auto& c : compared(r)) {
    if (c.quantity != "sm_active_cycles" || !c.predicts()) continue;
    CHECK_THAT(c.predicted, WithinRel(32.0 * 340.0, 1e-12));
    CHECK_THAT(c.measured, WithinRel(c.predicted, 0.01));
    found = true;
  }
  CHECK(found);
}

TEST_CASE("compare: what validation/recordings/rtx_5080 says of the kernel") {
  const auto r = pv::read_recording(std::string(PERFMODEL_SOURCE_DIR) +
                                    "/validation/recordings/rtx_5080/kernel_profile.json");
  const auto value = [&](const char* quantity, double batch) {
    for (const pv::point& p : r.points) {
      if (p.quantity == quantity && pv::number_of(p, "batch") == batch) return p.samples.front();
    }
    return 0.0;
  };
  const double sms = pm::catalog::rtx_5080.sms.value();
  const double alone = value("sm_active_cycles", 1) * sms / 2.0;
  const double among = value("sm_active_cycles", 32) * sms / 64.0;
  CHECK(alone == 14280.0);
  CHECK_THAT(among, WithinRel(14386.3, 1e-5));
  const double clock = value("elapsed_cycles", 1) / value("kernel_time", 1);
  CHECK_THAT(clock, WithinRel(2.602e9, 1e-4));
  CHECK_THAT((value("elapsed_cycles", 1) - alone) / clock, WithinRel(1.29e-6, 5e-3));
  CHECK_THAT(value("dram_rate", 1) * value("kernel_time", 1), WithinRel(0.112e6, 5e-3));
  const double bytes = value("dram_rate", 32) * value("kernel_time", 32);
  CHECK_THAT(bytes, WithinRel(0.634e6, 5e-3));
  const auto& a = perfmodel_test::attention(pm::catalog::qwen_2_5_3b);
  const double layer_token = 2.0 * 2.0 * a.kv_heads * a.head_dim;
  CHECK(layer_token == 1024.0);
  CHECK_THAT(bytes / layer_token / 32.0, WithinRel(19.3, 5e-3));
  CHECK_THAT(36.0 * bytes, WithinRel(22.8e6, 5e-3));
}

TEST_CASE("compare: every quantity has a rule to be read, and a tolerance if it is predicted") {
  for (const auto& e : pv::predictors) {
    bool found = false;
    for (const auto& r : pv::quantity_rules) found = found || r.quantity == e.quantity;
    INFO(std::string(e.quantity));
    CHECK(found);
    CHECK(pv::find_tolerance(e.quantity) != nullptr);
  }
}

TEST_CASE("compare: an unpredictable point says so, and does not stop the rest") {
  pv::recorded r = recording_of("gemm_sweep", {{"gemm_time",
                                                "s",
                                                {{"m", 1},
                                                 {"n", 1},
                                                 {"k", 1},
                                                 {"format", "fp128"},
                                                 {"library", "test"},
                                                 {"weight_copies", 0},
                                                 {"cache", "cold"}},
                                                {1e-6}}});
  CHECK(compared(r).front().note.find("fp128") != std::string::npos);
  r.device.accelerator = "h101";
  CHECK_THROWS_AS(pv::machine_of(r.device, {}), std::invalid_argument);
  r.device.accelerator = "";
  CHECK(compared(r).front().note == "the device is not in the catalogue");
}

TEST_CASE("compare: scores are those of residuals") {
  pv::comparison a, b;
  a.measured = 1.0;
  a.predicted = 1.1;
  b.measured = 1.0;
  b.predicted = 0.8;
  b.bound = b.held_to = 0.5;
  const pv::group_score s = pv::score("two", {&a, &b});
  CHECK_THAT(s.predicted.mean, WithinRel(0.15, 1e-12));
  CHECK_THAT(s.predicted.bias, WithinRel(-0.05, 1e-12));
  CHECK_THAT(s.ratio, WithinRel(0.95, 1e-12));
  CHECK(s.bound.n == 1);
  CHECK(s.violations == 0);
  CHECK(pv::amount(1.234e-6, "s") == "1.23 us");
  CHECK(pv::amount(80.2e9, "B/s") == "80.2 GB/s");
  CHECK(pv::signed_percent(-0.0001) == "+0.0 %");
}

TEST_CASE("compare: a point at a lowered clock is marked and predicted at it") {
  const auto at = [](double clock) {
    return one("arithmetic_peak",
               {"arithmetic_time",
                "s",
                {{"unit", "wgmma"}, {"format", "bf16"}, {"flop", 989.4e9}, {"sm_clock_hz", clock}},
                {1.2e-3}});
  };
  // The tensor clock is 1.83 GHz: 3 % below it is 1.775.
  CHECK_FALSE(at(1.7761e9).slow);
  CHECK(at(1.7741e9).slow);
  CHECK_THAT(at(1.5001e9).at_clock, WithinRel(1e-3 * 1.83 / 1.5001 + 1.3e-6, 1e-3));
  CHECK_THAT(at(1.5001e9).predicted, WithinRel(1e-3 + 1.3e-6, 1e-3));
  CHECK_FALSE(at(1.5e9).slow);  // a multiple of 15 MHz: the driver's reading, and no count
}

TEST_CASE("compare: a roofline's corner by the iron law") {
  // 20 FLOP a byte is near the corner of 66.9 / (0.86 x 3.35): longer than either part alone.
  const auto both = compared(recording_of("roofline", {{"intensity_time",
                                                        "s",
                                                        {{"cache", "cold"},
                                                         {"flop_per_byte", 20},
                                                         {"flop", 20e9},
                                                         {"bytes_read", 5e8},
                                                         {"bytes_written", 5e8}},
                                                        {400e-6}}}));
  REQUIRE(both.size() == 2);
  CHECK(both[1].quantity == "intensity_time, iron law");
  const double data = 1e9 / (dram_share * bandwidth), work = 20e9 / 66.9e12;
  CHECK_THAT(both[0].predicted, WithinRel((std::max)(data, work) + 1.3e-6, 2e-3));
  CHECK_THAT(both[1].predicted,
             WithinRel(std::pow(std::pow(data, 4) + std::pow(work, 4), 0.25) + 1.3e-6, 2e-3));
}

TEST_CASE("compare: an H200 by the profile of its own GEMMs", "[long]") {
  // What the H200 measured: its sweep with cold weights fits the profile; the shapes left out, the
  // verification of drafts and the steps of eight layers are predicted.
  const std::string folder = std::string(PERFMODEL_SOURCE_DIR) + "/validation/recordings/h200_sxm/";
  const pv::recorded sweep = pv::read_recording(folder + "gemm_sweep.json");
  pv::machine on = pv::machine_of(sweep.device, {sweep});
  const auto own = pv::own_profile(on, {sweep});
  REQUIRE(own.has_value());
  const auto errors = [](const std::vector<pv::comparison>& rows, std::string_view quantity) {
    std::vector<double> residual;
    for (const pv::comparison& c : rows) {
      if (c.quantity == quantity && c.predicts()) residual.push_back(c.residual());
    }
    return pm::score_of(residual);
  };
  const pm::prediction_score left_out = pm::score_of(own->held_out);
  CHECK(left_out.n == 252);
  CHECK(left_out.median < 0.05);
  CHECK(left_out.p90 < 0.15);
  const pv::recorded drafts = pv::read_recording(folder + "speculative.json");
  const pv::recorded steps = pv::read_recording(folder + "decode_step.json");
  const double shipped_verify = errors(pv::compare_recording(drafts, on), "verify_time").median;
  const double shipped_steps = errors(pv::compare_recording(steps, on), "step_time").median;
  on.policy.machine = own->profile.value;
  const auto verify = errors(pv::compare_recording(drafts, on), "verify_time");
  const auto step = errors(pv::compare_recording(steps, on), "step_time");
  CAPTURE(left_out.median, verify.median, step.median, shipped_verify, shipped_steps);
  CHECK(verify.n == 85);
  CHECK(verify.median < 0.025);
  CHECK(step.n == 34);
  CHECK(step.median < 0.045);
  CHECK(verify.median < shipped_verify);
  CHECK(step.median < shipped_steps);
}

TEST_CASE("compare: GPUs by profiles of all their cold GEMMs", "[long]") {
  // Shapes of both programs are left out in turn: no fit has seen the (n, k) that it predicts. On
  // the H100 verified shapes reach less of DRAM's bandwidth than the sweep's: docs/validation/h100.md
  struct run {
    const char* device;
    double gemm, verify, step;
  };
  for (const auto& [device, most_gemm, most_verify, most_step] :
       {run{"h200_sxm", 0.05, 0.025, 0.045}, run{"h200_sxm_2", 0.05, 0.025, 0.045},
        run{"h100_sxm", 0.05, 0.03, 0.045}}) {
    CAPTURE(device);
    const std::string folder =
        std::string(PERFMODEL_SOURCE_DIR) + "/validation/recordings/" + device + "/";
    const pv::recorded sweep = pv::read_recording(folder + "gemm_sweep.json");
    const pv::recorded drafts = pv::read_recording(folder + "speculative.json");
    const pv::recorded steps = pv::read_recording(folder + "decode_step.json");
    pv::machine on = pv::machine_of(sweep.device, {sweep});
    const auto own = pv::own_profile(on, {sweep, drafts});
    REQUIRE(own.has_value());
    REQUIRE(own->held_out.size() == 337);
    const auto of_verify = own->held_out.begin() + 252;
    const double gemm = pm::score_of({own->held_out.begin(), of_verify}).median;
    const double verify = pm::score_of({of_verify, own->held_out.end()}).median;
    on.policy.machine = own->profile.value;
    std::vector<double> residual;
    for (const pv::comparison& c : pv::compare_recording(steps, on)) {
      residual.push_back(c.residual());
    }
    const double step = pm::score_of(residual).median;
    CAPTURE(gemm, verify, step);
    CHECK(gemm < most_gemm);
    CHECK(verify < most_verify);
    CHECK(step < most_step);
  }
}

TEST_CASE("compare: a recording of a program that was joined with another keeps its points") {
  // The name that it was written with and the one of now: the same points and predictions.
  const std::string folder = std::string(PERFMODEL_SOURCE_DIR) + "/validation/recordings/h100_sxm/";
  for (const auto& [former, now] :
       {std::pair{"paged_kv", "attention"}, std::pair{"roofline", "arithmetic_peak"},
        std::pair{"overlap", "transfer"}}) {
    CAPTURE(former);
    std::ifstream in(folder + former + ".json");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const pv::recorded before = pv::read_recording(folder + former + ".json");
    CHECK(before.experiment == former);
    const std::string key = "\"experiment\": \"";
    const std::size_t at = text.find(key);
    REQUIRE(at != std::string::npos);
    text.replace(at + key.size(), std::string(former).size(), now);
    const auto renamed = std::filesystem::temp_directory_path() /
                         ("perfmodel_" + std::to_string(getpid()) + "_" + now + ".json");
    std::ofstream(renamed) << text;
    const pv::recorded after = pv::read_recording(renamed.string());
    std::filesystem::remove(renamed);
    CHECK(after.experiment == now);
    REQUIRE(after.points.size() == before.points.size());
    const pv::machine on = pv::machine_of(before.device, {before});
    const auto was = pv::compare_recording(before, on), is = pv::compare_recording(after, on);
    REQUIRE(is.size() == was.size());
    for (std::size_t i = 0; i < is.size(); ++i) {
      CHECK(is[i].quantity == was[i].quantity);
      CHECK(is[i].shape == was[i].shape);
      CHECK(is[i].measured == was[i].measured);
      CHECK(is[i].predicted == was[i].predicted);
    }
    CHECK(pv::program_for(before.points.front().quantity) == now);
  }
}

}  // namespace unit_recording_predictors
