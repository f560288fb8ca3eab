// Keys of a service in addition to its deployment and load: speculation, pools, targets.
#pragma once

#include <algorithm>
#include <optional>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/text.hpp>

#include "deployments.hpp"

namespace napkin {

/// draft_length, acceptance, mtp, drafter, draft_model.
std::vector<key> draft_keys();
/// Layouts of both pools of a disaggregated service, and the link between them.
std::vector<key> pool_keys();
/// ttft_limit_s, itl_limit_s and limit_share.
std::vector<key> target_keys();

/// Given keys of a load that a bound does not use: they only make a service slower.
std::vector<std::string> left_out_of_bound(const request& r, bool pools);

/// Default acceptance of draft tokens from a model's own heads. DeepSeek-V3's report, section
/// 5.4.3, states 85 to 90 % for its second tokens; for other models and later tokens it is an
/// assumption.
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
  found.require_storage(in.text("draft_model"));
  d.weights = found.stored;
  d.activations.reset();
  d.expert_activations.reset();
  d.kv = found.kv;
  return d;
}

/// Number of draft tokens, from the model's own heads or n-grams; none where a request does not
/// speculate.
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

/// Acceptance of the draft tokens; default for the model's own heads: the assumed value.
template <perfmodel::Scalar T>
void add_acceptance(inputs<T>& in, perfmodel::basic_speculation<T>& s) {
  if (!in.has("acceptance")) {
    if (!in.has("mtp")) in.missing("acceptance", "probability that a draft token is accepted");
    s.acceptance.push_back(T(assumed_acceptance));
    return;
  }
  const std::vector<T> each = in.numbers("acceptance");
  if (each.size() > s.acceptance.capacity) {
    contradiction(cat("acceptance has ", each.size(), " positions; allowed: 1 to ",
                      s.acceptance.capacity, "; the last one applies to later positions"));
  }
  for (const T& a : each) s.acceptance.push_back(a);
  if (each.empty()) s.acceptance.push_back(in.number("acceptance"));
}

/// One pool, with keys that begin with `prefix`, and its number of replicas.
template <perfmodel::Scalar T>
perfmodel::basic_replica_pool<T> pool_of(inputs<T>& in, const std::string& prefix) {
  const auto whole = [&](const char* name) { return in.whole(prefix + name); };
  if (!in.has(prefix + "tensor_parallel")) {
    in.missing(prefix + "tensor_parallel",
               "a disaggregated service states the layout of each pool");
  }
  perfmodel::parallel_layout layout{.tensor = whole("tensor_parallel"),
                                    .expert = whole("expert_parallel"),
                                    .redundant_experts = whole("redundant_experts")};
  const int data = whole("data_parallel");
  const bool groups = layout.expert > layout.tensor;
  if (groups) layout.data = data;
  perfmodel::basic_replica_pool<T> pool{deployment_of(in, layout), T(whole("replicas"))};
  reserve_memory(in, pool.deployment);
  if (!groups) pool.replicas = pool.replicas * T(data);
  return pool;
}

}  // namespace detail

/// Whether a request has pools. Throws inconsistent where it also has one deployment.
template <perfmodel::Scalar T>
bool has_pools(const inputs<T>& in) {
  static const std::vector<key> keys = pool_keys();
  shared_texts* const shared = in.all().texts();
  if (shared != nullptr && shared->has_one_pool) return false;
  const bool pools =
      std::any_of(keys.begin(), keys.end(), [&in](const key& k) { return in.given(k.name); });
  if (shared != nullptr) shared->has_one_pool = !pools;
  if (!pools) return false;
  if (detail::any_given(in, {"tensor_parallel", "pipeline_parallel", "expert_parallel",
                             "redundant_experts", "data_parallel", "replicas"})) {
    detail::contradiction(
        "prefill_ and decode_ keys lay out two pools; tensor_parallel, pipeline_parallel, "
        "expert_parallel, redundant_experts, data_parallel and replicas belong to a service in one "
        "pool");
  }
  if (detail::any_given(in, {"draft_length", "mtp", "acceptance", "drafter", "draft_model"})) {
    detail::contradiction("speculative decoding is modelled in one pool only");
  }
  refuse_preemption(in, "none with pools, which admit only requests that fit");
  if (in.asked().find("held_iterations") == nullptr) return true;  // a simulation
  if (in.given("scheduler")) {
    detail::contradiction(cat("scheduler is ", in.text("scheduler"),
                              "; allowed: none with pools, where prefill runs separately"));
  }
  if (in.plain("held_iterations") > 0.0) {
    detail::contradiction(
        "held_iterations delays prefill in favour of decode; allowed: 0 with pools, where prefill "
        "runs separately");
  }
  return true;
}

