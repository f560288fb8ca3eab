// Tables and JSON of measured runs of a service, and tables of measured products.
#include <cstdint>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>

#include <napkin/measurements.hpp>
#include <napkin/service_runs.hpp>
#include "fuzz.hpp"

namespace fuzz {

int input_of_table(const std::uint8_t* data, std::size_t size) {
  static fuzz::input_file file("runs.csv");
  const std::string& path = file.holding({reinterpret_cast<const char*>(data), size});
  fuzz::one_input([&] { napkin::read_gemm_latencies(path, perfmodel::catalog::h100_sxm, {}); });
  return fuzz::one_input([&] {
    napkin::read_runs({path},
                      {{"model", "llama_3_8b"}, {"engine", "vllm"}, {"tensor_parallel", 1}});
  });
}

}  // namespace fuzz
