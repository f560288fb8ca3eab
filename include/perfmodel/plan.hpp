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
  return priced ? p.cost_per_million->value() : p.gpu_time_per_million.value();
}

inline void note_rejection(plan_result& r, const accelerator& a, const plan_precision& f,
                           const parallel_layout& l, const feasibility& why) {
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
constexpr bool computes(const accelerator& a, const plan_precision& f) {
  return supports(a, wider(f.activations, f.weights.linear.format)) &&
         supports(a,
                  wider(f.expert_activations.value_or(f.activations), f.weights.experts.format)) &&
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

/// The points that no other dominates.
class pareto_front {
 public:
  void add(const plan_point& p, bool priced) {
    for (const auto& f : points) {
      if (dominates(f, p, priced)) return;
    }
    std::erase_if(points, [&](const plan_point& f) { return dominates(p, f, priced); });
    points.push_back(p);
  }
  std::vector<plan_point> points{};
};

/// A search over the deployments of a request: serve(deployment, load) says what one replica does.
template <class Progress>
class plan_search {
 public:
  plan_search(const plan_request& q, Progress& progress) : q_(q), progress_(progress) {
    for (const accelerator& a : q.accelerators) r_.all_priced &= a.price.is_stated();
  }

  template <class Serve>
  void on(const accelerator& a, const Serve& serve) {
    for (const plan_precision& f : q_.precisions) {
      if (computes(a, f)) {
        with(a, f, serve);
      } else {
        note_rejection(r_, a, f, {},
                       infeasible("the accelerator does not compute in this format", "", 1, 0));
      }
    }
  }

  plan_result ranked() {
    if (!met_.points.empty()) r_.best = 0;
    r_.frontier = std::move(r_.best ? met_.points : missed_.points);
    std::sort(r_.frontier.begin(), r_.frontier.end(),
              [&](const plan_point& x, const plan_point& y) {
                return expense(x, r_.all_priced) < expense(y, r_.all_priced);
              });
    return std::move(r_);
  }

 private:
  template <class Serve>
  void with(const accelerator& a, const plan_precision& f, const Serve& serve) {
    const int fabric = a.fabric.exists() ? (std::max)(1, a.fabric.ranks) : 1;
    for (const int tensor : tensor_degrees(q_.gpus, fabric)) {
      for (const int pipeline : powers_up_to(q_.gpus / tensor)) {
        const bool spreads = tensor > 1 && experts_of(q_.model).has_value();
        for (const int expert : spreads ? std::vector<int>{1, tensor} : std::vector<int>{1}) {
          laid_out(a, f, {.tensor = tensor, .pipeline = pipeline, .expert = expert}, serve);
        }
      }
    }
  }

  template <class Serve>
  void laid_out(const accelerator& a, const plan_precision& f, const parallel_layout& l,
                const Serve& serve) {
    const deployment d = deployment_of(q_, a, f, l);
    const double longest = q_.load.input_tokens + q_.load.output_tokens;
    if (const feasibility in = fits(d, 1.0, longest); !in) {
      note_rejection(r_, a, f, l, in);
      return;
    }
    check_deployment(d);
    const double room = kv_capacity(d, longest).sequences;
    for (const int replicas : counts_up_to(q_.gpus / l.ranks())) {
      if (q_.load.is_closed() && replicas > q_.load.concurrency()) break;  // some would idle
      judge(d, f, replicas, room, serve);
    }
  }

  /// Batch limits in powers of two, up to what one replica has of the load and of memory.
  template <class Serve>
  void judge(const deployment& d, const plan_precision& f, int replicas, double room,
             const Serve& serve) {
    service_load share = shared_out(q_.load, replicas);
    const double wanted = share.is_closed() ? share.concurrency() : room;
    const double largest =
        (std::max)(1.0, (std::min)({wanted, room, q_.load.batch_limit.value_or(wanted)}));
    for (double limit = share.is_closed() ? 1.0 : largest;;
         limit = (std::min)(limit * 2.0, largest)) {
      if (++r_.evaluated % 256 == 0) progress_(r_.evaluated);
      share.batch_limit = limit;
      note(d, f, replicas, limit, serve(d, share));
      if (limit >= largest) break;
    }
  }

  void note(const deployment& d, const plan_precision& f, int replicas, double limit,
            const serving_estimate& s) {
    if (!s.feasible) {
      note_rejection(r_, d.device, f, d.layout, s.feasible);
      return;
    }
    ++r_.feasible;
    plan_point p{d.device.name, f, d.layout, replicas, replicas * d.layout.ranks(), limit, s};
    p.output_rate = static_cast<double>(replicas) * s.output_rate;
    p.gpu_time_per_million = p.gpus * million_tokens / p.output_rate;
    if (d.device.price.is_stated()) p.cost_per_million = p.gpu_time_per_million * d.device.price;
    p.meets_targets = !(q_.ttft && s.ttft > *q_.ttft) && !(q_.itl && s.itl > *q_.itl);
    (p.meets_targets ? met_ : missed_).add(p, r_.all_priced);
  }

  const plan_request& q_;
  Progress& progress_;
  plan_result r_{};
  pareto_front met_{}, missed_{};
};

struct no_progress {
  void operator()(long) const {}
};

}  // namespace detail

/// Every deployment of the model on up to `gpus` devices of each accelerator, at its bound: tensor and
/// pipeline degrees in powers of two (and the whole fabric), experts cut by tensor or spread, replicas
/// (every number up to 64), precisions, and batch limits in powers of two up to the load's own.
/// `progress(done)` is called now and then. A format that the device cannot compute in, a layout that
/// cannot be, and weights that do not fit are rejections with a reason, never errors.
/// Errors: a request that makes no sense.
/// Tests: no point of the frontier dominates another; every feasible point is dominated by or on it;
/// more devices never make the best dearer at equal targets.
template <class Progress = detail::no_progress>
plan_result plan_bound(const plan_request& q, Progress progress = {}) {
  detail::check_request(q);
  detail::plan_search<Progress> search(q, progress);
  for (const accelerator& a : q.accelerators) {
    search.on(a, [](const deployment& d, const service_load& l) {
      return detail::bound_of_service(d, l, full_link{});
    });
  }
  return search.ranked();
}

/// The same with every deployment predicted, as serving does: `policy` is one for all accelerators,
/// or a function from an accelerator to its policy, such as its calibration; so is `links`.
template <class Policy, class Links, class Progress>
plan_result plan(const plan_request& q, const Policy& policy, const Links& links,
                 Progress progress) {
  detail::check_request(q);
  detail::plan_search<Progress> search(q, progress);
  for (const accelerator& a : q.accelerators) {
    const auto& kernels = detail::policy_on(policy, a);
    const auto& wires = detail::policy_on(links, a);
    search.on(a, [&](const deployment& d, const service_load& l) {
      return detail::prediction_of_service(d, l, kernels, wires);
    });
  }
  return search.ranked();
}
template <class Policy, class Progress = detail::no_progress>
plan_result plan(const plan_request& q, const Policy& policy, Progress progress = {}) {
  detail::check_request(q);
  detail::plan_search<Progress> search(q, progress);
  for (const accelerator& a : q.accelerators) {
    const auto& silicon = detail::policy_on(policy, a);
    const auto& links = detail::links_of<double>(silicon);
    search.on(a, [&](const deployment& d, const service_load& l) {
      return detail::prediction_of_service(d, l, silicon, links);
    });
  }
  return search.ranked();
}
/// Say which: plan_bound(request), or plan(request, policy).
plan_result plan(const plan_request& q) = delete;

}  // namespace perfmodel
