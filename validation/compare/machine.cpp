#include "machine.hpp"

#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <stdexcept>

#include <napkin/io/formats.hpp>
#include "comparison.hpp"
#include "measured.hpp"
#include "predict_host.hpp"

namespace perfmodel::validation {

perfmodel::accelerator at_its_fastest(perfmodel::accelerator a, const device_description& d) {
  const double clock = (std::max)(a.vector.clock.value(), d.sm_clock_hz);
  const auto times = [&clock](const frequency<>& stated) {
    return stated.value() > 0.0 ? (std::max)(1.0, clock / stated.value()) : 1.0;
  };
  a.shared.bandwidth = times(a.vector.clock.quantity()) * a.shared.bandwidth.quantity();
  for (perfmodel::compute_unit* u : {&a.matrix, &a.vector}) {
    const double by = times(u->clock.quantity());
    peak_rates::fields(
        [by](const field&, auto& rate) {
          if (rate.is_stated()) rate = by * rate.quantity();
        },
        u->peak);
  }
  const double pins = d.memory_bus_bits / 8.0 * 2.0 * d.memory_clock_hz;
  if (pins > a.dram.bandwidth.value()) a.dram.bandwidth = bandwidth<>::from_value(pins);
  return a;
}

machine machine_of(const device_description& d, const std::vector<recorded>& all) {
  machine m;
  m.described = d;
  const bool cpu = d.kind == "cpu";
  if (cpu) m.host = host_of(d, all);
  if (d.accelerator.empty() && !cpu) return m;
  // Little's law needs the latency of DRAM and the deviation of single loads: both from the largest
  // working set that was chased.
  const auto chased = [&](std::string_view quantity, double largest, auto&& accept) {
    duration<> out{};
    for (const recorded& r : all) {
      if (r.device.name != d.name) continue;
      for (const point& p : r.points) {
        const double set = number_of(p, "working_set_bytes");
        if (p.quantity != quantity || set < largest || !accept(p)) continue;
        largest = set;
        out = duration<>::from_value(median_of(p));
      }
    }
    return out;
  };
  const auto any = [](const point&) { return true; };
  if (cpu) {
    m.memory_latency = chased("load_latency", 0.0, any);
    return m;
  }
  const perfmodel::accelerator* found = catalog::find_accelerator(d.accelerator);
  if (found == nullptr) {
    throw std::invalid_argument(
        cat("device.accelerator is \"", d.accelerator, "\"; allowed: empty, ",
            listed(catalog::accelerators, [](const auto& e) { return e.key; })));
  }
  m.known = true;
  m.device = *found;
  m.fastest = at_its_fastest(m.device, d);
  m.own_profile = catalog::measured_machine_of(m.device) != nullptr;
  m.policy = calibrated_for(m.device);
  m.links = m.policy.links;
  m.log_sigma = m.policy.note(profile_part::gemms).log_sigma;

  m.memory_latency = m.device.dram.latency.quantity();
  const double in_dram = 2.0 * m.device.l2.capacity.value();
  if (const duration<> own = chased("load_latency", in_dram, any); own.value() > 0.0) {
    m.memory_latency = own;
  }
  // Loads that took as long as DRAM does, and did not find their lines in the L2.
  m.memory_latency_spread = chased("load_latency_spread", in_dram, [&m](const point& p) {
    return number_of(p, "mean_latency") > 0.9 * m.memory_latency.value();
  });
  return m;
}

bool is_cold_gemm(const point& p) {
  return (p.quantity == "gemm_time" || p.quantity == "verify_time") &&
         word_of(p, "cache") != "warm";
}

std::optional<machine_fit> own_profile(const machine& m, const std::vector<recorded>& all) {
  std::vector<gemm_measurement> rows;
  for (const recorded& r : all) {
    for (const point& p : r.points) {
      if (!is_cold_gemm(p)) continue;
      gemm g{.m = number_of(p, "m"),
             .n = number_of(p, "n"),
             .k = number_of(p, "k"),
             .format = format_named(word_of(p, "format"))};
      g.weights = g.format;
      g.output = bits_of(g.format) < 16.0 ? bf16 : g.format;
      rows.push_back({g, duration<>::from_value(median_of(p)), number_of(p, "weight_copies")});
    }
  }
  if (!m.known || rows.empty()) return {};
  return fit_machine_from_prior(m.device, rows, catalog::machine_profile_of(m.device));
}

number_format format_named(const std::string& name) {
  if (const auto f = common::find_format(name)) return *f;
  throw std::invalid_argument(cat("format is \"", name, "\"; allowed: ", common::format_names()));
}

}  // namespace perfmodel::validation
