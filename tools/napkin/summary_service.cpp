// Breakdown of a step and a service: engine steps, queueing and CPU time.
#include <algorithm>
#include <cmath>

#include "deployments.hpp"
#include "service_keys.hpp"
#include "summary_parts.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Names of waits as limits.
constexpr const char* interference = "prefill interference";
constexpr const char* behind_prefills = "prefill queueing";
constexpr const char* admission = "admission delay";
constexpr const char* for_capacity = "capacity queueing";
constexpr const char* prefill_overhead = "prefill overhead";

/// Terms of the flow of a predicted service.
struct flow_of_service {
  pm::service_terms terms{};
  pm::prefill_steps passes{};
  pm::service_state state{};
};

/// A service with the engine steps that it evaluates. With speculation the step verifies draft
/// tokens, as a part of a round.
struct decoding {
  pm::speculative_serving_estimate service{};
  pm::service_load load{};  ///< with speculation, a load of rounds
  pm::iteration pass{};
  pm::iteration prompt{};  ///< step with a prefill, and the number of these steps per first token
  double prefill_steps = 1.0;
  std::optional<flow_of_service> flow{};  ///< flow of a prediction
};

class evaluated_steps {
 public:
  evaluated_steps(const served_load& x, const screen_calibration& policy)
      : x_(x), policy_(policy) {}

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
      found_.service = pm::detail::speculative_service(d, l, *x_.drafts, pass, serve, !policy_);
    } else {
      found_.service = {serve(l, [&](const pm::iteration& i) { return pass(d, i); }), 1.0};
    }
    find_decode();
    find_prefill();
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

  /// The step that processes a prompt: mixed with decode, a chunk, or a whole prefill.
  void find_prefill() {
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
    if (found_.flow) found_.prompt = as_asked;  // not evaluated where lengths vary
    for (const auto& [i, time] : asked_) {
      const bool same = !i.steady && i.prefill_tokens == as_asked.prefill_tokens &&
                        i.prefill_sequences == as_asked.prefill_sequences;
      if (same && (!found_.flow || i.batch == as_asked.batch)) found_.prompt = i;
    }
    found_.prefill_steps = pipelined_chunk_steps(chunks, x_.deployment.layout.pipeline);
  }

  const served_load& x_;
  const screen_calibration& policy_;
  std::vector<std::pair<pm::iteration, double>> asked_{};
  decoding found_{};
};

/// "11.6 % x 106.4 ms": a share of a time.
std::string share_of_time(double share, double seconds) {
  return cat(digits(100.0 * share), " % x ", time_text(seconds));
}

