// Decode step: a whole pass of a Llama-like model, every layer with weights of its own.
//
// Measures: the time of one step of 8 layers of Llama 3.1 8B's shape and its vocabulary product, at
//   batch sizes 1 to 128 and contexts 512 to 16384: launched kernel by kernel, and as a CUDA graph;
//   and of mixed steps, in which the first 512 tokens of another prompt join the sequences.
// How: embedding, then in each layer RMSNorm, QKV product, rotary embedding with the append to the
//   KV cache, attention, output product, residual and RMSNorm, gate and up product, SiLU x up, down
//   product; last norm and vocabulary product. Products by cuBLASLt, attention by the kernels of
//   common/. The weights (3.5 GB in layers) pass through the L2 once a step, so nothing is warm.
//   `context` counts the new token. bytes_read are weights and cache; activations stay in the L2.
// Tests: step time = sum over operators of max(bytes / bandwidth, flop / peak), and their launches.
// Source of the shape: Llama 3.1 8B's config.json (rope_theta 500000, rms_norm_eps 1e-5).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/cublaslt.cuh"
#include "common/decode_attention.cuh"
#include "common/experiment.cuh"
#include "common/prefill_attention.cuh"

namespace pv = perfmodel::validation;

namespace {

#if PERFMODEL_HAS_CUBLASLT

using bf16 = __nv_bfloat16;
using doubles = std::vector<double>;

constexpr int head_dim = 128, group = 4;  // query heads that share a KV head
constexpr int norm_threads = 256, norm_vectors = 4;
constexpr float norm_epsilon = 1e-5F;
constexpr double rope_theta = 500000.0;
constexpr std::uint32_t weight_seed = 11, norm_seed = 12, key_seed = 13, value_seed = 14,
                        token_seed = 15;

struct model_shape {
  int layers, hidden, intermediate, kv_heads, vocabulary;

  int query_heads() const { return group * kv_heads; }
  int attended() const { return query_heads() * head_dim; }
  int qkv() const { return (query_heads() + 2 * kv_heads) * head_dim; }
  // Begin of each matrix of a layer, in values.
  std::size_t out_at() const { return static_cast<std::size_t>(qkv()) * hidden; }
  std::size_t gate_up_at() const {
    return out_at() + static_cast<std::size_t>(attended()) * hidden;
  }
  std::size_t down_at() const {
    return gate_up_at() + 2 * static_cast<std::size_t>(intermediate) * hidden;
  }
  std::size_t layer_values() const {
    return down_at() + static_cast<std::size_t>(intermediate) * hidden;
  }
  std::size_t vocabulary_at() const { return static_cast<std::size_t>(layers) * layer_values(); }
  std::size_t values() const {
    return vocabulary_at() + static_cast<std::size_t>(vocabulary) * hidden;
  }
  std::size_t norm_values() const { return (2 * static_cast<std::size_t>(layers) + 1) * hidden; }
  /// Products keep the size of what they read.
  float weight_scale() const { return std::sqrt(3.0F / static_cast<float>(hidden)); }
  /// Keys of one position in all layers, and as many values.
  std::size_t cache_values() const {
    return static_cast<std::size_t>(layers) * kv_heads * head_dim;
  }
};

/// Rows 0 .. batch - 1 decode, at position context - 1 of sequences 0 .. batch - 1; the others are
/// the first tokens of sequence `batch`.
struct step_shape {
  int batch, context, prefill_tokens;

