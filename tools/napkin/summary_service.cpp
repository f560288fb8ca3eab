// What a step and a service spend their time on: passes, and what is around them.
#include <algorithm>
#include <cmath>

#include "deployments.hpp"
#include "service_keys.hpp"
#include "summary_parts.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// What waits are called where they limit.
constexpr const char* others_prompts = "prompts of others";
constexpr const char* other_prompts = "other prompts";
constexpr const char* joining = "passes let by";
constexpr const char* for_a_place = "wait for a place";
constexpr const char* with_prefills = "engine with prompts";

/// What the flow of a predicted service is made of.
struct flow_of_service {
  pm::service_terms terms{};
  pm::prefill_steps passes{};
  pm::service_state state{};
};

/// A service with the passes that it asks for, as it asks for them. With drafts the pass checks them, and is a
/// part of a round.
struct decoding {
  pm::speculative_serving_estimate service{};
  pm::service_load load{};  ///< with drafts, of rounds
  pm::iteration pass{};
  pm::iteration prompt{};  ///< the pass that has a prompt, and how many of it a first token takes
  double prefill_steps = 1.0;
  std::optional<flow_of_service> flow{};  ///< of a prediction
};

class asked_passes {
 public:
  asked_passes(const served_load& x, const terms_of_screen& policy) : x_(x), policy_(policy) {}

  decoding found() {
    const pm::deployment& d = x_.deployment;
    const pm::service_load l = policy_ ? pm::resolve_prefix_hit(d, x_.load) : x_.load;
    const auto pass = [&](const pm::deployment& of, const pm::iteration& i) {
      const pm::estimate e = time_of_step(of, i, policy_);
      if (&of == &d) asked_.emplace_back(i, e.time.value());
      return e;
    };
    const auto serve = [&](const pm::service_load& load, const auto& round) {
      return served(load, round);
    };
    if (x_.drafts) {
      found_.service = pm::detail::speculative_service(d, l, *x_.drafts, pass, serve);
    } else {
      found_.service = {serve(l, [&](const pm::iteration& i) { return pass(d, i); }), 1.0};
    }
    find_decode();
    find_prompt();
    return found_;
  }

 private:
  template <class Round>
  pm::serving_estimate served(const pm::service_load& load, const Round& round) {
    found_.load = load;
    if (!policy_) return pm::detail::steady_state(x_.deployment, load, round);
    const auto service = pm::detail::predict_service(
        x_.deployment, load, pm::detail::engine_terms<double>(*policy_), round);
    found_.flow = {service.terms, service.steps, service.state};
    return service.estimate;
  }

  void find_decode() {
    const pm::estimate& decode = found_.service.decode;
    const double own = decode.time.value() - decode.terms.time_of("draft").value();
    for (const auto& [i, time] : asked_) {
      const bool is_it =
          policy_ ? i.prefill_tokens == 0.0 && i.batch > 0.0 : std::fabs(time - own) <= 1e-12 * own;
      if (is_it) found_.pass = i;
    }
  }

  /// The one that a prompt takes part in: mixed where the scheduler mixes, a chunk where prompts are cut.
  void find_prompt() {
    using namespace pm::detail;
    const pm::service_load& l = found_.load;
    found_.prompt = unloaded_prefill(l);
    pm::iteration as_asked = found_.prompt;
    double chunks = 1.0;
    if (found_.flow) {
      as_asked = found_.flow->passes.prefill_iteration;
      chunks = uncached_tokens(l) / as_asked.prefill_tokens;
    } else if (l.chunk_tokens) {
      as_asked.prefill_tokens = mean_chunk(l);
      chunks = chunks_of(l);
    } else {
      return;
    }
    for (const auto& [i, time] : asked_) {
      const bool same = !i.steady && i.prefill_tokens == as_asked.prefill_tokens &&
                        i.prefill_sequences == as_asked.prefill_sequences;
      if (same && (!found_.flow || i.batch == as_asked.batch)) found_.prompt = i;
    }
    found_.prefill_steps = pipelined_chunk_steps(chunks, x_.deployment.layout.pipeline);
  }

  const served_load& x_;
  const terms_of_screen& policy_;
  std::vector<std::pair<pm::iteration, double>> asked_{};
  decoding found_{};
};

/// "11.6 % x 106.4 ms": a share of a time.
std::string share_of_time(double share, double seconds) {
  return cat(digits(100.0 * share), " % x ", time_text(seconds));
}

