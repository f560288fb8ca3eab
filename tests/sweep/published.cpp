// Published numbers that a call of the library gives, or a quotient, difference or product of
// calls: they stay what version 0.1 gave. The identifiers are those of the list of published
// numbers, whose first part names the document. Two or more values for one identifier are the ends
// of a range.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/hardware/catalog/alternatives.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/perfmodel.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

using namespace perfmodel;
using namespace perfmodel::catalog;

namespace {

struct row {
  const char* id;
  double now;
  double before;
};

// --- short names for what the rows repeat --------------------------------------------------------

/// The number in base units, without a unit or a convention.
template <Quantity Q>
double v(const Q& q) {
  return q.value();
}
template <Quantity Q>
double v(const fact<Q>& f) {
  return f.value();
}
template <class Convention, Quantity Q>
double v(const qualified<Convention, Q>& q) {
  return q.quantity().value();
}
template <class Estimate>
double in_ms(const Estimate& e) {
  return e.time.value() / 1e-3;
}
template <class W>
double intensity_of(const W& w) {
  return demand_of(w).intensity().value();
}

accelerator alternative_of(const accelerator& a, std::string_view field, double value) {
  for (const alternative& other : alternatives) {
    if (a.name.view() != other.accelerator || field != other.field) continue;
    if (std::abs(other.value - value) <= 1e-12 * value) return with_alternative(a, other);
  }
  throw std::logic_error("no such alternative");
}
accelerator twice_the_peak(accelerator a) {
  a.matrix.peak.bf16 = 2.0 * a.matrix.peak.bf16;
  return a;
}
/// 1 where the format computes at this many FLOP per byte, 0 where it waits for memory.
double computes(const accelerator& a, number_format format, double intensity) {
  return regime_of(a, format, intensity * flop_per_byte) == regime::compute_bound ? 1.0 : 0.0;
}

gemm product(double m, double n, double k, number_format format = bf16) {
  return {.m = m, .n = n, .k = k, .format = format};
}
elementwise each_element(double elements, double work, double inputs = 1,
                         number_format format = bf16) {
  return {.elements = elements, .inputs = inputs, .flop_per_element = work, .format = format};
}
attention_prefill prompt(double tokens, double heads, bool fused) {
  return {.batch = 1,
          .tokens = tokens,
          .query_heads = heads,
          .kv_heads = heads,
          .head_dim = 128,
          .causal = false,
          .fused = fused};
}
/// 70e9 weights in one block of width 8192.
swiglu weights_of_70b(double tokens) {
  return {.tokens = tokens, .hidden = 8192, .intermediate = 70e9 / (3 * 8192.0)};
}
demand product_and_one_more() {
  const demand first = demand_of(product(4096, 4096, 4096));
  return fuse(first, demand_of(each_element(4096.0 * 4096, 1)), first.dram.written);
}

/// The time to move bytes, and nothing to compute.
estimate moved(const bytes<>& size, const bandwidth<>& rate = 3.35 * TB_per_s,
               const duration<>& overhead = {}) {
  return iron_law(size, rate, 0 * flop, PFLOP_per_s, overhead);
}
/// Launches that the host waits for.
estimate waited_for(const duration<>& cpu, double launches, const duration<>& kernels) {
  return synchronised_time(launch_costs{cpu, {}, {}, {}, {}}, launches, kernels);
}
energy_costs pj_for_4_bytes(double dram, double shared) {
  energy_costs c;
  c.dram = dram / 4 * pJ_per_byte;
  c.shared = shared / 4 * pJ_per_byte;
  return c;
}
energy_estimate energy_for_4_bytes(const energy_costs& c) {
  demand d;
  d.dram.read = 4 * byte;
  d.shared.read = 4 * byte;
  return energy_of(c, d, second);
}

/// Gigabytes of memory, and of weights in it.
memory_budget budget(double capacity, double weights) {
  return {capacity * GB, 1, weights * GB, {}, {}};
}
/// Tokens that fit in a share of 640 GB less 35 GB of weights.
double tokens_cached(double share, number_format format) {
  const memory_budget free{kv_bytes_available(budget(640, 35)), share, {}, {}, {}};
  return v(kv_capacity(free, kv_bytes_per_token(llama_3_70b, format), 4096.0).tokens);
}
deployment llama_on(const accelerator& a) {
  deployment d;
  d.device = a;
  d.model = llama_3_70b;
  return d;
}
/// Over 8 devices, all weights in one format, without scales.
deployment llama_over_8(number_format format) {
  deployment d = llama_on(h100_sxm);
  d.layout.tensor = 8;
  d.weights = weight_storage(without_scales(format), format);
  return d;
}
deployment qwen_on_rtx_5080() {
  deployment d;
  d.device = rtx_5080;
  d.model = qwen_2_5_3b;
  return d;
}
transformer with_heads(double query_heads, double kv_heads, double layers = 80) {
  transformer m = llama_3_70b;
  m.layers = {{layers,
               attention_shape{.query_heads = query_heads, .kv_heads = kv_heads, .head_dim = 128},
               dense_shape{28672}}};
  return m;
}

/// Eight accelerators on links of this bandwidth.
perfmodel::interconnect link_of(double rate) {
  perfmodel::interconnect l;
  l.kind = link_kind::nvlink;
  l.bandwidth = rate * byte_per_s;
  l.ranks = 8;
  return l;
}
/// An all-reduce over 8 ranks.
collective_estimate sent(const perfmodel::interconnect& link, collective_algorithm how,
                         const bytes<>& size) {
  collective c;
  c.ranks = 8;
  c.message = message_bytes<>(size);
  c.algorithm = how;
  return collective_time(link, c);
}
double latency_of_one_shot() {
  collective c;
  c.ranks = 8;
  c.message = message_bytes<>(MiB);
  c.algorithm = collective_algorithm::one_shot;
  return v(collective_time(link_of(450e9), c, alpha_beta{5 * us, 1}).terms["latency"]);
}
/// 8.03e9 gradients in 16 bits.
collective_estimate gradients_sent(const perfmodel::interconnect& link) {
  collective c = gradient_all_reduce(8, 8.03e9, bf16);
  c.algorithm = collective_algorithm::ring;
  return collective_time(link, c);
}
/// One GEMM of 8.03e9 weights with 2048 tokens at 40 % of the peak; backward takes two.
duration<> at_40_percent(double products) {
  const demand once = demand_of(product(2048, 8.03e9 / 4096, 4096));
  return roofline(h100_sxm, products * once, derated{0.4, 1, {}}).time;
}
duration<> forward() {
  return at_40_percent(1);
}
duration<> backward() {
  return at_40_percent(2);
}
/// 32 prompts of 2048 tokens through the 80 layers of a 70B model on 8 devices.
tensor_parallelism llama_prompts() {
  tensor_parallelism x;
  x.ranks = 8;
  x.layers = 80;
  x.batch = 32;
  x.tokens = 2048;
  x.hidden = 8192;
  return x;
}

/// Matrix products, attention and the rest after weights and cache shrank.
basic_amdahl<> quantised() {
  return amdahl(std::array{amdahl_part{0.5, 1}, amdahl_part{0.35, 0.3}, amdahl_part{0.15, 0.2}});
}
/// A cache of 65536 tokens, times n in the step, made n times smaller.
double speedup_of_a_shorter_cache(double n) {
  const duration<> cache = moved(kv_bytes(llama_3_70b, 65536.0)).time;
  const double share = share_of(moved(140 * GB, 3.35 * TB_per_s, n * cache), "overhead");
  return amdahl(std::array{amdahl_part{share, 1 / n}}).speedup;
}

void check(const std::vector<row>& rows) {
  for (const row& r : rows) {
    INFO(r.id << " was " << r.before << " and is " << r.now);
    const double size = std::max(std::abs(r.now), std::abs(r.before));
    CHECK(std::abs(r.now - r.before) <= 1e-9 * size);
  }
}

}  // namespace

