// What a request for a service says beside one deployment and its load: drafts, pools, targets.
#pragma once

#include <optional>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/text.hpp>

#include "deployments.hpp"

namespace napkin {

/// draft_length, acceptance, mtp, drafter, draft_model.
std::vector<key> draft_keys();
/// Of both pools of a disaggregated service, and the link between them.
std::vector<key> pool_keys();
/// ttft_limit_s, itl_limit_s and limit_share.
std::vector<key> target_keys();

/// Keys of a load that a request gives and its bound leaves out: what only makes a service slower.
std::vector<std::string> left_out_of_bound(const request& r, bool pools);

/// What draft tokens of a model's own heads are taken to be kept with, where nobody says: DeepSeek-V3's report,
/// section 5.4.3, has 85 to 90 % of its second tokens; of another model or a third token it is assumed.
inline constexpr double assumed_acceptance = 0.85;

namespace detail {

[[noreturn]] inline void contradiction(const std::string& why) {
  throw perfmodel::error(perfmodel::error_code::inconsistent, why);
}

template <perfmodel::Scalar T>
bool any_given(const inputs<T>& in, std::initializer_list<const char*> keys) {
  for (const char* k : keys) {
    if (in.given(k)) return true;
  }
  return false;
}

template <perfmodel::Scalar T>
perfmodel::basic_deployment<T> drafting(inputs<T>& in, perfmodel::basic_deployment<T> d) {
  const found_model& found = find_model(in.text("draft_model"));
  d.model = in.model("draft_model");
  require_layout(d.layout, sharded_dims_of(d.model));
  d.weights = found.stored;
  d.activations.reset();
  d.expert_activations.reset();
  d.kv = found.kv;
  return d;
}

/// How many tokens the model's own heads draft, or n-grams where nothing else is said; none where a
/// request drafts nothing.
template <perfmodel::Scalar T>
std::optional<perfmodel::basic_speculation<T>> drafted_tokens(
    inputs<T>& in, const perfmodel::basic_transformer<T>& m, std::string_view model) {
  const bool own = in.has("mtp"), drafted = in.has("draft_length");
  if (!own && !drafted) return {};
  if (own && drafted) contradiction("give one of mtp and draft_length, and not both");
  if (own && !m.mtp) {
    contradiction(cat("mtp is ", in.whole("mtp"), ", and ", model,
                      " has no heads for it; allowed: draft_length"));
  }
  perfmodel::basic_speculation<T> s;
  s.by = own ? perfmodel::drafter::layer : perfmodel::drafter::lookup;
  s.length = in.whole(own ? "mtp" : "draft_length");
  return s;
}

/// How often these are kept; of the model's own heads, what is assumed where nobody says.
template <perfmodel::Scalar T>
void add_acceptance(inputs<T>& in, perfmodel::basic_speculation<T>& s) {
  if (!in.has("acceptance")) {
    if (!in.has("mtp")) in.missing("acceptance", "how often a draft token is kept");
    s.acceptance.push_back(T(assumed_acceptance));
    return;
  }
  const std::vector<T> each = in.numbers("acceptance");
  if (each.size() > s.acceptance.capacity) {
    contradiction(cat("acceptance has ", each.size(), " positions; allowed: 1 to ",
                      s.acceptance.capacity, ", the last of them for those beyond too"));
  }
  for (const T& a : each) s.acceptance.push_back(a);
  if (each.empty()) s.acceptance.push_back(in.number("acceptance"));
}

/// One pool, whose keys begin with `prefix`, and how many copies of its deployment it has.
template <perfmodel::Scalar T>
perfmodel::basic_replica_pool<T> pool_of(inputs<T>& in, const std::string& prefix) {
  const auto whole = [&](const char* name) { return in.whole(prefix + name); };
  if (!in.has(prefix + "tensor_parallel")) {
    in.missing(prefix + "tensor_parallel", "a service in pools says how each is laid out");
  }
  perfmodel::parallel_layout layout{.tensor = whole("tensor_parallel"),
                                    .expert = whole("expert_parallel")};
  const int data = whole("data_parallel");
  const bool groups = layout.expert > layout.tensor;
  if (groups) layout.data = data;
  perfmodel::basic_replica_pool<T> pool{deployment_of(in, layout), T(whole("replicas"))};
  reserve_memory(in, pool.deployment);
  if (!groups) pool.replicas = pool.replicas * T(data);
  return pool;
}

}  // namespace detail

/// Whether a request has pools. Throws inconsistent where it has one deployment too.
template <perfmodel::Scalar T>
bool has_pools(const inputs<T>& in) {
  bool pools = in.given("kv_link_bytes_per_s");
  for (const key& k : pool_keys()) pools = pools || in.given(k.name);
  if (!pools) return false;
  if (detail::any_given(
          in, {"tensor_parallel", "pipeline_parallel", "expert_parallel", "data_parallel"})) {
    detail::contradiction(
        "prefill_ and decode_ keys lay out two pools; tensor_parallel, pipeline_parallel, "
        "expert_parallel and data_parallel are of a service in one");
  }
  if (detail::any_given(in, {"draft_length", "mtp", "acceptance", "drafter", "draft_model"})) {
    detail::contradiction("drafts are of a service in one pool; nothing is known of both together");
  }
  refuse_preemption(in, "none of pools, which let in no more than fit");
  if (in.given("scheduler")) {
    detail::contradiction(cat("scheduler is ", in.text("scheduler"),
                              "; allowed: none of pools, where prompts run alone"));
  }
  if (in.plain("held_iterations") > 0.0) {
    detail::contradiction(
        "held_iterations are of prompts beside answers; allowed: 0 of pools, where prompts run "
        "alone");
  }
  return true;
}

template <perfmodel::Scalar T>
perfmodel::basic_disaggregated<T> pools_of(inputs<T>& in) {
  perfmodel::basic_disaggregated<T> d{detail::pool_of(in, "prefill_"),
                                      detail::pool_of(in, "decode_")};
  if (in.has("kv_link_bytes_per_s")) {
    d.link.per_device = in.template amount<perfmodel::bandwidth<T>>("kv_link_bytes_per_s");
    return d;
  }
  using perfmodel::mid;
  const auto link = perfmodel::default_cache_link(d.prefill.deployment.device,
                                                  d.decode.deployment.device, mid(d.devices()));
  if (!link) {
    in.missing("kv_link_bytes_per_s",
               "bandwidth between the pools, as the accelerator states no link for it");
  }
  d.link = link->link;
  return d;
}

/// Says which link a prompt's KV cache takes from pool to pool, and its bandwidth.
template <perfmodel::Scalar T>
void note_link(outcome<T>& out, const inputs<T>& in, const perfmodel::basic_disaggregated<T>& d) {
  using perfmodel::mid;
  const double rate = mid(d.link.per_device.value());
  const double devices = mid(d.devices());
  const perfmodel::accelerator& a = in.chip();
  const char* which = "given";
  std::string why = which;
  if (!in.has("kv_link_bytes_per_s")) {
    const bool fabric = default_cache_link(a, a, devices)->over_fabric;
    which = fabric ? "fabric" : "host";
    why = fabric
              ? cat("the fabric (", name_of(a.fabric.kind), "), which joins all ", devices, " GPUs")
              : cat("the link to the host (", name_of(a.host.kind), ")");
    if (!fabric && a.fabric.exists())
      why += cat("; the fabric joins ", a.fabric.ranks, " of ", devices, " GPUs");
  }
  out.facts["kv_link"] = which;
  out.facts["kv_link_bytes_per_s"] = number_json("kv_link_bytes_per_s", rate);
  const std::string text =
      perfmodel::to_string(rate, perfmodel::exponents_of<perfmodel::bandwidth<>>(), 4);
  out.notes.push_back({"link between pools", cat(text, " of each GPU: ", why)});
}

/// The speculation of a request; none where it has no drafts. Throws missing_key and inconsistent.
template <perfmodel::Scalar T>
std::optional<perfmodel::basic_speculation<T>> speculation_of(
    inputs<T>& in, const perfmodel::basic_deployment<T>& d) {
  using perfmodel::drafter;
  const bool own = in.has("mtp"), drafted = in.has("draft_length");
  if (own && !drafted && detail::any_given(in, {"drafter", "draft_model"}))
    detail::contradiction("mtp is drafted by the model's own heads; drafter is of draft_length");
  auto s = detail::drafted_tokens(in, d.model, in.text("model"));
  if (!s) {
    for (const char* k : {"acceptance", "drafter", "draft_model"}) {
      if (in.given(k)) in.missing("draft_length", cat(k, " is of drafts; or mtp"));
    }
    return {};
  }
  constexpr std::pair<const char*, drafter> names[] = {{"lookup", drafter::lookup},
                                                       {"layer", drafter::layer},
                                                       {"heads", drafter::heads},
                                                       {"part", drafter::part}};
  for (const auto& [name, by] : names) {
    if (in.has("drafter") && in.text("drafter") == name) s->by = by;
  }
  if (in.has("draft_model")) {
    if (in.given("drafter")) detail::contradiction("give one of drafter and draft_model");
    s->by = drafter::model;
    s->draft = detail::drafting(in, d);
  }
  refuse_preemption(in, "none beside drafts; nothing is known of both together");
  detail::add_acceptance(in, *s);
  return s;
}

/// The load of a service. Throws missing_key where nothing says how much of it there is.
template <perfmodel::Scalar T>
perfmodel::basic_service_load<T> service_load_of(inputs<T>& in) {
  if (!in.has("concurrency") && !in.has("requests_per_s"))
    in.missing("concurrency", "or requests_per_s");
  perfmodel::basic_service_load<T> l = load_of(in);
  l.stream_interval = in.number("stream_interval");
  l.batching_wait_iterations = in.number("held_iterations");
  return l;
}

/// None where a request has no limits. Throws missing_key of a share of none.
template <perfmodel::Scalar T>
std::optional<perfmodel::service_targets> targets_of(const inputs<T>& in) {
  if (in.given("limit_share") && !in.has("ttft_limit_s"))
    in.missing("ttft_limit_s", "limit_share is of it");
  if (!in.has("ttft_limit_s") && !in.has("itl_limit_s")) return {};
  perfmodel::service_targets t;
  if (in.has("ttft_limit_s")) {
    t.ttft = {in.plain("ttft_limit_s") * perfmodel::second, in.plain("limit_share")};
  }
  if (in.has("itl_limit_s")) t.itl = {in.plain("itl_limit_s") * perfmodel::second, {}};
  return t;
}

}  // namespace napkin
