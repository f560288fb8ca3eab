// Diagnosis of a measured engine step: the flowchart of causes, and the kinds of memory bottleneck.
#pragma once

#include <algorithm>
#include <perfmodel/tools/diagnose/findings.hpp>
#include <perfmodel/units/text.hpp>

namespace perfmodel::inline v0_3 {

/// Causes, the likeliest first, with the bound of the step.
struct diagnosis {
  std::vector<finding> findings{};
  estimate bound{};
  decode_stage stage = decode_stage::bandwidth;
  double dram_share = 0.0;     ///< share of peak DRAM bandwidth, measured or from the model's bytes
  double compute_share = 0.0;  ///< share of peak FLOP/s, measured or from the model's FLOP
  double intensity = 0.0;      ///< FLOP per byte
  double ridge = 0.0;          ///< FLOP per byte at the ridge point

  const finding& cause() const { return findings.front(); }
};

/// Thresholds of the flowchart. 0.1 for launch gaps is the textbook rule for CUDA graphs; the
/// others are policy.
struct diagnosis_thresholds {
  double main_share = 0.25;        ///< share of the time that makes a cause the main one
  double least_share = 0.1;        ///< share of the time from which a cause is reported
  double saturated_share = 0.6;    ///< share of peak from which DRAM is saturated
  double idle_share = 0.2;         ///< share of peak below which a pipe is idle
  double scattered_sectors = 8.0;  ///< sectors per request of a scattered access
  double refetch_ratio = 1.5;      ///< DRAM bytes over the bytes of the model

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::fraction("main_share"), s.main_share...);
    f(field::fraction("least_share"), s.least_share...);
    f(field::fraction("saturated_share"), s.saturated_share...);
    f(field::fraction("idle_share"), s.idle_share...);
    f(field::count("scattered_sectors"), s.scattered_sectors...);
    f(field::count("refetch_ratio"), s.refetch_ratio...);
  }
};

/// Calibrated prediction of a step, with its 80 % interval.
struct step_prediction {
  estimate value{};
  duration<> low{}, high{};
};

namespace detail {

/// Collects the findings of one measured step.
class diagnostician {
 public:
  diagnostician(const deployment& d, const iteration& i, const measured_step& m,
                const duration<>& cpu, const diagnosis_thresholds& limits,
                const std::optional<step_prediction>& predicted)
      : m_(m), limits_(limits), predicted_(predicted), demand_(demand_of_step(d, i)) {
    out_.bound = step_bound(d, i);
    out_.stage = decode_stage_of(d, i, cpu);
    launch_time_ = demand_.launches * cpu;
    if (d.device.l2.capacity.is_stated()) l2_ = d.device.l2.capacity.quantity();
    expected_ = demand_.weights + demand_.cache;
    const bytes<> moved = m.dram ? *m.dram * m.time : expected_;
    const flops<> done = m.achieved ? *m.achieved * m.time : demand_.matrix_flop;
    out_.dram_share = moved / (d.device.dram.bandwidth.quantity() * m.time);
    const flop_rate<> peak_rate = peak(d.device, formats_of(d).linear.format);
    out_.compute_share = m.achieved ? double(*m.achieved / peak_rate) : demand_.compute / m.time;
    out_.intensity = done.value() / (std::max)(moved.value(), 1.0);
    out_.ridge = peak_rate.value() / d.device.dram.bandwidth.quantity().value();
    refetched_ = moved / expected_;
  }

  diagnosis result() {
    if (m_.time < out_.bound.time * (1.0 - 1e-9)) impossible();
    contradictions();
    expected();
    host_and_input();
    links();
    memory_of_the_trace();
    pipes();
    rank();
    return out_;
  }

 private:
  void add(bottleneck cause, double share, std::string evidence) {
    out_.findings.push_back({cause, (std::min)(1.0, (std::max)(0.0, share)), std::move(evidence)});
  }
  static std::string percent(double x) { return significant(100.0 * x, 3) + " %"; }

  void impossible() {
    add(bottleneck::measurement, 1.0,
        to_string(m_.time, 3) + " is below the bound of " + to_string(out_.bound.time, 3) +
            ", which no hardware can beat");
  }

  void contradict(const std::string& evidence) { add(bottleneck::contradiction, 1.0, evidence); }

