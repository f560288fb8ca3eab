// Every accelerator of the catalogue by name, for programs that are told the name at run time.
#pragma once

#include <perfmodel/hardware/catalog/ai_accelerators.hpp>
#include <perfmodel/hardware/catalog/amd.hpp>
#include <perfmodel/hardware/catalog/apple.hpp>
#include <perfmodel/hardware/catalog/names.hpp>
#include <perfmodel/hardware/catalog/nvidia_ada.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/hardware/catalog/nvidia_jetson.hpp>
#include <perfmodel/hardware/catalog/nvidia_rtx.hpp>
#include <perfmodel/hardware/catalog/nvidia_volta.hpp>
#include <string_view>

namespace perfmodel::inline v0_3::catalog {

inline constexpr auto accelerators =
    joined(volta_accelerators, turing_accelerators, ampere_accelerators, ampere_rtx_accelerators,
           hopper_accelerators, grace_hopper_accelerators, blackwell_accelerators, ada_accelerators,
           rtx_accelerators, rtx_pro_accelerators, spark_accelerators, amd_accelerators,
           google_tpu_accelerators, intel_arc_accelerators, npu_accelerators,
           aws_trainium_accelerators, intel_gaudi_accelerators, apple_accelerators,
           jetson_accelerators, groq_accelerators, cerebras_accelerators, rubin_accelerators);

/// The accelerator of that key or name, or nullptr. A row of product_names is needed only for names
/// that differ from the key.
/// Test: find_accelerator("h100_sxm") and find_accelerator("NVIDIA H100 80GB HBM3") are &h100_sxm,
/// find_accelerator("h101") is nullptr.
constexpr const accelerator* find_accelerator(std::string_view name) {
  for (const std::string_view key : {name, accelerator_key(name)}) {
    for (const accelerator_entry& e : accelerators) {
      if (key == e.key) return e.spec;
    }
  }
  const naming::spoken_name said = naming::parsed_name(name);
  if (said.product.view().empty()) return nullptr;
  for (const accelerator_entry& e : accelerators) {
    const naming::spoken_name own = naming::parsed_name(e.key);
    if (own.product.view() == said.product.view() && own.form.view() == said.form.view() &&
        own.gigabytes == said.gigabytes)
      return e.spec;
  }
  return nullptr;
}

}  // namespace perfmodel::inline v0_3::catalog
