// Fits a CPU's parameters to its own recordings, on some shapes, to be judged on the others.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/tools/fit/calibration.hpp>
#include <string>
#include <vector>

#include "../recording/recording.hpp"
#include "host_model.hpp"

namespace perfmodel::validation {

/// Nothing is faster than what was seen at its fastest, by more than this: a margin for samples
/// that were all disturbed. Assumed.
inline constexpr double ceiling_margin = 1.1;

struct host_fit {
  host_machine machine{};
  /// B/s of the fastest sample of any warm stream too large for the levels before; the last is
  /// DRAM, by cold streams.
  std::array<double, host_levels> fastest_bytes{};
  double fastest_flop = 0;    ///< FLOP/s in FP32, the fastest sample of the chains of multiply-adds
  double memory_latency = 0;  ///< s, of one chase alone
  double compute_alone = 0, copy_alone = 0;  ///< s, of what is then done together
  std::array<double, 9> stream_error{};      ///< standard errors, in the order of the parameters
  std::array<double, 5> product_error{};

  /// One core as the library's laws take a device: what it reaches, or what nothing surpasses.
  accelerator reached() const;
  accelerator ceiling() const;
};

/// Whether the fit sees a point. It sees streams that read, write or copy, at two sizes of three;
/// GEMMs with n of 256, 2048 or 8192, or with n = 1024 and k = 1024; one chase; each task alone.
/// The others are held out.
bool fitted_to(const point& p);

/// Errors: perfmodel::error (unidentifiable) where a kind of point is missing or too few.
host_fit fit_host(const device_description& on, const std::vector<point>& measured);

/// Seconds by the fitted machine: streams and products by host_model.hpp, arithmetic on bytes from
/// memory by roofline(), several chases by Little's law, two tasks at once by overlap.hpp.
/// 0 where nothing is said of such a point. Test: a synthetic CPU is found again.
double predicted_seconds(const host_fit& h, const point& p);
/// What the roofline of the ceilings allows at the least: bytes from the nearest level that can
/// hold them, FLOP by the multiply-adds. 0 as above. It is a bound by measurement, not by a data
/// sheet. Test: no point of the run that it comes from lies below.
double least_seconds(const host_fit& h, const point& p);

}  // namespace perfmodel::validation
