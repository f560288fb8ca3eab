// Attention: what materialising the scores costs, decode over splits of the context, and a paged
// KV cache.
//
// Measures: causal prefill of one sequence, 512 to 8192 tokens, (a) unfused, as a framework without
//   a fused kernel does: scores by cuBLASLt to memory, a softmax over them, a GEMM with the values,
//   each of them one launch for all heads (the queries of the heads that share keys are rows of one
//   matrix); (b) one kernel with an online softmax over tiles in shared memory, by tensor cores:
//   mma.sync, and on Hopper also wgmma with tiles loaded by TMA. And decode, one query a sequence,
//   with the context in 1 to 64 splits. And common/paged_kv.cuh.
// How: bf16, fp32 sums; prefill in a CUDA graph on one set of operands, which is small against its
//   own arithmetic; decode rotates through KV-cache buffers larger than five L2s in all.
// Tests: attention demands (O(S^2) bytes against O(S)), calibrated_attention, and how many splits a
//   decode needs to fill the SMs.
#include <cmath>

#include "common/cublaslt.cuh"
#include "common/decode_attention.cuh"
#include "common/experiment.cuh"
#include "common/paged_kv.cuh"
#include "common/prefill_attention.cuh"
#include "common/prefill_attention_hopper.cuh"

namespace pv = perfmodel::validation;

namespace {

using bf16 = __nv_bfloat16;
constexpr int head_dim = 128, group = 4;
constexpr float log2_e = 1.44269504F;
constexpr int softmax_threads = 256;

// --- unfused -------------------------------------------------------------------------------------

/// One block a row of scores: p = exp(s - max) / sum over the keys that the row may see, 0 beyond.
template <bool Barrier>
__global__ void __launch_bounds__(softmax_threads)
    softmax_kernel(bf16* scores, int tokens, float scale) {
  __shared__ float partial[softmax_threads / 32];
  const int row = static_cast<int>(blockIdx.x), lane = static_cast<int>(threadIdx.x) % 32;
  bf16* s = scores + (static_cast<std::size_t>(blockIdx.y) * static_cast<std::size_t>(tokens) +
                      static_cast<std::size_t>(row)) *
                         static_cast<std::size_t>(tokens);
  float most = pv::softmax_nothing;
  for (int c = static_cast<int>(threadIdx.x); c <= row; c += softmax_threads) {
    most = fmaxf(most, static_cast<float>(s[c]));
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2) most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFFU, most, by));
  if (lane == 0) partial[threadIdx.x / 32] = most;
  if (Barrier) __syncthreads();
  for (int w = 0; w < softmax_threads / 32; ++w) most = fmaxf(most, partial[w]);
  __syncthreads();
  float sum = 0.0F;
  for (int c = static_cast<int>(threadIdx.x); c <= row; c += softmax_threads) {
    sum += exp2f((static_cast<float>(s[c]) - most) * scale);
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, by);
  if (lane == 0) partial[threadIdx.x / 32] = sum;
  if (Barrier) __syncthreads();
  sum = 0.0F;
  for (int w = 0; w < softmax_threads / 32; ++w) sum += partial[w];
  for (int c = static_cast<int>(threadIdx.x); c < tokens; c += softmax_threads) {
    s[c] =
        __float2bfloat16(c <= row ? exp2f((static_cast<float>(s[c]) - most) * scale) / sum : 0.0F);
  }
}

#if PERFMODEL_HAS_CUBLASLT
/// values[g][token][d] -> transposed[g][d][token], for the product that wants rows along tokens.
__global__ void transpose_values_kernel(const bf16* values, bf16* transposed, int tokens) {
  const std::size_t n = static_cast<std::size_t>(tokens) * head_dim;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::size_t head = blockIdx.y, token = i / head_dim, d = i % head_dim;
  transposed[head * n + d * static_cast<std::size_t>(tokens) + token] = values[head * n + i];
}
#endif

// --- operands ------------------------------------------------------------------------------------

struct size {
  int tokens, kv_heads;
  int query_heads() const { return kv_heads * group; }
};

/// Queries head by head, so that both variants read the same memory: head h, token t at
/// (h * tokens + t) * head_dim.
struct operands {
  size is;
  pv::device_buffer<bf16> queries, keys, values, out;
  explicit operands(const size& of)
      : is(of),
        queries(elements(of.query_heads())),
        keys(elements(of.kv_heads)),
        values(elements(of.kv_heads)),
        out(elements(of.query_heads())) {
    pv::random_fill(queries, 51, 2.0F);
    pv::random_fill(keys, 52, 2.0F);
    pv::random_fill(values, 53);
  }
  std::size_t elements(int heads) const {
    return static_cast<std::size_t>(heads) * static_cast<std::size_t>(is.tokens) * head_dim;
  }
};

