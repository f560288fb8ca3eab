#pragma once

#include <perfmodel/laws/roofline.hpp>

namespace own {

// The intensity at which a chip with 1000 TFLOP/s and 4 TB/s leaves its memory limit.
inline bool is_memory_bound(double flop_per_byte) {
  namespace pm = perfmodel;
  const auto rate =
      pm::attainable<double>(1000.0 * pm::TFLOP / pm::second, 4.0 * pm::TB / pm::second,
                             flop_per_byte * pm::flop / pm::byte);
  return rate < 1000.0 * pm::TFLOP / pm::second;
}

}  // namespace own
