// Speculative decoding: what rejection sampling accepts and emits, and what verifying m tokens
// costs.
//
// Measures: acceptance rate and tokens emitted per round, for drafts of 1 to 16 tokens, over
//   softmaxes of random logits of 32000 tokens with an overlap sum(min(p, q)) known in double
//   precision; and the time of the GEMMs of a layer of Llama 3.1 8B, and of its LM head, at m = 1
//   to 17 tokens.
// How: a block runs a round as algorithms/rejection_sampling.hpp defines it: a proposal is drawn
//   from the draft's q and accepted with probability min(1, p / q); the first rejected one is
//   replaced by a draw from max(p - q, 0), and a fully accepted draft is followed by one from p.
//   Draws are by the cumulative weight, each thread summing a piece of the vocabulary. Over a small
//   vocabulary the distribution of emitted tokens is compared with p. GEMMs by cuBLASLt with
//   weights that rotate through more than five L2s.
// Tests: acceptance = overlap; emitted = (1 - a^(g+1)) / (1 - a); verifying m tokens costs what one
//   does while the weights' bytes limit it.
// Source: Leviathan, Kalman and Matias 2023; Chen et al. 2023.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "algorithms/rejection_sampling.hpp"
#include "common/cublaslt.cuh"
#include "common/experiment.cuh"

namespace pv = perfmodel::validation;

namespace {

constexpr int most_draft = 16, most_threads = 256;
constexpr std::uint32_t logit_seed = 31, noise_seed = 32, uniform_seed = 33;

/// One block per speculation round. emitted[pass][most_draft + 1], counts[pass].
__global__ void __launch_bounds__(most_threads)
    pass_kernel(pv::token_distributions d, int draft_length, std::uint32_t seed,
                pv::sampling_faults faults, int* __restrict__ emitted, int* __restrict__ counts) {
  __shared__ double sums[most_threads];
  __shared__ int drawn;
  const int chunks = static_cast<int>(blockDim.x), me = static_cast<int>(threadIdx.x);
  // Every thread runs the pass; what differs between them is only the piece that they sum.
  const auto sample = [&](pv::drawn_from what, double u) {
    sums[me] = d.chunk_sum(what, me, chunks);
    __syncthreads();
    if (me == 0) drawn = pv::draw(d, what, sums, chunks, u);
    __syncthreads();
    const int token = drawn;
    __syncthreads();
    return token;
  };
  const auto uniform = [&](int i) {
    const std::uint64_t at = static_cast<std::uint64_t>(blockIdx.x) * (2 * most_draft + 1) +
                             static_cast<std::uint64_t>(i);
    return (pv::random_bits(seed, 2 * at) + pv::random_bits(seed, 2 * at + 1) / 4294967296.0) /
           4294967296.0;
  };
  int tokens[most_draft + 1] = {};
  const int n = pv::speculative_pass(d, draft_length, faults, sample, uniform, tokens);
  if (me == 0) {
    for (int i = 0; i < n; ++i)
      emitted[static_cast<std::size_t>(blockIdx.x) * (most_draft + 1) + i] = tokens[i];
    counts[blockIdx.x] = n;
  }
}

/// A softmax of random logits, and one of the same logits with noise of another weight: `noise` 0
/// makes them equal.
struct distributions {
  std::vector<float> target, draft;
  pv::device_buffer<float> on_device_target, on_device_draft;
  double overlap;

  distributions(int vocabulary, double noise) {
    const auto logit = [](std::uint32_t seed, std::uint64_t i) {
      // Close to normal, deviation 1: three uniforms of variance 1/3.
      return static_cast<double>(pv::random_value(seed, 3 * i)) +
             pv::random_value(seed, 3 * i + 1) + pv::random_value(seed, 3 * i + 2);
    };
    std::vector<double> p, q;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(vocabulary); ++i) {
      const double z = 2.5 * logit(logit_seed, i);
      p.push_back(z);
      q.push_back(z + noise * logit(noise_seed, i));
    }
    target = softmax(p);
    draft = softmax(q);
    on_device_target = pv::device_buffer<float>(std::span<const float>(target));
    on_device_draft = pv::device_buffer<float>(std::span<const float>(draft));
    overlap = pv::overlap_of({target.data(), draft.data(), vocabulary});
  }

  static std::vector<float> softmax(std::vector<double> z) {
    const double most = *std::max_element(z.begin(), z.end());
    double sum = 0;
    for (double& x : z) sum += x = std::exp(x - most);
    std::vector<float> out;
    for (const double x : z) out.push_back(static_cast<float>(x / sum));
    return out;
  }
  int size() const { return static_cast<int>(target.size()); }
};

