// Operators of an engine step, each with its bytes, FLOP and time.
#include <algorithm>
#include <cmath>

#include "deployments.hpp"
#include "summary_parts.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Memory and compute time of an operator's law: bytes over achieved DRAM bandwidth, FLOP over
/// achieved matrix throughput; 0 where it has no such part.
struct law_parts {
  double bytes = 0.0, memory_s = 0.0;
  double flop = 0.0, dense_s = 0.0;

  void add(const law_parts& x, double times) {
    bytes += times * x.bytes;
    memory_s += times * x.memory_s;
    flop += times * x.flop;
    dense_s += times * x.dense_s;
  }
};

/// Sum over the operators of one name in an engine step.
struct group {
  pm::number_format format = pm::bf16;
  double calls = 0.0, bytes = 0.0, weights = 0.0, cache = 0.0, flop = 0.0, time = 0.0;
  double factor = 1.0;  ///< step time over kernel time of the engine
  bool bytes_by_law = true, flop_by_law = true;
  law_parts law{};
};
using groups = std::vector<std::pair<std::string, group>>;

group& group_of(groups& all, const std::string& name) {
  for (auto& [known, g] : all) {
    if (known == name) return g;
  }
  return all.emplace_back(name, group{}).second;
}

double dram_rate(const pm::accelerator& a) {
  return a.dram.bandwidth.quantity().value();
}

law_parts parts_of(const pm::accelerator& a, const pm::gemm& g, const pm::calibrated& c) {
  const pm::estimate e = pm::calibrated_estimate(a, g, c, c.conditions);
  const auto path = pm::detail::gemm_path_of(a, g, pm::demand_of(g).format, c.machine, c.engine);
  const double memory = e.terms.time_of("memory").value();
  const double flop = pm::demand_of(g).matrix_flop.value();
  return {memory * c.machine.dram_share * dram_rate(a), memory, flop, flop / path.matrix.value()};
}
law_parts parts_of(const pm::accelerator& a, const pm::swiglu& x, const pm::calibrated& c) {
  if (!x.fused) return {};
  pm::gemm g{.m = x.tokens,
             .n = (pm::ffn_matrices(x.gated) - 1.0) * x.intermediate,
             .k = x.hidden,
             .format = x.format,
             .weights = x.weights,
             .output = x.format};
  law_parts both = parts_of(a, g, c);
  g.n = x.hidden;
  g.k = x.intermediate;
  both.add(parts_of(a, g, c), 1.0);
  return both;
}
/// Operators with one memory term: attention and element-wise kernels. Experts have none.
template <class Operator>
law_parts parts_of(const pm::accelerator& a, const Operator& x, const pm::calibrated& c) {
  if constexpr (
      requires { x.experts; } || !requires { c.estimate(a, x); }) {
    return {};
  } else {
    const double memory = c.estimate(a, x).terms.time_of("memory").value();
    const double moved = memory * c.machine.dram_share * dram_rate(a);
    if constexpr (!requires { x.query_heads; }) {  // element-wise kernels may find a part in L2
      if (std::fabs(moved - pm::demand_of(x).dram.total().value()) > 1e-6 * moved) return {};
    }
    return {moved, memory, 0.0, 0.0};
  }
}

/// "80 x (179.6 MB / (3.35 TB/s x 0.8598) + 6.7 us)": an amount over the law's achieved rate, plus
/// the law's additional terms; or over the effective rate.
std::string by_hand(const group& g, const std::string& amount, double amount_s, double law_s,
                    double sheet_s, const std::string& rate) {
  std::string calls = g.calls == 1.0 ? "" : digits(g.calls) + " x ";
  if (g.factor != 1.0) calls += digits(g.factor) + " x ";
  const double one = g.time / g.calls / g.factor;
  const auto over = [&](double share, const char* note) {
    const bool whole = std::fabs(share - 1.0) < 1e-9;
    return amount + " / " + (whole ? rate : cat("(", rate, " x ", digits(share), note, ")"));
  };
  const double rest = one - law_s;
  if (law_s > 0.0 && rest > -1e-9 * one) {
    const std::string first = over(amount_s / law_s, "");
    if (rest < 5e-5 * one) return calls + first;
    return cat(calls, calls.empty() ? "" : "(", first, " + ", time_text(rest),
               calls.empty() ? "" : ")");
  }
  return calls + over(sheet_s / one, " reached");
}

