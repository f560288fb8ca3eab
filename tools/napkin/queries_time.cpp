// Time laws: iron law, Little's law, launches, overlap, speedup and utilization.
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/laws/scaling.hpp>
#include <perfmodel/laws/speculative.hpp>
#include <perfmodel/operators/gemm.hpp>

#include "law_query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct iron_law : law_query {
  static constexpr const char* name = "iron_law";
  static constexpr const char* help =
      "Iron law: max of bytes over bandwidth and FLOP over rate, plus overhead";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::at_least)};
  static std::vector<key> keys() {
    return {amount<pm::bytes<>>("bytes", "moved"),
            positive_amount<pm::bandwidth<>>("bytes_per_s", "bandwidth of the memory or link"),
            amount<pm::flops<>>("flop", "FLOP computed concurrently").otherwise("0"),
            positive_amount<pm::flop_rate<>>("flop_per_s", "FLOP/s of the units").otherwise("1e15"),
            amount<pm::duration<>>("overhead_s", "overhead added to both").otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto e = pm::iron_law(in.template amount<pm::bytes<T>>("bytes"),
                                in.template amount<pm::bandwidth<T>>("bytes_per_s"),
                                in.template amount<pm::flops<T>>("flop"),
                                in.template amount<pm::flop_rate<T>>("flop_per_s"),
                                in.template amount<pm::duration<T>>("overhead_s"),
                                pm::basic_overlap<T>::full());
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("per_s", "executions per second",
            pm::frequency<T>(T(1.0) / pm::max(e.time, pm::duration<T>::from_value(T(1e-100)))));
    out.add("overhead_share", "share of overhead", pm::share_of(e, "overhead"));
    out.explain(e);
    return out;
  }
};

