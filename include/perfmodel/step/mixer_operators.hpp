// Operators of each kind of token mixer (attention or recurrence) on one rank.
#pragma once

#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/operators/mixers.hpp>
#include <perfmodel/step/rank_step.hpp>

namespace perfmodel::inline v0_3::detail {

/// New tokens of the decodes or of the prefills: `times` operators on `sequences` sequences, each
/// with `tokens` new tokens after `past` cached ones.
template <Scalar T>
struct new_tokens {
  T times{}, sequences{}, tokens{}, past{};
  const char* part = nullptr;
};

/// Calls visit(new_tokens) for the decodes of a step and for its prefills, in `layers` layers.
template <Scalar T, class Visit>
constexpr void visit_new_tokens(const rank_step<T>& p, const T& layers, Visit&& visit) {
  if (p.has_decodes()) {
    const T past = scalar_max(T(p.engine_step.context - 1.0), T(0.0));
    visit(new_tokens<T>{layers, p.share.sequences, p.engine_step.tokens_per_sequence, past});
  }
  if (p.has_prefills()) {
    visit(new_tokens<T>{layers * p.prefill_share(), p.prefill_count(), p.prefill_length(),
                        p.engine_step.prefill_past, p.prefill_part()});
  }
}

/// Number format of an indexer's queries: that of its keys, 16-bit on a chip without such units.
template <Scalar T>
constexpr number_format index_format(const rank_step<T>& p, const storage_format& keys) {
  return supports(p.replica.device, keys.format) ? keys.format : p.residual;
}

/// Operators of the indexer of sparse attention: its projections and its scores of all cached
/// tokens. Every tensor-parallel rank computes all of them.
template <Scalar T, class Run>
constexpr void visit_indexer(const rank_step<T>& p, const T& layers,
                             const basic_attention_indexer<T>& x, const T& query_input, Run&& run) {
  using enum operator_class;
  if (x.shared) return;
  run({.name = "index projections", .kind = linear, .times = layers},
      p.projection(query_input, T(x.heads * x.dim)));
  run({.name = "index keys", .kind = linear, .times = layers},
      p.projection(p.model().hidden, T(x.dim + x.heads)));
  visit_new_tokens(p, layers, [&](const new_tokens<T>& n) {
    const basic_index_scores<T> s{.sequences = n.sequences,
                                  .tokens = n.tokens,
                                  .past = n.past,
                                  .heads = x.heads,
                                  .dim = x.dim,
                                  .format = index_format(p, x.cache),
                                  .cache = x.cache};
    run({"index scores", attention, n.times,
         n.sequences * (n.past + n.tokens) * x.bytes_per_token(), n.part},
        s);
  });
}

/// Attention operator of the prefills. A sliding window or an indexer limits the tokens that each
/// query reads.
template <Scalar T, class Run>
constexpr void visit_prefill(const rank_step<T>& p, const char* name, const T& layers,
                             const bytes<T>& token_bytes, const basic_attention_prefill<T>& x,
                             Run&& run) {
  operator_head<T> o{
      .name = name, .kind = operator_class::attention, .times = layers * p.prefill_share()};
  // Cache traffic: the past tokens are read, and the chunk's new keys and values are written. The
  // chunk reads its new keys and values on the chip.
  const T past = x.window ? scalar_min(x.past, *x.window) : x.past;
  o.cache = x.batch * (past + x.tokens) * token_bytes;
  o.part = p.prefill_part();
  run(o, x);
}

/// Workload of prefill attention. Chunked attention (Llama 4) divides a prompt into attention
/// chunks of `window` tokens; each is costed as a separate prompt.
/// Non-monotonic: new tokens and past ones share an attention chunk of `window` keys. With a long
/// past, one more new token leaves out one past token and its read from DRAM. A step may then be
/// faster, by up to 0.1 % (tests/property/order_step.cpp).
template <Scalar T>
constexpr basic_attention_prefill<T> prefills_of(const rank_step<T>& p,
                                                 const basic_attention_shape<T>& a, const T& heads,
                                                 const T& kv_heads) {
  const bool chunks = a.chunked && a.window;
  const T chunk = chunks ? scalar_min(p.prefill_length(), *a.window) : p.prefill_length();
  return {.batch = chunks ? T(p.prefill_count() * (p.prefill_length() / chunk)) : p.prefill_count(),
          .tokens = chunk,
          .query_heads = heads,
          .kv_heads = kv_heads,
          .head_dim = a.head_dim,
          .value_dim = a.value_dim,
          .format = p.queries,
          .kv_format = p.formats.kv,
          .window = a.indexer ? std::optional<T>(a.indexer->top_k) : a.window,
          .past = chunks ? scalar_min(p.engine_step.prefill_past, T(*a.window - chunk))
                         : p.engine_step.prefill_past};
}

/// Cross-attention to the image tokens of each sequence, and the projection of their keys and
/// values: one key and value per patch of the encoder (Llama 3.2 Vision). L queries each read all N
/// image tokens: as many pairs as causal attention has after N - (L + 1) / 2 past tokens. Longer
/// prompts are taken in parts of 2 N - 1 tokens, each of which reads the image again.
/// Source: transformers, models/mllama/modeling_mllama.py, MllamaTextCrossAttention.
/// Leaves out: engines skip these layers in steps without images.
/// Test: bytes and FLOP of images in Llama 3.2 90B Vision, by hand (tests/unit/engine_options.cpp).
template <Scalar T, class Run>
constexpr void visit_image_attention(const rank_step<T>& p, const T& layers,
                                     const basic_attention_shape<T>& a, const T& heads,
                                     const T& kv_heads, Run&& run) {
  using enum operator_class;
  const T& image = p.replica.image_tokens;
  if (!(upper(image) > 0.0)) return;
  const T width = kv_heads * (a.head_dim + a.value_width());
  const bytes<T> read = image * width * bytes_of(p.formats.kv);
  if (p.has_decodes()) {
    run({"image attention", attention, layers, p.share.sequences * read},
        basic_attention_decode<T>{.batch = p.share.sequences,
                                  .context = image,
                                  .query_heads = heads * p.engine_step.tokens_per_sequence,
                                  .kv_heads = kv_heads,
                                  .head_dim = a.head_dim,
                                  .value_dim = a.value_dim,
                                  .format = p.queries,
                                  .kv_format = p.formats.kv});
  }
  if (!p.has_prefills()) return;
  basic_attention_prefill<T> x = prefills_of(p, a, heads, kv_heads);
  const T part = scalar_min(x.tokens, at_least_one(T(2.0 * image - 1.0)));
  x.batch = x.batch * (x.tokens / part);
  x.tokens = part;
  x.past = scalar_max(T(image - 0.5 * (part + 1.0)), T(0.0));
  run({"image attention", attention, layers * p.prefill_share(), p.prefill_count() * read,
       p.prefill_part()},
      x);
  if (!(upper(p.replica.encoder_rows) > 0.0)) return;
  basic_gemm<T> projection = p.projection(p.model().hidden, width);
  projection.m = at_least_one(T(p.prefill_count() * p.prefill_length() * p.replica.encoder_rows));
  run({.name = "image key and value projection",
       .kind = linear,
       .times = layers * p.prefill_share(),
       .part = p.prefill_part()},
      projection);
}

template <Scalar T, class Run>
constexpr void visit_mixer(const rank_step<T>& p, const T& layers,
                           const basic_attention_shape<T>& a, Run&& run) {
  using enum operator_class;
  const T& hidden = p.model().hidden;
  const T heads = a.query_heads / p.tensor;
  const T kv_heads = kv_heads_per_rank(a.kv_heads, p.tensor);
  const T result = heads * a.value_width();
  T inward = a.query_rank ? *a.query_rank : T(heads * a.head_dim);
  if (!a.shares_cache && !a.image_tokens) {
    inward += kv_heads * (a.value_is_key ? a.head_dim : T(a.head_dim + a.value_width()));
  }
  if (a.output_gate) inward += result;
  run({.name = "qkv projection", .kind = linear, .times = layers},
      p.projection(a.input_width.value_or(hidden), inward));
  if (a.query_rank) {
    run({.name = "query projection", .kind = linear, .times = layers},
        p.projection(*a.query_rank, T(heads * a.head_dim)));
  }
  if (a.indexer) visit_indexer(p, layers, *a.indexer, hidden, run);

  const char* const name = a.window ? "sliding attention" : "attention";
  const bytes<T> token_bytes = kv_heads * (a.head_dim + a.value_width()) * bytes_of(p.formats.kv);
  std::optional<T> window = a.indexer ? std::optional<T>(a.indexer->top_k) : a.window;
  if (a.image_tokens) {
    visit_image_attention(p, layers, a, heads, kv_heads, run);
  } else if (p.has_decodes()) {
    const T& queries = p.engine_step.tokens_per_sequence;
    if (a.chunked && window) window = T(0.5 * (*window + 1.0));
    const T seen = window ? attended_tokens(p.engine_step.context, T(*window + queries - 1.0))
                          : p.engine_step.context;
    const basic_attention_decode<T> x{.batch = p.share.sequences,
                                      .context = p.mean_context(),
                                      .query_heads = heads * queries,
                                      .kv_heads = kv_heads,
                                      .head_dim = a.head_dim,
                                      .value_dim = a.value_dim,
                                      .format = p.queries,
                                      .kv_format = p.formats.kv,
                                      .window = window};
    run({name, attention, layers, p.share.sequences * (seen + queries) * token_bytes}, x);
  }
  if (p.has_prefills() && !a.image_tokens)
    visit_prefill(p, name, layers, token_bytes, prefills_of(p, a, heads, kv_heads), run);
  run({.name = "output projection", .kind = linear, .times = layers}, p.projection(result, hidden));
}

/// Attention operator of the prefills of MLA: on keys and values, or on chosen latents.
template <Scalar T, class Run>
constexpr void visit_latent_prefill(const rank_step<T>& p, const T& layers,
                                    const basic_latent_attention_shape<T>& a,
                                    const bytes<T>& token_bytes, Run&& run) {
  using enum operator_class;
  const T heads = a.query_heads / p.tensor;
  const T past = p.engine_step.prefill_past;
  const T context = past + p.prefill_length();
  if (a.indexer && upper(context) > upper(a.indexer->top_k)) {
    // Each token chooses its own latents, so sparse prefill is as decode: on latents. Up to top_k
    // tokens engines run dense attention on keys and values (SGLang's dense threshold is top_k).
    const T pairs = causal_pairs(p.prefill_length(), past, a.indexer->top_k);
    const basic_gathered_attention<T> x{.sequences = p.prefill_count(),
                                        .tokens = p.prefill_length(),
                                        .seen = pairs / p.prefill_length(),
                                        .entries = context,
                                        .heads = heads,
                                        .width = a.cached_elements(),
                                        .format = p.queries,
                                        .kv_format = p.formats.kv,
                                        .value_width = a.kv_rank};
    const T read = scalar_min(past, a.indexer->top_k) + p.prefill_length();
    run({"attention", attention, layers * p.prefill_share(), p.prefill_count() * read * token_bytes,
         p.prefill_part()},
        x);
  } else {
    const basic_attention_prefill<T> x{
        .batch = p.prefill_count(),
        .tokens = p.prefill_length(),
        .query_heads = heads,
        .kv_heads = heads,
        .head_dim = a.head_dim,
        .value_dim = a.value_dim,
        .format = p.queries,
        .kv_format = p.formats.kv,
        .window = a.indexer ? std::optional<T>(a.indexer->top_k) : std::optional<T>(),
        .past = past};
    visit_prefill(p, "attention", layers, token_bytes, x, run);
  }
}

template <Scalar T, class Run>
constexpr void visit_mixer(const rank_step<T>& p, const T& layers,
                           const basic_latent_attention_shape<T>& a, Run&& run) {
  using enum operator_class;
  const T& hidden = p.model().hidden;
  const T heads = a.query_heads / p.tensor;
  run({.name = "latent projections", .kind = linear, .times = layers},
      p.projection(hidden, a.latent_width()));
  run({.name = "query projection", .kind = linear, .times = layers},
      p.projection(a.query_input(hidden), T(heads * a.head_dim)));
  run({.name = "key and value projections", .kind = linear, .times = layers},
      p.projection(a.kv_rank, T(heads * (a.head_dim - a.rope_dim + a.value_dim))));
  if (a.indexer) visit_indexer(p, layers, *a.indexer, a.query_input(hidden), run);

  const bytes<T> token_bytes = a.cached_elements() * bytes_of(p.formats.kv);
  if (p.has_decodes()) {
    const T& queries = p.engine_step.tokens_per_sequence;
    const basic_mla_decode<T> x{.batch = p.share.sequences,
                                .context = a.seen_tokens(p.mean_context()),
                                .heads = heads * queries,
                                .latent = a.kv_rank,
                                .rope = a.rope_dim,
                                .format = p.queries,
                                .kv_format = p.formats.kv};
    const T seen =
        a.indexer ? scalar_min(p.engine_step.context, a.indexer->top_k) : p.engine_step.context;
    run({"attention", attention, layers, p.share.sequences * (seen + queries) * token_bytes}, x);
  }
  if (p.has_prefills()) visit_latent_prefill(p, layers, a, token_bytes, run);
  if (a.output_gate) {
    run({.name = "output gate", .kind = linear, .times = layers},
        p.projection(hidden, T(heads * a.value_dim)));
  }
  run({.name = "output projection", .kind = linear, .times = layers},
      p.projection(T(heads * a.value_dim), hidden));
}

/// Attention that reads a window of tokens and compressed cache entries. If the model has an
/// indexer, its scores choose the entries.
template <Scalar T, class Run>
constexpr void visit_compressed_attention(const rank_step<T>& p,
                                          const basic_compressed_attention_shape<T>& a,
                                          const new_tokens<T>& x, Run&& run) {
  using enum operator_class;
  const T context = x.past + x.tokens;
  T pairs = causal_pairs(x.tokens, x.past, a.window);
  if (a.ratio) {
    const T entries = a.indexer ? causal_pairs(x.tokens, x.past, T(a.indexer->top_k * *a.ratio))
                                : causal_pairs(x.tokens, x.past);
    pairs += entries / *a.ratio;
  }
  basic_gathered_attention<T> g{.sequences = x.sequences,
                                .tokens = x.tokens,
                                .seen = pairs / x.tokens,
                                .entries = a.cached_tokens(context),
                                .heads = a.query_heads / p.tensor,
                                .width = a.head_dim,
                                .format = p.queries,
                                .kv_format = p.formats.kv};
  const bytes<T> token_bytes = a.cached_elements() * bytes_of(p.formats.kv);
  const T read = scalar_min(g.entries, pairs);
  run({"attention", attention, x.times, x.sequences * (read + x.tokens) * token_bytes, x.part}, g);
  if (!a.indexer || !a.ratio) return;
  basic_index_scores<T> s{.sequences = x.sequences,
                          .tokens = x.tokens,
                          .past = x.past,
                          .heads = a.indexer->heads,
                          .dim = a.indexer->dim,
                          .ratio = *a.ratio,
                          .format = index_format(p, a.indexer->cache),
                          .cache = a.indexer->cache};
  run({"index scores", attention, x.times,
       x.sequences * context / *a.ratio * a.indexer->bytes_per_token(), x.part},
      s);
}

template <Scalar T, class Run>
constexpr void visit_mixer(const rank_step<T>& p, const T& layers,
                           const basic_compressed_attention_shape<T>& a, Run&& run) {
  using enum operator_class;
  const T& hidden = p.model().hidden;
  const T heads = a.query_heads / p.tensor;
  const T groups = at_least_one(T(a.output_groups / p.tensor));
  run({.name = "latent projections", .kind = linear, .times = layers},
      p.projection(hidden, a.latent_width()));
  run({.name = "query projection", .kind = linear, .times = layers},
      p.projection(a.query_rank, T(heads * a.head_dim)));
  if (a.ratio) {
    const T indexed = a.indexer ? T(a.head_dim + a.indexer->dim) : a.head_dim;
    run({.name = "compressor", .kind = linear, .times = layers},
        p.projection(hidden, T(a.compressor(hidden, indexed) / hidden)));
  }
  if (a.indexer) {
    run({.name = "index projections", .kind = linear, .times = layers},
        p.projection(a.query_rank, T(a.indexer->heads * a.indexer->dim)));
    run({.name = "index weights", .kind = linear, .times = layers},
        p.projection(hidden, a.indexer->heads));
  }
  visit_new_tokens(p, layers,
                   [&](const new_tokens<T>& n) { visit_compressed_attention(p, a, n, run); });
  // Each group of heads is projected to its own latent.
  run({.name = "output latents", .kind = linear, .times = layers * groups},
      p.projection(T(heads * a.head_dim / groups), a.output_rank));
  run({.name = "output projection", .kind = linear, .times = layers},
      p.projection(T(groups * a.output_rank), hidden));
}

template <Scalar T, class Run>
constexpr void visit_mixer(const rank_step<T>& p, const T& layers,
                           const basic_recurrent_shape<T>& shape, Run&& run) {
  using enum operator_class;
  const basic_recurrent_shape<T> a = stored_by(p.replica.serving_engine, shape);
  const T& hidden = p.model().hidden;
  const T result = a.value_width() / p.tensor;
  // Columns of the input projections: `whole` are stored by every rank, `inward` are divided among
  // ranks. weights() also counts the output projection, which is subtracted here.
  const T whole = a.latent_width(), inward = a.weights(hidden) / hidden - a.value_width() - whole;
  run({.name = "recurrent projections", .kind = linear, .times = layers},
      p.projection(hidden, T(whole + inward / p.tensor)));
  basic_linear_recurrence<T> x{.heads = a.value_heads / p.tensor,
                               .key_heads = at_least_one(T(a.key_heads / p.tensor)),
                               .key_dim = a.key_dim,
                               .value_dim = a.value_dim,
                               .corrects = a.corrects(),
                               .chunk = T(a.scans() ? 1.0 : 64.0),
                               .conv_state = a.conv_bytes() / p.tensor,
                               .format = p.residual,
                               .state_format = a.state_format};
  const bytes<T> state = 2.0 * a.state_bytes() / p.tensor;  // one read, one write
  visit_new_tokens(p, layers, [&](const new_tokens<T>& n) {
    x.sequences = n.sequences;
    x.tokens = n.tokens;
    run({"recurrence", attention, n.times, n.sequences * state, n.part}, x);
  });
  run({.name = "output projection", .kind = linear, .times = layers}, p.projection(result, hidden));
}

}  // namespace perfmodel::inline v0_3::detail
