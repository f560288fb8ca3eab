// Properties and memory needs of a model.
#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/step/deployment.hpp>

#include "model_page.hpp"
#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct model {
  static constexpr const char* name = "model";
  static constexpr profile_part part = profile_part::none;
  static constexpr const char* help =
      "Parameters, weights, KV cache and recurrent state of a model; where it fits";
  static std::vector<key> keys() {
    return {
        model_key(),
        weight_format_key(),
        format_key("kv_format", "KV-cache format; default: the checkpoint's, else 16 bits")
            .optional(),
        engine_key(),
        accelerator_key().optional(),
        count(
            "context",
            "tokens per sequence in the capacity table; default: 8Ki, and the model's limit up to "
            "128Ki")
            .optional()};
  }

  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    found_model found = find_model(in.text("model"));
    found.stored = in.weights();
    const pm::basic_transformer<T> m = in.model();
    // Formats of engines on H100; NVFP4 checkpoints on B200, for which they are made.
    const bool nvfp4 = found.stored.experts.group == 16.0 || found.stored.linear.group == 16.0;
    pm::deployment d;
    const bool on_one = in.has("accelerator");
    d.device = on_one ? in.chip() : find_accelerator(nvfp4 ? "b200_sxm" : "h100_sxm");
    d.weights = found.stored;
    d.kv = found.kv;
    d.serving_engine = *pm::find_engine(in.text("engine"));
    if (in.has("kv_format")) d.kv = in.format("kv_format");
    const pm::engine_formats f = formats_of(d);
    const pm::storage_format& kv = f.kv;
    const char* kv_why = in.has("kv_format") ? "given" : f.kv_why;
    const bool routed = experts_of(found.model).has_value();

    outcome<T> out;
    out.add("parameters", "parameters", parameters(m).total());
    out.add("active_parameters", "active parameters per token",
            routed ? matmul_parameters(m) : parameters(m).total());
    out.add("layers", "layers", m.layers.count);
    out.add("weight_bytes", "weights as stored", weight_bytes(m, found.stored));
    out.add("kv_bytes_per_token", "KV cache per token at long context", kv_growth_per_token(m, kv));
    out.add("state_bytes_per_sequence", "recurrent state per sequence", state_bytes(m));
    if (m.max_context) out.add("context_limit", "maximum context", *m.max_context);
    if constexpr (std::same_as<T, double>) {
      if (!m.max_context) out.facts["context_limit"] = nullptr;
      out.facts["active_parameters_with_embedding"] =
          number_json("active_parameters", active_parameters(m));
      const bool most = parameters(m).experts > 0.5 * parameters(m).total();
      out.facts["weight_format"] =
          name_of((most ? found.stored.experts : found.stored.linear).format);
      out.facts["activation_format"] = name_of((most ? f.experts : f.linear).format);
      out.facts["kv_format"] = name_of(kv.format);
      out.facts["why"] = {{"activation_format", (most ? f.experts : f.linear).why},
                          {"kv_format", kv_why}};
      if (!found.draft.empty()) out.facts["draft"] = found.draft;
      model_view view;
      if (on_one) view.on = &in.chip();
      if (in.has("context")) view.context = in.plain("context");
      if (view.context && m.max_context && *view.context > *m.max_context) {
        throw pm::error(
            pm::error_code::out_of_range,
            cat("context is ", pm::detail::number_text(*view.context), "; allowed: at most ",
                pm::detail::number_text(*m.max_context), ", the model's limit"));
      }
      out.facts.update(model_facts(found, kv, view));
      out.page = model_page(found, kv, kv_why, view);
    }
    return out;
  }
};

}  // namespace

std::vector<query> model_queries() {
  return {declare<model>()};
}

}  // namespace napkin
