// KV-cache capacity: blocks, tokens and sequences that fit next to the weights.
#include <cmath>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/speculation.hpp>

#include "deployments.hpp"
#include "query.hpp"
#include "service_keys.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

key accelerator_if_any() {
  key k = accelerator_key().optional();
  k.help = "accelerator; not needed with memory_bytes";
  return k;
}

key draft_key(const char* name, const char* help) {
  return count(name, help, 1.0, 64.0).optional();
}

struct kv_capacity {
  static constexpr const char* name = "kv_capacity";
  static constexpr profile_part part = profile_part::none;
  static constexpr const char* help = "KV-cache capacity in blocks, tokens and sequences";
  static std::vector<key> keys() {
    std::vector<key> k = {
        model_key(),
        accelerator_if_any(),
        degree("tensor_parallel", "tensor-parallel size").otherwise("1"),
        degree("pipeline_parallel", "pipeline-parallel size").otherwise("1"),
        degree("expert_parallel", "expert-parallel size").otherwise("1"),
        redundant_experts_key("redundant_experts"),
        degree(
            "data_parallel",
            "data-parallel attention groups: each has its own cache, and the experts are divided "
            "among all; the GPUs are tensor_parallel x pipeline_parallel x data_parallel")
            .otherwise("1"),
        weight_format_key(),
        format_key("kv_format", "KV-cache format; default: the checkpoint's, else 16 bits")
            .optional(),
        count("block_size", "tokens per block").otherwise("16"),
        count("context", "tokens per sequence; default: the model's maximum").optional(),
        cached_image_keys()[0],
        cached_image_keys()[1],
        amount_of_bytes("memory_bytes", "memory per GPU; default: the accelerator's").optional(),
        amount_of_bytes("weight_bytes", "weights of the whole model; default: computed")
            .optional()};
    for (key& s : shared_keys()) k.push_back(std::move(s));
    for (key& r : reservation_keys()) k.push_back(std::move(r));
    for (key& o : memory_option_keys()) k.push_back(std::move(o));
    k.push_back(
        count("chunk_tokens", "token budget of an engine step; default: the engine's", 1.0, 1e9)
            .optional());
    k.push_back(engine_key());
    k.push_back(draft_key("mtp", "draft tokens per step from the model's own heads"));
    k.push_back(draft_key("draft_length", "draft tokens per step, of n-grams or of draft_model"));
    k.push_back(text("draft_model", "draft model, on the same GPUs").optional());
    k.push_back(engine_version_key());
    k.push_back(prefix_caching_key());
    k.push_back(cuda_graphs_key());
    k.push_back(cuda_graph_tokens_key());
    return k;
  }

  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    pm::basic_deployment<T> d;
    d.model = in.model();
    d.layout = {.tensor = in.whole("tensor_parallel"),
                .pipeline = in.whole("pipeline_parallel"),
                .expert = in.whole("expert_parallel"),
                .data = in.whole("data_parallel"),
                .redundant_experts = in.whole("redundant_experts")};
    require_layout(d.layout, sharded_dims_of(d.model));
    const pm::engine_formats formats = in.formats();
    d.weights = formats.weights;
    d.kv = formats.kv;
    d.device.dram.capacity = memory(in);
    if (in.has("accelerator")) d.device.architecture = in.chip().architecture;
    reserve_memory(in, d);
    read_cached_images(in, d, "context");
    if (in.has("memory_bytes") && !in.has("utilization") && !in.given("engine")) {
      for (const char* k : {"max_sequences", "chunk_tokens"}) {
        if (in.has(k))
          in.missing(
              "engine",
              cat(k,
                  " is part of the engine's memory reservation; memory_bytes alone is all usable"));
      }
      d = all_of_it(d);
    }
    const auto per_token = kv_growth_per_token(d.model, formats.kv);
    const auto short_token = kv_bytes_per_token(d.model, formats.kv);
    const T tokens = context(in, d.model);
    const pm::detail::drafter_memory<T> drafter = drafts_of(in, d, tokens);
    const pm::basic_memory_budget<T> budget = budget_of(in, d, drafter.weights);
    auto c = capacity(in, d, budget, tokens, in.number("block_size"));
    if (in.has("draft_model") || in.has("mtp"))
      pm::detail::share_with_drafter(c, d, pm::detail::sequence_on_device(d, tokens),
                                     drafter.sequence);
    using pm::upper;
    const bool stateless = !(upper(state_bytes(d.model).value()) > 0.0);
    if (!stateless) set_tokens_with_states(in, c, d, tokens, drafter.sequence);
    outcome<T> out;
    out.add("kv_bytes_per_token", "KV cache per token at long context", per_token);
    if (upper(short_token.value()) != upper(per_token.value()))
      out.add("kv_bytes_per_short_token", "KV cache per token within every window", short_token);
    out.add("kv_bytes_available", "KV-cache capacity per GPU", c.available);
    out.add("blocks", "blocks", c.blocks);
    out.add("tokens", "tokens", c.tokens);
    out.add("sequences", "sequences", c.sequences);
    add_reservation(out, budget);
    out.set(c.feasible);
    if constexpr (std::same_as<T, double>) out.conclusion = conclusion_of(d, c.sequences, tokens);
    if (!in.has("weight_bytes")) note_weights(out, in, formats.weights);
    note_context(out, in);
    note_cache_format(out, formats);
    if (in.has("draft_length") && !in.has("draft_model") && stateless) {
      out.notes.push_back({"left out", "draft_length: n-grams need no memory in this model"});
      out.facts["left_out"] = {"draft_length"};
    }
    return out;
  }

 private:
  /// Sets tokens and blocks of a model with recurrent states, which take memory of their own.
  template <pm::Scalar T>
  static void set_tokens_with_states(inputs<T>& in, pm::basic_kv_capacity<T>& c,
                                     const pm::basic_deployment<T>& d, const T& context,
                                     const pm::bytes<T>& drafter) {
    using pm::upper;
    using pm::math::floor;
    const pm::bytes<T> sequence = pm::detail::sequence_on_device(d, context) + drafter;
    const T fitting = pm::detail::tokens_with_states(d, c.available, sequence, context);
    if (!(upper(fitting) < upper(T(c.tokens / pm::token)))) return;
    c.tokens = fitting * pm::token;
    c.blocks = floor(T(fitting / in.number("block_size")));
  }
  /// "Room for 360 sequences of 32000 tokens on 64 GPUs (8 data-parallel groups of 8)."
  static std::string conclusion_of(const pm::deployment& d, double sequences, double context) {
    const auto count = [](double x) { return pm::detail::significant(std::floor(x), 9); };
    const pm::parallel_layout& l = d.layout;
    std::string on = cat(l.ranks(), l.ranks() == 1 ? " GPU" : " GPUs");
    if (l.data > 1) on += cat(" (", l.data, " data-parallel groups of ", l.ranks() / l.data, ")");
    return cat("Room for ", count(sequences), sequences == 1.0 ? " sequence of " : " sequences of ",
               count(context), " tokens on ", on, ".\n");
  }
  template <pm::Scalar T>
  static void note_weights(outcome<T>& out, const inputs<T>& in, const pm::weight_storage& stored) {
    const char* why = in.has("weight_format") ? "given" : "the checkpoint's";
    const auto note = [&](const char* part, const pm::storage_format& s) {
      out.notes.push_back({cat("format of ", part), cat(storage_text(s), ": ", why)});
      out.facts["formats"][part] = {{"weights", storage_text(s)}, {"why", why}};
    };
    note("layers", stored.linear);
    if (experts_of(find_model(in.text("model")).model)) note("experts", stored.experts);
  }
  /// memory_bytes without a utilization and an engine is all usable.
  template <pm::Scalar T>
  static pm::basic_deployment<T> all_of_it(const pm::basic_deployment<T>& d) {
    pm::basic_deployment<T> all = with_all_memory(d);
    if (d.activation_bytes) all.activation_bytes = d.activation_bytes;
    if (d.runtime_bytes) all.runtime_bytes = d.runtime_bytes;
    return all;
  }
  /// Memory of the drafter of a request; sets the number of recurrent states of
  /// a sequence of `d`.
  template <pm::Scalar T>
  static pm::detail::drafter_memory<T> drafts_of(inputs<T>& in, pm::basic_deployment<T>& d,
                                                 const T& context) {
    auto s = detail::drafted_tokens(in, d.model, in.text("model"));
    if (!s) {
      if (in.has("draft_model")) in.missing("draft_length", "draft_model needs draft tokens");
      return {};
    }
    if (in.has("draft_model")) {
      s->by = pm::drafter::model;
      s->draft = detail::drafting(in, d);
    }
    d.states_per_sequence = 1.0 + T(s->length);
    return pm::detail::memory_of_drafter(d, *s, context);
  }
  /// A given weight_bytes is the whole model's: each GPU has its share of a pipeline stage.
  template <pm::Scalar T>
  static pm::basic_memory_budget<T> budget_of(inputs<T>& in, const pm::basic_deployment<T>& d,
                                              const pm::bytes<T>& drafter) {
    if (!in.has("weight_bytes")) {
      using pm::upper;
      if (!(upper(drafter.value()) > 0.0)) return memory_budget_of(d);
      return memory_budget_of(d, pm::bytes<T>(weight_bytes_per_device(d) + drafter));
    }
    const pm::bytes<T> own = in.template amount<pm::bytes<T>>("weight_bytes") /
                             static_cast<double>(d.layout.tensor * d.layout.pipeline);
    return memory_budget_of(d, named("weight bytes per device", pm::bytes<T>(own + drafter)));
  }
  template <pm::Scalar T>
  static pm::basic_kv_capacity<T> capacity(inputs<T>& in, const pm::basic_deployment<T>& d,
                                           const pm::basic_memory_budget<T>& budget,
                                           const T& context, const T& block_size) {
    const pm::basic_prefix_levels<T> shared = shared_of(in);
    if (!shared.empty() || !in.has("weight_bytes")) {
      pm::detail::check_shared(shared, context, "fewer than the context");
      return pm::detail::shared_prefix_capacity(d, budget, shared, context, block_size);
    }
    auto c = pm::kv_capacity(budget, kv_bytes_per_token_and_device(d), context, block_size);
    c.sequences = c.sequences * T(d.layout.data);
    return c;
  }
  template <pm::Scalar T>
  static pm::bytes<T> memory(inputs<T>& in) {
    if (in.has("memory_bytes")) return in.template amount<pm::bytes<T>>("memory_bytes");
    if (!in.has("accelerator")) in.missing("accelerator", "or memory_bytes");
    return in.accelerator().dram.capacity;
  }
  template <pm::Scalar T>
  static T context(inputs<T>& in, const pm::basic_transformer<T>& m) {
    if (in.has("context")) return in.number("context");
    using pm::upper;
    if (!m.max_context) in.missing("context", "this model states no maximum");
    return *m.max_context;
  }
};

}  // namespace

std::vector<query> memory_queries() {
  return {declare<kv_capacity>()};
}

}  // namespace napkin