/// What prompts of others add to the mean gap, and what evictions do, from the parts of its distribution.
void add_others(summary_part& part, const served_load& x, const decoding& found) {
  const flow_of_service& flow = *found.flow;
  const auto& gap = flow.state.itl;
  const pm::prefill_steps& p = flow.passes;
  const double whole = gap.mean().value();
  const bool preempts = found.load.preemption_mode && gap.size() > 2;
  const double away = preempts ? gap[2].weight : 0.0;
  double without_evictions = whole;
  if (preempts) {
    const double last = gap[2].from.value() + gap[2].tail.value();
    without_evictions = (whole - away * last) / (1.0 - away);
  }
  const double stall = p.decode_stall.value(), next = p.marginal_prefill_time.value();
  const double all = without_evictions - p.decode_time.value();
  if (gap.size() > 1 && all > 1e-9 * whole) {
    const bool chunked = flow.terms.scheduler == pm::scheduling::mixed_chunks && p.chunks > 1.0;
    const double stalled = gap[1].weight / (1.0 - away);
    const double more = !chunked && next > 0.0 ? (all - stalled * stall) / next : 0.0;
    const double met = chunked ? all / stall : stalled + more;
    std::string how = share_of_time(chunked ? met : stalled, stall);
    if (more > 1e-9) how += " + " + share_of_time(more, next);
    add_step(part, {others_prompts, how, all, others_prompts});
    std::string text = cat("prompts of others: ", digits(met), " begin in a gap");
    if (x.load.is_closed() && !found.load.preemption_mode) {
      const auto& loop = std::get<pm::closed_loop>(found.load.arrivals);
      const double others = std::min(loop.concurrency, flow.terms.max_running) - 1.0;
      const double seen =
          loop.requests ? 1.0 - std::min(1.0, (others + 1.0) / *loop.requests) : 1.0;
      if (std::fabs(others * seen / flow.terms.intervals() - met) < 1e-6 * met)
        text += cat(" = ", seen < 1.0 ? digits(seen) + " x " : "", digits(others), " / ",
                    digits(flow.terms.intervals()));
    }
    if (!chunked) {
      const bool by_chance = stalled < 1.000001 * -std::expm1(-met);
      const std::string share = by_chance ? cat("1 - exp(-", digits(met), ")")
                                          : cat(digits(met), " / ", digits(p.prefills_per_step));
      text += cat(", any in ", share, " = ", digits(100.0 * stalled), " % of them");
    }
    text += cat("; one adds ", time_text(stall), " (a prompt ", time_text(p.prefill_time.value()));
    if (flow.terms.scheduler == pm::scheduling::mixed_chunks) {
      const double times = (p.prefill_time.value() - stall) / p.decode_time.value();
      text += cat(" less ", digits(times), " x ", time_text(p.decode_time.value()));
    }
    part.amounts.push_back(text + ")" +
                           (more > 1e-9 ? cat(", each after it ", time_text(next)) : ""));
  }
  add_step(part, {"evictions", "", whole - without_evictions, "evictions"});
}

/// What is behind other prompts, as detail::behind has it; "" where they queue for the budget.
std::string behind_text(const pm::prefill_steps& p, const pm::ttft_terms& first) {
  const double others = first.coscheduled_prefills;
  const double joined = std::min(others, p.prefills_per_step - 1.0);
  const double time = 0.5 * others * p.saturated_prefill_time.value() +
                      0.5 * joined * p.marginal_prefill_time.value();
  if (std::fabs(time - first.prefill_queueing.value()) > 1e-6 * time) return "";
  std::string s = cat(digits(others), " / 2 x ", time_text(p.saturated_prefill_time.value()));
  if (joined > 0.0)
    s += cat(" + ", digits(joined), " / 2 x ", time_text(p.marginal_prefill_time.value()));
  return s;
}

