// A misspelt field of an argument is named where the argument's type is.
// expect-gcc: has no non-static data member named .batc
// expect-clang: field designator 'batc' does not refer to any field
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/perfmodel.hpp>
namespace pm = perfmodel;
inline constexpr pm::deployment eight{
    .device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_70b, .layout = {.tensor = 8}};
inline const auto calibration = pm::calibrated_for(pm::catalog::h100_sxm, pm::engine::vllm);

#ifdef MUST_FAIL
inline const auto p = pm::predict(eight, pm::iteration{.batc = 1, .context = 1}, calibration);
#else
inline const auto p = pm::predict(eight, pm::iteration{.batch = 1, .context = 1}, calibration);
#endif