  /// Measurements that cannot hold together, or that no step of the model has. The most DRAM bytes
  /// of a step are those of the worst kernels: weights dequantised to memory, keys and values
  /// repeated for each query head, every intermediate written and read.
  void contradictions() {
    constexpr double slack = 1.02, overlap = 0.05;
    if (m_.dram) {
      const bytes<> moved = *m_.dram * m_.time;
      const bytes<> intermediates = bytes<>::from_value(demand_.matrix_flop.value() / 16.0);
      const bytes<> most = 2.0 * demand_.weights + 32.0 * demand_.cache + intermediates;
      if (moved > most) {
        contradict(to_string(moved, 3) + " from DRAM in the step, where the model has " +
                   to_string(expected_, 3) + " and unfused kernels at most " + to_string(most, 3));
      } else if (moved + l2_ < 0.5 * expected_) {
        contradict(to_string(moved, 3) + " from DRAM in the step, where the model has " +
                   to_string(expected_, 3) + " of weights and KV cache to read");
      }
      if (out_.dram_share > slack)
        contradict("DRAM at " + percent(out_.dram_share) + " of its peak");
    }
    if (m_.achieved && out_.compute_share > slack)
      contradict("GEMMs at " + percent(out_.compute_share) + " of the peak");
    const trace_shares& s = m_.shares;
    const auto sum = [](std::initializer_list<std::optional<double>> all) {
      double x = 0.0;
      for (const auto& share : all) x += share.value_or(0.0);
      return x;
    };
    const double kernels = sum({s.gemm, s.attention, s.elementwise, s.sampling});
    const double gaps = m_.launch_gaps ? double(*m_.launch_gaps / m_.time) : 0.0;
    const double idle = sum({s.input, s.host}) + (std::max)(gaps, s.launch.value_or(0.0));
    const double all = kernels + idle + sum({s.communication, s.waiting, s.allocation});
    if (gaps > 1.0 + overlap)
      contradict("gaps of " + to_string(*m_.launch_gaps, 3) + " in a step of " +
                 to_string(m_.time, 3));
    else if (all > 1.0 + overlap)
      contradict("shares of the time add up to " + percent(all));
    if (!m_.gpu_busy) return;
    if (kernels > *m_.gpu_busy + overlap)
      contradict("kernels take " + percent(kernels) + " of the time, and one runs for " +
                 percent(*m_.gpu_busy));
    if (gaps + *m_.gpu_busy > 1.0 + overlap)
      contradict("no kernel runs for " + percent(gaps) + " of the time, and one runs for " +
                 percent(*m_.gpu_busy));
  }

  /// The largest terms of the prediction: "weights 43 %, communication 19 %, cache 12 %".
  std::string largest_terms() const {
    std::vector<std::pair<double, std::string>> all;
    for (const auto& t : predicted_->value.terms)
      all.emplace_back(t.time / predicted_->value.time, t.name);
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string s;
    for (std::size_t i = 0; i < (std::min)(all.size(), std::size_t{3}); ++i)
      s += (i == 0 ? "" : ", ") + all[i].second + " " + percent(all[i].first);
    return s;
  }

  /// A step within the interval of its prediction is as expected. One above it has the difference
  /// to explain, which a trace names; without a trace it is unexplained, and launches are inferred.
  void expected() {
    if (!predicted_ || m_.time < out_.bound.time) return;
    const std::string interval = "predicted " + to_string(predicted_->value.time, 4) +
                                 " (80 %: " + to_string(predicted_->low, 3) + " to " +
                                 to_string(predicted_->high, 3) + ")";
    const bool faster = m_.time < predicted_->low;
    if (faster && has_trace()) return;  // counters say how
    if (m_.time <= predicted_->high) {
      add(bottleneck::as_expected, 1.0,
          to_string(m_.time, 4) + (faster ? " is faster than " : " is within the ") + interval +
              "; largest terms: " + largest_terms());
      return;
    }
    if (has_trace()) return;
    const duration<> excess = m_.time - predicted_->value.time;
    const double share = excess / m_.time;
    add(bottleneck::unexplained, share,
        to_string(excess, 3) + " unexplained: measured " + to_string(m_.time, 4) + ", " + interval +
            "; measure gpu_busy (nsys, DCGM)");
    const double launched = (std::min)(1.0, double(launch_time_ / excess));
    add(bottleneck::launch, launched * share,
        significant(demand_.launches, 3) + " kernels launched without a CUDA graph take " +
            to_string(launch_time_, 3) + " of CPU time");
    out_.findings.back().inferred = true;
  }
  bool has_trace() const {
    const trace_shares& s = m_.shares;
    return m_.dram || m_.achieved || m_.gpu_busy || m_.launch_gaps || m_.l2_hit || m_.sectors ||
           s.input || s.host || s.launch || s.communication || s.waiting || s.allocation ||
           s.gemm || s.attention || s.elementwise || s.sampling;
  }
  bool is_as_expected() const {
    return std::ranges::any_of(out_.findings,
                               [](const finding& f) { return f.cause == bottleneck::as_expected; });
  }