  int tokens() const { return batch + prefill_tokens; }
  int sequences() const { return batch + (prefill_tokens > 0 ? 1 : 0); }
  int logit_rows() const { return sequences(); }
  int capacity() const { return (std::max)(context, prefill_tokens); }
  int position(int row) const { return row < batch ? context - 1 : row - batch; }
};

/// What --break does to a step.
struct broken {
  bool drop_split = false, wrong_scale = false, skip_append = false, no_residual = false,
       no_rotation = false, sees_ahead = false;
};

__host__ __device__ inline int token_of(int row, int vocabulary) {
  return static_cast<int>(pv::random_bits(token_seed, static_cast<std::uint64_t>(row)) %
                          static_cast<std::uint32_t>(vocabulary));
}

__global__ void embedding_kernel(const bf16* __restrict__ table, bf16* __restrict__ out, int hidden,
                                 int vocabulary) {
  const int row = static_cast<int>(blockIdx.x);
  const bf16* from = table + static_cast<std::size_t>(token_of(row, vocabulary)) * hidden;
  for (int i = static_cast<int>(threadIdx.x) * 8; i < hidden;
       i += static_cast<int>(blockDim.x) * 8) {
    pv::store8(out + static_cast<std::size_t>(row) * hidden + i, pv::load8(from + i));
  }
}

/// residual += delta, out = residual / rms(residual) * weight. Block b takes row b, but from
/// `plain_rows` on row `last_row`: the vocabulary product wants only a prompt's last token.
__global__ void __launch_bounds__(norm_threads)
    norm_kernel(bf16* __restrict__ residual, const bf16* __restrict__ delta,
                const bf16* __restrict__ weight, bf16* __restrict__ out, int hidden, int plain_rows,
                int last_row) {
  __shared__ float partial[norm_threads / 32];
  const int b = static_cast<int>(blockIdx.x), row = b < plain_rows ? b : last_row;
  const std::size_t at = static_cast<std::size_t>(row) * hidden;
  float held[norm_vectors][8];
  float sum = 0.0F;
#pragma unroll
  for (int v = 0; v < norm_vectors; ++v) {
    const int i = (v * norm_threads + static_cast<int>(threadIdx.x)) * 8;
    if (i >= hidden) continue;
    pv::widen8(pv::load8(residual + at + i), held[v]);
    if (delta != nullptr) {
      float more[8];
      pv::widen8(pv::load8(delta + at + i), more);
#pragma unroll
      for (int j = 0; j < 8; ++j) held[v][j] += more[j];
      const uint4 rounded = pv::narrow8(held[v]);
      pv::store8(residual + at + i, rounded);
      pv::widen8(rounded, held[v]);
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) sum = fmaf(held[v][j], held[v][j], sum);
  }
#pragma unroll
  for (int with = 16; with > 0; with /= 2) sum += __shfl_xor_sync(0xFFFFFFFFU, sum, with);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  float total = 0.0F;
#pragma unroll
  for (int w = 0; w < norm_threads / 32; ++w) total += partial[w];
  const float by = rsqrtf(total / static_cast<float>(hidden) + norm_epsilon);
#pragma unroll
  for (int v = 0; v < norm_vectors; ++v) {
    const int i = (v * norm_threads + static_cast<int>(threadIdx.x)) * 8;
    if (i >= hidden) continue;
    float w[8];
    pv::widen8(pv::load8(weight + i), w);
#pragma unroll
    for (int j = 0; j < 8; ++j) w[j] *= held[v][j] * by;
    pv::store8(out + static_cast<std::size_t>(b) * hidden + i, pv::narrow8(w));
  }
}

/// Turns queries (in place) and keys, and appends keys and values to one layer's cache. Dimension i
/// pairs with i + head_dim / 2, as Llama's checkpoints are laid out. A block a token.
__global__ void rotate_and_append_kernel(bf16* __restrict__ qkv,
                                         const float2* __restrict__ rotation,
                                         bf16* __restrict__ keys, bf16* __restrict__ values,
                                         int query_heads, int kv_heads, int batch, int context,
                                         int capacity, bool rotates, bool appends) {
  constexpr int half = head_dim / 2, turns = half / 8, vectors = head_dim / 8;
  const int row = static_cast<int>(blockIdx.x);
  const int position = row < batch ? context - 1 : row - batch;
  const int sequence = row < batch ? row : batch;
  bf16* mine = qkv + static_cast<std::size_t>(row) * (query_heads + 2 * kv_heads) * head_dim;
  const auto slot = [&](int head) {
    return ((static_cast<std::size_t>(sequence) * kv_heads + head) * capacity + position) *
           head_dim;
  };
  const int turned = (query_heads + kv_heads) * turns;
  for (int i = static_cast<int>(threadIdx.x); i < turned + kv_heads * vectors;
       i += static_cast<int>(blockDim.x)) {
    if (i >= turned) {
      const int head = (i - turned) / vectors, at = (i - turned) % vectors * 8;
      const uint4 v = pv::load8(mine + (query_heads + kv_heads + head) * head_dim + at);
      if (appends) pv::store8(values + slot(head) + at, v);
      continue;
    }
    const int head = i / turns, at = i % turns * 8;
    bf16* from = mine + head * head_dim + at;
    float x[8], y[8];
    pv::widen8(pv::load8(from), x);
    pv::widen8(pv::load8(from + half), y);
    if (rotates) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float2 turn = rotation[static_cast<std::size_t>(position) * half + at + j];
        const float turned_x = x[j] * turn.x - y[j] * turn.y;
        y[j] = y[j] * turn.x + x[j] * turn.y;
        x[j] = turned_x;
      }
    }
    if (head < query_heads) {
      pv::store8(from, pv::narrow8(x));
      pv::store8(from + half, pv::narrow8(y));
    } else if (appends) {
      bf16* to = keys + slot(head - query_heads) + at;
      pv::store8(to, pv::narrow8(x));
      pv::store8(to + half, pv::narrow8(y));
    }
  }
}

/// out = silu(gate) * up; a row holds all gates, then all ups.
__global__ void activation_kernel(const bf16* __restrict__ gate_up, bf16* __restrict__ out,
                                  int intermediate, int vectors) {
  const int step = static_cast<int>(gridDim.x * blockDim.x), in_row = intermediate / 8;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < vectors; i += step) {
    const std::size_t row = static_cast<std::size_t>(i / in_row);
    const int at = i % in_row * 8;
    float gate[8], up[8];
    pv::widen8(pv::load8(gate_up + 2 * row * intermediate + at), gate);
    pv::widen8(pv::load8(gate_up + (2 * row + 1) * intermediate + at), up);
#pragma unroll
    for (int j = 0; j < 8; ++j) up[j] *= gate[j] / (1.0F + __expf(-gate[j]));
    pv::store8(out + row * intermediate + at, pv::narrow8(up));
  }
}

double angle_of(int position, int i) {
  return position * std::pow(rope_theta, -2.0 * i / head_dim);
}

struct model {
  model_shape shape;
  pv::device_buffer<bf16> weights, norms;
  pv::device_buffer<float2> rotation;

  model(const model_shape& is, int positions)
      : shape(is),
        weights(is.values()),
        norms(is.norm_values()),
        rotation(static_cast<std::size_t>(positions) * (head_dim / 2)) {
    pv::random_fill(weights, weight_seed, is.weight_scale());
    pv::random_fill(norms, norm_seed);
    std::vector<float2> turns(rotation.size());
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const double a =
          angle_of(static_cast<int>(i / (head_dim / 2)), static_cast<int>(i % (head_dim / 2)));
      turns[i] = {static_cast<float>(std::cos(a)), static_cast<float>(std::sin(a))};
    }
    rotation.upload(turns);
  }
};

