// A profile that `napkin calibrate` writes, and what is answered by it.
#include <napkin/output.hpp>
#include <napkin/profile_file.hpp>
#include "fuzz.hpp"

#include <cstdint>

namespace fuzz {

int input_of_profile(const std::uint8_t* data, std::size_t size) {
  static fuzz::input_file file("profile.json");
  return fuzz::one_input([&] {
    const auto profile =
        napkin::read_profile(file.holding({reinterpret_cast<const char*>(data), size}));
    for (
        const char* asked :
        {R"({"query":"gemm","accelerator":"h100_sxm","m":64,"n":4096,"k":4096,"format":"bf16"})",
         R"({"query":"step","accelerator":"h100_sxm","model":"llama_3_8b","batch":4,"context":900})"}) {
      const fuzz::json request = fuzz::json::parse(asked);
      try {
        const auto answer = napkin::evaluate(napkin::query_of(request), request, profile.get());
        fuzz::check_answer(napkin::outcome_json(answer, request), asked);
      } catch (const perfmodel::error&) {
      }
    }
  });
}

}  // namespace fuzz
