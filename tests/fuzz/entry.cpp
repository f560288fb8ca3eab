// What a fuzzing engine calls, for the one target that FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>

namespace fuzz {
int FUZZ_TARGET(const std::uint8_t* data, std::size_t size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::FUZZ_TARGET(data, size);
}
