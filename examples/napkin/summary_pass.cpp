// The operators of a pass, each with what it moves and what it takes.
#include <algorithm>
#include <map>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/text.hpp>

#include "deployments.hpp"
#include "service_keys.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

std::string digits(double x) {
  return pm::detail::significant(x, 4);
}
template <class Q>
std::string with_unit(const Q& x) {
  return pm::to_string(x.value(), pm::exponents_of<Q>(), 4);
}

/// What operators of one name do in a pass.
struct group {
  pm::number_format format = pm::bf16;
  double calls = 0.0, bytes = 0.0, weights = 0.0, cache = 0.0, flop = 0.0, time = 0.0;
};
using groups = std::vector<std::pair<std::string, group>>;

group& group_of(groups& all, const std::string& name) {
  for (auto& [known, g] : all) {
    if (known == name) return g;
  }
  return all.emplace_back(name, group{}).second;
}

/// "80 x 176.2 MB of weights / (3.35 TB/s x 0.861)": by what takes longest at the data sheet's rate; a call's
/// time alone, where neither rate explains a quarter of it.
summary_step step_of(const std::string& name, const group& g, const pm::accelerator& device) {
  const double dram = device.dram.bandwidth.quantity().value();
  const double peak = g.flop > 0.0 ? pm::peak(device, g.format).value() : 1.0;
  const double by_memory = g.bytes / dram, by_compute = g.flop / peak;
  const double longest = std::max(by_memory, by_compute);
  summary_step s{.name = name, .how = {}, .time_s = g.time, .limit = "launches and latency"};
  const std::string calls = g.calls == 1.0 ? "" : digits(g.calls) + " x ";
  const auto each = [&](double x) { return x / g.calls; };
  if (longest < 0.25 * g.time) {
    s.how = calls + with_unit(pm::duration<>::from_value(each(g.time)));
    return s;
  }
  const std::string reached = digits(longest / g.time);
  const std::string share = std::abs(longest / g.time - 1.0) < 1e-9 ? "" : " x " + reached;
  const auto over = [&](const std::string& amount, const std::string& rate) {
    return calls + amount + " / " + (share.empty() ? rate : "(" + rate + share + ")");
  };
  if (by_memory >= by_compute) {
    s.limit = "DRAM bandwidth";
    const char* what = g.weights > 0.8 * g.bytes ? " weights"
                       : g.cache > 0.8 * g.bytes ? " cache"
                                                 : "";
    s.how = over(with_unit(pm::bytes<>::from_value(each(g.bytes))) + what,
                 with_unit(device.dram.bandwidth.quantity()));
  } else {
    s.limit = "FLOP rate";
    s.how = over(with_unit(pm::flops<>::from_value(each(g.flop))),
                 with_unit(pm::flop_rate<>::from_value(peak)));
  }
  return s;
}

/// What links and the host add to a pass: `n` times the same.
void add_times(summary_part& part, const char* name, double n, const std::string& each,
               double seconds, const char* limit) {
  if (!(seconds > 0.0)) return;
  const std::string one = with_unit(pm::duration<>::from_value(seconds / n));
  part.steps.push_back({name, n == 1.0 ? "" : digits(n) + " x " + one + each, seconds, limit});
}

template <class Links>
void add_links(summary_part& part, const pm::deployment& d, const pm::iteration& i, double factor,
               double waiting, const Links& links) {
  const double all = pm::detail::communication_of_pass(d, i, links).value();
  const auto share = pm::detail::share_of(d.layout, i);
  const double logits =
      d.layout.tensor > 1 ? pm::detail::gathered_logits(d, share.logits, links).value() : 0.0;
  const double n = std::max(1.0, pm::detail::collectives_of_pass(d));
  const std::string row =
      with_unit(pm::bytes<>(share.rows * d.model.hidden * bytes_of(residual_format(d))));
  add_times(part, "collectives", n, " of " + row, factor * (all - logits + waiting), "links");
  add_times(part, "gathered logits", 1.0, "", factor * logits, "links");
}

