// What a calibrated answer counts on: the profiles of one accelerator, and how far they stray.
#pragma once

#include <perfmodel/calibrated/attention_profile.hpp>
#include <perfmodel/calibrated/collective_profile.hpp>
#include <perfmodel/calibrated/machine_profile.hpp>
#include <perfmodel/core/estimate.hpp>
#include <string>
#include <string_view>

namespace napkin {

enum class mode { bound, calibrated };

/// Copies of its weights that a benchmark of one kernel reads in turn, but for those of some
/// engines.
inline constexpr double copies_in_benchmarks = 6.0;

/// Which profile the time of a query comes from; none: calibration has no meaning there.
enum class profile_part { none, matrix, attention, experts, links, all };

/// The profiles of one accelerator under one engine.
struct calibration {
  perfmodel::label accelerator{};
  perfmodel::machine_profile machine{};
  perfmodel::engine_profile engine{};
  perfmodel::attention_profile attention{};
  perfmodel::attention_kernels attention_kernels{};         ///< 16-bit cache
  perfmodel::attention_kernels narrow_attention_kernels{};  ///< narrower cache
  perfmodel::moe_profile experts{};
  perfmodel::moe_kernels expert_kernels{};         ///< 16-bit weights
  perfmodel::moe_kernels narrow_expert_kernels{};  ///< narrower weights
  perfmodel::moe_kernels spread_expert_kernels{};  ///< narrower weights, spread over ranks
  perfmodel::collective_profile links{};
  perfmodel::collective_profile network{};  ///< between nodes
  perfmodel::engine_all_reduce_kernels custom{};
  bool narrow_products = false;  ///< products in less than 16 bits, which an engine quantises for

  /// A whole model's products run with activations of that format.
  void multiplies_in(perfmodel::number_format activations) {
    narrow_products = engine.log_sigma > 0.0 && bits_of(activations) < 16.0;
  }
};

/// What an answer says of its profile: whose, how it came about, and from what.
struct profile_note {
  std::string name{};
  perfmodel::basis basis = perfmodel::basis::given;
  std::string source{};
};

/// A machine profile that was read from a file. `machine.from` refers into it, so it stays in
/// place.
struct given_profile {
  perfmodel::machine_profile machine{};
  std::string text{};
  perfmodel::source from{};

  given_profile() = default;
  given_profile(const given_profile&) = delete;
  given_profile& operator=(const given_profile&) = delete;
};

/// Whether the accelerator has a profile of its own, shipped or given, for that part.
bool has_profile(const perfmodel::accelerator& a, profile_part part, const given_profile* given);

/// The profiles of an accelerator: its own, or those of the default rules. A given profile of the
/// same name stands for the machine. Throws out_of_range where the catalogue lacks a value that the
/// part's law needs.
calibration calibration_of(const perfmodel::accelerator& a, profile_part part,
                           std::string_view engine, const given_profile* given);

/// Of the profiles behind the terms of a time: the weakest basis, and each source once.
profile_note note_of(const calibration& c, profile_part part,
                     const perfmodel::basic_terms<double>& terms);
/// "h100_sxm (measured: fitted to ...)".
std::string text_of(const profile_note& note);

/// As the spread of a profile: of a sum of terms the mean of their profiles' spreads, weighted by
/// time, as though all strayed the same way. Assumed.
double spread_of(const calibration& c, profile_part part,
                 const perfmodel::basic_terms<double>& terms);

}  // namespace napkin
