// Recordings of an H200 made up of what its programs are expected to reach: the comparison accepts
// all of them, at the slow end, in the middle and at the fast end, and refuses impossible ones.
// Fractions are of the data sheet (4.8 TB/s, 989.4 TFLOP/s in bf16, 33.5 TB/s of shared memory, 63
// GB/s of PCIe), by arithmetic on the compiled programs and by what gpu-benches and others
// published.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "compare/goal.cpp"
#include "compare/judge.cpp"
#include "compare/machine.hpp"
#include "compare/predict.hpp"

namespace unit_compare_h200 {

namespace pv = perfmodel::validation;

namespace {

constexpr double clock_hz = 1.98e9;
constexpr double launch = 1.3e-6;

/// Position of each quantity in its range: 0 the least of the data sheet, 1 the most.
struct expected {
  double where;
  double of(double least, double most) const { return least + where * (most - least); }
};

pv::recorded of_h200(const char* experiment, std::vector<pv::point> points) {
  pv::recorded r;
  r.file = pv::cat("somewhere/", experiment, ".json");
  r.experiment = experiment;
  r.device.kind = "gpu";
  r.device.name = "NVIDIA H200";
  r.device.accelerator = "h200_sxm";
  r.device.sm_clock_hz = clock_hz;
  r.device.memory_clock_hz = 3.201e9;
  r.device.memory_bus_bits = 6144;
  r.points = std::move(points);
  return r;
}

std::vector<pv::compared_recording> compared(const std::vector<pv::recorded>& all) {
  const pv::machine on = pv::machine_of(all.front().device, all);
  std::vector<pv::compared_recording> out;
  for (const pv::recorded& r : all) out.push_back({r, pv::compare_recording(r, on)});
  return out;
}

/// The point at a fraction of its bound, and a launch.
pv::point at(double fraction, pv::point p, double extra = 0.0) {
  p.samples = std::vector<double>{1.0};
  const pv::recorded r = of_h200("any", {p});
  p.samples = std::vector<double>{
      pv::compare_recording(r, pv::machine_of(r.device, {r})).front().bound / fraction + extra};
  return p;
}

pv::point stream(const char* kernel, double set, const char* cache, double seconds,
                 double passes = 1.0) {
  return {"stream_time",
          "s",
          {{"kernel", kernel},
           {"working_set_bytes", set},
           {"cache", cache},
           {"method", passes > 1.0 ? "one_kernel" : "chain"},
           {"bytes_read", passes * set},
           {"bytes_written", 0},
           {"threads", 1e5}},
          std::vector<double>{seconds}};
}
pv::recorded memory_stream(const expected& e) {
  std::vector<pv::point> points;
  for (double set = 1048576.0; set <= 8.6e9; set *= 8.0) {
    for (const auto& [kernel, least, most] : {std::tuple{"read", 0.93, 0.98},
                                              {"write", 0.90, 0.97},
                                              {"copy", 0.88, 0.90},
                                              {"triad", 0.88, 0.91}}) {
      points.push_back(stream(kernel, set, "cold", set / (e.of(least, most) * 4.8e12) + launch));
    }
  }
  points.push_back(stream("read", 16.8e6, "warm", 16.8e6 / e.of(5e12, 6e12)));
  for (const double set : {4.2e6, 8.4e6, 16.8e6, 33.6e6}) {
    points.push_back(stream("read", set, "warm", 1000.0 * set / e.of(9.6e12, 10.6e12), 1000.0));
  }
  points.push_back(
      stream("read", 180e6, "warm", 1000.0 * 180e6 / (e.of(0.93, 0.98) * 4.8e12), 1e3));
  return of_h200("memory_stream", points);
}

pv::recorded pointer_chase(const expected& e) {
  std::vector<pv::point> points;
  const auto add = [&](const char* first, double set, double cycles) {
    const pv::parameters p{
        {"working_set_bytes", set}, {"stride_bytes", 128}, {"hops", 2e4}, {"first_level", first}};
    points.push_back({"load_latency", "s", p, std::vector<double>{cycles / clock_hz}});
    points.push_back({"load_latency_cycles", "cycle", p, std::vector<double>{cycles}});
  };
  for (double set = 4096.0; set <= 131072.0; set *= 2.0) add("l1", set, e.of(34, 39));
  for (double set = 262144.0; set <= 16.8e6; set *= 2.0) add("l2", set, e.of(265, 275));
  add("l2", 50.3e6, e.of(475, 500));
  for (double set = 268435456.0; set <= 1.1e9; set *= 2.0) add("l2", set, e.of(626, 680));
  return of_h200("pointer_chase", points);
}

pv::recorded shared_memory(const expected& e) {
  std::vector<pv::point> points;
  for (const double ways : {1.0, 2.0, 8.0, 32.0}) {
    points.push_back(at(
        e.of(0.95, 0.98),
        {"shared_memory_time",
         "s",
         {{"pattern", "stride"}, {"stride_words", ways}, {"conflict_ways", ways}, {"bytes", 1e10}},
         {}}));
  }
  return of_h200("shared_memory", points);
}

pv::point arithmetic(const char* unit, const char* format, double flop) {
  return {"arithmetic_time", "s", {{"unit", unit}, {"format", format}, {"flop", flop}}, {}};
}
pv::point product(const char* quantity, const char* format, double m, double n, double k) {
  return {quantity,
          "s",
          {{"unit", "cublaslt"},
           {"format", format},
           {"m", m},
           {"n", n},
           {"k", k},
           {"library", "cublaslt"},
           {"weight_copies", 0},
           {"cache", "cold"},
           {"flop", 2.0 * m * n * k}},
          {}};
}
pv::recorded arithmetic_peak(const expected& e) {
  return of_h200("arithmetic_peak",
                 {at(0.96, arithmetic("fp32_fma", "fp32", 1e12)),
                  at(0.97, arithmetic("fp64_fma", "fp64", 1e12)),
                  at(e.of(0.62, 0.66), arithmetic("mma", "bf16", 1e13)),
                  // 90 to 95 % of 4096 FLOP a clock at 1.98 GHz, where the data sheet has 1.83 GHz.
                  at(1.082 * e.of(0.90, 0.95), arithmetic("wgmma", "bf16", 1e13)),
                  at(e.of(0.77, 0.82), product("arithmetic_time", "bf16", 8192, 8192, 8192)),
                  at(e.of(0.55, 0.65), product("arithmetic_time", "bf16", 2048, 2048, 2048)),
                  at(e.of(0.55, 0.66), product("arithmetic_time", "fp8", 8192, 8192, 8192))});
}
pv::recorded roofline(const expected& e) {
  std::vector<pv::point> points;
  for (double per_byte = 0.125; per_byte <= 512.0; per_byte *= 2.0) {
    const double reached = per_byte < 8.0     ? e.of(0.88, 0.91)
                           : per_byte <= 32.0 ? e.of(0.80, 0.90)
                                              : 0.95;
    points.push_back(at(reached, {"intensity_time",
                                  "s",
                                  {{"flop_per_byte", per_byte},
                                   {"cache", "cold"},
                                   {"flop", per_byte * 4e9},
                                   {"bytes_read", 2e9},
                                   {"bytes_written", 2e9}},
                                  {}}));
  }
  return of_h200("roofline", points);
}
pv::recorded gemm_sweep(const expected& e) {
  std::vector<pv::point> points;
  for (const double n : {4096.0, 8192.0, 14336.0}) {
    points.push_back(at(e.of(0.70, 0.88), product("gemm_time", "bf16", 1, n, 8192)));
    points.push_back(at(e.of(0.74, 0.81), product("gemm_time", "bf16", 8192, n, 8192)));
  }
  return of_h200("gemm_sweep", points);
}
pv::recorded littles_law(const expected& e) {
  std::vector<pv::point> points;
  for (const double in_flight : {2e5, 8e5, 3.2e6, 1.3e7, 2.7e7}) {
    const double rate = (std::min)(in_flight / 400e-9, e.of(0.93, 0.97) * 4.8e12);
    points.push_back({"bytes_in_flight_time",
                      "s",
                      {{"bytes_in_flight", in_flight},
                       {"blocks_per_sm", 1},
                       {"threads_per_block", 256},
                       {"loads_per_thread", 1},
                       {"load_bytes", 16},
                       {"bytes_read", 4e9},
                       {"bytes_written", 0}},
                      std::vector<double>{4e9 / rate}});
  }
  return of_h200("littles_law", points);
}
pv::point launches(const char* mode, const char* side, double kernels, double seconds) {
  return {"launch_time",
          "s",
          {{"mode", mode},
           {"side", side},
           {"kernels", kernels},
           {"work", "scale"},
           {"queue_filled", true}},
          std::vector<double>{seconds}};
}
pv::recorded launch_rates(const expected& e) {
  std::vector<pv::point> points;
  for (const double kernels : {1.0, 3.0, 30.0, 100.0, 1000.0}) {
    const bool few = kernels < 10.0;
    points.push_back(launches("graph", "device", kernels, few ? 5e-6 : e.of(1.4e-6, 0.92e-6)));
    points.push_back(launches("graph", "host", kernels, few ? 4e-6 : e.of(0.3e-6, 0.1e-6)));
    points.push_back(launches("stream", "device", kernels, few ? 4e-6 : e.of(2.6e-6, 1.7e-6)));
    points.push_back(launches("stream", "host", kernels, e.of(2.6e-6, 2.1e-6)));
  }
  return of_h200("launch", points);
}
pv::point chain(const char* name, double launched, double read, double written, double seconds,
                double instructions = 17.0) {
  constexpr double array = 2.0 * 4096.0 * 4096.0;
  return {"chain_time",
          "s",
          {{"chain", name},
           {"fused", launched == 1.0},
           {"rows", 4096},
           {"columns", 4096},
           {"format", "bf16"},
           {"launches", launched},
           {"cache", launched == 1.0 ? "cold" : "warm"},
           {"bytes_read", read * array},
           {"bytes_written", written * array},
           {"compulsory_bytes", 2.0 * array},
           {"lane_instructions", instructions * 0.5 * array}},
          std::vector<double>{seconds}};
}
pv::recorded fusion(const expected& e) {
  const auto fused = [](double share) { return 4.0 * 4096.0 * 4096.0 / (share * 4.8e12) + launch; };
  return of_h200("fusion", {chain("layer_norm", 1, 1, 1, fused(e.of(0.75, 0.85))),
                            chain("bias_gelu", 1, 1, 1, fused(e.of(0.57, 0.66)), 33.0),
                            chain("layer_norm", 4, 4, 2, e.of(53e-6, 40e-6), 30.0),
                            chain("bias_gelu", 2, 2, 2, e.of(40e-6, 32e-6), 38.0)});
}
/// Quantities that are not judged, and are above their bounds all the same.
pv::recorded attention(const expected& e) {
  const pv::parameters heads{{"query_heads", 32}, {"kv_heads", 8},   {"head_dim", 128},
                             {"format", "bf16"},  {"cache", "cold"}, {"splits", 8}};
  pv::point prefill{"attention_prefill_time", "s", heads, {}};
  for (const auto& p : pv::parameters{
           {"variant", "online_softmax"}, {"batch", 1}, {"tokens", 8192}, {"causal", true}}) {
    prefill.parameters.push_back(p);
  }
  pv::point decode{"attention_decode_time", "s", heads, {}};
  decode.parameters.emplace_back("batch", 32);
  decode.parameters.emplace_back("context", 8192);
  return of_h200("attention", {at(e.of(0.20, 0.25), prefill), at(e.of(0.55, 0.70), decode)});
}
pv::recorded transfer(const expected& e) {
  const auto copy = [](const char* memory) {
    return pv::point{
        "transfer_time", "s", {{"direction", "h2d"}, {"memory", memory}, {"bytes", 1e9}}, {}};
  };
  return of_h200("transfer",
                 {at(e.of(0.80, 0.88), copy("pinned")), at(e.of(0.10, 0.25), copy("pageable"))});
}
pv::recorded overlap(const expected& e) {
  const auto part = [](const char* arrangement, double seconds) {
    return pv::point{"overlap_time",
                     "s",
                     {{"other", "copy_engine"},
                      {"arrangement", arrangement},
                      {"m", 8192},
                      {"n", 8192},
                      {"k", 8192},
                      {"bytes", 1e8}},
                     std::vector<double>{seconds}};
  };
  return of_h200("overlap", {part("compute_alone", 1.4e-3), part("other_alone", 1.9e-3),
                             part("together", e.of(2.1e-3, 1.9e-3))});
}
pv::recorded verify(const expected& e) {
  std::vector<pv::point> points;
  for (const double m : {1.0, 5.0, 9.0, 17.0}) {
    points.push_back(at(e.of(0.72, 0.88), product("verify_time", "bf16", m, 14336, 8192)));
  }
  return of_h200("speculative", points);
}
pv::point decode_step(double batch, double context) {
  return {"step_time",
          "s",
          {{"launch", "graph"},
           {"batch", batch},
           {"context", context},
           {"prefill_tokens", 0},
           {"layers", 32},
           {"hidden", 4096},
           {"intermediate", 14336},
           {"query_heads", 32},
           {"kv_heads", 8},
           {"head_dim", 128},
           {"vocabulary", 128256},
           {"format", "bf16"}},
          {}};
}
pv::recorded steps(const expected& e) {
  return of_h200("decode_step", {at(e.of(0.72, 0.82), decode_step(1, 512)),
                                 at(e.of(0.72, 0.82), decode_step(8, 512)),
                                 at(e.of(0.58, 0.68), decode_step(64, 16384))});
}
pv::recorded energy(const expected& e) {
  const double watts = e.of(0.55, 0.65) * 700.0;
  return of_h200("energy", {{"power", "W", {{"load", "memory_stream"}}, std::vector<double>{watts}},
                            {"energy",
                             "J",
                             {{"load", "memory_stream"}, {"seconds", 2.0}},
                             std::vector<double>{2.03 * watts}}});
}

std::vector<pv::recorded> everything(const expected& e) {
  return {memory_stream(e), pointer_chase(e), shared_memory(e), arithmetic_peak(e), roofline(e),
          gemm_sweep(e),    littles_law(e),   launch_rates(e),  fusion(e),          attention(e),
          transfer(e),      overlap(e),       verify(e),        steps(e),           energy(e)};
}

/// Faults of one recording by itself.
std::vector<std::string> broken_by(const char* experiment, std::vector<pv::point> points) {
  return pv::broken(compared({of_h200(experiment, std::move(points))}));
}
bool says(const std::vector<std::string>& lines, std::string_view text) {
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("compare: an H200 as it is expected keeps every tolerance and every bound") {
  for (const double where : {0.0, 0.5, 1.0}) {
    const auto all = compared(everything({where}));
    INFO("at " << where);
    for (const std::string& line : pv::broken(all)) FAIL_CHECK(line);
    CHECK(pv::goal_lines(all).find("step_time") != std::string::npos);
  }
}

TEST_CASE("compare: what an H200 cannot do is refused") {
  constexpr auto too_quick = "which nothing is quicker than";
  // 1.85 PFLOP/s: additions that were counted as fp8 products.
  pv::point fp8 = arithmetic("mma", "fp8", 1.85e12);
  fp8.samples = std::vector<double>{1e-3};
  CHECK(says(broken_by("arithmetic_peak", {fp8}), "not possible on this architecture by mma"));
  CHECK(says(broken_by("memory_stream", {stream("read", 4e9, "cold", 4e9 / (1.3 * 4.8e12))}),
             too_quick));
  CHECK(says(broken_by("memory_stream", {stream("read", 16e6, "warm", 16e9 / 40e12, 1000.0)}),
             too_quick));
  CHECK(says(broken_by("fusion", {chain("layer_norm", 1, 1, 1, 67.1e6 / (1.2 * 4.8e12))}),
             too_quick));
  // An unfused chain may find what lies between in the L2, and not what it begins with.
  CHECK_FALSE(says(broken_by("fusion", {chain("layer_norm", 4, 4, 2, 33e-6)}), too_quick));
  CHECK(says(broken_by("fusion", {chain("layer_norm", 4, 4, 2, 13e-6)}), too_quick));
  CHECK(says(
      broken_by(
          "shared_memory",
          {at(1.1,
              {"shared_memory_time",
               "s",
               {{"pattern", "stride"}, {"stride_words", 1}, {"conflict_ways", 1}, {"bytes", 1e10}},
               {}})}),
      too_quick));
  CHECK(says(broken_by("decode_step", {at(1.5, decode_step(1, 512))}), too_quick));
  CHECK(says(broken_by("launch", {launches("graph", "device", 1000, 20e-6)}), "median error"));
  // Above the data sheet, at a clock above the data sheet's 1.83 GHz: 996 TFLOP/s are possible.
  CHECK_FALSE(
      says(broken_by("arithmetic_peak", {at(1.007, arithmetic("mma", "bf16", 1e13))}), too_quick));
  CHECK(says(broken_by("arithmetic_peak", {at(1.1, arithmetic("mma", "bf16", 1e13))}), too_quick));
}

TEST_CASE("compare: launches of the host, of few kernels and of a full queue are not predicted") {
  const auto all = compared({launch_rates({0.5})});
  for (const pv::comparison& c : all.front().rows) {
    const bool judged = c.shape.find("graphxdevice") == 0 && c.size >= 10.0;
    INFO(c.shape);
    CHECK(c.predicts() == judged);
    CHECK(c.note.empty() == judged);
  }
}

TEST_CASE("compare: what failed and what was throttled is listed and not read") {
  pv::recorded r = of_h200("memory_stream", {stream("read", 4e9, "cold", 4e9 / (0.95 * 4.8e12))});
  r.points.front().throttled = {1e-2, 2e-2};
  r.failed = {{"copy of 8 GB", "out of memory"}};
  const auto all = compared({r});
  CHECK(pv::broken(all).empty());
  CHECK(all.front().rows.size() == 1);
  const auto lines = pv::not_measured(all);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "NVIDIA H200, memory_stream, copy of 8 GB: out of memory");
  CHECK(says(lines, "2 samples of 1 points more than 3 % below their point's median clock"));
}

TEST_CASE("compare: the goal, and the law that misses it") {
  // 20 % too slow a step against a goal of 10 %; a stream at its prediction meets 5 % and 15 %.
  pv::point slow = decode_step(1, 512), right = stream("read", 4e9, "cold", 1.0);
  slow.samples = right.samples = std::vector<double>{1.0};
  const auto predicted = [](const pv::point& p) {
    return compared({of_h200("any", {p})}).front().rows.front().predicted;
  };
  slow.samples = std::vector<double>{1.25 * predicted(slow)};
  right.samples = std::vector<double>{1.01 * predicted(right)};
  const auto all = compared({of_h200("decode_step", {slow}), of_h200("memory_stream", {right})});
  CHECK(pv::goal_lines(all).find("goal: met by 1 of 2 quantities") != std::string::npos);
  const std::string wrong = pv::wrong_laws(all);
  CHECK(wrong.find("`step_time` on h200_sxm") != std::string::npos);
  CHECK(wrong.find("20.0 %") != std::string::npos);
  CHECK(wrong.find("stream_time") == std::string::npos);
  CHECK(pv::goal_lines({}).empty());
}

}  // namespace unit_compare_h200
