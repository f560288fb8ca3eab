// Times of engine steps of one deployment from records of the law.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <perfmodel/scalar/recorded_program.hpp>
#include <perfmodel/step/step.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// A policy over recorded numbers; void where it is no spec that can be lifted.
template <class T, class Policy>
struct recorded_policy {
  using type = void;
};
template <class T, class Policy>
  requires Spec<const Policy>
struct recorded_policy<T, Policy> {
  using type = decltype(lift<recorded<T>>(std::declval<const Policy&>()));
};

/// Times of the steps of one deployment from records of a law, equal to the law to 1e-12. `Law`
/// gives recorded results for a deployment and an iteration. A kind of step (decode, prefill,
/// mixed) is recorded when `wait` steps had no record; where Law::by_size, a record holds for
/// batches, prompts and tokens of prompts between two powers of two, so that the law makes few
/// choices there.
template <Scalar T, class Law>
class recorded_steps {
 public:
  using program = recorded_program<T>;

  explicit recorded_steps(const Law& law) : law_(law) {}

  /// Whether all fields are within the bounds of a record's inputs: none is refused then.
  static bool holds(const basic_iteration<T>& i) {
    const auto counts = [](double x) { return x >= 1.0 && x <= most; };
    const bool decodes = counts(i.batch), prefills = counts(i.prefill_tokens);
    return (decodes || i.batch == 0.0) && (prefills || i.prefill_tokens == 0.0) &&
           (decodes || prefills) && counts(i.context) && counts(i.prefill_sequences) &&
           (i.prefill_past == 0.0 || counts(i.prefill_past)) && counts(i.tokens_per_sequence);
  }
  /// The first N results of the step; false without a record.
  template <std::size_t N>
  bool at(const basic_iteration<T>& i, std::array<double, N>& into) {
    for (std::size_t n = 0; n < records_.size(); ++n) {
      record& r = records_[last_];
      if (r.covers(i) && r.evaluate(i, N > Law::head)) {
        for (std::size_t m = 0; m < N; ++m) into[m] = r.law.result(r.x, m);
        return true;
      }
      last_ = last_ + 1 == records_.size() ? 0 : last_ + 1;
    }
    if (holds(i)) note_misses(i, kind_of(i), 1);
    return false;
  }
  /// The first result of each step from `first` on that has the kind of the first: at most a block
  /// of them. Calls take(place, result, whether it is known) for each; returns how many.
  template <class Take>
  std::size_t block_at(std::span<const basic_iteration<T>> steps, const Take& take) {
    const kind k = kind_of(steps[0]);
    std::size_t n = 1;
    while (n < steps.size() && n < program::block && holds(steps[n]) && kind_of(steps[n]) == k) ++n;
    std::size_t known = 0;
    for (; known < records_.size() && !(records_[last_].of == k); ++known)
      last_ = last_ + 1 == records_.size() ? 0 : last_ + 1;
    if (known == records_.size()) {
      note_misses(steps[0], k, n);
      for (std::size_t m = 0; m < n; ++m) take(m, 0.0, false);
      return n;
    }
    columns_.resize(program::most_numbers);
    typename program::column guards;
    for (std::size_t m = 0; m < program::block; ++m)
      fill(steps[m < n ? m : 0], [&](std::size_t j) -> double& { return columns_[j][m]; });
    records_[last_].law.run(columns_, guards);
    const auto& found = records_[last_].law.result(columns_, 0);
    for (std::size_t m = 0; m < n; ++m) take(m, found[m], guards[m] >= 0.0);
    return n;
  }

 private:
  /// What a record is for, in addition to bounds of its inputs. `powers` has those of two of the
  /// batch, the prompt, its past and the prompts, in 16 bits each, where Law::by_size.
  struct kind {
    double tokens_per_sequence = 1.0;
    std::uint64_t powers = 0;
    unsigned flags = 0;
    friend bool operator==(const kind&, const kind&) = default;