/// What a prompt takes beside its own passes until the first token.
void add_waits(summary_part& part, const decoding& found) {
  const flow_of_service& flow = *found.flow;
  const pm::ttft_terms& first = flow.state.ttft_terms;
  const double gap = flow.state.itl.mean().value();
  add_step(part, {"host of a request", "", first.frontend_time.value(), by_host});
  const double let_by = first.scheduling_steps * gap;
  std::string how = let_by > 0.0 ? cat(digits(first.scheduling_steps), " x ", time_text(gap)) : "";
  const double found_s =
      first.scheduling_delay.value() - let_by;  // what is left of the one that it finds
  if (found_s > 1e-6 * let_by) how += cat(how.empty() ? "" : " + ", time_text(found_s));
  add_step(part, {joining, how, first.scheduling_delay.value(), joining});
  add_step(part, {"behind others", behind_text(flow.passes, first), first.prefill_queueing.value(),
                  other_prompts});
  how.clear();
  if (found.load.is_closed()) {
    const double waiting = found.load.concurrency() - flow.terms.max_running;
    const double rate = flow.state.throughput.value();
    if (std::fabs(waiting / rate - first.admission_delay.value()) <
        1e-6 * first.admission_delay.value())
      how = cat(digits(waiting), " / ", with_unit(flow.state.throughput));
  }
  add_step(part, {for_a_place, how, first.admission_delay.value(), for_a_place});
  add_step(part, {"prefix from host", "", first.kv_fetch.value(), "host's link"});
  const double wave = found.service.ttft.value() - part.time_s;
  if (wave > 1e-9 * part.time_s) {
    const auto& of_wave = flow.state.ttft[0];
    const double mean = of_wave.from.value() + 0.5 * of_wave.range.value();
    how = cat(digits(100.0 * of_wave.weight), " % x (", time_text(mean), " - ",
              time_text(part.time_s), ")");
    if (std::fabs(of_wave.weight * (mean - part.time_s) - wave) > 1e-6 * wave) how.clear();
    add_step(part, {"first wave of a run", how, wave, "first wave"});
  }
}

/// "TTFT = own (host 10.13 ms + ... + prompt 120.7 ms) + delay 15.3 ms + place 0 s = 207.6 ms".
std::string formula_text(const decoding& found) {
  const flow_of_service& flow = *found.flow;
  const pm::ttft_terms& first = flow.state.ttft_terms;
  const double engine = flow.terms.prefill_slowdown, prompt = flow.passes.prefill_time.value();
  const auto time = [](const pm::duration<>& t) { return time_text(t.value()); };
  const auto more = [&](const char* name, double t) {
    return t > 0.0 ? cat(" + ", name, " ", time_text(t)) : std::string();
  };
  std::string s =
      cat("TTFT = own (host ", time(first.frontend_time),
          more("passes let by", first.scheduling_delay.value()), " + prompt ", time_text(prompt));
  if (engine != 1.0 && flow.passes.chunks == 1.0)
    s += cat(" = ", digits(engine), " x ", time_text(prompt / engine));
  s += cat(") + delay ", time(first.prefill_queueing), " + place ", time(first.admission_delay),
           more("fetch", first.kv_fetch.value()));
  const double sum = (first.frontend_time + first.scheduling_delay + first.prefill_queueing +
                      first.admission_delay + first.kv_fetch)
                         .value() +
                     prompt;
  const double all = found.service.ttft.value();
  return s + more("first wave", all - sum > 1e-9 * all ? all - sum : 0.0) +
         cat(" = ", time_text(all));
}

summary_part prompt_part(const served_load& x, const decoding& found,
                         const terms_of_screen& policy) {
  const double n = found.prefill_steps;
  summary_part part = pass_of(x.deployment, found.prompt, policy, n);
  part.name = "prefill: time to first token";
  part.what = cat(std::fabs(n - 1.0) < 1e-9 ? "" : digits(n) + " x ", pass_text(found.prompt));
  if (found.flow) {
    const flow_of_service& flow = *found.flow;
    const double kernels = part.time_s, engine = flow.terms.prefill_slowdown;
    // With drafts a pass has what drafts of the prompt as well.
    const double whole =
        pm::detail::uncached_tokens(found.load) / flow.passes.prefill_iteration.prefill_tokens;
    const double last =
        (flow.passes.chunks - whole) * (flow.terms.scheduler == pm::scheduling::mixed_chunks
                                            ? flow.passes.decode_time.value()
                                            : 0.0);
    const double passes = (flow.passes.prefill_time.value() - last) / engine;
    add_step(part,
             {"drafts", "", passes > kernels * (1.0 + 1e-9) ? passes - kernels : 0.0, "drafts"});
    add_step(part, {with_prefills, cat("(", digits(engine), " - 1) x ", time_text(passes)),
                    (engine - 1.0) * passes, with_prefills});
    add_step(part, {"decoding after it", "", last, other});
    add_waits(part, found);
    part.amounts = {formula_text(found)};
  } else {
    add_step(part, {for_a_place, "", found.service.ttft.value() - part.time_s, for_a_place});
  }
  sort_steps(part);
  return part;
}

