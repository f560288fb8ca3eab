// Attention over a prompt and over a KV cache.
#include <perfmodel/workload/operators/attention.hpp>
#include <perfmodel/workload/operators/attention_decode.hpp>

#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

std::vector<key> head_keys() {
  return {count("query_heads", "query heads"),
          count("kv_heads", "heads of keys and values; they divide query_heads"),
          count("head_dim", "width of one head"),
          format_key("format", "of queries and results").otherwise("bf16"),
          format_key("kv_format", "of the KV cache; as format, where not given").optional(),
          weight_copies_key(
              "0: the cache comes from DRAM, as within a model; more: one call is replayed")};
}

template <class Attention, pm::Scalar T>
void read_heads(inputs<T>& in, Attention& a) {
  a.batch = in.number("batch");
  a.query_heads = in.number("query_heads");
  a.kv_heads = in.number("kv_heads");
  a.head_dim = in.number("head_dim");
  a.format = in.format("format");
  a.kv_format = in.has("kv_format") ? in.format("kv_format") : a.format;
}

template <pm::Scalar T, class Attention, class Mode>
outcome<T> answer(inputs<T>& in, const Attention& a, const Mode& mode) {
  const pm::basic_demand<T> d = demand_of(a);
  const pm::basic_estimate<T> e = estimate_of(in.accelerator(), a, d, mode);
  outcome<T> out;
  out.add("time_s", "time", e.time);
  out.add("flop", "work", d.flop());
  out.add("bytes", "DRAM traffic", d.dram.total());
  out.explain(e);
  return out;
}

struct attention_prefill {
  static constexpr const char* name = "attention_prefill";
  static constexpr profile_part part = profile_part::attention;
  static constexpr const char* help =
      "Attention of a prompt over itself, fused (FlashAttention), one layer";
  static std::vector<key> keys() {
    std::vector<key> k = {accelerator_key(), count("batch", "sequences"),
                          count("tokens", "of each prompt")};
    for (key& h : head_keys()) k.push_back(std::move(h));
    k.push_back(
        flag("causal", "a token sees those before it, and not those after").otherwise("true"));
    k.push_back(engine_key());
    return k;
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_attention_prefill<T> a;
    read_heads(in, a);
    a.tokens = in.number("tokens");
    a.causal = in.flag("causal");
    return answer(in, a, mode);
  }
};

struct attention_decode {
  static constexpr const char* name = "attention_decode";
  static constexpr profile_part part = profile_part::attention;
  static constexpr const char* help =
      "Attention of one new token per sequence over its KV cache, one layer";
  static std::vector<key> keys() {
    std::vector<key> k = {accelerator_key(), count("batch", "sequences"),
                          count("context", "tokens of each sequence, the new one included")};
    for (key& h : head_keys()) k.push_back(std::move(h));
    k.push_back(engine_key());
    return k;
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_attention_decode<T> a;
    read_heads(in, a);
    a.context = in.number("context");
    return answer(in, a, mode);
  }
};

}  // namespace

std::vector<query> attention_queries() {
  return {declare<attention_prefill>(), declare<attention_decode>()};
}

}  // namespace napkin
