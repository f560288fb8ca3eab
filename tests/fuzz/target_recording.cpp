// A recording of a kernel program (validation/recording/README.md). Its reader has errors of its own.
#include "fuzz.hpp"
#include "recording/read_recording.hpp"

#include <cstdint>

namespace fuzz {

int input_of_recording(const std::uint8_t* data, std::size_t size) {
  static fuzz::input_file file("recording.json");
  return fuzz::one_input([&] {
    const std::string& path = file.holding({reinterpret_cast<const char*>(data), size});
    try {
      perfmodel::validation::read_recording(path);
    } catch (const perfmodel::validation::recording_error& e) {
      throw perfmodel::error(perfmodel::error_code::inconsistent, e.what());
    }
  });
}

}  // namespace fuzz
