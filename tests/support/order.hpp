// Properties of order over random samples: what must never get less, how often it did, and where.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace perfmodel_test {

/// Samples of one property: $PERFMODEL_SAMPLES, or what the check has time for.
inline constexpr long usual_samples = sanitized ? 500 : 100000;
inline long samples(long usual = usual_samples) {
  const char* stated = std::getenv("PERFMODEL_SAMPLES");
  const long n = stated == nullptr ? 0 : std::strtol(stated, nullptr, 10);
  return n > 0 ? n : usual;
}

/// The fields of an operator that can be written in a line.
template <class Operator>
std::string fields_of(const Operator& w) {
  std::ostringstream out;
  Operator::fields(
      [&](const perfmodel::field& f, const auto& x) {
        if constexpr (requires { out << x; }) out << f.name << ' ' << x << ' ';
      },
      w);
  return out.str();
}

/// A whole number, uniform in the logarithm.
inline double whole(random_numbers& x, double lo, double hi) {
  return std::floor(x.log_uniform(lo, hi + 1.0));
}
inline double power_of_two(random_numbers& x, int least, int most) {
  return std::exp2(std::floor(x.uniform(least, most + 1)));
}
template <class List>
const auto& one_of(random_numbers& x, const List& list) {
  return list[static_cast<std::size_t>(x.uniform(0, static_cast<double>(std::size(list))))];
}

/// Counts pairs that are out of order; at the end there must be none, and some must have been
/// asked.
class order {
 public:
  explicit order(std::string what) : what_(std::move(what)) {}
  order(const order&) = delete;
  order& operator=(const order&) = delete;
  ~order() {
    // A row of the table in docs/laws/research/serving.md.
    std::printf(
        "| %s | %ld | %ld | %ld (%.3g %%) |\n", what_.c_str(), asked_, broken_, excused_,
        asked_ > 0 ? 100.0 * static_cast<double>(excused_) / static_cast<double>(asked_) : 0.0);
    INFO(what_ << ": " << broken_ << " of " << asked_ << " out of order, the worst by "
               << 100.0 * worst_ << " %: " << where_ << "; excused " << excused_);
    CHECK(broken_ == 0);
    CHECK(asked_ > 0);
  }

  /// `where()` says which inputs these are, where they are out of order; `excused()` whether the
  /// law names it.
  template <class Where, class Excused>
  void rises(double before, double after, Where&& where, Excused&& excused) {
    ++asked_;
    if (after >= before * (1.0 - 1e-11)) return;  // roots are found to some 1e-12
    if (excused()) {
      ++excused_;
      return;
    }
    ++broken_;
    if (1.0 - after / before <= worst_ && broken_ > 1) return;
    worst_ = 1.0 - after / before;
    where_ = where();
  }
  template <class Where>
  void rises(double before, double after, Where&& where) {
    rises(before, after, where, [] { return false; });
  }

 private:
  std::string what_, where_;
  long asked_ = 0, broken_ = 0, excused_ = 0;
  double worst_ = 0.0;
};

/// An accelerator with its own profile or a transferred one, under an engine.
struct calibrated_machine {
  const perfmodel::accelerator* device = nullptr;
  perfmodel::calibrated calibration{};
  perfmodel::engine by = perfmodel::engine::none;
};

/// All of the catalogue that have a profile, their own or a transferred one, and bf16; under each
/// engine and none.
inline const std::vector<calibrated_machine>& calibrated_machines() {
  static const std::vector<calibrated_machine> all = [] {
    std::vector<calibrated_machine> out;
    for (const perfmodel::catalog::accelerator_entry& e : perfmodel::catalog::accelerators) {
      try {
        const auto calibration = calibrated_for(*e.spec, perfmodel::engine::none);
        const perfmodel::attention_prefill w{
            .batch = 1, .tokens = 64, .query_heads = 8, .kv_heads = 8, .head_dim = 64};
        calibrated_estimate(*e.spec, w, calibration, {.cache = perfmodel::cache_state::warm});
        for (const auto by : {perfmodel::engine::none, perfmodel::engine::vllm,
                              perfmodel::engine::sglang, perfmodel::engine::trtllm})
          out.push_back({e.spec, calibrated_for(*e.spec, by), by});
      } catch (const perfmodel::error&) {
        continue;
      }
    }
    return out;
  }();
  return all;
}

/// These kernels without splits over keys: the order of attention without its exception.
inline perfmodel::calibrated without_parts(perfmodel::calibrated c) {
  for (auto* k : {&c.attention_kernels, &c.low_precision_attention_kernels}) {
    k->max_splits = 1.0;
    k->partial_row_cycles.reset();
  }
  return c;
}
/// Nor stop scheduling batches at a size: what stands in the order of passes of any more sequences.
inline perfmodel::calibrated without_steps(perfmodel::calibrated c) {
  c = without_parts(c);
  for (auto* k : {&c.attention_kernels, &c.low_precision_attention_kernels})
    k->scheduled_sequences = 1e9;
  return c;
}
/// Whether a kernel of decoding attention schedules `sequences` and no longer `more`, and is
/// quicker by it.
inline bool stops_scheduling(const perfmodel::attention_kernels& k, double sequences, double more) {
  return k.sequence_cost.value() > 0.0 && sequences <= k.scheduled_sequences &&
         more > k.scheduled_sequences;
}

}  // namespace perfmodel_test