TEST_CASE("published numbers of document 000") {
  check({
      {"000-001", v(ridge_point(h100_sxm, bf16)), 295.34328358208955},
      {"000-004", intensity_of(product(1, 8192, 8192)), 0.99975591896509641},
      {"000-005", share_of(waited_for(5 * ms, 1, 95 * ms), "host"), 0.049999999999999996},
      {"000-006", v(peak_from_clock(132.0, 256 * flop, 1.98 * GHz)) / 1e12, 66.908159999999995},
      {"000-007", v(peak_from_clock(132.0, 4096 * flop, 1.83 * GHz)) / 1e12, 989.42975999999999},
      {"000-008", v(peak(h100_sxm, fp8)) / 1e12, 1978.9000000000001},
      {"000-009", v(peak(h100_sxm, bf16)) / v(vector_peak(h100_sxm)), 14.789237668161434},
      {"000-009", v(peak(h100_sxm, fp8)) / v(vector_peak(h100_sxm)), 29.579970104633777},
      {"000-012", v(sm_limits{}.shared) / 1024, 228},
      {"000-013", v(catalog::pcie_one_way(16, 32 * GHz)) / 1e9, 63.015384615384619},
      {"000-015",
       v(sent(h100_sxm.fabric, collective_algorithm::ring, MiB).wire) /
           v(sent(h100_sxm.fabric, collective_algorithm::in_network, MiB).wire),
       1.75},
      {"000-016", v(two_way(h100_sxm.fabric.bandwidth.quantity())) / 1e9, 900},
      {"000-017", v(alternative_of(h200_sxm, "dram.capacity", 141e9).dram.capacity) / 1e9, 141},
      {"000-018", v(h200_sxm.dram.bandwidth) / 1e12, 4.7999999999999998},
      {"000-019", v(peak(h200_sxm, bf16)) / 1e12, 989.39999999999998},
      {"000-024", v(bandwidth_from_bus(7680.0, 2 * 3996 * MHz)) / 1e12, 7.67232},
      {"000-030", v(sparse(peak(h100_sxm, fp8))) / v(peak(h100_sxm, fp8)), 2},
      {"000-036", v(h100_sxm.dram.bandwidth) / 1e12, 3.3500000000000001},
      {"000-038", share_of(moved(875 * MB, 1.79 * TB_per_s, 40 * us), "overhead"),
       0.075639129516163098},
      {"000-039", v(bytes_in_flight(300 * ns, 3.35 * TB_per_s)), 1005000.0000000001},
  });
}

