// The same amounts as literals: 80_GB, 3.35_TB_per_s, 20_us.
#pragma once

#include <perfmodel/units/constants.hpp>

namespace perfmodel::literals {

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

}  // namespace perfmodel::literals
