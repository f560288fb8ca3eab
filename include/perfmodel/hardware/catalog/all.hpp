// Every accelerator of the catalogue by name, for programs that are told the name at run time.
#pragma once

#include <array>
#include <perfmodel/hardware/catalog/amd.hpp>
#include <perfmodel/hardware/catalog/apple.hpp>
#include <perfmodel/hardware/catalog/cerebras.hpp>
#include <perfmodel/hardware/catalog/google_tpu.hpp>
#include <perfmodel/hardware/catalog/groq.hpp>
#include <perfmodel/hardware/catalog/nvidia_ada.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/hardware/catalog/nvidia_jetson.hpp>
#include <perfmodel/hardware/catalog/nvidia_rtx.hpp>
#include <perfmodel/hardware/catalog/nvidia_rubin.hpp>
#include <perfmodel/hardware/catalog/nvidia_volta.hpp>
#include <string_view>

namespace perfmodel::catalog {

/// The lists of all families in one.
template <std::size_t... Sizes>
constexpr auto joined(const std::array<accelerator_entry, Sizes>&... families) {
  std::array<accelerator_entry, (Sizes + ...)> all{};
  std::size_t n = 0;
  const auto append = [&](const auto& family) {
    for (const accelerator_entry& e : family) all[n++] = e;
  };
  (append(families), ...);
  return all;
}

inline constexpr auto accelerators =
    joined(volta_accelerators, ampere_accelerators, hopper_accelerators, blackwell_accelerators,
           ada_accelerators, rtx_accelerators, amd_accelerators, google_tpu_accelerators,
           apple_accelerators, jetson_accelerators, groq_accelerators, cerebras_accelerators,
           rubin_accelerators);

/// The accelerator of that name, or nullptr.
/// Test: find_accelerator("h100_sxm") == &h100_sxm; find_accelerator("h101") == nullptr.
constexpr const accelerator* find_accelerator(std::string_view key) {
  for (const accelerator_entry& e : accelerators) {
    if (key == e.key) return e.spec;
  }
  return nullptr;
}

}  // namespace perfmodel::catalog
