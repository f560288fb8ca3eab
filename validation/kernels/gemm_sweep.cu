// GEMM sweep: how long a linear layer takes, from one token to thousands.
//
// Measures: the time of y = x w^T for M = 1 .. 8192 tokens over the layers of well-known models, in
//   bf16 and fp8. Cold: weights, activations and results rotate through buffers that exceed five
//   L2s in all (weight_copies says how many). Warm: one buffer, measured only where it is below
//   four L2s; a model has to predict the share of it that stays in the L2. verify_time: the layers
//   of Llama 3.1 8B and its LM head at 1 to 17 rows, as a verification of drafts runs them; no fit
//   of a profile sees these shapes.
// How: cuBLASLt with the first algorithm of its heuristic, sums in fp32 (fp8 without fast
//   accumulation), a chain of launches in a CUDA graph, so that no CPU time is in the measurement.
//   Row counts ascend, and all layers and formats of one row count follow each other: large GEMMs
//   run last, so that no small one runs at the clock to which a large one was power-capped.
// Tests: roofline, time >= max(flop / peak, bytes / bandwidth), tiles that do not fill the SMs, and
//   the M from which a GEMM is no longer limited by its weights' bytes.
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/cublaslt.cuh"
#include "common/experiment.cuh"

namespace pv = perfmodel::validation;

namespace {

#if PERFMODEL_HAS_CUBLASLT

struct layer {
  int n, k;
};
// Llama-3 70B: query and output; gate and up together are twice 28672; down; fused QKV. Llama-3 8B:
// query and output; gate or up. (11008, 2048) is the one that seed 004 measured.
constexpr layer layers[] = {{11008, 2048}, {8192, 8192}, {28672, 8192}, {8192, 28672},
                            {10240, 8192}, {4096, 4096}, {14336, 4096}};
constexpr int tokens[] = {1,   2,   3,   4,   8,    16,   17,   32,   64,
                          100, 128, 256, 512, 1000, 1024, 2048, 4096, 8192};
// Llama-3.1 8B: fused QKV, output, gate and up together, down, LM head.
constexpr layer verified_layers[] = {
    {6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}, {128256, 4096}};
constexpr int verified_tokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
constexpr layer reduced_layers[] = {{80, 48}, {32, 144}};
constexpr int reduced_tokens[] = {1, 3, 17};

constexpr std::uint32_t x_seed = 31, w_seed = 32;

/// Stride between buffers of a rotation, in values: cuBLASLt's heuristic assumes matrices aligned
/// to 256 bytes (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES and the others).
constexpr std::size_t apart(std::size_t values) {
  return (values + 255) / 256 * 256;
}

/// Buffers that all GEMMs of one format share: each copy is a part of them.
template <class T>
struct arena {
  pv::device_buffer<T> x, w;
  pv::device_buffer<__nv_bfloat16> y;
  arena(std::size_t x_values, std::size_t w_values, std::size_t y_values)
      : x(x_values), w(w_values), y(y_values) {
    pv::random_fill(x, x_seed);
    pv::random_fill(w, w_seed);
  }
};

/// Number of buffers with which a rotation exceeds five L2s, at least six.
std::size_t copies_wanted(const pv::session& s, std::size_t bytes) {
  if (s.reduced) return 6;
  return (std::max)(std::size_t{6}, 5 * s.l2_bytes() / bytes + 2);
}

/// Rows of x or w as the format stores them, each made once: it takes longer than the sum over it.
template <class T>
class stored_rows {
 public:
  stored_rows(std::uint32_t seed, std::size_t length) : seed_(seed), length_(length) {}
  const std::vector<float>& operator[](std::size_t row) {
    std::vector<float>& made = made_[row];
    for (std::size_t i = made.size(); i < length_; ++i) {
      made.push_back(pv::random_stored<T>(seed_, row * length_ + i));
    }
    return made;
  }

 private:
  std::uint32_t seed_;
  std::size_t length_;
  std::map<std::size_t, std::vector<float>> made_;
};

/// Four rows of eight columns of y, spread over it, with their references.
template <class T>
void sample_result(const pv::session& s, const arena<T>& on, std::size_t m, std::size_t n,
                   std::size_t k, stored_rows<T>& x, stored_rows<T>& w, std::vector<float>& result,
                   std::vector<double>& reference) {
  const std::size_t rows = (std::min)(m, std::size_t{4});
  const std::size_t terms = k - (s.breaks("drop_terms") ? k / 8 : 0);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t row = rows == 1 ? 0 : i * (m - 1) / (rows - 1);
    const std::size_t first = (rows - 1 - i) * (n - 8) / (std::max)(rows - 1, std::size_t{1});
    for (const __nv_bfloat16 v : on.y.download(row * n + first, 8)) {
      result.push_back(static_cast<float>(v));
    }
    const std::vector<float>& of_x = x[row];
    for (std::size_t column = first; column < first + 8; ++column) {
      const std::vector<float>& of_w = w[column];
      double sum = 0;
      for (std::size_t l = 0; l < terms; ++l) {
        sum += static_cast<double>(of_x[l]) * static_cast<double>(of_w[l]);
      }
      reference.push_back(sum);
    }
  }
}