  void share_of(bottleneck cause, const std::optional<double>& share, const char* what) {
    if (share && *share >= limits_.least_share) add(cause, *share, percent(*share) + what);
  }

  void host_and_input() {
    share_of(bottleneck::input_pipeline, m_.shares.input, " of the time waits for inputs");
    share_of(bottleneck::host, m_.shares.host, " of the time waits for the host");
    double gaps = m_.shares.launch.value_or(0.0);
    if (m_.launch_gaps) gaps = (std::max)(gaps, double(*m_.launch_gaps / m_.time));
    if (gaps >= limits_.least_share) {
      add(bottleneck::launch, gaps,
          percent(gaps) + " of the time is idle between about " + significant(demand_.launches, 3) +
              " kernels");
    }
    if (!m_.gpu_busy) return;
    const double named = gaps + m_.shares.input.value_or(0.0) + m_.shares.host.value_or(0.0) +
                         m_.shares.communication.value_or(0.0) + m_.shares.waiting.value_or(0.0);
    const double idle = 1.0 - *m_.gpu_busy - named;
    if (idle >= limits_.least_share) {
      add(bottleneck::host, idle,
          "no kernel runs for " + percent(1.0 - *m_.gpu_busy) + " of the time, " + percent(named) +
              " of it explained");
    }
  }

  void links() {
    const double expected = out_.bound.terms.time_of("communication") / m_.time;
    if (m_.shares.communication && *m_.shares.communication >= limits_.least_share) {
      add(bottleneck::communication, *m_.shares.communication,
          percent(*m_.shares.communication) + " of the time is exposed communication; " +
              percent(expected) + " at full link bandwidth");
    } else if (!m_.shares.communication && expected >= limits_.least_share) {
      add(bottleneck::communication, expected,
          percent(expected) + " of the time at least is communication, by the model");
      out_.findings.back().inferred = true;
    }
    share_of(bottleneck::stragglers, m_.shares.waiting, " of the time waits for other devices");
  }

  void memory_of_the_trace() {
    share_of(bottleneck::allocation, m_.shares.allocation, " of the time is allocation");
    const double others = m_.shares.elementwise.value_or(0.0) + m_.shares.sampling.value_or(0.0);
    if (others >= limits_.least_share) {
      add(bottleneck::elementwise_time, others,
          percent(others) + " of the time is neither GEMM nor attention");
    }
    if (m_.dram && refetched_ >= limits_.refetch_ratio) {
      add(bottleneck::unfused_traffic, out_.dram_share * (1.0 - 1.0 / refetched_),
          to_string(bytes<>(refetched_ * expected_), 3) + " from DRAM, " +
              significant(refetched_, 3) + " times what the model needs");
    }
  }

  /// Share of the time that no finding explains: kernels run.
  double busy() const {
    double rest = 1.0;
    for (const finding& f : out_.findings) {
      const bool of_all = f.cause == bottleneck::measurement ||
                          f.cause == bottleneck::contradiction ||
                          f.cause == bottleneck::as_expected;
      // Launches are a part of what is unexplained.
      if (f.inferred && f.cause == bottleneck::launch) continue;
      if (!of_all && f.cause != bottleneck::unfused_traffic) rest -= f.share;
    }
    return (std::max)(0.05, rest);
  }

  /// The bottleneck of the kernels. Without a counter it is inferred.
  void pipes() {
    const std::size_t before = out_.findings.size();
    kernels();
    const bool measured = m_.dram || m_.achieved || m_.l2_hit || m_.sectors;
    if (measured) return;
    for (std::size_t i = before; i < out_.findings.size(); ++i) out_.findings[i].inferred = true;
  }