struct cache {
  pv::device_buffer<bf16> keys, values;
  explicit cache(std::size_t size) : keys(size), values(size) {
    pv::random_fill(keys, key_seed);
    pv::random_fill(values, value_seed);
  }
};

enum class stage {
  embedding,
  attention_norm,
  qkv,
  rotation,
  attention,
  out,
  feed_forward_norm,
  gate_up,
  activation,
  down,
  last_norm,
  logits
};

/// Buffers and GEMMs of a step, for a number of tokens.
struct decoder {
  const model& of;
  const cache& past;
  int tokens, rows;
  pv::device_buffer<bf16> residual, normed, qkv, attended, delta, gate_up, activated, logits;
  pv::device_buffer<float> parts;
  pv::device_buffer<float2> states;
  pv::matrix_product<bf16> qkv_product, out_product, gate_up_product, down_product, logits_product;

  static constexpr std::size_t most_splits = 64;

  decoder(const model& m, const cache& c, const step_shape& s)
      : of(m),
        past(c),
        tokens(s.tokens()),
        rows(s.logit_rows()),
        residual(size(m.shape.hidden)),
        normed(size(m.shape.hidden)),
        qkv(size(m.shape.qkv())),
        attended(size(m.shape.attended())),
        delta(size(m.shape.hidden)),
        gate_up(size(2 * m.shape.intermediate)),
        activated(size(m.shape.intermediate)),
        logits(static_cast<std::size_t>(rows) * static_cast<std::size_t>(m.shape.vocabulary)),
        parts(static_cast<std::size_t>(s.batch) * m.shape.attended() * most_splits),
        states(static_cast<std::size_t>(s.batch) * m.shape.query_heads() * most_splits),
        qkv_product(tokens, m.shape.qkv(), m.shape.hidden),
        out_product(tokens, m.shape.hidden, m.shape.attended()),
        gate_up_product(tokens, 2 * m.shape.intermediate, m.shape.hidden),
        down_product(tokens, m.shape.hidden, m.shape.intermediate),
        logits_product(rows, m.shape.vocabulary, m.shape.hidden) {
    if (m.shape.hidden > norm_threads * norm_vectors * 8 || m.shape.hidden % 8 != 0 ||
        m.shape.intermediate % 8 != 0) {
      throw pv::measurement_error("decode step: hidden or intermediate size");
    }
  }

  std::size_t size(int columns) const {
    return static_cast<std::size_t>(tokens) * static_cast<std::size_t>(columns);
  }

  /// Enqueues one step, and calls after(stage, layer) behind each of its parts. `least_split`: keys
  /// of a split, at least.
  template <class After>
  void enqueue(const step_shape& s, const broken& b, int sms, int least_split, cudaStream_t stream,
               After&& after) {
    const model_shape& m = of.shape;
    const auto grid = static_cast<unsigned>(tokens);
    const bf16* vocabulary = of.weights.data() + m.vocabulary_at();
    embedding_kernel<<<grid, 256, 0, stream>>>(vocabulary, residual.data(), m.hidden, m.vocabulary);
    PERFMODEL_LAUNCHED("embedding_kernel");
    after(stage::embedding, 0);
    const std::size_t layer_cache = static_cast<std::size_t>(s.sequences()) * m.kv_heads *
                                    static_cast<std::size_t>(s.capacity()) * head_dim;
    for (int layer = 0; layer < m.layers; ++layer) {
      const bf16* w = of.weights.data() + static_cast<std::size_t>(layer) * m.layer_values();
      const bf16* norm = of.norms.data() + 2 * static_cast<std::size_t>(layer) * m.hidden;
      bf16* keys = past.keys.data() + static_cast<std::size_t>(layer) * layer_cache;
      bf16* values = past.values.data() + static_cast<std::size_t>(layer) * layer_cache;
      normalise(layer == 0 ? nullptr : delta.data(), norm, tokens, tokens, stream);
      after(stage::attention_norm, layer);
      qkv_product.launch(normed.data(), w, qkv.data(), stream);
      after(stage::qkv, layer);
      rotate_and_append_kernel<<<grid, 256, 0, stream>>>(
          qkv.data(), of.rotation.data(), keys, values, m.query_heads(), m.kv_heads, s.batch,
          s.context, s.capacity(), !b.no_rotation, !b.skip_append);
      PERFMODEL_LAUNCHED("rotate_and_append_kernel");
      after(stage::rotation, layer);
      attend(s, b, sms, least_split, keys, values, stream);
      after(stage::attention, layer);
      out_product.launch(attended.data(), w + m.out_at(), delta.data(), stream);
      after(stage::out, layer);
      normalise(b.no_residual ? nullptr : delta.data(), norm + m.hidden, tokens, tokens, stream);
      after(stage::feed_forward_norm, layer);
      gate_up_product.launch(normed.data(), w + m.gate_up_at(), gate_up.data(), stream);
      after(stage::gate_up, layer);
      const int vectors = tokens * (m.intermediate / 8);
      activation_kernel<<<static_cast<unsigned>((vectors + 255) / 256), 256, 0, stream>>>(
          gate_up.data(), activated.data(), m.intermediate, vectors);
      PERFMODEL_LAUNCHED("activation_kernel");
      after(stage::activation, layer);
      down_product.launch(activated.data(), w + m.down_at(), delta.data(), stream);
      after(stage::down, layer);
    }
    normalise(delta.data(), of.norms.data() + 2 * static_cast<std::size_t>(m.layers) * m.hidden,
              rows, s.batch, stream);
    after(stage::last_norm, m.layers);
    logits_product.launch(normed.data(), vocabulary, logits.data(), stream);
    after(stage::logits, m.layers);
  }

