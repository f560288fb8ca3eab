// Joules: of arithmetic, of every byte at every level, and of time passing.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/operators/demand.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel::inline v0_3 {

/// Energy costs. None has a default: energies are rarely published, so take them from a source or a
/// measurement. All are per byte, independent of the access width.
template <Scalar T = double>
struct basic_energy_costs {
  perfmodel::energy_per_flop<T> matrix{};
  perfmodel::energy_per_flop<T> vector{};
  perfmodel::energy_per_byte<T> dram{};
  perfmodel::energy_per_byte<T> l2{};
  perfmodel::energy_per_byte<T> shared{};
  perfmodel::energy_per_byte<T> link{};
  power<T> idle{};  ///< drawn whatever the device does

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("matrix", s.matrix...);
    f("vector", s.vector...);
    f("dram", s.dram...);
    f("l2", s.l2...);
    f("shared", s.shared...);
    f("link", s.link...);
    f("idle", s.idle...);
  }
};
using energy_costs = basic_energy_costs<>;

/// The per-byte energies that an accelerator's memories state; everything else is 0.
template <Scalar T>
constexpr basic_energy_costs<T> stated_energy_costs(const basic_accelerator<T>& a) {
  basic_energy_costs<T> c;
  c.dram = a.dram.energy_per_byte;
  c.l2 = a.l2.energy_per_byte;
  c.shared = a.shared.energy_per_byte;
  return c;
}

/// Energy costs of an H200 board at 1.98 GHz: what a power cap sees, L2, SMs and regulators
/// included. `matrix` is of bf16; an 8-bit FLOP costs half (assumed).
/// Source: validation/recordings/h200_sxm/energy.json of this project: 126.5 W idle; a stream of
/// 3.84 TB/s 528 W; fp32 FMA 416 W at 60.1 TFLOP/s; bf16 GEMMs 692 W at 673 TFLOP/s, so 0.80
/// pJ/FLOP at 1.40 GHz, which voltage in proportion to the clock makes 1.60 at 1.98 GHz.
inline constexpr energy_costs hopper_board_costs{.matrix = 1.60 * pJ_per_flop,
                                                 .vector = 4.8 * pJ_per_flop,
                                                 .dram = 104.7 * pJ_per_byte,
                                                 .idle = 126.5 * watt};

/// Shares of a GPU's power limit that a running engine draws.
template <Scalar T = double>
struct basic_board_power {
  T idle = T(0.18);    ///< no kernel running: 126.5 of 700 W, an H200 (hopper_board_costs)
  T active = T(0.62);  ///< kernels running, whatever they do
  T dram = T(0.15);    ///< more, at the full DRAM bandwidth
  T matrix = T(0.97);  ///< more, at the full dense matrix rate

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::fraction("idle"), s.idle...);
    f(field::fraction("active"), s.active...);
    f(field::not_negative("dram"), s.dram...);
    f(field::not_negative("matrix"), s.matrix...);
  }
};
using board_power = basic_board_power<>;

/// True where board_power_of applies: a GPU of NVIDIA with a stated power limit.
template <Scalar T>
constexpr bool has_board_power(const basic_accelerator<T>& a) {
  return a.tdp.is_stated() && facts_of(a.architecture).kind == machine_kind::gpu_nvidia;
}

/// Mean power of one GPU that runs an engine:
///   P = TDP min(1, active + dram D / BW + matrix t_c / t)
/// D are DRAM bytes per second, t_c / t is the time of the matrix FLOP at their peak over the time.
/// At the limit the clock falls instead.
/// Source: fitted to 50 runs of vLLM on H100 and B200 that ml-energy/leaderboard 0cd52da measured
/// with NVML (nine models, mean batch 8 to 2,042): power 12 % off in sample, 14 % with a model left
/// out, 15 % with a GPU left out. A constant 0.7 TDP is 16 % off, TDP 32 %.
/// Leaves out: dequantisation on vector units, links, idle time between requests, hosts, cooling.
/// Errors: inconsistent without a stated tdp. Tests: tests/unit/energy.cpp, measured watts.
template <Scalar T>
constexpr power<T> board_power_of(const basic_accelerator<T>& a, const bandwidth<T>& dram,
                                  const std::type_identity_t<T>& matrix_share,
                                  const basic_board_power<std::type_identity_t<T>>& p = {}) {
  const T share = p.active + p.dram * (dram / a.dram.bandwidth.quantity()) +
                  p.matrix * detail::not_negative("matrix_share", matrix_share);
  return named("board power",
               detail::positive("tdp", a.tdp.quantity()) * scalar_min(T(1.0), share));
}

/// Energy of one demand by its parts.
template <Scalar T = double>
struct basic_energy_estimate {
  energy<T> compute{};
  energy<T> dram{};
  energy<T> l2{};
  energy<T> shared{};
  energy<T> link{};
  energy<T> idle{};
  energy<T> total{};
  power<T> mean_power{};
};
using energy_estimate = basic_energy_estimate<>;