/// A group by the resource that takes longest at the data sheet's rate; calls and the time of one,
/// where neither rate explains a quarter of it.
summary_step step_of(const std::string& name, const group& g, const pm::accelerator& device) {
  const double dram = dram_rate(device);
  const double peak = g.flop > 0.0 ? pm::peak(device, g.format).value() : 1.0;
  const double by_memory = g.bytes / dram, by_compute = g.flop / peak;
  const double time = g.time / g.factor;
  const double longest = std::max(by_memory, by_compute);
  summary_step s{.name = name, .how = {}, .time_s = g.time, .limit = by_launches};
  const auto each = [&](double x) { return x / g.calls; };
  if (longest < 0.25 * time) {
    const std::string calls = g.calls == 1.0 ? "" : digits(g.calls) + " x ";
    s.how = calls + time_text(each(g.time));
    return s;
  }
  if (by_memory >= by_compute) {
    s.limit = by_dram;
    const bool lawful = g.bytes_by_law && g.law.bytes > 0.0;
    const double moved = each(lawful ? g.law.bytes : g.bytes);
    const std::string amount = with_unit(pm::bytes<>::from_value(moved));
    const char* what = lawful && g.law.memory_s < time * (1.0 - 5e-5) ? ""
                       : g.weights > 0.8 * g.bytes                    ? " weights"
                       : g.cache > 0.8 * g.bytes                      ? " cache"
                                                                      : "";
    s.how = by_hand(g, amount + what, moved / dram, lawful ? each(g.law.memory_s) : 0.0,
                    moved / dram, with_unit(device.dram.bandwidth.quantity()));
  } else {
    s.limit = by_flop;
    const bool lawful = g.flop_by_law && g.law.dense_s > 0.0;
    s.how = by_hand(g, with_unit(pm::flops<>::from_value(each(g.flop))), each(by_compute),
                    lawful ? each(g.law.dense_s) : 0.0, each(by_compute),
                    with_unit(pm::flop_rate<>::from_value(peak)));
  }
  return s;
}

/// "160 x (9.4 us + 8.1 us)" of collectives: latency and wire time, with an explanatory line.
void add_collectives(summary_part& part, const char* name, const pm::collective_estimate& one,
                     const std::string& what, double n, double factor) {
  if (!(one.time.value() > 0.0)) return;
  const double wire = one.terms.time_of("transfer").value();
  const double latency = one.terms.time_of("latency").value();
  std::string calls = n == 1.0 ? "" : digits(n) + " x ";
  if (factor != 1.0) calls += digits(factor) + " x ";
  const bool both = latency > 5e-5 * wire && wire > 5e-5 * latency;
  const std::string how = !both ? calls + time_text(one.time.value())
                          : calls.empty()
                              ? cat(time_text(latency), " + ", time_text(wire))
                              : cat(calls, "(", time_text(latency), " + ", time_text(wire), ")");
  add_step(part, {name, how, factor * n * one.time.value(), by_links});
  part.amounts.push_back(cat(name, ": ", what, ", ", pm::name_of(one.algorithm), ": ",
                             time_text(latency), " latency + ", with_unit(one.wire.quantity()),
                             " on a link in ", time_text(wire)));
}

/// The sum of communication_of_step, each kind with its count and its terms.
template <class Links>
void add_links(summary_part& part, const pm::deployment& d, const pm::iteration& i, double times,
               double factor, const Links& links) {
  using namespace pm::detail;
  const pm::parallel_layout& l = d.layout;
  const auto share = step_share_of(l, i);
  const pm::engine_formats formats = formats_of(d);
  const pm::number_format residual = at_least_16_bits(formats.linear.format);
  collective_memo<double, Links> kept(links);
  const double before = part.time_s;
  double sums = 0.0;
  for (const auto& kind : d.model.layers.mixers) sums += kind.layers;
  for (const auto& kind : d.model.layers.feed_forwards) {
    const bool spread = l.data > 1 && std::holds_alternative<pm::expert_shape>(kind.shape);
    if (!spread) sums += kind.layers;
    if (!spread) continue;
    const double all =
        dispatch_and_combine(d, formats, kind.layers, std::get<pm::expert_shape>(kind.shape),
                             share.rows, kept)
            .value();
    add_step(part, {"dispatch + combine",
                    cat(digits(times * kind.layers), " x ", time_text(factor * all / kind.layers)),
                    times * factor * all, by_links});
  }
  if (l.tensor > 1) {
    pm::tensor_parallelism x;
    x.ranks = l.tensor;
    x.tokens = share.rows;
    x.hidden = d.model.hidden;
    x.format = residual;
    const auto c = summed_activations(x);
    add_collectives(part, "all-reduces", time_of_collective(d.device.fabric, c, links),
                    cat(with_unit(c.message.quantity()), " over ", l.tensor, " ranks"),
                    times * sums, factor);
    const double logits = logits_all_gather(d, residual, share.logits, kept).value();
    add_step(part, {"logits gather",
                    times == 1.0 ? "" : digits(times) + " x " + time_text(factor * logits),
                    times * factor * logits, by_links});
  }
  const double all = times * factor * communication_of_step(d, i, kept).value();
  const double rest = all - (part.time_s - before);
  if (rest > 1e-9 * all) {
    const double n = times * (l.pipeline - 1);
    add_step(part, {"stage transfers", cat(digits(n), " x ", time_text(rest / n)), rest, by_links});
  }
}

