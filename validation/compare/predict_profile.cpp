// What a profiler and a power meter say.
#include <algorithm>
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

prediction predict_energy(const question& q) {
  prediction p = named(q);
  const double watts = beside(q, "power");
  p.value = watts * q.number("seconds");
  p.by = "mean power x seconds";
  if (watts == 0.0) p.note = "no power was recorded of this load";
  return p;
}

prediction predict_power(const question& q) {
  prediction p = named(q);
  p.note = cat("no law of power is calibrated; the data sheet allows ",
               amount(q.on.device.tdp.value(), "W"));
  return p;
}

prediction predict_clock(const question& q) {
  prediction p = named(q);
  p.value = q.on.described.sm_clock_hz;
  p.by = "the highest clock of the device";
  if (!q.word("method").empty()) p.shape += cat(", ", q.word("method"));
  if (p.value == 0.0) p.note = "the driver states no clock";
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