/// Where the bytes of a pass come from.
void add_amounts(summary_part& part, const pm::deployment& d, const pm::iteration& i,
                 const groups& all) {
  double weights = 0.0, cache = 0.0;
  for (const auto& [name, g] : all) {
    weights += g.weights;
    cache += g.cache;
  }
  const auto bytes = [](double x) { return with_unit(pm::bytes<>::from_value(x)); };
  const double parameters = pm::parameters(d.model).total();
  const double stored = pm::weight_bytes(d.model, d.weights).value();
  part.amounts.push_back(cat("weights: ", digits(parameters / 1e9), "e9 x ",
                             digits(stored / parameters), " B = ", bytes(stored), "; / ",
                             d.layout.ranks(), " = ", bytes(stored / d.layout.ranks()),
                             ", of which a pass reads ", bytes(weights)));
  if (!(i.batch > 0.0)) return;
  const double token = pm::kv_growth_per_token(d.model, d.kv).value();
  part.amounts.push_back(cat("cache: ", digits(i.batch), " sequences x ", digits(i.context),
                             " tokens x ", bytes(token), " = ", bytes(i.batch * i.context * token),
                             "; a pass moves ", bytes(cache), " of it on each"));
}

void finish(summary_part& part, const groups& all, const pm::accelerator& device, double time) {
  for (const auto& [name, g] : all) {
    if (g.time > 0.0) part.steps.push_back(step_of(name, g, device));
  }
  double sum = 0.0;
  for (const auto& s : part.steps) sum += s.time_s;
  part.time_s = time;
  if (std::fabs(time - sum) > 1e-6 * time)
    part.steps.push_back({"the rest", "", time - sum, "other"});
  std::stable_sort(part.steps.begin(), part.steps.end(),
                   [](const auto& a, const auto& b) { return a.time_s > b.time_s; });
}

summary_part predicted_pass(const pm::deployment& d, const pm::iteration& i,
                            const pm::calibrated& policy) {
  summary_part part;
  groups all;
  const double factor = policy.pass_time() ? *policy.pass_time() : 1.0;
  const auto add = [&](const pm::basic_operator<double>& o, const pm::duration<>& time) {
    group& g = group_of(all, o.name);
    g.format = o.demand.format;
    g.calls += o.times;
    g.bytes += o.times * o.demand.dram.total().value();
    g.weights += o.times * o.weights.value();
    g.cache += o.times * o.cache.value();
    g.flop += o.times * o.demand.matrix_flop.value();
    g.time += factor * time.value();
  };
  pm::detail::visit_operator_times(d, i, policy, add);
  pm::detail::visit_small_kernel_times(d, i, policy, add);
  add_links(part, d, i, factor, pm::detail::waiting_of_pass(d, policy).value(), policy);
  add_times(part, "host of the engine", 1.0, "",
            pm::detail::host_time_of_pass(d, i, policy).value(), "host");
  add_amounts(part, d, i, all);
  double time = 0.0;
  for (const auto& [name, g] : all) time += g.time;
  for (const auto& s : part.steps) time += s.time_s;
  finish(part, all, d.device, time);
  return part;
}

/// Of a bound what the slowest resource does counts; the others hide behind it.
summary_part bound_pass(const pm::deployment& d, const pm::iteration& i) {
  summary_part part;
  groups all;
  const auto e = pm::step_bound(d, i);
  const double memory = e.terms["weights"].value() + e.terms["kv_cache"].value();
  const double compute = e.terms["compute"].value();
  pm::for_each_operator(d, i, [&](const pm::basic_operator<double>& o) {
    group& g = group_of(all, o.name);
    g.format = o.demand.format;
    g.calls += o.times;
    g.weights += o.times * o.weights.value();
    g.cache += o.times * o.cache.value();
    if (memory >= compute) {
      g.bytes += o.times * (o.weights + o.cache).value();
      g.time = g.bytes / d.device.dram.bandwidth.quantity().value();
    } else if (o.demand.matrix_flop.value() > 0.0) {
      const double flop = o.times * o.demand.matrix_flop.value();
      g.flop += flop;
      g.time += flop / pm::peak(d.device, o.demand.format).value();
    }
  });
  add_links(part, d, i, 1.0, 0.0, bound_mode{});
  add_amounts(part, d, i, all);
  finish(part, all, d.device, e.time.value());
  return part;
}