/// One query in double precision.
void reference_row(const size& is, int head, int token, bool drop_term, std::vector<double>& out) {
  const auto tokens = static_cast<std::size_t>(is.tokens);
  const auto q =
      (static_cast<std::size_t>(head) * tokens + static_cast<std::size_t>(token)) * head_dim;
  const auto kv = static_cast<std::size_t>(head / group) * tokens * head_dim;
  std::vector<double> score;
  double most = -1e300, sum = 0;
  for (int p = 0; p <= token - (drop_term && token > 0 ? 1 : 0); ++p) {
    double dot = 0;
    for (std::size_t d = 0; d < head_dim; ++d) {
      dot += static_cast<double>(pv::random_stored<bf16>(51, q + d, 2.0F)) *
             static_cast<double>(pv::random_stored<bf16>(
                 52, kv + static_cast<std::size_t>(p) * head_dim + d, 2.0F));
    }
    score.push_back(dot / std::sqrt(static_cast<double>(head_dim)));
    most = (std::max)(most, score.back());
  }
  for (double& x : score) sum += x = std::exp(x - most);
  for (std::size_t d = 0; d < head_dim; ++d) {
    double v = 0;
    for (std::size_t p = 0; p < score.size(); ++p) {
      v += score[p] * static_cast<double>(pv::random_stored<bf16>(53, kv + p * head_dim + d));
    }
    out.push_back(v / sum);
  }
}

// --- prefill -------------------------------------------------------------------------------------

/// All heads at once, each with queries and results of its own, one head's after the other's.
pv::prefill_attention_shape prefill_shape(const operands& o, const pv::session& s) {
  pv::prefill_attention_shape a;
  a.tokens = o.is.tokens;
  a.query_heads = o.is.query_heads();
  a.kv_heads = o.is.kv_heads;
  a.query_stride = head_dim;
  a.head_stride = o.is.tokens * head_dim;
  a.capacity = o.is.tokens;
  a.queries = o.queries.data();
  a.keys = o.keys.data();
  a.values = o.values.data();
  a.out = o.out.data();
  a.scale = log2_e / std::sqrt(static_cast<float>(head_dim));
  a.ahead = s.breaks("sees_ahead") ? 1 : 0;
  return a;
}

#if PERFMODEL_HAS_CUBLASLT
class unfused {
 public:
  explicit unfused(const operands& o)
      : o_(o),
        scores_(static_cast<std::size_t>(o.is.query_heads()) *
                static_cast<std::size_t>(o.is.tokens) * static_cast<std::size_t>(o.is.tokens)),
        transposed_(o.elements(o.is.kv_heads)),
        scoring_(group * o.is.tokens, o.is.tokens, head_dim, o.is.kv_heads),
        weighting_(group * o.is.tokens, head_dim, o.is.tokens, o.is.kv_heads) {}

  void launch(const pv::session& s) {
    const int tokens = o_.is.tokens;
    const auto each = static_cast<std::size_t>(tokens) * head_dim;
    const dim3 blocks(static_cast<unsigned>((each + 255) / 256),
                      static_cast<unsigned>(o_.is.kv_heads));
    transpose_values_kernel<<<blocks, 256, 0, s.stream>>>(o_.values.data(), transposed_.data(),
                                                          tokens);
    PERFMODEL_LAUNCHED("transpose_values_kernel");
    scoring_.launch(o_.queries.data(), o_.keys.data(), scores_.data(), s.stream);
    const float scale = log2_e / std::sqrt(static_cast<float>(head_dim));
    const dim3 rows(static_cast<unsigned>(tokens), static_cast<unsigned>(o_.is.query_heads()));
    if (s.breaks("skip_barrier")) {
      softmax_kernel<false><<<rows, softmax_threads, 0, s.stream>>>(scores_.data(), tokens, scale);
    } else {
      softmax_kernel<true><<<rows, softmax_threads, 0, s.stream>>>(scores_.data(), tokens, scale);
    }
    PERFMODEL_LAUNCHED("softmax_kernel");
    weighting_.launch(scores_.data(), transposed_.data(), o_.out.data(), s.stream);
  }

 private:
  const operands& o_;
  pv::device_buffer<bf16> scores_, transposed_;
  pv::matrix_product<bf16> scoring_, weighting_;
};
#endif