  void normalise(const bf16* more, const bf16* weight, int blocks, int plain, cudaStream_t stream) {
    norm_kernel<<<static_cast<unsigned>(blocks), norm_threads, 0, stream>>>(
        residual.data(), more, weight, normed.data(), of.shape.hidden, plain, tokens - 1);
    PERFMODEL_LAUNCHED("norm_kernel");
  }

  void attend(const step_shape& s, const broken& b, int sms, int least_split, const bf16* keys,
              const bf16* values, cudaStream_t stream) {
    const model_shape& m = of.shape;
    const float scale = static_cast<float>(1.4426950408889634 / std::sqrt(double{head_dim})) *
                        (b.wrong_scale ? 1.2F : 1.0F);
    pv::decode_attention_shape d;
    d.queries = qkv.data();
    d.keys = keys;
    d.values = values;
    d.out = attended.data();
    d.parts = parts.data();
    d.states = states.data();
    d.batch = s.batch;
    d.query_heads = m.query_heads();
    d.kv_heads = m.kv_heads;
    d.query_stride = m.qkv();
    d.capacity = s.capacity();
    d.context = s.context;
    d.scale = scale;
    pv::choose_splits(d, sms, least_split);
    pv::launch_decode_attention<head_dim, group>(d, stream, b.drop_split);
    pv::prefill_attention_shape p;
    const std::size_t sequence = static_cast<std::size_t>(s.batch) * m.kv_heads *
                                 static_cast<std::size_t>(s.capacity()) * head_dim;
    p.queries = qkv.data() + static_cast<std::size_t>(s.batch) * m.qkv();
    p.keys = keys + sequence;
    p.values = values + sequence;
    p.out = attended.data() + static_cast<std::size_t>(s.batch) * m.attended();
    p.tokens = s.prefill_tokens;
    p.query_heads = m.query_heads();
    p.kv_heads = m.kv_heads;
    p.query_stride = m.qkv();
    p.capacity = s.capacity();
    p.scale = scale;
    p.ahead = b.sees_ahead ? 1 : 0;
    if (s.prefill_tokens > 0) pv::launch_prefill_attention<head_dim>(p, stream);
  }
};

// --- the same in double precision, on the host
// ----------------------------------------------------

