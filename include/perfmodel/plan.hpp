// Search over deployments: precision x parallel layout x replicas x batch, and what is worth having.
#pragma once

#include <algorithm>
#include <perfmodel/cost.hpp>
#include <perfmodel/serving.hpp>
#include <string>
#include <vector>

namespace perfmodel {

/// Formats to try together: weights, the operands beside them, and the KV cache.
struct precision {
  label name{};
  weight_storage weights = number_format::bf16;
  number_format activations = number_format::bf16;
  storage_format kv = number_format::bf16;
};

/// The precisions that a plan tries by default. Whether the answers stay good enough is the
/// caller's to judge: nothing here knows about quality.
inline std::vector<precision> common_precisions() {
  const storage_format fp4_blocks(number_format::fp4, 16, 8);     // NVFP4: an FP8 scale per 16
  const storage_format int4_groups(number_format::int4, 128, 16); // GPTQ/AWQ: an FP16 scale per 128
  return {
      {"bf16", number_format::bf16, number_format::bf16, number_format::bf16},
      {"fp16", {number_format::fp16, number_format::fp16}, number_format::fp16, number_format::fp16},
      {"fp8", number_format::fp8, number_format::fp8, number_format::bf16},
      {"fp8 + fp8 KV", number_format::fp8, number_format::fp8, number_format::fp8},
      {"int8", number_format::int8, number_format::int8, number_format::bf16},
      {"int4 weights", int4_groups, number_format::bf16, number_format::bf16},
      {"fp4 + fp8 KV", fp4_blocks, number_format::fp4, number_format::fp8},
  };
}

/// What is asked: serve `load` (of the whole service, not of a replica) on at most `gpus` devices of
/// one of the accelerators, within the targets. A target of 0 is none.
struct plan_request {
  std::vector<accelerator> accelerators{};
  transformer model{};
  int gpus = 8;
  perfmodel::load load{};
  duration<> ttft{};
  duration<> itl{};
  std::vector<precision> precisions = common_precisions();
  double utilization = 0.9;      ///< share of memory an engine may use
  bytes<> activation_bytes{};
  bytes<> runtime_bytes{};
};

struct plan_point {
  label accelerator{};
  perfmodel::precision precision{};
  perfmodel::layout layout{};
  int replicas = 1;
  int gpus = 1;                  ///< in use: replicas x ranks
  double batch_limit = 0;        ///< sequences per replica the scheduler admits
  serving_estimate serving{};    ///< of one replica
  token_rate<> output_tokens_per_s{};    ///< of the whole service
  duration<> gpu_time_per_million{};     ///< device time that a million output tokens take
  money<> cost_per_million{};            ///< 0 where the accelerator has no price
  bool meets_targets = true;
};

/// Deployments left out, by reason: the one that came nearest stands for all of them.
struct plan_rejection {
  label accelerator{};
  label precision{};
  perfmodel::layout layout{};
  std::string reason{};
  const char* unit = "";
  double needed = 0;
  double available = 0;
  long count = 0;
};

/// `frontier` holds the points that no other beats on both inter-token latency and cost, cheapest
/// first; of those within the targets, where any are. `best` indexes the cheapest one, -1 if none
/// meets the targets; `all_priced` says whether cost is money or, where a price is missing, device
/// time.
struct plan_result {
  std::vector<plan_point> frontier{};
  std::vector<plan_rejection> rejected{};
  long evaluated = 0;
  long feasible = 0;
  bool all_priced = true;
  int best = -1;
};

namespace detail {

inline double expense(const plan_point& p, bool priced) {
  return priced ? p.cost_per_million.value() : p.gpu_time_per_million.value();
}

inline void note_rejection(plan_result& r, const accelerator& a, const precision& f, const layout& l,
                           const feasibility& why) {
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
         (a.serving.ttft.value() == b.serving.ttft.value() && a.gpus <= b.gpus);  // of equals, the first
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

inline void check_request(const plan_request& q) {
  if (q.accelerators.empty()) fail(error_code::missing_key, "accelerators: give at least one");
  if (q.precisions.empty()) fail(error_code::missing_key, "precisions: give at least one");
  within("gpus", static_cast<double>(q.gpus), 1.0, 65536.0, "1 to 65536");
  not_negative("batch_limit", q.load.batch_limit);
  not_negative("ttft", q.ttft);
  not_negative("itl", q.itl);
  positive("utilization", q.utilization);
  fraction("utilization", q.utilization);
  count("input_tokens", q.load.input_tokens);
  count("output_tokens", q.load.output_tokens);
  const bool closed = not_negative("concurrency", q.load.concurrency) > 0.0;
  const bool open = not_negative("requests_per_s", q.load.requests_per_s) > 0.0;
  if (closed == open) fail(error_code::inconsistent, "give one of concurrency and requests_per_s, and not both");
  checked(q.model);
}

}  // namespace detail

/// Every deployment of the model on up to `gpus` devices of each accelerator: tensor and pipeline
/// degrees in powers of two (and the whole fabric), experts cut by tensor or spread, replicas (every
/// number up to 64), precisions, and batch limits in powers of two up to the load's own. `progress(done)` is called now and then.
/// A format that the device cannot compute in, a layout that cannot be, and weights that do not fit
/// are rejections with a reason, never errors. Errors: a request that makes no sense.
/// Tests: no point of the frontier dominates another; every feasible point is dominated by or on it;
/// more devices never make the best dearer at equal targets.
template <class Policy = bound, class Progress = void (*)(long)>
plan_result plan(const plan_request& q, const Policy& policy = {}, Progress progress = [](long) {}) {
  detail::check_request(q);
  plan_result r;
  for (const accelerator& a : q.accelerators) r.all_priced = r.all_priced && a.price.value() > 0.0;
  std::vector<plan_point> met, missed;

  const auto keep = [&](std::vector<plan_point>& front, const plan_point& p) {
    for (const auto& f : front) {
      if (detail::dominates(f, p, r.all_priced)) return;
    }
    std::erase_if(front, [&](const plan_point& f) { return detail::dominates(p, f, r.all_priced); });
    front.push_back(p);
  };

  const auto judge = [&](const deployment& d, const accelerator& a, const precision& f, int replicas) {
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
      plan_point p{a.name, f, d.layout, replicas, replicas * d.layout.ranks(), limit, {}, {}, {}, {}, true};
      share.batch_limit = limit;
      p.serving = serving(d, share, policy);
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
        detail::note_rejection(r, a, f, {}, infeasible("the accelerator does not compute in this format", "", 1, 0));
        continue;
      }
      deployment d{.device = a, .model = q.model, .weights = f.weights, .activations = f.activations, .kv = f.kv,
                   .utilization = q.utilization, .activation_bytes = q.activation_bytes,
                   .runtime_bytes = q.runtime_bytes};
      for (const int tensor : detail::tensor_degrees(q.gpus, fabric)) {
        for (const int pipeline : detail::powers_up_to(q.gpus / tensor)) {
          const bool spreads = tensor > 1 && q.model.moe.layers > 0.0;
          for (const int expert : spreads ? std::vector<int>{1, tensor} : std::vector<int>{1}) {
            d.layout = {.tensor = tensor, .pipeline = pipeline, .expert = expert};
            if (const feasibility cut = layout_feasible(d.layout, divisible_parts(q.model)); !cut) {
              detail::note_rejection(r, a, f, d.layout, cut);
              continue;
            }
            if (const feasibility in = fits(d, 1.0, q.load.input_tokens + q.load.output_tokens); !in) {
              detail::note_rejection(r, a, f, d.layout, in);
              continue;
            }
            for (const int replicas : detail::counts_up_to(q.gpus / d.layout.ranks())) {
              if (q.load.concurrency > 0.0 && replicas > q.load.concurrency) break;  // some would idle
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

/// The deployment behind a point, to evaluate or explain it again.
inline deployment deployment_of(const plan_request& q, const plan_point& p) {
  for (const accelerator& a : q.accelerators) {
    if (a.name == p.accelerator) {
      return {.device = a, .model = q.model, .layout = p.layout, .weights = p.precision.weights,
              .activations = p.precision.activations, .kv = p.precision.kv, .utilization = q.utilization,
              .activation_bytes = q.activation_bytes, .runtime_bytes = q.runtime_bytes};
    }
  }
  detail::fail(error_code::unknown_accelerator, "this point is not of this request");
}
/// The share of the load that one replica of a point serves.
inline load load_of(const plan_request& q, const plan_point& p) {
  load share = q.load;
  if (share.concurrency > 0.0) share.concurrency = (std::max)(1.0, share.concurrency / p.replicas);
  share.requests_per_s /= p.replicas;
  share.batch_limit = p.batch_limit;
  return share;
}

}  // namespace perfmodel
