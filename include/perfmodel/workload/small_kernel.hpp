// The kinds of kernels of a pass that are no product, attention or norm.
#pragma once

namespace perfmodel {

/// `residual` is what adding it costs a norm that is there anyway, without a launch; a `sampler` is several
/// kernels.
enum class small_kernel { residual, rotary, head_norm, activation, cache_write, sampler };

constexpr const char* name_of(small_kernel k) {
  constexpr const char* names[] = {"residual",   "rotary embedding", "norms of heads",
                                   "activation", "cache write",      "sampler"};
  return names[static_cast<int>(k)];
}

}  // namespace perfmodel
