// One pass of a whole model on its accelerators.
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/step.hpp>

#include "deployments.hpp"
#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct step {
  static constexpr const char* name = "step";
  static constexpr bool takes_a_measurement = true;
  static constexpr profile_part part = profile_part::all;
  static constexpr const char* help =
      "One iteration of a model: decode, prefill, or both in one pass";
  static std::vector<key> keys() {
    std::vector<key> k = {model_key(), accelerator_key()};
    for (key& d : degree_keys()) k.push_back(std::move(d));
    k.push_back(count("batch", "sequences that decode", 0.0));
    k.push_back(count("context",
                      "tokens in the KV cache of each decoding sequence; not needed with batch 0")
                    .optional());
    k.push_back(count("prefill_tokens", "prompt tokens in the same pass", 0.0).otherwise("0"));
    k.push_back(count("tokens_per_sequence",
                      "of each that decodes: k + 1 where k drafted ones are verified; 1, where "
                      "not given")
                    .optional());
    for (key& f : storage_keys()) k.push_back(std::move(f));
    k.push_back(engine_key());
    return k;
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_deployment<T> d = deployment_of(in);
    d.serving_engine = *pm::find_engine(in.text("engine"));
    const pm::basic_iteration<T> i = iteration_of(in);
    const auto e = [&] {
      if constexpr (std::same_as<Mode, bound_mode>) {
        return pm::step_bound(d, i);
      } else {
        return pm::step(d, i, mode);
      }
    }();
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.explain(e);
    note_work(in, out, d, i);
    if constexpr (std::same_as<Mode, pm::calibrated>) out.sums = pm::all_reduce_kind_of(d, i, mode);
    note_formats(out, in);
    return out;
  }

 private:
  /// The work of one GPU in a step, where a request has a measurement: its matrix FLOP, and the
  /// bytes of weights and KV cache that a step cannot leave out.
  template <pm::Scalar T>
  static void note_work(const inputs<T>& in, outcome<T>& out, const pm::basic_deployment<T>& d,
                        const pm::basic_iteration<T>& i) {
    if constexpr (std::same_as<T, double>) {
      if (!in.has("measured_s")) return;
      const pm::step_demand s = pm::demand_of_step(d, i);
      const pm::bandwidth<> dram = (s.weights + s.cache) / pm::second;
      out.work = {.flop = s.matrix_flop / pm::second,
                  .dram = dram,
                  .mfu = s.compute / pm::second,
                  .mbu = dram / d.device.dram.bandwidth.quantity()};
    }
  }
};

}  // namespace

std::vector<query> step_queries() {
  return {declare<step>()};
}

}  // namespace napkin
