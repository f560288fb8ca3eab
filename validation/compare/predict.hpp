// What the library says of a recorded point, by quantity.
#pragma once

#include <string>
#include <string_view>

#include "comparison.hpp"
#include "machine.hpp"

namespace perfmodel::validation {

/// A point, with the recording that it stands in and the device that was measured.
struct question {
  const machine& on;
  const recorded& in;
  const point& at;

  double number(std::string_view name, double otherwise = 0.0) const {
    return number_of(at, name, otherwise);
  }
  std::string word(std::string_view name) const { return word_of(at, name); }
  bool warm() const { return word("cache") == "warm"; }
  number_format format() const { return format_named(word("format")); }
  /// The bytes that the point says it moved.
  traffic moved() const { return {number("bytes_read") * byte, number("bytes_written") * byte}; }
};

/// 0 stands for: nothing to say.
struct prediction {
  double value = 0.0, bound = 0.0, held_to = 0.0, size = 0.0;
  bool warm = false;
  bool fitted = false;    ///< the parameters behind it were fitted to this very point
  bool profiled = false;  ///< by a fitted profile, and not by a data sheet or an identity
  std::string regime{}, shape{}, by{}, note{};
  std::string why_held{};  ///< reason, if `held_to` is no bound of the data sheet
};

using predictor = prediction (*)(const question&);

/// null: no law of the library is about this quantity.
predictor find_predictor(std::string_view quantity);

/// A demand's bound with an estimate of it. Held to the device at its fastest; what may have come
/// from a cache, to what the SMs' L1s deliver, and to arithmetic.
prediction bounded_by(const question& q, const demand& d, const estimate& e, const char* law);
/// The least time that a demand can take on the device. `warm`: what it reads may lie in a cache.
double held_to(const question& q, const demand& d, bool warm);

/// The device's label in tables: the catalogue's name, or the device's own name without one. A
/// folder `<accelerator>_<number>` is a further run of that accelerator; its name is the label.
std::string device_label(const recorded& r);

/// What follows the quantity of points that are predicted a second time, by iron_law.
inline constexpr std::string_view iron_law_suffix = ", iron law";

/// A whole recording with its predictions: a row for each point, then those of iron_law.
/// `machines` were made of the same recordings.
std::vector<comparison> compare_recording(const recorded& r, const machine& on);

/// 16x1024: the numbers of a point, as a name for it.
std::string shape_of(const question& q, std::string_view names);

// predict_memory.cpp
prediction predict_stream(const question& q);
prediction predict_latency(const question& q);
prediction predict_latency_cycles(const question& q);
prediction predict_shared_memory(const question& q);
prediction predict_bytes_in_flight(const question& q);
prediction predict_chain(const question& q);
prediction predict_transfer(const question& q);
// predict_compute.cpp
prediction predict_arithmetic(const question& q);
prediction predict_intensity(const question& q);
prediction predict_iron_law(const question& q);
prediction predict_gemm(const question& q);
prediction predict_gemv(const question& q);
prediction predict_overlap(const question& q);
prediction predict_launch(const question& q);
// predict_attention.cpp
prediction predict_prefill(const question& q);
prediction predict_decode(const question& q);
prediction predict_kv_blocks(const question& q);
// predict_model.cpp
prediction predict_all_reduce(const question& q);
prediction predict_wire_bytes(const question& q);
prediction predict_acceptance(const question& q);
prediction predict_emitted(const question& q);
prediction predict_experts(const question& q);
prediction predict_experts_touched(const question& q);
prediction predict_step(const question& q);
// predict_profile.cpp
prediction predict_energy(const question& q);
prediction predict_power(const question& q);
prediction predict_clock(const question& q);
prediction predict_kernel_time(const question& q);
prediction predict_elapsed_cycles(const question& q);
prediction predict_active_cycles(const question& q);
prediction predict_dram_share(const question& q);

}  // namespace perfmodel::validation
