// The law of a disaggregated service against its pools run event by event, one prompt at a time
// each.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <queue>
#include <vector>

#include "support/random.hpp"

namespace property_disaggregated_simulated {

namespace pm = perfmodel;

namespace {

struct outcome {
  double itl = 0, ttft = 0, p90 = 0;
};

struct setting {
  int prefill = 1, decode = 1;
  double prompt = 0.05, token = 0.01, token_each = 0.0001, output = 200;
  double input_cv = 0;  ///< of the prompt lengths, which are lognormal
};

/// Prompts queue for the first of the prefill servers that is free; answers go to the decoder with
/// the fewest, with steps of token + token_each x batch, and a token for each sequence.
class two_pools {
 public:
  two_pools(const setting& s, double output_spread, unsigned seed)
      : s_(s), spread_(output_spread), random_(seed), free_(std::size_t(s.prefill), 0.0) {
    decoders_.resize(std::size_t(s.decode));
  }

  outcome closed(int concurrency, int answers) {
    for (int i = 0; i < concurrency; ++i) arrive(0.0);
    return run(answers, [&](double now) { arrive(now); });
  }
  outcome open(double rate, int answers) {
    double at = 0;
    for (int i = 0; i < answers + 2000; ++i) arrive(at += random_.exponential(1 / rate));
    return run(answers, [](double) {});
  }

 private:
  struct sequence {
    double first = 0;
    int left = 0, all = 0;
  };
  struct joining {
    double at = 0;
    bool operator<(const joining& o) const { return at > o.at; }
  };
  struct decoder {
    double step_end = -1;
    std::vector<sequence> running{}, waiting{};
  };

  void arrive(double now) {
    auto server = std::min_element(free_.begin(), free_.end());
    const double end = std::fmax(*server, now) + s_.prompt * length();
    *server = end;
    coming_.push({end});
    ttft_.push_back(end - now);
  }

  /// Length of a prompt over the mean; a sum of 12 uniform numbers is nearly normal.
  double length() {
    if (s_.input_cv == 0) return 1;
    const double sigma = std::sqrt(std::log(1 + s_.input_cv * s_.input_cv));
    double normal = -6;
    for (int i = 0; i < 12; ++i) normal += random_.uniform(0, 1);
    return std::exp(sigma * normal - 0.5 * sigma * sigma);
  }

  double step(const decoder& d) const {
    return s_.token + s_.token_each * double(d.running.size());
  }

  template <class Ended>
  outcome run(int answers, const Ended& ended) {
    int done = 0;
    const int warm = answers / 4;
    std::vector<double> gaps;
    while (done < answers) {
      decoder* next = nullptr;
      for (decoder& d : decoders_) {
        if (d.step_end >= 0 && (!next || d.step_end < next->step_end)) next = &d;
      }
      if (!coming_.empty() && (!next || coming_.top().at <= next->step_end)) {
        join(coming_.top().at);
        coming_.pop();
        continue;
      }
      if (!next) break;
      const double now = next->step_end;
      for (std::size_t i = 0; i < next->running.size();) {
        sequence& q = next->running[i];
        if (--q.left > 0) {
          ++i;
          continue;
        }
        if (++done > warm) gaps.push_back((now - q.first) / q.all);
        q = next->running.back();
        next->running.pop_back();
        ended(now);
      }
      begin(*next, now);
    }
    outcome o;
    for (const double g : gaps) o.itl += g / double(gaps.size());
    ttft_.erase(ttft_.begin(), ttft_.begin() + warm);
    for (const double t : ttft_) o.ttft += t / double(ttft_.size());
    std::sort(ttft_.begin(), ttft_.end());
    o.p90 = ttft_[ttft_.size() * 9 / 10];
    return o;
  }

  void join(double now) {
    decoder* least = &decoders_[0];
    const auto load = [](const decoder& d) { return d.running.size() + d.waiting.size(); };
    for (decoder& d : decoders_) {
      if (load(d) < load(*least)) least = &d;
    }
    const int gaps = std::max(1, int(s_.output * (1 + spread_ * random_.uniform(-1, 1)))) - 1;
    least->waiting.push_back({now, gaps, gaps});
    if (least->step_end < 0) begin(*least, now);
  }
  void begin(decoder& d, double now) {
    d.running.insert(d.running.end(), d.waiting.begin(), d.waiting.end());
    d.waiting.clear();
    d.step_end = d.running.empty() ? -1 : now + step(d);
  }