doubles widened(const std::vector<bf16>& from) {
  doubles out(from.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<double>(static_cast<float>(from[i]));
  return out;
}

/// A head's rotary embedding.
void turn(double* head, int position) {
  for (int i = 0; i < head_dim / 2; ++i) {
    const double a = angle_of(position, i);
    const double x = head[i], y = head[i + head_dim / 2];
    head[i] = x * std::cos(a) - y * std::sin(a);
    head[i + head_dim / 2] = y * std::cos(a) + x * std::sin(a);
  }
}

/// Adds to `to` the attention of one query over `positions` keys and values of its head.
void attend_over(const double* q, const double* keys, const double* values, std::size_t positions,
                 double* to) {
  doubles p(positions);
  double most = -1e300, total = 0;
  for (std::size_t j = 0; j < positions; ++j) {
    for (std::size_t d = 0; d < head_dim; ++d) p[j] += q[d] * keys[j * head_dim + d];
    p[j] /= std::sqrt(double{head_dim});
    most = (std::max)(most, p[j]);
  }
  for (double& x : p) total += x = std::exp(x - most);
  for (std::size_t j = 0; j < positions; ++j) {
    for (std::size_t d = 0; d < head_dim; ++d) to[d] += p[j] / total * values[j * head_dim + d];
  }
}

double silu_times(double gate, double up) {
  return gate / (1.0 + std::exp(-gate)) * up;
}

/// Weights and starting cache are made anew from their seeds.
class reference {
 public:
  reference(const model_shape& m, const step_shape& s)
      : m_(m), s_(s), weights_(m.values()), norms_(m.norm_values()) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] = pv::random_stored<bf16>(weight_seed, i, m.weight_scale());
    }
    for (std::size_t i = 0; i < norms_.size(); ++i)
      norms_[i] = pv::random_stored<bf16>(norm_seed, i);
  }

  std::size_t layer_cache() const {
    return static_cast<std::size_t>(s_.sequences()) * m_.kv_heads *
           static_cast<std::size_t>(s_.capacity()) * head_dim;
  }
  std::size_t cached(int sequence, int head, int position) const {
    return ((static_cast<std::size_t>(sequence) * m_.kv_heads + head) * s_.capacity() + position) *
           head_dim;
  }
  doubles fresh_cache(int layer, std::uint32_t seed) const {
    doubles out(layer_cache());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = pv::random_stored<bf16>(seed, static_cast<std::size_t>(layer) * out.size() + i);
    }
    return out;
  }

  doubles embedding() const {
    doubles out;
    for (int row = 0; row < s_.tokens(); ++row) {
      const auto from = weights_.begin() +
                        static_cast<std::ptrdiff_t>(
                            m_.vocabulary_at() +
                            static_cast<std::size_t>(token_of(row, m_.vocabulary)) * m_.hidden);
      out.insert(out.end(), from, from + m_.hidden);
    }
    return out;
  }

  doubles norm(const doubles& x, int which) const {
    const auto n = static_cast<std::size_t>(m_.hidden);
    doubles out(x.size());
    for (std::size_t row = 0; row < x.size() / n; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += x[row * n + i] * x[row * n + i];
      const double by = 1.0 / std::sqrt(sum / m_.hidden + 1e-5);
      for (std::size_t i = 0; i < n; ++i) {
        out[row * n + i] = x[row * n + i] * by * norms_[static_cast<std::size_t>(which) * n + i];
      }
    }
    return out;
  }

  /// x[rows][k] w[n][k]^T, w from `at` on.
  doubles product(const doubles& x, std::size_t at, int columns, int inner) const {
    const auto n = static_cast<std::size_t>(columns), k = static_cast<std::size_t>(inner);
    doubles out(x.size() / k * n);
    for (std::size_t row = 0; row < x.size() / k; ++row) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < k; ++i) sum += x[row * k + i] * weights_[at + j * k + i];
        out[row * n + j] = sum;
      }
    }
    return out;
  }

  void rotate(doubles& qkv) const {
    for (int row = 0; row < s_.tokens(); ++row) {
      for (int head = 0; head < m_.query_heads() + m_.kv_heads; ++head) {
        turn(qkv.data() + static_cast<std::size_t>(row) * m_.qkv() + head * head_dim,
             s_.position(row));
      }
    }
  }

  void append(const doubles& qkv, doubles& keys, doubles& values) const {
    for (int row = 0; row < s_.tokens(); ++row) {
      for (int head = 0; head < m_.kv_heads; ++head) {
        const double* from = qkv.data() + static_cast<std::size_t>(row) * m_.qkv() +
                             static_cast<std::size_t>(m_.query_heads() + head) * head_dim;
        const std::size_t to = cached((std::min)(row, s_.batch), head, s_.position(row));
        std::copy(from, from + head_dim, keys.begin() + static_cast<std::ptrdiff_t>(to));
        from += m_.kv_heads * head_dim;
        std::copy(from, from + head_dim, values.begin() + static_cast<std::ptrdiff_t>(to));
      }
    }
  }

  doubles attention(const doubles& qkv, const doubles& keys, const doubles& values) const {
    doubles out(static_cast<std::size_t>(s_.tokens()) * m_.attended());
    for (int row = 0; row < s_.tokens(); ++row) {
      for (int head = 0; head < m_.query_heads(); ++head) {
        const double* q = qkv.data() + static_cast<std::size_t>(row) * m_.qkv() + head * head_dim;
        const std::size_t at = cached((std::min)(row, s_.batch), head / group, 0);
        attend_over(
            q, keys.data() + at, values.data() + at, static_cast<std::size_t>(s_.position(row)) + 1,
            out.data() + (static_cast<std::size_t>(row) * m_.query_heads() + head) * head_dim);
      }
    }
    return out;
  }

  doubles activation(const doubles& gate_up) const {
    const auto n = static_cast<std::size_t>(m_.intermediate);
    doubles out(gate_up.size() / 2);
    for (std::size_t row = 0; row < out.size() / n; ++row) {
      for (std::size_t i = 0; i < n; ++i) {
        out[row * n + i] = silu_times(gate_up[2 * row * n + i], gate_up[(2 * row + 1) * n + i]);
      }
    }
    return out;
  }

  /// The rows that the vocabulary product takes.
  doubles last_rows(const doubles& x) const {
    const auto n = static_cast<std::ptrdiff_t>(m_.hidden);
    doubles out(x.begin(), x.begin() + s_.batch * n);
    if (s_.prefill_tokens > 0) out.insert(out.end(), x.end() - n, x.end());
    return out;
  }

  doubles logits() const {
    doubles x = embedding();
    const auto add = [&x](const doubles& y) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    };
    for (int l = 0; l < m_.layers; ++l) {
      const std::size_t w = static_cast<std::size_t>(l) * m_.layer_values();
      doubles qkv = product(norm(x, 2 * l), w, m_.qkv(), m_.hidden);
      rotate(qkv);
      doubles keys = fresh_cache(l, key_seed), values = fresh_cache(l, value_seed);
      append(qkv, keys, values);
      add(product(attention(qkv, keys, values), w + m_.out_at(), m_.hidden, m_.attended()));
      const doubles gate_up =
          product(norm(x, 2 * l + 1), w + m_.gate_up_at(), 2 * m_.intermediate, m_.hidden);
      add(product(activation(gate_up), w + m_.down_at(), m_.hidden, m_.intermediate));
    }
    return product(norm(last_rows(x), 2 * m_.layers), m_.vocabulary_at(), m_.vocabulary, m_.hidden);
  }

 private:
  model_shape m_;
  step_shape s_;
  doubles weights_, norms_;
};

/// One bf16 rounding of a result is 2^-9 at most, 2^-9 / sqrt(3) on average; what a stage rounds
/// inside (probabilities, keys) adds a few of them.
constexpr double stage_tolerance = 6e-3, step_tolerance = 3e-2;
/// In products as long as a real model's, cuBLASLt may sum a split of k in bf16.
constexpr double timed_tolerance = 1e-2;

struct worst_error {
  const char* name;
  double error = 0;
  void take(double e) {
    error = std::isnan(e) || std::isnan(error) ? std::nan("") : (std::max)(error, e);
  }
};

