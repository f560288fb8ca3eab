// A model under load: latencies, how they are distributed, and throughput.
#include <perfmodel/serving.hpp>

#include "deployments.hpp"
#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct serving {
  static constexpr const char* name = "serving";
  static constexpr profile_part part = profile_part::all;
  static constexpr const char* help =
      "Time to first token, inter-token latency and throughput under load. Predictions have "
      "percentiles; goodput counts the requests whose time to first token is within ttft_limit_s, "
      "all or none by the mean inter-token latency, which hardly differs between requests";
  static std::vector<key> keys() {
    std::vector<key> k = {model_key(), accelerator_key()};
    for (key& d : degree_keys()) k.push_back(std::move(d));
    k.push_back(
        degree("data_parallel",
               "copies of the model that share the load; attention groups of one copy, where "
               "expert_parallel exceeds tensor_parallel")
            .otherwise("1"));
    for (key& l : load_keys()) k.push_back(std::move(l));
    for (key& f : storage_keys()) k.push_back(std::move(f));
    for (key& r : reservation_keys()) k.push_back(std::move(r));
    k.push_back(engine_key());
    k.push_back(time_limit("ttft_limit_s", "longest time to first token, for goodput").optional());
    k.push_back(time_limit("itl_limit_s", "longest inter-token latency, for goodput").optional());
    return k;
  }

  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    using pm::scalar_min;
    const int groups = in.whole("data_parallel");
    const bool spread = in.whole("expert_parallel") > in.whole("tensor_parallel");
    pm::basic_deployment<T> d = deployment_of(in, spread ? groups : 1);
    reserve_memory(in, d);
    if (!in.has("concurrency") && !in.has("requests_per_s")) {
      in.missing("concurrency", "or requests_per_s");
    }
    const pm::basic_service_load<T> l = load_of(in);
    T copies = T(spread ? 1.0 : static_cast<double>(groups));
    if (l.is_closed()) copies = scalar_min(copies, l.concurrency());  // more: some idle
    const pm::basic_service_load<T> share = pm::shared_out(l, copies);
    const auto s = service_of(d, share, mode);
    outcome<T> out;
    add_latencies(out, s);
    const auto throughput = copies * s.throughput;
    out.add("requests_per_s", "requests", throughput);
    if (s.first_token.size() > 0) {
      out.add("goodput_requests_per_s", "  within the limits", share_within(in, s) * throughput);
    }
    out.add("output_tokens_per_s", "output tokens", copies * s.output_rate);
    out.add("batch", "sequences decoding", copies * s.batch);
    add_reservation(out, memory_budget_of(d));
    out.explain(s.decode);
    out.prompt_terms = s.prefill.terms;
    out.set(s.feasible);
    if constexpr (std::same_as<T, double>) {  // a derivation has no need of it
      out.set(of_all_copies(s.feasible, copies, [&](double rate) {
        pm::service_load slower = share;
        std::get<pm::open_loop>(slower.arrivals).rate = rate * pm::request_per_s;
        return service_of(d, slower, mode).feasible.feasible;
      }));
    }
    note_formats(out, in);
    return out;
  }

 private:
  template <pm::Scalar T, class Mode>
  static pm::basic_serving_estimate<T> service_of(const pm::basic_deployment<T>& d,
                                                  const pm::basic_service_load<T>& l,
                                                  const Mode& mode) {
    if constexpr (std::same_as<Mode, bound_mode>) {
      return pm::serving_bound(d, l);
    } else {
      return pm::serving(d, l, mode);
    }
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
    const bool predicted = s.first_token.size() > 0;
    out.add("ttft_s", "time to first token", s.ttft);
    if (predicted) {
      out.add("ttft_p50_s", "  p50", number_of(s.first_token.quantile(0.5)));
      out.add("ttft_p90_s", "  p90", number_of(s.first_token.quantile(0.9)));
      out.add("ttft_p99_s", "  p99", number_of(s.first_token.quantile(0.99)));
    }
    out.add("itl_s", "inter-token latency", s.itl);
    if (predicted) {
      out.add("itl_p50_s", "  p50", number_of(s.gap.quantile(0.5)));
      out.add("itl_p90_s", "  p90", number_of(s.gap.quantile(0.9)));
      out.add("itl_p99_s", "  p99", number_of(s.gap.quantile(0.99)));
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
    return s.first_token.share_within(in.plain("ttft_limit_s") * pm::second);
  }

  /// Where one copy has too many arrivals: those of all copies, and the most that are feasible, which
  /// a bisection finds by serves(rate of a copy).
  template <class Serves>
  static pm::feasibility of_all_copies(pm::feasibility f, double copies, const Serves& serves) {
    if (f.feasible || std::string_view(f.unit) != "req/s") return f;
    double low = 0.0, high = f.needed;
    for (int i = 0; i < 20; ++i) {
      const double middle = 0.5 * (low + high);
      (serves(middle) ? low : high) = middle;
    }
    f.needed *= copies;
    f.available = low * copies;
    return f;
  }
};

}  // namespace

std::vector<query> serving_queries() {
  return {declare<serving>()};
}

}  // namespace napkin
