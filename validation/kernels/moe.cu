// Mixture of experts: a router and the GEMMs of the experts that its tokens chose.
//
// Measures: the time of one layer, for 1 to 4096 tokens, in the shapes of Qwen3-30B-A3B (128
//   experts, 8 a token), DeepSeek-V2-Lite (64, 6) and Mixtral 8x7B (8, 2); and how many experts
//   these tokens touch, over tokens of independent random scores.
// How: router GEMM by cuBLASLt, top-k and softmax by one warp per token, then a sort by expert on
//   the device; gate and up GEMM, SiLU x up, down GEMM, and the weighted sum over a token's
//   experts. The experts run in the grouped GEMM of common/grouped_product.cuh, one launch for all
//   experts. Everything in a CUDA graph; its repetitions rotate through layers that exceed four L2s
//   in all. bytes_read are the touched experts' weights, the router's and the tokens; the
//   activations between the GEMMs are not counted.
// Tests: experts touched = E (1 - (1 - k / E)^n); layer time >= max(touched weights / bandwidth,
//   flop / peak).
// Source of the shapes: the library's catalogue, which names its own.
#include <cmath>
#include <cstdint>

#include "algorithms/routing.hpp"
#include "common/cublaslt.cuh"
#include "common/experiment.cuh"
#include "common/grouped_product.cuh"
#include "common/grouped_product_hopper.cuh"

namespace pv = perfmodel::validation;

namespace {

#if PERFMODEL_HAS_CUBLASLT

using bf16 = __nv_bfloat16;

constexpr std::uint32_t token_seed = 21, router_seed = 22, gate_up_seed = 23, down_seed = 24;
constexpr int most_experts = 128, most_chosen = 8;

struct moe_shape {
  int hidden, intermediate, experts, top_k;

  std::size_t gate_up_values() const {
    return 2 * static_cast<std::size_t>(experts) * intermediate * hidden;
  }
  std::size_t down_values() const { return gate_up_values() / 2; }
  double expert_bytes() const { return 2.0 * 3.0 * intermediate * hidden; }
  float scale() const { return std::sqrt(3.0F / static_cast<float>(hidden)); }
};

/// What --break does to a layer.
struct broken {
  bool wrong_top_k = false, drop_expert = false, unweighted = false, swap_rows = false;
};

/// A warp a token: the k best of its scores, their softmax, and the token's place among those of
/// the same expert.
__global__ void top_k_kernel(const bf16* __restrict__ scores, int tokens, int experts, int k,
                             int* __restrict__ chosen, float* __restrict__ weights,
                             int* __restrict__ place, int* __restrict__ counts,
                             bool last_for_first) {
  constexpr int mine = most_experts / 32;
  const int token = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (token >= tokens) return;  // the whole warp
  float score[mine];
#pragma unroll
  for (int i = 0; i < mine; ++i) {
    const int e = i * 32 + lane;
    score[i] = e < experts ? __bfloat162float(scores[static_cast<std::size_t>(token) * experts + e])
                           : -INFINITY;
  }
  float sum = 0.0F, first = 0.0F, my_weight = 0.0F;
  int my_choice = 0;
  for (int j = 0; j < k; ++j) {
    float best = -INFINITY;
    int at = most_experts;
#pragma unroll
    for (int i = 0; i < mine; ++i) {
      if (pv::chosen_before(score[i], i * 32 + lane, best, at)) {
        best = score[i];
        at = i * 32 + lane;
      }
    }
#pragma unroll
    for (int with = 16; with > 0; with /= 2) {
      const float other = __shfl_xor_sync(0xFFFFFFFFU, best, with);
      const int other_at = __shfl_xor_sync(0xFFFFFFFFU, at, with);
      if (pv::chosen_before(other, other_at, best, at)) {
        best = other;
        at = other_at;
      }
    }
#pragma unroll
    for (int i = 0; i < mine; ++i) {
      if (i * 32 + lane == at) score[i] = -INFINITY;
    }
    if (j == 0) first = best;
    at = at < experts ? at : experts - 1;  // of scores that are NaN, too, an expert comes
    const float weight = expf(best - first);
    sum += weight;
    if (lane == j) {
      my_weight = weight;
      my_choice = at;
    }
  }
  if (lane < k) {
    const std::size_t to = static_cast<std::size_t>(token) * k + lane;
    if (last_for_first && lane == 0) my_choice = (my_choice + 1) % experts;
    chosen[to] = my_choice;
    weights[to] = my_weight / sum;
    place[to] = atomicAdd(&counts[my_choice], 1);
  }
}

/// One block, a thread an expert: where the experts' rows and tiles begin.
__global__ void lay_out_kernel(const int* __restrict__ counts, int experts, int rows,
                               int* __restrict__ offsets, int* __restrict__ tile_expert,
                               int* __restrict__ tile_first, int* __restrict__ tiles) {
  __shared__ int held[most_experts];
  __shared__ int held_tiles[most_experts];
  const int e = static_cast<int>(threadIdx.x);
  if (e < experts) {
    held[e] = counts[e];
    held_tiles[e] = pv::tiles_of(held[e], rows);
  }
  __syncthreads();
  if (e >= experts) return;
  const pv::expert_place at = pv::place_of_expert(held, held_tiles, e);
  offsets[e] = at.row;
  if (e == experts - 1) {
    offsets[experts] = at.row + held[e];
    *tiles = at.tile + held_tiles[e];
  }
  for (int t = 0; t < held_tiles[e]; ++t) {
    tile_expert[at.tile + t] = e;
    tile_first[at.tile + t] = at.row + t * rows;
  }
}

/// row_of[choice]: its row among the sorted ones; source[row]: its token.
__global__ void sort_kernel(const int* __restrict__ chosen, const int* __restrict__ place,
                            const int* __restrict__ offsets, int choices, int k,
                            int* __restrict__ row_of, int* __restrict__ source) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= choices) return;
  const int row = offsets[chosen[i]] + place[i];
  row_of[i] = row;
  source[row] = i / k;
}

