// The catalogues, with source and basis of each value.
#pragma once

#include <string>
#include <string_view>

#include "key.hpp"

namespace napkin {

/// `name` empty: all of them; `wide`: all columns. Throws unknown_accelerator or unknown_model.
json accelerators_json(std::string_view name);
std::string accelerators_text(std::string_view name, bool wide);
json models_json(std::string_view name);
std::string models_text(std::string_view name, bool wide);

}  // namespace napkin