/// Origin of the bytes of an engine step.
void add_amounts(summary_part& part, const pm::deployment& d, const pm::iteration& i,
                 const groups& all, double times) {
  double weights = 0.0, cache = 0.0;
  for (const auto& [name, g] : all) {
    weights += g.weights / times;
    cache += g.cache / times;
  }
  const auto bytes = [](double x) { return with_unit(pm::bytes<>::from_value(x)); };
  const double parameters = pm::parameters(d.model).total();
  const pm::engine_formats formats = formats_of(d);
  const double stored = pm::weight_bytes(d.model, formats.weights).value();
  part.amounts.push_back(cat("weights: ", digits(parameters / 1e9), "e9 x ",
                             digits(stored / parameters), " B = ", bytes(stored), "; / ",
                             d.layout.ranks(), " = ", bytes(stored / d.layout.ranks()),
                             ", of which a step reads ", bytes(weights)));
  if (!(i.batch > 0.0)) return;
  const double token = pm::kv_growth_per_token(d.model, formats.kv).value();
  part.amounts.push_back(cat("KV cache: ", digits(i.batch), " sequences x ", digits(i.context),
                             " tokens x ", bytes(token), " = ", bytes(i.batch * i.context * token),
                             "; a step moves ", bytes(cache), " of it per GPU"));
}

/// Sorts the operators, and adds the remainder of a known time.
void finish(summary_part& part, const groups& all, const pm::accelerator& device, double time) {
  for (const auto& [name, g] : all) add_step(part, step_of(name, g, device));
  if (std::fabs(time - part.time_s) > 1e-6 * time) {
    const double rest = time - part.time_s;
    part.steps.push_back({"other", "", rest, other});
  }
  part.time_s = time;
  sort_steps(part);
}

class predicted_groups {
 public:
  predicted_groups(const pm::calibrated& c, double times) : times_(times) {
    if (c.step_time_factor()) factor_ = *c.step_time_factor();
  }

  void add(const pm::basic_operator<double>& o, double all_s, const law_parts& law) {
    group& g = group_of(groups_, o.name);
    g.format = o.demand.format;
    g.factor = factor_;
    const double n = times_ * o.times;
    g.calls += n;
    g.bytes += n * o.demand.dram.total().value();
    g.weights += n * o.weights.value();
    g.cache += n * o.cache.value();
    g.flop += n * o.demand.matrix_flop.value();
    g.time += times_ * factor_ * all_s;
    g.bytes_by_law = g.bytes_by_law && law.bytes > 0.0;
    g.flop_by_law = g.flop_by_law && law.flop > 0.0;
    g.law.add(law, n);
  }
  const groups& all() const { return groups_; }
  double factor() const { return factor_; }

 private:
  double times_ = 1.0, factor_ = 1.0;
  groups groups_{};
};

summary_part predicted_step(const pm::deployment& d, const pm::iteration& i,
                            const pm::calibrated& policy, double times) {
  summary_part part;
  predicted_groups all(policy, times);
  pm::detail::operator_times<double, pm::calibrated> each(d.device, policy);
  const pm::engine_formats formats = formats_of(d);
  const pm::detail::rank_step<double> rank{d, i, formats};
  pm::detail::visit_operators(rank, [&](const pm::basic_operator<double>& o, const auto& w) {
    const auto one = each.time_of(w, [&]() -> const pm::basic_demand<double>& { return o.demand; });
    all.add(o, (o.times * one).value(), parts_of(d.device, w, policy));
  });
  pm::detail::visit_elementwise_kernel_times(
      rank, policy, [&](const pm::basic_operator<double>& o, const pm::duration<>& time) {
        all.add(o, time.value(), {});
      });
  add_amounts(part, d, i, all.all(), times);
  add_links(part, d, i, times, all.factor(), policy);
  const double n = times * pm::detail::collectives_of_step(d);
  const double wait = all.factor() * policy.rank_wait().value();
  add_step(part, {"rank skew", cat(digits(n), " x ", time_text(wait)), n * wait, by_launches});
  const double read =
      pm::detail::host_link_time(d, pm::detail::demand_of_rank(rank).weights).value() /
      pm::host_link_share;
  add_step(part, {"weights in host memory", "", times * read, by_links});
  double busy = part.time_s;
  for (const auto& [name, g] : all.all()) busy += g.time;
  const auto exposed =
      pm::detail::exposed_launches(rank, policy, pm::duration<>(busy / times * pm::second)).value();
  add_step(part, {d.cuda_graphs ? "launches of prefill" : "launches without CUDA graphs", "",
                  times * exposed, by_launches});
  const double host = pm::detail::cpu_time_of_step(rank, policy).value();
  add_step(part, {"CPU per step", times == 1.0 ? "" : cat(digits(times), " x ", time_text(host)),
                  times * host, by_host});
  double time = part.time_s;
  for (const auto& [name, g] : all.all()) time += g.time;
  finish(part, all.all(), d.device, time);
  return part;
}