/// out = silu(gate) * up; a row holds all gates, then all ups.
__global__ void activation_kernel(const bf16* __restrict__ gate_up, bf16* __restrict__ out,
                                  int intermediate, int vectors) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= vectors) return;
  const std::size_t row = static_cast<std::size_t>(i / (intermediate / 8));
  const int at = i % (intermediate / 8) * 8;
  float gate[8], up[8];
  pv::widen8(pv::load8(gate_up + 2 * row * intermediate + at), gate);
  pv::widen8(pv::load8(gate_up + (2 * row + 1) * intermediate + at), up);
#pragma unroll
  for (int j = 0; j < 8; ++j) up[j] *= gate[j] / (1.0F + __expf(-gate[j]));
  pv::store8(out + row * intermediate + at, pv::narrow8(up));
}

/// out[token] = sum over its experts of weight * y[row of that choice].
__global__ void combine_kernel(const bf16* __restrict__ y, const int* __restrict__ row_of,
                               const float* __restrict__ weights, bf16* __restrict__ out,
                               int hidden, int k, int used, bool weighted) {
  const std::size_t token = blockIdx.x;
  for (int i = static_cast<int>(threadIdx.x) * 8; i < hidden;
       i += static_cast<int>(blockDim.x) * 8) {
    float sum[8] = {};
    for (int j = 0; j < used; ++j) {
      const float w = weighted ? weights[token * k + j] : 1.0F / static_cast<float>(k);
      float part[8];
      pv::widen8(pv::load8(y + static_cast<std::size_t>(row_of[token * k + j]) * hidden + i), part);
#pragma unroll
      for (int c = 0; c < 8; ++c) sum[c] = fmaf(w, part[c], sum[c]);
    }
    pv::store8(out + token * hidden + i, pv::narrow8(sum));
  }
}

unsigned blocks_for(int n, int threads) {
  return static_cast<unsigned>((n + threads - 1) / threads);
}

/// Weights of several equal layers, through which the measurement rotates.
struct layers {
  moe_shape shape;
  int copies;
  pv::device_buffer<bf16> router, gate_up, down;

