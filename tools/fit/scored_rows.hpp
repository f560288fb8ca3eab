// Every published kernel latency with its prediction: the rows of a score.
#pragma once

#include <cmath>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/roofline.hpp>
#include <string>
#include <vector>

#include "published.hpp"
#include "published_elementwise.hpp"
#include "published_gemm.hpp"

namespace published {

/// One measurement and two predictions of it, all in seconds. `predicted` is by the shipped profile
/// as the benchmark ran it: replayed, with rotating weights. `l2_warm`: a part of the operands may
/// have come from L2, so that it may beat the bound. `fitted`: the profile was fitted to rows of
/// this kind, so this is an error in sample.
struct scored_row {
  std::string operation;  ///< gemm, attention decode, attention prefill, experts, elementwise
  std::string gpu, format, engine, source;
  std::string shape;   ///< "16x8192x8192"; what tells the row from its neighbours
  std::string regime;  ///< launch, memory or compute: see regime_of
  double flop = 0.0, bytes = 0.0;
  double measured = 0.0, predicted = 0.0, bound = 0.0;
  double log_sigma = 0.0;  ///< stated: 80 % of |residual()| lie within z90 times this
  bool l2_warm = false, fitted = false;

  double residual() const { return std::log(measured / predicted); }
  double bound_residual() const { return std::log(measured / bound); }
};

/// Largest part of the predicted time: fixed cost of a call or a thread block (launch), bytes
/// (memory), or arithmetic (compute).
inline const char* regime_of(const pm::estimate& e) {
  double launch = 0.0, memory = 0.0, compute = 0.0;
  for (const pm::term& t : e.terms) {
    switch (t.kind) {
      case pm::limiter::compute:
      case pm::limiter::vector_compute: compute += t.time.value(); break;
      case pm::limiter::memory:
      case pm::limiter::l2:
      case pm::limiter::shared:
      case pm::limiter::link: memory += t.time.value(); break;
      default: launch += t.time.value();
    }
  }
  if (launch >= memory && launch >= compute) return "launch";
  return memory >= compute ? "memory" : "compute";
}

namespace detail {

/// Numbers without decimals, as "16x8192x8192".
template <class... Numbers>
std::string shape_of(double first, Numbers... others) {
  std::string s = std::to_string(std::llround(first));
  ((s += 'x', s += std::to_string(std::llround(others))), ...);
  return s;
}

inline void set_predictions(scored_row& s, const pm::accelerator& a, const pm::demand& d,
                            const pm::estimate& e) {
  s.gpu = a.name.view();
  s.regime = regime_of(e);
  s.flop = d.flop().value();
  s.bytes = d.dram.total().value();
  s.predicted = e.time.value();
  s.bound = roofline(a, d).time.value();
}

/// log_sigma that a prediction of the operator states.
template <class Workload>
double stated_log_sigma(const pm::accelerator& a, const Workload& x,
                        pm::engine e = pm::engine::none) {
  return pm::stated_log_sigma(x, pm::calibrated_for(a, e));
}

}  // namespace detail

inline void add_gemms(std::vector<scored_row>& out, const std::vector<gemm_row>& rows,
                      const char* source, bool fitted) {
  for (const gemm_row& r : rows) {
    const pm::machine_profile profile = pm::catalog::machine_profile_of(*r.device);
    const pm::engine_profile& engine = *pm::catalog::find_engine(r.engine);
    const auto e = pm::calibrated_estimate(*r.device, r.workload, {profile.value, engine},
                                           perfmodel::replay_conditions(r.copies));
    scored_row s;
    s.operation = "gemm";
    s.format = r.dtype;
    s.engine = r.engine;
    s.source = source;
    s.shape = detail::shape_of(r.workload.m, r.workload.n, r.workload.k);
    detail::set_predictions(s, *r.device, demand_of(r.workload), e);
    s.measured = r.seconds;
    s.log_sigma = detail::stated_log_sigma(*r.device, r.workload, *pm::find_engine(r.engine));
    s.l2_warm = r.copies > 0.0 && r.weight_bytes() <= 2.0 * r.device->l2.capacity.value();
    s.fitted = fitted && !r.warmth_unknown();
    out.push_back(std::move(s));
  }
}

inline void add_attention(std::vector<scored_row>& out, const std::vector<attention_row>& rows) {
  for (const attention_row& r : rows) {
    const pm::attention_profile profile = pm::catalog::attention_profile_of(*r.device);
    scored_row s;
    s.operation = r.decode ? "attention decode" : "attention prefill";
    s.format = pm::name_of(r.kv_format);
    s.engine = r.kernels->name.c_str();
    s.source = "AIConfigurator";
    s.shape = detail::shape_of(r.batch, r.length, r.query_heads, r.kv_heads, r.head_dim);
    const pm::demand d =
        r.decode ? demand_of(r.decode_workload()) : demand_of(r.prefill_workload());
    detail::set_predictions(s, *r.device, d,
                            r.estimate(pm::catalog::machine_profile_of(*r.device), profile));
    s.measured = r.seconds;
    s.log_sigma = r.decode ? detail::stated_log_sigma(*r.device, r.decode_workload())
                           : detail::stated_log_sigma(*r.device, r.prefill_workload());
    s.l2_warm = s.bytes <= 2.0 * r.device->l2.capacity.value();
    s.fitted = true;
    out.push_back(std::move(s));
  }
}

inline void add_experts(std::vector<scored_row>& out, const std::vector<moe_row>& rows) {
  for (const moe_row& r : rows) {
    const pm::machine_profile profile = pm::catalog::moe_profile_of(*r.device);
    scored_row s;
    s.operation = "experts";
    s.format = pm::name_of(r.workload.format);
    s.engine = r.kernels->name.c_str();
    s.source = "AIConfigurator";
    s.shape = detail::shape_of(r.workload.tokens, r.workload.hidden, r.workload.intermediate,
                               r.workload.experts, r.workload.top_k, r.workload.tensor_parallel,
                               r.workload.expert_parallel);
    detail::set_predictions(s, *r.device, demand_of(r.workload), r.estimate(profile.value));
    s.measured = r.seconds;
    s.log_sigma = detail::stated_log_sigma(*r.device, r.workload);
    s.l2_warm = s.bytes <= 2.0 * r.device->l2.capacity.value();
    s.fitted = r.fitted;
    out.push_back(std::move(s));
  }
}

inline void add_elementwise(std::vector<scored_row>& out,
                            const std::vector<elementwise_row>& rows) {
  for (const elementwise_row& r : rows) {
    const pm::machine_profile profile = pm::catalog::machine_profile_of(*r.device);
    const pm::demand d = r.demand();
    scored_row s;
    s.operation = "elementwise";
    s.format = pm::name_of(d.format);
    s.engine = r.kernels.name.view();
    s.source = r.source;
    s.shape = r.op;
    s.shape += ' ';
    s.shape += detail::shape_of(d.dram.total().value());
    detail::set_predictions(s, *r.device, d, r.estimate(*r.device, profile.value, r.kernels));
    s.measured = r.seconds;
    s.log_sigma = pm::elementwise_log_sigma;
    s.l2_warm = r.may_be_warm();
    s.fitted = r.fitted();
    out.push_back(std::move(s));
  }
}

/// All rows of the tables in `folder`; a table that is not there adds none.
inline std::vector<scored_row> scored_rows(const std::string& folder) {
  std::vector<scored_row> out;
  add_gemms(out, graph_gemms(folder), "AIConfigurator", true);
  add_gemms(out, layer_gemms(folder), "vidur", false);
  add_attention(out, attention_rows(folder));
  add_experts(out, moe_rows(folder));
  add_elementwise(out, elementwise_rows(folder));
  return out;
}

}  // namespace published