void check_prefill(const pv::session& s, pv::recording& r, const operands& o, const char* name) {
  const std::vector<bf16> all = o.out.download();
  std::vector<float> result;
  std::vector<double> reference;
  const int rows = s.reduced ? 24 : 12;
  for (int i = 0; i < rows; ++i) {
    const int head = i % o.is.query_heads(), token = i * (o.is.tokens - 1) / (rows - 1);
    const auto at = (static_cast<std::size_t>(head) * static_cast<std::size_t>(o.is.tokens) +
                     static_cast<std::size_t>(token)) *
                    head_dim;
    for (std::size_t d = 0; d < head_dim; ++d) result.push_back(static_cast<float>(all[at + d]));
    reference_row(o.is, head, token, s.breaks("drop_term"), reference);
  }
  std::string text = name;
  r.check(text.append(" over ").append(std::to_string(o.is.tokens)).append(" tokens"),
          pv::relative_error<float>(result, reference), 1.5e-2);
}

void add_prefill(pv::recording& r, const size& is, const char* variant, pv::repetitions samples) {
  const double pairs = 0.5 * is.tokens * (is.tokens + 1.0);
  const double each = 2.0 * is.tokens * head_dim;
  r.add({"attention_prefill_time",
         "s",
         {{"variant", variant},
          {"batch", 1},
          {"tokens", is.tokens},
          {"query_heads", is.query_heads()},
          {"kv_heads", is.kv_heads},
          {"head_dim", head_dim},
          {"format", "bf16"},
          {"causal", true},
          {"cache", "warm"},
          {"bytes_read", each * (is.query_heads() + 2.0 * is.kv_heads)},
          {"bytes_written", each * is.query_heads()},
          {"flop", 4.0 * pairs * head_dim * is.query_heads()}},
         std::move(samples)});
}

void measure_prefill(const pv::session& s, pv::recording& r, const size& is) {
  operands o(is);
  const auto shape = prefill_shape(o, s);
  const auto online = [&](int) { pv::launch_prefill_attention<head_dim>(shape, s.stream); };
  online(0);
  check_prefill(s, r, o, "online softmax");
  add_prefill(r, is, "online_softmax", pv::time_in_graph(s.stream, s.plan, online));
  const double scores = 2.0 * is.query_heads() * static_cast<double>(is.tokens) * is.tokens;
  if (scores > 0.25 * static_cast<double>(s.free_bytes()) || scores > 16e9) {
    r.skip("unfused attention over " + std::to_string(is.tokens) + " tokens",
           "its scores take too much memory");
    return;
  }
#if PERFMODEL_HAS_CUBLASLT
  o.out.poison();
  unfused u(o);
  u.launch(s);
  check_prefill(s, r, o, "unfused");
  add_prefill(r, is, "unfused", pv::time_in_graph(s.stream, s.plan, [&](int) { u.launch(s); }));
#else
  r.skip("unfused attention", pv::no_cublaslt);
#endif
}

// --- prefill by Hopper's own instructions --------------------------------------------------------

#ifndef PERFMODEL_EMULATED
/// Checks a prefill chunk after `past` cached positions, in a cache with NaN in all unused rows:
/// every element equals the other kernel's.
void check_hopper(const pv::session& s, pv::recording& r, int tokens, int past) {
  constexpr int kv_heads = 2, heads = kv_heads * group;
  const int all = past + tokens, capacity = all + 37;
  const auto step = static_cast<std::size_t>(heads) * head_dim;
  const auto plane = static_cast<std::size_t>(capacity) * head_dim;
  const pv::device_buffer<bf16> out(static_cast<std::size_t>(tokens) * step);
  pv::device_buffer<bf16> queries(out.size()), keys(kv_heads * plane), values(kv_heads * plane);
  pv::random_fill(queries, 71, 2.0F);
  pv::random_fill(keys, 72, 2.0F);
  pv::random_fill(values, 73);
  for (std::size_t g = 0; g < kv_heads; ++g) {
    const std::size_t used = static_cast<std::size_t>(all) * head_dim;
    for (const auto* cache : {&keys, &values}) {
      PERFMODEL_CUDA(cudaMemset(cache->data() + g * plane + used, 0xFF, 2 * (plane - used)));
    }
  }
  PERFMODEL_CUDA(cudaDeviceSynchronize());
  pv::prefill_attention_shape a;
  a.tokens = tokens;
  a.past = past;
  a.query_heads = heads;
  a.kv_heads = kv_heads;
  a.query_stride = heads * head_dim;
  a.capacity = capacity;
  a.queries = queries.data();
  a.keys = keys.data();
  a.values = values.data();
  a.out = out.data();
  a.scale = log2_e / std::sqrt(static_cast<float>(head_dim));
  pv::launch_prefill_attention<head_dim>(a, s.stream);
  const std::vector<bf16> known = out.download();
  std::vector<double> reference;
  for (const bf16 v : known) reference.push_back(static_cast<double>(static_cast<float>(v)));
  const pv::device_buffer<bf16> again(out.size());
  a.out = again.data();
  pv::launch_hopper_prefill<head_dim>(a, s.stream);
  const std::vector<bf16> result = again.download();
  r.check("wgmma against mma, " + std::to_string(tokens) + " tokens behind " + std::to_string(past),
          pv::relative_error<bf16>(result, reference), 6e-3);
}