  layers(const moe_shape& is, int n)
      : shape(is),
        copies(n),
        router(static_cast<std::size_t>(is.experts) * is.hidden),
        gate_up(is.gate_up_values() * n),
        down(is.down_values() * n) {
    pv::random_fill(router, router_seed, is.scale());
    pv::random_fill(gate_up, gate_up_seed, is.scale());
    pv::random_fill(down, down_seed, is.scale());
  }
};

struct router {
  const layers& of;
  int tokens, choices;
  pv::device_buffer<bf16> scores;
  pv::device_buffer<int> chosen, place, counts;
  pv::device_buffer<float> weights;
  pv::matrix_product<bf16> product;

  router(const layers& l, int n)
      : of(l),
        tokens(n),
        choices(n * l.shape.top_k),
        scores(size(l.shape.experts)),
        chosen(size(l.shape.top_k)),
        place(size(l.shape.top_k)),
        counts(most_experts),
        weights(size(l.shape.top_k)),
        product(n, l.shape.experts, l.shape.hidden) {
    if (l.shape.experts > most_experts || l.shape.top_k > most_chosen) {
      throw pv::measurement_error("moe: too many experts");
    }
  }
  std::size_t size(int each) const { return static_cast<std::size_t>(tokens) * each; }

  void enqueue(const bf16* x, const broken& b, cudaStream_t stream) const {
    product.launch(x, of.router.data(), scores.data(), stream);
    PERFMODEL_CUDA(cudaMemsetAsync(counts.data(), 0, counts.bytes(), stream));
    top_k_kernel<<<blocks_for(tokens, 4), 128, 0, stream>>>(
        scores.data(), tokens, of.shape.experts, of.shape.top_k, chosen.data(), weights.data(),
        place.data(), counts.data(), b.wrong_top_k);
    PERFMODEL_LAUNCHED("top_k_kernel");
  }
};

/// Rows of a tile, and whether by Hopper's own instructions.
struct tile_kind {
  int rows;
  bool wgmma = false;
};

struct moe_layer {
  const layers& of;
  int tokens;
  tile_kind kind;
  int rows;  ///< rows of a tile
  router routes;
  pv::device_buffer<int> offsets, tile_expert, tile_first, tiles, row_of, source;
  pv::device_buffer<bf16> gate_up, activated, y, out;

  moe_layer(const layers& l, int n, tile_kind by)
      : of(l),
        tokens(n),
        kind(by),
        rows(by.rows),
        routes(l, n),
        offsets(most_experts + 1),
        tile_expert(most_tiles()),
        tile_first(most_tiles()),
        tiles(1),
        row_of(choices()),
        source(choices()),
        gate_up(choices() * 2 * l.shape.intermediate),
        activated(choices() * l.shape.intermediate),
        y(choices() * l.shape.hidden),
        out(static_cast<std::size_t>(n) * l.shape.hidden) {}

  std::size_t choices() const { return static_cast<std::size_t>(routes.choices); }
  int most_tiles() const { return pv::most_tiles(routes.choices, of.shape.experts, rows); }

  void enqueue(const bf16* x, int copy, const broken& b, cudaStream_t stream) {
    const moe_shape& m = of.shape;
    routes.enqueue(x, b, stream);
    lay_out_kernel<<<1, most_experts, 0, stream>>>(routes.counts.data(), m.experts, rows,
                                                   offsets.data(), tile_expert.data(),
                                                   tile_first.data(), tiles.data());
    PERFMODEL_LAUNCHED("lay_out_kernel");
    sort_kernel<<<blocks_for(routes.choices, 128), 128, 0, stream>>>(
        routes.chosen.data(), routes.place.data(), offsets.data(), routes.choices, m.top_k,
        row_of.data(), source.data());
    PERFMODEL_LAUNCHED("sort_kernel");
    pv::grouped_shape s;
    s.x = x;
    s.source = source.data();
    s.w = of.gate_up.data() + static_cast<std::size_t>(copy) * m.gate_up_values();
    s.y = gate_up.data();
    s.offsets = offsets.data();
    s.tile_group = tile_expert.data();
    s.tile_first = tile_first.data();
    s.tiles = tiles.data();
    s.n = 2 * m.intermediate;
    s.k = m.hidden;
    product(s, stream);
    const int vectors = routes.choices * (m.intermediate / 8);
    activation_kernel<<<blocks_for(vectors, 256), 256, 0, stream>>>(
        gate_up.data(), activated.data(), m.intermediate, vectors);
    PERFMODEL_LAUNCHED("activation_kernel");
    s.x = activated.data();
    s.source = b.swap_rows ? source.data() : nullptr;
    s.w = of.down.data() + static_cast<std::size_t>(copy) * m.down_values();
    s.y = y.data();
    s.n = m.hidden;
    s.k = m.intermediate;
    product(s, stream);
    combine_kernel<<<static_cast<unsigned>(tokens), 256, 0, stream>>>(
        y.data(), row_of.data(), routes.weights.data(), out.data(), m.hidden, m.top_k,
        m.top_k - (b.drop_expert ? 1 : 0), !b.unweighted);
    PERFMODEL_LAUNCHED("combine_kernel");
  }

