// Profiles behind a calibrated result: kernels, links, attention and engine of one accelerator.
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

/// Number of weight buffers that a kernel benchmark reads in turn, except for some engines.
inline constexpr double default_benchmark_buffers = 6.0;

/// Kind of profile behind a query's time; none: calibration does not apply.
enum class profile_part { none, matrix, attention, experts, links, all };

/// Engine parameters fitted to runs of a service, for that service; intervals apply to the layout
/// of those runs.
struct own_service {
  std::string model{};
  perfmodel::engine by = perfmodel::engine::none;
  int tensor = 1, pipeline = 1, expert = 1, data = 1;
  perfmodel::service_numbers value{};  ///< by service_parameter
  double token_log_sigma = 0.0, first_token_log_sigma = 0.0;
};

/// Uncertainty of a service's times, as log_sigma.
struct service_uncertainty {
  double token = 0.0, first_token = 0.0;
};

/// Profiles of one accelerator under one engine.
struct calibration {
  perfmodel::label accelerator{};
  perfmodel::calibrated calibration{};
  perfmodel::time_by_profile kinds{};  ///< kinds of operators in a whole model
  std::string own_service{};  ///< service that the engine's parameters were fitted to, if any
  std::optional<service_uncertainty> widths{};  ///< from the runs of the service itself
  std::string_view asked_version{};             ///< engine_version of the request, as it spells it

  /// Formats of a whole model and whether it runs expert-parallel.
  void runs(const perfmodel::weight_storage& weights, perfmodel::number_format linear,
            perfmodel::number_format experts, const perfmodel::storage_format& cache, bool spread) {
    kinds.kind_of_gemms = perfmodel::gemm_kind_of(linear, weights.linear);
    kinds.kind_of_attention = perfmodel::attention_kind_of(cache, false);
    kinds.kind_of_experts = perfmodel::expert_kind_of(experts, weights.experts, spread);
  }
};

/// Software that a part of a profile was measured with: "vLLM 0.11 to 0.18, until 2026-04".
struct profile_release {
  const char* part = "";
  std::string software{};
};
/// Release of an engine that a request names, beyond those with measured services.
struct unmeasured_release {
  std::string asked{};
  std::string nearest{};          ///< nearest measured release
  bool is_newer = false;          ///< than all measured releases; else older
  std::optional<int> releases{};  ///< number of releases between them, where they are counted
};

/// A part of a profile, such as "attention", and the GPU that it was measured on.
struct profile_transfer {
  std::string part{};
  std::string source_gpu{};
};

/// The profile behind a result, its source, and the parts transferred from other GPUs.
struct profile_note {
  std::string name{};
  perfmodel::basis basis = perfmodel::basis::given;
  std::string source{};
  std::vector<profile_transfer> transfers{};
  std::vector<profile_release> releases{};
  std::optional<unmeasured_release> asked_release{};
  std::string json_text{};  ///< JSON of the note where results share it; else empty
};

/// A profile from a file: of a machine, or of a `service` on the machine of that name.
/// `machine.from` refers into it, so its address must not change.
struct given_profile {
  perfmodel::machine_profile machine{};
  std::optional<own_service> service{};
  std::string text{};
  perfmodel::source from{};
  bool must_match = false;  ///< whether a request without its accelerator is refused

  given_profile() = default;
  given_profile(const given_profile&) = delete;
  given_profile& operator=(const given_profile&) = delete;
};

/// Whether the accelerator has its own profile of that part, shipped or given.
bool has_profile(const perfmodel::accelerator& a, profile_part part, const given_profile* given);

/// Facts required for a prediction that are missing, as "sms, vector.clock"; "" where all are
/// stated.
std::string needed_for_prediction(const perfmodel::accelerator& a, profile_part part);
/// Whether a profile of the accelerator exists or can be transferred to it.
bool can_be_predicted(const perfmodel::accelerator& a, profile_part part);
/// Default mode of a request. Models and services are calibrated wherever a profile exists or can
/// be transferred, a single operator where its accelerator has a profile.
mode default_mode(const perfmodel::accelerator& a, profile_part part, const given_profile* given);
/// Command-line advice below a bound by default: how to get a prediction, or why there is none.
std::string prediction_hint(const perfmodel::accelerator& a, profile_part part);

/// calibrated_for the accelerator and the engine of that name. A given profile of the same name
/// replaces the shipped one. Throws inconsistent for a kind of machine without measurements, and
/// unknown_name where a required fact is missing.
calibration calibration_of(const perfmodel::accelerator& a, profile_part part,
                           std::string_view engine, const given_profile* given);

/// The model, engine and layout of a service request.
struct service_identity {
  std::string_view model{};
  perfmodel::engine by = perfmodel::engine::none;
  int tensor = 1, pipeline = 1, expert = 1, data = 1;
};
/// Applies the engine parameters of a service profile. Throws inconsistent where they are of
/// another model or engine and `given` must match; else leaves the calibration unchanged.
void put_own_service(calibration& c, const given_profile& given, const service_identity& asked);

/// The profiles behind a time: the weakest basis, and each source once. Of whole models (part all)
/// with the releases of the engine's services.
profile_note note_of(const calibration& c, const perfmodel::evidence& stands_on, profile_part part);
/// "h100_sxm (measured: fitted to ...)".
std::string text_of(const profile_note& note);
/// "GEMM, attention: source GPU h100_sxm"; "" where nothing was transferred.
std::string transfers_text(const profile_note& note);

/// "GEMM: vLLM 0.24, TensorRT-LLM 1.3; attention: vLLM 0.24"; "" where nothing states a release.
std::string releases_text(const profile_note& note);
/// "6 releases after 0.18, the newest with fitted services; what changed in its times is not
/// known".
std::string text_of(const unmeasured_release& r);

/// log_sigma of a service's times at that kernel uncertainty: from its own runs, or shipped;
/// `terms` are the terms of its engine step.
service_uncertainty widths_of(const calibration& c, const perfmodel::time_by_profile& kinds,
                              double kernels, double prefill_kernels, bool pools,
                              const perfmodel::basic_terms<double>& terms);

/// The profiles behind a time with these terms and kinds of operators.
perfmodel::evidence evidence_of(const calibration& c, const perfmodel::time_by_profile& kinds,
                                profile_part part, const perfmodel::basic_terms<double>& terms);
inline perfmodel::evidence evidence_of(const calibration& c, profile_part part,
                                       const perfmodel::basic_terms<double>& terms) {
  return evidence_of(c, c.kinds, part, terms);
}

}  // namespace napkin
