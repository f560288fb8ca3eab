// Both directions of a link added up are no bandwidth to divide a message by.
// expect-gcc: could not convert.*convention::two_way
// expect-clang: no viable conversion from.*two_way_bandwidth
#include <perfmodel/hardware/interconnect.hpp>
namespace pm = perfmodel;

inline constexpr pm::two_way_bandwidth<> sheet(900.0 * pm::GB_per_s);

#ifdef MUST_FAIL
inline constexpr pm::interconnect nvlink{
    .kind = pm::link_kind::nvlink, .bandwidth = sheet, .ranks = 8};
#else
inline constexpr pm::interconnect nvlink{
    .kind = pm::link_kind::nvlink, .bandwidth = pm::one_way(sheet), .ranks = 8};
#endif