/// Last, so that a mistake in what no emulator runs costs nothing but itself.
void measure_hopper(const pv::session& s, pv::recording& r, const std::vector<size>& sizes) {
  if (s.architecture() != 90 || !pv::has_wgmma()) {
    r.skip("prefill by wgmma", s.architecture() != 90 ? "Hopper alone has this instruction"
                                                      : "not compiled for sm_90a");
    return;
  }
  constexpr int chunks[][2] = {{1, 0},   {64, 0},   {128, 0},  {129, 0},
                               {80, 40}, {64, 300}, {200, 72}, {513, 1000}};
  for (const auto& [tokens, past] : chunks) check_hopper(s, r, tokens, past);
  for (const size& is : sizes) {
    r.part("prefill by wgmma over " + std::to_string(is.tokens), [&] {
      const operands o(is);
      const auto shape = prefill_shape(o, s);
      const auto online = [&](int) { pv::launch_hopper_prefill<head_dim>(shape, s.stream); };
      online(0);
      check_prefill(s, r, o, "wgmma");
      add_prefill(r, is, "online_softmax_wgmma", pv::time_in_graph(s.stream, s.plan, online));
    });
  }
}
#endif

// --- decode --------------------------------------------------------------------------------------

struct decode_size {
  int batch, context, kv_heads;
  int query_heads() const { return kv_heads * group; }
};

struct decode_operands {
  decode_size is;
  std::size_t copies;  ///< buffers of keys and values, all of one size
  pv::device_buffer<bf16> queries, keys, values, out;
  pv::device_buffer<float> parts;
  pv::device_buffer<float2> states;
  explicit decode_operands(const decode_size& of, std::size_t n = 1)
      : is(of),
        copies(n),
        queries(heads() * head_dim),
        keys(n * rows() * head_dim),
        values(n * rows() * head_dim),
        out(heads() * head_dim),
        parts(heads() * 64 * head_dim),
        states(heads() * 64) {
    pv::random_fill(queries, 61, 2.0F);
    pv::random_fill(keys, 62, 2.0F);
    pv::random_fill(values, 63);
  }
  std::size_t heads() const {
    return static_cast<std::size_t>(is.batch) * static_cast<std::size_t>(is.query_heads());
  }
  std::size_t rows() const {
    return static_cast<std::size_t>(is.batch) * static_cast<std::size_t>(is.kv_heads) *
           static_cast<std::size_t>(is.context);
  }

  pv::decode_attention_shape shape(int splits, int repetition = 0) const {
    const std::size_t copy = static_cast<std::size_t>(repetition) % copies * rows() * head_dim;
    pv::decode_attention_shape a;
    a.queries = queries.data();
    a.keys = keys.data() + copy;
    a.values = values.data() + copy;
    a.out = out.data();
    a.parts = parts.data();
    a.states = states.data();
    a.batch = is.batch;
    a.query_heads = is.query_heads();
    a.kv_heads = is.kv_heads;
    a.query_stride = is.query_heads() * head_dim;
    a.capacity = is.context;
    a.context = is.context;
    a.scale = log2_e / std::sqrt(static_cast<float>(head_dim));
    a.keys_per_split = (is.context + splits - 1) / splits;
    a.splits = (is.context + a.keys_per_split - 1) / a.keys_per_split;
    return a;
  }
};

