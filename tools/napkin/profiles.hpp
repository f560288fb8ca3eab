// What a calibrated answer counts on: the profiles of one accelerator, and what it stands on.
#pragma once

#include <optional>
#include <perfmodel/kernels/operator_prediction.hpp>
#include <perfmodel/kernels/service_posterior.hpp>
#include <perfmodel/model/transformer.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace napkin {

enum class mode { bound, calibrated };

/// Copies of its weights that a benchmark of one kernel reads in turn, but for those of some
/// engines.
inline constexpr double copies_in_benchmarks = 6.0;

/// Which profile the time of a query comes from; none: calibration has no meaning there.
enum class profile_part { none, matrix, attention, experts, links, all };

/// The engine as runs of one's own service told of it, for the service that was run: intervals are as
/// wide as they say on the layout of those runs.
struct own_service {
  std::string model{};
  perfmodel::engine by = perfmodel::engine::none;
  int tensor = 1, pipeline = 1, expert = 1, data = 1;
  perfmodel::service_numbers value{};  ///< by service_parameter
  double token_log_sigma = 0.0, first_token_log_sigma = 0.0;
};

/// The widths of the intervals around a service's times.
struct service_uncertainty {
  double token = 0.0, first_token = 0.0;
};

/// The profiles of one accelerator under one engine.
struct calibration {
  perfmodel::label accelerator{};
  perfmodel::calibrated calibration{};
  perfmodel::time_by_profile kinds{};  ///< what kinds of operators a whole model has
  std::string
      own_service{};  ///< what its engine's parameters were fitted to, where that is a service
  std::optional<service_uncertainty> widths{};  ///< where runs of the service itself have told

  /// A whole model's weights, what multiplies with them, its cache, and whether experts are spread.
  void runs(const perfmodel::weight_storage& weights, perfmodel::number_format linear,
            perfmodel::number_format experts, const perfmodel::storage_format& cache, bool spread) {
    kinds.kind_of_gemms = perfmodel::gemm_kind_of(linear, weights.linear);
    kinds.kind_of_attention = perfmodel::attention_kind_of(cache, false);
    kinds.kind_of_experts = perfmodel::expert_kind_of(experts, weights.experts, spread);
  }
};

/// A part of a profile, such as "attention", and the GPU that it was measured on.
struct profile_transfer {
  std::string part{};
  std::string source_gpu{};
};

/// The profile behind an answer, its source, and the parts transferred from other GPUs.
struct profile_note {
  std::string name{};
  perfmodel::basis basis = perfmodel::basis::given;
  std::string source{};
  std::vector<profile_transfer> transfers{};
};

/// A profile that was read from a file: of a machine, or of a `service` on the machine of that name.
/// `machine.from` refers into it, so it stays in place.
struct given_profile {
  perfmodel::machine_profile machine{};
  std::optional<own_service> service{};
  std::string text{};
  perfmodel::source from{};
  bool must_match = false;  ///< a request without its accelerator is refused

  given_profile() = default;
  given_profile(const given_profile&) = delete;
  given_profile& operator=(const given_profile&) = delete;
};

/// Whether the accelerator has a profile of its own, shipped or given, for that part.
bool has_profile(const perfmodel::accelerator& a, profile_part part, const given_profile* given);

/// The facts without which nothing can be predicted, as "sms, vector.clock"; "" where all are stated.
std::string needed_for_prediction(const perfmodel::accelerator& a, profile_part part);
/// Whether a profile of the accelerator exists or can be transferred to it.
bool can_be_predicted(const perfmodel::accelerator& a, profile_part part);
/// The mode of an answer to a request without one. Models and services are calibrated wherever a
/// profile exists or can be transferred, a single operator where its accelerator has a profile.
mode default_mode(const perfmodel::accelerator& a, profile_part part, const given_profile* given);
/// Command-line advice below a bound by default: how a prediction is had, or why there is none.
std::string prediction_hint(const perfmodel::accelerator& a, profile_part part);

/// calibrated_for the accelerator and the engine of that name. A given profile of the same name
/// stands for the machine. Throws inconsistent for a kind of machine that nobody measured, and
/// unknown_name where a fact is not stated that the part's law needs.
calibration calibration_of(const perfmodel::accelerator& a, profile_part part,
                           std::string_view engine, const given_profile* given);

/// What was asked of a service: its model, engine and layout.
struct asked_service {
  std::string_view model{};
  perfmodel::engine by = perfmodel::engine::none;
  int tensor = 1, pipeline = 1, expert = 1, data = 1;
};
/// Puts the engine of a profile of a service in. Throws inconsistent where that is of another model or
/// engine and `given` must match; else leaves the calibration as it is.
void put_own_service(calibration& c, const given_profile& given, const asked_service& asked);

/// Of the profiles behind a time: the weakest basis, and each source once.
profile_note note_of(const calibration& c, const perfmodel::evidence& stands_on);
/// "h100_sxm (measured: fitted to ...)".
std::string text_of(const profile_note& note);
/// "GEMM, attention: source GPU h100_sxm"; "" where nothing was transferred.
std::string transfers_text(const profile_note& note);

/// log_sigma of a service's times, where its kernels are that uncertain: as runs of its own told, or as shipped;
/// `terms` are of its pass.
service_uncertainty widths_of(const calibration& c, double kernels, double prompt_kernels,
                              bool pools, const perfmodel::basic_terms<double>& terms);

/// What a time of such terms stands on.
perfmodel::evidence evidence_of(const calibration& c, profile_part part,
                                const perfmodel::basic_terms<double>& terms);

}  // namespace napkin