  void product(const pv::grouped_shape& s, cudaStream_t stream) const {
#ifndef PERFMODEL_EMULATED
    if (kind.wgmma) return pv::launch_hopper_grouped(s, of.shape.experts, most_tiles(), stream);
#endif
    if (rows == 16) {
      pv::launch_grouped_product<16>(s, most_tiles(), stream);
    } else if (rows == 64) {
      pv::launch_grouped_product<64>(s, most_tiles(), stream);
    } else {
      pv::launch_grouped_product<128>(s, most_tiles(), stream);
    }
  }

  int touched() const {
    int n = 0;
    for (const int c : routes.counts.download(0, static_cast<std::size_t>(of.shape.experts))) {
      n += c > 0 ? 1 : 0;
    }
    return n;
  }
};

/// Tiles of 16 rows until an expert has more than two of them, and of 64 alike.
int tile_rows(const moe_shape& m, int tokens) {
  const int choices = tokens * m.top_k;
  return choices <= 32 * m.experts ? 16 : choices <= 128 * m.experts ? 64 : 128;
}

double widened(bf16 x) {
  return static_cast<double>(static_cast<float>(x));
}

/// Checks scores, chosen experts, their order and, stage by stage from the stage's own input, the
/// GEMMs of `sampled` tokens, `columns` of each.
void check_layer(const pv::session& s, pv::recording& r, const layers& l, int tokens, tile_kind by,
                 int sampled, int columns, const std::string& name) {
  const moe_shape& m = l.shape;
  const broken b{.wrong_top_k = s.breaks("wrong_top_k"),
                 .drop_expert = s.breaks("drop_expert"),
                 .unweighted = s.breaks("unweighted"),
                 .swap_rows = s.breaks("swap_rows")};
  pv::device_buffer<bf16> x(static_cast<std::size_t>(tokens) * m.hidden);
  pv::random_fill(x, token_seed);
  moe_layer layer(l, tokens, by);
  const int copy = l.copies - 1;
  layer.enqueue(x.data(), copy, b, s.stream);

  const auto all_scores = layer.routes.scores.download();
  const auto chosen = layer.routes.chosen.download();
  const auto weights = layer.routes.weights.download();
  const auto row_of = layer.row_of.download();
  const auto offsets = layer.offsets.download(0, static_cast<std::size_t>(m.experts) + 1);
  const auto k = static_cast<std::size_t>(m.top_k);
  double wrong = 0;
  std::vector<double> wanted;
  std::vector<char> taken(row_of.size(), 0);
  for (std::size_t t = 0; t < static_cast<std::size_t>(tokens); ++t) {
    float scores[most_experts], weight[most_chosen];
    int best[most_chosen];
    for (int e = 0; e < m.experts; ++e) {
      scores[e] = static_cast<float>(all_scores[t * static_cast<std::size_t>(m.experts) + e]);
    }
    pv::route(scores, m.experts, m.top_k, best, weight);
    for (std::size_t j = 0; j < k; ++j) {
      wanted.push_back(weight[j]);
      const int row = row_of[t * k + j], expert = chosen[t * k + j];
      bool right = expert == best[j] && row >= 0 && row < static_cast<int>(row_of.size());
      right = right && row >= offsets[static_cast<std::size_t>(expert)] &&
              row < offsets[static_cast<std::size_t>(expert) + 1] &&
              taken[static_cast<std::size_t>(row)] == 0;
      if (right) taken[static_cast<std::size_t>(row)] = 1;
      wrong += right ? 0.0 : 1.0;
    }
  }
  r.check(name + ": choices that are not the k best, or not sorted", wrong, 0.0);
  r.check(name + ": softmax over the chosen", pv::relative_error<float>(weights, wanted), 1e-5);

  std::vector<float> scores, gates, activations, downs, outs;
  std::vector<double> want_scores, want_gates, want_activations, want_downs, want_outs;
  for (int i = 0; i < sampled; ++i) {
    const auto t = static_cast<std::size_t>(i) * static_cast<std::size_t>(tokens - 1) /
                   static_cast<std::size_t>((std::max)(1, sampled - 1));
    const auto hidden = static_cast<std::size_t>(m.hidden),
               inner = static_cast<std::size_t>(m.intermediate);
    std::vector<double> token(hidden);
    for (std::size_t c = 0; c < hidden; ++c)
      token[c] = pv::random_stored<bf16>(token_seed, t * hidden + c);
    const auto dot = [&](const std::vector<double>& v, std::uint32_t seed, std::size_t at) {
      double sum = 0;
      for (std::size_t c = 0; c < v.size(); ++c)
        sum += v[c] * pv::random_stored<bf16>(seed, at + c, m.scale());
      return sum;
    };
    for (std::size_t e = 0; e < static_cast<std::size_t>(m.experts);
         e += 1 + static_cast<std::size_t>(m.experts) / 16) {
      scores.push_back(static_cast<float>(all_scores[t * static_cast<std::size_t>(m.experts) + e]));
      want_scores.push_back(dot(token, router_seed, e * hidden));
    }
    std::vector<std::vector<double>> parts(k);
    for (std::size_t j = 0; j < k; ++j) {
      const auto row = static_cast<std::size_t>(row_of[t * k + j]);
      const auto expert = static_cast<std::size_t>(copy) * static_cast<std::size_t>(m.experts) +
                          static_cast<std::size_t>(chosen[t * k + j]);
      const auto gate_up = layer.gate_up.download(row * 2 * inner, 2 * inner);
      const auto activated = layer.activated.download(row * inner, inner);
      const auto down = layer.y.download(row * hidden, hidden);
      std::vector<double> v(inner);
      for (std::size_t c = 0; c < inner; ++c) {
        v[c] = widened(activated[c]);
        const double g = widened(gate_up[c]);
        activations.push_back(static_cast<float>(activated[c]));
        want_activations.push_back(g / (1.0 + std::exp(-g)) * widened(gate_up[inner + c]));
      }
      for (int c = 0; c < columns; ++c) {
        const std::size_t up =
            static_cast<std::size_t>(c) * (2 * inner - 1) / static_cast<std::size_t>(columns - 1);
        gates.push_back(static_cast<float>(gate_up[up]));
        want_gates.push_back(dot(token, gate_up_seed, (expert * 2 * inner + up) * hidden));
        const std::size_t to =
            static_cast<std::size_t>(c) * (hidden - 1) / static_cast<std::size_t>(columns - 1);
        downs.push_back(static_cast<float>(down[to]));
        want_downs.push_back(dot(v, down_seed, (expert * hidden + to) * inner));
      }
      for (const bf16 d : down) parts[j].push_back(widened(d));
    }
    const auto out = layer.out.download(t * hidden, hidden);
    for (std::size_t c = 0; c < hidden; ++c) {
      double sum = 0;
      for (std::size_t j = 0; j < k; ++j) sum += wanted[t * k + j] * parts[j][c];
      outs.push_back(static_cast<float>(out[c]));
      want_outs.push_back(sum);
    }
  }
  constexpr double tolerance = 6e-3;  // bf16 results: 2^-9 at most, each
  // cuBLASLt may sum a split of k in bf16.
  r.check(name + ": router product", pv::relative_error<float>(scores, want_scores), 1e-2);
  r.check(name + ": gate and up", pv::relative_error<float>(gates, want_gates), tolerance);
  r.check(name + ": SiLU x up", pv::relative_error<float>(activations, want_activations),
          tolerance);
  r.check(name + ": down", pv::relative_error<float>(downs, want_downs), tolerance);
  r.check(name + ": weighted sum", pv::relative_error<float>(outs, want_outs), tolerance);
}

