// Serving: latencies under load, their distributions, and throughput.
#pragma once

#include <algorithm>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/text.hpp>

#include "infeasible.hpp"
#include "published_workloads.hpp"
#include "query.hpp"
#include "service_keys.hpp"

namespace napkin {

namespace queries {

namespace pm = perfmodel;

/// The query `serving`. Its results over each scalar and mode are compiled in sources of their own:
/// compilers take 1.1 GB for all of them.
struct serving {
  static constexpr const char* name = "serving";
  static constexpr bool takes_a_measurement = true;
  static constexpr profile_part part = profile_part::all;
  static constexpr const char* help =
      "Mean TTFT, ITL and throughput of a model under load. A calibrated prediction also has "
      "percentiles (TTFT and E2E over requests, ITL over tokens). Goodput is the rate of requests "
      "within ttft_limit_s, and 0 if "
      "the mean ITL exceeds itl_limit_s.";
  static std::vector<key> keys();

  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode);
  /// Least TTFT, ITL and E2E of the bound; none of pools and of speculative decoding, where they
  /// need the whole bound.
  static std::optional<outcome<>> stated_bounds(inputs<double>& in);

 private:
  /// The page's module has no pools and no speculative decoding of a service.
  template <pm::Scalar T>
  static void require_plain_replicas(const inputs<T>& in) {
    if (!has_pools(in) && !detail::any_given(in, {"draft_length", "mtp", "acceptance"})) return;
    throw error(code::unknown_key,
                "this module has no disaggregated pools and no speculative decoding of a service");
  }

  template <pm::Scalar T>
  static auto drafts_of(inputs<T>& in, const pm::basic_deployment<T>& d) {
    if constexpr (is_page_module)
      return std::optional<pm::basic_speculation<T>>();
    else
      return speculation_of(in, d);
  }

  template <pm::Scalar T>
  static pm::basic_deployment<T> replica_of(inputs<T>& in, const replica_count& n) {
    return shared_deployment(in, [&] {
      pm::basic_deployment<T> made = deployment_of(in, n.groups);
      reserve_memory(in, made);
      return made;
    });
  }
  /// Replicas that serve a load: with fewer requests than replicas, some are idle.
  template <pm::Scalar T>
  static T busy_replicas(const replica_count& n, const pm::basic_service_load<T>& l) {
    using pm::scalar_min;
    const T all = T(n.replicas);
    return l.is_closed() ? scalar_min(all, l.concurrency()) : all;
  }

  /// Replicas of one deployment, each with its share of the load.
  template <pm::Scalar T, class Mode>
  static outcome<T> of_replicas(inputs<T>& in, const Mode& mode) {
    const replica_count n = replicas_of(in);
    const pm::basic_deployment<T> d = replica_of(in, n);
    const auto drafts = drafts_of(in, d);
    const pm::basic_service_load<T> l = service_load_of(in);
    const T replicas = busy_replicas(n, l);
    const auto share = pm::per_replica(l, replicas);
    const auto answered = [&](const auto& serve) {
      const auto s = serve(share);
      outcome<T> out = outcome_of(in, s, replicas);
      if constexpr (requires { s.emitted; }) {
        out.add("emitted_tokens", "tokens per sequence and speculation round", s.emitted);
      }
      if (n.counts_data) {
        out.notes.push_back({"data_parallel",
                             "counted as replicas: no expert parallelism across "
                             "its groups"});
      }
      note_sums(out, d, d, share, s.batch, mode);
      note_least(out, s, share);
      note_workload(out, in);
      if constexpr (requires { mode.notes; }) add_energy(out, d, share, s);
      add_reservation(out, memory_budget_of(d));
      add_hits(out, d, share);
      add_fetch(out, d, share, serve);
      add_preemptions(out, s, share);
      if constexpr (std::same_as<Mode, bound_mode>) note_left_out(out, in, false);
      out.set(of_all_replicas(s.feasible, replicas, share, mode, serve));
      add_largest_rate(out, in, share, replicas, serve);
      add_overload(out, s, share, replicas, T(replicas * double(d.layout.ranks())), serve);
      return out;
    };
    const auto without_drafts = [&](const pm::basic_service_load<T>& x) {
      return served(mode, d, x);
    };
    if constexpr (is_page_module) {
      return answered(without_drafts);
    } else {
      if (!drafts) return answered(without_drafts);
      outcome<T> out =
          answered([&](const pm::basic_service_load<T>& x) { return served(mode, d, x, *drafts); });
      note_speculation(out, in);
      if (out.least_itl) {
        *out.least_itl /= drafts->length + 1;  // all drafts accepted
        note_least_request(out, share);
      }
      return out;
    }
  }