/// Adds prefill interference and preemption to the mean ITL, from the parts of its distribution.
void add_interference(summary_part& part, const served_load& x, const decoding& found) {
  const flow_of_service& flow = *found.flow;
  const auto& itl = flow.state.itl;
  const pm::prefill_steps& p = flow.passes;
  const double whole = itl.mean().value();
  const bool mixed = flow.terms.scheduler == pm::scheduling::mixed_chunks;
  // Unless steps are mixed, the third part is the first interval of an output.
  const std::size_t usual = mixed ? 2 : 3;
  const bool preempts = found.load.preemption_mode && itl.size() > usual;
  const double away = preempts ? itl[usual].weight : 0.0;
  double without_preemption = whole;
  if (preempts) {
    const double last = itl[usual].from.value() + itl[usual].tail.value();
    without_preemption = (whole - away * last) / (1.0 - away);
  }
  const double stall = p.decode_stall.value(), next = p.marginal_prefill_time.value();
  const double all = without_preemption - p.decode_time.value();
  if (itl.size() > 1 && all > 1e-9 * whole) {
    const bool chunked = mixed && p.chunks > 1.0;
    const double first = !mixed && itl.size() > 2 ? itl[2].weight / (1.0 - away) : 0.0;
    const double rest = first > 0.0 ? itl[2].from.value() + 0.5 * itl[2].range.value() +
                                          itl[2].tail.value() - p.decode_time.value()
                                    : 0.0;
    const double stalled = itl[1].weight / (1.0 - away);
    const double more =
        !chunked && next > 0.0 ? (all - first * rest - stalled * stall) / next : 0.0;
    const double met = (chunked ? all / stall : stalled + more) / (1.0 - first);
    std::string how = share_of_time(chunked ? met : stalled, stall);
    if (more > 1e-9) how += " + " + share_of_time(more, next);
    if (first * rest > 1e-9 * whole) how += " + " + share_of_time(first, rest);
    add_step(part, {interference, how, all, interference});
    std::string text = cat("prefill interference: ", digits(met), " prefills start per ITL");
    if (x.load.is_closed() && !found.load.preemption_mode) {
      const auto& loop = std::get<pm::closed_loop>(found.load.arrivals);
      const double others = std::min(loop.concurrency, flow.terms.max_running) - 1.0;
      const double seen =
          loop.requests ? 1.0 - std::min(1.0, (others + 1.0) / *loop.requests) : 1.0;
      const double waits = pm::detail::steps_before_prefill(flow.terms, p, others, 0.5);
      const double steps =
          pm::detail::steps_per_request(flow.terms, p, waits - flow.terms.stream_steps, others);
      if (std::fabs(others * seen / steps - met) < 1e-6 * met)
        text += cat(" = ", seen < 1.0 ? digits(seen) + " x " : "", digits(others), " / ",
                    digits(steps), " steps per request");
    }
    if (!chunked) {
      const bool by_chance = stalled / (1.0 - first) < 1.000001 * -std::expm1(-met);
      const std::string share = by_chance ? cat("1 - exp(-", digits(met), ")")
                                          : cat(digits(met), " / ", digits(p.prefills_per_step));
      text += cat(", any in ", share, " = ", digits(100.0 * stalled / (1.0 - first)), " % of them");
    }
    text += cat("; each adds ", time_text(stall), " (prefill ", time_text(p.prefill_time.value()));
    if (flow.terms.scheduler == pm::scheduling::mixed_chunks) {
      const double times = (p.prefill_time.value() - stall) / p.decode_time.value();
      text += cat(" less ", digits(times), " x ", time_text(p.decode_time.value()));
    }
    part.amounts.push_back(text + ")" +
                           (more > 1e-9 ? cat(", each following one ", time_text(next)) : ""));
  }
  add_step(part, {"preemption", "", whole - without_preemption, "preemption"});
}

/// Formula of the queueing behind other prefills; "" where requests queue for the token budget.
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

/// Adds the parts of TTFT other than the request's own prefill.
void add_waits(summary_part& part, const decoding& found) {
  const flow_of_service& flow = *found.flow;
  const pm::ttft_terms& first = flow.state.ttft_terms;
  const double itl = flow.state.itl.mean().value();
  add_step(part, {"CPU per request", "", first.frontend_time.value(), by_host});
  // In a closed loop the ITL of a request also has the prefills that came with its own.
  const bool steps_alone = found.load.is_closed() && first.scheduling_steps > 0.0;
  const double step = steps_alone ? first.scheduling_delay.value() / first.scheduling_steps : itl;
  const double let_by = first.scheduling_steps * step;
  std::string how = let_by > 0.0 ? cat(digits(first.scheduling_steps), " x ", time_text(step)) : "";
  const double found_s = first.scheduling_delay.value() - let_by;  // remainder of the running step
  if (found_s > 1e-6 * let_by) how += cat(how.empty() ? "" : " + ", time_text(found_s));
  add_step(part, {admission, how, first.scheduling_delay.value(), admission});
  add_step(part, {behind_prefills, behind_text(flow.passes, first), first.prefill_queueing.value(),
                  behind_prefills});
  how.clear();
  if (found.load.is_closed()) {
    const double waiting = found.load.concurrency() - flow.terms.max_running;
    const double rate = flow.state.throughput.value();
    if (std::fabs(waiting / rate - first.admission_delay.value()) <
        1e-6 * first.admission_delay.value())
      how = cat(digits(waiting), " / ", with_unit(flow.state.throughput));
  }
  add_step(part, {for_capacity, how, first.admission_delay.value(), for_capacity});
  add_step(part, {"prefix fetch", "", first.kv_fetch.value(), "host link"});
  const double burst = found.service.ttft.value() - part.time_s;
  if (burst > 1e-9 * part.time_s) {
    const auto& of_burst = flow.state.ttft[0];
    const double mean = of_burst.from.value() + 0.5 * of_burst.range.value();
    how = cat(digits(100.0 * of_burst.weight), " % x (", time_text(mean), " - ",
              time_text(part.time_s), ")");
    if (std::fabs(of_burst.weight * (mean - part.time_s) - burst) > 1e-6 * burst) how.clear();
    add_step(part, {"initial burst", how, burst, "initial burst"});
  }
}