/// Experts touched by `tokens` tokens, over trials with tokens of their own. A sample is the mean
/// of `each` trials: whole numbers have no median near 3.5. The touched experts are negatively
/// correlated, so the count's variance is at most that of E independent ones.
void count_experts(const pv::session& s, pv::recording& r, const layers& l, int tokens,
                   int samples_of, int each) {
  const int trials = samples_of * each;
  const moe_shape& m = l.shape;
  pv::device_buffer<bf16> x(static_cast<std::size_t>(tokens) * trials * m.hidden);
  pv::random_fill(x, token_seed + 100);
  router routes(l, tokens * trials);
  routes.enqueue(x.data(), {}, s.stream);
  const auto chosen = routes.chosen.download();
  std::vector<double> samples;
  double mean = 0;
  const auto choices = static_cast<std::size_t>(tokens) * static_cast<std::size_t>(m.top_k);
  for (std::size_t trial = 0; trial < static_cast<std::size_t>(trials); ++trial) {
    std::vector<char> touched(static_cast<std::size_t>(m.experts), 0);
    for (std::size_t i = 0; i < choices; ++i) {
      const std::size_t from = s.breaks("same_token") ? i % static_cast<std::size_t>(m.top_k) : i;
      touched[static_cast<std::size_t>(chosen[trial * choices + from])] = 1;
    }
    const double count = static_cast<double>(std::count(touched.begin(), touched.end(), 1));
    if (trial % static_cast<std::size_t>(each) == 0) samples.push_back(0.0);
    samples.back() += count / each;
    mean += count / trials;
  }
  const double wanted = pv::touched_experts(tokens, m.experts, m.top_k), share = wanted / m.experts;
  const double deviation = std::sqrt(m.experts * share * (1.0 - share) / trials);
  r.check(std::to_string(tokens) + " tokens touch of " + std::to_string(m.experts) +
              " experts what the closed form says",
          std::abs(mean - wanted) / wanted, 0.02 + 4.0 * deviation / wanted);
  r.add({"experts_touched",
         "1",
         {{"tokens", tokens}, {"experts", m.experts}, {"top_k", m.top_k}, {"trials", each}},
         samples});
}

