// A model as a file: a directory or config.json of Hugging Face, or the file of our own that
// `napkin models --export` writes.
#pragma once

#include <perfmodel/model/parameters.hpp>
#include <string>

#include "key.hpp"

namespace napkin {

struct found_model {
  perfmodel::transformer model{};
  perfmodel::weight_storage stored{};  ///< how its checkpoint stores the weights; bf16 by default
  std::optional<perfmodel::storage_format>
      kv{};  ///< its scheme for keys and values, where it has one
  std::string source{};
};

/// The model of a directory with a config.json, of a config.json, or of a file of our own. What
/// stands in an hf_quant_config.json beside a config.json counts. Throws unreadable_file,
/// invalid_config, and of a file of our own malformed_request, unknown_key, missing_key, wrong_type,
/// out_of_range, unknown_name, inconsistent, with the file's name.
found_model read_model(const std::string& path);

/// What a file of the model holds, in lines.
std::string model_file_text(const found_model& found);

}  // namespace napkin