/// Every stage against double precision that starts from the stage's own input, and the logits
/// against double precision all the way.
void check_step(const pv::session& s, pv::recording& r, const broken& b, const model& m,
                const step_shape& shape, const std::string& name) {
  cache kv(m.shape.cache_values() * static_cast<std::size_t>(shape.sequences()) *
           static_cast<std::size_t>(shape.capacity()));
  decoder d(m, kv, shape);
  const reference ref(m.shape, shape);
  worst_error embedding{"embedding"}, norms{"RMSNorm and residual"}, products{"products"},
      rotation{"rotary embedding"}, appended{"KV append"}, kept{"KV left alone"},
      attention{"attention"}, activation{"SiLU x up"};
  doubles residual, normed, qkv, attended, delta, gate_up, activated;
  const auto compare = [](worst_error& into, const pv::device_buffer<bf16>& result,
                          std::size_t count, const doubles& wanted) {
    const std::vector<bf16> got = result.download(0, count);
    into.take(pv::relative_error<bf16>(got, wanted));
    return widened(got);
  };
  const auto hidden = static_cast<std::size_t>(m.shape.hidden);
  const auto check_norm = [&](int which, bool adds) {
    if (adds) {
      for (std::size_t i = 0; i < residual.size(); ++i) residual[i] += delta[i];
    }
    if (which < 2 * m.shape.layers) {
      residual = compare(norms, d.residual, residual.size(), residual);
      normed = compare(norms, d.normed, residual.size(), ref.norm(residual, which));
    } else {
      const doubles last = ref.last_rows(residual);
      normed = compare(norms, d.normed, last.size(), ref.norm(last, which));
    }
  };
  const std::size_t layer_cache = ref.layer_cache();
  // Splits as for 16 SMs or more, so that there are splits to merge.
  d.enqueue(shape, b, (std::max)(s.sms(), 16), 32, s.stream, [&](stage what, int layer) {
    const std::size_t w = static_cast<std::size_t>(layer) * m.shape.layer_values();
    const std::size_t first = static_cast<std::size_t>(layer) * layer_cache;
    switch (what) {
      case stage::embedding:
        residual = compare(embedding, d.residual, hidden * static_cast<std::size_t>(shape.tokens()),
                           ref.embedding());
        break;
      case stage::attention_norm: check_norm(2 * layer, layer > 0); break;
      case stage::qkv:
        qkv = compare(products, d.qkv, d.qkv.size(),
                      ref.product(normed, w, m.shape.qkv(), m.shape.hidden));
        break;
      case stage::rotation: {
        ref.rotate(qkv);
        doubles keys = ref.fresh_cache(layer, key_seed),
                values = ref.fresh_cache(layer, value_seed);
        const doubles before = keys;
        ref.append(qkv, keys, values);
        const doubles new_keys = widened(kv.keys.download(first, layer_cache));
        const std::vector<bf16> got_values = kv.values.download(first, layer_cache);
        std::vector<float> mine;
        doubles theirs;
        double moved = 0;
        for (std::size_t i = 0; i < layer_cache; ++i) {
          if (keys[i] == before[i]) {
            moved += new_keys[i] == before[i] ? 0.0 : 1.0;
          } else {
            mine.push_back(static_cast<float>(new_keys[i]));
            theirs.push_back(keys[i]);
          }
        }
        kept.take(moved);
        appended.take(pv::relative_error<float>(mine, theirs));
        appended.take(pv::relative_error<bf16>(got_values, values));
        // Queries alone are turned in place.
        const doubles now = widened(d.qkv.download());
        mine.clear();
        theirs.clear();
        for (std::size_t i = 0; i < now.size(); ++i) {
          if (static_cast<int>(i % static_cast<std::size_t>(m.shape.qkv())) >= m.shape.attended())
            continue;
          mine.push_back(static_cast<float>(now[i]));
          theirs.push_back(qkv[i]);
        }
        rotation.take(pv::relative_error<float>(mine, theirs));
        qkv = now;
        break;
      }
      case stage::attention:
        attended = compare(attention, d.attended, d.attended.size(),
                           ref.attention(qkv, widened(kv.keys.download(first, layer_cache)),
                                         widened(kv.values.download(first, layer_cache))));
        break;
      case stage::out:
        delta = compare(
            products, d.delta, d.delta.size(),
            ref.product(attended, w + m.shape.out_at(), m.shape.hidden, m.shape.attended()));
        break;
      case stage::feed_forward_norm: check_norm(2 * layer + 1, true); break;
      case stage::gate_up:
        gate_up = compare(products, d.gate_up, d.gate_up.size(),
                          ref.product(normed, w + m.shape.gate_up_at(), 2 * m.shape.intermediate,
                                      m.shape.hidden));
        break;
      case stage::activation:
        activated = compare(activation, d.activated, d.activated.size(), ref.activation(gate_up));
        break;
      case stage::down:
        delta = compare(
            products, d.delta, d.delta.size(),
            ref.product(activated, w + m.shape.down_at(), m.shape.hidden, m.shape.intermediate));
        break;
      case stage::last_norm: check_norm(2 * layer, true); break;
      case stage::logits:
        compare(products, d.logits, d.logits.size(),
                ref.product(normed, m.shape.vocabulary_at(), m.shape.vocabulary, m.shape.hidden));
        break;
    }
  });
  for (const worst_error& e :
       {embedding, norms, products, rotation, appended, attention, activation}) {
    r.check(name + ": " + e.name + " against double precision", e.error, stage_tolerance);
  }
  r.check(name + ": values of the KV cache that changed and should not", kept.error, 0.0);
  r.check(name + ": logits against double precision all the way",
          pv::relative_error<bf16>(d.logits.download(), ref.logits()), step_tolerance);
}

