// How many bytes fused attention moves when keys and values do not stay on the chip.
#pragma once

#include <perfmodel/scalar/math.hpp>
#include <perfmodel/workload/demand.hpp>

namespace perfmodel {

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

/// The same for unfused attention, which writes its scores out: S d + S^2.
/// Source: Dao et al., 2022, theorem 2. Test: at S = 8192, d = 128 it is 65 S d.
template <Scalar T>
constexpr T unfused_attention_accesses(const T& sequence, const T& head_dim) {
  const T& s = detail::count("sequence", sequence);
  return named("accesses", s * detail::count("head_dim", head_dim) + s * s);
}
PERFMODEL_WHOLE_NUMBERS(unfused_attention_accesses)

}  // namespace perfmodel
