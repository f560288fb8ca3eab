// Named amounts to multiply with: 80 * GB, 3.35 * TB_per_s, 20 * us. GB is 1e9 and GiB is 2^30.
#pragma once

#include <perfmodel/units/quantity.hpp>

namespace perfmodel::inline v0_3 {

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

}  // namespace perfmodel::inline v0_3

// Literals of these amounts: 80_GB, 3.35_TB_per_s, 20_us.

namespace perfmodel::inline v0_3::literals {

#define PERFMODEL_LITERAL(suffix, constant)                 \
  consteval auto operator""##suffix(long double x) {        \
    return static_cast<double>(x) * constant;               \
  }                                                         \
  consteval auto operator""##suffix(unsigned long long x) { \
    return static_cast<double>(x) * constant;               \
  }

PERFMODEL_LITERAL(_B, byte)
PERFMODEL_LITERAL(_kB, kB)
PERFMODEL_LITERAL(_MB, MB)
PERFMODEL_LITERAL(_GB, GB)
PERFMODEL_LITERAL(_TB, TB)
PERFMODEL_LITERAL(_KiB, KiB)
PERFMODEL_LITERAL(_MiB, MiB)
PERFMODEL_LITERAL(_GiB, GiB)
PERFMODEL_LITERAL(_FLOP, flop)
PERFMODEL_LITERAL(_GFLOP, GFLOP)
PERFMODEL_LITERAL(_TFLOP, TFLOP)
PERFMODEL_LITERAL(_s, second)
PERFMODEL_LITERAL(_ms, ms)
PERFMODEL_LITERAL(_us, us)
PERFMODEL_LITERAL(_ns, ns)
PERFMODEL_LITERAL(_h, hour)
PERFMODEL_LITERAL(_tok, token)
PERFMODEL_LITERAL(_Mtok, million_tokens)
PERFMODEL_LITERAL(_req, request)
PERFMODEL_LITERAL(_USD, usd)
PERFMODEL_LITERAL(_J, joule)
PERFMODEL_LITERAL(_pJ, pJ)
PERFMODEL_LITERAL(_W, watt)
PERFMODEL_LITERAL(_B_per_s, byte_per_s)
PERFMODEL_LITERAL(_GB_per_s, GB_per_s)
PERFMODEL_LITERAL(_TB_per_s, TB_per_s)
PERFMODEL_LITERAL(_FLOP_per_s, flop_per_s)
PERFMODEL_LITERAL(_GFLOP_per_s, GFLOP_per_s)
PERFMODEL_LITERAL(_TFLOP_per_s, TFLOP_per_s)
PERFMODEL_LITERAL(_PFLOP_per_s, PFLOP_per_s)
PERFMODEL_LITERAL(_FLOP_per_B, flop_per_byte)
PERFMODEL_LITERAL(_Hz, Hz)
PERFMODEL_LITERAL(_GHz, GHz)
PERFMODEL_LITERAL(_MHz, MHz)
PERFMODEL_LITERAL(_tok_per_s, token_per_s)
PERFMODEL_LITERAL(_req_per_s, request_per_s)
PERFMODEL_LITERAL(_B_per_tok, byte_per_token)
PERFMODEL_LITERAL(_tok_per_req, token_per_request)
PERFMODEL_LITERAL(_USD_per_h, usd_per_hour)
PERFMODEL_LITERAL(_USD_per_Mtok, usd_per_million_tokens)
PERFMODEL_LITERAL(_pJ_per_B, pJ_per_byte)
PERFMODEL_LITERAL(_pJ_per_bit, pJ_per_bit)
PERFMODEL_LITERAL(_pJ_per_FLOP, pJ_per_flop)

#undef PERFMODEL_LITERAL

}  // namespace perfmodel::inline v0_3::literals