  setting s_;
  double spread_;
  perfmodel_test::random_numbers random_;
  std::vector<double> free_;
  std::vector<decoder> decoders_{};
  std::priority_queue<joining> coming_{};
  std::vector<double> ttft_{};
};

outcome law(const setting& s, const pm::service_load& l) {
  const pm::deployment on{.device = pm::catalog::h200_sxm, .model = pm::catalog::llama_3_8b};
  const pm::disaggregated d{.prefill = {on, double(s.prefill)},
                            .decode = {on, double(s.decode)},
                            .link = {.bandwidth_per_device = 1e9 * pm::GB_per_s}};
  pm::service_load one = l;
  one.chunk_tokens = l.input_tokens;  // one prompt in a pass
  const auto prefill = [&](const pm::iteration& i) {
    return pm::estimate{.time = i.prefill_sequences * s.prompt * pm::second};
  };
  const auto decode = [&](const pm::iteration& i) {
    return pm::estimate{.time = (s.token + s.token_each * i.batch) * pm::second};
  };
  const auto e = pm::detail::disaggregated_prediction<double, decltype(prefill), decltype(decode)>(
                     d, one, {}, prefill, decode)
                     .estimate();
  return {e.itl.value(), e.ttft.value(), e.ttft_distribution.quantile(0.9).value()};
}

void check(const outcome& is, const outcome& simulated, double ttft, double p90) {
  INFO("ITL " << is.itl << " simulated " << simulated.itl << ", TTFT " << is.ttft << " simulated "
              << simulated.ttft << ", p90 " << is.p90 << " simulated " << simulated.p90);
  CHECK(std::abs(is.itl / simulated.itl - 1) < 0.02);
  CHECK(std::abs(is.ttft / simulated.ttft - 1) < ttft);
  CHECK(std::abs(is.p90 / simulated.p90 - 1) < p90);
}

}  // namespace

TEST_CASE("disaggregated: the closed loop against its pools run event by event", "[long]") {
  for (const setting& s : {setting{1, 1}, setting{2, 3}, setting{4, 1}}) {
    for (const int n : {1, 8, 32, 64, 128, 256}) {
      INFO(s.prefill << " + " << s.decode << ", " << n << " in the system");
      const auto simulated = two_pools(s, 0.3, 1).closed(n, 40 * n + 4000);
      check(law(s, {.input_tokens = 1000,
                    .output_tokens = s.output,
                    .arrivals = pm::closed_loop{double(n)},
                    .output_cv = 0.3 / std::sqrt(3.0)}),
            simulated, 0.16, 0.25);
    }
  }
}

TEST_CASE("disaggregated: the open loop against its pools run event by event", "[long]") {
  for (const setting& s : {setting{1, 1}, setting{2, 3}, setting{4, 1}}) {
    for (const double busy : {0.2, 0.5, 0.7, 0.85, 0.9}) {
      const double rate = busy * s.prefill / s.prompt;
      if (rate * s.output * s.token_each / s.decode > 0.75)
        continue;  // a batch that wanders for long
      INFO(s.prefill << " + " << s.decode << ", " << busy << " busy");
      const auto simulated = two_pools(s, 0.3, 1).open(rate, 200000);
      check(law(s, {.input_tokens = 1000,
                    .output_tokens = s.output,
                    .arrivals = pm::open_loop{.rate = rate * pm::request_per_s}}),
            simulated, 0.07, 0.15);
    }
  }
}

TEST_CASE("disaggregated: prompts of different lengths spread the TTFT", "[long]") {
  for (const double cv : {0.3, 0.6, 1.0}) {
    const setting s{.prefill = 2, .decode = 3, .input_cv = cv};
    for (const double busy : {0.02, 0.2, 0.5, 0.7}) {
      INFO("cv " << cv << ", " << busy << " busy");
      const double rate = busy * s.prefill / s.prompt;
      const auto simulated = two_pools(s, 0.3, 1).open(rate, 100000);
      check(law(s, {.input_tokens = 1000,
                    .output_tokens = s.output,
                    .arrivals = pm::open_loop{.rate = rate * pm::request_per_s},
                    .input_cv = cv}),
            simulated, 0.1, 0.15);
    }
    for (const int n : {1, 8, 32}) {
      INFO("cv " << cv << ", " << n << " in the system");
      const auto simulated = two_pools(s, 0.3, 1).closed(n, 40 * n + 20000);
      check(law(s, {.input_tokens = 1000,
                    .output_tokens = s.output,
                    .arrivals = pm::closed_loop{double(n)},
                    .input_cv = cv,
                    .output_cv = 0.3 / std::sqrt(3.0)}),
            simulated, 0.16, 0.25);
    }
  }
}

}  // namespace property_disaggregated_simulated
