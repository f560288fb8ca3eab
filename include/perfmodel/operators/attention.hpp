// Prefill attention: new tokens attend to cached tokens and to each other.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/operators/demand.hpp>
#include <perfmodel/scalar/math.hpp>

#include <perfmodel/scalar/whole_numbers.hpp>  // last: defines a macro

namespace perfmodel::inline v0_3 {

/// Prefill attention of `tokens` new tokens per sequence over themselves and over `past` cached
/// tokens (chunked prefill, a shared prefix). `query_heads` share `kv_heads` in groups. `value_dim`
/// defaults to head_dim; `window` is the number of tokens one sees, itself included.
/// `fused` keeps scores on the chip (FlashAttention); unfused writes them out twice. `softmax_flop`
/// is vector FLOP per score (5 for a safe softmax); 0 leaves the softmax out.
template <Scalar T = double>
struct basic_attention_prefill {
  T batch{}, tokens{}, query_heads{}, kv_heads{}, head_dim{};
  std::optional<T> value_dim{};
  number_format format = number_format::bf16;
  storage_format kv_format = format;
  bool causal = true;
  std::optional<T> window{};
  T past = T(0.0);
  bool fused = true;
  T softmax_flop = T(0.0);

  constexpr T value_width() const { return value_dim.value_or(head_dim); }
  friend bool operator==(const basic_attention_prefill&, const basic_attention_prefill&) = default;

  constexpr const char* name() const { return "attention_prefill"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("batch"), s.batch...);
    f(field::count("tokens"), s.tokens...);
    f(field::count("query_heads"), s.query_heads...);
    f(field::count("kv_heads"), s.kv_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::count("value_dim"), s.value_dim...);
    f("format", s.format...);
    f("kv_format", s.kv_format...);
    f("causal", s.causal...);
    f(field::count("window"), s.window...);
    f(field::not_negative("past"), s.past...);
    f("fused", s.fused...);
    f(field::not_negative("softmax_flop"), s.softmax_flop...);
  }
};
using attention_prefill = basic_attention_prefill<>;

/// Query-key pairs that one head scores in a sequence under a causal mask: S P + S (S + 1) / 2, the
/// usual half of S^2 and the diagonal. With a window it is sum_{i=1..S} min(P + i, window) =
/// r P + r (r + 1) / 2 + (S - r) window, where the first r = min(S, max(window - P, 0)) tokens see
/// less than the window.
/// Errors: tokens below 1, window below 1, past negative.
/// Tests: the sum, term by term; chunks add up to the whole; one token with P past scores P + 1.
template <Scalar T>
constexpr T causal_pairs(const T& tokens, const T& past = T(0.0)) {
  const T& s = detail::count("tokens", tokens);
  return s * detail::not_negative("past", past) + s * (s + 1.0) / 2.0;
}
/// Query-key pairs with a sliding window.
template <Scalar T>
constexpr T causal_pairs(const T& tokens, const T& past, const T& window) {
  const T& s = detail::count("tokens", tokens);
  const T& p = detail::not_negative("past", past);
  const T& w = detail::count("window", window);
  const T free_window = scalar_max(w - p, T(0.0));
  const T partial = scalar_min(s, free_window);
  return partial * p + partial * (partial + 1.0) / 2.0 + scalar_max(s - free_window, T(0.0)) * w;
}
PERFMODEL_WHOLE_NUMBERS(causal_pairs)

namespace detail {
/// Query-key pairs of `tokens` new tokens under the attention's window, if any.
template <Scalar T>
constexpr T pairs_seen(const basic_attention_prefill<T>& a, const T& tokens, const T& past) {
  return a.window ? causal_pairs(tokens, past, *a.window) : causal_pairs(tokens, past);
}

}  // namespace detail

