// Named amounts to multiply with: 80 * GB, 3.35 * TB_per_s, 20 * us. GB is 1e9 and GiB is 2^30.
#pragma once

#include <perfmodel/units/quantity.hpp>

namespace perfmodel {

namespace detail {
template <class Q>
constexpr Q amount(double x) {
  return Q::from_value(x);
}
}  // namespace detail

inline constexpr bytes<> byte = detail::amount<bytes<>>(1.0);
inline constexpr bytes<> kB = detail::amount<bytes<>>(1e3);
inline constexpr bytes<> MB = detail::amount<bytes<>>(1e6);
inline constexpr bytes<> GB = detail::amount<bytes<>>(1e9);
inline constexpr bytes<> TB = detail::amount<bytes<>>(1e12);
inline constexpr bytes<> KiB = detail::amount<bytes<>>(1024.0);
inline constexpr bytes<> MiB = detail::amount<bytes<>>(1048576.0);
inline constexpr bytes<> GiB = detail::amount<bytes<>>(1073741824.0);

inline constexpr flops<> flop = detail::amount<flops<>>(1.0);
inline constexpr flops<> GFLOP = detail::amount<flops<>>(1e9);
inline constexpr flops<> TFLOP = detail::amount<flops<>>(1e12);

inline constexpr duration<> second = detail::amount<duration<>>(1.0);
inline constexpr duration<> ms = detail::amount<duration<>>(1e-3);
inline constexpr duration<> us = detail::amount<duration<>>(1e-6);
inline constexpr duration<> ns = detail::amount<duration<>>(1e-9);
inline constexpr duration<> hour = detail::amount<duration<>>(3600.0);

inline constexpr tokens<> token = detail::amount<tokens<>>(1.0);
inline constexpr tokens<> million_tokens = detail::amount<tokens<>>(1e6);
inline constexpr requests<> request = detail::amount<requests<>>(1.0);
inline constexpr money<> usd = detail::amount<money<>>(1.0);
inline constexpr energy<> joule = detail::amount<energy<>>(1.0);
inline constexpr energy<> pJ = detail::amount<energy<>>(1e-12);
inline constexpr power<> watt = detail::amount<power<>>(1.0);

inline constexpr bandwidth<> byte_per_s = detail::amount<bandwidth<>>(1.0);
inline constexpr bandwidth<> GB_per_s = detail::amount<bandwidth<>>(1e9);
inline constexpr bandwidth<> TB_per_s = detail::amount<bandwidth<>>(1e12);
inline constexpr flop_rate<> flop_per_s = detail::amount<flop_rate<>>(1.0);
inline constexpr flop_rate<> GFLOP_per_s = detail::amount<flop_rate<>>(1e9);
inline constexpr flop_rate<> TFLOP_per_s = detail::amount<flop_rate<>>(1e12);
inline constexpr flop_rate<> PFLOP_per_s = detail::amount<flop_rate<>>(1e15);
inline constexpr intensity<> flop_per_byte = detail::amount<intensity<>>(1.0);
inline constexpr frequency<> Hz = detail::amount<frequency<>>(1.0);
inline constexpr frequency<> MHz = detail::amount<frequency<>>(1e6);
inline constexpr frequency<> GHz = detail::amount<frequency<>>(1e9);
inline constexpr token_rate<> token_per_s = detail::amount<token_rate<>>(1.0);
inline constexpr request_rate<> request_per_s = detail::amount<request_rate<>>(1.0);
inline constexpr bytes_per_token<> byte_per_token = detail::amount<bytes_per_token<>>(1.0);
inline constexpr tokens_per_request<> token_per_request = detail::amount<tokens_per_request<>>(1.0);
inline constexpr price<> usd_per_hour = detail::amount<price<>>(1.0 / 3600.0);
inline constexpr money_per_token<> usd_per_million_tokens = detail::amount<money_per_token<>>(1e-6);
inline constexpr energy_per_byte<> pJ_per_byte = detail::amount<energy_per_byte<>>(1e-12);
inline constexpr energy_per_byte<> pJ_per_bit = detail::amount<energy_per_byte<>>(8e-12);
inline constexpr energy_per_flop<> pJ_per_flop = detail::amount<energy_per_flop<>>(1e-12);

}  // namespace perfmodel