template <perfmodel::Scalar T>
perfmodel::basic_disaggregated<T> pools_of(inputs<T>& in) {
  perfmodel::basic_disaggregated<T> d{detail::pool_of(in, "prefill_"),
                                      detail::pool_of(in, "decode_")};
  if (in.has("kv_link_bytes_per_s")) {
    d.link.bandwidth_per_device =
        in.template amount<perfmodel::bandwidth<T>>("kv_link_bytes_per_s");
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

/// Adds the link of the KV-cache transfer between pools, and its bandwidth.
template <perfmodel::Scalar T>
void note_link(outcome<T>& out, const inputs<T>& in, const perfmodel::basic_disaggregated<T>& d) {
  using perfmodel::mid;
  const double rate = mid(d.link.bandwidth_per_device.value());
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

/// The speculation of a request; none without draft tokens. Throws missing_key and inconsistent.
template <perfmodel::Scalar T>
std::optional<perfmodel::basic_speculation<T>> speculation_of(
    inputs<T>& in, const perfmodel::basic_deployment<T>& d) {
  using perfmodel::drafter;
  shared_texts* const shared = in.all().texts();
  if (shared != nullptr && shared->has_no_drafts) return {};
  const bool own = in.has("mtp"), drafted = in.has("draft_length");
  if (own && !drafted && detail::any_given(in, {"drafter", "draft_model"}))
    detail::contradiction("mtp drafts with the model's own heads; drafter needs draft_length");
  auto s = detail::drafted_tokens(in, d.model, in.text("model"));
  if (!s) {
    for (const char* k : {"acceptance", "drafter", "draft_model"}) {
      if (in.given(k)) in.missing("draft_length", cat(k, " needs draft tokens; or give mtp"));
    }
    if (shared != nullptr) shared->has_no_drafts = true;
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
  refuse_preemption(in, "none with speculative decoding; their combination is not modelled");
  detail::add_acceptance(in, *s);
  return s;
}

/// Layout of a service in one pool: attention groups per replica, and replicas.
struct replica_count {
  int groups = 1;
  double replicas = 1.0;
  bool counts_data = false;  ///< whether data_parallel counts replicas
};
template <perfmodel::Scalar T>
replica_count replicas_of(const inputs<T>& in) {
  const int data = in.whole("data_parallel");
  const bool grouped = in.whole("expert_parallel") > in.whole("tensor_parallel");
  const double replicas = in.plain("replicas");
  if (grouped) return {data, replicas};
  return {1, replicas * data, data > 1};
}

/// The load of a service. Throws missing_key where the request has no arrivals.
template <perfmodel::Scalar T>
perfmodel::basic_service_load<T> service_load_of(inputs<T>& in) {
  if constexpr (std::same_as<T, double>) {
    if (in.all().texts() != nullptr && in.all().texts()->load) return *in.all().texts()->load;
  }
  if (!in.has("concurrency") && !in.has("requests_per_s"))
    in.missing("concurrency", "or requests_per_s");
  perfmodel::basic_service_load<T> l = load_of(in);
  l.stream_interval = in.number("stream_interval");
  l.batching_wait_iterations = in.number("held_iterations");
  if constexpr (std::same_as<T, double>) {
    if (in.all().texts() != nullptr) in.all().texts()->load = l;
  }
  return l;
}

/// The limits; none where a request has none. Throws missing_key for a share without a limit.
template <perfmodel::Scalar T>
std::optional<perfmodel::service_targets> targets_of(const inputs<T>& in) {
  if (in.given("limit_share") && !in.has("ttft_limit_s"))
    in.missing("ttft_limit_s", "limit_share is the share of requests within it");
  if (!in.has("ttft_limit_s") && !in.has("itl_limit_s")) return {};
  perfmodel::service_targets t;
  if (in.has("ttft_limit_s")) {
    t.ttft = {in.plain("ttft_limit_s") * perfmodel::second, in.plain("limit_share")};
  }
  if (in.has("itl_limit_s")) t.itl = {in.plain("itl_limit_s") * perfmodel::second, {}};
  return t;
}

}  // namespace napkin