struct passes {
  std::vector<int> emitted, counts;
};

passes run_passes(const pv::session& s, const distributions& d, int draft_length, int trials) {
  pv::device_buffer<int> emitted(static_cast<std::size_t>(trials) * (most_draft + 1));
  pv::device_buffer<int> counts(static_cast<std::size_t>(trials));
  const pv::sampling_faults faults{.accepts_too_often = s.breaks("accepts_too_often"),
                                   .resamples_target = s.breaks("resamples_target")};
  const int threads = d.size() <= 64 ? 32 : most_threads;
  const pv::token_distributions on_device{d.on_device_target.data(), d.on_device_draft.data(),
                                          d.size()};
  pass_kernel<<<static_cast<unsigned>(trials), threads, 0, s.stream>>>(
      on_device, draft_length, uniform_seed + static_cast<std::uint32_t>(draft_length), faults,
      emitted.data(), counts.data());
  PERFMODEL_LAUNCHED("pass_kernel");
  return {emitted.download(), counts.download()};
}

/// All tokens that come out against p, over a vocabulary small enough to count them.
void check_distribution(const pv::session& s, pv::recording& r) {
  const int vocabulary = 16, trials = s.reduced ? 2000 : 100000;
  const distributions d(vocabulary, 1.5);
  const passes out = run_passes(s, d, 4, trials);
  std::vector<double> counts(vocabulary, 0.0);
  double strange = 0;
  for (std::size_t i = 0; i < out.counts.size(); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(out.counts[i]); ++j) {
      const int token = out.emitted[i * (most_draft + 1) + j];
      if (token < 0 || token >= vocabulary) {
        strange += 1.0;
      } else {
        counts[static_cast<std::size_t>(token)] += 1.0;
      }
    }
  }
  r.check("emitted tokens that are none", strange, 0.0);
  const auto distance = pv::distance_of(counts.data(), d.target.data(), vocabulary);
  r.check("emitted tokens have the target's distribution: total variation",
          distance.total_variation, distance.allowed);
}

void measure_acceptance(const pv::session& s, pv::recording& r) {
  const int vocabulary = s.reduced ? 512 : 32000;
  const std::vector<double> noises =
      s.reduced ? std::vector<double>{1.0} : std::vector<double>{0.1, 0.35, 0.7, 1.2, 2.5};
  const std::vector<int> lengths =
      s.reduced ? std::vector<int>{3} : std::vector<int>{1, 2, 4, 8, 16};
  const int batches = 8, each = s.reduced ? 8 : 1000, trials = batches * each;
  for (const double noise : noises) {
    const distributions d(vocabulary, noise);
    for (const int length : lengths) {
      const passes out = run_passes(s, d, length, trials);
      std::vector<double> rates, emitted;
      double accepted = 0, proposed = 0, tokens = 0, squares = 0;
      for (std::size_t b = 0; b < batches; ++b) {
        double a = 0, n = 0, e = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(each); ++i) {
          const int count = out.counts[b * static_cast<std::size_t>(each) + i];
          if (count < 1 || count > length + 1)
            throw pv::measurement_error("speculative: a pass emits too few or too many tokens");
          a += count - 1;
          n += (std::min)(count, length);
          e += count;
          squares += static_cast<double>(count) * count;
        }
        rates.push_back(a / n);
        emitted.push_back(e / each);
        accepted += a;
        proposed += n;
        tokens += e;
      }
      // Four standard deviations of the mean, and for few trials one trial's worth.
      const double a = d.overlap, mean = tokens / trials, wanted = pv::expected_emitted(a, length);
      const std::string name =
          "overlap " + std::to_string(a) + ", draft of " + std::to_string(length);
      r.check(name + ": acceptance rate", std::abs(accepted / proposed - a),
              4.0 * std::sqrt(a * (1.0 - a) / proposed) + 1.0 / trials);
      const double variance = (std::max)(0.0, squares / trials - mean * mean);
      r.check(name + ": tokens emitted a pass", std::abs(mean - wanted),
              4.0 * std::sqrt(variance / trials) + static_cast<double>(length + 1) / trials);
      r.add(
          {"acceptance_rate",
           "1",
           {{"overlap", a}, {"draft_length", length}, {"vocabulary", vocabulary}, {"trials", each}},
           rates});
      r.add({"emitted_tokens",
             "token",
             {{"acceptance", a},
              {"draft_length", length},
              {"vocabulary", vocabulary},
              {"trials", each}},
             emitted});
    }
  }
}

#if PERFMODEL_HAS_CUBLASLT