/// Formula of the TTFT in numbers.
std::string formula_text(const decoding& found) {
  const flow_of_service& flow = *found.flow;
  const pm::ttft_terms& first = flow.state.ttft_terms;
  const double engine = flow.terms.prefill_slowdown, prompt = flow.passes.prefill_time.value();
  const auto time = [](const pm::duration<>& t) { return time_text(t.value()); };
  const auto more = [&](const char* name, double t) {
    return t > 0.0 ? cat(" + ", name, " ", time_text(t)) : std::string();
  };
  std::string s =
      cat("TTFT = own (CPU ", time(first.frontend_time),
          more(admission, first.scheduling_delay.value()), " + prefill ", time_text(prompt));
  if (engine != 1.0 && flow.passes.chunks == 1.0)
    s += cat(" = ", digits(engine), " x ", time_text(prompt / engine));
  s += cat(") + ", behind_prefills, " ", time(first.prefill_queueing), " + ", for_capacity, " ",
           time(first.admission_delay), more("prefix fetch", first.kv_fetch.value()));
  const double sum = (first.frontend_time + first.scheduling_delay + first.prefill_queueing +
                      first.admission_delay + first.kv_fetch)
                         .value() +
                     prompt;
  const double all = found.service.ttft.value();
  return s + more("initial burst", all - sum > 1e-9 * all ? all - sum : 0.0) +
         cat(" = ", time_text(all));
}

/// Adds the difference of the mean step over two prompt lengths to that of the mean length, of
/// either sign (`add_step_of_one_prompt`), and returns it.
double add_lengths(summary_part& part, const served_load& x, const decoding& found,
                   const screen_calibration& policy) {
  const pm::prefill_steps& p = found.flow->passes;
  const double c = p.length_range, n = found.prefill_steps;
  if (!(c > 0.0)) return 0.0;
  const auto time_with = [&](double prefill_tokens) {
    pm::iteration i = found.prompt;
    i.prefill_tokens = prefill_tokens;
    return time_of_step(x.deployment, i, policy).time.value();
  };
  const double shorter = time_with(pm::detail::prefill_at_length(p, 1.0 - c).prefill_tokens);
  const double longer = time_with(pm::detail::prefill_at_length(p, 1.0 + c).prefill_tokens);
  const double mean = time_with(found.prompt.prefill_tokens);
  const double lengths = n * (0.5 * (shorter + longer) - mean);
  if (std::fabs(lengths) < 1e-9 * n * mean) return lengths;
  std::string how =
      cat("(", time_text(shorter), " + ", time_text(longer), ") / 2 - ", time_text(mean));
  if (n != 1.0) how = cat(digits(n), " x (", how, ")");
  part.steps.push_back({"variation of prompt lengths", how, lengths, other});
  part.time_s += lengths;
  return lengths;
}

summary_part prefill_part(const served_load& x, const decoding& found,
                          const screen_calibration& policy) {
  const double n = found.prefill_steps;
  summary_part part = step_part(x.deployment, found.prompt, policy, n);
  part.name = "prefill: TTFT";
  part.what = cat(std::fabs(n - 1.0) < 1e-9 ? "" : digits(n) + " x ", iteration_text(found.prompt));
  if (found.flow) {
    const flow_of_service& flow = *found.flow;
    const double kernels = part.time_s, engine = flow.terms.prefill_slowdown;
    // With speculation, a prefill step also runs the draft's prefill.
    const double whole =
        pm::detail::uncached_tokens(found.load) / flow.passes.prefill_iteration.prefill_tokens;
    const double last =
        (flow.passes.chunks - whole) * (flow.terms.scheduler == pm::scheduling::mixed_chunks
                                            ? flow.passes.decode_time.value()
                                            : 0.0);
    const double passes = (flow.passes.prefill_time.value() - last) / engine;
    const double lengths = add_lengths(part, x, found, policy);
    const double draft = passes - kernels - lengths;
    add_step(part, {"drafting", "", draft > 1e-9 * kernels ? draft : 0.0, "drafting"});
    add_step(part, {prefill_overhead, cat("(", digits(engine), " - 1) x ", time_text(passes)),
                    (engine - 1.0) * passes, prefill_overhead});
    add_step(part, {"last decode step", "", last, other});
    add_waits(part, found);
    part.amounts = {formula_text(found)};
  } else {
    add_step(part, {for_capacity, "", found.service.ttft.value() - part.time_s, for_capacity});
  }
  sort_steps(part);
  return part;
}