  /// Disaggregated prefill and decode pools.
  template <pm::Scalar T, class Mode>
  static outcome<T> of_pools(inputs<T>& in, const Mode& mode) {
    const pm::basic_disaggregated<T> d = pools_of(in);
    const pm::basic_service_load<T> l = service_load_of(in);
    const auto serve = [&](const pm::basic_service_load<T>& x) { return served(mode, d, x); };
    const auto s = serve(l);
    outcome<T> out = outcome_of(in, s, T(1.0));
    out.pools = true;
    out.add("transfer_s", "KV-cache transfer of a prompt", s.transfer);
    out.add("prefill_busy", "prefill pool utilization", s.prefill_utilisation);
    out.add("transfer_busy", "link utilization", s.transfer_utilisation);
    out.add("decode_busy", "decode pool utilization", s.decode_utilisation);
    out.add("balanced_ratio", "prefill replicas per decode replica (balanced)", s.balanced_ratio);
    note_sums(out, d.decode.deployment, d.prefill.deployment, l, T(s.batch / d.decode.replicas),
              mode);
    note_least(out, s, l);
    note_workload(out, in);
    add_reservation(out, memory_budget_of(d.decode.deployment));
    add_hits(out, d.prefill.deployment, l);
    note_link(out, in, d);
    out.notes.push_back({"busiest", name_of(stage_of(s))});
    out.facts["binding"] = name_of(stage_of(s));
    if constexpr (std::same_as<Mode, bound_mode>) note_left_out(out, in, true);
    out.set(s.feasible);
    add_largest_rate(out, in, l, T(1.0), serve);
    add_overload(out, s, l, T(1.0), d.devices(), serve);
    return out;
  }

  template <pm::Scalar T>
  static pm::service_stage stage_of(const pm::basic_disaggregated_estimate<T>& s) {
    return s.binding;
  }

  template <class Mode, class D, class... More>
  static auto served(const Mode& mode, const D& d, const More&... more) {
    if constexpr (std::same_as<Mode, bound_mode>) {
      return pm::serving_bound(d, more...);
    } else {
      return pm::serving(d, more..., mode);
    }
  }

  /// Results of all kinds of services.
  template <pm::Scalar T, class S>
  static outcome<T> outcome_of(inputs<T>& in, const S& s, const T& replicas) {
    outcome<T> out;
    add_latencies(out, static_cast<const pm::basic_serving_estimate<T>&>(s));
    const auto throughput = replicas * s.throughput;
    out.add("requests_per_s", "requests", throughput);
    if (s.ttft_distribution.size() > 0) {
      out.add("goodput_requests_per_s", "  goodput within the limits",
              share_within(in, static_cast<const pm::basic_serving_estimate<T>&>(s)) * throughput);
    }
    out.add("output_tokens_per_s", "output throughput", replicas * s.output_rate);
    out.add("batch", "running requests (decode batch)", replicas * s.batch);
    out.explain(s.decode);
    out.prefill_terms = s.prefill.terms;
    out.has_itl = in.plain("output_tokens") > 1.0;
    note_formats(out, in);
    return out;
  }

  /// Power of a GPU, and the energy of all GPUs per output token.
  template <pm::Scalar T>
  static void add_energy(outcome<T>& out, const pm::basic_deployment<T>& d,
                         const pm::basic_service_load<T>& l,
                         const pm::basic_serving_estimate<T>& s) {
    using pm::lower;
    if (!s.feasible.feasible || !pm::has_board_power(d.device)) return;
    if (!(lower(s.output_rate.value()) > 0.0)) return;
    const auto hits = pm::resolve_prefix_hit(d, l);
    const pm::power<T> each = pm::power_of_service(d, hits, s);
    out.add("power_w", "power of one GPU", each);
    out.add("joules_per_output_token", "joules per output token, all GPUs",
            pm::joules_per_output_token(d, s, each));
  }

  /// Engine of the collectives, for the decode batch and for prefill.
  template <pm::Scalar T, class Mode>
  static void note_sums(outcome<T>& out, const pm::basic_deployment<T>& decodes,
                        const pm::basic_deployment<T>& computes, const pm::basic_service_load<T>& l,
                        const T& batch, const Mode& mode) {
    if constexpr (std::same_as<Mode, pm::calibrated>) {
      out.sums =
          pm::all_reduce_kind_of(decodes, pm::iteration{.batch = batch, .steady = true}, mode);
      out.prefill_collectives = pm::prefill_all_reduce_kind_of(computes, l, mode);
    } else if constexpr (std::same_as<T, double>) {
      out.least_itl = pm::step_bound(decodes, lone_decode(l)).time.value();
    }
  }

