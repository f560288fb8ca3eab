// One engine step of a whole model.
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
      "Time of one engine step (forward pass): decode, prefill, or both in one batch";
  static std::vector<key> keys() {
    std::vector<key> k = {model_key(), accelerator_key()};
    for (key& d : degree_keys()) k.push_back(std::move(d));
    k.push_back(count("batch", "decoding sequences", 0.0));
    k.push_back(
        count("context", "KV-cache tokens of each decoding sequence; not needed with batch 0")
            .optional());
    k.push_back(count("prefill_tokens", "prefill tokens in the same step", 0.0).otherwise("0"));
    k.push_back(count("tokens_per_sequence",
                      "tokens per decoding sequence: k + 1 to verify k draft tokens; default 1")
                    .optional());
    for (key& f : storage_keys()) k.push_back(std::move(f));
    for (key& o : engine_option_keys()) k.push_back(std::move(o));
    k.push_back(count("image_patches",
                      "image patches that the encoder computes for the prefill tokens", 0.0)
                    .otherwise("0"));
    k.push_back(engine_key());
    return k;
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    const pm::basic_deployment<T> d = step_deployment_of(in);
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
  /// Work of one GPU in a measured step: its matrix FLOP, and the bytes of weights and KV cache
  /// that every step reads.
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
