// One engine step of a whole model.
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/step.hpp>

#include "deployments.hpp"
#include "prepared_step.hpp"
#include "query.hpp"
#include "summary.hpp"

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
    for (key& x : cached_image_keys()) k.push_back(std::move(x));
    k.push_back(engine_key());
    k.push_back(engine_version_key());
    return k;
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    const pm::basic_deployment<T> d = step_deployment_of(in);
    const pm::basic_iteration<T> i = iteration_of(in);
    const pm::basic_estimate<T> e = step_in(mode, d, i);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.explain(e);
    note_work(in, out, d, i);
    if constexpr (requires { mode.notes; }) add_energy(out, d, i, e);
    if constexpr (std::same_as<Mode, pm::calibrated>) out.sums = pm::all_reduce_kind_of(d, i, mode);
    note_formats(out, in);
    note_version<std::same_as<Mode, pm::calibrated>>(out, in, d);
    return out;
  }

 private:
  /// A release decides the all-reduce kernels of SGLang, and of no engine a time or a bound else.
  template <bool has_kernels, pm::Scalar T>
  static void note_version(outcome<T>& out, const inputs<T>& in, const pm::basic_deployment<T>& d) {
    if (!in.wants_texts() || !in.given("engine_version")) return;
    if (has_kernels && d.serving_engine == pm::engine::sglang) return;
    out.notes.push_back({"not used by a step", "engine_version"});
    out.facts["left_out"] = {"engine_version"};
  }
  /// Power of a GPU, and the energy of all GPUs per token of the step.
  template <pm::Scalar T>
  static void add_energy(outcome<T>& out, const pm::basic_deployment<T>& d,
                         const pm::basic_iteration<T>& i, const pm::basic_estimate<T>& e) {
    if (!e.feasible.feasible || !pm::has_board_power(d.device)) return;
    const pm::power<T> each = pm::power_of_step(d, i, e.time);
    const T tokens = i.batch * i.tokens_per_sequence + i.prefill_tokens;
    out.add("power_w", "power of one GPU", each);
    out.add("joules_per_token", "joules per token, all GPUs",
            T(double(d.layout.ranks()) * each * e.time / (tokens * pm::lift<T>(pm::joule))));
  }
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

namespace {

/// The request with the smallest step in place of the keys of each call.
json with_any_step(json object) {
  if (!object.is_object())
    throw error(code::malformed_request, "a request is a JSON object, not " + brief(object));
  if (!object.contains("query")) object["query"] = "step";
  if (std::string_view(query_of(object).name) != "step")
    throw error(code::unknown_query,
                cat("query is ", brief(object["query"]), "; allowed: \"step\""));
  object = with_key_names(std::move(object));
  for (const char* name : {"batch", "context", "prefill_tokens", "measured_s"}) {
    if (object.contains(name))
      throw error(error_code::inconsistent,
                  cat(name, " is in the request of a prepared step; allowed: in each call"));
  }
  for (const char* name : {"batch", "context", "prefill_tokens"}) object[name] = 1;
  return object;
}

double checked_count(const char* name, double x) {
  const key k = count(name, "", 0.0);
  if (!k.range.holds(x))
    throw error(error_code::out_of_range, cat(name, " is ", x, "; allowed: ", k.allowed()));
  return x;
}

}  // namespace

prepared_step::prepared_step(json object)
    : object_(with_any_step(std::move(object))), request_(find_query("step"), object_) {
  inputs<double> in(request_);
  deployment_ = step_deployment_of(in);
  iteration_ = iteration_of(in);
  image_patches_ = in.plain("image_patches");
  const auto c = calibration_of_request(request_.asked(), request_, mode_in(object_));
  if (c) calibration_ = calibration_over(*c, in);
}

std::optional<double> prepared_step::operator()(double batch, double context,
                                                double prefill_tokens) const {
  pm::iteration i = iteration_;
  i.batch = checked_count("batch", batch);
  i.context = batch > 0.0 ? checked_count("context", context) : 1.0;
  i.prefill_tokens = checked_count("prefill_tokens", prefill_tokens);
  const auto time_of = [&](const pm::deployment& d) -> std::optional<double> {
    const auto e = calibration_ ? pm::step(d, i, *calibration_) : pm::step_bound(d, i);
    if (!e.feasible.feasible) return {};
    return e.time.value();
  };
  if (!(image_patches_ > 0.0)) return time_of(deployment_);
  if (!(prefill_tokens > 0.0))
    throw error(error_code::inconsistent,
                cat("image_patches is ", image_patches_,
                    ", and prefill_tokens is 0; allowed: a step with prefill"));
  pm::deployment d = deployment_;
  d.encoder_rows = image_patches_ / prefill_tokens;
  return time_of(d);
}

}  // namespace napkin
