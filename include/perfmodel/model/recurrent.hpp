// Recurrent layers: linear attention, state spaces and short convolutions, with a state of fixed
// size.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3 {

enum class recurrence {
  gated_delta_net,    ///< Yang et al. 2024, arXiv 2412.06464; Qwen3-Next, Qwen3.5
  kimi_delta,         ///< Kimi Linear, arXiv 2510.26692: a decay for every key dimension
  mamba2,             ///< Dao & Gu 2024, arXiv 2405.21060; keys and values are its B and C and x
  lightning,          ///< MiniMax-01, arXiv 2501.08313: a fixed decay per head, no convolution
  mamba,              ///< Gu & Dao 2023, arXiv 2312.00752; Jamba: a state for every channel
  rwkv7,              ///< Peng et al. 2025, arXiv 2503.14456: a delta rule with thin gates
  short_convolution,  ///< LFM2: two gates around a convolution over a few tokens
};

/// Name of a recurrence, as in a model file.
constexpr const char* name_of(recurrence r) {
  constexpr const char* names[] = {"gated_delta_net", "kimi_delta", "mamba2",           "lightning",
                                   "mamba",           "rwkv7",      "short_convolution"};
  return detail::entry_of(names, r, "recurrence");
}

/// Recurrent layer: `value_heads` states of key_dim x value_dim, which a token updates and reads.
/// Groups of them share `key_heads` queries and keys.
/// Mamba-2: n_groups of B and C, key_dim its state size, value_dim its head's size. Mamba: each
/// channel is a head of size 1. LFM2's short convolution: each channel is a head, and its state the
/// key_dim tokens before this one.
/// A convolution over the last `conv_kernel` tokens goes before it (RWKV-7: 2, for the token
/// before). `thin_rank` is that of Mamba's step sizes, and the sum of those of RWKV-7's gates.
/// Sources: the modules of these names in huggingface/transformers and vLLM's mamba_utils.py
/// (shapes of the states).
template <Scalar T = double>
struct basic_recurrent_shape {
  recurrence kind = recurrence::gated_delta_net;
  T key_heads{};
  T value_heads{};
  T key_dim{};
  T value_dim{};
  std::optional<T> conv_kernel{};
  number_format state_format = number_format::fp32;
  number_format conv_format = number_format::bf16;
  bool full_rank_gate = false;  ///< KDA's output gate in one matrix (Kimi-K3), not two thin ones
  bool conv_bias = false;       ///< Mamba
  std::optional<T> thin_rank{};

  constexpr T key_width() const { return key_heads * key_dim; }
  constexpr T value_width() const { return value_heads * value_dim; }
  constexpr T conv_channels() const {
    if (kind == recurrence::mamba) return value_width();
    if (kind == recurrence::rwkv7) return 2.0 * value_width();  // of the mixer and the feed-forward
    return 2.0 * key_width() + value_width();
  }
  constexpr T rank() const { return thin_rank.value_or(T(0.0)); }
  /// Projections that all heads share: the low-rank matrices of decays and gates.
  constexpr T latent_width() const {
    if (kind == recurrence::rwkv7) return rank();
    if (kind != recurrence::kimi_delta) return T(0.0);
    return full_rank_gate ? key_dim : T(key_dim + value_dim);
  }
  constexpr bool corrects() const {
    return kind == recurrence::gated_delta_net || kind == recurrence::kimi_delta ||
           kind == recurrence::rwkv7;
  }
  /// True for recurrences that run token by token: no GEMMs within a chunk.
  constexpr bool scans() const {
    return kind == recurrence::mamba || kind == recurrence::short_convolution;
  }

  /// Weights of the projections of one layer.
  constexpr T weights(const T& hidden) const {
    const T k = key_width(), v = value_width();
    switch (kind) {
      case recurrence::kimi_delta: {
        const T thin = hidden * value_dim + value_dim * v;  // two matrices of rank value_dim
        const T gate = full_rank_gate ? T(hidden * v) : thin;
        return hidden * (2.0 * k + v + value_heads) + hidden * key_dim + key_dim * k + gate +
               v * hidden;
      }
      case recurrence::mamba2: return hidden * (2.0 * v + 2.0 * k + value_heads) + v * hidden;
      case recurrence::lightning: return hidden * (2.0 * k + 2.0 * v) + v * hidden;
      case recurrence::mamba:
        return hidden * 2.0 * v + v * (rank() + 2.0 * k) + rank() * v + v * hidden;
      case recurrence::rwkv7: return hidden * (2.0 * k + v) + rank() * (hidden + v) + v * hidden;
      case recurrence::short_convolution: return hidden * 3.0 * v + v * hidden;
      default: return hidden * (2.0 * k + 2.0 * v + 2.0 * value_heads) + v * hidden;
    }
  }
  /// Convolution, decays and norms of one layer.
  constexpr T extras(const T&) const {
    const T conv = conv_kernel ? T(*conv_kernel * conv_channels()) : T(0.0);
    const T bias = conv_bias ? conv_channels() : T(0.0);
    switch (kind) {
      case recurrence::kimi_delta: return conv + value_heads + key_width() + value_dim;
      case recurrence::mamba2: return conv + bias + 3.0 * value_heads + value_width();
      case recurrence::lightning: return value_width();
      case recurrence::mamba: return conv + bias + (key_dim + 2.0) * value_width();
      case recurrence::rwkv7: return 15.0 * value_width();  // mixes, offsets, and the norm of heads
      case recurrence::short_convolution: return (key_dim + 1.0) * value_width();
      default: return conv + 2.0 * value_heads + value_dim;
    }
  }

  /// Convolution state of one sequence in one layer: the last conv_kernel - 1 inputs.
  constexpr bytes<T> conv_bytes() const {
    if (!conv_kernel) return {};
    return (*conv_kernel - 1.0) * conv_channels() * bytes_of(conv_format);
  }
  /// State bytes of one sequence in one layer, convolution included.
  constexpr bytes<T> state_bytes() const {
    return value_heads * key_dim * value_dim * bytes_of(state_format) + conv_bytes();
  }
  /// FLOP of one token: decay, update and read of every state, and a delta rule's correction.
  constexpr T flop_per_token(const T&) const {
    return (corrects() ? 7.0 : 5.0) * value_heads * key_dim * value_dim;
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("kind", s.kind...);
    f(field::count("key_heads"), s.key_heads...);
    f(field::count("value_heads"), s.value_heads...);
    f(field::count("key_dim"), s.key_dim...);
    f(field::count("value_dim"), s.value_dim...);
    f(field::count("conv_kernel"), s.conv_kernel...);
    f("state_format", s.state_format...);
    f("conv_format", s.conv_format...);
    f("full_rank_gate", s.full_rank_gate...);
    f("conv_bias", s.conv_bias...);
    f(field::count("thin_rank"), s.thin_rank...);
  }
  friend bool operator==(const basic_recurrent_shape&, const basic_recurrent_shape&) = default;
};
using recurrent_shape = basic_recurrent_shape<>;

}  // namespace perfmodel::inline v0_3
