// Chains of multiply-adds on a block of values that stays in the vector registers.
#pragma once

namespace perfmodel::validation {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

/// Independent chains: two units of a latency of 4 or 5 clocks need 8 to 10.
inline constexpr int fma_chains = 10;
template <class Number>
inline constexpr int block_size = fma_chains* vector_bytes / static_cast<int>(sizeof(Number));

/// v = v a + b on every value of the block, `rounds` times: 2 rounds block_size FLOP.
template <class Number>
inline void multiply_add(Number* values, int rounds, Number a, Number b) {
  constexpr int width = vector_bytes / static_cast<int>(sizeof(Number));
  typedef Number vector __attribute__((vector_size(vector_bytes), aligned(sizeof(Number))));
  vector v[fma_chains], va, vb;
  for (int w = 0; w < width; ++w) {
    va[w] = a;
    vb[w] = b;
  }
  for (int c = 0; c < fma_chains; ++c) v[c] = *reinterpret_cast<const vector*>(values + c * width);
  for (int round = 0; round < rounds; ++round) {
    for (int c = 0; c < fma_chains; ++c) v[c] = v[c] * va + vb;
  }
  for (int c = 0; c < fma_chains; ++c) *reinterpret_cast<vector*>(values + c * width) = v[c];
}

}  // namespace perfmodel::validation