/// How often the parts of a buffer are used before they come again.
struct rotation {
  std::size_t x, w, y;
};

template <class T>
pv::repetitions time_product(const pv::session& s, const pv::matrix_product<T>& product,
                             const arena<T>& on, std::size_t m, const layer& of, rotation through) {
  const auto n = static_cast<std::size_t>(of.n), k = static_cast<std::size_t>(of.k);
  pv::timing_plan plan = s.plan;
  // A GEMM of this size takes milliseconds: its scatter is small, and the sweep has to end.
  if (product.flop() > 5e11 && !s.reduced) {
    plan.warmups = 1;
    plan.samples = 5;
  }
  return pv::time_in_graph(
      s.stream, plan,
      [&](int i) {
        const auto turn = static_cast<std::size_t>(i);
        product.launch(on.x.data() + turn % through.x * apart(m * k),
                       on.w.data() + turn % through.w * apart(n * k),
                       on.y.data() + turn % through.y * apart(m * n), s.stream);
      },
      static_cast<int>(through.w));
}

/// One layer: its weights, the number of weight buffers that rotate, and rows of the operands for
/// the checks.
template <class T>
struct swept_layer {
  layer of;
  std::size_t n, k, weights, copies;
  stored_rows<T> x, w;

  swept_layer(const pv::session& s, const arena<T>& on, const layer& l)
      : of(l),
        n(static_cast<std::size_t>(l.n)),
        k(static_cast<std::size_t>(l.k)),
        weights(apart(n * k)),
        copies((std::min)(copies_wanted(s, weights * sizeof(T)), on.w.size() / weights)),
        x(x_seed, k),
        w(w_seed, k) {}
};

template <class T>
void measure_product(const pv::session& s, pv::recording& r, const char* quantity,
                     const char* format, arena<T>& on, swept_layer<T>& through, int tokens_now) {
  const bool sweeps = std::string_view(quantity) == "gemm_time";
  const auto m = static_cast<std::size_t>(tokens_now);
  const std::size_t n = through.n, k = through.k, weights = through.weights;
  if (m * k > on.x.size() || m * n > on.y.size()) {
    throw pv::not_available("activations do not fit");
  }
  const pv::matrix_product<T> product(tokens_now, through.of.n, through.of.k);
  // The result is poisoned over what the check reads, and no further: the arena is large.
  PERFMODEL_CUDA(cudaMemset(on.y.data(), 0xFF, m * n * sizeof(__nv_bfloat16)));
  PERFMODEL_CUDA(cudaDeviceSynchronize());
  product.launch(on.x.data(), on.w.data() + (s.breaks("next_copy") ? weights : 0), on.y.data(),
                 s.stream);
  std::vector<float> result;
  std::vector<double> reference;
  sample_result(s, on, m, n, k, through.x, through.w, result, reference);
  std::string name = format;
  name.append(", ").append(std::to_string(m)).append(" x ").append(std::to_string(n));
  r.check(name + " x " + std::to_string(k) + " against double precision",
          pv::relative_error<float>(result, reference), 1e-2);

  const auto fits = [&](std::size_t in, std::size_t each) {
    return (std::min)(through.copies, (std::max)(std::size_t{1}, in / each));
  };
  for (const bool warm : {false, true}) {
    if (warm && (!sweeps || weights * sizeof(T) > 4 * s.l2_bytes())) continue;
    const rotation turns = warm ? rotation{1, 1, 1}
                                : rotation{fits(on.x.size(), apart(m * k)), through.copies,
                                           fits(on.y.size(), apart(m * n))};
    const pv::repetitions samples = time_product(s, product, on, m, through.of, turns);
    r.add({quantity,
           "s",
           {{"m", tokens_now},
            {"n", through.of.n},
            {"k", through.of.k},
            {"format", format},
            {"weight_copies", turns.w},
            {"library", "cublaslt"},
            {"cache", warm ? "warm" : "cold"},
            {"bytes_read", product.bytes_read()},
            {"bytes_written", product.bytes_written()},
            {"flop", product.flop()}},
           samples});
  }
}