/// Checks the results of the last layer and of the LM head in the step that ran last, at the timed
/// size. For the last decode row and the prompt's last token: the new KV-cache entry, the attention
/// of the last KV head, SiLU x up, some of the down projection. For the last row: the norm and some
/// logits. Each is recomputed from its recorded input.
void check_last_layer(pv::recording& r, const decoder& d, const step_shape& is) {
  const model_shape& m = d.of.shape;
  const auto hidden = static_cast<std::size_t>(m.hidden),
             inner = static_cast<std::size_t>(m.intermediate),
             capacity = static_cast<std::size_t>(is.capacity());
  const int layer = m.layers - 1, kv_head = m.kv_heads - 1;
  worst_error worst{"last layer"};
  std::vector<float> result;
  doubles wanted;
  const auto compare = [&] {
    worst.take(pv::relative_error<float>(result, wanted));
    result.clear();
    wanted.clear();
  };
  const auto add = [&](double got, double reference) {
    result.push_back(static_cast<float>(got));
    wanted.push_back(reference);
  };
  // Six values of y; their matrix begins at weight `at`.
  const auto products = [&](const doubles& x, const doubles& y, std::size_t at) {
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t column = i * (y.size() - 1) / 5;
      double sum = 0;
      for (std::size_t c = 0; c < x.size(); ++c) {
        sum += x[c] *
               pv::random_stored<bf16>(weight_seed, at + column * x.size() + c, m.weight_scale());
      }
      add(y[column], sum);
    }
    compare();
  };
  std::vector<int> rows{is.batch - 1};
  if (is.prefill_tokens > 0) rows.push_back(is.tokens() - 1);
  for (const int row : rows) {
    const auto of_row = [row](const pv::device_buffer<bf16>& from, std::size_t columns) {
      return widened(from.download(static_cast<std::size_t>(row) * columns, columns));
    };
    const auto positions = static_cast<std::size_t>(is.position(row)) + 1;
    const std::size_t sequence = static_cast<std::size_t>(layer) * is.sequences() +
                                 static_cast<std::size_t>((std::min)(row, is.batch));
    const std::size_t at = (sequence * m.kv_heads + kv_head) * capacity * head_dim;
    const doubles keys = widened(d.past.keys.download(at, positions * head_dim));
    const doubles values = widened(d.past.values.download(at, positions * head_dim));
    const doubles qkv = of_row(d.qkv, static_cast<std::size_t>(m.qkv()));
    const double* key = qkv.data() + (m.query_heads() + kv_head) * head_dim;
    doubles turned(key, key + head_dim);
    turn(turned.data(), is.position(row));
    for (std::size_t i = 0; i < head_dim; ++i) {
      add(keys[(positions - 1) * head_dim + i], turned[i]);
      add(values[(positions - 1) * head_dim + i], key[m.kv_heads * head_dim + static_cast<int>(i)]);
    }
    compare();
    const doubles attended = of_row(d.attended, static_cast<std::size_t>(m.attended()));
    for (int head = kv_head * group; head < m.query_heads(); ++head) {
      doubles one(head_dim);
      attend_over(qkv.data() + head * head_dim, keys.data(), values.data(), positions, one.data());
      for (std::size_t i = 0; i < head_dim; ++i) {
        add(attended[static_cast<std::size_t>(head) * head_dim + i], one[i]);
      }
    }
    compare();
    const doubles gate_up = of_row(d.gate_up, 2 * inner), activated = of_row(d.activated, inner);
    for (std::size_t i = 0; i < inner; ++i) {
      add(activated[i], silu_times(gate_up[i], gate_up[inner + i]));
    }
    compare();
    products(activated, of_row(d.delta, hidden),
             static_cast<std::size_t>(layer) * m.layer_values() + m.down_at());
  }
  const doubles x =
      widened(d.residual.download(static_cast<std::size_t>(rows.back()) * hidden, hidden));
  const auto last = static_cast<std::size_t>(is.logit_rows()) - 1;
  const doubles normed = widened(d.normed.download(last * hidden, hidden));
  double squares = 0;
  for (const double v : x) squares += v * v;
  const double by = 1.0 / std::sqrt(squares / m.hidden + 1e-5);
  for (std::size_t i = 0; i < hidden; ++i) {
    const std::size_t weight = 2 * static_cast<std::size_t>(m.layers) * hidden + i;
    add(normed[i], x[i] * by * pv::random_stored<bf16>(norm_seed, weight));
  }
  compare();
  const auto vocabulary = static_cast<std::size_t>(m.vocabulary);
  products(normed, widened(d.logits.download(last * vocabulary, vocabulary)), m.vocabulary_at());
  r.check("batch " + std::to_string(is.batch) + ", context " + std::to_string(is.context) +
              ", prompt of " + std::to_string(is.prefill_tokens) +
              ": the last layer and the logits, as timed",
          worst.error, timed_tolerance);
}

void check_all(const pv::session& s, pv::recording& r) {
  const broken b{.drop_split = s.breaks("drop_split"),
                 .wrong_scale = s.breaks("wrong_scale"),
                 .skip_append = s.breaks("skip_append"),
                 .no_residual = s.breaks("no_residual"),
                 .no_rotation = s.breaks("no_rotation"),
                 .sees_ahead = s.breaks("sees_ahead")};
  const model m({.layers = 2, .hidden = 256, .intermediate = 312, .kv_heads = 1, .vocabulary = 264},
                160);
  check_step(s, r, b, m, {.batch = 3, .context = 149, .prefill_tokens = 69}, "mixed step");
  check_step(s, r, b, m, {.batch = 5, .context = 31, .prefill_tokens = 0}, "decode step");
}

// --- timing
// ---------------------------------------------------------------------------------------

