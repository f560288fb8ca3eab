// Fits a CPU's parameters to its own recordings, on some shapes, to be judged on the others.
#pragma once

#include <perfmodel/calibration.hpp>
#include <string>
#include <vector>

#include "../recording/recording.hpp"
#include "host_model.hpp"

namespace perfmodel::validation {

struct host_fit {
  host_machine machine{};
  double fastest_bytes = 0;  ///< B/s, the best of any stream point: nothing moves faster
  double fastest_flop = 0;   ///< FLOP/s, the best of any chain of multiply-adds
  std::array<double, 8> stream_error{};   ///< standard errors, in the order of the parameters
  std::array<double, 5> product_error{};
};

/// Whether the fit sees a point: streams that read, write or copy, two sizes of three; products
/// of weights whose n is 256, 1024 (with k = 1024), 2048 or 8192. The others are held out.
bool fitted_to(const point& p);

/// Errors: perfmodel::error (unidentifiable) where a kind of point is missing or too few.
host_fit fit_host(const device_description& on, const std::vector<point>& measured);

/// Seconds, and the least that they can be; 0 where nothing is said of such a point.
double predicted_seconds(const host_fit& h, const point& p);
double least_seconds(const host_fit& h, const point& p);

}  // namespace perfmodel::validation