using bf16 = __nv_bfloat16;
constexpr std::uint32_t x_seed = 34, weight_seed = 35;

/// A split of k may be summed in bf16, a rounding of up to 2^-9 each time.
constexpr double product_tolerance = 1e-2;

/// Some columns of every row in double precision, and the GEMMs of 1, 2, ... rows against them.
class product_check {
 public:
  product_check(int rows, int n, int k, float scale) : n_(static_cast<std::size_t>(n)) {
    const auto inner = static_cast<std::size_t>(k);
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      for (std::size_t i = 0; i < columns; ++i) {
        double sum = 0;
        for (std::size_t c = 0; c < inner; ++c) {
          sum += static_cast<double>(pv::random_stored<bf16>(x_seed, row * inner + c)) *
                 pv::random_stored<bf16>(weight_seed, column(i) * inner + c, scale);
        }
        reference_.push_back(sum);
      }
    }
  }

  double error_of(const std::vector<bf16>& y, bool swaps_rows) const {
    const std::size_t rows = y.size() / n_;
    std::vector<float> result;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t from = swaps_rows ? rows - 1 - row : row;
      for (std::size_t i = 0; i < columns; ++i) {
        result.push_back(static_cast<float>(y[from * n_ + column(i)]));
      }
    }
    return pv::relative_error<float>(result,
                                     std::span<const double>(reference_).first(rows * columns));
  }

 private:
  static constexpr std::size_t columns = 6;
  std::size_t column(std::size_t i) const { return i * (n_ - 1) / (columns - 1); }

  std::size_t n_;
  std::vector<double> reference_;
};

void measure_verification(const pv::session& s, pv::recording& r) {
  struct size {
    int n, k;
  };
  const std::vector<size> sizes =
      s.reduced ? std::vector<size>{{96, 64}}
                : std::vector<size>{
                      {6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}, {128256, 4096}};
  const std::vector<int> tokens =
      s.reduced ? std::vector<int>{1, 3}
                : std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  for (const auto& [n, k] : sizes) {
    const std::size_t one = static_cast<std::size_t>(n) * static_cast<std::size_t>(k);
    const std::size_t copies = s.reduced ? 2 : 2 + 5 * s.l2_bytes() / (one * sizeof(bf16));
    const float scale = std::sqrt(3.0F / static_cast<float>(k));
    pv::device_buffer<bf16> w(one * copies), x(static_cast<std::size_t>(tokens.back()) * k);
    pv::random_fill(w, weight_seed, scale);
    pv::random_fill(x, x_seed);
    const product_check check(tokens.back(), n, k, scale);
    for (const int m : tokens) {
      r.part("verify_time of " + std::to_string(m) + " tokens", [&, n = n, k = k] {
        const pv::matrix_product<bf16> product(m, n, k);
        pv::device_buffer<bf16> y(static_cast<std::size_t>(m) * n);
        product.launch(x.data(), w.data(), y.data(), s.stream);
        r.check("product of " + std::to_string(m) + " x " + std::to_string(n) + " x " +
                    std::to_string(k),
                check.error_of(y.download(), s.breaks("swap_rows")), product_tolerance);
        const auto samples = pv::time_in_graph(
            s.stream, s.plan,
            [&](int i) {
              product.launch(x.data(), w.data() + static_cast<std::size_t>(i) % copies * one,
                             y.data(), s.stream);
            },
            static_cast<int>(copies));
        r.add({"verify_time",
               "s",
               {{"m", m},
                {"n", n},
                {"k", k},
                {"format", "bf16"},
                {"cache", "cold"},
                {"weight_copies", static_cast<double>(copies)},
                {"flop", product.flop()},
                {"bytes_read", product.bytes_read()},
                {"bytes_written", product.bytes_written()}},
               samples});
      });
    }
  }
}

#else

void measure_verification(const pv::session&, pv::recording& r) {
  r.skip("verify_time", pv::no_cublaslt);
}

#endif

void measure(const pv::session& s, pv::recording& r) {
  r.part("acceptance", [&] {
    check_distribution(s, r);
    measure_acceptance(s, r);
  });
  r.part("verification", [&] { measure_verification(s, r); });
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> faults{"accepts_too_often", "resamples_target"};
  if (pv::has_cublaslt) faults.emplace_back("swap_rows");
  return pv::run_experiment(
      argc, argv,
      {.name = "speculative",
       .law = "speculative.hpp: acceptance = sum min(p, q), emitted = (1 - a^(g+1)) / (1 - a)",
       .program = "validation/kernels/speculative.cu",
       .faults = faults},
      measure);
}
