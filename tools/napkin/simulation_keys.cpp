// Keys of `simulate`, and the service and workload that they state.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "deployments.hpp"
#include "service_keys.hpp"
#include "simulation.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

std::vector<std::string_view> scheduler_names() {
  std::vector<std::string_view> names;
  for (const pm::scheduler_settings* s : pm::schedulers::all) names.emplace_back(s->name);
  return names;
}

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names = {"auto"};
  names.insert(names.end(), std::begin(trace_formats), std::end(trace_formats));
  return names;
}

key duration_key(const char* name, const char* help) {
  key k = number(name, help, 0.0, 1e12);
  k.unit = pm::exponents_of<pm::duration<>>();
  return k;
}
key bandwidth_key(const char* name, const char* help) {
  key k = positive(name, help);
  k.unit = pm::exponents_of<pm::bandwidth<>>();
  return k;
}

/// A key of `serving`, where it means the same in a simulation.
key key_of_load(std::string_view name) {
  for (key& k : load_keys()) {
    if (name == k.name) return k;
  }
  throw std::logic_error("no such key of a load");
}

std::vector<key> arrival_keys() {
  key budget = key_of_load("chunk_tokens");
  budget.alias = "token_budget";
  return {
      key_of_load("input_tokens").optional(),
      key_of_load("output_tokens").optional(),
      count("concurrency",
            "clients that each send the next request when the last one is completed; with a trace: "
            "its largest number of requests in flight",
            1.0, 1e6)
          .optional(),
      positive("requests_per_s",
               "arrival rate, whatever is completed; with a trace: in place of its arrivals", 1e9)
          .optional(),
      text("trace", "file of recorded requests, in place of generated ones; plain or gzip")
          .optional(),
      word("trace_format", "format of the trace; auto: by its content", format_names())
          .otherwise("auto"),
      text("trace_run", "value of the column `run`, of a trace with several runs").optional(),
      text("trace_arrivals", "column of arrival times, of a trace with several: planned_s")
          .optional(),
      flag("skip_empty", "skips requests of a trace with a length of 0").otherwise("false"),
      positive("rate_scale", "factor of the recorded arrival rate of a trace", 1e6).otherwise("1"),
      flag("all_at_once", "all requests are sent at the start").otherwise("false"),
      count("requests", "number of requests; default: 1000, or all of a trace", 1.0,
            most_simulated_requests)
          .optional(),
      count("warm_up", "first requests that no figure counts", 0.0, 1e8).otherwise("0"),
      key_of_load("arrival_cv"),
      count("arrivals_per_burst", "requests that arrive at the same time", 1.0, 1e6).otherwise("1"),
      key_of_load("input_cv"),
      key_of_load("output_cv"),
      key_of_load("workload"),
      key_of_load("prefix_hit"),
      shared_keys()[0],
      shared_keys()[1],
      count("turns", "requests of a conversation; each prompt has the whole history", 1.0, 1e6)
          .otherwise("1"),
      count("new_tokens", "tokens that each later turn adds to its history; default: input_tokens")
          .optional(),
      duration_key("think_time_s",
                   "mean time from a completion to the next request of the same client or "
                   "conversation")
          .otherwise("0"),
      budget};
}

std::vector<key> scheduler_keys() {
  return {
      word("scheduler", "scheduler by engine and version; default: the engine's latest",
           scheduler_names())
          .optional(),
      flag("chunked_prefill", "prompts may be divided over engine steps; default: the scheduler's")
          .optional(),
      flag("prefix_caching", "prefix cache (radix cache); default: the scheduler's").optional(),
      flag("asynchronous",
           "a step is scheduled while the step before it runs; default: the scheduler's")
          .optional(),
      number("conservativeness", "SGLang's schedule_conservativeness; default 1", 0.0, 10.0)
          .optional(),
      word("capacity_policy", "TensorRT-LLM's capacity policy; default guaranteed_no_evict",
           {"guaranteed_no_evict", "max_utilization"})
          .optional(),
      word("chunk_order",
           "TensorRT-LLM's division of the token budget; default first_come_first_served",
           {"first_come_first_served", "equal_progress"})
          .optional(),
      count("batching_wait_iterations",
            "TensorRT-LLM: engine steps that prefills wait for more prefills; default 0", 0.0, 1e6)
          .optional()};
}

