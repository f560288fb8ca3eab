// The file of an accelerator that `napkin gpus --export` writes.
#include <napkin/accelerator_file.hpp>
#include <napkin/output.hpp>
#include "fuzz.hpp"

#include <cstdint>

namespace fuzz {

int input_of_accelerator(const std::uint8_t* data, std::size_t size) {
  static fuzz::input_file file("accelerator.json");
  return fuzz::one_input([&] {
    const std::string& path = file.holding({reinterpret_cast<const char*>(data), size});
    napkin::accelerator_file_json(*napkin::named_accelerator(path));
    for (
        const char* asked :
        {R"({"query":"gemm","m":64,"n":4096,"k":4096,"format":"bf16"})",
         R"({"query":"attention_decode","batch":8,"context":900,"query_heads":32,"kv_heads":8,"head_dim":128})",
         R"({"query":"step","model":"llama_3_8b","batch":4,"context":900})"}) {
      fuzz::json request = fuzz::json::parse(asked);
      request["accelerator"] = path;
      try {
        const auto answer = napkin::evaluate(napkin::query_of(request), request);
        fuzz::check_answer(napkin::outcome_json(answer, request), asked);
      } catch (const perfmodel::error&) {
      }
    }
  });
}

}  // namespace fuzz
