// A model under load, in steady state.
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
      "Time to first token, inter-token latency and throughput under load";
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
    const auto s = service_of(d, pm::shared_out(l, copies), mode);
    outcome<T> out;
    out.add("ttft_s", "time to first token", s.ttft);
    out.add("itl_s", "inter-token latency", s.itl);
    out.add("output_tokens_per_s", "output tokens", copies * s.output_rate);
    out.add("batch", "sequences decoding", copies * s.batch);
    add_reservation(out, memory_budget_of(d));
    out.explain(s.decode);
    out.set(s.feasible);
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
};

}  // namespace

std::vector<query> serving_queries() {
  return {declare<serving>()};
}

}  // namespace napkin