/// Breakdown of a bound: only the time of the slowest resource counts.
summary_part bound_step(const pm::deployment& d, const pm::iteration& i, double times) {
  summary_part part;
  groups all;
  const auto e = pm::detail::bound_of_step(d, i, bound_mode{});
  const double memory = e.terms["weights"].value() + e.terms["kv_cache"].value();
  const double compute = e.terms["compute"].value();
  const double host_link = e.terms.time_of("host_link").value();
  const bool from_host = host_link > std::max(memory, compute);
  if (from_host) add_step(part, {"weights in host memory", "", times * host_link, by_links});
  pm::detail::visit_operators(d, i, [&](const pm::basic_operator<double>& o) {
    group& g = group_of(all, o.name);
    const double n = times * o.times;
    g.format = o.demand.format;
    g.calls += n;
    g.weights += n * o.weights.value();
    g.cache += n * o.cache.value();
    if (from_host) return;
    if (memory >= compute) {
      g.bytes += n * (o.weights + o.cache).value();
      g.time = g.bytes / dram_rate(d.device);
    } else if (o.demand.matrix_flop.value() > 0.0) {
      const double flop = n * o.demand.matrix_flop.value();
      g.flop += flop;
      g.time += flop / pm::peak(d.device, o.demand.format).value();
    }
  });
  add_amounts(part, d, i, all, times);
  add_links(part, d, i, times, 1.0, bound_mode{});
  finish(part, all, d.device, times * e.time.value());
  return part;
}

}  // namespace

screen_calibration policy_of(const calibration* c) {
  if (c == nullptr) return {};
  const auto as_is = [](const auto& spec, const char*, const pm::source*) { return spec; };
  return calibration_over<double>(*c, 0.0, as_is);
}
pm::estimate time_of_step(const pm::deployment& d, const pm::iteration& i,
                          const screen_calibration& policy) {
  return policy ? pm::detail::prediction_of_step(d, i, *policy, *policy)
                : pm::detail::bound_of_step(d, i, bound_mode{});
}
summary_part step_part(const pm::deployment& d, const pm::iteration& i,
                       const screen_calibration& policy, double times) {
  return policy ? predicted_step(d, i, *policy, times) : bound_step(d, i, times);
}

void add_step(summary_part& part, const summary_step& step) {
  if (!(step.time_s > 0.0)) return;
  part.steps.push_back(step);
  part.time_s += step.time_s;
}
void sort_steps(summary_part& part) {
  std::stable_sort(part.steps.begin(), part.steps.end(),
                   [](const auto& a, const auto& b) { return a.time_s > b.time_s; });
}

std::string iteration_text(const pm::iteration& i) {
  std::string s;
  if (i.batch > 0.0) {
    s = cat(digits(i.batch), " sequences at ", digits(i.context), " tokens");
    if (i.tokens_per_sequence > 1.0) s += cat(", ", digits(i.tokens_per_sequence), " tokens each");
  }
  if (i.prefill_tokens > 0.0) {
    s += cat(s.empty() ? "" : " and ", digits(i.prefill_tokens), " prefill tokens");
  }
  return s;
}

std::string bound_text(const pm::estimate& bound) {
  const auto term = [&](const char* name) { return bound.terms.time_of(name).value(); };
  const double memory = term("weights") + term("kv_cache"), compute = term("compute");
  const auto and_more = [&](const char* name, const char* word) {
    return term(name) > 0.0 ? cat(" + ", word, " ", time_text(term(name))) : std::string();
  };
  const bool by_memory = memory >= compute;
  std::string s = by_memory ? cat("bound: weights ", time_text(term("weights")),
                                  and_more("kv_cache", "KV cache"))
                            : cat("bound: compute ", time_text(compute));
  s += and_more("communication", "links") + and_more("draft", "drafting");
  s += cat(" = ", time_text(bound.time.value()), "; ", by_memory ? "compute " : "memory ",
           time_text(by_memory ? compute : memory), " overlapped");
  return s;
}

}  // namespace napkin
