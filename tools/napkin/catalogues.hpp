// Accelerators and models that a request can name.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_file.hpp"

namespace napkin {

/// The accelerator of a catalogue name. Throws unknown_accelerator, with similar names.
const perfmodel::accelerator& find_accelerator(std::string_view name);

/// The model of a file or directory (model_file.hpp), or of the catalogue by its name there or on a
/// hub (Qwen/Qwen3-32B). Throws unknown_model with similar names, and the errors of read_model.
const found_model& find_model(std::string_view name);
/// The model with its image encoder, also where the catalogue has its text part alone.
const found_model& find_model_with_images(std::string_view name);
/// Throws inconsistent for a draft head (EAGLE-3, MTP, DFlash), which serves no requests itself.
void require_target(const found_model& found, std::string_view name);

std::span<const std::string_view> accelerator_names();
std::span<const std::string_view> model_names();

}  // namespace napkin