/// Whose terms a prediction takes; none of a bound.
std::optional<pm::calibrated> policy_of(const calibration* c) {
  if (c == nullptr) return {};
  const auto as_is = [](const auto& spec, const char*, const pm::source*) { return spec; };
  return silicon_of<double>(*c, 0.0, as_is);
}
pm::estimate time_of_pass(const pm::deployment& d, const pm::iteration& i,
                          const std::optional<pm::calibrated>& policy) {
  return policy ? pm::detail::prediction_of_pass(d, i, *policy, *policy)
                : pm::detail::bound_of_pass(d, i, bound_mode{});
}
summary_part pass_of(const pm::deployment& d, const pm::iteration& i,
                     const std::optional<pm::calibrated>& policy) {
  return policy ? predicted_pass(d, i, *policy) : bound_pass(d, i);
}

/// A service with the pass that its inter-token latency is of, as the service itself asks for it. With drafts
/// that pass checks them, and is a part of a round.
struct decoding {
  pm::speculative_serving_estimate service{};
  pm::iteration pass{};
};
decoding decoding_of(const served_load& x, const std::optional<pm::calibrated>& policy) {
  std::vector<std::pair<pm::iteration, double>> asked;
  const pm::deployment& d = x.deployment;
  const auto pass = [&](const pm::deployment& of, const pm::iteration& i) {
    const pm::estimate e = time_of_pass(of, i, policy);
    if (&of == &d) asked.emplace_back(i, e.time.value());
    return e;
  };
  const auto serve = [&](const pm::service_load& l, const auto& round) -> pm::serving_estimate {
    if (!policy) return pm::detail::steady_state(d, l, round);
    return pm::detail::service_prediction<double, std::remove_cvref_t<decltype(round)>>(
               d, l, pm::detail::engine_terms<double>(*policy), round)
        .estimate();
  };
  decoding found;
  if (x.drafts) {
    found.service = pm::detail::speculative_service(d, x.load, *x.drafts, pass, serve);
  } else {
    found.service = {serve(x.load, [&](const pm::iteration& i) { return pass(d, i); }), 1.0};
  }
  const pm::estimate& decode = found.service.decode;
  const double own = decode.time.value() - decode.terms.time_of("draft").value();
  for (const auto& [i, time] : asked) {
    if (policy ? i.prefill_tokens == 0.0 && i.batch > 0.0 : std::fabs(time - own) <= 1e-12 * own)
      found.pass = i;
  }
  return found;
}

std::string pass_text(const pm::iteration& i) {
  std::string s;
  if (i.batch > 0.0) {
    s = cat("a pass of ", digits(i.batch), " sequences at ", digits(i.context), " tokens");
    if (i.tokens_per_sequence > 1.0)
      s += cat(", ", digits(i.tokens_per_sequence), " tokens of each");
  }
  if (i.prefill_tokens > 0.0) {
    s += cat(s.empty() ? "a pass of " : " and ", digits(i.prefill_tokens), " prompt tokens");
  }
  return s;
}

