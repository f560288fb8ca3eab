#include <algorithm>

#include "deployments.hpp"
#include "io/formats.hpp"
#include "planning.hpp"
#include "service_keys.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

using detail::contradiction;

/// Comma-separated list of names.
key list(const char* name, const char* help) {
  key k = text(name, help).optional();
  k.several = true;
  return k;
}
key percentile(const char* name, const char* help) {
  return number(name, help, 50.0, 99.9).optional();
}

std::vector<key> plan_target_keys() {
  return {
      time_limit("ttft", "TTFT target").optional(),
      percentile("ttft_percentile", "percentile of TTFT for the target --ttft; default: the mean"),
      time_limit("itl", "ITL target").optional(),
      percentile("itl_percentile", "percentile of ITL for the target --itl; default: the mean"),
      time_limit("e2e", "target of the end-to-end latency").optional(),
      percentile("e2e_percentile",
                 "percentile of end-to-end latency for the target --e2e; default: the mean"),
      time_limit(
          "longest_wait",
          "maximum mean queueing time of requests; without --gpus and --ttft the default is 1 s, "
          "with at most 1 % of requests queued for KV memory or a running-request slot")
          .otherwise("60")};
}

/// Keys of what is searched in addition to layouts, replicas and batch sizes.
std::vector<key> choice_keys() {
  key acceptance = number("acceptance",
                          "probability that a draft token is accepted given the preceding ones: "
                          "one value, or one per position; default with mtp: 0.85 (assumed)",
                          0.0, 1.0)
                       .optional();
  acceptance.kind = key_kind::numbers;
  key link = positive("kv_link_bytes_per_s",
                      "one-way bandwidth of each GPU between pools; default: the fabric where it "
                      "joins them, else the host link")
                 .optional();
  link.unit = pm::exponents_of<pm::bandwidth<>>();
  link.alias = "kv-link-bandwidth";
  key prompts =
      list("prefill_accelerator", "additional accelerators for the prefill pool, comma-separated");
  prompts.alias = "prefill-gpu";
  return {list("engine",
               "engines to compare, comma-separated: vllm, sglang, trtllm, none; default: all with "
               "a calibration for the accelerator; for bounds: none"),
          list("weight_format",
               "weight formats to compare, comma-separated; default: the checkpoint's"),
          list("activation_format",
               "activation formats to compare, comma-separated; default: what engines use with the "
               "weights"),
          list("kv_format",
               "KV-cache formats to compare, comma-separated; default: the checkpoint's, or 16-bit "
               "and fp8 with weight_format"),
          list("formats", "another name of weight_format"),
          flag("disaggregated", "also search disaggregated prefill and decode pools")
              .otherwise("false"),
          prompts,
          link,
          count("draft_length",
                "n-gram draft tokens to try, in addition to no speculative decoding", 1.0, 64.0)
              .optional(),
          count("mtp",
                "draft tokens of the model's own MTP heads to try, in addition to no speculative "
                "decoding",
                1.0, 64.0)
              .optional(),
          acceptance};
}

query make_plan_keys() {
  query q;
  q.name = "plan";
  q.help =
      "Deployments that serve a load: the cheapest within the targets, the Pareto front, and the "
      "reasons against the others";
  key accelerators = accelerator_key();
  accelerators.help =
      "accelerators to compare, comma-separated: names listed by `napkin gpus`, or files";
  accelerators.alias = "gpu";
  accelerators.several = true;
  q.keys = {model_key(), accelerators,
            count("gpus", "GPUs available of each accelerator; default: searched up to 1024", 1.0,
                  65536.0)
                .optional()};
  for (key& t : plan_target_keys()) q.keys.push_back(std::move(t));
  for (key& c : choice_keys()) q.keys.push_back(std::move(c));
  for (key& m : reservation_keys()) q.keys.push_back(std::move(m));
  for (key& o : engine_option_keys()) {
    const std::string_view name = o.name;
    if (name.starts_with("lora_") || name == "cuda_graphs") q.keys.push_back(std::move(o));
  }
  for (key& l : load_keys()) q.keys.push_back(std::move(l));
  for (key& k : q.keys) {
    const std::string_view name = k.name;
    if (name == "input_tokens") k = k.otherwise("1024");
    if (name == "output_tokens") k = k.otherwise("256");
    if (name == "concurrency")
      k.help = "requests in flight at all times; default without requests_per_s: 64";
    if (name == "chunk_tokens") {
      k.help =
          "token budget of an engine step; default: the engine's, and 512, 2048 and 8192 with "
          "chunked prefill";
    }
  }
  q.index_keys();
  return q;
}

