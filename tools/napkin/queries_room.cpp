// Bytes, money and energy: caches, what fits, what is wasted, what fusion saves, what it costs.
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/roofline.hpp>

#include "law_query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Bytes of one token in the cache of all layers.
template <pm::Scalar T>
pm::bytes_per_token<T> cache_of_a_token(inputs<T>& in) {
  return pm::bytes_per_token<T>(
      2.0 * in.number("layers") * in.number("kv_heads") * in.number("head_dim") *
      pm::lift<T>(bytes_of(in.format("kv_format"))) / pm::lift<T>(pm::token));
}

struct kv_cache : law_query {
  static constexpr const char* name = "kv_cache";
  static constexpr const char* help = "Bytes of a KV cache, from the shape of attention";
  static std::vector<key> keys() {
    return {count("layers", "that attend"),
            count("kv_heads", "heads of keys and values"),
            count("head_dim", "width of one"),
            format_key("kv_format", "of the cache").otherwise("bf16"),
            number("tokens", "of one sequence", 1.0, 1e12),
            number("sequences", "that have so many", 1.0, 1e9).otherwise("1"),
            positive("ranks", "that share the heads", 1e6).otherwise("1"),
            positive_amount<pm::bytes<>>("weight_bytes", "read in the same pass").optional()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto each = cache_of_a_token(in);
    outcome<T> out;
    out.add("bytes", "cache on a rank",
            pm::bytes<T>(in.number("sequences") * in.number("tokens") / in.number("ranks") * each *
                         pm::lift<T>(pm::token)));
    out.add("kv_bytes_per_token", "of one token", each);
    if (in.has("weight_bytes")) {
      out.add("crossover_tokens", "tokens as large as the weights",
              pm::weight_cache_crossover(in.template amount<pm::bytes<T>>("weight_bytes"), each));
    }
    return out;
  }
};

struct kv_room : law_query {
  static constexpr const char* name = "kv_room";
  static constexpr const char* help = "Sequences that fit beside the weights, from plain numbers";
  static std::vector<key> keys() {
    return {positive_amount<pm::bytes<>>("memory_bytes", "in all"),
            amount<pm::bytes<>>("weight_bytes", "in it").otherwise("0"),
            amount<pm::bytes<>>("other_bytes", "in it beside them").otherwise("0"),
            share("utilization", "of the memory that may be used").above_zero().otherwise("1"),
            positive("kv_bytes_per_token", "of the cache, on as many devices", 1e12).otherwise("1"),
            count("context", "tokens of a sequence").otherwise("1"),
            count("block_size", "tokens of a block").otherwise("16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const pm::basic_memory_budget<T> budget{in.template amount<pm::bytes<T>>("memory_bytes"),
                                            in.number("utilization"),
                                            in.template amount<pm::bytes<T>>("weight_bytes"),
                                            in.template amount<pm::bytes<T>>("other_bytes"),
                                            {}};
    outcome<T> out;
    const auto c =
        pm::kv_capacity(budget, in.template amount<pm::bytes_per_token<T>>("kv_bytes_per_token"),
                        in.number("context"), in.number("block_size"));
    out.add("kv_bytes_available", "free", pm::kv_bytes_available(budget));
    out.add("tokens", "tokens", c.tokens);
    out.add("sequences", "sequences", T(c.sequences));
    return out;
  }
};

struct paging : law_query {
  static constexpr const char* name = "paging";
  static constexpr const char* help = "What a cache wastes, in blocks and in reservations";
  static std::vector<key> keys() {
    return {
        positive("mean_tokens", "of a sequence").otherwise("500"),
        count("block_size", "tokens of a block").otherwise("16"),
        positive("longest", "tokens reserved for each sequence without blocks").otherwise("4096"),
        share("waste", "of a cache, in place of the computed").optional()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T mean = in.number("mean_tokens");
    const T paged = pm::paged_waste(mean, in.number("block_size"));
    outcome<T> out;
    out.add("paged_waste", "waste with blocks", paged);
    out.add("paged_use", "used with blocks", T(T(1.0) - paged));
    T reserved = in.has("waste") ? in.number("waste") : T(0.0);
    if (!in.has("waste") && in.plain("longest") >= in.plain("mean_tokens")) {
      reserved = pm::contiguous_waste(mean, in.number("longest"));
    }
    out.add("contiguous_waste", "waste without", reserved);
    out.add("gain", "sequences more without waste", pm::waste_free_gain(reserved));
    return out;
  }
};

struct shared_prefix : law_query {
  static constexpr const char* name = "shared_prefix";
  static constexpr const char* help = "What sequences with one prefix save";
  static std::vector<key> keys() {
    return {count("sequences", "that share it"), positive("prefix", "tokens that they share")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T n = in.number("sequences"), prefix = in.number("prefix");
    const auto saved = pm::shared_prefix_saving(n, prefix);
    const T tokens = saved / pm::lift<T>(pm::token);
    outcome<T> out;
    out.add("tokens", "not computed and not stored again", saved);
    out.add("prefills", "prefills saved", T(tokens / prefix));
    out.add("share", "share saved", T(tokens / (n * prefix)));
    return out;
  }
};

struct fusion : law_query {
  static constexpr const char* name = "fusion";
  static constexpr const char* help = "Traffic that a chain saves when intermediates stay on chip";
  static std::vector<key> keys() {
    return {
        positive_amount<pm::bytes<>>("tensor_bytes", "of one intermediate"),
        count("intermediates", "that are neither written nor read", 0.0, 1e9).otherwise("1"),
        amount<pm::bytes<>>("other_bytes", "moved in either case, such as weights").otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto tensor = in.template amount<pm::bytes<T>>("tensor_bytes");
    const auto saved = pm::chain_saving(tensor, in.number("intermediates"));
    pm::basic_traffic<T> after;
    after.read = tensor + in.template amount<pm::bytes<T>>("other_bytes");
    after.written = tensor;
    outcome<T> out;
    out.add("bytes", "saved", saved.dram.total());
    out.add("written_bytes", "of them written", saved.dram.written);
    out.add("ratio", "traffic before over after", pm::traffic_ratio(after + saved.dram, after));
    return out;
  }
};

struct attention_fusion : law_query {
  static constexpr const char* name = "attention_fusion";
  static constexpr const char* help = "Traffic of attention with its scores in memory over fused";
  static std::vector<key> keys() {
    return {positive("tokens", "of the prompt"),
            positive("head_dim", "width of a head").otherwise("128"),
            count("query_heads", "query heads").otherwise("1"),
            count("kv_heads", "heads of keys and values").otherwise("1"),
            format_key("format", "of all").otherwise("bf16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T tokens = in.number("tokens"), d = in.number("head_dim"), q = in.number("query_heads");
    const T ratio = pm::attention_fusion_ratio(tokens, d, q, in.number("kv_heads"));
    const pm::bytes<T> width = pm::lift<T>(bytes_of(in.format("format")));
    const pm::bytes<T> fused = 2.0 * (q + in.number("kv_heads")) * tokens * d * width;
    outcome<T> out;
    out.add("ratio", "times less traffic", ratio);
    out.add("fused_bytes", "fused", fused);
    out.add("unfused_bytes", "unfused", pm::bytes<T>(ratio * fused));
    out.add("scores_bytes", "scores of all heads", pm::bytes<T>(q * tokens * tokens * width));
    out.add("passes", "times that the scores are moved",
            T((ratio - T(1.0)) * fused / (q * tokens * tokens * width)));
    out.add(
        "flop_per_byte", "intensity unfused",
        pm::intensity<T>(4.0 * q * tokens * tokens * d * pm::lift<T>(pm::flop) / (ratio * fused)));
    return out;
  }
};

struct ridge_batch : law_query {
  static constexpr const char* name = "ridge_batch";
  static constexpr const char* help = "The batch at which decoding meets the ridge";
  static std::vector<key> keys() {
    return {positive_amount<pm::intensity<>>("ridge_flop_per_byte", "of the machine"),
            positive("parameters", "of the model", 1e18),
            format_key("weight_format", "of them").otherwise("bf16"),
            amount<pm::bytes<>>("cache_bytes", "of each sequence").otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto r =
        pm::ridge_batch(in.template amount<pm::intensity<T>>("ridge_flop_per_byte"),
                        in.number("parameters"), pm::lift<T>(bytes_of(in.format("weight_format"))),
                        in.template amount<pm::bytes<T>>("cache_bytes"));
    outcome<T> out;
    out.add("batch", "batch at the ridge", r.batch);
    out.set(r.feasible);
    return out;
  }
};

struct decode_intensity : law_query {
  static constexpr const char* name = "decode_intensity";
  static constexpr const char* help = "FLOP per byte of decoding a batch, its caches read as well";
  static std::vector<key> keys() {
    return {positive("parameters", "of the model", 1e18),
            format_key("weight_format", "of them").otherwise("bf16"),
            positive("batch", "sequences, or tokens of a prompt"),
            amount<pm::bytes<>>("cache_bytes", "of each sequence").otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T parameters = in.number("parameters"), batch = in.number("batch");
    const pm::bytes<T> weights = parameters * pm::lift<T>(bytes_of(in.format("weight_format")));
    outcome<T> out;
    out.add("flop_per_byte", "intensity",
            pm::intensity<T>(2.0 * parameters * batch * pm::lift<T>(pm::flop) /
                             (weights + batch * in.template amount<pm::bytes<T>>("cache_bytes"))));
    return out;
  }
};

struct memory_power : law_query {
  static constexpr const char* name = "memory_power";
  static constexpr const char* help = "Power of moving bytes at so much energy each";
  static std::vector<key> keys() {
    return {positive_amount<pm::bandwidth<>>("bytes_per_s", "moved"),
            positive_amount<pm::energy_per_byte<>>("j_per_byte", "of the memory"),
            amount<pm::bytes<>>("access_bytes", "of one access").otherwise("4"),
            positive("devices", "that do").otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto each = in.template amount<pm::energy_per_byte<T>>("j_per_byte");
    outcome<T> out;
    out.add(
        "power_w", "power",
        pm::power<T>(in.number("devices") *
                     pm::memory_power(in.template amount<pm::bandwidth<T>>("bytes_per_s"), each)));
    out.add("access_j", "an access",
            pm::energy<T>(each * in.template amount<pm::bytes<T>>("access_bytes")));
    return out;
  }
};

struct cost : law_query {
  static constexpr const char* name = "cost";
  static constexpr const char* help = "Money for tokens, and the price behind it";
  static std::vector<key> keys() {
    return {positive("gpus", "that serve"), positive("usd_per_hour", "of one").otherwise("1"),
            positive_amount<pm::token_rate<>>("tokens_per_s", "of all together"),
            share("utilisation", "of the time in use").above_zero().otherwise("1"),
            positive("usd_per_thousand_tokens", "for the price behind it").optional()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto rate = in.template amount<pm::token_rate<T>>("tokens_per_s");
    const pm::price<T> price = in.number("usd_per_hour") * pm::lift<T>(pm::usd_per_hour);
    outcome<T> out;
    const auto each = pm::cost_per_token(in.number("gpus"), price, rate, in.number("utilisation"));
    const pm::money<T> thousand = 1000.0 * pm::lift<T>(pm::token) * each;
    out.add("usd_per_thousand_tokens", "a thousand tokens", thousand);
    out.add("usd_per_million_tokens", "a million tokens", pm::money<T>(1000.0 * thousand));
    if (in.has("usd_per_thousand_tokens")) {
      const pm::money_per_token<T> paid = in.number("usd_per_thousand_tokens") / 1000.0 *
                                          pm::lift<T>(pm::usd) / pm::lift<T>(pm::token);
      out.add("usd_per_hour", "price of a GPU hour",
              T(pm::implied_price(in.number("gpus"), paid, rate) / pm::lift<T>(pm::usd_per_hour)));
    }
    return out;
  }
};

struct model_flop : law_query {
  static constexpr const char* name = "model_flop";
  static constexpr const char* help = "FLOP of a pass over tokens, forward or in training";
  static constexpr measurable_result measured[] = {time_measured("time_s", held_as::expected)};
  static std::vector<key> keys() {
    return {positive("parameters", "that a token meets", 1e18),
            positive("tokens", "of the pass").otherwise("1"),
            share("recomputed", "of the forward pass, in training").otherwise("0"),
            positive("devices", "that share it").otherwise("1"),
            positive_amount<pm::flop_rate<>>("flop_per_s", "peak of one").optional(),
            share("mfu", "share of it that is reached").above_zero().otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T p = in.number("parameters"), n = in.number("tokens");
    const pm::flops<T> forward =
        pm::flops<T>(2.0 * p * n / in.number("devices") * pm::lift<T>(pm::flop));
    outcome<T> out;
    out.add("flop", "forward, of one device", forward);
    out.add("training_flop", "training, of all",
            pm::flops<T>(n * pm::lift<T>(pm::token) *
                         pm::training_flop_per_token(p, in.number("recomputed"))));
    if (in.has("flop_per_s")) {
      const auto rate = in.number("mfu") * in.template amount<pm::flop_rate<T>>("flop_per_s");
      out.add("time_s", "forward", pm::duration<T>(forward / rate));
      out.add("backward_s", "backward", pm::duration<T>(2.0 * forward / rate));
    }
    return out;
  }
};

struct tensor_parallel : law_query {
  static constexpr const char* name = "tensor_parallel";
  static constexpr const char* help =
      "All-reduces of a pass over ranks that share each layer: a ring";
  static constexpr measurable_result measured[] = {time_measured("time_s", held_as::expected)};
  static std::vector<key> keys() {
    return {count("ranks", "that share each layer", 2.0, 1e6),
            count("layers", "of the model"),
            number("per_layer", "all-reduces of a layer", 0.0, 16.0).otherwise("2"),
            positive("tokens", "of the pass, of all sequences"),
            count("hidden", "width of the model"),
            format_key("format", "of activations").otherwise("bf16"),
            positive_amount<pm::bandwidth<>>("link_bytes_per_s", "one way, of a rank"),
            amount<pm::duration<>>("alpha_s", "of each all-reduce").otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    pm::basic_tensor_parallelism<T> x;
    x.ranks = in.whole("ranks");
    x.layers = in.number("layers");
    x.all_reduces_per_layer = in.number("per_layer");
    x.batch = T(1.0);
    x.tokens = in.number("tokens");
    x.hidden = in.number("hidden");
    x.format = in.format("format");
    pm::basic_interconnect<T> link;
    link.kind = pm::link_kind::nvlink;
    link.bandwidth = in.template amount<pm::bandwidth<T>>("link_bytes_per_s");
    link.ranks = x.ranks;
    pm::basic_collective<T> one = pm::all_reduce_of(x);
    one.algorithm = pm::collective_algorithm::ring;
    const auto e = pm::collective_time(link, one);
    const T n = x.layers * x.all_reduces_per_layer;
    outcome<T> out;
    out.add("time_s", "of all",
            pm::duration<T>(n * (e.time + in.template amount<pm::duration<T>>("alpha_s"))));
    out.add("message_bytes", "of one", one.message.quantity());
    out.add("one_s", "one", e.time);
    out.add("wire_bytes", "sent by a rank in all", pm::bytes<T>(n * e.wire.quantity()));
    return out;
  }
};

}  // namespace

std::vector<query> room_queries() {
  return {declare<kv_cache>(),      declare<kv_room>(),          declare<paging>(),
          declare<shared_prefix>(), declare<fusion>(),           declare<attention_fusion>(),
          declare<ridge_batch>(),   declare<decode_intensity>(), declare<memory_power>(),
          declare<cost>(),          declare<model_flop>(),       declare<tensor_parallel>()};
}

}  // namespace napkin
