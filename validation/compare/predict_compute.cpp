// Arithmetic, the roofline's corner, products, what runs side by side, launches.
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/laws/overlap.hpp>

#include "measured.hpp"
#include "predict.hpp"

namespace perfmodel::validation {

namespace {

/// Rows of an mma instruction. On GPUs with taller tensor-core tiles mma reaches a part of the
/// peak. Source: assumed; 62.9 % is commonly quoted from Luo et al., Benchmarking and Dissecting
/// the Nvidia Hopper GPU Architecture, 2024, arXiv 2402.13499; the passage was not read.
constexpr double rows_of_mma = 16.0;
constexpr double mma_share = 0.629;

/// Elsewhere ptxas makes fp8 mma of fp16 ones. Assumed of other architectures than these.
bool has_fp8_mma(chip_architecture a) {
  return a == chip_architecture::ada || a == chip_architecture::blackwell_rtx;
}

prediction product(const question& q, const gemm& g, double weight_copies) {
  const estimate e = calibrated_estimate(q.on.device, g, {q.on.policy.machine, {}},
                                         perfmodel::replay_conditions(weight_copies));
  prediction p = bounded_by(q, demand_of(g), e, "calibrated_gemm");
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
    const bool narrow = unit == "mma" && instruction_rows_of(q.on.device) > rows_of_mma;
    const bool emulated =
        unit == "mma" && d.format == fp8 && !has_fp8_mma(q.on.device.architecture);
    const number_format computed = emulated ? fp16 : d.format;
    const char* law = "calibrated share of the matrix peak, launch floor";
    const duration<> start = q.on.policy.launch_time(q.on.device, d);
    if (narrow) {
      e.time = work / (mma_share * peak(q.on.device, computed)) + start;
      law = "share of the matrix peak that mma reaches, launch floor";
    } else if (unit == "wgmma") {
      e.time = work / peak(q.on.fastest, d.format) + start;
      law = "matrix peak at the highest clock, launch floor";
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
  p.bound = (work / vector_peak(q.on.device, d.format)).value();
  p.held_to = (work / vector_peak(q.on.fastest, d.format)).value();
  p.value = p.bound + q.on.policy.launch_time(q.on.device, d).value();
  p.by = "data-sheet rate of the vector units, launch floor";
  p.shape = unit;
  p.size = work.value();
  return p;
}

prediction predict_intensity(const question& q) {
  demand d;
  d.vector_flop = q.number("flop") * flop;
  d.dram = q.moved();
  prediction p = bounded_by(q, d, roofline(q.on.device, d, q.on.policy),
                            "roofline: max(flop / peak, bytes / share of the bandwidth), floor");
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
  p.by =
      by_sms ? "overlap_with_sm_copy, from the two alone" : "overlap_with_dma: the longer of two";
  return p;
}

prediction predict_launch(const question& q) {
  prediction p;
  const std::string mode = q.word("mode");
  p.shape = shape_of(q, "mode side kernels");
  if (!q.word("work").empty()) p.shape += cat("x", q.word("work"));
  p.size = q.number("kernels");
  if (q.word("side") != "device") {
    p.note = "depends on driver and host: measured, not predicted";
    return p;
  }
  if (p.size < 10.0) {
    p.note = "of few kernels it is the latency of a launch, which is not predicted";
    return p;
  }
  if (q.word("work") != "scale") {
    p.note = "a kernel that does nothing: the law is of one that reads and writes";
    return p;
  }
  if (mode == "stream" && flag_of(q.at, "queue_filled")) {
    p.note = "of a full queue; the law's time in a stream is at the rate of a host that launches";
    return p;
  }
  if (mode != "graph" && mode != "stream") return p;
  p.value = (mode == "graph" ? graph_kernel_time : stream_kernel_time).value();
  p.by = "floor of a small kernel, gpu-benches";
  return p;
}

}  // namespace perfmodel::validation
