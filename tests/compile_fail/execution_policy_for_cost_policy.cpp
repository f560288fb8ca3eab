// A policy of a machine does not price collectives.
// expect: this is no cost policy, which has .*docs/troubleshooting.md#a-cost-policy
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/laws/execution.hpp>
#include <perfmodel/parallel/collectives.hpp>
namespace pm = perfmodel;
inline constexpr pm::collective all_reduce{.ranks = 8, .message = pm::message_bytes<>(pm::GB)};

#ifdef MUST_FAIL
inline constexpr auto e =
    pm::collective_time(pm::catalog::h100_sxm.fabric, all_reduce, pm::datasheet{});
#else
inline constexpr auto e =
    pm::collective_time(pm::catalog::h100_sxm.fabric, all_reduce, pm::full_link{});
#endif
