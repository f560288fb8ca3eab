// Five requests a second are not five tokens a second.
// expect: no matching function for call to 'cost_per_token
#include <perfmodel/laws/energy.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto c = pm::cost_per_token(8.0, 2.5 * pm::usd_per_hour, 5.0 * pm::request_per_s);
#else
inline constexpr auto c = pm::cost_per_token(8.0, 2.5 * pm::usd_per_hour, 5.0 * pm::token_per_s);
#endif
