// `napkin calibrate`: a table of products, fitted; the profile that it writes is read again.
#include <napkin/calibrate.hpp>
#include <napkin/profile_file.hpp>
#include "fuzz.hpp"

#include <cstdint>

namespace fuzz {

int input_of_calibrate(const std::uint8_t* data, std::size_t size) {
  static fuzz::input_file file("products.csv");
  static fuzz::input_file written("profile.json");
  return fuzz::one_input([&] {
    napkin::calibrate_request request;
    request.accelerator = "h100_sxm";
    request.data = file.holding({reinterpret_cast<const char*>(data), size});
    request.out = written.holding("");
    napkin::calibrate(request);
    napkin::read_profile(request.out);
  });
}

}  // namespace fuzz