/// Speculation round: the verify step, the draft steps, and the tokens per round.
void add_speculation(summary_part& part, const served_load& x, const decoding& found) {
  const pm::speculation& s = *x.drafts;
  const double draft = found.service.decode.terms.time_of("draft").value();
  part.name = "decode: speculation round";
  part.tokens = found.service.emitted;
  const double n = s.by == pm::drafter::heads ? 1.0 : double(s.length);
  add_step(part, {"drafting", n == 1.0 ? "" : cat(digits(n), " x ", time_text(draft / n)), draft,
                  "drafting"});
  std::string accepted = "1", each = "";
  for (int k = 1; k <= s.length; ++k) {
    const std::size_t at = std::min(static_cast<std::size_t>(k), s.acceptance.size()) - 1;
    each += (each.empty() ? "" : " x ") + digits(s.acceptance[at]);
    if (k <= 4) accepted += " + " + each;
    if (k == 5) accepted += " + ...";
  }
  const double itl = found.service.itl.value();
  part.amounts.push_back(cat("tokens per sequence and round: ", accepted, " = ",
                             digits(part.tokens), "; ITL: ", time_text(itl * part.tokens), " / ",
                             digits(part.tokens), " = ", time_text(itl)));
}

std::vector<summary_part> parts_of_service(const served_load& x, const screen_calibration& policy) {
  const decoding found = evaluated_steps(x, policy).found();
  std::vector<summary_part> parts;
  parts.push_back(step_part(x.deployment, found.pass, policy));
  summary_part& decode = parts.back();
  decode.name = "decode: ITL";
  decode.what = iteration_text(found.pass);
  if (x.drafts) add_speculation(decode, x, found);
  if (found.flow) add_interference(decode, x, found);
  const double rest = found.service.itl.value() * found.service.emitted - decode.time_s;
  if (rest > 1e-9 * decode.time_s) add_step(decode, {"other", "", rest, other});
  sort_steps(decode);
  parts.push_back(prefill_part(x, found, policy));
  if (!(x.load.output_tokens > 1.0)) parts.erase(parts.begin());  // no ITL
  return parts;
}

/// " (2 x 8)", with the accelerator where the pools have two kinds.
std::string pool_text(const pm::replica_pool& pool, bool mixed) {
  return cat(" (", digits(pool.replicas), " x ", pool.deployment.layout.ranks(),
             mixed ? cat(" ", pool.deployment.device.name.view()) : "", ")");
}

summary_part decode_of_pool(const served_load& x, const screen_calibration& policy,
                            const pm::disaggregated_estimate& s, bool mixed) {
  const pm::disaggregated& d = *x.pools;
  const pm::deployment& on = d.decode.deployment;
  const bool alone = !policy && x.load.is_closed();  // the bound of each output
  const pm::iteration decode{alone ? 1.0 : std::max(1.0, s.batch / d.decode.replicas),
                             pm::detail::mean_context(x.load)};
  screen_calibration steady;
  if (policy) steady = pm::detail::decode_pool_policy(*policy, on.serving_engine);
  summary_part part = step_part(on, decode, steady);
  part.name = "decode pool: ITL";
  part.what = iteration_text(decode) + pool_text(d.decode, mixed);
  const double rest = s.itl.value() - part.time_s;
  if (rest > 1e-9 * part.time_s) add_step(part, {"other", "", rest, other});
  sort_steps(part);
  return part;
}

