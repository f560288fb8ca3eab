// Attention over a prompt and over a KV cache.
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>

#include "operator_query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

template <template <class> class Attention>
struct attention_query : operator_query<Attention> {
  static constexpr profile_part part = profile_part::attention;

  /// Keys of one kind, around the keys of both.
  static std::vector<key> attention_keys(std::vector<field_help> help,
                                         const field_help& last = {}) {
    for (const field_help& h : {field_help{"query_heads", "query heads"},
                                {"kv_heads", "KV heads; query_heads is a multiple of them"},
                                {"head_dim", "head dimension"},
                                {"format", "format of queries and outputs"},
                                {"kv_format", "KV-cache format; default: format"},
                                last}) {
      help.push_back(h);
    }
    return operator_query<Attention>::keys_of(
        help, {weight_copies_key("0: the KV cache is read from DRAM, as in a model; more: buffers "
                                 "that a replayed call reads in turn"),
               engine_key()});
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    Attention<T> a = read_operator<Attention>(in);
    if (!in.has("kv_format")) a.kv_format = a.format;
    return kernel_outcome(in, a, mode);
  }
};

struct attention_prefill : attention_query<pm::basic_attention_prefill> {
  static constexpr const char* name = "attention_prefill";
  static constexpr const char* help = "Prefill attention, fused (FlashAttention), one layer";
  static std::vector<key> keys() {
    return attention_keys({{"batch", "sequences"}, {"tokens", "tokens per prompt"}},
                          {"causal", "causal mask"});
  }
};

struct attention_decode : attention_query<pm::basic_attention_decode> {
  static constexpr const char* name = "attention_decode";
  static constexpr const char* help =
      "Decode attention of one new token per sequence over its KV cache, one layer";
  static std::vector<key> keys() {
    return attention_keys(
        {{"batch", "sequences"}, {"context", "tokens per sequence, the new one included"}});
  }
};

}  // namespace

std::vector<query> attention_queries() {
  return {declare<attention_prefill>(), declare<attention_decode>()};
}

}  // namespace napkin
