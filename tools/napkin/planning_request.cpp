#include <algorithm>

#include "deployments.hpp"
#include "planning.hpp"
#include "service_keys.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

using detail::contradiction;

/// A list of names with commas.
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
      time_limit("ttft", "longest time to first token").optional(),
      percentile("ttft_percentile", "of requests that are within ttft; the mean, where not given"),
      time_limit("itl", "longest inter-token latency").optional(),
      percentile("itl_percentile", "of gaps that are within itl; the mean, where not given"),
      time_limit("e2e", "longest time of a whole request").optional(),
      percentile("e2e_percentile", "of requests that are within e2e; the mean, where not given"),
      time_limit(
          "longest_wait",
          "maximum mean waiting time of requests; where the number of GPUs is searched without "
          "ttft: 1 s, with at most 1 % of requests queued for KV memory or a running-request "
          "slot")
          .otherwise("60")};
}

/// What may be tried beside layouts, copies and batches.
std::vector<key> choice_keys() {
  key acceptance =
      number("acceptance",
             "probability that a draft token is kept, given those before it: one, or one for each "
             "position; of mtp 0.85 is assumed, where not given",
             0.0, 1.0)
          .optional();
  acceptance.kind = key_kind::numbers;
  key link =
      positive("kv_link_bytes_per_s",
               "of each GPU, between pools; where not given, the fabric where it joins them, "
               "else the link to the host")
          .optional();
  link.unit = pm::exponents_of<pm::bandwidth<>>();
  link.alias = "kv-link-bandwidth";
  key prompts =
      list("prefill_accelerator",
           "kinds of chip that pools compute prompts on too, beside the accelerator that decodes, "
           "with commas");
  prompts.alias = "prefill-gpu";
  return {
      list("engine",
           "vllm, sglang, trtllm or none, with commas; where not given, all that run on the "
           "accelerator, and of a bound none"),
      list("weight_format",
           "formats of the weights to try, with commas; the checkpoint's own, where not given"),
      list("activation_format",
           "formats of the operands beside the weights, with commas; what engines take with the "
           "weights, where not given"),
      list("kv_format",
           "formats of the KV cache, with commas; where not given, the checkpoint's own, or 16-bit "
           "and fp8 with weight_format"),
      list("formats", "as weight_format"),
      flag("disaggregated", "try pools too: prompts on some copies, answers on others")
          .otherwise("false"),
      prompts,
      link,
      count("draft_length", "tokens of an n-gram draft, tried beside none", 1.0, 64.0).optional(),
      count("mtp", "tokens that the model's own heads draft, tried beside none", 1.0, 64.0)
          .optional(),
      acceptance};
}

query make_plan_keys() {
  query q;
  q.name = "plan";
  q.help = "Which deployments serve a load, and which of them are worth having";
  key accelerators = accelerator_key();
  accelerators.help = "one, or several with commas: names that `napkin gpus` lists, files";
  accelerators.alias = "gpu";
  accelerators.several = true;
  q.keys = {model_key(), accelerators,
            count("gpus",
                  "number of GPUs, of each accelerator; where not given, it is searched up to 1024",
                  1.0, 65536.0)
                .optional()};
  for (key& t : plan_target_keys()) q.keys.push_back(std::move(t));
  for (key& c : choice_keys()) q.keys.push_back(std::move(c));
  for (key& m : reservation_keys()) q.keys.push_back(std::move(m));
  for (key& l : load_keys()) q.keys.push_back(std::move(l));
  for (key& k : q.keys) {
    const std::string_view name = k.name;
    if (name == "input_tokens") k = k.otherwise("1024");
    if (name == "output_tokens") k = k.otherwise("256");
    if (name == "concurrency") k.help = "requests at all times; 64, without requests_per_s too";
    if (name == "chunk_tokens") {
      k.help =
          "prompt tokens in one pass at most; where not given, the engine's budget, and 512, "
          "2048 and 8192 where it cuts prompts";
    }
  }
  return q;
}

/// The formats of a list; empty where the request has none.
std::vector<pm::number_format> formats_in(const request& r, const char* name) {
  std::vector<pm::number_format> all;
  if (!r.has(name)) return all;
  for (const auto wanted : split(r.text(name), ',')) {
    const auto known = std::find_if(pm::all_formats.begin(), pm::all_formats.end(),
                                    [&](pm::number_format f) { return pm::name_of(f) == wanted; });
    if (known == pm::all_formats.end()) {
      std::vector<std::string_view> names;
      for (const auto f : pm::all_formats) names.push_back(pm::name_of(f));
      throw pm::error(pm::error_code::unknown_name,
                      cat(name, " has ", in_quotes(wanted), "; allowed: ", listed(names)));
    }
    all.push_back(*known);
  }
  return all;
}

/// "fp8 x bf16 + fp8 KV": where a request sets formats apart, each combination has a name of its own.
void rename(pm::plan_precision& p) {
  std::string name(pm::detail::precision_name(p.weights, pm::bf16).view());
  if (p.activations != p.weights.linear.format) name += cat(" x ", pm::name_of(p.activations));
  p.name = pm::label::shortened(cat(name, " + ", pm::name_of(p.kv.format), " KV"));
}

/// Each precision with each of the formats, of which the list may be empty.
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

/// Those with the activation and KV-cache formats of a request.
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

/// The precisions of the weight formats that a request asks for.
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

/// The checkpoint's own precisions or, where the request asks for formats of the weights, those.
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

/// The drafts that are tried beside none.
std::vector<pm::speculation> drafts_in(inputs<double>& in, const pm::transformer& m) {
  auto s = detail::drafted_tokens(in, m, m.name.view());
  if (!s) {
    if (in.has("acceptance")) in.missing("draft_length", "acceptance is of drafts; or mtp");
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
    if (!within) missing_key(r.asked(), name, cat(of, " is of it"));
    within->share = std::min(r.number(of) / 100.0, 0.999);  // 99.9 / 100 is above it
  };
  target("ttft", q.targets.ttft);
  target("itl", q.targets.itl);
  target("e2e", q.targets.e2e);
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
    contradiction("prefill_accelerator is of pools; it needs disaggregated");
  return r.prefill_accelerators();
}

pm::plan_request plan_request_of(const request& r, const std::vector<found_accelerator>& on,
                                 const std::vector<found_accelerator>& prefill_on, bool predicted) {
  const found_model& found = find_model(r.text("model"));
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
  q.precisions = precisions_of(found, r, q, predicted);
  q.speculations = drafts_in(in, q.model);
  if (r.has("kv_link_bytes_per_s") && !r.flag("disaggregated"))
    contradiction("kv_link_bytes_per_s is between pools; it needs disaggregated");
  if (r.flag("disaggregated")) {
    q.pools.emplace();
    for (const found_accelerator& a : prefill_on) q.pools->prefill_accelerators.push_back(*a);
    if (r.has("kv_link_bytes_per_s")) {
      q.pools->link = {.per_device = pm::bandwidth<>::from_value(r.number("kv_link_bytes_per_s"))};
    }
  }
  return q;
}

}  // namespace napkin