/// Formats of a list; empty where the request has none.
std::vector<pm::number_format> formats_in(const request& r, const char* name) {
  std::vector<pm::number_format> all;
  if (!r.has(name)) return all;
  for (const auto wanted : split(r.text(name), ',')) {
    const auto known = find_format(wanted);
    if (!known) {
      throw pm::error(pm::error_code::unknown_name,
                      cat(name, " has ", in_quotes(wanted), "; allowed: ", format_names()));
    }
    all.push_back(*known);
  }
  return all;
}

/// "fp8 x bf16 + fp8 KV": each combination of formats in a request has its own name.
void rename(pm::plan_precision& p) {
  std::string name(pm::detail::precision_name(p.weights, pm::bf16).view());
  if (p.activations != p.weights.linear.format) name += cat(" x ", pm::name_of(p.activations));
  p.name = pm::label::shortened(cat(name, " + ", pm::name_of(p.kv.format), " KV"));
}

/// Each precision with each listed format; the list may be empty.
template <class Set>
std::vector<pm::plan_precision> with_each(const std::vector<pm::plan_precision>& all,
                                          const std::vector<pm::number_format>& formats,
                                          const Set& set) {
  if (formats.empty()) return all;
  std::vector<pm::plan_precision> out;
  for (pm::plan_precision p : all) {
    for (const pm::number_format f : formats) {
      set(p, f);
      rename(p);
      const bool known = std::any_of(out.begin(), out.end(), [&](const pm::plan_precision& x) {
        return x.name == p.name && x.only_engine == p.only_engine &&
               x.only_accelerator == p.only_accelerator &&
               x.weights.linear.format == p.weights.linear.format;
      });
      if (!known) out.push_back(p);
    }
  }
  return out;
}

/// Precisions with the activation and KV-cache formats of a request.
std::vector<pm::plan_precision> with_asked(const std::vector<pm::plan_precision>& all,
                                           const request& r) {
  const auto activated =
      with_each(all, formats_in(r, "activation_format"), [](auto& p, pm::number_format f) {
        p.activations = f;
        p.expert_activations.reset();
      });
  return with_each(activated, formats_in(r, "kv_format"),
                   [](auto& p, pm::number_format f) { p.kv = f; });
}

/// Precisions of the requested weight formats.
std::vector<pm::plan_precision> with_weights(std::vector<pm::plan_precision> all,
                                             const std::vector<pm::number_format>& weights) {
  std::erase_if(all, [&](const pm::plan_precision& p) {
    return std::find(weights.begin(), weights.end(), p.weights.linear.format) == weights.end();
  });
  for (const pm::number_format f : weights) {
    const auto known = [&](const pm::plan_precision& p) { return p.weights.linear.format == f; };
    if (std::any_of(all.begin(), all.end(), known)) continue;
    const pm::number_format wide = pm::bits_of(f) >= 16.0 ? f : pm::bf16;
    all.push_back({pm::label(pm::name_of(f)), {f, wide}, f, wide});
  }
  return all;
}

/// The checkpoint's precisions, or those of the requested weight formats.
std::vector<pm::plan_precision> precisions_of(const found_model& found, const request& r,
                                              const pm::plan_request& q, bool predicted) {
  std::vector<pm::plan_precision> all =
      pm::checkpoint_precisions(q, found.stored, found.kv, predicted);
  if (r.has("formats") && r.has("weight_format"))
    contradiction("formats is another name of weight_format; give one of them");
  std::vector<pm::number_format> weights = formats_in(r, "formats");
  if (weights.empty()) weights = formats_in(r, "weight_format");
  if (!weights.empty()) {
    if (found.stored.linear.bits() >= 16.0 && found.stored.experts.bits() >= 16.0) all.clear();
    for (const pm::plan_precision& p : pm::common_precisions()) all.push_back(p);
    all = with_weights(std::move(all), weights);
  }
  return with_asked(all, r);
}

std::vector<pm::engine> engines_in(const request& r) {
  std::vector<pm::engine> all;
  if (!r.has("engine")) return all;
  for (const auto name : split(r.text("engine"), ',')) {
    const auto e = pm::find_engine(name);
    if (!e) {
      throw pm::error(pm::error_code::unknown_name,
                      cat("engine is ", in_quotes(name), "; allowed: none, vllm, sglang, trtllm"));
    }
    if (std::find(all.begin(), all.end(), *e) == all.end()) all.push_back(*e);
  }
  return all;
}

/// Speculative decoding variants to try in addition to none.
std::vector<pm::speculation> drafts_in(inputs<double>& in, const pm::transformer& m) {
  auto s = detail::drafted_tokens(in, m, m.name.view());
  if (!s) {
    if (in.has("acceptance"))
      in.missing("draft_length", "acceptance needs draft tokens; or give mtp");
    return {};
  }
  detail::add_acceptance(in, *s);
  return {*s};
}