/// A round of drafts: the pass that checks them, those that draft, and how many tokens it gives.
void add_drafts(summary_part& part, const served_load& x, const decoding& found) {
  const pm::speculation& s = *x.drafts;
  const double draft = found.service.decode.terms.time_of("draft").value();
  part.name = "decode: a round of drafts";
  part.tokens = found.service.emitted;
  const double n = s.by == pm::drafter::heads ? 1.0 : double(s.length);
  add_step(part, {"drafts", n == 1.0 ? "" : cat(digits(n), " x ", time_text(draft / n)), draft,
                  "drafts"});
  std::string kept = "1", each = "";
  for (int k = 1; k <= s.length; ++k) {
    const std::size_t at = std::min(static_cast<std::size_t>(k), s.acceptance.size()) - 1;
    each += (each.empty() ? "" : " x ") + digits(s.acceptance[at]);
    if (k <= 4) kept += " + " + each;
    if (k == 5) kept += " + ...";
  }
  const double itl = found.service.itl.value();
  part.amounts.push_back(cat("tokens that a round gives of each sequence: ", kept, " = ",
                             digits(part.tokens),
                             "; inter-token latency: ", time_text(itl * part.tokens), " / ",
                             digits(part.tokens), " = ", time_text(itl)));
}

std::vector<summary_part> parts_of_service(const served_load& x, const terms_of_screen& policy) {
  const decoding found = asked_passes(x, policy).found();
  std::vector<summary_part> parts;
  parts.push_back(pass_of(x.deployment, found.pass, policy));
  summary_part& answers = parts.back();
  answers.name = "decode: inter-token latency";
  answers.what = pass_text(found.pass);
  if (x.drafts) add_drafts(answers, x, found);
  if (found.flow) add_others(answers, x, found);
  const double rest = found.service.itl.value() * found.service.emitted - answers.time_s;
  if (rest > 1e-9 * answers.time_s) add_step(answers, {"the rest", "", rest, other});
  sort_steps(answers);
  parts.push_back(prompt_part(x, found, policy));
  return parts;
}

/// " (2 x 8)", and of which chips, where the pools are of two kinds.
std::string pool_text(const pm::replica_pool& pool, bool mixed) {
  return cat(" (", digits(pool.replicas), " x ", pool.deployment.layout.ranks(),
             mixed ? cat(" ", pool.deployment.device.name.view()) : "", ")");
}

summary_part answers_of_pool(const served_load& x, const terms_of_screen& policy,
                             const pm::disaggregated_estimate& s, bool mixed) {
  const pm::disaggregated& d = *x.pools;
  const pm::deployment& on = d.decode.deployment;
  const bool alone = !policy && x.load.is_closed();  // what each answer is bound by
  const pm::iteration decode{alone ? 1.0 : std::max(1.0, s.batch / d.decode.replicas),
                             pm::detail::mean_context(x.load)};
  terms_of_screen steady;
  if (policy) steady = pm::detail::decode_pool_policy(*policy, on.serving_engine);
  summary_part part = pass_of(on, decode, steady);
  part.name = "decode pool: inter-token latency";
  part.what = pass_text(decode) + pool_text(d.decode, mixed);
  const double rest = s.itl.value() - part.time_s;
  if (rest > 1e-9 * part.time_s) add_step(part, {"the rest", "", rest, other});
  sort_steps(part);
  return part;
}

summary_part prompts_of_pool(const served_load& x, const terms_of_screen& policy,
                             const pm::disaggregated_estimate& s, bool mixed) {
  const pm::disaggregated& d = *x.pools;
  const pm::deployment& on = d.prefill.deployment;
  const pm::iteration prompt = pm::detail::unloaded_prefill(pm::resolve_prefix_hit(on, x.load));
  summary_part part = pass_of(on, prompt, policy);
  part.name = "prefill pool: time to first token";
  part.what = pass_text(prompt) + pool_text(d.prefill, mixed);
  if (policy) {
    const double passes = part.time_s, engine = policy->engine.prompt_time;
    add_step(part, {with_prefills, cat("(", digits(engine), " - 1) x ", time_text(passes)),
                    (engine - 1.0) * passes, with_prefills});
    add_step(part, {"host of a request", "", policy->engine.request_cpu_time.value(), by_host});
  }
  add_step(part,
           {"rest of the transfer", "", s.exposed_transfer.value(), "the link between pools"});
  const double sent = s.transfer.value() - d.link.latency.value();
  part.amounts.push_back(cat("cache of a prompt, from one GPU: ",
                             with_unit(pm::bytes<>::from_value(sent * d.link.per_device.value())),
                             " / ", with_unit(d.link.per_device), " = ", time_text(sent),
                             d.link.streamed ? ", sent layer by layer" : ""));
  part.amounts.push_back(cat("busy: prefill pool ", digits(100.0 * s.prefill_utilisation),
                             " %, link ", digits(100.0 * s.transfer_utilisation),
                             " %, decode pool ", digits(100.0 * s.decode_utilisation), " %"));
  const double wait = s.ttft.value() - part.time_s;
  if (wait > 1e-9 * part.time_s) {
    add_step(part, {"others, a place", "", wait, other_prompts});
  } else {
    part.time_s = s.ttft.value();
  }
  sort_steps(part);
  return part;
}