struct littles_law : law_query {
  static constexpr const char* name = "littles_law";
  static constexpr const char* help = "Little's law: bytes in flight = latency x bandwidth";
  static constexpr measurable_result measured[] = {result_measured<pm::frequency<>>(
      "accesses_per_s", "measured_per_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    return {amount<pm::duration<>>("latency_s", "latency of one access"),
            positive_amount<pm::bandwidth<>>("bytes_per_s", "sustained bandwidth"),
            positive_amount<pm::bytes<>>("access_bytes", "bytes per access").otherwise("32")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto rate = in.template amount<pm::bandwidth<T>>("bytes_per_s");
    outcome<T> out;
    out.add("bytes", "bytes in flight",
            pm::bytes_in_flight(in.template amount<pm::duration<T>>("latency_s"), rate));
    out.add("accesses_per_s", "accesses",
            pm::frequency<T>(rate / in.template amount<pm::bytes<T>>("access_bytes")));
    return out;
  }
};

struct throughput : law_query {
  static constexpr const char* name = "throughput";
  static constexpr const char* help = "Token throughput of concurrent streams (Little's law)";
  static constexpr measurable_result measured[] = {
      result_measured<pm::token_rate<>>("tokens_per_s", "measured_tokens_per_s",
                                        comparison_kind::expected),
      time_measured("itl_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    return {positive("streams", "mean number of decoding streams"),
            positive_amount<pm::duration<>>("itl_s", "ITL of one stream").optional(),
            positive_amount<pm::token_rate<>>("tokens_per_s",
                                              "throughput of all streams, for the implied itl_s")
                .optional()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T streams = in.number("streams");
    outcome<T> out;
    if (in.has("itl_s")) {
      out.add("tokens_per_s", "tokens",
              pm::throughput_of(streams, in.template amount<pm::duration<T>>("itl_s")));
    } else if (in.has("tokens_per_s")) {
      out.add("itl_s", "ITL",
              pm::inter_token_latency_of(streams,
                                         in.template amount<pm::token_rate<T>>("tokens_per_s")));
    } else {
      in.missing("itl_s", "or tokens_per_s");
    }
    return out;
  }
};

struct launch : law_query {
  static constexpr const char* name = "launch";
  static constexpr const char* help =
      "Kernel-launch overhead of a step: synchronous, asynchronous, or CUDA graph";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    const auto time = [](const char* n, const char* what) {
      return amount<pm::duration<>>(n, what).otherwise("0");
    };
    return {number("layers", "model layers", 1.0, 1e6).otherwise("1"),
            number("launches", "launches per layer", 0.0, 1e12),
            word("how", "launch mode: host waits for each kernel, runs ahead, or replays a graph",
                 {"synchronised", "stream", "graph"})
                .otherwise("synchronised"),
            time("cpu_s", "CPU time per launch"),
            time("gap_s", "device idle time between two kernels"),
            time("replay_s", "fixed time of a graph replay"),
            time("node_s", "graph time per kernel"),
            time("synchronise_s", "CPU time per synchronization"),
            time("kernels_s", "total kernel time of the step")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const pm::basic_launch_costs<T> c{in.template amount<pm::duration<T>>("cpu_s"),
                                      in.template amount<pm::duration<T>>("gap_s"),
                                      in.template amount<pm::duration<T>>("replay_s"),
                                      in.template amount<pm::duration<T>>("node_s"),
                                      in.template amount<pm::duration<T>>("synchronise_s")};
    const auto kernels = in.template amount<pm::duration<T>>("kernels_s");
    const T n = pm::kernels_per_step(in.number("layers"), in.number("launches"));
    const auto e = in.text("how") == "stream"  ? pm::stream_launch_time(c, n, kernels)
                   : in.text("how") == "graph" ? pm::graph_time(c, n, kernels)
                                               : pm::synchronised_time(c, n, kernels);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("launches", "launches", n);
    out.add("launch_share", "share of launch overhead",
            T(T(1.0) - kernels / pm::max(e.time, pm::duration<T>::from_value(T(1e-100)))));
    out.explain(e);
    return out;
  }
};

struct overlap : law_query {
  static constexpr const char* name = "overlap";
  static constexpr const char* help =
      "Overlap of communication with computation, and the SMs it takes";
  static constexpr measurable_result measured[] = {
      time_measured("exposed_s", comparison_kind::at_least)};
  static std::vector<key> keys() {
    return {amount<pm::duration<>>("communication_s", "total communication time"),
            amount<pm::duration<>>("window_s", "computation that can hide communication"),
            positive("sms", "SMs of the device").otherwise("132"),
            number("sms_taken", "SMs used by the communication", 0.0, 1e6).otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto sent = in.template amount<pm::duration<T>>("communication_s");
    const auto exposed = pm::exposed_time(sent, in.template amount<pm::duration<T>>("window_s"));
    outcome<T> out;
    out.add("exposed_s", "exposed communication", exposed);
    out.add("efficiency", "hidden share", pm::overlap_efficiency(sent, exposed));
    out.add("lost", "share of the device lost to communication",
            T(in.number("sms_taken") / in.number("sms")));
    return out;
  }
};

struct training_step : law_query {
  static constexpr const char* name = "training_step";
  static constexpr const char* help =
      "Training step: forward, backward, and bucketed gradient all-reduce";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::at_least)};
  static std::vector<key> keys() {
    return {amount<pm::duration<>>("forward_s", "forward time"),
            amount<pm::duration<>>("backward_s", "backward time"),
            amount<pm::duration<>>("communication_s", "communication time of all gradients"),
            count("buckets", "gradient buckets; 1: no overlap", 1.0, 1e9).otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto e = pm::training_step(in.template amount<pm::duration<T>>("forward_s"),
                                     in.template amount<pm::duration<T>>("backward_s"),
                                     in.template amount<pm::duration<T>>("communication_s"),
                                     in.number("buckets"));
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.explain(e);
    return out;
  }
};

struct double_buffer : law_query {
  static constexpr const char* name = "double_buffer";
  static constexpr const char* help = "Double buffering: tile loads overlapped with compute";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::at_least)};
  static std::vector<key> keys() {
    return {amount<pm::duration<>>("load_s", "load time per tile"),
            amount<pm::duration<>>("compute_s", "compute time per tile"),
            count("tiles", "number of tiles"),
            positive_amount<pm::bytes<>>("shared_bytes", "shared memory").otherwise("232448"),
            positive_amount<pm::bytes<>>("tile_bytes", "bytes per stage").otherwise("32768")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    outcome<T> out;
    out.add("time_s", "time",
            pm::double_buffered_time(in.template amount<pm::duration<T>>("load_s"),
                                     in.template amount<pm::duration<T>>("compute_s"),
                                     in.number("tiles")));
    out.add("stages", "stages that fit",
            pm::stages_that_fit(in.template amount<pm::bytes<T>>("shared_bytes"),
                                in.template amount<pm::bytes<T>>("tile_bytes")));
    return out;
  }
};

struct amdahl : law_query {
  static constexpr const char* name = "amdahl";
  static constexpr const char* help = "Amdahl's law: time of the whole after parts of it changed";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    return {
        list_of(share("shares", "shares of the time that change")),
        list_of(number("factors", "time factors of these shares: 0.5 is twice as fast", 0.0, 1e9)),
        amount<pm::duration<>>("time_s", "time before the change").otherwise("1")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const std::vector<T> shares = all_of(in, "shares"), factors = all_of(in, "factors");
    if (shares.size() != factors.size()) {
      throw pm::error(pm::error_code::inconsistent,
                      cat("shares has ", shares.size(), " and factors ", factors.size(),
                          "; allowed: one factor for each share"));
    }
    std::vector<pm::basic_amdahl_part<T>> parts;
    for (std::size_t i = 0; i < shares.size(); ++i) parts.push_back({shares[i], factors[i]});
    const auto whole = pm::amdahl(std::span<const pm::basic_amdahl_part<T>>(parts));
    outcome<T> out;
    out.add("speedup", "speed-up", whole.speedup);
    out.add("time_ratio", "remaining share of the time", whole.time_ratio);
    out.add("time_s", "time after the change",
            pm::duration<T>(whole.time_ratio * in.template amount<pm::duration<T>>("time_s")));
    out.add("first_share", "new share of the first part", pm::new_share(parts.front(), whole));
    return out;
  }
};

struct share_of_speedup : law_query {
  static constexpr const char* name = "share_of_speedup";
  static constexpr const char* help =
      "Inverse Amdahl: the share of a part, from the speedup of the whole";
  static std::vector<key> keys() {
    return {list_of(number("speedups", "speedups of the whole by changes to different parts", 1.0,
                           1e9)),
            number("factor", "speedup of the changed part", 1.0, 1e15).otherwise("1e15")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    outcome<T> out;
    T removed(0.0);
    const auto all = all_of(in, "speedups");
    for (const T& x : all) removed += pm::removed_share(x);
    out.add("removed", "share of the time removed by all changes", removed);
    out.add("share", "share of the part", pm::share_from_speedup(all.front(), in.number("factor")));
    return out;
  }
};

struct scaling : law_query {
  static constexpr const char* name = "scaling";
  static constexpr const char* help =
      "Scaling tax: the efficiency that many devices lose against one";
  static constexpr measurable_result measured[] = {
      time_measured("time_with_tax_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    return {
        share("mfu_of_one", "MFU on one device or few").above_zero().otherwise("1"),
        share("mfu_of_many", "MFU on all devices").otherwise("1"),
        amount<pm::duration<>>("time_s", "time to convert, with or without the tax").otherwise("1"),
        number("slowdown", "slowdown of the slowest device: 0.1 is 10 % longer", 0.0, 1e6)
            .otherwise("0"),
        number("ranks", "devices", 1.0, 1e9).otherwise("1"),
        number("gain", "gain in MFU: 0.01 is 1 % more", 0.0, 1e6).otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T tax = pm::scaling_tax(in.number("mfu_of_one"), in.number("mfu_of_many"));
    const auto time = in.template amount<pm::duration<T>>("time_s");
    outcome<T> out;
    out.add("tax", "scaling tax (share lost)", tax);
    if (in.plain("mfu_of_many") > 0.0) {
      out.add("time_with_tax_s", "time with the tax", pm::time_with_tax(time, tax));
    }
    out.add("time_without_tax_s", "time without the tax", pm::time_without_tax(time, tax));
    out.add("straggler_tax", "share lost to the straggler",
            pm::straggler_tax(in.number("slowdown")));
    out.add("ranks_saved", "devices saved by the gain",
            pm::ranks_saved(in.number("ranks"), in.number("gain")));
    return out;
  }
};

struct batch_scaling : law_query {
  static constexpr const char* name = "batch_scaling";
  static constexpr const char* help =
      "Batch scaling: throughput of a batch over that of one sequence";
  static std::vector<key> keys() {
    return {positive_amount<pm::token_rate<>>("rate_of_batch", "throughput of the batch"),
            count("batch", "sequences"),
            positive_amount<pm::token_rate<>>("rate_of_one", "throughput of one sequence")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto many = in.template amount<pm::token_rate<T>>("rate_of_batch");
    const auto one = in.template amount<pm::token_rate<T>>("rate_of_one");
    outcome<T> out;
    out.add("efficiency", "share of ideal scaling",
            pm::batch_scaling_efficiency(many, in.number("batch"), one));
    out.add("speedup", "throughput over one sequence", T(many / one));
    return out;
  }
};

struct static_batch : law_query {
  static constexpr const char* name = "static_batch";
  static constexpr const char* help =
      "Static batching: a batch that runs until its longest sequence ends";
  static std::vector<key> keys() {
    return {list_of(number("lengths", "output tokens of each sequence", 1.0, 1e12))};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const std::vector<T> lengths = all_of(in, "lengths");
    const std::span<const T> all(lengths);
    outcome<T> out;
    out.add("efficiency", "share of slots used", pm::static_batch_efficiency(all));
    out.add("tail", "share of the time with one sequence", pm::static_batch_tail(all));
    return out;
  }
};

struct achieved : law_query {
  static constexpr const char* name = "achieved";
  static constexpr const char* help = "Achieved rates of a GEMM from its time";
  static std::vector<key> keys() {
    return {count("m", "rows of A and C"), count("n", "columns of B and C"),
            count("k", "columns of A"),
            format_key("format", "format of A, B and C").otherwise("bf16"),
            positive_amount<pm::duration<>>("time_s", "measured time")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    pm::basic_gemm<T> g;
    g.m = in.number("m");
    g.n = in.number("n");
    g.k = in.number("k");
    g.format = in.format("format");
    const auto d = demand_of(g);
    const auto time = in.template amount<pm::duration<T>>("time_s");
    outcome<T> out;
    out.add("flop_per_s", "rate", pm::flop_rate<T>(d.flop() / time));
    out.add("bytes_per_s", "bandwidth", pm::bandwidth<T>(d.dram.total() / time));
    return out;
  }
};

struct utilisation : law_query {
  static constexpr const char* name = "utilisation";
  static constexpr const char* help = "MFU and MBU from work and time";
  static std::vector<key> keys() {
    return {amount<pm::flops<>>("flop", "model FLOP").otherwise("0"),
            amount<pm::bytes<>>("bytes", "bytes moved").otherwise("0"),
            positive_amount<pm::duration<>>("time_s", "measured time").otherwise("1"),
            positive_amount<pm::flop_rate<>>("flop_per_s", "peak FLOP rate").optional(),
            positive_amount<pm::bandwidth<>>("bytes_per_s", "peak bandwidth").optional()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto time = in.template amount<pm::duration<T>>("time_s");
    const auto bytes = in.template amount<pm::bytes<T>>("bytes");
    if (!in.given("flop") && !in.given("bytes")) in.missing("flop", "or bytes");
    outcome<T> out;
    if (in.has("flop_per_s")) {
      out.add("mfu", "share of peak compute",
              pm::mfu(in.template amount<pm::flops<T>>("flop"), time,
                      in.template amount<pm::flop_rate<T>>("flop_per_s")));
    }
    if (in.has("bytes_per_s")) {
      out.add("mbu", "share of bandwidth",
              pm::mbu(bytes, time, in.template amount<pm::bandwidth<T>>("bytes_per_s")));
    }
    out.add("achieved_bytes_per_s", "bandwidth", pm::bandwidth<T>(bytes / time));
    return out;
  }
};

struct mfu_from_mbu : law_query {
  static constexpr const char* name = "mfu_from_mbu";
  static constexpr const char* help = "MFU at a given MBU and arithmetic intensity";
  static std::vector<key> keys() {
    return {share("mbu", "MBU").otherwise("1"),
            positive_amount<pm::intensity<>>("flop_per_byte", "arithmetic intensity of the work")
                .otherwise("1"),
            positive_amount<pm::intensity<>>("ridge_flop_per_byte", "ridge point of the machine")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T use =
        pm::mfu_from_mbu(in.number("mbu"), in.template amount<pm::intensity<T>>("flop_per_byte"),
                         in.template amount<pm::intensity<T>>("ridge_flop_per_byte"));
    outcome<T> out;
    out.add("mfu", "share of peak compute", use);
    out.add("idle", "idle share of compute", T(T(1.0) - use));
    return out;
  }
};

struct speculative_round : law_query {
  static constexpr const char* name = "speculative_round";
  static constexpr const char* help =
      "Speculation round from the times of its steps: draft, then verify";
  static constexpr measurable_result measured[] = {
      time_measured("time_s", comparison_kind::expected)};
  static std::vector<key> keys() {
    return {
        share("acceptance", "acceptance of each draft token"),
        count("draft_length", "tokens", 1.0, 4096.0),
        positive_amount<pm::duration<>>("plain_s", "step time without speculation").otherwise("1"),
        amount<pm::duration<>>("draft_s", "time per draft token"),
        positive_amount<pm::duration<>>("verify_s", "time of the verify step").otherwise("1"),
        positive_amount<pm::intensity<>>("ridge_flop_per_byte", "ridge point of the machine")
            .optional(),
        format_key("weight_format", "weight format of the target model").otherwise("bf16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const pm::basic_speculative_steps<T> s{in.template amount<pm::duration<T>>("plain_s"),
                                           in.template amount<pm::duration<T>>("draft_s"),
                                           in.template amount<pm::duration<T>>("verify_s")};
    const int k = in.whole("draft_length");
    const auto accepted = pm::accepted_tokens(in.number("acceptance"), k);
    const auto emitted = pm::emitted_tokens(in.number("acceptance"), k);
    outcome<T> out;
    out.add("time_s", "time of a round", pm::round_time(k, s));
    out.add("drafts_s", "  of which drafting", pm::duration<T>(pm::round_time(k, s) - s.verify));
    out.add("time_per_token_s", "time per token",
            pm::duration<T>(pm::time_per_token(emitted, k, s) * pm::lift<T>(pm::token)));
    out.add("speedup", "speed-up", pm::speculative_speedup(emitted, k, s));
    out.add("emitted_tokens", "tokens per round", T(emitted.quantity().value()));
    out.add("accepted_tokens", "  of which draft tokens", T(accepted.quantity().value()));
    if (in.has("ridge_flop_per_byte")) {
      out.add(
          "batch_limit", "batch size at which verification reaches the ridge point",
          pm::verification_batch_limit(in.template amount<pm::intensity<T>>("ridge_flop_per_byte"),
                                       pm::lift<T>(bytes_of(in.format("weight_format"))), k));
    }
    return out;
  }
};

}  // namespace

std::vector<query> time_queries() {
  return {declare<iron_law>(),         declare<littles_law>(),   declare<throughput>(),
          declare<launch>(),           declare<overlap>(),       declare<training_step>(),
          declare<double_buffer>(),    declare<amdahl>(),        declare<share_of_speedup>(),
          declare<scaling>(),          declare<batch_scaling>(), declare<static_batch>(),
          declare<achieved>(),         declare<utilisation>(),   declare<mfu_from_mbu>(),
          declare<speculative_round>()};
}

}  // namespace napkin