TEST_CASE("published numbers of document 001") {
  check({
      {"001-002", attention_fusion_ratio(1152.0, 128.0), 10},
      {"001-002", attention_fusion_ratio(3712.0, 128.0), 30},
      {"001-003", v(throughput_of(1.0, 20 * ms)), 50},
      {"001-004", v(implied_price(8.0, 0.12 * usd / (1000 * token), 50 * token_per_s)) * 3600,
       2.6999999999999997},
      {"001-005", in_ms(moved(17.5 * GB)), 5.2238805970149258},
      {"001-006", v(throughput_of(64.0 / 4, 120 * ms)), 133.33333333333334},
      {"001-007",
       v(cost_per_thousand_tokens(4.0, 2.7 * usd_per_hour, throughput_of(64.0, 120 * ms))),
       0.0056249999999999998},
      {"001-009",
       v(cost_per_token(8.0, usd_per_hour, 50 * token_per_s)) /
           v(cost_per_token(4.0, usd_per_hour, throughput_of(64.0, 120 * ms))),
       21.333333333333339},
      {"001-011", in_ms(moved(35 * GB / 4.0 + 16.0 * kv_bytes(llama_3_70b, 4096.0))),
       9.0223392477611934},
      {"001-013", v(ridge_point(h100_sxm, fp8)), 590.71641791044772},
      {"001-014",
       v(energy_for_4_bytes(pj_for_4_bytes(640, 0.5)).dram) /
           v(energy_for_4_bytes(pj_for_4_bytes(640, 0.5)).shared),
       1280},
      {"001-015",
       v(energy_for_4_bytes(
             stated_energy_costs(alternative_of(h100_sxm, "shared.energy_per_byte", 1.25e-12)))
             .shared) /
           1e-12,
       5},
      {"001-016", v(energy_for_4_bytes(stated_energy_costs(h100_sxm)).dram) / 1e-12,
       125.43999999999998},
      {"001-017", v(memory_power(4 * TB_per_s, 160 * pJ_per_byte)), 640},
      {"001-018", v(memory_power(3.35 * TB_per_s, 3.9 * pJ_per_bit)), 104.52},
      {"001-020",
       v(memory_power(2 * TB_per_s, 160 * pJ_per_byte)) -
           v(memory_power(2 * TB_per_s, 0.125 * pJ_per_byte)),
       319.75},
      {"001-021",
       (v(memory_power(2000 * TB_per_s, 160 * pJ_per_byte)) -
        v(memory_power(2000 * TB_per_s, 0.125 * pJ_per_byte))) /
           1e3,
       319.75},
      {"001-023", v(h100_sxm.registers.capacity) / 1048576, 33},
      {"001-028", in_ms(moved(80 * GB)), 23.880597014925375},
      {"001-029", v(ridge_point(v100_sxm_32gb, fp16)), 138.88888888888889},
      {"001-030", v(ridge_point(a100_sxm_80gb, bf16)), 153.01618440411966},
      {"001-031", v(ridge_point(h100_sxm, bf16)), 295.34328358208955},
      {"001-034", computes(v100_sxm_32gb, fp16, 200), 1},
      {"001-034", computes(a100_sxm_80gb, bf16, 200), 1},
      {"001-034", computes(h100_sxm, bf16, 200), 0},
      {"001-035", v(demand_of(product(4096, 4096, 4096)).matrix_flop), 137438953472},
      {"001-036", v(demand_of(product(4096, 4096, 4096)).dram.total()), 100663296},
      {"001-037", intensity_of(product(4096, 4096, 4096)), 1365.3333333333333},
      {"001-038", intensity_of(each_element(1e6, 5)), 1.25},
      {"001-039", intensity_of(product(1, 4096, 4096)), 0.99951195705222062},
      {"001-040", intensity_of(prompt(2048, 1, false)), 60.235294117647058},
      {"001-041", intensity_of(prompt(1e6, 1, false)), 63.991809048441802},
      {"001-042", intensity_of(prompt(8192, 64, false)), 63.015384615384619},
      {"001-043", intensity_of(each_element(1e6, 5)), 1.25},
      {"001-043", intensity_of(each_element(1e6, 12)), 3},
      {"001-044", intensity_of(product(1, 8192, 8192)), 0.99975591896509641},
      {"001-044", intensity_of(product(1, 8192, 8192, fp8)), 1.9995118379301928},
      {"001-045",
       v(roofline(h100_sxm, product(1, 8192, 8192)).time) /
           v(roofline(twice_the_peak(h100_sxm), product(1, 8192, 8192)).time),
       1},
      {"001-046", intensity_of(weights_of_70b(1)), 0.99999976594291196},
      {"001-047", intensity_of(weights_of_70b(256)), 255.9846617501326},
      {"001-049",
       v(cost_per_token(1.0, usd_per_hour, token_per_s, 0.05)) /
           v(cost_per_token(1.0, usd_per_hour, token_per_s, 0.40)),
       8},
      {"001-050", mfu_from_mbu(1.0, 1 * flop_per_byte, ridge_point(h100_sxm, bf16)),
       0.0033858904386496868},
      {"001-051", v(kv_bytes_available(budget(80, 17.5))) / 1e9, 62.5},
      {"001-052", v(h100_sxm.dram.capacity), 85520809984},
      {"001-053", v(weight_bytes_per_device(llama_over_8(int4))) / 1e9, 4.4101836800000003},
      {"001-054",
       (v(weight_bytes_per_device(llama_over_8(bf16))) -
        v(weight_bytes_per_device(llama_over_8(int4)))) /
           1e9,
       13.23055104},
      {"001-055",
       v(kv_bytes_available(budget(80, 35.0 / 8))) / v(kv_bytes_available(budget(80, 140.0 / 8))),
       1.21},
      {"001-056", waste_free_gain(0.6), 2.5},
      {"001-056", waste_free_gain(0.8), 5.0000000000000009},
      {"001-057", contiguous_waste(500.0, 4096.0), 0.8779296875},
      {"001-058", tokens_cached(1, int8) / tokens_cached(0.5, bf16), 4.0000173319236705},
      {"001-058", tokens_cached(1, int8) / tokens_cached(0.25, bf16), 8.0001733222407108},
      {"001-059", 1 - paged_waste(500.0, 16.0), 0.98522167487684731},
      {"001-060", intensity_of(weights_of_70b(1024)), 1023.7546321058023},
      {"001-061", intensity_of(product(1024, 8192, 8192)), 819.20000000000005},
      {"001-062", v(demand_of(product(1, 8.75e9 / 8192, 8192)).matrix_flop), 17500000000},
      {"001-063", v(weight_bytes_per_device(llama_over_8(bf16))) / 1e9, 17.640734720000001},
      {"001-064", in_ms(moved(17.5 * GB)), 5.2238805970149258},
      {"001-065", v(throughput_of(1.0, moved(17.5 * GB).time)), 191.42857142857142},
      {"001-066", mfu_from_mbu(1.0, 1 * flop_per_byte, ridge_point(h100_sxm, bf16)),
       0.0033858904386496868},
      {"001-068", v(roofline(h100_sxm, each_element(4096.0 * 2048, 1)).time) / 1e-6,
       10.016248358208955},
      {"001-069", v(demand_of(each_element(4096.0 * 2048, 1)).dram.read), 16777216},
      {"001-070", v(chain_saving(16777216 * byte, 2.0).dram.written), 33554432},
      {"001-071", v(chain_saving(16777216 * byte, 2.0).dram.total()), 67108864},
      {"001-072",
       traffic_ratio(3.0 * demand_of(each_element(1e6, 1)).dram,
                     demand_of(each_element(1e6, 1)).dram),
       3},
      {"001-073",
       traffic_ratio(demand_of(product(2048, 4096, 4096)).dram +
                         2.0 * demand_of(each_element(2048.0 * 4096, 1)).dram,
                     demand_of(product(2048, 4096, 4096)).dram),
       2},
      {"001-074", v(waited_for(10 * us, 50, 0 * ms).time) / 1e-6, 500.00000000000006},
      {"001-075", share_of(waited_for(10 * us, 50, 2 * ms), "host"), 0.20000000000000001},
      {"001-076", share_of(waited_for(10 * us, 5, 2 * ms), "host"), 0.024390243902439022},
      {"001-076", share_of(waited_for(10 * us, 10, 2 * ms), "host"), 0.047619047619047616},
      {"001-077", v(chain_saving(16777216 * byte, 2.0).dram.total()), 67108864},
      {"001-078", v(chain_saving(16777216 * byte, 160.0).dram.total()), 5368709120},
      {"001-079", v(waited_for(5 * us, 30, 0 * ms).time) / 1e-6, 150},
      {"001-079", v(waited_for(10 * us, 30, 0 * ms).time) / 1e-6, 300},
      {"001-080", in_ms(waited_for(5 * us, 2100, 0 * ms)), 10.499999999999998},
      {"001-080", in_ms(waited_for(10 * us, 2100, 0 * ms)), 20.999999999999996},
      {"001-081", in_ms(waited_for(7.5 * us, 2100, 0 * ms)), 15.75},
      {"001-082", in_ms(graph_time(launch_costs{{}, {}, 7.5 * us, 1 * us, {}}, 2100.0, 0 * ms)),
       2.1074999999999999},
      {"001-084", v(demand_of(product(8192, 8192, 128)).dram.written), 134217728},
      {"001-085", 64 * v(demand_of(product(8192, 8192, 128)).dram.written) / 1e9,
       8.5899345920000005},
      {"001-086", v(demand_of(prompt(8192, 64, false)).dram.total()), 34896609280},
      {"001-087", v(demand_of(prompt(8192, 1, false)).dram.total()), 545259520},
      {"001-088", v(demand_of(prompt(8192, 64, true)).dram.total()), 536870912},
      {"001-089", v(demand_of(prompt(8192, 1, true)).dram.total()), 8388608},
      {"001-090", attention_fusion_ratio(8192.0, 128.0), 65},
      {"001-091", attention_fusion_ratio(8192.0, 128.0, 64.0, 8.0), 114.77777777777777},
      {"001-092",
       flash_attention_accesses(16384.0, 128.0, 65536.0) /
           flash_attention_accesses(8192.0, 128.0, 65536.0),
       4},
      {"001-093", v(demand_of(each_element(128.0 * 128, 1)).dram.read), 32768},
      {"001-094", v(demand_of(each_element(128.0 * 128, 1, 3)).dram.read), 98304},
      {"001-098", storage_format(int4, 64, 16).bits() - bits_of(int4), 0.25},
      {"001-099", storage_format(int4, 64, 16).bits(), 4.25},
      {"001-100", storage_format(int4, 64, 16).bits() / bits_of(int4) - 1, 0.0625},
      {"001-101", bits_of(fp16) / storage_format(int4, 64, 16).bits(), 3.7647058823529411},
      {"001-102", storage_format(int4, 64, 16, 16).bits(), 4.5},
      {"001-103", storage_format(int4, 32, 16).bits() - 4, 0.5},
      {"001-104", storage_format(int4, 16, 16).bits() - 4, 1},
      {"001-105", storage_format(int8, 128, 32).bits() / 8 - 1, 0.03125},
      {"001-107", v(kv_bytes(llama_3_70b, 4096.0)), 1342177280},
      {"001-108", v(kv_bytes(with_heads(64, 1), 4096.0)) / 1e9, 0.16777216},
      {"001-109", kv_capacity(budget(640, 140), kv_bytes_per_token(llama_3_70b), 4096.0).sequences,
       372},
      {"001-110", v(kv_bytes_available(budget(80, 4.375))) / 1e9, 75.625},
      {"001-111", v(kv_bytes(llama_3_70b, 4096.0, int8)) / 1e9, 0.67108864000000001},
      {"001-112",
       kv_capacity(budget(640, 35), kv_bytes_per_token(llama_3_70b, int8), 4096.0).sequences, 901},
      {"001-113",
       kv_capacity(budget(640, 35), kv_bytes_per_token(llama_3_70b, int8), 4096.0).sequences /
           kv_capacity(budget(640, 140), kv_bytes_per_token(llama_3_70b), 4096.0).sequences,
       2.422043010752688},
      {"001-114", kv_capacity(budget(640, 140), kv_bytes_per_token(llama_3_70b), 4096.0).sequences,
       372},
      {"001-116", 2 * product_and_one_more().launches, 2},
      {"001-121",
       traffic_ratio(3.0 * demand_of(each_element(1e6, 1)).dram,
                     demand_of(each_element(1e6, 1)).dram),
       3},
      {"001-124", quantised().time_ratio / 120 * 1e3, 5.291666666666667},
      {"001-125", v(throughput_of(1.0, quantised().time_ratio / 120 * second)), 188.97637795275591},
      {"001-126", quantised().speedup, 1.5748031496062991},
      {"001-127", new_share(amdahl_part{0.5, 1}, quantised()), 0.78740157480314954},
      {"001-128", intensity_of(product(5, 8192, 8192)) / intensity_of(product(1, 8192, 8192)),
       4.9951231406973911},
      {"001-129", speculative_speedup(0.25, 4, 1.0 / 70), 1.2600295608108107},
      {"001-130", speculative_speedup(0.75, 4, 1.0 / 70), 2.8858741554054053},
      {"001-131", break_even_acceptance(4, 1.0 / 70), 0.054054490595231035},
      {"001-134", v(sent(link_of(900e9), collective_algorithm::tree, 16 * KiB).wire), 32768},
      {"001-135", v(sent(link_of(900e9), collective_algorithm::tree, 16 * KiB).time) / 1e-9,
       36.408888888888889},
      {"001-136", v(sent(link_of(450e9), collective_algorithm::ring, 16 * KiB).time) / 1e-9,
       63.715555555555554},
      {"001-137", 5e-6 / v(sent(link_of(900e9), collective_algorithm::tree, 16 * KiB).time),
       137.3291015625},
      {"001-138", v(sent(link_of(900e9), collective_algorithm::tree, MiB).wire), 2097152},
      {"001-139", v(sent(link_of(900e9), collective_algorithm::tree, MiB).time) / 1e-6,
       2.3301688888888892},
      {"001-140", v(sent(link_of(450e9), collective_algorithm::ring, MiB).time) / 1e-6,
       4.0777955555555554},
      {"001-141", v(moved(140 * GB / 640.0).time) / 1e-6, 65.298507462686558},
      {"001-142", 20e-6 / v(sent(link_of(900e9), collective_algorithm::tree, MiB).time),
       8.58306884765625},
      {"001-143", v(moved(140 * GB / 640.0).time) / (2 * latency_of_one_shot()),
       6.5298507462686564},
      {"001-144", share_of(moved(17.5 * GB, 3.35 * TB_per_s, 160 * 5 * us), "overhead"),
       0.132804757185332},
      {"001-145", v(gradient_all_reduce(8, 7e9, fp16).message), 14000000000},
      {"001-146", bus_factor(collective_op::all_reduce, 8), 1.75},
      {"001-147", in_ms(gradients_sent(link_of(450e9))), 62.455555555555556},
      {"001-148", v(backward()) / 1e-3, 166.21629270264808},
      {"001-149",
       in_ms(training_step(forward(), backward(), gradients_sent(link_of(450e9)).time, 1.0)),
       311.77999460952765},
      {"001-150",
       in_ms(training_step(forward(), backward(), gradients_sent(link_of(450e9)).time, 1e6)),
       249.32450150952766},
      {"001-151",
       v(training_step(forward(), backward(), gradients_sent(link_of(450e9)).time, 1.0).time) /
           v(training_step(forward(), backward(), gradients_sent(link_of(450e9)).time, 1e6).time),
       1.2504988186955757},
      {"001-153",
       in_ms(gradients_sent(
           link_of(v(alternative_of(h100_sxm, "host.bandwidth", 64e9).host.bandwidth)))),
       439.140625},
      {"001-154", v(overlap_with_collective(10 * second, 1 * second, 132.0, 4.0).lost),
       0.030303030303030304},
      {"001-154", v(overlap_with_collective(10 * second, 1 * second, 132.0, 8.0).lost),
       0.060606060606060608},
      {"001-155", v(exposed_time(60 * ms, 40 * ms)) / 1e-3, 19.999999999999996},
      {"001-160", v(training_flop_per_token(7e9, 1.0)) / v(training_flop_per_token(7e9)),
       1.3333333333333333},
      {"001-161", mfu_from_mbu(0.85, 1 * flop_per_byte, ridge_point(h100_sxm, bf16)),
       0.0028780068728522339},
      {"001-162", mfu_from_mbu(0.88, 1 * flop_per_byte, ridge_point(h100_sxm, bf16)),
       0.0029795835860117244},
      {"001-163", v(ridge_point(15 * TFLOP_per_s, 2.8 * TB_per_s)), 5.3571428571428568},
      {"001-164", mbu(2.8 * TB, 1 * second, 3.35 * TB_per_s), 0.83582089552238803},
      {"001-165", v(ridge_point(vector_peak(h100_sxm), h100_sxm.dram.bandwidth.quantity())),
       19.970149253731346},
      {"001-167", scaling_tax(0.65, 0.48), 0.26153846153846161},
      {"001-169", scaling_tax(0.65, 0.30), 0.53846153846153855},
      {"001-170", straggler_tax(0.1), 0.090909090909090939},
      {"001-171", v(time_with_tax(30 * 24 * hour, 0.1)) / 86400, 33.333333333333336},
      {"001-171", v(time_with_tax(30 * 24 * hour, 0.2)) / 86400, 37.5},
      {"001-174", amdahl(std::array{amdahl_part{0.10, 30.0 / 120}}).speedup, 1.0810810810810809},
      {"001-180", v(throughput_of(4.0, 85 * ms)), 47.058823529411761},
      {"001-181", mbu(2.7 * TB, 1 * second, 3.35 * TB_per_s), 0.80597014925373134},
      {"001-183", amdahl(std::array{amdahl_part{0.38, 0.55}}).time_ratio * 85, 70.465000000000003},
      {"001-184", v(throughput_of(32.0, 48 * ms)), 666.66666666666663},
      {"001-185", bits_of(fp16) / bits_of(int4), 4},
      {"001-187",
       amdahl(std::array{amdahl_part{0.14, 4.0 / 14}, amdahl_part{0.24, 0.7}, amdahl_part{0.12, 0}})
               .time_ratio *
           48,
       33.983999999999995},
      {"001-188",
       amdahl(std::array{amdahl_part{0.38, 0.55}, amdahl_part{0.14, 4.0 / 14},
                         amdahl_part{0.24, 0.7}, amdahl_part{0.12, 0}})
               .time_ratio *
           85,
       45.645000000000003},
      {"001-189", v(throughput_of(32.0, 32 * ms)), 1000},
      {"001-190", attention_fusion_ratio(1920.0, 128.0), 16},
      {"001-192", v(demand_of(each_element(1.5e9, 1, 1, int4)).dram.read) / 1e9, 0.75},
      {"001-193",
       (v(round_time(5, speculative_steps{{}, moved(0.75 * GB).time, 32 * ms})) - 32e-3) / 1e-3,
       1.1194029850746245},
      {"001-194", v(emitted_tokens(0.78, 5)), 3.5218199968000001},
      {"001-195",
       v(time_per_token(emitted_tokens(0.78, 5), 5,
                        speculative_steps{32 * ms, 0.8 * ms, 32 * ms})) /
           1e-3,
       10.22198750438988},
      {"001-196",
       speculative_speedup(emitted_tokens(0.78, 5), 5,
                           speculative_steps{32 * ms, 0.8 * ms, 32 * ms}),
       3.1305066638222221},
      {"001-197", verification_batch_limit(ridge_point(h100_sxm, bf16), bytes_of(int4), 5),
       12.305970149253731},
      {"001-198", v(peak(h100_sxm, bf16)) / v(peak(a100_sxm_80gb, bf16)), 3.171153846153846},
      {"001-199", v(h100_sxm.dram.bandwidth) / v(a100_sxm_80gb.dram.bandwidth), 1.6429622363903873},
  });
}