  void kernels() {
    const std::string reached = "DRAM at " + percent(out_.dram_share) + " of its peak, GEMMs at " +
                                percent(out_.compute_share);
    const std::string side =
        significant(out_.intensity, 3) + " FLOP/B against a ridge of " + significant(out_.ridge, 3);
    const double rest = busy();
    const bool scattered =
        m_.sectors && *m_.sectors >= limits_.scattered_sectors &&
        !(out_.dram_share >= limits_.saturated_share && refetched_ < limits_.refetch_ratio);
    if (out_.intensity >= out_.ridge && !scattered) {
      add(bottleneck::compute, rest, reached + "; " + side);
      return;
    }
    if (scattered) {
      add(bottleneck::access_pattern, rest,
          significant(*m_.sectors, 3) + " sectors a request, 4 for coalesced 4-byte elements; " +
              reached);
    }
    if (m_.l2_hit && *m_.l2_hit < limits_.idle_share && refetched_ >= limits_.refetch_ratio) {
      add(bottleneck::access_pattern, 0.9 * rest,
          percent(*m_.l2_hit) + " L2 hits, and DRAM reads bytes " + significant(refetched_, 3) +
              " times: reuse is lost");
    }
    const double useful = refetched_ >= limits_.refetch_ratio ? 1.0 / refetched_ : 1.0;
    if (out_.dram_share >= limits_.saturated_share) {
      add(bottleneck::memory_bandwidth, (scattered ? 0.5 : useful) * rest, reached + "; " + side);
    } else if (idle_pipes()) {
      add(bottleneck::launch, rest,
          "kernels are too short to use either pipe: " + reached + ", at least " +
              significant(demand_.launches, 3) + " kernels");
      out_.findings.back().inferred = true;
      add(bottleneck::memory_latency, 0.5 * rest, reached + "; " + side);
    } else {
      add(bottleneck::memory_latency, (scattered ? 0.5 : 1.0) * (1.0 - out_.dram_share) * rest,
          "DRAM bandwidth is not saturated: " + reached + "; " + side);
      add(bottleneck::memory_bandwidth, useful * out_.dram_share * rest, reached);
    }
  }
  /// Whether both pipes are idle without memory counters or a launch finding.
  bool idle_pipes() const {
    const bool named = std::ranges::any_of(
        out_.findings, [](const finding& f) { return f.cause == bottleneck::launch; });
    return out_.dram_share < limits_.idle_share && out_.compute_share < limits_.idle_share &&
           !m_.sectors && !m_.l2_hit && !named;
  }

  /// Sorts main causes in the order of the flowchart, then the bottlenecks of kernels, by share.
  void rank() {
    const auto place = [this](const finding& f) {
      if (f.cause == bottleneck::measurement || f.cause == bottleneck::contradiction) return 0;
      const bool of_kernels = f.cause > bottleneck::elementwise_time;
      const bool saturated = out_.dram_share >= limits_.saturated_share;
      if (f.cause == bottleneck::memory_bandwidth && !saturated) return 5;
      if (f.cause == bottleneck::as_expected) return 3;
      if (f.inferred) return 4;
      if (f.cause <= bottleneck::stragglers && f.share >= limits_.main_share) return 1;
      // A counter's bottleneck of kernels explains what a step as expected leaves open.
      return of_kernels && is_as_expected() ? 4 : 2;
    };
    std::ranges::stable_sort(out_.findings, [&](const finding& x, const finding& y) {
      const int i = place(x), j = place(y);
      if (i != j) return i < j;
      if (i == 1 && group(x.cause) != group(y.cause)) return group(x.cause) < group(y.cause);
      return x.share > y.share;
    });
  }
  static int group(bottleneck b) {
    if (b == bottleneck::input_pipeline) return 0;
    return b <= bottleneck::launch ? 1 : 2;
  }

  const measured_step& m_;
  const diagnosis_thresholds& limits_;
  const std::optional<step_prediction>& predicted_;
  step_demand demand_{};
  duration<> launch_time_{};
  bytes<> l2_{};
  bytes<> expected_{};
  double refetched_ = 1.0;
  diagnosis out_{};
};

}  // namespace detail

/// The causes of a step's time, in this order:
///   1. causes that idle the kernels, in the order of the flowchart (inputs; CPU and launches;
/// links
///      and stragglers), where they take at least `main_share` of the time;
///   2. the bottleneck of the kernels: compute above the ridge point; below it bandwidth (DRAM is
///      saturated), latency (it is not), or access pattern (sectors a request, lost L2 reuse);
///      bandwidth below `saturated_share` comes last;
///   3. other causes by their share.
/// A time below the bound is an error of the measurement, and counters that contradict each other
/// or the model are named first. With a prediction, a step within its interval is as expected,
/// after measured shares from `least_share` on; above it, without a trace, the difference is
/// `unexplained` and comes first; inferred causes come last.
/// *Sources:* the flowchart, seven signatures and five trace patterns of ML-systems textbooks;
/// thresholds are policy.
/// *Leaves out:* several steps (an intermittent straggler), power and clocks.
/// *Errors:* a time of 0, shares outside 0 to 1, sectors outside 1 to 64; as step_bound.
/// *Tests:* one case for each signature, bottleneck and stage; published measurements.
inline diagnosis diagnose(const deployment& d, const iteration& i, const measured_step& m,
                          const duration<>& cpu_per_launch = duration<>::from_value(5e-6),
                          const diagnosis_thresholds& thresholds = {},
                          const std::optional<step_prediction>& predicted = {}) {
  require_valid(m);
  require_valid(thresholds);
  detail::not_negative("cpu_per_launch", cpu_per_launch);
  return detail::diagnostician(d, i, m, cpu_per_launch, thresholds, predicted).result();
}

}  // namespace perfmodel::inline v0_3
