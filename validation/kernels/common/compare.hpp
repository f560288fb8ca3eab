// How far a result is from its reference.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

namespace perfmodel::validation {

/// ||result - reference|| / ||reference||, in double precision. NaN in the result stays NaN, so it
/// passes no tolerance; so do spans of different or no length.
template <class T>
double relative_error(std::span<const T> result, std::span<const double> reference) {
  if (result.empty() || result.size() != reference.size()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double d = static_cast<double>(static_cast<float>(result[i])) - reference[i];
    off += d * d;
    norm += reference[i] * reference[i];
  }
  return norm > 0.0 ? std::sqrt(off / norm) : std::sqrt(off);
}

/// The number of bytes in which two spans differ; NaN where their lengths do, or are 0.
template <class T>
double differing_bytes(std::span<const T> result, std::span<const T> reference) {
  if (result.empty() || result.size() != reference.size()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto* a = reinterpret_cast<const unsigned char*>(result.data());
  const auto* b = reinterpret_cast<const unsigned char*>(reference.data());
  double n = 0;
  for (std::size_t i = 0; i < result.size_bytes(); ++i) n += a[i] == b[i] ? 0.0 : 1.0;
  return n;
}

}  // namespace perfmodel::validation