/// E = O e_flop + sum over levels of D_l e_l + P_idle t; mean power = E / t. Source: Choi, Bedard,
/// Fowler and Vuduc, "A Roofline Model of Energy", IPDPS 2013. Leaves out that energy per
/// operation rises with clock, voltage and temperature and falls with zeros in the data.
/// Errors: a cost below 0; a time of 0. Tests: the parts add up to the total; 1 s at 3.35 TB/s and
/// 3.9 pJ/bit is 104.5 J; energy is linear in every cost.
template <Scalar T>
constexpr basic_energy_estimate<T> energy_of(const basic_energy_costs<T>& c,
                                             const basic_demand<T>& d, const duration<T>& time) {
  basic_energy_estimate<T> e;
  e.compute = named("compute energy", d.matrix_flop * detail::not_negative("matrix", c.matrix) +
                                          d.vector_flop * detail::not_negative("vector", c.vector));
  e.dram = named("DRAM energy", d.dram.total() * detail::not_negative("dram", c.dram));
  e.l2 = d.l2.total() * detail::not_negative("l2", c.l2);
  e.shared = d.shared.total() * detail::not_negative("shared", c.shared);
  e.link = d.sent * detail::not_negative("link", c.link);
  e.idle =
      named("idle energy", detail::not_negative("idle", c.idle) * detail::positive("time", time));
  e.total = named("energy", e.compute + e.dram + e.l2 + e.shared + e.link + e.idle);
  e.mean_power = named("mean power", e.total / time);
  return e;
}

/// Power of a memory at a bandwidth = bandwidth x energy per byte. Test: 3.35 TB/s at 20 pJ/bit
/// would be 536 W; at 7 pJ/bit it is 187.6 W.
template <Scalar T>
constexpr power<T> memory_power(const perfmodel::bandwidth<T>& bandwidth,
                                const perfmodel::energy_per_byte<T>& cost) {
  return named("memory power",
               detail::not_negative("bandwidth", bandwidth) * detail::not_negative("cost", cost));
}

/// What a power cap leaves of the clock.
template <Scalar T = double>
struct basic_power_cap {
  T clock_share{};  ///< clock / full clock
  perfmodel::feasibility feasible{};
};
using power_cap = basic_power_cap<>;

/// clock / full clock = min(1, ((cap - idle) / dynamic)^(1 / exponent)), with `dynamic` the power
/// above idle at full clock. The exponent is 3 where voltage follows frequency (P = C V^2 f), 1 at
/// fixed voltage; parts lie between. Leaves out the voltage floor and leakage. Errors: exponent
/// outside 1 .. 3. Not feasible, with a share of 0, where the cap is not above idle power. Tests: a
/// cap of idle + dynamic leaves 1; half of dynamic with exponent 3 leaves 0.7937.
template <Scalar T>
constexpr basic_power_cap<T> clock_under_cap(const power<T>& cap, const power<T>& idle,
                                             const power<T>& dynamic,
                                             const std::type_identity_t<T>& exponent) {
  using math::pow;
  detail::positive("cap", cap);
  detail::not_negative("idle", idle);
  detail::positive("dynamic", dynamic);
  detail::within("exponent", exponent, 1.0, 3.0, "1 to 3");
  basic_power_cap<T> r;
  const power<T> left = cap - idle;
  if (!(lower(left.value()) > 0.0)) {
    r.feasible = infeasible("the cap is not above the power drawn at idle", "W",
                            upper(idle.value()), lower(cap.value()));
    return r;
  }
  r.clock_share =
      named("clock share", scalar_min(T(1.0), T(pow(T(left / dynamic), T(1.0) / exponent))));
  return r;
}

// Dollars per token, from a rate and the price of the machines that sustain it.

/// USD per token = gpus x price / token rate. Source: arithmetic. `throughput` is of all gpus
/// together. Leaves out idle hours (divide by utilisation), network, storage and people. Errors:
/// gpus below 1; price below 0; a rate of 0. Test: 4 GPUs at 2.70 USD/h and 533.3 tok/s cost 5.625
/// USD per million tokens.
template <Scalar T>
constexpr money_per_token<T> cost_per_token(const std::type_identity_t<T>& gpus,
                                            const perfmodel::price<T>& price,
                                            const token_rate<T>& throughput) {
  return named("cost per token", detail::count("gpus", gpus) *
                                     detail::not_negative("price", price) /
                                     detail::positive("throughput", throughput));
}

/// Cost per token of a fleet at `utilisation` of its rate: cost / utilisation, 0 < u <= 1.
/// Test: half the utilisation is twice the cost.
template <Scalar T>
constexpr money_per_token<T> cost_per_token(const std::type_identity_t<T>& gpus,
                                            const perfmodel::price<T>& price,
                                            const token_rate<T>& throughput,
                                            const std::type_identity_t<T>& utilisation) {
  detail::positive("utilisation", utilisation);
  detail::fraction("utilisation", utilisation);
  return cost_per_token(gpus, price, token_rate<T>(utilisation * throughput));
}

/// USD for a million, and for a thousand tokens.
/// Test: a thousand costs a thousandth of a million; 0.005625 USD per thousand.
template <Scalar T>
constexpr money<T> cost_per_million_tokens(const std::type_identity_t<T>& gpus,
                                           const perfmodel::price<T>& price,
                                           const token_rate<T>& throughput) {
  return named("cost per million tokens", cost_per_token(gpus, price, throughput) * million_tokens);
}
/// USD per thousand tokens: 1000 x cost_per_token.
template <Scalar T>
constexpr money<T> cost_per_thousand_tokens(const std::type_identity_t<T>& gpus,
                                            const perfmodel::price<T>& price,
                                            const token_rate<T>& throughput) {
  return named("cost per thousand tokens",
               cost_per_token(gpus, price, throughput) * (1000.0 * token));
}

/// The price per GPU that a published cost implies: cost x rate / gpus.
/// Test: 0.12 USD per thousand tokens at 50 tok/s on 8 GPUs is 2.70 USD/h.
template <Scalar T>
constexpr perfmodel::price<T> implied_price(const std::type_identity_t<T>& gpus,
                                            const money_per_token<T>& cost,
                                            const token_rate<T>& throughput) {
  return named("implied price", detail::not_negative("cost", cost) *
                                    detail::positive("throughput", throughput) /
                                    detail::count("gpus", gpus));
}

}  // namespace perfmodel::inline v0_3
