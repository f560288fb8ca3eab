// Arithmetic, the roofline's corner, products, what runs side by side, launches.
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/laws/warp.hpp>

#include "measured.hpp"
#include "predict.hpp"

namespace perfmodel::validation {

namespace {

constexpr double rows_of_mma = 16.0;

/// Overlap of data and arithmetic in one kernel, a p-norm: assumed. At the corner the time is
/// 2^(1/4) of either.
constexpr double corner_overlap = 4.0;

/// Elsewhere ptxas makes fp8 mma of fp16 ones. Assumed of other architectures than these.
bool has_fp8_mma(chip_architecture a) {
  return a == chip_architecture::ada || a == chip_architecture::blackwell_rtx;
}

prediction product(const question& q, const gemm& g, double weight_copies) {
  const estimate e = calibrated_estimate(q.on.device, g, {q.on.policy.machine, {}},
                                         perfmodel::replay_conditions(weight_copies));
  prediction p = bounded_by(q, demand_of(g), e, "calibrated_estimate of gemm");
  p.warm = p.warm || weight_copies > 0.0;
  p.shape = shape_of(q, "m n k");
  return p;
}

}  // namespace

prediction predict_arithmetic(const question& q) {
  const std::string unit = q.word("unit");
  demand d;
  d.format = q.format();
  const flops<> work = q.number("flop") * flop;
  if (unit == "cublaslt" && q.number("m") > 0.0) return predict_gemm(q);
  if (unit == "mma" || unit == "wgmma" || unit == "cublaslt") {
    d.matrix_flop = work;
    estimate e = roofline(q.on.device, d, q.on.policy);
    const bool emulated =
        unit == "mma" && d.format == fp8 && !has_fp8_mma(q.on.device.architecture);
    const number_format computed = emulated ? fp16 : d.format;
    const char* law = "roofline, calibrated policy";
    if (unit != "cublaslt") {
      const double share = unit == "mma" ? matrix_instruction_share(q.on.device, rows_of_mma) : 1.0;
      e.time =
          work / (share * peak(q.on.device, computed)) + q.on.policy.launch_time(q.on.device, d);
      law = "peak, matrix_instruction_share";
    }
    prediction p = bounded_by(q, d, e, law);
    if (emulated) {
      d.format = computed;
      p.held_to = held_to(q, d, false);
      p.why_held = "not possible on this architecture by mma, which computes fp8 as fp16";
    }
    p.shape = unit;
    p.size = work.value();
    return p;
  }
  prediction p;
  d.vector_flop = work;
  p.bound = roofline(q.on.device, d).time.value();
  p.held_to = roofline(q.on.fastest, d).time.value();
  p.value = roofline(q.on.device, d, q.on.policy).time.value();
  p.by = "roofline";
  p.shape = unit;
  p.size = work.value();
  return p;
}

prediction predict_intensity(const question& q) {
  demand d;
  d.vector_flop = q.number("flop") * flop;
  d.dram = q.moved();
  prediction p = bounded_by(q, d, roofline(q.on.device, d, q.on.policy), "roofline");
  p.shape = shape_of(q, "flop_per_byte");
  p.size = q.number("flop_per_byte");
  return p;
}

/// The iron law on a point of the roofline: data and arithmetic overlap but for the round corner.
prediction predict_iron_law(const question& q) {
  demand d;
  d.vector_flop = q.number("flop") * flop;
  d.dram = q.moved();
  prediction p =
      bounded_by(q, d, iron_law(q.on.device, d, duration<>{}, overlap{corner_overlap}, q.on.policy),
                 "iron_law");
  p.shape = shape_of(q, "flop_per_byte");
  p.size = q.number("flop_per_byte");
  return p;
}

prediction predict_gemm(const question& q) {
  gemm g{.m = q.number("m"), .n = q.number("n"), .k = q.number("k"), .format = q.format()};
  g.weights = g.format;
  g.output = bits_of(g.format) < 16.0 ? bf16 : g.format;
  return product(q, g, q.number("weight_copies"));
}

prediction predict_gemv(const question& q) {
  gemm g{.m = q.number("m"), .n = q.number("n"), .k = q.number("k")};
  const number_format stored = format_named(q.word("weights"));
  const double block = q.number("scale_block");
  g.weights = block > 0.0 && bits_of(stored) < 16.0 ? storage_format(stored, block, 16.0)
                                                    : storage_format(stored);
  prediction p = product(q, g, q.number("weight_copies"));
  p.shape = cat(q.word("weights"), " ", p.shape);
  return p;
}

prediction predict_overlap(const question& q) {
  prediction p;
  p.shape = shape_of(q, "other arrangement m n k bytes");
  p.size = q.number("bytes");
  if (q.word("arrangement") != "together") {
    p.note = "what the law of overlap starts from";
    return p;
  }
  double compute = 0.0, other = 0.0;
  for (const point& s : q.in.points) {
    const question alone{q.on, q.in, s};
    bool same = s.quantity == "overlap_time" && alone.word("other") == q.word("other");
    for (const char* name : {"m", "n", "k", "bytes"}) {
      same = same && alone.number(name) == q.number(name);
    }
    if (!same) continue;
    if (alone.word("arrangement") == "compute_alone") compute = median_of(s);
    if (alone.word("arrangement") == "other_alone") other = median_of(s);
  }
  if (!(compute > 0.0 && other > 0.0)) {
    p.note = "the two alone were not measured";
    return p;
  }
  const duration<> a = duration<>::from_value(compute);
  const duration<> b = duration<>::from_value(other);
  // A copy by SMs has one thread block on each SM that it takes.
  const double taken = q.number("blocks");
  const bool by_sms =
      q.word("other") == "sm_copy" && taken > 0.0 && q.on.known && taken < q.on.device.sms.value();
  p.value =
      (by_sms ? overlap_with_sm_copy(a, b, q.on.device.sms.value(), taken) : overlap_with_dma(a, b))
          .value();
  p.by = by_sms ? "overlap_with_sm_copy" : "overlap_with_dma";
  return p;
}

/// Costs of launches, measured by the empty kernels of the same recording. None has a default.
launch_costs costs_of(const question& q) {
  const auto per_kernel = [&](std::string_view mode, std::string_view side, bool most) {
    double kernels = 0.0, seconds = 0.0;
    for (const point& s : q.in.points) {
      const question other{q.on, q.in, s};
      const double n = other.number("kernels");
      if (s.quantity != "launch_time" || other.word("mode") != mode || other.word("side") != side ||
          other.word("work") == "scale" || (kernels > 0.0 && (n > kernels) != most)) {
        continue;
      }
      kernels = n;
      seconds = median_of(s);
    }
    return duration<>::from_value(seconds);
  };
  launch_costs c;
  c.cpu = per_kernel("stream", "host", true);
  c.gap = per_kernel("stream", "device", true);
  c.node = per_kernel("graph", "device", true);
  const duration<> first = per_kernel("graph", "device", false);
  c.replay = max(duration<>(first - c.node), duration<>{});
  c.synchronise = max(duration<>(per_kernel("stream_sync", "host", true) - c.cpu), duration<>{});
  return c;
}

prediction predict_launch(const question& q) {
  prediction p;
  const std::string mode = q.word("mode");
  const bool scales = q.word("work") == "scale";
  p.shape = shape_of(q, "mode side kernels");
  if (!q.word("work").empty()) p.shape += cat("x", q.word("work"));
  p.size = q.number("kernels");
  if (q.word("side") != "device" || (mode != "graph" && mode != "stream")) {
    p.note = "a cost of the driver and the host, which the laws take from the recording";
    return p;
  }
  const launch_costs c = costs_of(q);
  if (scales && p.size < 10.0) {
    p.note = "of few kernels it is the latency of a launch, which is not predicted";
    return p;
  }
  if (scales && mode == "graph") {
    p.value = graph_kernel_time.value();
    p.by = "graph_kernel_time";
    return p;
  }
  double most = 0.0, least = p.size;
  for (const point& s : q.in.points) {
    const question other{q.on, q.in, s};
    if (other.word("mode") != mode || other.word("work") == "scale") continue;
    most = (std::max)(most, other.number("kernels"));
    least = (std::min)(least, other.number("kernels"));
  }
  if (!scales && (p.size == most || p.size == least)) {
    p.note = "the launch costs are taken from it";
    return p;
  }
  if (scales && !flag_of(q.at, "queue_filled")) {  // the host cannot keep up
    p.value = stream_kernel_time.value();
    p.by = "stream_kernel_time";
    return p;
  }
  if (!(c.gap.value() > 0.0 && c.node.value() > 0.0)) {
    p.note = "the launch costs of empty kernels were not measured";
    return p;
  }
  if (scales) {  // a kernel in a stream, from the same kernel in a graph
    const duration<> alone = max(duration<>(graph_kernel_time - c.node), duration<>{});
    p.value =
        (stream_launch_time({.cpu = {}, .gap = c.gap}, p.size, duration<>(p.size * alone)).time /
         p.size)
            .value();
    p.by = "stream_launch_time, launch_costs of empty kernels";
    return p;
  }
  p.value = (graph_time(c, p.size, duration<>{}).time / p.size).value();
  p.by = "graph_time, launch_costs of other lengths";
  return p;
}

}  // namespace perfmodel::validation
