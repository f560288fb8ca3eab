// Dollars per token, from a rate and the price of the machines that sustain it.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel {

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

/// The same for a fleet that serves `utilisation` of what it could: cost / utilisation, 0 < u <= 1.
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

/// The token rate that meets a target cost: gpus x price / cost.
/// Test: 2 USD per million tokens on 4 GPUs at 2.70 USD/h needs 1,500 tok/s.
template <Scalar T>
constexpr token_rate<T> rate_for_cost(const std::type_identity_t<T>& gpus,
                                      const perfmodel::price<T>& price,
                                      const money_per_token<T>& cost) {
  return named("rate for cost", detail::count("gpus", gpus) * detail::not_negative("price", price) /
                                    detail::positive("cost", cost));
}

}  // namespace perfmodel