std::vector<key> service_keys_of_simulation() {
  return {
      word("router", "choice of the replica for a request",
           {"round_robin", "least_loaded", "power_of_two", "prefix_aware"})
          .otherwise("round_robin"),
      degree("min_replicas", "autoscaling: least number of replicas").optional(),
      degree("max_replicas", "autoscaling: largest number of replicas").optional(),
      positive("requests_per_replica",
               "autoscaling: requests in the service per replica; default 64", 1e9)
          .optional(),
      duration_key("start_up_s", "autoscaling: start-up time of a replica; default 60 s")
          .optional(),
      duration_key("cool_down_s",
                   "autoscaling: time with too many replicas until one drains; default 300 s")
          .optional(),
      amount_of_bytes("host_cache_bytes", "host memory for evicted prefixes, per replica")
          .optional(),
      amount_of_bytes("disk_cache_bytes", "disk for evicted prefixes, per replica").optional(),
      bandwidth_key("host_link_bytes_per_s",
                    "bandwidth from host memory to each GPU; default: the accelerator's host link")
          .optional(),
      bandwidth_key("disk_bytes_per_s", "bandwidth of the disk of a replica; default 6 GB/s")
          .optional(),
      flag("fetch_overlaps", "other requests run while a prefix is fetched; default true")
          .optional(),
      count("seed", "seed of the random numbers", 0.0, 1e15).otherwise("1"),
      count("seeds", "number of runs, each with the next seed: means and standard errors", 1.0,
            1000.0)
          .otherwise("1")};
}

// --- service --------------------------------------------------------------------------------

/// Throws inconsistent where a key that only one kind of scheduler has is given for another.
void check_kind(const inputs<double>& in, const pm::scheduler_settings& s) {
  using kind = pm::scheduler_kind;
  const auto only = [&](const char* name, kind of, const char* engine) {
    if (!in.given(name) || s.kind == of) return;
    detail::contradiction(cat("scheduler is ", s.name, "; ", name, " is a setting of ", engine));
  };
  only("conservativeness", kind::sglang, "SGLang");
  only("capacity_policy", kind::trtllm, "TensorRT-LLM");
  only("chunk_order", kind::trtllm, "TensorRT-LLM");
  only("batching_wait_iterations", kind::trtllm, "TensorRT-LLM");
  if (s.kind != kind::static_batches) return;
  for (const char* name : {"chunk_tokens", "chunked_prefill", "prefix_caching", "asynchronous"}) {
    if (in.given(name))
      detail::contradiction(cat(name, " is given, and the scheduler is ", s.name,
                                ", which runs whole batches of prompts"));
  }
}

pm::scheduler_settings scheduler_settings_of(const inputs<double>& in, const pm::deployment& d) {
  pm::scheduler_settings s = pm::scheduler_of(d);
  if (in.has("scheduler")) {
    const pm::scheduler_settings limits = s;
    s = *pm::find_scheduler(in.text("scheduler"));
    if (s.kind == limits.kind) {
      s.token_budget = limits.token_budget;
      s.max_running = limits.max_running;
    }
    if (in.has("chunk_tokens")) s.token_budget = in.whole("chunk_tokens");
  }
  const bool drafts = in.has("draft_length") || in.has("mtp");
  if (in.has("max_sequences")) {
    s.max_running = pm::max_running_of(d, in.whole("max_sequences"));
  } else if (drafts && s.kind == pm::scheduler_kind::sglang) {
    s.max_running = pm::max_running_of(d, pm::sglang_speculative_requests);
  }
  check_kind(in, s);
  if (in.has("chunked_prefill")) s.chunked_prefill = in.flag("chunked_prefill");
  if (in.has("prefix_caching")) s.prefix_caching = in.flag("prefix_caching");
  if (in.has("asynchronous")) s.asynchronous = in.flag("asynchronous");
  if (in.has("conservativeness")) s.conservativeness = in.plain("conservativeness");
  if (in.has("capacity_policy") && in.text("capacity_policy") == "max_utilization")
    s.capacity = pm::capacity_policy::max_utilization;
  if (in.has("chunk_order") && in.text("chunk_order") == "equal_progress")
    s.order = pm::chunk_order::equal_progress;
  if (in.has("batching_wait_iterations"))
    s.batching_wait_iterations = in.whole("batching_wait_iterations");
  return s;
}