void set_targets(const request& r, pm::plan_request& q) {
  const auto target = [&](const char* name, std::optional<pm::latency_target>& within) {
    const std::string of = cat(name, "_percentile");
    if (r.has(name)) within = {r.number(name) * pm::second, {}};
    if (!r.has(of)) return;
    if (!within) missing_key(r.asked(), name, cat(of, " is a percentile of it"));
    within->share = std::min(r.number(of) / 100.0, 0.999);  // 99.9 / 100 is above it
  };
  target("ttft", q.targets.ttft);
  target("itl", q.targets.itl);
  target("e2e", q.targets.e2e);
  if (q.targets.itl && !(q.load.output_tokens > 1.0)) {
    throw error(error_code::inconsistent,
                "output_tokens is 1, and itl is a target: one token has no inter-token latency; "
                "allowed: targets of ttft or e2e");
  }
  q.max_queueing_time = r.number("longest_wait") * pm::second;
  if (r.has("gpus") || !limits_queue(r)) return;
  const plan_queue_limits limits;
  q.queued_limit = limits.share;
  q.max_queueing_time = limits.wait;
}

}  // namespace

const query& plan_keys() {
  static const query q = make_plan_keys();
  return q;
}

bool limits_queue(const request& r) {
  return !r.has("ttft") && !r.at("longest_wait").given;
}

std::vector<pm::plan_precision> other_precisions_of(const request& r, const pm::plan_request& q) {
  std::vector<pm::plan_precision> others;
  if (r.has("formats") || r.has("weight_format")) return others;
  const auto own = [&](const pm::plan_precision& p) {
    return std::any_of(q.precisions.begin(), q.precisions.end(), [&](const auto& x) {
      const pm::number_format a = x.weights.linear.format, b = p.weights.linear.format;
      return a == b || (pm::bits_of(a) == 16.0 && pm::bits_of(b) == 16.0);
    });
  };
  for (const pm::plan_precision& p : pm::common_precisions()) {
    if (!own(p)) others.push_back(p);
  }
  return with_asked(others, r);
}

std::vector<found_accelerator> prefill_accelerators_of(const request& r) {
  if (r.has("prefill_accelerator") && !r.flag("disaggregated"))
    contradiction(
        "prefill_accelerator is an accelerator of the prefill pool; it needs disaggregated");
  return r.prefill_accelerators();
}

pm::plan_request plan_request_of(const request& r, const std::vector<found_accelerator>& on,
                                 const std::vector<found_accelerator>& prefill_on, bool predicted) {
  const found_model& found = find_model(r.text("model"));
  require_target(found, r.text("model"));
  if (!r.has("formats") && !r.has("weight_format")) found.require_storage(r.text("model"));
  pm::plan_request q;
  for (const found_accelerator& a : on) q.accelerators.push_back(*a);
  q.model = found.model;
  if (r.has("gpus")) q.gpus = r.whole("gpus");
  inputs<double> in(r);
  q.load = load_of(in);
  if (q.load.is_closed() && !r.has("concurrency")) {
    auto& loop = std::get<pm::closed_loop>(q.load.arrivals);
    loop.concurrency = std::min(64.0, loop.requests.value_or(64.0));
  }
  set_targets(r, q);
  const auto bytes_in = [&](const char* name) -> std::optional<pm::bytes<>> {
    if (!r.has(name)) return {};
    return pm::bytes<>::from_value(r.number(name));
  };
  if (r.has("utilization")) q.utilization = r.number("utilization");
  q.activation_bytes = bytes_in("activation_bytes");
  q.runtime_bytes = bytes_in("runtime_bytes");
  if (r.has("chunk_tokens")) q.limits.tokens = r.number("chunk_tokens");
  if (r.has("max_sequences")) q.limits.sequences = r.number("max_sequences");
  q.engines = engines_in(r);
  pm::deployment options{.model = q.model};
  if (q.engines.size() == 1) options.serving_engine = q.engines[0];
  read_engine_options(in, options);
  q.lora = options.lora;
  q.lora_experts_by_engine = options.lora && q.engines.size() != 1 && !r.has("lora_experts") &&
                             experts_of(q.model).has_value();
  q.prefix_caching = options.prefix_caching;
  q.cuda_graphs = options.cuda_graphs;
  q.precisions = precisions_of(found, r, q, predicted);
  q.speculations = drafts_in(in, q.model);
  if (r.has("kv_link_bytes_per_s") && !r.flag("disaggregated"))
    contradiction("kv_link_bytes_per_s is the link between pools; it needs disaggregated");
  if (r.flag("disaggregated")) {
    q.pools.emplace();
    for (const found_accelerator& a : prefill_on) q.pools->prefill_accelerators.push_back(*a);
    if (r.has("kv_link_bytes_per_s")) {
      q.pools->link = pm::cache_link{
          .bandwidth_per_device = pm::bandwidth<>::from_value(r.number("kv_link_bytes_per_s"))};
    }
  }
  return q;
}

}  // namespace napkin