  /// Decode step of one sequence.
  static pm::iteration lone_decode(const pm::service_load& l) {
    return {.batch = 1.0, .context = l.input_tokens};
  }
  /// Least TTFT (one unloaded prefill) and, with the least ITL, of a whole request.
  template <pm::Scalar T, class S>
  static void note_least(outcome<T>& out, const S& s, const pm::basic_service_load<T>& l) {
    if constexpr (std::same_as<T, double>) {
      if (!out.least_itl) return;
      out.least_ttft = s.prefill.time.value();
      note_least_request(out, l);
    }
  }
  template <pm::Scalar T>
  static void note_least_request(outcome<T>& out, const pm::basic_service_load<T>& l) {
    if constexpr (std::same_as<T, double>)
      out.least_e2e = *out.least_ttft + std::max(0.0, l.output_tokens - 1.0) * *out.least_itl;
  }

  /// Prefix-cache hits of shared prefixes.
  template <pm::Scalar T>
  static void add_hits(outcome<T>& out, const pm::basic_deployment<T>& d,
                       const pm::basic_service_load<T>& l) {
    if (l.shared.empty()) return;
    out.add("prefix_hit", "prefix-cache hit rate", pm::resolve_prefix_hit(d, l).prefix_hit);
  }

  /// Fetch of a cached prefix from the host, compared with recomputing it.
  template <pm::Scalar T, class Serve>
  static void add_fetch(outcome<T>& out, const pm::basic_deployment<T>& d,
                        const pm::basic_service_load<T>& l, const Serve& serve) {
    using pm::mid;
    if (!l.host || (!(mid(l.host->hit) > 0.0) && !l.host->memory)) return;
    pm::basic_service_load<T> anew = pm::resolve_prefix_hit(d, l);
    const auto fetch = pm::prefix_fetch_of(d, anew).transfer_time;
    const auto cached = serve(anew).prefill.time;
    anew.prefix_hit -= anew.host->hit;
    anew.host.reset();
    anew.shared = {};
    const auto recompute = serve(anew).prefill.time - cached;
    out.add("fetch_s", "prefix fetch from host memory", fetch);
    out.add("recompute_s", "  recomputation (unloaded)", recompute);
    if (mid(fetch.value()) > mid(recompute.value()))
      out.notes.push_back({"host cache", "recomputation is faster than the fetch"});
  }

  /// Preemptions per request: 0 where all sequences fit, or where the engine reserves whole
  /// outputs.
  template <pm::Scalar T, class S>
  static void add_preemptions(outcome<T>& out, const S& s, const pm::basic_service_load<T>& l) {
    using pm::mid;
    if (!l.preemption_mode || s.ttft_distribution.size() == 0) return;
    out.add("evictions", "preemptions per request", s.preemptions_per_request);
    if (mid(l.output_tokens) < 500.0 || mid(l.output_tokens) > 2000.0)
      out.notes.push_back({"preemption", "checked against outputs of 500 to 2000 tokens"});
  }

  /// Given keys that a bound does not use.
  template <pm::Scalar T>
  static void note_left_out(outcome<T>& out, const inputs<T>& in, bool pools) {
    if (!in.wants_texts()) return;
    const std::vector<std::string> all = left_out_of_bound(in.all(), pools);
    if (all.empty()) return;
    out.notes.push_back({"not used by a bound", listed(all, [](const auto& k) { return k; })});
    out.facts["left_out"] = all;
  }

  /// Largest Poisson arrival rate within the targets; not part of a derivation.
  template <pm::Scalar T, class Serve>
  static void add_largest_rate(outcome<T>& out, const inputs<T>& in,
                               const pm::basic_service_load<T>& share, const T& replicas,
                               const Serve& serve) {
    if constexpr (std::same_as<T, double>) {
      const auto targets = targets_of(in);
      if (!targets) return;
      const double rate = replicas * pm::largest_rate(share, *targets, serve).value();
      out.facts["largest_rate_requests_per_s"] = number_json("largest_rate_requests_per_s", rate);
      std::string text = pm::to_string(rate, pm::exponents_of<pm::request_rate<>>(), 4);
      if (share.preemption_mode) {
        text += ", without preemption, which is modelled at a concurrency only";
        out.facts["largest_rate_leaves_out"] = {"preemption"};
      }
      out.notes.push_back({"largest rate within the limits", text + ", by the closed form"});
    }
  }