std::optional<pm::autoscaling> scaling_of(const inputs<double>& in, bool pools) {
  const auto scales = {"min_replicas", "max_replicas", "requests_per_replica", "start_up_s",
                       "cool_down_s"};
  if (!detail::any_given(in, scales)) return {};
  if (!in.has("max_replicas"))
    in.missing("max_replicas", "autoscaling needs the largest number of replicas");
  if (pools) detail::contradiction("autoscaling is simulated in one pool only");
  const bool data_is_replicas = in.whole("expert_parallel") <= in.whole("tensor_parallel");
  for (const char* name : {"replicas", "data_parallel"}) {
    if (in.given(name) && (data_is_replicas || std::string_view(name) == "replicas"))
      detail::contradiction(
          cat(name, " is a fixed number of replicas; with autoscaling give max_replicas"));
  }
  pm::autoscaling s;
  s.most = in.whole("max_replicas");
  if (in.has("min_replicas")) s.least = in.whole("min_replicas");
  if (s.least > s.most)
    detail::contradiction(cat("min_replicas is ", s.least, " and max_replicas is ", s.most,
                              "; allowed: at most max_replicas"));
  if (in.has("requests_per_replica")) s.requests_per_replica = in.plain("requests_per_replica");
  if (in.has("start_up_s")) s.start_up = in.plain("start_up_s");
  if (in.has("cool_down_s")) s.cool_down = in.plain("cool_down_s");
  return s;
}

pm::cache_tiers tiers_of(const inputs<double>& in, const pm::scheduler_settings& s) {
  pm::cache_tiers t;
  if (!in.has("host_cache_bytes")) {
    for (const char* name :
         {"disk_cache_bytes", "host_link_bytes_per_s", "disk_bytes_per_s", "fetch_overlaps"}) {
      if (in.given(name))
        in.missing("host_cache_bytes", cat(name, " belongs to a cache in host memory"));
    }
    return t;
  }
  if (!s.prefix_caching)
    detail::contradiction(
        "host_cache_bytes caches prefixes, and prefix_caching is false; allowed: with a prefix "
        "cache");
  t.host = in.plain("host_cache_bytes") * pm::byte;
  if (in.has("disk_cache_bytes")) t.disk = in.plain("disk_cache_bytes") * pm::byte;
  if (in.has("host_link_bytes_per_s"))
    t.host_bandwidth = pm::bandwidth<>::from_value(in.plain("host_link_bytes_per_s"));
  if (in.has("disk_bytes_per_s"))
    t.disk_bandwidth = pm::bandwidth<>::from_value(in.plain("disk_bytes_per_s"));
  if (in.given("fetch_overlaps")) t.overlaps = in.flag("fetch_overlaps");
  return t;
}

// --- workload -------------------------------------------------------------------------------

std::string requests_text(double n) {
  return cat(n, n == 1.0 ? " request" : " requests");
}

/// Arrivals of generated requests; sets the description.
auto arrivals_of_simulation(const inputs<double>& in, simulated_load& l)
    -> decltype(pm::workload{}.arrivals) {
  const bool closed = in.has("concurrency"), open = in.has("requests_per_s");
  const bool at_once = in.flag("all_at_once");
  if (int(closed) + int(open) + int(at_once) > 1)
    detail::contradiction("give one of concurrency, requests_per_s and all_at_once");
  if (!closed && !open && !at_once)
    in.missing("concurrency", "or requests_per_s, all_at_once or a trace");
  if (!open) {
    for (const char* name : {"arrival_cv", "arrivals_per_burst"}) {
      if (in.given(name))
        detail::contradiction(cat(name, " is a property of requests_per_s; ",
                                  closed ? "a concurrency" : "all_at_once",
                                  " has no arrival process"));
    }
  }
  if (at_once) {
    l.description += ", all at once";
    return pm::all_at_once{};
  }
  if (closed) {
    l.description += cat(" at a concurrency of ", in.whole("concurrency"));
    return pm::closed_clients{.concurrency = in.whole("concurrency"),
                              .think_time = in.plain("think_time_s")};
  }
  l.offered_requests_per_s = in.plain("requests_per_s");
  l.description += cat(" at ", in.plain("requests_per_s"), " req/s");
  return pm::open_arrivals{.requests_per_s = in.plain("requests_per_s"),
                           .cv = in.plain("arrival_cv"),
                           .requests_per_arrival = in.whole("arrivals_per_burst")};
}

