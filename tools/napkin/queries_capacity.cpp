// Memory, cost and energy: caches, capacity, waste, fusion and prices.
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

/// KV-cache bytes of one token, over all layers.
template <pm::Scalar T>
pm::bytes_per_token<T> cache_of_a_token(inputs<T>& in) {
  return pm::bytes_per_token<T>(
      2.0 * in.number("layers") * in.number("kv_heads") * in.number("head_dim") *
      pm::lift<T>(bytes_of(in.format("kv_format"))) / pm::lift<T>(pm::token));
}

struct kv_cache : law_query {
  static constexpr const char* name = "kv_cache";
  static constexpr const char* help = "KV-cache size from the attention shape";
  static std::vector<key> keys() {
    return {count("layers", "attention layers"),
            count("kv_heads", "KV heads"),
            count("head_dim", "dimension of one head"),
            format_key("kv_format", "KV-cache format").otherwise("bf16"),
            number("tokens", "tokens per sequence", 1.0, 1e12),
            number("sequences", "number of sequences", 1.0, 1e9).otherwise("1"),
            positive("ranks", "ranks that share the heads", 1e6).otherwise("1"),
            positive_amount<pm::bytes<>>("weight_bytes", "weights read in the same engine step")
                .optional()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto each = cache_of_a_token(in);
    outcome<T> out;
    out.add("bytes", "KV cache per rank",
            pm::bytes<T>(in.number("sequences") * in.number("tokens") / in.number("ranks") * each *
                         pm::lift<T>(pm::token)));
    out.add("kv_bytes_per_token", "KV cache per token", each);
    if (in.has("weight_bytes")) {
      out.add("crossover_tokens", "tokens at which the cache is as large as the weights",
              pm::weight_cache_crossover(in.template amount<pm::bytes<T>>("weight_bytes"), each));
    }
    return out;
  }
};

struct kv_room : law_query {
  static constexpr const char* name = "kv_room";
  static constexpr const char* help =
      "Sequences that fit in memory next to the weights, from plain numbers";
  static std::vector<key> keys() {
    return {positive_amount<pm::bytes<>>("memory_bytes", "total memory"),
            amount<pm::bytes<>>("weight_bytes", "weight bytes in this memory").otherwise("0"),
            amount<pm::bytes<>>("other_bytes", "other bytes in this memory").otherwise("0"),
            share("utilization", "usable share of the memory").above_zero().otherwise("1"),
            positive("kv_bytes_per_token", "KV cache per token, on the same devices", 1e12)
                .otherwise("1"),
            count("context", "tokens per sequence").otherwise("1"),
            count("block_size", "tokens per block").otherwise("16")};
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
  static constexpr const char* help = "KV-cache waste of paged and of contiguous allocation";
  static std::vector<key> keys() {
    return {number("mean_tokens", "mean tokens per sequence", 1.0, 1e15).otherwise("500"),
            count("block_size", "tokens per block").otherwise("16"),
            positive("longest", "tokens reserved per sequence by contiguous allocation")
                .otherwise("4096"),
            share("waste", "wasted share of the cache; default: computed").optional()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T mean = in.number("mean_tokens");
    const T paged = pm::paged_waste(mean, in.number("block_size"));
    outcome<T> out;
    out.add("paged_waste", "waste, paged", paged);
    out.add("paged_use", "utilization, paged", T(T(1.0) - paged));
    T reserved = in.has("waste") ? in.number("waste") : T(0.0);
    if (!in.has("waste") && in.plain("longest") >= in.plain("mean_tokens")) {
      reserved = pm::contiguous_waste(mean, in.number("longest"));
    }
    out.add("contiguous_waste", "waste, contiguous", reserved);
    out.add("gain", "additional sequences without waste", pm::waste_free_gain(reserved));
    return out;
  }
};

struct shared_prefix : law_query {
  static constexpr const char* name = "shared_prefix";
  static constexpr const char* help = "Savings of a shared prefix";
  static std::vector<key> keys() {
    return {count("sequences", "sequences that share the prefix"),
            positive("prefix", "prefix length in tokens")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T n = in.number("sequences"), prefix = in.number("prefix");
    const auto saved = pm::shared_prefix_saving(n, prefix);
    const T tokens = saved / pm::lift<T>(pm::token);
    outcome<T> out;
    out.add("tokens", "tokens neither recomputed nor stored again", saved);
    out.add("prefills", "prefills saved", T(tokens / prefix));
    out.add("share", "share of prefill saved", T(tokens / (n * prefix)));
    return out;
  }
};

struct fusion : law_query {
  static constexpr const char* name = "fusion";
  static constexpr const char* help = "DRAM traffic saved by fusing a chain of kernels";
  static std::vector<key> keys() {
    return {
        positive_amount<pm::bytes<>>("tensor_bytes", "bytes of one intermediate tensor"),
        count("intermediates", "intermediates kept on chip", 0.0, 1e9).otherwise("1"),
        amount<pm::bytes<>>("other_bytes", "other traffic, unchanged by fusion, such as weights")
            .otherwise("0")};
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
    out.add("written_bytes", "  of which writes", saved.dram.written);
    out.add("ratio", "traffic unfused over fused", pm::traffic_ratio(after + saved.dram, after));
    return out;
  }
};

struct attention_fusion : law_query {
  static constexpr const char* name = "attention_fusion";
  static constexpr const char* help = "DRAM traffic of unfused attention over fused attention";
  static std::vector<key> keys() {
    return {number("tokens", "prompt tokens", 1.0, 1e9),
            positive("head_dim", "head dimension").otherwise("128"),
            count("query_heads", "query heads").otherwise("1"),
            count("kv_heads", "KV heads").otherwise("1"),
            format_key("format", "format of all tensors").otherwise("bf16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T tokens = in.number("tokens"), d = in.number("head_dim"), q = in.number("query_heads");
    const T ratio = pm::attention_fusion_ratio(tokens, d, q, in.number("kv_heads"));
    const pm::bytes<T> width = pm::lift<T>(bytes_of(in.format("format")));
    const pm::bytes<T> fused = 2.0 * (q + in.number("kv_heads")) * tokens * d * width;
    outcome<T> out;
    out.add("ratio", "traffic reduction factor", ratio);
    out.add("fused_bytes", "fused", fused);
    out.add("unfused_bytes", "unfused", pm::bytes<T>(ratio * fused));
    out.add("scores_bytes", "attention scores of all heads",
            pm::bytes<T>(q * tokens * tokens * width));
    out.add("passes", "score-matrix passes through DRAM",
            T((ratio - T(1.0)) * fused / (q * tokens * tokens * width)));
    out.add(
        "flop_per_byte", "intensity, unfused",
        pm::intensity<T>(4.0 * q * tokens * tokens * d * pm::lift<T>(pm::flop) / (ratio * fused)));
    return out;
  }
};

struct ridge_batch : law_query {
  static constexpr const char* name = "ridge_batch";
  static constexpr const char* help = "Batch size at which decode reaches the ridge point";
  static std::vector<key> keys() {
    return {positive_amount<pm::intensity<>>("ridge_flop_per_byte", "ridge point of the machine"),
            positive("parameters", "model parameters", 1e18),
            format_key("weight_format", "weight format").otherwise("bf16"),
            amount<pm::bytes<>>("cache_bytes", "KV cache per sequence").otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto r =
        pm::ridge_batch(in.template amount<pm::intensity<T>>("ridge_flop_per_byte"),
                        in.number("parameters"), pm::lift<T>(bytes_of(in.format("weight_format"))),
                        in.template amount<pm::bytes<T>>("cache_bytes"));
    outcome<T> out;
    out.add("batch", "batch size at the ridge point", r.batch);
    out.set(r.feasible);
    return out;
  }
};

struct decode_intensity : law_query {
  static constexpr const char* name = "decode_intensity";
  static constexpr const char* help =
      "Arithmetic intensity of a decode step, KV-cache reads included";
  static std::vector<key> keys() {
    return {positive("parameters", "model parameters", 1e18),
            format_key("weight_format", "weight format").otherwise("bf16"),
            positive("batch", "sequences, or prompt tokens"),
            amount<pm::bytes<>>("cache_bytes", "KV cache per sequence").otherwise("0")};
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
  static constexpr const char* help = "Power of data movement from energy per byte";
  static std::vector<key> keys() {
    return {positive_amount<pm::bandwidth<>>("bytes_per_s", "moved"),
            positive_amount<pm::energy_per_byte<>>("j_per_byte", "energy per byte of the memory"),
            amount<pm::bytes<>>("access_bytes", "bytes per access").otherwise("4"),
            positive("devices", "number of devices").otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto each = in.template amount<pm::energy_per_byte<T>>("j_per_byte");
    outcome<T> out;
    out.add(
        "power_w", "power",
        pm::power<T>(in.number("devices") *
                     pm::memory_power(in.template amount<pm::bandwidth<T>>("bytes_per_s"), each)));
    out.add("access_j", "energy per access",
            pm::energy<T>(each * in.template amount<pm::bytes<T>>("access_bytes")));
    return out;
  }
};

struct cost : law_query {
  static constexpr const char* name = "cost";
  static constexpr const char* help = "Cost per token, and the implied GPU price";
  static std::vector<key> keys() {
    return {
        positive("gpus", "number of GPUs"),
        positive("usd_per_hour", "price of one GPU-hour").otherwise("1"),
        positive_amount<pm::token_rate<>>("tokens_per_s", "throughput of all GPUs"),
        share("utilisation", "share of time in use").above_zero().otherwise("1"),
        positive("usd_per_thousand_tokens", "price per thousand tokens, for the implied GPU price")
            .optional()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto rate = in.template amount<pm::token_rate<T>>("tokens_per_s");
    const pm::price<T> price = in.number("usd_per_hour") * pm::lift<T>(pm::usd_per_hour);
    outcome<T> out;
    const auto each = pm::cost_per_token(in.number("gpus"), price, rate, in.number("utilisation"));
    const pm::money<T> thousand = 1000.0 * pm::lift<T>(pm::token) * each;
    out.add("usd_per_thousand_tokens", "cost per thousand tokens", thousand);
    out.add("usd_per_million_tokens", "cost per million tokens", pm::money<T>(1000.0 * thousand));
    if (in.has("usd_per_thousand_tokens")) {
      const pm::money_per_token<T> paid = in.number("usd_per_thousand_tokens") / 1000.0 *
                                          pm::lift<T>(pm::usd) / pm::lift<T>(pm::token);
      out.add("usd_per_hour", "implied price of a GPU-hour",
              T(pm::implied_price(in.number("gpus"), paid, rate) / pm::lift<T>(pm::usd_per_hour)));
    }
    return out;
  }
};

struct model_flop : law_query {
  static constexpr const char* name = "model_flop";
  static constexpr const char* help = "FLOP of a forward pass or of training";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    return {positive("parameters", "parameters used per token", 1e18),
            positive("tokens", "number of tokens").otherwise("1"),
            share("recomputed", "recomputed share of the forward pass, in training").otherwise("0"),
            positive("devices", "number of devices").otherwise("1"),
            positive_amount<pm::flop_rate<>>("flop_per_s", "peak FLOP/s of one device").optional(),
            share("mfu", "MFU: achieved share of the peak").above_zero().otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T p = in.number("parameters"), n = in.number("tokens");
    const pm::flops<T> forward =
        pm::flops<T>(2.0 * p * n / in.number("devices") * pm::lift<T>(pm::flop));
    outcome<T> out;
    out.add("flop", "forward FLOP per device", forward);
    out.add("training_flop", "training FLOP of all devices",
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
  static constexpr const char* help = "Tensor-parallel all-reduces of one forward pass (ring)";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    return {count("ranks", "tensor-parallel size", 2.0, 1e6),
            count("layers", "model layers"),
            number("per_layer", "all-reduces per layer", 0.0, 16.0).otherwise("2"),
            positive("tokens", "tokens in the batch, all sequences"),
            count("hidden", "hidden size of the model"),
            format_key("format", "activation format").otherwise("bf16"),
            positive_amount<pm::bandwidth<>>("link_bytes_per_s", "one-way link bandwidth per rank"),
            amount<pm::duration<>>("alpha_s", "latency of each all-reduce").otherwise("0")};
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
    out.add("time_s", "time of all all-reduces",
            pm::duration<T>(n * (e.time + in.template amount<pm::duration<T>>("alpha_s"))));
    out.add("message_bytes", "bytes of one all-reduce", one.message.quantity());
    out.add("one_s", "one", e.time);
    out.add("wire_bytes", "bytes sent per rank", pm::bytes<T>(n * e.wire.quantity()));
    return out;
  }
};

}  // namespace

std::vector<query> capacity_queries() {
  return {declare<kv_cache>(),      declare<kv_room>(),          declare<paging>(),
          declare<shared_prefix>(), declare<fusion>(),           declare<attention_fusion>(),
          declare<ridge_batch>(),   declare<decode_intensity>(), declare<memory_power>(),
          declare<cost>(),          declare<model_flop>(),       declare<tensor_parallel>()};
}

}  // namespace napkin