void check_decode(const pv::session& s, pv::recording& r, int splits) {
  decode_operands o({2, 211, 2});
  o.out.poison();
  pv::launch_decode_attention<head_dim, group>(o.shape(splits), s.stream,
                                               s.breaks("drop_split") && splits > 1);
  const std::vector<bf16> all = o.out.download();
  std::vector<double> reference;
  for (int b = 0; b < o.is.batch; ++b) {
    for (int h = 0; h < o.is.query_heads(); ++h) {
      const auto q = static_cast<std::size_t>(b * o.is.query_heads() + h) * head_dim;
      const auto kv = static_cast<std::size_t>(b * o.is.kv_heads + h / group) *
                      static_cast<std::size_t>(o.is.context) * head_dim;
      std::vector<double> score;
      double most = -1e300, sum = 0;
      for (int p = 0; p < o.is.context; ++p) {
        double dot = 0;
        for (std::size_t d = 0; d < head_dim; ++d) {
          dot += static_cast<double>(pv::random_stored<bf16>(61, q + d, 2.0F)) *
                 static_cast<double>(pv::random_stored<bf16>(
                     62, kv + static_cast<std::size_t>(p) * head_dim + d, 2.0F));
        }
        score.push_back(dot / std::sqrt(static_cast<double>(head_dim)));
        most = (std::max)(most, score.back());
      }
      for (double& x : score) sum += x = std::exp(x - most);
      for (std::size_t d = 0; d < head_dim; ++d) {
        double v = 0;
        for (std::size_t p = 0; p < score.size(); ++p) {
          v += score[p] * static_cast<double>(pv::random_stored<bf16>(63, kv + p * head_dim + d));
        }
        reference.push_back(v / sum);
      }
    }
  }
  r.check("decode in " + std::to_string(splits) + " splits",
          pv::relative_error<bf16>(all, reference), 6e-3);
}

void measure_decode(const pv::session& s, pv::recording& r, const decode_size& is) {
  const double cache =
      2.0 * 2.0 * is.batch * is.kv_heads * static_cast<double>(is.context) * head_dim;
  const double wanted = s.reduced ? 2.0 : std::ceil(5.0 * s.device.l2_bytes / cache);
  const decode_operands o(is, static_cast<std::size_t>(wanted));
  const double heads = 2.0 * static_cast<double>(o.heads()) * head_dim;
  for (int splits = 1; splits <= 64; splits *= 2) {
    if (is.context / splits < 32) break;
    const auto samples = pv::time_in_graph(
        s.stream, s.plan,
        [&](int i) { pv::launch_decode_attention<head_dim, group>(o.shape(splits, i), s.stream); },
        static_cast<int>(o.copies));
    r.add({"attention_decode_time",
           "s",
           {{"splits", o.shape(splits).splits},
            {"batch", is.batch},
            {"context", is.context},
            {"query_heads", is.query_heads()},
            {"kv_heads", is.kv_heads},
            {"head_dim", head_dim},
            {"format", "bf16"},
            {"cache", "cold"},
            {"bytes_read", cache + heads},
            {"bytes_written", heads},
            {"flop", 4.0 * static_cast<double>(o.heads()) * is.context * head_dim}},
           samples});
  }
}

void measure(const pv::session& s, pv::recording& r) {
  const std::vector<int> tokens =
      s.reduced ? std::vector<int>{80} : std::vector<int>{512, 1024, 2048, 4096, 8192};
  for (const int t : tokens) {
    r.part("prefill over " + std::to_string(t), [&] {
      measure_prefill(s, r, {t, s.reduced ? 2 : 8});
    });
  }
  const std::vector<decode_size> sizes =
      s.reduced ? std::vector<decode_size>{{1, 64, 1}}
                : std::vector<decode_size>{{1, 512, 8},    {1, 4096, 8}, {1, 32768, 8},
                                           {1, 131072, 8}, {16, 512, 8}, {16, 4096, 8},
                                           {16, 32768, 8}, {64, 512, 8}, {64, 4096, 8}};
  r.part("decode", [&] {
    for (const int splits : {1, 3, 7}) check_decode(s, r, splits);
    for (const decode_size& is : sizes) {
      r.part("batch " + std::to_string(is.batch) + ", context " + std::to_string(is.context),
             [&] { measure_decode(s, r, is); });
    }
  });
#ifdef PERFMODEL_EMULATED
  r.skip("prefill by wgmma", "the emulated device has no such instruction");
#else
  r.part("prefill by wgmma", [&] {
    std::vector<size> prompts;
    for (const int t : tokens) prompts.push_back({t, s.reduced ? 2 : 8});
    measure_hopper(s, r, prompts);
  });
#endif
  pv::paged::measure(s, r);
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(
      argc, argv,
      {.name = "attention",
       .law = "attention demands: O(S^2) bytes materialised, O(S) online; splits fill the SMs",
       .program = "validation/kernels/attention.cu",
       .faults = {"drop_term", "sees_ahead", "skip_barrier", "drop_split", "wrong_block",
                  "drop_paged_split", "count_twice"}},
      measure);
}