void time_layer(const pv::session& s, pv::recording& r, const layers& l, int tokens, tile_kind by) {
  const moe_shape& m = l.shape;
  pv::device_buffer<bf16> x(static_cast<std::size_t>(tokens) * m.hidden);
  pv::random_fill(x, token_seed);
  moe_layer layer(l, tokens, by);
  const auto samples = pv::time_in_graph(
      s.stream, s.plan, [&](int i) { layer.enqueue(x.data(), i % l.copies, {}, s.stream); },
      l.copies);
  const double touched = layer.touched(), choices = layer.routes.choices;
  r.add({"moe_time",
         "s",
         {{"tokens", tokens},
          {"hidden", m.hidden},
          {"intermediate", m.intermediate},
          {"experts", m.experts},
          {"top_k", m.top_k},
          {"format", "bf16"},
          {"cache", "cold"},
          {"experts_touched", touched},
          {"tile_rows", layer.rows},
          {"products", by.wgmma ? "wgmma" : "mma"},
          {"launch", "graph"},
          {"flop", 6.0 * choices * m.hidden * m.intermediate + 2.0 * tokens * m.hidden * m.experts},
          {"bytes_read",
           touched * m.expert_bytes() + 2.0 * m.experts * m.hidden + 2.0 * tokens * m.hidden},
          {"bytes_written", 2.0 * tokens * m.hidden}},
         samples});
}