summary of_step(inputs<double>& in, const std::optional<calibration>& c) {
  pm::deployment d = deployment_of(in);
  d.served_by = *pm::find_engine(in.text("engine"));
  const pm::iteration i = iteration_of(in);
  summary s;
  s.parts.push_back(pass_of(d, i, policy_of(c ? &*c : nullptr)));
  s.parts.back().name =
      i.prefill_tokens > 0.0 ? (i.batch > 0.0 ? "decode with prefill" : "prefill") : "decode";
  s.parts.back().what = pass_text(i);
  return s;
}

/// Adds what of a time is beside its pass.
void add_rest(summary_part& part, double whole, const char* name, const char* limit) {
  const double rest = whole - part.time_s;
  part.time_s = whole;
  if (rest > 1e-9 * whole) part.steps.push_back({name, "", rest, limit});
  std::stable_sort(part.steps.begin(), part.steps.end(),
                   [](const auto& a, const auto& b) { return a.time_s > b.time_s; });
}

/// A prompt's pass, and what is beside it until the first token.
summary_part prompt_of(const pm::deployment& d, const pm::service_load& l,
                       const std::optional<pm::calibrated>& policy) {
  const pm::iteration prompt = pm::detail::prompt_alone(l);
  summary_part part = pass_of(d, prompt, policy);
  part.name = "prefill: time to first token";
  part.what = pass_text(prompt);
  return part;
}
constexpr const char* waiting = "waiting for other prompts and the host";

/// A round of drafts: the pass that checks them, those that draft, and how many tokens it gives.
void add_drafts(summary_part& part, const served_load& x, const decoding& found) {
  const pm::speculation& s = *x.drafts;
  const pm::estimate& round = found.service.decode;
  const double draft = round.terms.time_of("draft").value();
  part.name = "decode: a round of drafts";
  part.tokens = found.service.emitted;
  part.time_s += draft;
  add_times(part, "drafts", s.by == pm::drafter::heads ? 1.0 : double(s.length), "", draft,
            "drafts");
  std::string kept = "1", each = "";
  for (int k = 1; k <= s.length; ++k) {
    const std::size_t at = std::min(static_cast<std::size_t>(k), s.acceptance.size()) - 1;
    each += (each.empty() ? "" : " x ") + digits(s.acceptance[at]);
    if (k <= 4) kept += " + " + each;
    if (k == 5) kept += " + ...";
  }
  const auto time = [](double t) { return with_unit(pm::duration<>::from_value(t)); };
  part.amounts.push_back(
      cat("tokens that a round gives of each sequence: ", kept, " = ", digits(part.tokens),
          "; inter-token latency: ", time(found.service.itl.value() * part.tokens), " / ",
          digits(part.tokens), " = ", time(found.service.itl.value())));
}

/// " (2 x 8)", and of which chips, where the pools are of two kinds.
std::string pool_text(const pm::replica_pool& pool, bool mixed) {
  return cat(" (", digits(pool.replicas), " x ", pool.deployment.layout.ranks(),
             mixed ? cat(" ", pool.deployment.device.name.view()) : "", ")");
}

