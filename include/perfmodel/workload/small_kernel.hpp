// The kinds of kernels of a pass that are no product, attention or norm.
#pragma once

#include <perfmodel/core/entry_of.hpp>

namespace perfmodel {

/// `residual` is what adding it costs a norm that is there anyway, without a launch; a `sampler` is several
/// kernels.
enum class small_kernel { residual, rotary, head_norm, activation, cache_write, sampler };

constexpr const char* name_of(small_kernel k) {
  constexpr const char* names[] = {"residual",   "rotary embedding", "norms of heads",
                                   "activation", "cache write",      "sampler"};
  return detail::entry_of(names, k, "small_kernel");
}

}  // namespace perfmodel
