// The device of a recording, as the library knows it.
#pragma once

#include <memory>
#include <optional>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/tools/fit/calibrate_machine.hpp>
#include <string>
#include <vector>

#include "../recording/read_recording.hpp"

namespace perfmodel::validation {

struct host_fit;

/// What the recordings and the catalogue say of one device.
struct machine {
  device_description described{};
  perfmodel::accelerator device{};
  /// This machine at its highest clock and with its memory's pin bandwidth, where these exceed the
  /// data sheet. No measurement may be faster than its bound.
  perfmodel::accelerator fastest{};
  bool known = false;        ///< in the catalogue
  bool own_profile = false;  ///< fitted to this machine; else its relative's, by default rules
  double log_sigma = 0.0;    ///< log_sigma of its machine profile
  calibrated policy{};       ///< weights cold
  calibrated_collectives links{};
  duration<> memory_latency{};  ///< measured by a pointer chase of its own, else the catalogue's
  duration<> memory_latency_spread{};      ///< standard deviation of it, measured; else 0
  std::shared_ptr<const host_fit> host{};  ///< model of a CPU, fitted to its own recordings
};

/// A device at its highest clock, and with what its pins carry at two transfers a memory clock.
perfmodel::accelerator at_its_fastest(perfmodel::accelerator a, const device_description& d);

/// `all`: the recordings to look in for what the machine was measured to be; of a CPU, those of one
/// run. Errors: std::invalid_argument where `accelerator` names none of the catalogue.
machine machine_of(const device_description& d, const std::vector<recorded>& all);

/// Whether a point is a GEMM with cold weights, of the sweep or of a verification of drafts: what
/// `napkin calibrate` fits a profile to.
bool is_cold_gemm(const point& p);

/// The GEMM profile of a machine fitted to its own GEMMs with cold weights; the shipped profile is
/// the prior. Its residuals are in the order of the points. None where none was recorded.
std::optional<machine_fit> own_profile(const machine& m, const std::vector<recorded>& all);

/// A number format by its name in the catalogue. Errors: std::invalid_argument.
number_format format_named(const std::string& name);

}  // namespace perfmodel::validation