summary of_pools(const served_load& x, const std::optional<pm::calibrated>& policy,
                 const std::optional<pm::calibrated>& of_prompts) {
  const pm::disaggregated& d = *x.pools;
  const pm::deployment& on = d.decode.deployment;
  const bool mixed = !(d.prefill.deployment.device.name == on.device.name);
  const auto s =
      policy ? pm::serving(d, x.load, *of_prompts, *policy) : pm::serving_bound(d, x.load);
  const bool alone = !policy && x.load.is_closed();  // what each answer is bound by
  const pm::iteration decode{alone ? 1.0 : std::max(1.0, s.batch / d.decode.replicas),
                             pm::detail::mean_context(x.load)};
  std::optional<pm::calibrated> steady;
  if (policy) steady = pm::detail::uninterrupted(*policy, on.served_by);
  summary out;
  out.parts.push_back(pass_of(on, decode, steady));
  summary_part& answers = out.parts.back();
  answers.name = "decode pool: inter-token latency";
  answers.what = pass_text(decode) + pool_text(d.decode, mixed);
  add_rest(answers, s.itl.value(), "the rest", "other");
  summary_part prompts = prompt_of(d.prefill.deployment, x.load, of_prompts);
  prompts.name = "prefill pool: time to first token";
  prompts.what += pool_text(d.prefill, mixed);
  add_times(prompts, "rest of the transfer", 1.0, "", s.exposed.value(), "the link between pools");
  prompts.time_s += s.exposed.value();
  const double sent = s.transfer.value() - d.link.latency.value();
  prompts.amounts.push_back(
      cat("cache of a prompt, from one GPU: ",
          with_unit(pm::bytes<>::from_value(sent * d.link.per_device.value())), " / ",
          with_unit(d.link.per_device), " = ", with_unit(pm::duration<>::from_value(sent)),
          d.link.streamed ? ", sent layer by layer" : ""));
  prompts.amounts.push_back(cat("busy: prefill pool ", digits(100.0 * s.prefill_busy), " %, link ",
                                digits(100.0 * s.transfer_busy), " %, decode pool ",
                                digits(100.0 * s.decode_busy), " %"));
  add_rest(prompts, s.ttft.value(), "waiting, host", waiting);
  out.parts.push_back(std::move(prompts));
  return out;
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
  x.drafts = drafts_of(in, x.deployment);
  const pm::service_load l = service_load_of(in);
  double copies = spread ? 1.0 : groups_of_data;
  if (l.is_closed()) copies = std::min(copies, l.concurrency());
  x.load = pm::shared_out(l, copies);
  return x;
}

void add_sources(summary& s, const inputs<double>& in, const std::optional<calibration>& c,
                 const json& answer) {
  const pm::accelerator& a = in.chip();
  const auto add = [&s](const std::string& what, const pm::source& from) {
    s.sources.push_back(what + ": " + pm::name_of(from.how) + ": " + from.text);
  };
  add("DRAM bandwidth " + with_unit(a.dram.bandwidth.quantity()), a.dram.bandwidth.from());
  s.sources.push_back(find_model(in.text("model")).source);
  if (c)
    s.sources.push_back(
        "shares reached, times of calls: " + answer["profile"]["name"].get<std::string>() + ", " +
        answer["profile"]["basis"].get<std::string>() + ": " +
        answer["profile"]["source"].get<std::string>());
}

}  // namespace

summary summary_of_service(const served_load& x, const calibration* c,
                           const calibration* of_prompts) {
  const std::optional<pm::calibrated> policy = policy_of(c);
  if (x.pools) return of_pools(x, policy, of_prompts != nullptr ? policy_of(of_prompts) : policy);
  const decoding found = decoding_of(x, policy);
  const pm::speculative_serving_estimate& service = found.service;
  summary s;
  s.parts.push_back(pass_of(x.deployment, found.pass, policy));
  summary_part& answers = s.parts.back();
  answers.name = "decode: inter-token latency";
  answers.what = pass_text(found.pass);
  if (x.drafts) add_drafts(answers, x, found);
  add_rest(answers, service.itl.value() * service.emitted, "prompts of others",
           "prompts of others");
  summary_part prompts = prompt_of(x.deployment, x.load, policy);
  add_rest(prompts, service.ttft.value(), "waiting, host", waiting);
  s.parts.push_back(std::move(prompts));
  return s;
}

summary summary_of_passes(const query& asked, const json& object, const given_profile* profile,
                          const json& answer) {
  const std::string_view name = asked.name;
  if (name != "step" && name != "serving") return {};
  const request r(asked, object, profile);
  const std::optional<calibration> c = calibration_of_request(asked, r, mode_in(object));
  inputs<double> in(r);
  summary s =
      name == "step" ? of_step(in, c) : summary_of_service(service_in(in), c ? &*c : nullptr);
  if (!s.parts.empty()) add_sources(s, in, c, answer);
  return s;
}

}  // namespace napkin