/// Measures layers with experts that fill tiles of 128 rows, by wgmma. Last, so that an error in
/// code that no emulator runs costs no other measurement.
void measure_hopper(const pv::session& s, pv::recording& r, const std::vector<moe_shape>& shapes) {
#ifdef PERFMODEL_EMULATED
  r.skip("experts by wgmma", "the emulated device has no such instruction");
#else
  if (s.architecture() != 90 || !pv::has_wgmma()) {
    r.skip("experts by wgmma", s.architecture() != 90 ? "Hopper alone has this instruction"
                                                      : "not compiled for sm_90a");
    return;
  }
  const layers small({.hidden = 328, .intermediate = 264, .experts = 8, .top_k = 2}, 2);
  for (const int n : {37, 811}) {
    check_layer(s, r, small, n, {128, true}, 37, 12, "wgmma, " + std::to_string(n) + " tokens");
  }
  constexpr int n = 4096;
  for (const moe_shape& m : shapes) {
    // At this number of tokens all experts are read, and a copy is far beyond the L2.
    if (s.reduced || m.expert_bytes() * m.experts + 4e9 > static_cast<double>(s.free_bytes())) {
      continue;
    }
    const std::string name = std::to_string(m.experts) + " experts by wgmma";
    r.part(name, [&] {
      const layers l(m, 1);
      check_layer(s, r, l, n, {128, true}, 2, 6, name);
      time_layer(s, r, l, n, {128, true});
    });
  }
#endif
}

void measure(const pv::session& s, pv::recording& r) {
  {
    // Sizes that fill no tile, through all kinds of tile, and more steps than there are stages.
    const layers l({.hidden = 328, .intermediate = 264, .experts = 8, .top_k = 2}, 2);
    check_layer(s, r, l, 37, {16}, s.reduced ? 5 : 37, 12, "tiles of 16 rows");
    check_layer(s, r, l, s.reduced ? 37 : 301, {64}, s.reduced ? 5 : 37, 12, "tiles of 64 rows");
    check_layer(s, r, l, s.reduced ? 37 : 811, {128}, s.reduced ? 5 : 37, 12, "tiles of 128 rows");
  }
  const std::vector<moe_shape> shapes =
      s.reduced
          ? std::vector<moe_shape>{{128, 64, 16, 4}}
          : std::vector<moe_shape>{{2048, 768, 128, 8}, {2048, 1408, 64, 6}, {4096, 14336, 8, 2}};
  const std::vector<int> tokens =
      s.reduced ? std::vector<int>{1, 4}
                : std::vector<int>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096};
  for (const moe_shape& m : shapes) {
    const double one = m.expert_bytes() * m.top_k, layer = m.expert_bytes() * m.experts;
    const int copies = s.reduced ? 2 : 1 + static_cast<int>(4.0 * s.device.l2_bytes / one);
    const std::string name = std::to_string(m.experts) + " experts";
    // Activations of 4096 tokens, in addition to the weights: below 2 GB.
    if (copies * layer + 2e9 * (s.reduced ? 0.0 : 1.0) > static_cast<double>(s.free_bytes())) {
      r.skip(name, "its weights do not fit");
      continue;
    }
    const layers l(m, copies);
    if (!s.reduced) {
      // All kinds of tile at the size that is timed.
      for (const int n : {64, 1000, 4096}) {
        check_layer(s, r, l, n, {tile_rows(m, n)}, 2, 6,
                    name + ", " + std::to_string(n) + " tokens");
      }
    }
    for (const int n : tokens) {
      r.part(std::to_string(n) + " tokens, " + name, [&] {
        count_experts(s, r, l, n, (std::clamp)(8192 / n, 1, 8),
                      s.reduced ? 2 : (std::max)(1, 1024 / n));
        time_layer(s, r, l, n, {tile_rows(m, n)});
      });
    }
  }
  r.part("experts by wgmma", [&] { measure_hopper(s, r, shapes); });
}

#else

void measure(const pv::session&, pv::recording& r) {
  r.skip("moe_time", pv::no_cublaslt);
}

#endif

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(
      argc, argv,
      {.name = "moe",
       .law = "operators/moe: touched experts = E (1 - (1 - k/E)^n), each read once",
       .program = "validation/kernels/moe.cu",
       .faults = {"wrong_top_k", "drop_expert", "unweighted", "swap_rows", "same_token"}},
      measure);
}