    bool has(unsigned flag) const { return (flags & flag) != 0; }
    std::uint64_t power(int of) const { return (powers >> (16 * of)) & 0xffff; }
  };
  static constexpr unsigned steady_bit = 1, decodes_bit = 2, prefills_bit = 4, past_bit = 8,
                            several_bit = 16;
  struct record {
    kind of{};
    program law;
    std::array<double, 5> least{}, most{};      ///< bounds of the inputs
    typename program::numbers x{not_a_number};  ///< inputs and results of the last step
    bool has_rest = false;                      ///< whether `x` has more than the first results

    bool covers(const basic_iteration<T>& i) const {
      const auto in = [this](std::size_t n, double v) { return v >= least[n] && v <= most[n]; };
      return in(0, i.batch) && in(2, i.prefill_tokens) && in(4, i.prefill_sequences) &&
             in(1, i.context) && in(3, i.prefill_past) &&
             of.tokens_per_sequence == i.tokens_per_sequence && of.has(steady_bit) == i.steady;
    }
    /// Whether the record holds for a step that it covers; sets `x` unless it has the step already.
    bool evaluate(const basic_iteration<T>& i, bool rest) {
      if (x[0] != i.batch || x[1] != i.context || x[2] != i.prefill_tokens ||
          x[3] != i.prefill_past || x[4] != i.prefill_sequences) {
        fill(i, [this](std::size_t n) -> double& { return x[n]; });
        has_rest = false;
        if (!law.run(x)) return void_step();
      }
      if (!rest || has_rest) return true;
      has_rest = law.run_rest(x);
      return has_rest || void_step();
    }

   private:
    bool void_step() {
      x[0] = not_a_number;
      return false;
    }
  };
  static constexpr double most = 1e12;

  /// Number of the power of two next below x; 0 of 0.
  static std::uint64_t power_below(double x) {
    return x > 0.0 ? (std::bit_cast<std::uint64_t>(x) - 1) >> 52 : 0;
  }
  static kind kind_of(const basic_iteration<T>& i) {
    const auto flag = [](bool is, unsigned of) { return is ? of : 0U; };
    kind k{i.tokens_per_sequence, 0,
           flag(i.steady, steady_bit) | flag(i.batch > 0.0, decodes_bit) |
               flag(i.prefill_tokens > 0.0, prefills_bit) | flag(i.prefill_past > 0.0, past_bit) |
               flag(i.prefill_sequences != 1.0, several_bit)};
    if constexpr (Law::by_size) {
      k.powers = power_below(i.batch) | power_below(i.prefill_tokens) << 16 |
                 power_below(i.prefill_past) << 32 | power_below(i.prefill_sequences) << 48;
    }
    return k;
  }
  template <class Number>
  static void fill(const basic_iteration<T>& i, const Number& number) {
    number(0) = i.batch;
    number(1) = i.context;
    number(2) = i.prefill_tokens;
    number(3) = i.prefill_past;
    number(4) = i.prefill_sequences;
  }
  void note_misses(const basic_iteration<T>& i, const kind& k, std::size_t n) {
    constexpr std::size_t most_records = Law::by_size ? 64 : 16;
    constexpr long most_of_kind = 4;  // of which the inputs make other choices
    misses_ += n;
    if (records_.size() >= most_records || misses_ < wait_) return;
    const auto is_of_kind = [&k](const record& r) { return r.of == k; };
    if (std::count_if(records_.begin(), records_.end(), is_of_kind) >= most_of_kind) return;
    misses_ = 0;
    if (!make(i, k)) wait_ *= 8;
  }
  bool make(const basic_iteration<T>& i, const kind& k) {
    recording<T> r;
    std::array<double, 5> low{}, high{};
    std::size_t n = 0;
    const auto input = [&](double x, std::uint64_t power, bool varies, double from = 1.0) {
      const double least = power > 0 ? std::bit_cast<double>((power << 52) + 1) : from;
      const double up = power > 0 ? std::bit_cast<double>((power + 1) << 52) : most;
      low[n] = varies ? (std::max)(least, from) : x;
      high[n] = varies ? (std::min)(up, most) : x;
      const recorded<T> made = recorded<T>::input(r, x, low[n], high[n]);
      ++n;
      return varies ? made : recorded<T>(x);
    };
    constexpr double above_one = 1.0 + std::numeric_limits<double>::epsilon();
    basic_iteration<recorded<T>> t;
    t.batch = input(i.batch, k.power(0), k.has(decodes_bit));
    t.context = input(i.context, 0, true);
    t.prefill_tokens = input(i.prefill_tokens, k.power(1), k.has(prefills_bit));
    t.prefill_past = input(i.prefill_past, k.power(2), k.has(past_bit));
    t.prefill_sequences = input(i.prefill_sequences, k.power(3), k.has(several_bit), above_one);
    t.tokens_per_sequence = i.tokens_per_sequence;
    t.steady = i.steady;
    record made{k, program(r, law_(t), Law::head), low, high};
    if (!made.law.is_usable()) return false;
    records_.push_back(std::move(made));
    return true;
  }

