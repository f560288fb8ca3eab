// Models as files: a directory or config.json of Hugging Face, or this project's file from `napkin
// models --export`.
#pragma once

#include <perfmodel/model/parameters.hpp>
#include <string>

#include "key.hpp"

namespace napkin {

struct found_model {
  perfmodel::transformer model{};
  perfmodel::weight_storage stored{};  ///< checkpoint storage of the weights; bf16 by default
  std::optional<perfmodel::storage_format>
      kv{};  ///< checkpoint scheme for keys and values, where it has one
  std::string source{};
};

/// The model of a directory with a config.json, of a config.json, or of a file of this project. An
/// hf_quant_config.json in the folder of a config.json is read too. Throws unreadable_file,
/// invalid_config, and for a file of this project malformed_request, unknown_key, missing_key,
/// wrong_type, out_of_range, unknown_name, inconsistent, with the file's name.
found_model read_model(const std::string& path);

/// File content of a model, in lines.
std::string model_file_text(const found_model& found);

}  // namespace napkin
