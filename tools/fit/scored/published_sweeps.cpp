// Sweeps of gpu-benches that the folder of published tables does not hold: figures of its program
// output, https://github.com/te42kyfo/gpu-benches, by path and commit. Its h200 is a GH200.
#include <array>
#include <cmath>
#include <numeric>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/tools/fit/calibration.hpp>
#include <span>

#include "published.hpp"

namespace perfmodel::validation {

namespace {

const accelerator& gh200 = catalog::gh200_96gb;

comparison figure(const char* quantity, const accelerator& a, const char* unit, double size,
                  double measured) {
  comparison c;
  c.table = "gpu-benches";
  c.quantity = quantity;
  c.device = a.name.view();
  c.unit = unit;
  c.size = size;
  c.measured = measured;
  return c;
}

/// gpu-l2-cache/h200.txt, 3088b333: kB of 1024 bytes, GB/s. All SMs read the same set.
struct read_set {
  double kib, gb_per_s;
};
constexpr read_set read_sets[] = {
    {1536, 13526.6},   {2048, 11745.0},  {3072, 11049.3},  {4096, 10619.2},  {6144, 10260.0},
    {8192, 10251.9},   {10240, 10084.5}, {12288, 9716.0},  {14336, 9836.4},  {16896, 9765.2},
    {19968, 9885.0},   {23552, 9766.9},  {28160, 9780.0},  {33792, 9628.8},  {36864, 9477.3},
    {40448, 9666.0},   {44032, 9105.3},  {48128, 7542.5},  {52736, 6467.1},  {57856, 5053.8},
    {63488, 4463.9},   {69632, 4201.3},  {76288, 4017.5},  {83456, 3946.8},  {100352, 3903.5},
    {120832, 3889.9},  {159744, 3887.9}, {256000, 3887.6}, {547328, 3889.7}, {1064448, 3888.8},
    {2278400, 3888.5}, {4881920, 3888.2}};

/// gpu-strides/h200.txt, 0a45416b: cycles of a warp's load from L1 where its lanes are `stride`
/// elements apart, of floats and of doubles.
struct strided {
  int stride;
  double floats, doubles;
};
constexpr strided strides[] = {{1, 1.01, 2.01}, {2, 2.01, 4.01}, {3, 1.63, 2.32}, {4, 4.01, 8.0},
                               {5, 2.00, 3.16}, {6, 2.32, 4.01}, {7, 2.41, 4.32}, {8, 8.0, 16.0},
                               {9, 3.00, 5.3},  {10, 3.16, 5.5}, {11, 3.41, 6.0}, {12, 4.01, 8.0},
                               {13, 4.10, 7.0}, {14, 4.25, 7.0}, {15, 4.60, 8.0}};

/// gpu-roofline, e4e93a37: GB/s, GFLOP/s in fp32 and watts of the board.
struct intensity {
  double gb_per_s, gflop_per_s, watts;
};
/// h200.txt
constexpr intensity sweep_gh200[] = {
    {3759, 940, 572},   {3780, 1890, 578},  {3763, 2822, 583},  {3779, 4724, 597},
    {3760, 8459, 615},  {3735, 15874, 650}, {3629, 22683, 675}, {3232, 26667, 653},
    {2690, 27571, 595}, {2323, 28456, 558}, {2204, 35812, 583}, {1838, 37227, 547},
    {1578, 38276, 519}, {1213, 39109, 491}, {989, 39827, 467},  {784, 40956, 442},
    {642, 41232, 428},  {520, 41724, 413},  {415, 42442, 396}};
/// alex_a100_40.txt, the first of its GPUs
constexpr intensity sweep_a100[] = {{1372, 343, 227},   {1368, 684, 230},   {1363, 1704, 236},
                                    {1322, 8263, 262},  {1284, 13166, 284}, {1240, 15191, 292},
                                    {1150, 16384, 291}, {936, 17074, 258},  {724, 17554, 237},
                                    {554, 17863, 224},  {452, 18204, 214},  {359, 18755, 203}};

void add_reads(std::vector<comparison>& out) {
  for (const read_set& r : read_sets) {
    const double bytes = r.kib * 1024.0;
    comparison c = figure("read time", gh200, "s", bytes, bytes / (r.gb_per_s * 1e9));
    read_again(c, gh200);
    out.push_back(c);
  }
}

/// Lanes with different words in the same one of the 32 banks of 4 bytes are served one after the
/// other; a double is two words.
void add_strides(std::vector<comparison>& out) {
  for (const strided& s : strides) {
    for (const bool wide : {false, true}) {
      comparison c =
          figure("L1 load, cycles per warp", gh200, "cycle", s.stride, wide ? s.doubles : s.floats);
      const double ways = std::gcd(s.stride, 32);
      c.predicted = wide ? 2.0 * ways : ways;
      c.regime = ways == s.stride ? "power-of-2 stride" : "other stride";
      c.bound = c.held_to = wide ? 2.0 : 1.0;
      c.by = "ways of a bank conflict x bytes / 128 B a clock";
      out.push_back(c);
    }
  }
}

void add_sweep(const accelerator& a, std::span<const intensity> rows,
               std::vector<comparison>& out) {
  using point = dual<3>;
  std::vector<double> watts;
  for (const intensity& r : rows) watts.push_back(r.watts);
  const auto power_at = [&](const std::array<point, 3>& v, std::size_t i) {
    basic_energy_costs<point> costs;
    costs.vector = v[0] * 1e-12 * lift<point>(joule / flop);
    costs.dram = v[1] * 1e-12 * lift<point>(joule / byte);
    costs.idle = v[2] * lift<point>(watt);
    basic_demand<point> d;
    d.vector_flop = lift<point>(rows[i].gflop_per_s * 1e9 * flop);
    d.dram.read = lift<point>(rows[i].gb_per_s * 1e9 * byte);
    return energy_of(costs, d, lift<point>(1.0 * second)).mean_power.value();
  };
  const auto fit = fit_log_ratios(
      std::array<fitted_parameter, 3>{
          {{"pJ/FLOP", 5.0, 0.0, 50.0}, {"pJ/B", 80.0, 0.0, 500.0}, {"idle W", 60.0, 0.0, 300.0}}},
      std::span<const double>(watts), power_at);
  const double share = catalog::machine_profile_of(a).value.dram_share;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double per_byte = rows[i].gflop_per_s / rows[i].gb_per_s;
    comparison c =
        figure("intensity sweep: time per byte", a, "s", per_byte, 1e-9 / rows[i].gb_per_s);
    const double compute = per_byte / vector_peak(a).value();
    const double memory = 1.0 / a.dram.bandwidth.value();
    c.regime = compute > memory ? "arithmetic" : "bytes";
    c.predicted = (std::max)(compute, memory / share);
    c.bound = c.held_to = (std::max)(compute, memory);
    c.by = "roofline: max(FLOP / peak, bytes / share of the bandwidth)";
    out.push_back(c);
    comparison p = figure("intensity sweep: power", a, "W", per_byte, rows[i].watts);
    p.regime = c.regime;
    p.predicted = rows[i].watts / std::exp(fit.residual[i]);
    p.fitted = true;
    p.by = "energy_of: FLOP, bytes and idle power, three numbers fitted to the sweep";
    out.push_back(p);
  }
}

}  // namespace

std::vector<comparison> published_sweeps() {
  std::vector<comparison> out;
  add_reads(out);
  add_strides(out);
  add_sweep(gh200, sweep_gh200, out);
  add_sweep(catalog::a100_sxm_40gb, sweep_a100, out);
  return out;
}

}  // namespace perfmodel::validation