  /// Adds the largest sustainable rate of an overloaded service.
  template <pm::Scalar T, class S, class Serve>
  static void add_overload(outcome<T>& out, const S& s, const pm::basic_service_load<T>& share,
                           const T& replicas, const T& gpus, const Serve& serve) {
    if constexpr (std::same_as<T, double>) {
      if (pm::is_overloaded(s)) note_overload(out, share, replicas, gpus, serve);
    }
  }

  template <pm::Scalar T>
  static void note_workload(outcome<T>& out, const inputs<T>& in) {
    if (!in.wants_texts() || !in.has("workload")) return;
    out.notes.push_back({"workload", find_workload(in.text("workload")).source});
  }

  template <pm::Scalar T>
  static void note_speculation(outcome<T>& out, const inputs<T>& in) {
    if (in.has("acceptance")) return;
    out.notes.push_back({"acceptance", "0.85 (assumed; DeepSeek-V3 reports 0.85 to 0.9)"});
    out.facts["acceptance"] = assumed_acceptance;
  }

  /// Adds a percentile without derivation steps: a quantile of a mixture has no closed formula.
  template <pm::Scalar T>
  static pm::duration<T> number_of(const pm::duration<T>& t) {
    using pm::mid;
    return pm::duration<T>::from_value(T(mid(t.value())));
  }

  /// Means, and percentiles of a prediction; a bound has no distribution.
  template <pm::Scalar T>
  static void add_latencies(outcome<T>& out, const pm::basic_serving_estimate<T>& s) {
    const bool predicted = s.ttft_distribution.size() > 0;
    out.add("ttft_s", "TTFT (mean)", s.ttft);
    if (predicted) {
      out.add("ttft_p50_s", "  p50", number_of(s.ttft_distribution.quantile(0.5)));
      out.add("ttft_p90_s", "  p90", number_of(s.ttft_distribution.quantile(0.9)));
      out.add("ttft_p99_s", "  p99", number_of(s.ttft_distribution.quantile(0.99)));
    }
    out.add("itl_s", "ITL (mean)", s.itl);
    if (predicted) {
      out.add("itl_p50_s", "  p50", number_of(s.itl_distribution.quantile(0.5)));
      out.add("itl_p90_s", "  p90", number_of(s.itl_distribution.quantile(0.9)));
      out.add("itl_p99_s", "  p99", number_of(s.itl_distribution.quantile(0.99)));
    }
    out.add("e2e_s", "end-to-end latency (mean)", s.e2e);
    if (predicted) out.add("e2e_p99_s", "  p99", number_of(s.e2e_quantile(0.99)));
  }

  /// Share of requests within the given limits.
  template <pm::Scalar T>
  static double share_within(const inputs<T>& in, const pm::basic_serving_estimate<T>& s) {
    using pm::mid;
    if (in.has("itl_limit_s") && mid(s.itl.value()) > in.plain("itl_limit_s")) return 0.0;
    if (!in.has("ttft_limit_s")) return 1.0;
    if (pm::is_overloaded(s)) return 0.0;
    return s.ttft_distribution.share_within(in.plain("ttft_limit_s") * pm::second);
  }

  /// Arrivals of all replicas and the largest feasible rate, where one replica is overloaded.
  /// Predictions state it; for a bound a bisection finds it.
  template <pm::Scalar T, class Mode, class Serve>
  static pm::feasibility of_all_replicas(pm::feasibility f, const T& replicas,
                                         pm::basic_service_load<T> share, const Mode&,
                                         const Serve& serve) {
    using pm::mid;
    if (f.feasible || std::string_view(f.unit) != "req/s") return f;
    if constexpr (std::same_as<Mode, bound_mode> && std::same_as<T, double>) {
      f.available = pm::largest_rate(share, pm::service_targets{}, serve).value();
    }
    f.needed *= mid(replicas);
    f.available *= mid(replicas);
    return f;
  }
};

template <pm::Scalar T, class Mode>
outcome<T> serving::run(inputs<T>& in, const Mode& mode) {
  if constexpr (is_page_module) {
    require_plain_replicas(in);
    return of_replicas(in, mode);
  } else {
    return has_pools(in) ? of_pools(in, mode) : of_replicas(in, mode);
  }
}

extern template outcome<> serving::run(inputs<double>&, const bound_mode&);
extern template outcome<pm::traced> serving::run(inputs<pm::traced>&, const bound_mode&);
extern template outcome<pm::traced> serving::run(inputs<pm::traced>&,
                                                 const pm::basic_calibrated<pm::traced>&);

}  // namespace queries

}  // namespace napkin