std::vector<summary_part> parts_of_pools(const served_load& x, const terms_of_screen& policy,
                                         const terms_of_screen& of_prefills) {
  const pm::disaggregated& d = *x.pools;
  const bool mixed = !(d.prefill.deployment.device.name == d.decode.deployment.device.name);
  const auto s =
      policy ? pm::serving(d, x.load, *of_prefills, *policy) : pm::serving_bound(d, x.load);
  return {answers_of_pool(x, policy, s, mixed), prompts_of_pool(x, of_prefills, s, mixed)};
}

summary of_step(inputs<double>& in, const calibration* c) {
  pm::deployment d = deployment_of(in);
  d.serving_engine = *pm::find_engine(in.text("engine"));
  const pm::iteration i = iteration_of(in);
  const terms_of_screen policy = policy_of(c);
  const auto parts = [&](const lifted& without) {
    std::vector<summary_part> one{pass_of(without.on(d), i, without.of(policy))};
    one[0].name =
        i.prefill_tokens > 0.0 ? (i.batch > 0.0 ? "decode with prefill" : "prefill") : "decode";
    one[0].what = pass_text(i);
    return one;
  };
  summary s;
  s.parts = parts({});
  if (policy) s.parts[0].amounts.push_back(bound_text(time_of_step(d, i, {})));
  add_limits(s.parts, policy.has_value(), parts);
  return s;
}

served_load service_in(inputs<double>& in) {
  served_load x;
  if (has_pools(in)) {
    x.pools = pools_of(in);
    x.load = service_load_of(in);
    return x;
  }
  const int groups_of_data = in.whole("data_parallel");
  const bool spread = in.whole("expert_parallel") > in.whole("tensor_parallel");
  x.deployment = deployment_of(in, spread ? groups_of_data : 1);
  reserve_memory(in, x.deployment);
  x.drafts = speculation_of(in, x.deployment);
  const pm::service_load l = service_load_of(in);
  double copies = spread ? 1.0 : groups_of_data;
  if (l.is_closed()) copies = std::min(copies, l.concurrency());
  x.load = pm::per_replica(l, copies);
  return x;
}

void add_sources(summary& s, const inputs<double>& in, const calibration* c, const json& answer) {
  const pm::accelerator& a = in.chip();
  const auto add = [&s](const std::string& what, const pm::source& from) {
    s.sources.push_back(what + ": " + pm::name_of(from.how) + ": " + from.text);
  };
  add("DRAM bandwidth " + with_unit(a.dram.bandwidth.quantity()), a.dram.bandwidth.from());
  s.sources.push_back(find_model(in.text("model")).source);
  if (c != nullptr)
    s.sources.push_back(
        "shares reached, times of calls: " + answer["profile"]["name"].get<std::string>() + ", " +
        answer["profile"]["basis"].get<std::string>() + ": " +
        answer["profile"]["source"].get<std::string>());
}

}  // namespace

summary summary_of_service(const served_load& x, const calibration* c,
                           const calibration* of_prefills) {
  const terms_of_screen policy = policy_of(c);
  const terms_of_screen prompts = of_prefills != nullptr ? policy_of(of_prefills) : policy;
  const auto parts = [&](const lifted& without) {
    const served_load on = without.on(x);
    return x.pools ? parts_of_pools(on, without.of(policy), without.of(prompts))
                   : parts_of_service(on, without.of(policy));
  };
  summary s;
  s.parts = parts({});
  if (policy && !x.pools) {
    const auto bound = x.drafts ? pm::serving_bound(x.deployment, x.load, *x.drafts).decode
                                : pm::serving_bound(x.deployment, x.load).decode;
    s.parts[0].amounts.push_back((x.drafts ? "of a round, " : "") + bound_text(bound));
  }
  add_limits(s.parts, policy.has_value(), parts);
  return s;
}

summary summary_of_passes(const query& asked, const json& object, const given_profile* profile,
                          const json& answer) {
  const std::string_view name = asked.name;
  if (name != "step" && name != "serving") return {};
  const request r(asked, object, profile);
  const std::optional<calibration> c = calibration_of_request(asked, r, mode_in(object));
  const calibration* known = c ? &*c : nullptr;
  inputs<double> in(r);
  summary s = name == "step" ? of_step(in, known) : summary_of_service(service_in(in), known);
  if (!s.parts.empty()) add_sources(s, in, known, answer);
  return s;
}

}  // namespace napkin
