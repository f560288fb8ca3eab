// The cost of a link is no policy of a pass.
// expect: this is no execution policy, which has .*docs/troubleshooting.md#an-execution-policy
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step.hpp>
namespace pm = perfmodel;
inline constexpr pm::deployment eight{
    .device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_70b, .layout = {.tensor = 8}};

#ifdef MUST_FAIL
inline const auto e = pm::step(eight, pm::iteration{.batch = 1, .context = 1}, pm::alpha_beta{});
#else
inline const auto e = pm::step(eight, pm::iteration{.batch = 1, .context = 1}, pm::derated{});
#endif
