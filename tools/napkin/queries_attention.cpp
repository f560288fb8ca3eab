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

  /// The keys of one kind, before and after those that both have.
  static std::vector<key> attention_keys(std::vector<field_help> help,
                                         const field_help& last = {}) {
    for (const field_help& h : {field_help{"query_heads", "query heads"},
                                {"kv_heads", "heads of keys and values; they divide query_heads"},
                                {"head_dim", "width of one head"},
                                {"format", "of queries and results"},
                                {"kv_format", "of the KV cache; as format, where not given"},
                                last}) {
      help.push_back(h);
    }
    return operator_query<Attention>::keys_of(
        help, {weight_copies_key("0: the cache comes from DRAM, as within a model; more: one call "
                                 "is replayed"),
               engine_key()});
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    Attention<T> a = read_operator<Attention>(in);
    if (!in.has("kv_format")) a.kv_format = a.format;
    return kernel_answer(in, a, mode);
  }
};

struct attention_prefill : attention_query<pm::basic_attention_prefill> {
  static constexpr const char* name = "attention_prefill";
  static constexpr const char* help =
      "Attention of a prompt over itself, fused (FlashAttention), one layer";
  static std::vector<key> keys() {
    return attention_keys({{"batch", "sequences"}, {"tokens", "of each prompt"}},
                          {"causal", "a token sees those before it, and not those after"});
  }
};

struct attention_decode : attention_query<pm::basic_attention_decode> {
  static constexpr const char* name = "attention_decode";
  static constexpr const char* help =
      "Attention of one new token per sequence over its KV cache, one layer";
  static std::vector<key> keys() {
    return attention_keys(
        {{"batch", "sequences"}, {"context", "tokens of each sequence, the new one included"}});
  }
};

}  // namespace

std::vector<query> attention_queries() {
  return {declare<attention_prefill>(), declare<attention_decode>()};
}

}  // namespace napkin
