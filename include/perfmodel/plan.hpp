// Search over deployments: precision x parallel layout x replicas x batch, and what is worth having.
#pragma once

#include <algorithm>
#include <concepts>
#include <perfmodel/deployment/plan_request.hpp>
#include <string>
#include <vector>

namespace perfmodel {

namespace detail {

inline double expense(const plan_point& p, bool priced) {
  return priced ? p.cost_per_million.value() : p.gpu_time_per_million.value();
}

inline void note_rejection(plan_result& r, const accelerator& a, const precision& f,
                           const layout& l, const feasibility& why) {
  const std::string reason = why.reason;
  const double miss = why.available > 0 ? why.needed / why.available : why.needed;
  for (auto& x : r.rejected) {
    if (x.accelerator == a.name && x.precision == f.name && x.reason == reason) {
      ++x.count;
      const double best = x.available > 0 ? x.needed / x.available : x.needed;
      if (miss < best) {
        x.layout = l;
        x.needed = why.needed;
        x.available = why.available;
      }
      return;
    }
  }
  r.rejected.push_back({a.name, f.name, l, reason, why.unit, why.needed, why.available, 1});
}

inline bool dominates(const plan_point& a, const plan_point& b, bool priced) {
  const double ca = expense(a, priced), cb = expense(b, priced);
  const double ia = a.serving.itl.value(), ib = b.serving.itl.value();
  if (!(ca <= cb && ia <= ib)) return false;
  if (ca < cb || ia < ib) return true;
  return a.serving.ttft.value() < b.serving.ttft.value() ||
         (a.serving.ttft.value() == b.serving.ttft.value() &&
          a.gpus <= b.gpus);  // of equals, the first
}

/// Powers of two up to n. What is tried for n is tried for more than n too, so that more devices are
/// never worse.
inline std::vector<int> powers_up_to(int n) {
  std::vector<int> s;
  for (int i = 1; i <= n; i *= 2) s.push_back(i);
  return s;
}
/// Every count up to 64, then eight in each octave.
inline std::vector<int> counts_up_to(int n) {
  std::vector<int> s;
  for (int i = 1, stride = 1; i <= n; i += stride) {
    s.push_back(i);
    if (i >= 64 && (i & (i - 1)) == 0) stride = i / 8;
  }
  return s;
}
/// Tensor-parallel degrees on a fabric: powers of two, and all of it.
inline std::vector<int> tensor_degrees(int gpus, int fabric) {
  std::vector<int> s = powers_up_to((std::min)(gpus, fabric));
  if (fabric <= gpus && s.back() != fabric) s.push_back(fabric);
  return s;
}

/// Whether the accelerator has every format that a precision multiplies in: linear layers, experts,
/// attention, and the head and router, which stay in the format of `others`.
constexpr bool computes(const accelerator& a, const precision& f) {
  return supports(a, wider(f.activations, f.weights.linear.format)) &&
         supports(a, wider(f.activations, f.weights.experts.format)) &&
         supports(a, wider(f.activations, f.kv.format)) && supports(a, f.weights.others);
}

/// A policy for every accelerator, or what a function of the accelerator gives.
template <class Policy>
constexpr decltype(auto) policy_on(const Policy& policy, const accelerator& a) {
  if constexpr (std::invocable<const Policy&, const accelerator&>) {
    return policy(a);
  } else {
    return (policy);
  }
}

}  // namespace detail

/// Every deployment of the model on up to `gpus` devices of each accelerator: tensor and pipeline
/// degrees in powers of two (and the whole fabric), experts cut by tensor or spread, replicas (every
/// number up to 64), precisions, and batch limits in powers of two up to the load's own. `progress(done)` is called now and then.
/// `policy` and `cost` are those of serving; each may be a function from an accelerator to one.
/// A format that the device cannot compute in, a layout that cannot be, and weights that do not fit
/// are rejections with a reason, never errors. Errors: a request that makes no sense.
/// Tests: no point of the frontier dominates another; every feasible point is dominated by or on it;
/// more devices never make the best dearer at equal targets.
template <class Policy = datasheet, class Progress = void (*)(long), class Cost = full_link>
plan_result plan(
    const plan_request& q, const Policy& policy = {}, Progress progress = [](long) {},
    const Cost& cost = {}) {
  detail::check_request(q);
  plan_result r;
  for (const accelerator& a : q.accelerators) r.all_priced = r.all_priced && a.price.value() > 0.0;
  std::vector<plan_point> met, missed;

  const auto keep = [&](std::vector<plan_point>& front, const plan_point& p) {
    for (const auto& f : front) {
      if (detail::dominates(f, p, r.all_priced)) return;
    }
    std::erase_if(front,
                  [&](const plan_point& f) { return detail::dominates(p, f, r.all_priced); });
    front.push_back(p);
  };

  const auto judge = [&](const deployment& d, const accelerator& a, const precision& f,
                         int replicas) {
    const bool closed = q.load.concurrency > 0.0;
    const double room = kv_capacity(d, q.load.input_tokens + q.load.output_tokens).sequences;
    const double wanted = closed ? (std::max)(1.0, q.load.concurrency / replicas) : room;
    load share = q.load;
    share.concurrency = closed ? wanted : 0.0;
    share.requests_per_s = q.load.requests_per_s / replicas;
    const double allowed = q.load.batch_limit > 0.0 ? q.load.batch_limit : wanted;
    const double largest = (std::max)(1.0, (std::min)({wanted, room, allowed}));
    for (double limit = closed ? 1.0 : largest;; limit = (std::min)(limit * 2.0, largest)) {
      ++r.evaluated;
      if (r.evaluated % 256 == 0) progress(r.evaluated);
      plan_point p{a.name, f,  d.layout, replicas, replicas * d.layout.ranks(), limit, {},
                   {},     {}, {},       true};
      share.batch_limit = limit;
      p.serving = serving(d, share, detail::policy_on(policy, a), detail::policy_on(cost, a));
      if (!p.serving.feasible) {
        detail::note_rejection(r, a, f, d.layout, p.serving.feasible);
      } else {
        ++r.feasible;
        p.output_tokens_per_s = static_cast<double>(replicas) * p.serving.output_tokens_per_s;
        p.gpu_time_per_million = p.gpus * million_tokens / p.output_tokens_per_s;
        if (a.price.value() > 0.0) p.cost_per_million = p.gpu_time_per_million * a.price;
        p.meets_targets = !(q.ttft.value() > 0.0 && p.serving.ttft > q.ttft) &&
                          !(q.itl.value() > 0.0 && p.serving.itl > q.itl);
        keep(p.meets_targets ? met : missed, p);
      }
      if (limit >= largest) break;
    }
  };

  for (const accelerator& a : q.accelerators) {
    const int fabric = a.fabric.exists() ? (std::max)(1, a.fabric.ranks) : 1;
    for (const precision& f : q.precisions) {
      if (!detail::computes(a, f)) {
        detail::note_rejection(
            r, a, f, {}, infeasible("the accelerator does not compute in this format", "", 1, 0));
        continue;
      }
      deployment d{.device = a,
                   .model = q.model,
                   .weights = f.weights,
                   .activations = f.activations,
                   .kv = f.kv,
                   .utilization = q.utilization,
                   .activation_bytes = q.activation_bytes,
                   .runtime_bytes = q.runtime_bytes};
      for (const int tensor : detail::tensor_degrees(q.gpus, fabric)) {
        for (const int pipeline : detail::powers_up_to(q.gpus / tensor)) {
          const bool spreads = tensor > 1 && q.model.moe.layers > 0.0;
          for (const int expert : spreads ? std::vector<int>{1, tensor} : std::vector<int>{1}) {
            d.layout = {.tensor = tensor, .pipeline = pipeline, .expert = expert};
            if (const feasibility cut = layout_feasible(d.layout, sharded_dims_of(q.model)); !cut) {
              detail::note_rejection(r, a, f, d.layout, cut);
              continue;
            }
            if (const feasibility in = fits(d, 1.0, q.load.input_tokens + q.load.output_tokens);
                !in) {
              detail::note_rejection(r, a, f, d.layout, in);
              continue;
            }
            for (const int replicas : detail::counts_up_to(q.gpus / d.layout.ranks())) {
              if (q.load.concurrency > 0.0 && replicas > q.load.concurrency)
                break;  // some would idle
              judge(d, a, f, replicas);
            }
          }
        }
      }
    }
  }
  const auto by_expense = [&](const plan_point& x, const plan_point& y) {
    return detail::expense(x, r.all_priced) < detail::expense(y, r.all_priced);
  };
  r.best = met.empty() ? -1 : 0;
  r.frontier = met.empty() ? std::move(missed) : std::move(met);
  std::sort(r.frontier.begin(), r.frontier.end(), by_expense);
  return r;
}

}  // namespace perfmodel
