// How much KV cache fits beside the weights, and how many sequences that is.
#include <perfmodel/kv_cache.hpp>
#include <perfmodel/parallelism.hpp>
#include <perfmodel/workload/kv_shape.hpp>

#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// The counts that parallel degrees have to divide.
template <pm::Scalar T>
pm::divisible divisible_of(const pm::basic_transformer<T>& m) {
  const auto whole = [](const T& x) { return static_cast<int>(representative(x)); };
  return {.query_heads = whole(m.attention.query_heads),
          .kv_heads = whole(m.attention.kv_heads),
          .layers = whole(m.layers),
          .experts = highest(m.moe.layers) > 0.0 ? whole(m.moe.experts) : 0};
}

struct kv_capacity {
  static constexpr const char* name = "kv_capacity";
  static constexpr const char* help = "How many blocks, tokens and sequences the KV cache has room for";
  static std::vector<key> keys() {
    return {model_key(),
            text("accelerator", "whose memory it is; not needed beside memory_bytes").optional(),
            degree("tensor_parallel", "ranks that share the model").otherwise("1"),
            format_key("weight_format", "of the linear layers; as the checkpoint, where not given").optional(),
            format_key("kv_format", "of the cache").otherwise("bf16"),
            positive("utilization", "share of the memory that may be used", 1.0).otherwise("1"),
            count("block_size", "tokens in a block").otherwise("16"),
            count("context", "tokens of a sequence; the model's longest, where not given").optional(),
            amount_of_bytes("memory_bytes", "of each GPU, in place of the accelerator's").optional(),
            amount_of_bytes("weight_bytes", "of the whole model, in place of the computed").optional(),
            amount_of_bytes("activation_bytes", "of one forward pass, on each GPU").otherwise("0"),
            amount_of_bytes("runtime_bytes", "context and buffers, on each GPU").otherwise("0")};
  }

  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto& m = in.model();
    const T ranks = in.number("tensor_parallel");
    check(pm::layout{.tensor = in.whole("tensor_parallel")}, divisible_of(m));

    const pm::bytes_per_token<T> per_token = kv_bytes_per_token(m, pm::storage_format(in.format("kv_format")));
    const T copies = named("copies of each KV head", pm::kv_replication(m.attention.kv_heads, ranks));
    const pm::bytes_per_token<T> per_gpu = named("KV bytes per token and GPU", copies * per_token / ranks);

    pm::basic_memory_budget<T> budget;
    budget.capacity = memory(in);
    budget.utilization = in.number("utilization");
    const pm::bytes<T> weights = in.has("weight_bytes") ? in.template amount<pm::bytes<T>>("weight_bytes")
                                                        : weight_bytes(m, in.weights());
    budget.weights = named("weight bytes per GPU", weights / ranks);
    budget.activations = in.template amount<pm::bytes<T>>("activation_bytes");
    budget.runtime = in.template amount<pm::bytes<T>>("runtime_bytes");

    const auto c = pm::kv_capacity(budget, per_gpu, context(in, m), in.number("block_size"));
    outcome<T> out;
    out.add("kv_bytes_per_token", "KV cache of a token", per_token);
    out.add("kv_bytes_available", "free for it, per GPU", c.available);
    out.add("blocks", "blocks", c.blocks);
    out.add("tokens", "tokens", c.tokens);
    out.add("sequences", "sequences", c.sequences);
    out.set(c.feasible);
    return out;
  }

 private:
  template <pm::Scalar T>
  static pm::bytes<T> memory(inputs<T>& in) {
    if (in.has("memory_bytes")) return in.template amount<pm::bytes<T>>("memory_bytes");
    if (!in.has("accelerator")) in.missing("accelerator", "or memory_bytes");
    return in.accelerator().dram.capacity;
  }
  template <pm::Scalar T>
  static T context(inputs<T>& in, const pm::basic_transformer<T>& m) {
    if (in.has("context")) return in.number("context");
    if (!(highest(m.max_context) > 0.0)) in.missing("context", "this model states no longest one");
    return m.max_context;
  }
};

}  // namespace

std::vector<query> memory_queries() { return {declare<kv_capacity>()}; }

}  // namespace napkin