  Law law_;
  std::vector<record> records_{};
  typename program::columns columns_{};
  std::size_t last_ = 0, misses_ = 0, wait_ = Law::misses;
};

/// In place of records, where the scalar or the policy cannot be recorded.
template <class Law>
struct no_records {
  constexpr explicit no_records(const Law&) {}
};

/// Law of the bound: its time, or its parts and the KV cache that step_fits compares.
template <Scalar T, bool Parts>
struct recorded_bound {
  using results = std::array<double, Parts ? 7 : 1>;
  static constexpr std::size_t head = Parts ? 7 : 1;
  static constexpr bool by_size = false;
  static constexpr std::size_t misses = 16;
  const basic_deployment<T>& d;

  std::vector<recorded<T>> operator()(const basic_iteration<recorded<T>>& i) const {
    const auto lifted = lift<recorded<T>>(d);
    const engine_formats formats = formats_of(d);
    const full_link links;
    collective_memo<recorded<T>, full_link> memo(links);
    const auto unnamed = [](limiter, const char*, const duration<recorded<T>>& x) { return x; };
    const bound_parts<recorded<T>> b =
        bound_parts_of_step(rank_step<recorded<T>>{lifted, i, formats}, memo, unnamed);
    if constexpr (!Parts) return {(b.on_chip() + b.communication).value()};
    return {b.weights.value(),
            b.cache.value(),
            b.compute.value(),
            b.vector.value(),
            b.host_link.value(),
            b.communication.value(),
            cache_of_step(lifted, i).value()};
  }
};
/// Law of the predicted step: its time, and the parts of its breakdown.
template <Scalar T, class Policy>
struct recorded_prediction {
  using results = std::array<double, 11>;
  static constexpr std::size_t head = 1;  ///< the time
  static constexpr bool by_size = true;
  static constexpr std::size_t misses = 128;
  const basic_deployment<T>& d;
  const Policy& policy;

  std::vector<recorded<T>> operator()(const basic_iteration<recorded<T>>& i) const {
    using number = recorded<T>;
    const auto lifted = lift<number>(d);
    using policy_type = typename recorded_policy<T, Policy>::type;
    const policy_type over = lift<number>(policy);
    decltype(auto) links = links_of<number>(over);
    predicted_step<number, policy_type, std::remove_cvref_t<decltype(links)>> steps(lifted, over,
                                                                                    links);
    const predicted_parts<number> x =
        steps.parts_of(i, [](limiter, const char*, const duration<number>&) {});
    std::vector<number> all{x.time().value()};
    for (const duration<number>& t : x.kernels) all.push_back(t.value());
    for (const duration<number>& t :
         {x.host_link, x.links, x.launches, x.host, x.compute, x.memory})
      all.push_back(t.value());
    return all;
  }
  static constexpr predicted_parts<double> parts(const results& r) {
    const auto at = [&r](std::size_t n) { return duration<>::from_value(r[n]); };
    return {{at(1), at(2), at(3), at(4)}, at(5), at(6), at(7), at(8), at(9), at(10)};
  }
};

}  // namespace perfmodel::inline v0_3::detail