TEST_CASE("published numbers of document 002") {
  check({
      {"002-001",
       v(attainable(peak(h100_sxm, bf16), h100_sxm.dram.bandwidth.quantity(),
                    100 * flop_per_byte)) /
           1e12,
       335},
      {"002-002",
       (v(demand_of(prompt(8192, 1, false)).dram.total()) -
        v(demand_of(prompt(8192, 1, true)).dram.total())) /
           (8192.0 * 8192 * v(bytes_of(bf16))),
       4},
      {"002-005", v(serial(300 * ns, 300 * ns)) / 1e-9, 600},
      {"002-010", v(double_buffered_time(1 * us, 1 * us, 8.0)) / 1e-6, 9},
      {"002-012", stages_that_fit(227 * KiB, 98304 * byte), 2},
      {"002-013", v(waited_for(5 * us, 2100e3, 0 * ms).time), 10.499999999999998},
      {"002-014", v(serial(3 * us, 2 * us)) / 1e-6, 5},
      {"002-015", computes(h100_sxm, bf16, 1), 0},
      {"002-015", computes(h100_sxm, bf16, 2048), 1},
  });
}

TEST_CASE("published numbers of document 003") {
  check({
      {"003-001", v(peak(h100_sxm, bf16)) / 1e12, 989.39999999999998},
      {"003-002", intensity_of(product(1, 8192, 8192)), 0.99975591896509641},
      {"003-003", v(ridge_point(494 * TFLOP_per_s, 3.35 * TB_per_s)), 147.46268656716418},
      {"003-004", v(ridge_point(h100_sxm, bf16)), 295.34328358208955},
      {"003-006", 1 - mfu_from_mbu(1.0, 1 * flop_per_byte, 147 * flop_per_byte),
       0.99319727891156462},
      {"003-007", v(weight_bytes(llama_3_70b, bf16)) / 1e9, 141.10741299200001},
      {"003-008", in_ms(moved(140 * GB)), 41.791044776119406},
      {"003-009", v(throughput_of(1.0, moved(140 * GB).time)), 23.928571428571427},
      {"003-010", fits(with_all_memory(llama_on(h100_sxm)), 1.0, 1.0).needed / 1e9,
       141.10774067200001},
      {"003-011", intensity_of(product(1, 8192, 8192)), 0.99975591896509641},
      {"003-013", intensity_of(weights_of_70b(300)) / intensity_of(weights_of_70b(147)),
       2.0407432485132539},
      {"003-014", v(kv_bytes(llama_3_70b, 8192.0)), 2684354560},
      {"003-015", v(kv_bytes(llama_3_70b, 8192.0)) / v(GiB), 2.5},
      {"003-016", kv_capacity(budget(80, 0), kv_bytes_per_token(llama_3_70b), 8192.0).sequences,
       29},
      {"003-017", v(kv_bytes(llama_3_70b, 4000.0)) / v(kv_bytes(llama_3_70b, 100.0)), 40},
      {"003-019",
       static_batch_efficiency(std::array{2000.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0}),
       0.13375000000000001},
      {"003-020", paged_waste(500.0, 16.0), 0.014778325123152709},
      {"003-022", v(shared_prefix_saving(2.0, 2000.0)) / (2 * 2000.0), 0.5},
      {"003-023", v(shared_prefix_saving(64.0, 2000.0)) / 2000.0, 63},
      {"003-024", v(shared_prefix_saving(64.0, 2000.0)), 126000},
      {"003-027", v(emitted_tokens(0.8, 4)), 3.3616000000000006},
      {"003-028", v(accepted_tokens(0.8, 4)), 2.3616000000000006},
      {"003-029", v(round_time(4, speculative_steps{{}, second / 15.0, second})) - 1,
       0.26666666666666661},
      {"003-029", v(round_time(4, speculative_steps{{}, second / 10.0, second})) - 1,
       0.39999999999999991},
      {"003-030", speculative_speedup(0.8, 4, 0.05), 2.8013333333333339},
      {"003-031", intensity_of(product(5, 8192, 8192)) / intensity_of(product(1, 8192, 8192)),
       4.9951231406973911},
      {"003-032", speculative_speedup(0.5, 4, 0.05), 1.6145833333333335},
      {"003-033", v(kv_bytes(llama_3_70b, 8 * 128000.0)), 335544320000},
      {"003-034",
       fits(llama_over_8(bf16), 8.0, 128000.0) ? v(kv_bytes(llama_3_70b, 8 * 128000.0)) / 1e9 : 0.0,
       335.54432000000003},
      {"003-035", v(kv_bytes(llama_3_70b, 128000.0, int8)) / v(kv_bytes(llama_3_70b, 128000.0)),
       0.5},
      {"003-036",
       v(kv_bytes(with_heads(128, 128), 4096.0)) / v(kv_bytes(with_heads(128, 16), 4096.0)), 8},
      {"003-037", v(kv_bytes(with_heads(64, 1, 1), 128000.0)), 65536000},
      {"003-038", v(kv_bytes(llama_3_70b, 128000.0)), 41943040000},
      {"003-039", v(kv_bytes(llama_3_70b, 128000.0)) / v(kv_bytes(llama_3_70b, 8192.0)), 15.625},
      {"003-040", in_ms(moved(kv_bytes(llama_3_70b, 128000.0))), 12.520310447761194},
      {"003-041",
       share_of(moved(140 * GB, 3.35 * TB_per_s, moved(kv_bytes(llama_3_70b, 128000.0)).time),
                "overhead"),
       0.23052841152923464},
      {"003-042", v(weight_cache_crossover(140 * GB, kv_bytes_per_token(llama_3_70b))),
       427246.09375},
      {"003-044", speedup_of_a_shorter_cache(4), 1.3989755360302192},
      {"003-044", speedup_of_a_shorter_cache(8), 1.9309429174038453},
      {"003-045", tensor_parallelism{}.all_reduces_per_layer, 2},
      {"003-046", v(emitted_tokens(1.0, 4)), 5},
      {"003-047", v(weight_bytes_per_device(llama_over_8(bf16))) / 1e9, 17.640734720000001},
      {"003-048", v(kv_bytes_available(budget(80, 17.5))) / 1e9, 62.5},
      {"003-049", kv_heads_per_rank(8.0, 8.0), 1},
      {"003-050", v(zero_memory(zero_stage::parameters, 8, 7e9, training_state{2, 0, 0})) / 1e9,
       1.75},
      {"003-051", v(kv_bytes_available(memory_budget{80 * GB, 1, 19.25 * GB, 1.75 * GB, {}})) / 1e9,
       59},
      {"003-054", v(kv_bytes(llama_3_70b, 128000.0)) / 1e9, 41.943040000000003},
      {"003-055", v(kv_bytes(llama_3_70b, 16.0)) / 1e6, 5.2428800000000004},
  });
}

