// What a profiler and a power meter say.
#include <algorithm>
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step/deployment.hpp>
#include <stdexcept>

#include "measured.hpp"
#include "predict.hpp"

namespace perfmodel::validation {

namespace {

/// Another quantity of the same kernel, model and batch (or load); 0 where there is none.
double beside(const question& q, std::string_view quantity, double batch) {
  for (const point& s : q.in.points) {
    const question other{q.on, q.in, s};
    if (s.quantity == quantity && other.word("kernel") == q.word("kernel") &&
        other.word("model") == q.word("model") && other.word("load") == q.word("load") &&
        other.number("batch") == batch) {
      return median_of(s);
    }
  }
  return 0.0;
}
double beside(const question& q, std::string_view quantity) {
  return beside(q, quantity, q.number("batch"));
}

prediction named(const question& q) {
  prediction p;
  p.size = q.number("batch");
  p.shape = shape_of(q, q.word("load").empty() ? "kernel batch" : "load");
  return p;
}

}  // namespace

/// The load of a point, from the first energy of the same load: its work and its time.
demand load_of(const question& q, duration<>& time) {
  demand d;
  for (const point& s : q.in.points) {
    const question at{q.on, q.in, s};
    if (s.quantity != "energy" || at.word("load") != q.word("load")) continue;
    const bool matrix = q.word("load").rfind("gemm", 0) == 0;
    d.format = q.word("load") == "gemm_fp8" ? fp8 : matrix ? bf16 : fp32;
    (matrix ? d.matrix_flop : d.vector_flop) = at.number("flop") * flop;
    d.dram = at.moved();
    time = at.number("seconds") * second;
    if (&s == &q.at || s.quantity != q.at.quantity) return d;
  }
  return d;
}

/// Costs at full clock; matrix work at the clock that the cap leaves of it.
energy_costs costs_under_cap(const question& q, const demand& d, double& clock_share) {
  energy_costs c = hopper_board_costs;
  c.matrix = c.matrix * (bits_of(d.format) / 16.0);
  clock_share = 1.0;
  if (!(d.matrix_flop.value() > 0.0)) return c;
  const double full = q.on.device.vector.clock / q.on.device.matrix.clock;
  const power<> dynamic = full * q.on.policy.matrix_rate(q.on.device, d) * c.matrix;
  constexpr double voltage_follows_clock = 3.0;
  clock_share = clock_under_cap(q.on.device.tdp.quantity(), c.idle, dynamic, voltage_follows_clock)
                    .clock_share;
  c.matrix = clock_share * clock_share * c.matrix;
  return c;
}

prediction predict_board(const question& q, bool as_power) {
  prediction p = named(q);
  duration<> time{};
  const demand d = load_of(q, time);
  const bool streams = q.word("load").rfind("memory", 0) == 0;
  if (q.on.device.architecture != chip_architecture::hopper) {
    p.note = "the library has the energies of a Hopper board alone";
    return p;
  }
  if (!(time.value() > 0.0) || (streams && !(d.dram.total().value() > 0.0))) {
    p.note = "the recording states no bytes of this load";
    return p;
  }
  double clock = 1.0;
  const energy_estimate e = energy_of(costs_under_cap(q, d, clock), d, time);
  p.value = as_power ? e.mean_power.value() : e.total.value();
  p.by = "energy_of, hopper_board_costs";
  return p;
}

prediction predict_energy(const question& q) {
  return predict_board(q, false);
}

prediction predict_power(const question& q) {
  return predict_board(q, true);
}

prediction predict_clock(const question& q) {
  prediction p = named(q);
  if (!q.word("method").empty()) p.shape += cat(", ", q.word("method"));
  duration<> time{};
  const demand d = load_of(q, time);
  if (q.on.device.architecture != chip_architecture::hopper) {
    p.note = "the library has the energies of a Hopper board alone";
    return p;
  }
  if (q.word("method") != "counted" && d.matrix_flop.value() > 0.0) {
    p.note = "a driver's reading is not the clock of the SMs under a power cap";
    return p;
  }
  double share = 1.0;
  costs_under_cap(q, d, share);
  p.value = share * q.on.device.vector.clock.value();
  p.by = "clock_under_cap, hopper_board_costs";
  return p;
}

prediction predict_kernel_time(const question& q) {
  prediction p = named(q);
  p.note = "the profile states no shape to predict from";
  return p;
}

prediction predict_elapsed_cycles(const question& q) {
  prediction p = named(q);
  p.value = beside(q, "kernel_time") * q.on.device.vector.clock.value();
  p.by = "time x the catalogue's clock";
  return p;
}

/// With fewer thread blocks than SMs, an SM that has a block is as busy as before, so the mean over
/// all SMs grows in proportion to the blocks, from the least batch to this one.
prediction predict_active_cycles(const question& q) {
  prediction p = named(q);
  const transformer* model = nullptr;
  for (const auto& m : catalog::models) {
    if (q.word("model") == m.key) model = m.model;
  }
  if (model == nullptr) {
    throw std::invalid_argument(cat("model \"", q.word("model"), "\" is not in the catalogue"));
  }
  double least = q.number("batch");
  for (const point& s : q.in.points) {
    if (s.quantity == "sm_active_cycles") least = (std::min)(least, number_of(s, "batch"));
  }
  if (least == q.number("batch")) {
    p.note = "what the other batches are predicted from";
    return p;
  }
  const double sms = q.on.device.sms.value();
  const double kv_heads = sharded_dims_of(*model).kv_heads.value_or(1.0);
  const auto busy = [&](double batch) { return (std::min)(sms, batch * kv_heads); };
  p.value = beside(q, "sm_active_cycles", least) * busy(q.number("batch")) / busy(least);
  p.by = "one thread block for each sequence and KV head, over the SMs";
  return p;
}

prediction predict_dram_share(const question& q) {
  prediction p = named(q);
  p.value = beside(q, "dram_rate") / q.on.device.dram.bandwidth.value();
  p.by = "rate / data-sheet bandwidth";
  return p;
}

}  // namespace perfmodel::validation