/// All layers in one format, which share their buffers. `share`: the part of the free memory that
/// these may take.
template <class T>
class format_sweep {
 public:
  format_sweep(const pv::session& s, pv::recording& r, const char* quantity, const char* format,
               std::span<const layer> shapes, int most_rows, double share)
      : s_(s),
        r_(r),
        quantity_(quantity),
        format_(format),
        on_(make_arena(s, shapes, most_rows, share)) {
    for (const layer& of : shapes) {
      swept_layer<T> swept(s, on_, of);
      if (swept.copies < 2) {
        r.skip(
            std::string(format) + ", n = " + std::to_string(of.n) + ", k = " + std::to_string(of.k),
            "two buffers of the weights do not fit");
      } else {
        layers_.push_back(std::move(swept));
      }
    }
  }

  /// Each product is a part of its own: what fails costs that one.
  void measure(int rows) {
    for (swept_layer<T>& of : layers_) {
      r_.part(std::string(quantity_) + ", " + format_ + ", " + std::to_string(rows) + " x " +
                  std::to_string(of.n) + " x " + std::to_string(of.k),
              [&] { measure_product(s_, r_, quantity_, format_, on_, of, rows); });
    }
  }

 private:
  /// A sixth of the memory for activations, another for results, a half for weights.
  static arena<T> make_arena(const pv::session& s, std::span<const layer> shapes, int most_rows,
                             double share) {
    std::size_t x_values = 0, w_values = 0, y_values = 0;
    for (const layer& of : shapes) {
      const auto n = static_cast<std::size_t>(of.n), k = static_cast<std::size_t>(of.k);
      const auto most = static_cast<std::size_t>(most_rows);
      w_values = (std::max)(w_values, copies_wanted(s, n * k * sizeof(T)) * apart(n * k));
      x_values = (std::max)(x_values, 2 * apart(most * k));
      y_values = (std::max)(y_values, 2 * apart(most * n));
    }
    const auto free = static_cast<std::size_t>(share * static_cast<double>(s.free_bytes()));
    return {(std::min)(x_values, free / 6 / sizeof(T)), (std::min)(w_values, free / 2 / sizeof(T)),
            (std::min)(y_values, free / 6 / sizeof(__nv_bfloat16))};
  }

  const pv::session& s_;
  pv::recording& r_;
  const char* quantity_;
  const char* format_;
  arena<T> on_;
  std::vector<swept_layer<T>> layers_;
};

void measure(const pv::session& s, pv::recording& r) {
  const std::span<const layer> shapes =
      s.reduced ? std::span<const layer>(reduced_layers) : std::span<const layer>(layers);
  const std::span<const int> rows =
      s.reduced ? std::span<const int>(reduced_tokens) : std::span<const int>(tokens);
  r.part("verify_time", [&] {
    const auto drafts = s.reduced ? rows : std::span<const int>(verified_tokens);
    format_sweep<__nv_bfloat16> verified(
        s, r, "verify_time", "bf16", s.reduced ? shapes : std::span<const layer>(verified_layers),
        drafts.back(), 1.0);
    for (const int rows_now : drafts) verified.measure(rows_now);
  });
  std::optional<format_sweep<__nv_bfloat16>> bf16;
  std::optional<format_sweep<__nv_fp8_e4m3>> fp8;
  const bool has_fp8 = s.architecture() >= 89;
  // Half of the memory for bf16, and all that it leaves for fp8.
  r.part("bf16", [&] {
    bf16.emplace(s, r, "gemm_time", "bf16", shapes, rows.back(), has_fp8 ? 0.5 : 1.0);
  });
  if (has_fp8) {
    r.part("fp8", [&] { fp8.emplace(s, r, "gemm_time", "fp8", shapes, rows.back(), 1.0); });
  } else {
    r.skip("fp8", "this GPU has no fp8 tensor cores");
  }
  for (const int rows_now : rows) {
    if (bf16) bf16->measure(rows_now);
    if (fp8) fp8->measure(rows_now);
  }
}

#endif

}  // namespace

int main(int argc, char** argv) {
#if PERFMODEL_HAS_CUBLASLT
  return pv::run_experiment(argc, argv,
                            {.name = "gemm_sweep",
                             .law = "roofline: time >= max(flop / peak, bytes / bandwidth)",
                             .program = "validation/kernels/gemm_sweep.cu",
                             .faults = {"drop_terms", "next_copy"}},
                            measure);
#else
  (void)argc;
  (void)argv;
  std::fprintf(stderr, "gemm_sweep: skipped: %s\n", pv::no_cublaslt);
  return pv::exit_skipped;
#endif
}