void record_step(const pv::session& s, pv::recording& r, decoder& d, const step_shape& is) {
  const model_shape& m = d.of.shape;
  const broken b{.wrong_scale = s.breaks("timed_wrong_scale")};
  const auto once = [&](int) { d.enqueue(is, b, s.sms(), 64, s.stream, [](stage, int) {}); };
  const double heads = m.query_heads(), layers = m.layers, kv_row = 4.0 * m.kv_heads * head_dim;
  const double in_layers = static_cast<double>(m.vocabulary_at());
  const double in_vocabulary = static_cast<double>(m.values() - m.vocabulary_at());
  const double prompt = is.prefill_tokens;
  const double pairs = static_cast<double>(is.batch) * is.context + prompt * (prompt + 1.0) / 2.0;
  const double flop = 2.0 * in_layers * is.tokens() + 2.0 * in_vocabulary * is.logit_rows() +
                      4.0 * pairs * heads * head_dim * layers;
  const double read = 2.0 * static_cast<double>(m.values() + m.norm_values()) +
                      layers * kv_row * (static_cast<double>(is.batch) * is.context + prompt);
  const double written =
      layers * kv_row * is.tokens() + 2.0 * static_cast<double>(is.logit_rows()) * m.vocabulary;
  for (const bool graph : {false, true}) {
    // A mixed step can reach the power cap: each way to launch it starts from the clock under a
    // light load, not from that of the measurement before it.
    if (is.prefill_tokens > 0 && !s.reduced) pv::spin(s.stream, s.sms(), 0.2);
    const auto samples = graph ? pv::time_in_graph(s.stream, s.plan, once)
                               : pv::time_in_stream(s.stream, s.plan, once);
    r.add({"step_time",
           "s",
           {{"launch", graph ? "graph" : "eager"},
            {"batch", is.batch},
            {"context", is.context},
            {"prefill_tokens", is.prefill_tokens},
            {"layers", m.layers},
            {"hidden", m.hidden},
            {"intermediate", m.intermediate},
            {"query_heads", m.query_heads()},
            {"kv_heads", m.kv_heads},
            {"head_dim", head_dim},
            {"vocabulary", m.vocabulary},
            {"format", "bf16"},
            {"cache", "cold"},
            {"flop", flop},
            {"bytes_read", read},
            {"bytes_written", written}},
           samples});
  }
  check_last_layer(r, d, is);
}

void measure(const pv::session& s, pv::recording& r) {
  check_all(s, r);
  const model_shape llama{
      .layers = 8, .hidden = 4096, .intermediate = 14336, .kv_heads = 8, .vocabulary = 128256};
  const model_shape tiny{
      .layers = 2, .hidden = 256, .intermediate = 312, .kv_heads = 1, .vocabulary = 264};
  model_shape shape = s.reduced ? tiny : llama;
  // A smaller device runs fewer layers, as long as one stays beyond its L2.
  while (shape.layers > 1 && 4 * shape.values() > s.free_bytes()) shape.layers /= 2;
  std::vector<step_shape> steps;
  if (s.reduced) {
    steps = {{2, 40, 0}, {2, 40, 16}};
  } else {
    for (const int batch : {1, 8, 32, 64, 128}) {
      for (const int context : {512, 4096, 16384}) steps.push_back({batch, context, 0});
    }
    // Mixed steps, which heat the device most, last.
    for (const int batch : {8, 32, 64}) steps.push_back({batch, 4096, 512});
  }
  // Bytes of a step's own buffers and workspaces, in addition to the weights. At most 60 GB in all.
  const std::size_t taken = 2 * shape.values() + (s.reduced ? 0U : std::size_t{2} << 30U);
  const std::size_t ours = (std::min)(s.free_bytes(), std::size_t{60} * 1000000000U);
  const std::size_t budget = ours - (std::min)(ours, taken);
  const auto cache_size = [&](const step_shape& is) {
    return shape.cache_values() * static_cast<std::size_t>(is.sequences()) *
           static_cast<std::size_t>(is.capacity());
  };
  std::size_t largest = 0;
  std::vector<step_shape> fit;
  for (const step_shape& is : steps) {
    const std::size_t size = cache_size(is);
    if (4 * size <= budget && 4 * size <= std::size_t{36} * 1000000000U) {
      largest = (std::max)(largest, size);
      fit.push_back(is);
    } else {
      r.skip("batch " + std::to_string(is.batch) + ", context " + std::to_string(is.context),
             "its KV cache of " + std::to_string(4 * size / 1000000) + " MB");
    }
  }
  if (fit.empty()) return;
  const model m(shape, s.reduced ? 64 : 16384);
  const cache kv(largest);
  // Steps with as many tokens share products and buffers.
  for (std::size_t i = 0, next = 0; i < fit.size(); i = next) {
    const auto alike = [&](const step_shape& is) {
      return is.tokens() == fit[i].tokens() && is.batch == fit[i].batch;
    };
    while (next < fit.size() && alike(fit[next])) ++next;
    r.part("batch " + std::to_string(fit[i].batch), [&] {
      decoder d(m, kv, fit[i]);
      for (std::size_t at = i; at < next; ++at) {
        r.part("context " + std::to_string(fit[at].context),
               [&] { record_step(s, r, d, fit[at]); });
      }
    });
  }
}

#else

void measure(const pv::session&, pv::recording& r) {
  r.skip("step_time", pv::no_cublaslt);
}

#endif

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(
      argc, argv,
      {.name = "decode_step",
       .law = "step.hpp: a step's time is the sum of its operators' and launches'",
       .program = "validation/kernels/decode_step.cu",
       .faults = {"drop_split", "wrong_scale", "skip_append", "no_residual", "no_rotation",
                  "sees_ahead", "timed_wrong_scale"}},
      measure);
}