std::optional<pm::conversations> sessions_of(const inputs<double>& in) {
  const int turns = in.whole("turns");
  if (turns <= 1) {
    if (in.given("new_tokens"))
      in.missing("turns", "new_tokens are those of the turns after the first");
    if (in.plain("think_time_s") > 0.0 && !in.has("concurrency"))
      in.missing("turns", "think_time_s is between the turns of a conversation");
    return {};
  }
  pm::conversations c;
  c.turns = pm::length_distribution::fixed(turns);
  const double added = in.plain(in.has("new_tokens") ? "new_tokens" : "input_tokens");
  c.new_tokens = pm::length_distribution::lognormal(added, in.plain("input_cv"));
  c.think_time = in.plain("think_time_s");
  return c;
}

void add_shared(inputs<double>& in, pm::workload& w) {
  double all = 0.0;
  for (const auto& level : shared_of(in)) {
    w.shared.push_back(level);
    all += level.tokens;
  }
  if (w.shared.empty()) return;
  if (in.given("prefix_hit"))
    detail::contradiction(
        "give one of prefix_hit and shared_tokens; the simulated cache determines the hits of "
        "shared_tokens");
  if (all >= in.plain("input_tokens"))
    detail::contradiction(cat("shared_tokens is ", all, " and input_tokens is ",
                              in.plain("input_tokens"), "; allowed: less than input_tokens"));
}

simulated_load load_of_file(const trace_file_options& options, const std::string& path) {
  simulated_load l;
  auto file = std::make_shared<trace_file>(read_trace_file(path, options));
  const auto& requests = file->workload.requests;
  double tokens = 0.0;
  for (const pm::trace_request& r : requests) tokens += double(r.input_tokens) + r.output_tokens;
  const auto n = static_cast<double>(requests.size());
  if (n > 0.0) l.typical_tokens = tokens / n;
  l.description = cat(requests_text(n), " of a trace (", file->report.format, ")");
  l.trace = std::move(file);
  return l;
}

/// The replay of a trace. Throws inconsistent for keys of generated requests.
simulated_load replayed_load_of(const inputs<double>& in) {
  for (const char* name :
       {"input_tokens", "output_tokens", "input_cv", "output_cv", "prefix_hit", "shared_tokens",
        "shared_prefixes", "turns", "new_tokens", "think_time_s", "arrivals_per_burst",
        "all_at_once", "workload", "images", "image_tokens", "image_patches"}) {
    if (in.given(name))
      detail::contradiction(cat(name, " is of generated requests, and trace is given; give one"));
  }
  trace_file_options options{.format = std::string(in.text("trace_format")),
                             .skip_empty = in.flag("skip_empty")};
  if (in.has("trace_run")) options.run = std::string(in.text("trace_run"));
  if (in.has("trace_arrivals")) options.arrival_column = std::string(in.text("trace_arrivals"));
  simulated_load l = load_of_file(options, std::string(in.text("trace")));
  pm::replay_options& o = l.replay;
  o.rate_factor = in.plain("rate_scale");
  if (in.has("requests")) {
    o.first_requests = static_cast<std::int64_t>(in.plain("requests"));
    l.description = cat("the first ", o.first_requests, " of ", l.description);
  }
  if (in.has("concurrency")) o.in_flight_limit = in.whole("concurrency");
  if (in.has("requests_per_s")) {
    if (in.given("rate_scale")) detail::contradiction("give one of requests_per_s and rate_scale");
    o.requests_per_s = in.plain("requests_per_s");
    o.arrival_cv = in.plain("arrival_cv");
    l.offered_requests_per_s = o.requests_per_s;
  } else if (in.given("arrival_cv")) {
    detail::contradiction("arrival_cv is a property of requests_per_s; the trace has arrivals");
  }
  if (o.rate_factor != 1.0) l.description += cat(", ", o.rate_factor, " times as fast");
  return l;
}

