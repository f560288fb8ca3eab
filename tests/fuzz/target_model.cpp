// The file of a model that `napkin models --export` writes.
#include "model_target.hpp"

#include <cstdint>

namespace fuzz {

int input_of_model(const std::uint8_t* data, std::size_t size) {
  static fuzz::input_file file("model.json");
  return fuzz::model_input(file, data, size);
}

}  // namespace fuzz
