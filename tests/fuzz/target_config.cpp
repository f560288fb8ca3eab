// config.json as Hugging Face has it.
#include "model_target.hpp"

#include <cstdint>

namespace fuzz {

int input_of_config(const std::uint8_t* data, std::size_t size) {
  static fuzz::input_file file("config.json");
  return fuzz::model_input(file, data, size);
}

}  // namespace fuzz
