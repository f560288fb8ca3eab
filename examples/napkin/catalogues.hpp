// The accelerators and models that a request can name.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/workload/model/parameters.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace napkin {

/// What the name means in the catalogue. Throws unknown_accelerator, with its relatives.
const perfmodel::accelerator& find_accelerator(std::string_view name);

struct found_model {
  perfmodel::transformer model{};
  perfmodel::weight_storage stored{};  ///< how its checkpoint stores the weights; bf16 by default
  std::string source{};
};

/// A catalogue model, or the model of a config.json where `name` has a '/' or ends in .json.
/// Throws unknown_model, unreadable_file, unknown_architecture or invalid_config.
const found_model& find_model(std::string_view name);

std::span<const std::string_view> accelerator_names();
std::span<const std::string_view> model_names();

}  // namespace napkin
