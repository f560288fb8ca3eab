// A constant expression over no ranks stops the build, at the field.
// expect-gcc: in .constexpr. expansion of .*"ranks"
// expect: out_of_range
// expect: "ranks"
#include <perfmodel/parallel/collectives.hpp>
namespace pm = perfmodel;

inline constexpr pm::interconnect nvlink{
    .kind = pm::link_kind::nvlink, .bandwidth = 450.0 * pm::GB_per_s, .ranks = 8};

#ifdef MUST_FAIL
inline constexpr auto e = pm::collective_time(nvlink, pm::collective{.ranks = 0});
#else
inline constexpr auto e = pm::collective_time(nvlink, pm::collective{.ranks = 1});
#endif