summary_part prefill_of_pool(const served_load& x, const screen_calibration& policy,
                             const pm::disaggregated_estimate& s, bool mixed) {
  const pm::disaggregated& d = *x.pools;
  const pm::deployment& on = d.prefill.deployment;
  const pm::iteration prompt = pm::detail::unloaded_prefill(pm::resolve_prefix_hit(on, x.load));
  summary_part part = step_part(on, prompt, policy);
  part.name = "prefill pool: TTFT";
  part.what = iteration_text(prompt) + pool_text(d.prefill, mixed);
  if (policy) {
    const double passes = part.time_s, engine = policy->engine.prefill_step_factor;
    add_step(part, {prefill_overhead, cat("(", digits(engine), " - 1) x ", time_text(passes)),
                    (engine - 1.0) * passes, prefill_overhead});
    add_step(part, {"CPU per request", "", policy->engine.request_cpu_time.value(), by_host});
  }
  add_step(part, {"exposed transfer", "", s.exposed_transfer.value(), "link between pools"});
  const double sent = s.transfer.value() - d.link.latency.value();
  part.amounts.push_back(
      cat("KV cache of a prompt, per GPU: ",
          with_unit(pm::bytes<>::from_value(sent * d.link.bandwidth_per_device.value())), " / ",
          with_unit(d.link.bandwidth_per_device), " = ", time_text(sent),
          d.link.streamed ? ", sent layer by layer" : ""));
  part.amounts.push_back(cat("utilization: prefill pool ", digits(100.0 * s.prefill_utilisation),
                             " %, link ", digits(100.0 * s.transfer_utilisation),
                             " %, decode pool ", digits(100.0 * s.decode_utilisation), " %"));
  const double wait = s.ttft.value() - part.time_s;
  if (wait > 1e-9 * part.time_s) {
    add_step(part, {"queueing", "", wait, "queueing"});
  } else {
    part.time_s = s.ttft.value();
  }
  sort_steps(part);
  return part;
}

std::vector<summary_part> parts_of_pools(const served_load& x, const screen_calibration& policy,
                                         const screen_calibration& of_prefills) {
  const pm::disaggregated& d = *x.pools;
  const bool mixed = !(d.prefill.deployment.device.name == d.decode.deployment.device.name);
  const auto s =
      policy ? pm::serving(d, x.load, *of_prefills, *policy) : pm::serving_bound(d, x.load);
  summary_part prefill = prefill_of_pool(x, of_prefills, s, mixed);
  if (!(x.load.output_tokens > 1.0)) return {std::move(prefill)};
  return {decode_of_pool(x, policy, s, mixed), std::move(prefill)};
}

summary of_step(inputs<double>& in, const calibration* c) {
  const pm::deployment d = step_deployment_of(in);
  const pm::iteration i = iteration_of(in);
  const screen_calibration policy = policy_of(c);
  const auto parts = [&](const lifted& without) {
    std::vector<summary_part> one{step_part(without.on(d), i, without.of(policy))};
    one[0].name =
        i.prefill_tokens > 0.0 ? (i.batch > 0.0 ? "decode with prefill" : "prefill") : "decode";
    one[0].what = iteration_text(i);
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
  const replica_count n = replicas_of(in);
  x.deployment = deployment_of(in, n.groups);
  reserve_memory(in, x.deployment);
  x.drafts = speculation_of(in, x.deployment);
  const pm::service_load l = service_load_of(in);
  double replicas = n.replicas;
  if (l.is_closed()) replicas = std::min(replicas, l.concurrency());
  x.load = pm::per_replica(l, replicas);
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
        "efficiencies and launch times: " + answer["profile"]["name"].get<std::string>() + ", " +
        answer["profile"]["basis"].get<std::string>() + ": " +
        answer["profile"]["source"].get<std::string>());
}

}  // namespace

summary summary_of_service(const served_load& x, const calibration* c,
                           const calibration* of_prefills) {
  const screen_calibration policy = policy_of(c);
  const screen_calibration prefills = of_prefills != nullptr ? policy_of(of_prefills) : policy;
  const auto parts = [&](const lifted& without) {
    const served_load on = without.on(x);
    return x.pools ? parts_of_pools(on, without.of(policy), without.of(prefills))
                   : parts_of_service(on, without.of(policy));
  };
  summary s;
  s.parts = parts({});
  if (policy && !x.pools && x.load.output_tokens > 1.0) {
    const auto bound = x.drafts ? pm::serving_bound(x.deployment, x.load, *x.drafts).decode
                                : pm::serving_bound(x.deployment, x.load).decode;
    s.parts[0].amounts.push_back((x.drafts ? "round, " : "") + bound_text(bound));
  }
  add_limits(s.parts, policy.has_value(), parts);
  return s;
}

summary summary_of_steps(const query& asked, const json& object, const given_profile* profile,
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
