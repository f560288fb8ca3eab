#include "fit_host.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/roofline.hpp>

namespace perfmodel::validation {
namespace {

double number(const point& p, const char* name, double otherwise = 0.0) {
  for (const parameter& q : p.parameters) {
    if (q.name != name) continue;
    if (const double* v = std::get_if<double>(&q.is)) return *v;
  }
  return otherwise;
}
std::string word(const point& p, const char* name) {
  for (const parameter& q : p.parameters) {
    if (q.name != name) continue;
    if (const std::string* v = std::get_if<std::string>(&q.is)) return *v;
  }
  return {};
}
double fastest(const point& p) {
  return *std::min_element(p.samples.begin(), p.samples.end());
}
double median(const point& p) {
  return perfmodel::detail::quantile(p.samples, 0.5);
}

/// Every third of the sizes, which double from 16 KiB on, is held out.
bool held_out_size(double bytes) {
  return std::lround(std::log2(bytes / 16384.0)) % 3 == 2;
}

double working_set(const point& p) {
  return number(p, "working_set_bytes", number(p, "bytes_read") + number(p, "bytes_written"));
}

/// The nearest level that can hold what a point works on; cold, it is DRAM whatever its size.
std::size_t first_level(const host_machine& h, const point& p) {
  if (word(p, "cache") == "cold") return host_levels - 1;
  const double set = working_set(p);
  std::size_t l = 0;
  while (l + 1 < host_levels && h.capacity[l].value() < set) ++l;
  return l;
}

/// B/s if every cache kept as much of a working set as fits in it, which no replacement surpasses.
double fastest_mix(const host_fit& h, const point& p) {
  if (first_level(h.machine, p) == 0) return h.fastest_bytes[0];
  const double set = working_set(p);
  double seconds_a_byte = 0, nearer = 0;
  for (std::size_t l = 0; l < host_levels; ++l) {
    const bool farthest = l + 1 == host_levels;
    const bool cold = word(p, "cache") == "cold";
    const double kept = farthest ? 1.0
                        : cold   ? 0.0
                                 : (std::min)(1.0, h.machine.capacity[l].value() / set);
    if (h.fastest_bytes[l] > 0.0) seconds_a_byte += (kept - nearer) / h.fastest_bytes[l];
    nearer = kept;
  }
  return 1.0 / seconds_a_byte;
}

demand demand_of_point(const point& p) {
  demand d;
  d.vector_flop = flops<>::from_value(p.quantity == "stream_time" ? 0.0 : number(p, "flop"));
  d.dram = {number(p, "bytes_read") * byte, number(p, "bytes_written") * byte};
  return d;
}

constexpr double cache_line = 64.0;
constexpr const char* too_few = "the recordings of this CPU are not all there; measure it again";

template <Scalar T>
duration<T> time_of(const basic_host_machine<T>& h, const point& p) {
  if (p.quantity == "gemm_time")
    return product_time(h, number(p, "m"), number(p, "n"), number(p, "k"));
  const auto bytes_of = [&](const char* name) { return bytes<T>::from_value(T(number(p, name))); };
  return stream_time(h, bytes_of("bytes_read"), bytes_of("bytes_written"),
                     bytes_of("working_set_bytes"), word(p, "cache") == "cold");
}

std::array<fitted_parameter, 9> stream_parameters() {
  return {{{"L1 loads [GB/s]", 300, 5, 5000},
           {"L2 bandwidth [GB/s]", 100, 2, 2000},
           {"L3 bandwidth [GB/s]", 50, 1, 1000},
           {"DRAM bandwidth [GB/s]", 20, 0.2, 500},
           {"share of L2", 1.0, 0.1, 2.0},
           {"share of the last cache", 0.6, 0.02, 2.0},
           {"call [ns]", 5, 0.01, 1000},
           {"L1 stores [GB/s]", 200, 5, 5000},
           {"cold start [ns]", 300, 1, 10000}}};
}
std::array<fitted_parameter, 5> product_parameters() {
  return {{{"share of the multiply-adds", 0.6, 0.02, 1.05},
           {"share of the stream, one row", 0.8, 0.02, 2.0},
           {"packing from L2 [GB/s]", 30, 0.5, 1000},
           {"packing from L3 [GB/s]", 12, 0.2, 1000},
           {"packing from DRAM [GB/s]", 7, 0.1, 500}}};
}

template <Scalar T>
void set_stream(basic_host_machine<T>& h, const std::array<T, 9>& v) {
  for (std::size_t l = 0; l < host_levels; ++l) h.bandwidth[l] = v[l] * GB_per_s;
  h.capacity_share = {v[4], v[5]};
  h.call = v[6] * ns;
  h.l1_stores = v[7] * GB_per_s;
  h.cold_start = v[8] * ns;
}
template <Scalar T>
void set_product(basic_host_machine<T>& h, const std::array<T, 5>& v) {
  h.compute_share = v[0];
  h.vector_share = v[1];
  for (std::size_t l = 0; l < 3; ++l) h.packing[l] = v[2 + l] * GB_per_s;
}

template <Scalar T>
basic_host_machine<T> lifted(const host_machine& h) {
  basic_host_machine<T> out;
  for (std::size_t l = 0; l < h.capacity.size(); ++l) out.capacity[l] = lift<T>(h.capacity[l]);
  out.multiply_adds = lift<T>(h.multiply_adds);
  for (std::size_t l = 0; l < host_levels; ++l) out.bandwidth[l] = lift<T>(h.bandwidth[l]);
  out.capacity_share = {T(h.capacity_share[0]), T(h.capacity_share[1])};
  out.call = lift<T>(h.call);
  out.l1_stores = lift<T>(h.l1_stores);
  out.cold_start = lift<T>(h.cold_start);
  return out;
}

/// Fits N parameters of a machine, the others being what they are.
template <std::size_t N, class Set>
fit_result<N> fit(const std::array<fitted_parameter, N>& parameters, const host_machine& known,
                  const std::vector<point>& rows, Set set) {
  std::vector<double> seconds;
  for (const point& p : rows) seconds.push_back(median(p));
  // A CPU without an L3, or with a huge one, leaves a parameter open; it is then never used either.
  fit_options options;
  options.refuse = false;
  const auto known_lifted = lifted<dual<N>>(known);
  return fit_log_ratios(
      parameters, std::span<const double>(seconds),
      [&](const std::array<dual<N>, N>& v, std::size_t i) {
        auto h = known_lifted;
        set(h, v);
        return time_of(h, rows[i]).value();
      },
      options);
}

}  // namespace

accelerator host_fit::reached() const {
  accelerator a;
  a.vector.peak.fp32 = machine.multiply_adds;
  a.dram.bandwidth = machine.bandwidth[host_levels - 1];
  return a;
}

accelerator host_fit::ceiling() const {
  accelerator a;
  a.vector.peak.fp32 = ceiling_margin * fastest_flop * flop_per_s;
  a.dram.bandwidth = ceiling_margin * fastest_bytes[host_levels - 1] * byte_per_s;
  return a;
}

bool fitted_to(const point& p) {
  if (p.quantity == "stream_time") {
    return word(p, "kernel") != "triad" && !held_out_size(number(p, "working_set_bytes"));
  }
  if (p.quantity == "gemm_time") {
    const double n = number(p, "n"), k = number(p, "k");
    return n == 256.0 || n == 2048.0 || n == 8192.0 || (n == 1024.0 && k == 1024.0);
  }
  if (p.quantity == "bytes_in_flight_time") return number(p, "chains") == 1.0;
  if (p.quantity == "overlap_time") return word(p, "arrangement") != "together";
  return p.quantity == "arithmetic_time";
}

host_fit fit_host(const device_description& on, const std::vector<point>& measured) {
  host_fit out;
  host_machine& h = out.machine;
  // Three cache levels; one that is missing is as large as its neighbour, and serves nothing.
  for (std::size_t l = 0; l < h.capacity.size(); ++l) {
    double size = l == 0 ? 32e3 : h.capacity[l - 1].value();
    if (l < on.caches.size()) size = on.caches[l].bytes;
    h.capacity[l] = size * byte;
  }
  std::vector<point> streams, products;
  for (const point& p : measured) {
    const double moved = number(p, "bytes_read") + number(p, "bytes_written");
    if (p.quantity == "stream_time") {
      const std::size_t farthest = first_level(h, p);
      for (std::size_t l = 0; l <= farthest; ++l) {
        out.fastest_bytes[l] = (std::max)(out.fastest_bytes[l], moved / fastest(p));
      }
    }
    if (p.quantity == "arithmetic_time" && word(p, "format") == "fp32") {
      out.fastest_flop = (std::max)(out.fastest_flop, number(p, "flop") / fastest(p));
      h.multiply_adds = number(p, "flop") / median(p) * flop_per_s;
    }
    if (p.quantity == "bytes_in_flight_time" && fitted_to(p)) {
      out.memory_latency = median(p) / (moved / cache_line);
    }
    if (p.quantity == "overlap_time" && fitted_to(p)) {
      (word(p, "arrangement") == "compute_alone" ? out.compute_alone : out.copy_alone) = median(p);
    }
    if (p.quantity == "stream_time" && fitted_to(p)) streams.push_back(p);
    if (p.quantity == "gemm_time" && fitted_to(p)) products.push_back(p);
  }
  if (streams.empty() || products.empty() || !(out.fastest_flop > 0.0)) {
    throw error(error_code::unidentifiable, too_few);
  }
  const auto stream =
      fit(stream_parameters(), h, streams, [](auto& m, const auto& v) { set_stream(m, v); });
  set_stream(h, stream.value);
  out.stream_error = stream.standard_error;
  const auto product =
      fit(product_parameters(), h, products, [](auto& m, const auto& v) { set_product(m, v); });
  set_product(h, product.value);
  out.product_error = product.standard_error;
  return out;
}

double predicted_seconds(const host_fit& h, const point& p) {
  const double moved = number(p, "bytes_read") + number(p, "bytes_written");
  if (p.quantity == "stream_time" || p.quantity == "gemm_time")
    return time_of(h.machine, p).value();
  if (p.quantity == "intensity_time") {
    return roofline(h.reached(), demand_of_point(p)).time.value();
  }
  if (p.quantity == "bytes_in_flight_time" && h.memory_latency > 0.0) {
    return (moved * byte /
            attainable_bandwidth(h.machine.bandwidth[host_levels - 1],
                                 number(p, "chains") * cache_line * byte,
                                 duration<>::from_value(h.memory_latency)))
        .value();
  }
  if (p.quantity == "overlap_time" && word(p, "arrangement") == "together" &&
      h.compute_alone > 0.0 && h.copy_alone > 0.0) {
    return overlap_with_dma(duration<>::from_value(h.compute_alone),
                            duration<>::from_value(h.copy_alone))
        .value();
  }
  return 0.0;
}

double least_seconds(const host_fit& h, const point& p) {
  const bool known = p.quantity == "stream_time" || p.quantity == "gemm_time" ||
                     p.quantity == "intensity_time" || p.quantity == "bytes_in_flight_time";
  if (!known || !(h.fastest_bytes[host_levels - 1] > 0.0)) return 0.0;
  accelerator a = h.ceiling();
  a.dram.bandwidth = ceiling_margin * fastest_mix(h, p) * byte_per_s;
  return roofline(a, demand_of_point(p)).time.value();
}

}  // namespace perfmodel::validation
