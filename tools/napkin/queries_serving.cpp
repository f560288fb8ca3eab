// A model under load: latencies, how they are distributed, and throughput.
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/text.hpp>

#include "infeasible.hpp"
#include "query.hpp"
#include "service_keys.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct serving {
  static constexpr const char* name = "serving";
  static constexpr bool takes_a_measurement = true;
  static constexpr profile_part part = profile_part::all;
  static constexpr const char* help =
      "Time to first token, inter-token latency and throughput under load. Predictions have "
      "percentiles; goodput counts the requests whose time to first token is within ttft_limit_s, "
      "all or none by the mean inter-token latency, which hardly differs between requests";
  static std::vector<key> keys() {
    std::vector<key> k = {model_key(), accelerator_key()};
    const auto append = [&k](std::vector<key> more) {
      for (key& one : more) k.push_back(std::move(one));
    };
    append(degree_keys());
    k.push_back(
        degree("data_parallel",
               "copies of the model that share the load; attention groups of one copy, where "
               "expert_parallel exceeds tensor_parallel")
            .otherwise("1"));
    append(load_keys());
    k.push_back(
        count("stream_interval", "tokens of an answer that are sent together").otherwise("1"));
    k.push_back(
        number("held_iterations", "that the scheduler lets a request wait, on purpose", 0.0, 1e6)
            .otherwise("0"));
    append(storage_keys());
    append(reservation_keys());
    k.push_back(engine_key());
    append(draft_keys());
    append(pool_keys());
    append(target_keys());
    return k;
  }

  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    return has_pools(in) ? of_pools(in, mode) : of_copies(in, mode);
  }

 private:
  /// Copies of one deployment, each with its share of the load.
  template <pm::Scalar T, class Mode>
  static outcome<T> of_copies(inputs<T>& in, const Mode& mode) {
    using pm::scalar_min;
    const int groups = in.whole("data_parallel");
    const bool spread = in.whole("expert_parallel") > in.whole("tensor_parallel");
    pm::basic_deployment<T> d = deployment_of(in, spread ? groups : 1);
    reserve_memory(in, d);
    const auto drafts = speculation_of(in, d);
    const pm::basic_service_load<T> l = service_load_of(in);
    T copies = T(spread ? 1.0 : static_cast<double>(groups));
    if (l.is_closed()) copies = scalar_min(copies, l.concurrency());  // more: some idle
    const auto share = pm::per_replica(l, copies);
    const auto answered = [&](const auto& serve) {
      const auto s = serve(share);
      outcome<T> out = outcome_of(in, s, copies);
      if constexpr (requires { s.emitted; }) {
        out.add("emitted_tokens", "tokens of a sequence in a round", s.emitted);
      }
      note_sums(out, d, d, share, s.batch, mode);
      add_reservation(out, memory_budget_of(d));
      add_hits(out, d, share);
      add_fetch(out, d, share, serve);
      add_preemptions(out, s, share);
      if constexpr (std::same_as<Mode, bound_mode>) note_left_out(out, in, false);
      out.set(of_all_copies(s.feasible, copies, share, mode, serve));
      add_largest_rate(out, in, share, copies, serve);
      add_overload(out, s, share, copies, T(copies * double(d.layout.ranks())), serve);
      return out;
    };
    if (!drafts) {
      return answered([&](const pm::basic_service_load<T>& x) { return served(mode, d, x); });
    }
    outcome<T> out =
        answered([&](const pm::basic_service_load<T>& x) { return served(mode, d, x, *drafts); });
    note_drafts(out, in);
    if (out.least_itl) *out.least_itl /= drafts->length + 1;  // all drafts accepted
    return out;
  }

  /// Prompts in one pool and answers in another.
  template <pm::Scalar T, class Mode>
  static outcome<T> of_pools(inputs<T>& in, const Mode& mode) {
    const pm::basic_disaggregated<T> d = pools_of(in);
    const pm::basic_service_load<T> l = service_load_of(in);
    const auto serve = [&](const pm::basic_service_load<T>& x) { return served(mode, d, x); };
    const auto s = serve(l);
    outcome<T> out = outcome_of(in, s, T(1.0));
    out.pools = true;
    out.add("transfer_s", "transfer of a prompt's cache", s.transfer);
    out.add("prefill_busy", "prefill pool, share in use", s.prefill_utilisation);
    out.add("transfer_busy", "link, share in use", s.transfer_utilisation);
    out.add("decode_busy", "decode pool, share in use", s.decode_utilisation);
    out.add("balanced_ratio", "replicas that prefill, for one that decodes", s.balanced_ratio);
    note_sums(out, d.decode.deployment, d.prefill.deployment, l, T(s.batch / d.decode.replicas),
              mode);
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

  /// What services of all kinds answer.
  template <pm::Scalar T, class S>
  static outcome<T> outcome_of(inputs<T>& in, const S& s, const T& copies) {
    outcome<T> out;
    add_latencies(out, static_cast<const pm::basic_serving_estimate<T>&>(s));
    const auto throughput = copies * s.throughput;
    out.add("requests_per_s", "requests", throughput);
    if (s.ttft_distribution.size() > 0) {
      out.add("goodput_requests_per_s", "  within the limits",
              share_within(in, static_cast<const pm::basic_serving_estimate<T>&>(s)) * throughput);
    }
    out.add("output_tokens_per_s", "output tokens", copies * s.output_rate);
    out.add("batch", "sequences decoding", copies * s.batch);
    out.explain(s.decode);
    out.prompt_terms = s.prefill.terms;
    note_formats(out, in);
    return out;
  }

  /// Whose kernels sum, where `batch` sequences decode, and where a prompt is computed.
  template <pm::Scalar T, class Mode>
  static void note_sums(outcome<T>& out, const pm::basic_deployment<T>& decodes,
                        const pm::basic_deployment<T>& computes, const pm::basic_service_load<T>& l,
                        const T& batch, const Mode& mode) {
    if constexpr (std::same_as<Mode, pm::calibrated>) {
      out.sums = pm::all_reduce_kind_of(decodes, pm::iteration{.batch = batch, .steady = true}, mode);
      out.prompt_sums = pm::prefill_all_reduce_kind_of(computes, l, mode);
    } else if constexpr (std::same_as<T, double>) {
      const pm::iteration one{.batch = 1.0, .context = l.input_tokens};
      out.least_itl = pm::step_bound(decodes, one).time.value();
    }
  }

  /// What prompts find of what they share.
  template <pm::Scalar T>
  static void add_hits(outcome<T>& out, const pm::basic_deployment<T>& d,
                       const pm::basic_service_load<T>& l) {
    if (l.shared.empty()) return;
    out.add("prefix_hit", "share of a prompt that is found", pm::resolve_prefix_hit(d, l).prefix_hit);
  }

  /// What comes from the host, beside computing the same tokens anew.
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
    out.add("fetch_s", "prefix from the host, a transfer", fetch);
    out.add("recompute_s", "  computed anew, alone", recompute);
    if (mid(fetch.value()) > mid(recompute.value()))
      out.notes.push_back({"host's cache", "computing it anew is quicker than the transfer"});
  }

  /// How often a request is evicted: 0 where all fit, or where the engine keeps room for whole answers.
  template <pm::Scalar T, class S>
  static void add_preemptions(outcome<T>& out, const S& s, const pm::basic_service_load<T>& l) {
    using pm::mid;
    if (!l.preemption_mode || s.ttft_distribution.size() == 0) return;
    out.add("evictions", "evictions of a request", s.preemptions_per_request);
    if (mid(l.output_tokens) < 500.0 || mid(l.output_tokens) > 2000.0)
      out.notes.push_back({"preemption", "the law was checked for answers of 500 to 2000 tokens"});
  }

  /// What was given and says nothing of a bound.
  template <pm::Scalar T>
  static void note_left_out(outcome<T>& out, const inputs<T>& in, bool pools) {
    const std::vector<std::string> all = left_out_of_bound(in.all(), pools);
    if (all.empty()) return;
    out.notes.push_back({"left out of a bound", listed(all, [](const auto& k) { return k; })});
    out.facts["left_out"] = all;
  }

  /// Where there are targets: the most that arrive by chance and meet them. A derivation has no need of it.
  template <pm::Scalar T, class Serve>
  static void add_largest_rate(outcome<T>& out, const inputs<T>& in,
                               const pm::basic_service_load<T>& share, const T& copies,
                               const Serve& serve) {
    if constexpr (std::same_as<T, double>) {
      const auto targets = targets_of(in);
      if (!targets) return;
      const double rate = copies * pm::largest_rate(share, *targets, serve).value();
      out.facts["largest_rate_requests_per_s"] = number_json("largest_rate_requests_per_s", rate);
      std::string text = pm::to_string(rate, pm::exponents_of<pm::request_rate<>>(), 4);
      if (share.preemption_mode) {
        text += ", without evictions, which are of a concurrency";
        out.facts["largest_rate_leaves_out"] = {"preemption"};
      }
      out.notes.push_back({"largest rate within the limits", text});
    }
  }

  /// Adds the largest sustainable rate where requests arrive faster than they are completed.
  template <pm::Scalar T, class S, class Serve>
  static void add_overload(outcome<T>& out, const S& s, const pm::basic_service_load<T>& share,
                           const T& copies, const T& gpus, const Serve& serve) {
    if constexpr (std::same_as<T, double>) {
      if (pm::is_overloaded(s)) note_overload(out, share, copies, gpus, serve);
    }
  }

  template <pm::Scalar T>
  static void note_drafts(outcome<T>& out, const inputs<T>& in) {
    if (in.has("acceptance")) return;
    out.notes.push_back({"acceptance", "0.85, assumed: DeepSeek-V3 reports 0.85 to 0.9"});
    out.facts["acceptance"] = assumed_acceptance;
  }

  /// Without its steps: a percentile is read off a mixture, which has no formula to show.
  template <pm::Scalar T>
  static pm::duration<T> number_of(const pm::duration<T>& t) {
    using pm::mid;
    return pm::duration<T>::from_value(T(mid(t.value())));
  }

  /// Means, and of a prediction percentiles: a bound has no distribution.
  template <pm::Scalar T>
  static void add_latencies(outcome<T>& out, const pm::basic_serving_estimate<T>& s) {
    const bool predicted = s.ttft_distribution.size() > 0;
    out.add("ttft_s", "time to first token", s.ttft);
    if (predicted) {
      out.add("ttft_p50_s", "  p50", number_of(s.ttft_distribution.quantile(0.5)));
      out.add("ttft_p90_s", "  p90", number_of(s.ttft_distribution.quantile(0.9)));
      out.add("ttft_p99_s", "  p99", number_of(s.ttft_distribution.quantile(0.99)));
    }
    out.add("itl_s", "inter-token latency", s.itl);
    if (predicted) {
      out.add("itl_p50_s", "  p50", number_of(s.itl_distribution.quantile(0.5)));
      out.add("itl_p90_s", "  p90", number_of(s.itl_distribution.quantile(0.9)));
      out.add("itl_p99_s", "  p99", number_of(s.itl_distribution.quantile(0.99)));
    }
    out.add("e2e_s", "whole request", s.e2e);
    if (predicted) out.add("e2e_p99_s", "  p99", number_of(s.e2e_quantile(0.99)));
  }

  /// The share of requests within the limits that are given.
  template <pm::Scalar T>
  static double share_within(const inputs<T>& in, const pm::basic_serving_estimate<T>& s) {
    using pm::mid;
    if (in.has("itl_limit_s") && mid(s.itl.value()) > in.plain("itl_limit_s")) return 0.0;
    if (!in.has("ttft_limit_s")) return 1.0;
    if (pm::is_overloaded(s)) return 0.0;
    return s.ttft_distribution.share_within(in.plain("ttft_limit_s") * pm::second);
  }

  /// Where one copy has too many arrivals: those of all copies, and the most that are feasible. A
  /// prediction knows these; of a bound, which has more than one reason, a bisection finds them.
  template <pm::Scalar T, class Mode, class Serve>
  static pm::feasibility of_all_copies(pm::feasibility f, const T& copies,
                                       pm::basic_service_load<T> share, const Mode&,
                                       const Serve& serve) {
    using pm::mid;
    if (f.feasible || std::string_view(f.unit) != "req/s") return f;
    if constexpr (std::same_as<Mode, bound_mode> && std::same_as<T, double>) {
      f.available = pm::largest_rate(share, pm::service_targets{}, serve).value();
    }
    f.needed *= mid(copies);
    f.available *= mid(copies);
    return f;
  }
};

}  // namespace

std::vector<query> serving_queries() {
  return {declare<serving>()};
}

}  // namespace napkin