TEST_CASE("published numbers of document 004") {
  check({
      {"004-001", v(h100_sxm.registers.bandwidth) / 1e12, 401.44896},
      {"004-002", v(catalog::per_clock(132, 128, 1.83 * GHz)) / 1e12, 30.91968},
      {"004-006", v(two_way(h100_sxm.fabric.bandwidth.quantity())) / 1e9, 900},
      {"004-007", v(two_way(h100_sxm.host.bandwidth.quantity())) / 1e9, 126.03076923076924},
      {"004-008", v(peak(h100_sxm, bf16)) / 1e12, 989.39999999999998},
      {"004-009", v(peak(h100_sxm, fp8)) / 1e12, 1978.9000000000001},
      {"004-010", v(peak(h100_sxm, fp8)) / v(peak(h100_sxm, bf16)), 2.0001010713563776},
      {"004-020", in_ms(moved(6 * GB)), 1.791044776119403},
      {"004-021", in_ms(step_bound(qwen_on_rtx_5080(), iteration{.batch = 1, .context = 1})),
       6.4286122666666667},
      {"004-022", share_of(moved(17.5 * GB, 3.35 * TB_per_s, 10.2 * ms), "overhead"),
       0.66131217340816717},
      {"004-025", v(all_reduce_of(llama_prompts()).message), 1073741824},
      {"004-026",
       v(repeated_collective(160.0, sent(link_of(450e9), collective_algorithm::tree, GiB)).wire),
       343597383680},
      {"004-027", v(communication_time(link_of(450e9), llama_prompts()).wire), 300647710720},
      {"004-028",
       in_ms(repeated_collective(160.0,
                                 sent(alternative_of(h100_sxm, "fabric.bandwidth", 750e9).fabric,
                                      collective_algorithm::tree, GiB))),
       458.12984490666668},
      {"004-029", in_ms(communication_time(link_of(370e9), llama_prompts())), 812.56138032432432},
      {"004-030",
       v(roofline(h100_sxm, product(65536, 8.75e9 / 8192, 8192), derated{0.5, 1, {}}).time),
       2.3183343440468973},
      {"004-032",
       v(collective_time(link_of(450e9), stage_transfer(32.0, 2048.0, 8192.0, bf16)).wire) /
           v(communication_time(link_of(450e9), llama_prompts()).wire),
       0.0035714285714285713},
      {"004-033", v(a100_sxm_80gb.dram.bandwidth) / 1e12, 2.0390000000000001},
      {"004-037", fits(llama_on(a100_sxm_80gb), 1.0, 1.0) ? 1.0 : 0.0, 0},
      {"004-038", v(peak(jetson_agx_orin_64gb, fp16)) / 1e12, 42.598399999999998},
      {"004-039", v(peak(jetson_orin_nx_16gb, fp16)) / 1e12, 15.040512},
      {"004-040", v(peak(jetson_orin_nano_8gb, fp16)) / 1e12, 10.24},
      {"004-041", v(jetson_agx_orin_64gb.dram.bandwidth) / 1e9, 204.80000000000001},
      {"004-042", v(jetson_orin_nx_16gb.dram.bandwidth) / 1e9, 102.40000000000001},
      {"004-045", v(peak(h100_sxm, fp16)) / 1e12, 989.39999999999998},
      {"004-046", v(peak(h100_sxm, fp16)) / v(peak(jetson_agx_orin_64gb, fp16)),
       23.226224459134617},
      {"004-047", v(h100_sxm.dram.bandwidth) / v(jetson_agx_orin_64gb.dram.bandwidth),
       16.357421875},
      {"004-048", v(h100_sxm.tdp) / v(jetson_agx_orin_64gb.tdp), 11.666666666666666},
      {"004-051", v(rtx_5080.dram.bandwidth) / 1e9, 960},
      {"004-052", v(peak_from_clock(84.0, 512 * flop, 2.617 * GHz)) / 1e12, 112.551936},
      {"004-053", v(sparse(peak(rtx_5080, bf16))) / 1e12, 225.19999999999999},
      {"004-054", v(ridge_point(alternative_of(rtx_5080, "matrix.peak.bf16", 225.1e12), bf16)),
       234.47916666666666},
      {"004-055", v(ridge_point(rtx_5080, bf16)), 117.29166666666667},
      {"004-056", intensity_of(product(128, 11008, 2048)), 119.16644113667118},
      {"004-057", v(ridge_point(101.5 * TFLOP_per_s, 1.276 * TB_per_s)), 79.545454545454547},
      {"004-066", mbu(16.5 * GB, 1 * second, rtx_5080.dram.bandwidth.quantity()),
       0.017187500000000001},
      {"004-067", mbu(80.2 * GB, 1 * second, rtx_5080.dram.bandwidth.quantity()),
       0.083541666666666667},
      {"004-072", v(weight_cache_crossover(24 * MB / 32.0, kv_bytes_per_token(qwen_2_5_3b))),
       20.345052083333332},
      {"004-076",
       v(weight_cache_crossover(weight_bytes(qwen_2_5_3b, bf16), kv_bytes_per_token(qwen_2_5_3b))),
       167422.88888888888},
      {"004-077", intensity_of(product(1, 11008, 2048)), 0.99942121091755087},
      {"004-078", intensity_of(product(2, 11008, 2048)), 1.9976861828822903},
      {"004-079", intensity_of(product(4, 11008, 2048)), 3.9907554266551863},
      {"004-080", intensity_of(product(8, 11008, 2048)), 7.9631069716972602},
      {"004-081", intensity_of(product(16, 11008, 2048)), 15.853105310531053},
      {"004-082", intensity_of(product(32, 11008, 2048)), 31.417766678558689},
      {"004-083", intensity_of(product(64, 11008, 2048)), 61.712683952347582},
      {"004-084", intensity_of(product(128, 11008, 2048)), 119.16644113667118},
      {"004-085", intensity_of(product(256, 11008, 2048)), 222.94683544303797},
      {"004-086", intensity_of(product(512, 11008, 2048)), 394.90582959641256},
      {"004-087", intensity_of(product(1024, 11008, 2048)), 642.80291970802921},
      {"004-088", intensity_of(product(2048, 11008, 2048)), 936.85106382978722},
      {"004-113", v(roofline(rtx_5080, product(1, 11008, 2048)).time) / 1e-6, 46.994666666666667},
      {"004-114", v(roofline(rtx_5080, product(2, 11008, 2048)).time) / 1e-6, 47.021866666666668},
      {"004-115", v(roofline(rtx_5080, product(4, 11008, 2048)).time) / 1e-6, 47.076266666666669},
      {"004-116", v(roofline(rtx_5080, product(8, 11008, 2048)).time) / 1e-6, 47.185066666666671},
      {"004-117", v(roofline(rtx_5080, product(16, 11008, 2048)).time) / 1e-6, 47.402666666666669},
      {"004-118", v(roofline(rtx_5080, product(32, 11008, 2048)).time) / 1e-6, 47.83786666666667},
      {"004-119", v(roofline(rtx_5080, product(64, 11008, 2048)).time) / 1e-6, 48.708266666666674},
      {"004-120", v(roofline(rtx_5080, product(128, 11008, 2048)).time) / 1e-6, 51.25543786856128},
      {"004-121", v(roofline(rtx_5080, product(256, 11008, 2048)).time) / 1e-6, 102.51087573712256},
      {"004-122", v(roofline(rtx_5080, product(512, 11008, 2048)).time) / 1e-6, 205.02175147424512},
      {"004-123", v(roofline(rtx_5080, product(1024, 11008, 2048)).time) / 1e-6,
       410.04350294849024},
      {"004-124", v(roofline(rtx_5080, product(2048, 11008, 2048)).time) / 1e-6,
       820.08700589698049},
      {"004-128", mfu(101.5 * TFLOP, 1 * second, peak(rtx_5080, bf16)), 0.90142095914742448},
      {"004-130", v(throughput_of(64.0, 19.4 * ms)), 3298.9690721649486},
      {"004-133", in_ms(step_bound(qwen_on_rtx_5080(), iteration{.batch = 64, .context = 1})),
       6.4334506666666673},
  });
}

