// Models as files: a directory or config.json of Hugging Face, or this project's file from `napkin
// models --export`.
#pragma once

#include <perfmodel/model/parameters.hpp>
#include <string>
#include <vector>

#include "key.hpp"

namespace napkin {

/// "groups of 32"; a group that is a square tile of weights is "128 x 128 blocks".
std::string group_text(double group);

struct found_model {
  perfmodel::transformer model{};
  perfmodel::weight_storage stored{};  ///< checkpoint storage of the weights; bf16 by default
  std::optional<perfmodel::storage_format>
      kv{};  ///< checkpoint scheme for keys and values, where it has one
  std::string source{};
  std::string draft{};                  ///< EAGLE-3, MTP ...: a draft head and no model; else empty
  std::vector<std::string> not_read{};  ///< fields of its file that may matter and were not used
  std::string unknown_storage{};        ///< why its weights' format is not known; else empty

  /// Throws invalid_config where the weights' format is not known.
  void require_storage(std::string_view name) const;
};

/// "not read: a, b" of a file's fields; empty where all that may matter were used.
std::string not_read_text(const std::vector<std::string>& fields);

/// The model of a directory with a config.json, of a config.json, or of a file of this project. An
/// hf_quant_config.json in the folder of a config.json is read too. Throws unreadable_file,
/// invalid_config, and for a file of this project malformed_request, unknown_key, missing_key,
/// wrong_type, out_of_range, unknown_name, inconsistent, with the file's name.
found_model read_model(const std::string& path);

/// File content of a model, in lines.
std::string model_file_text(const found_model& found);

/// Copy of a model with changed numbers, "layers=40,kv_heads=4". A name is a field of its file, by
/// its path (layers.count) or alone, which changes it in every layer that has it; `layers` changes
/// the number of layers, each kind in proportion. Throws unknown_key, wrong_type, and the errors of
/// read_model.
found_model changed_model(const found_model& found, std::string_view changes);

}  // namespace napkin