simulated_load generated_load_of(inputs<double>& in) {
  for (const char* name :
       {"trace_format", "trace_run", "trace_arrivals", "skip_empty", "rate_scale"}) {
    if (in.given(name)) in.missing("trace", cat(name, " is a property of a trace"));
  }
  for (const char* name : {"input_tokens", "output_tokens"}) {
    if (!in.has(name))
      in.missing(name, cat("mean ", name[0] == 'i' ? "prompt" : "output", " length; or a trace"));
  }
  pm::workload w;
  w.requests = in.has("requests") ? static_cast<std::int64_t>(in.plain("requests")) : 1000;
  simulated_load l;
  l.description = requests_text(static_cast<double>(w.requests));
  w.input = pm::length_distribution::lognormal(prompt_tokens(in), in.plain("input_cv"));
  if (in.plain("images") > 0.0) l.description += cat(" with ", in.plain("images"), " images each");
  w.output = pm::length_distribution::lognormal(in.plain("output_tokens"), in.plain("output_cv"));
  w.arrivals = arrivals_of_simulation(in, l);
  w.sessions = sessions_of(in);
  if (w.sessions) {
    if (in.given("prefix_hit"))
      detail::contradiction(
          "give one of prefix_hit and turns; the simulated cache determines the "
          "hits of conversations");
    l.description += cat(" in conversations of ", in.whole("turns"), " turns");
    l.offered_requests_per_s *= in.whole("turns");
    if (auto* closed = std::get_if<pm::closed_clients>(&w.arrivals)) closed->think_time = 0.0;
  }
  add_shared(in, w);
  w.prefix_hit = in.plain("prefix_hit");
  l.typical_tokens = w.input.mean + w.output.mean;
  l.generated = std::move(w);
  return l;
}

}  // namespace

std::vector<key> simulation_keys() {
  std::vector<key> k = {model_key(), accelerator_key()};
  const auto append = [&k](std::vector<key> more) {
    for (key& one : more) k.push_back(std::move(one));
  };
  append(replica_keys("replicas behind the router"));
  append(arrival_keys());
  append(image_keys());
  append(storage_keys());
  append(reservation_keys());
  append(engine_option_keys());
  k.push_back(cuda_graph_tokens_key());
  k.push_back(engine_key());
  k.push_back(engine_version_key());
  append(scheduler_keys());
  append(draft_keys());
  append(pool_keys());
  append(service_keys_of_simulation());
  for (key& target : target_keys()) {
    if (std::string_view(target.name) != "limit_share") k.push_back(std::move(target));
  }
  return k;
}

simulated_service simulated_service_of(inputs<double>& in) {
  simulated_service s;
  pm::simulation_options& o = s.options;
  if (has_pools(in)) {
    s.pools = pools_of(in);
    s.one = s.pools->decode.deployment;
  } else {
    const replica_count n = replicas_of(in);
    s.one = deployment_of(in, n.groups);
    reserve_memory(in, s.one);
    for (const auto r : {pm::engine_release::vllm_0_10, pm::engine_release::vllm_0_14,
                         pm::engine_release::vllm_0_24}) {
      if (in.has("scheduler") && in.text("scheduler") == pm::name_of(r) &&
          !states(in, "engine_version"))
        s.one.release = r;
    }
    if (n.groups > 1 && s.one.layout.pipeline > 1)
      detail::contradiction(cat("data_parallel is ", n.groups, " and pipeline_parallel is ",
                                s.one.layout.pipeline, "; allowed: one of the two above 1"));
    o.speculate = speculation_of(in, s.one);
    o.replicas = static_cast<int>(n.replicas);
  }
  o.scheduler = scheduler_settings_of(in, s.one);
  o.router = *pm::find_routing(in.text("router"));
  o.scaling = scaling_of(in, s.pools.has_value());
  o.tiers = tiers_of(in, *o.scheduler);
  if (in.has("ttft_limit_s")) o.ttft_limit = in.plain("ttft_limit_s") * pm::second;
  if (in.has("itl_limit_s")) o.itl_limit = in.plain("itl_limit_s") * pm::second;
  o.warm_up = static_cast<std::int64_t>(in.plain("warm_up"));
  return s;
}

simulated_load load_of_trace(const std::string& path, const std::string& format) {
  return load_of_file({.format = format}, path);
}

simulated_load simulated_load_of(inputs<double>& in) {
  return in.has("trace") ? replayed_load_of(in) : generated_load_of(in);
}

}  // namespace napkin