TEST_CASE("published numbers with facts of accelerators that may be corrected") {
  const accelerator b200_as_printed = alternative_of(b200_sxm, "dram.bandwidth", 8e12);
  check({
      {"000-002", v(ridge_point(b200_as_printed, bf16)), 281.25},
      {"000-003", v(ridge_point(b200_as_printed, bf16)) / v(ridge_point(h100_sxm, bf16)) - 1,
       -0.047718314129775674},
      {"000-014",
       v(gb200.host.bandwidth) / v(alternative_of(gb200, "host.bandwidth", 64e9).host.bandwidth),
       7.03125},
      {"000-020", v(peak(h20, bf16)) / 1e12, 148},
      {"000-021", v(peak(h20, bf16)) / v(peak(h100_sxm, bf16)), 0.14958560743885183},
      {"000-022", v(h20.dram.bandwidth) / v(h100_sxm.dram.bandwidth), 1.1940298507462686},
      {"000-023", v(alternative_of(b200_sxm, "dram.capacity", 180e9).dram.capacity) / 1e9, 180},
      {"000-025", v(peak(b300_sxm, fp8)) / 1e12, 4500},
      {"000-026", v(b300_sxm.dram.capacity) / 1e9, 288.40034304},
      {"000-027", v(capacity(node{alternative_of(gb200, "dram.capacity", 192e9), 2, {}})) / 1e9,
       384},
      {"000-028", v(dram_bandwidth(node{gb200, 2, {}})) / 1e12, 16},
      {"000-029", v(peak(b200_sxm, fp4)) / 1e15, 9},
      {"000-029", v(peak(gb200, fp4)) / 1e15, 10},
      {"000-031", v(peak(alternative_of(vera_rubin_nvl72, "matrix.peak.fp4", 50e15), fp4)) / 1e15,
       50},
      {"000-032", v(peak(rubin_ultra_nvl576, fp4)) / 1e15, 104.16666666666667},
      {"000-033", v(alternative_of(rtx_pro_6000, "dram.bandwidth", 1792e9).dram.bandwidth) / 1e12,
       1.792},
      {"000-036", v(b200_as_printed.dram.bandwidth) / 1e12, 8},
      {"001-032", v(ridge_point(b200_as_printed, bf16)), 281.25},
      {"001-033", v(ridge_point(b200_as_printed, bf16)) / v(ridge_point(v100_sxm_32gb, fp16)),
       2.0249999999999999},
      {"001-034", computes(b200_as_printed, bf16, 200), 0},
      {"004-013", v(alternative_of(b200_sxm, "dram.capacity", 180e9).dram.capacity) / 1e9, 180},
      {"004-014", v(b200_as_printed.dram.bandwidth) / v(h100_sxm.dram.bandwidth),
       2.3880597014925371},
      {"004-015", v(peak(b200_sxm, fp8)) / v(peak(h100_sxm, fp8)), 2.2739906008388497},
      {"004-016", v(ridge_point(h100_sxm, fp8)) / v(ridge_point(b200_as_printed, fp8)),
       1.0501625207296847},
      {"004-017", v(two_way(b200_sxm.fabric.bandwidth.quantity())) / 1e9, 1800},
      {"004-018", v(peak(b200_sxm, fp4)) / 1e12, 9000},
      {"004-019", v(peak(b200_sxm, fp8)) / 1e15, 4.5},
      {"004-034",
       v(alternative_of(m3_ultra, "dram.capacity", 96 * 1073741824.0).dram.capacity) / v(GiB), 96},
      {"004-034",
       v(alternative_of(m3_ultra, "dram.capacity", 256 * 1073741824.0).dram.capacity) / v(GiB),
       256},
      {"004-034", v(m3_ultra.dram.capacity) / v(GiB), 512},
      {"004-035", v(m3_ultra.dram.bandwidth) / 1e9, 819.20000000000005},
      {"004-036",
       v(throughput_of(
           1.0,
           moved(140 * GB, alternative_of(m3_ultra, "dram.bandwidth", 800e9).dram.bandwidth).time)),
       5.7142857142857144},
      {"004-043", v(peak(jetson_thor, fp4)) / 1e12, 1035},
      {"004-044", v(jetson_thor.dram.bandwidth) / 1e9, 273.05599999999998},
      {"004-050", v(cerebras_wse3.dram.capacity) / 1e9, 44},
  });
}