/// With S tokens, P past, d = head_dim, v = value_dim, and `pairs` scored per head and sequence:
/// fused FLOP = 2 batch query_heads pairs (d + v), so 4 S^2 d per head, half of it when causal;
/// DRAM bytes = b S query_heads (d + v) (queries in, results out) + b_kv keys kv_heads (d + v),
/// each key and value once per KV head, so 4 S d b per head without grouping;
/// keys = S + min(P, window - 1).
/// Unfused: the whole S x (S + P) square in FLOP, and 4 b of it per query head in bytes: scores
/// and probabilities, each written and read; three kernels.
/// Sources: Dao et al., "FlashAttention", 2022, section 2.2 and algorithm 0; Shazeer, "Fast
/// Transformer Decoding", 2019 (shared heads); Beltagy et al., "Longformer", 2020 (window).
/// Leaves out: re-reads of keys and values (attention.hpp), writing the KV cache (kv_write),
/// tiles half masked, the softmax unless softmax_flop says so.
/// Errors: a dimension below 1; inconsistent where kv_heads does not divide query_heads, or where
/// past or window come without causal.
/// Tests: 34.9 GB unfused and 0.537 GB fused at 64 heads, S = 8192, d = 128; unfused / fused is
/// exactly 1 + S / d; fused intensity is S / 2.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_attention_prefill<T>>& valid) {
  const basic_attention_prefill<T>& a = valid.fields;
  const T &s = a.tokens, &past = a.past;
  const T &query_heads = a.query_heads, &kv_heads = a.kv_heads, &head_dim = a.head_dim;
  detail::divides(error_code::inconsistent, "kv_heads", kv_heads, "query_heads", query_heads);
  if (!a.causal && (upper(past) > 0.0 || a.window)) {
    detail::fail(
        error_code::inconsistent,
        "past and window need causal attention: without a mask, cached tokens would change");
  }
  const T dims = head_dim + a.value_width();
  const T rows = a.batch * query_heads;
  const T square = s * (s + past);
  const T pairs =
      named("pairs per head", a.causal && a.fused ? detail::pairs_seen(a, s, past) : square);
  const T keys =
      named("keys per sequence", s + (a.window ? scalar_min(past, *a.window - 1.0) : past));

  basic_demand<T> d;
  d.name = "attention_prefill";
  d.format = wider(a.format, a.kv_format.format);
  d.matrix_flop = named("flop", 2.0 * rows * pairs * dims * flop);
  d.vector_flop = a.softmax_flop * rows * pairs * flop;
  const bytes<> element = bytes_of(a.format);
  const bytes<T> kv = named("KV bytes", a.batch * keys * kv_heads * dims * bytes_of(a.kv_format));
  d.dram.read = named("query bytes", rows * s * head_dim * element) + kv;
  d.dram.written = named("output bytes", rows * s * (dims - head_dim) * element);
  if (!a.fused) {
    const bytes<T> scores = named("score bytes", rows * square * element);
    d.dram.read += 2.0 * scores;
    d.dram.written += 2.0 * scores;
    d.launches = T(3.0);
  }
  d.l2 = d.dram;
  return d;
}

// How many bytes fused attention moves when keys and values do not stay on the chip.

/// DRAM bytes of one head of fused attention when keys and values are read again for every block of
/// `block_rows` query rows: b S d (2 + 2 ceil(S / block_rows)). One block gives 4 S d b.
/// Source: Dao, "FlashAttention-2", 2023, algorithm 1 (query blocks outside, key blocks inside).
/// Leaves out: the causal half, L2 (which holds a head's K and V at usual lengths, and then the
/// compulsory bytes are right). Errors: an argument below 1.
/// Test: S = 8192, d = 128, 128 rows, 16 bit: 272.6 MB against 8.39 MB compulsory.
template <Scalar T>
constexpr bytes<T> flash_attention_reread_bytes(const T& sequence, const T& head_dim,
                                                const T& block_rows,
                                                number_format format = number_format::bf16) {
  using math::ceil;
  const T& s = detail::count("sequence", sequence);
  const T blocks = named("query blocks", ceil(s / detail::count("block_rows", block_rows)));
  return s * detail::count("head_dim", head_dim) * (2.0 + 2.0 * blocks) * bytes_of(format);
}
PERFMODEL_WHOLE_NUMBERS(flash_attention_reread_bytes)

/// Memory accesses of FlashAttention, in elements and up to a constant factor: S^2 d^2 / M, for an
/// on-chip memory of M elements, d <= M <= S d. Compare two sizes or two chips with it; it is no
/// byte count. Source: Dao et al., "FlashAttention", 2022, theorem 2.
/// Errors: out_of_range where M is not between d and S d. Test: twice the memory, half the
/// accesses; at M = S d it is S d, at M = d it is S^2 d.
template <Scalar T>
constexpr T flash_attention_accesses(const T& sequence, const T& head_dim,
                                     const T& on_chip_elements) {
  const T& s = detail::count("sequence", sequence);
  const T& d = detail::count("head_dim", head_dim);
  const T& m = detail::within("on_chip_elements", on_chip_elements, upper(d), lower(s) * lower(d),
                              "head_dim to sequence x head_dim");
  return named("accesses", s * s * d * d / m);
}
PERFMODEL_WHOLE_NUMBERS(flash_attention_accesses)

/// Memory accesses of unfused attention, which writes its scores out: S d + S^2.
/// Source: Dao et al., 2022, theorem 2. Test: at S = 8192, d = 128 it is 65 S d.
template <Scalar T>
constexpr T unfused_attention_accesses(const T& sequence, const T& head_dim) {
  const T& s = detail::count("sequence", sequence);
  return named("accesses", s * detail::count("head_dim", head_dim) + s * s);
}
PERFMODEL_WHOLE_NUMBERS(unfused_attention_accesses)

}  // namespace perfmodel::inline v0_3

#undef PERFMODEL_WHOLE_NUMBERS
