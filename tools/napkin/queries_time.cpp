// Where time goes: the iron law, Little's law, launches, what overlaps, and what a speedup leaves.
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
  static constexpr const char* help = "Bytes over bandwidth and FLOP over rate, and what is on top";
  static constexpr measurable_result measured[] = {time_measured("time_s", held_as::at_least)};
  static std::vector<key> keys() {
    return {amount<pm::bytes<>>("bytes", "moved"),
            positive_amount<pm::bandwidth<>>("bytes_per_s", "of the memory or link"),
            amount<pm::flops<>>("flop", "computed meanwhile").otherwise("0"),
            positive_amount<pm::flop_rate<>>("flop_per_s", "of the units").otherwise("1e15"),
            amount<pm::duration<>>("overhead_s", "on top of both").otherwise("0")};
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
    out.add("per_s", "how often in a second",
            pm::frequency<T>(T(1.0) / pm::max(e.time, pm::duration<T>::from_value(T(1e-100)))));
    out.add("overhead_share", "share on top", pm::share_of(e, "overhead"));
    out.explain(e);
    return out;
  }
};

struct littles_law : law_query {
  static constexpr const char* name = "littles_law";
  static constexpr const char* help = "Bytes under way: latency times bandwidth";
  static constexpr measurable_result measured[] = {
      result_measured<pm::frequency<>>("accesses_per_s", "measured_per_s", held_as::expected)};
  static std::vector<key> keys() {
    return {amount<pm::duration<>>("latency_s", "of one access"),
            positive_amount<pm::bandwidth<>>("bytes_per_s", "that is kept up"),
            positive_amount<pm::bytes<>>("access_bytes", "of one access").otherwise("32")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto rate = in.template amount<pm::bandwidth<T>>("bytes_per_s");
    outcome<T> out;
    out.add("bytes", "under way",
            pm::bytes_in_flight(in.template amount<pm::duration<T>>("latency_s"), rate));
    out.add("accesses_per_s", "accesses",
            pm::frequency<T>(rate / in.template amount<pm::bytes<T>>("access_bytes")));
    return out;
  }
};

struct throughput : law_query {
  static constexpr const char* name = "throughput";
  static constexpr const char* help = "Tokens per second of so many streams: Little's law";
  static constexpr measurable_result measured[] = {
      result_measured<pm::token_rate<>>("tokens_per_s", "measured_tokens_per_s", held_as::expected),
      time_measured("itl_s", held_as::expected)};
  static std::vector<key> keys() {
    return {
        positive("streams", "that decode together, on average"),
        positive_amount<pm::duration<>>("itl_s", "between two tokens of one stream").optional(),
        positive_amount<pm::token_rate<>>("tokens_per_s", "of all, for the itl_s that it leaves")
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
      out.add("itl_s", "between two tokens",
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
  static constexpr const char* help = "What launches cost a step: waited for, streamed or replayed";
  static constexpr measurable_result measured[] = {time_measured("time_s", held_as::expected)};
  static std::vector<key> keys() {
    const auto time = [](const char* n, const char* what) {
      return amount<pm::duration<>>(n, what).otherwise("0");
    };
    return {number("layers", "of the model", 1.0, 1e6).otherwise("1"),
            number("launches", "of each layer", 0.0, 1e12),
            word("how", "the host waits for each, runs ahead, or replays a graph",
                 {"synchronised", "stream", "graph"})
                .otherwise("synchronised"),
            time("cpu_s", "of the host, for each launch"),
            time("gap_s", "on the device between two kernels"),
            time("replay_s", "of a graph, once"),
            time("node_s", "of a graph, for each kernel"),
            time("synchronise_s", "of the host, for each wait"),
            time("kernels_s", "all kernels of the step together")};
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
    out.add("launch_share", "share beside the kernels",
            T(T(1.0) - kernels / pm::max(e.time, pm::duration<T>::from_value(T(1e-100)))));
    out.explain(e);
    return out;
  }
};

struct overlap : law_query {
  static constexpr const char* name = "overlap";
  static constexpr const char* help = "Communication behind computation, and the SMs that it takes";
  static constexpr measurable_result measured[] = {time_measured("exposed_s", held_as::at_least)};
  static std::vector<key> keys() {
    return {amount<pm::duration<>>("communication_s", "in all"),
            amount<pm::duration<>>("window_s", "of computation that it may hide behind"),
            positive("sms", "of the device").otherwise("132"),
            number("sms_taken", "by the communication", 0.0, 1e6).otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto sent = in.template amount<pm::duration<T>>("communication_s");
    const auto exposed = pm::exposed_time(sent, in.template amount<pm::duration<T>>("window_s"));
    outcome<T> out;
    out.add("exposed_s", "not hidden", exposed);
    out.add("efficiency", "share hidden", pm::overlap_efficiency(sent, exposed));
    out.add("lost", "share of the device lost meanwhile",
            T(in.number("sms_taken") / in.number("sms")));
    return out;
  }
};

struct training_step : law_query {
  static constexpr const char* name = "training_step";
  static constexpr const char* help = "Forward, backward, and gradients sent in buckets meanwhile";
  static constexpr measurable_result measured[] = {time_measured("time_s", held_as::at_least)};
  static std::vector<key> keys() {
    return {amount<pm::duration<>>("forward_s", "of a step"),
            amount<pm::duration<>>("backward_s", "of a step"),
            amount<pm::duration<>>("communication_s", "of all gradients"),
            count("buckets", "1: sent when all is computed", 1.0, 1e9).otherwise("1")};
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
  static constexpr const char* help = "Tiles that are loaded while others are computed";
  static constexpr measurable_result measured[] = {time_measured("time_s", held_as::at_least)};
  static std::vector<key> keys() {
    return {amount<pm::duration<>>("load_s", "of a tile"),
            amount<pm::duration<>>("compute_s", "of a tile"), count("tiles", "in all"),
            positive_amount<pm::bytes<>>("shared_bytes", "of shared memory").otherwise("232448"),
            positive_amount<pm::bytes<>>("tile_bytes", "of a stage").otherwise("32768")};
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
  static constexpr const char* help = "The whole after parts of it changed";
  static constexpr measurable_result measured[] = {time_measured("time_s", held_as::expected)};
  static std::vector<key> keys() {
    return {list_of(share("shares", "of the time, that change")),
            list_of(number("factors", "of their times: 0.5 is twice as quick", 0.0, 1e9)),
            amount<pm::duration<>>("time_s", "of the whole before").otherwise("1")};
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
    out.add("time_ratio", "of the time left", whole.time_ratio);
    out.add("time_s", "time after",
            pm::duration<T>(whole.time_ratio * in.template amount<pm::duration<T>>("time_s")));
    out.add("first_share", "share of the first part after", pm::new_share(parts.front(), whole));
    return out;
  }
};

struct share_of_speedup : law_query {
  static constexpr const char* name = "share_of_speedup";
  static constexpr const char* help =
      "The share that a part must have had: Amdahl's law turned round";
  static std::vector<key> keys() {
    return {
        list_of(number("speedups", "of the whole, of changes to different parts", 1.0, 1e9)),
        number("factor", "how many times quicker the part became", 1.0, 1e15).otherwise("1e15")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    outcome<T> out;
    T removed(0.0);
    const auto all = all_of(in, "speedups");
    for (const T& x : all) removed += pm::removed_share(x);
    out.add("removed", "of the time gone, together", removed);
    out.add("share", "share of the part", pm::share_from_speedup(all.front(), in.number("factor")));
    return out;
  }
};

struct scaling : law_query {
  static constexpr const char* name = "scaling";
  static constexpr const char* help = "What many devices lose against one, and what that costs";
  static constexpr measurable_result measured[] = {
      time_measured("time_with_tax_s", held_as::expected)};
  static std::vector<key> keys() {
    return {
        share("mfu_of_one", "utilisation on one device or few").above_zero().otherwise("1"),
        share("mfu_of_many", "utilisation on all").otherwise("1"),
        amount<pm::duration<>>("time_s", "without the tax, or with it").otherwise("1"),
        number("slowdown", "of the slowest device: 0.1 is a tenth longer", 0.0, 1e6).otherwise("0"),
        number("ranks", "devices", 1.0, 1e9).otherwise("1"),
        number("gain", "in utilisation: 0.01 is one hundredth more", 0.0, 1e6).otherwise("0")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T tax = pm::scaling_tax(in.number("mfu_of_one"), in.number("mfu_of_many"));
    const auto time = in.template amount<pm::duration<T>>("time_s");
    outcome<T> out;
    out.add("tax", "share lost", tax);
    if (in.plain("mfu_of_many") > 0.0) {
      out.add("time_with_tax_s", "time with it", pm::time_with_tax(time, tax));
    }
    out.add("time_without_tax_s", "time without it", pm::time_without_tax(time, tax));
    out.add("straggler_tax", "share lost to the slowest", pm::straggler_tax(in.number("slowdown")));
    out.add("ranks_saved", "devices that the gain is worth",
            pm::ranks_saved(in.number("ranks"), in.number("gain")));
    return out;
  }
};

struct batch_scaling : law_query {
  static constexpr const char* name = "batch_scaling";
  static constexpr const char* help = "Tokens per second of a batch beside those of one sequence";
  static std::vector<key> keys() {
    return {positive_amount<pm::token_rate<>>("rate_of_batch", "tokens per second of the batch"),
            count("batch", "sequences"),
            positive_amount<pm::token_rate<>>("rate_of_one", "tokens per second of one")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto many = in.template amount<pm::token_rate<T>>("rate_of_batch");
    const auto one = in.template amount<pm::token_rate<T>>("rate_of_one");
    outcome<T> out;
    out.add("efficiency", "share of ideal",
            pm::batch_scaling_efficiency(many, in.number("batch"), one));
    out.add("speedup", "times one", T(many / one));
    return out;
  }
};

struct static_batch : law_query {
  static constexpr const char* name = "static_batch";
  static constexpr const char* help = "A batch that waits for its longest sequence";
  static std::vector<key> keys() {
    return {list_of(number("lengths", "tokens of each sequence", 1.0, 1e12))};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const std::vector<T> lengths = all_of(in, "lengths");
    const std::span<const T> all(lengths);
    outcome<T> out;
    out.add("efficiency", "share of the slots used", pm::static_batch_efficiency(all));
    out.add("tail", "share of the time with one sequence", pm::static_batch_tail(all));
    return out;
  }
};

struct achieved : law_query {
  static constexpr const char* name = "achieved";
  static constexpr const char* help = "Rates of a matrix product, from its time";
  static std::vector<key> keys() {
    return {count("m", "rows of A and C"), count("n", "columns of B and C"),
            count("k", "columns of A"), format_key("format", "of all three").otherwise("bf16"),
            positive_amount<pm::duration<>>("time_s", "that was measured")};
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
  static constexpr const char* help =
      "MFU and MBU of what was done in a time, and one from the other";
  static std::vector<key> keys() {
    return {amount<pm::flops<>>("flop", "of the model").otherwise("0"),
            amount<pm::bytes<>>("bytes", "moved").otherwise("0"),
            positive_amount<pm::duration<>>("time_s", "that it took").otherwise("1"),
            positive_amount<pm::flop_rate<>>("flop_per_s", "peak").optional(),
            positive_amount<pm::bandwidth<>>("bytes_per_s", "peak").optional()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const auto time = in.template amount<pm::duration<T>>("time_s");
    const auto bytes = in.template amount<pm::bytes<T>>("bytes");
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
  static constexpr const char* help = "The share of compute that a share of bandwidth leaves";
  static std::vector<key> keys() {
    return {share("mbu", "share of the bandwidth in use").otherwise("1"),
            positive_amount<pm::intensity<>>("flop_per_byte", "of the work").otherwise("1"),
            positive_amount<pm::intensity<>>("ridge_flop_per_byte", "of the machine")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const T use =
        pm::mfu_from_mbu(in.number("mbu"), in.template amount<pm::intensity<T>>("flop_per_byte"),
                         in.template amount<pm::intensity<T>>("ridge_flop_per_byte"));
    outcome<T> out;
    out.add("mfu", "share of peak compute", use);
    out.add("idle", "share idle", T(T(1.0) - use));
    return out;
  }
};

struct speculative_round : law_query {
  static constexpr const char* name = "speculative_round";
  static constexpr const char* help = "A round of speculation from the times of its passes";
  static constexpr measurable_result measured[] = {time_measured("time_s", held_as::expected)};
  static std::vector<key> keys() {
    return {share("acceptance", "of each draft token"),
            count("draft_length", "tokens", 1.0, 4096.0),
            positive_amount<pm::duration<>>("plain_s", "of a pass without drafts").otherwise("1"),
            amount<pm::duration<>>("draft_s", "of one draft token"),
            positive_amount<pm::duration<>>("verify_s", "of the pass that checks").otherwise("1"),
            positive_amount<pm::intensity<>>("ridge_flop_per_byte", "of the machine").optional(),
            format_key("weight_format", "of the checked model").otherwise("bf16")};
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
    out.add("time_s", "a round", pm::round_time(k, s));
    out.add("drafts_s", "its drafts", pm::duration<T>(pm::round_time(k, s) - s.verify));
    out.add("time_per_token_s", "a token",
            pm::duration<T>(pm::time_per_token(emitted, k, s) * pm::lift<T>(pm::token)));
    out.add("speedup", "speed-up", pm::speculative_speedup(emitted, k, s));
    out.add("emitted_tokens", "tokens per pass", T(emitted.quantity().value()));
    out.add("accepted_tokens", "of them drafts", T(accepted.quantity().value()));
    if (in.has("ridge_flop_per_byte")) {
      out.add(
          "batch_limit", "batch at which checking meets the ridge",
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
